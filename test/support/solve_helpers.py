"""Requests of ik_solve, as read from its arguments, and their outcomes."""

from ik_service.cli.solve.arguments import parse
from ik_service.cli.solve.outcome import solve_request
from ik_service.cli.solve.request import read_request


def request_of(*words):
    return read_request(parse([str(word) for word in words]))


def solved_request(*words):
    """A request and the outcomes to it."""
    request = request_of(*words)
    return request, solve_request(request)
