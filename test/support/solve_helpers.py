"""Questions of ik_solve, as read from its arguments, and their answers."""

from ik_service.cli.solve.arguments import parse
from ik_service.cli.solve.question import read_question
from ik_service.cli.solve.run import ask


def question_of(*words):
    return read_question(parse([str(word) for word in words]))


def answered(*words):
    """A question and the answers to it."""
    question = question_of(*words)
    return question, ask(question)
