"""The studies there are; each is a module that is imported when it is asked for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from typing import Protocol

from ik_service.exceptions import UnknownStudyError

_FOLDERS = {
    'soch-lorencz': 'paper',
    'step-size': 'methods',
    'movable-joints': 'methods',
    'unreachable': 'methods',
    'singularity': 'methods',
    'convergence': 'methods',
    'joint-limits': 'methods',
    'objectives': 'methods',
    'tracking': 'tracking',
    'reach': 'reach',
}
STUDY_NAMES = tuple(_FOLDERS)


class Study(Protocol):
    """
    What a study's module offers.

    :ivar SUMMARY: what the study shows, in a line.
    """

    SUMMARY: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the study's own options."""

    def run(self, arguments: Namespace) -> list[Path]:
        """Write the files into the folder ``arguments.output`` and return their paths."""


def load_study(name: str) -> Study:
    """
    Import a study.

    :param name: one of :data:`STUDY_NAMES`.
    :raises UnknownStudyError: there is no such study; lists the valid ones.
    """
    if name not in STUDY_NAMES:
        raise UnknownStudyError(name, STUDY_NAMES)
    module = name.replace('-', '_')
    return import_module(f'ik_service.studies.{_FOLDERS[name]}.{module}')
