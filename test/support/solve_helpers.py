"""What the tests of ik_solve's parts share: a question that is read, and its answers."""

from ik_service.cli.solve.arguments import parse
from ik_service.cli.solve.question import read_question
from ik_service.cli.solve.run import ask


def question_of(*words):
    return read_question(parse([str(word) for word in words]))


def answered(*words):
    """A question and the answers to it."""
    question = question_of(*words)
    return question, ask(question)
