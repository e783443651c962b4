"""Registry of the studies by name; a study is a module, imported on request."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from typing import cast, Protocol

from ik_service.exceptions import UnknownStudyError

_FOLDERS = {
    'soch-lorencz': 'paper',
    'step-size': 'methods',
    'movable-joints': 'methods',
    'unreachable': 'methods',
    'singularity': 'methods',
    'convergence': 'methods',
    'variants': 'methods',
    'joint-limits': 'methods',
    'objectives': 'methods',
    'tracking': 'tracking',
    'reach': 'reach',
    'paths': 'paths',
}
STUDY_NAMES = tuple(_FOLDERS)


class Study(Protocol):
    """
    Interface of a study's module.

    :ivar SUMMARY: one line about what the study shows.
    """

    SUMMARY: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """
        Add the options of the study.

        :param parser: of its command line.
        """

    def run(self, arguments: Namespace) -> list[Path]:
        """
        Compute, and write the figures and tables.

        :param arguments: the parsed options, with the folder for the files as ``output``.
        :returns: paths of the files.
        """


def load_study(name: str) -> Study:
    """
    Import a study.

    :param name: one of :data:`STUDY_NAMES`.
    :raises UnknownStudyError: there is no such study; lists the valid ones.
    """
    if name not in STUDY_NAMES:
        raise UnknownStudyError(name, STUDY_NAMES)
    module = name.replace('-', '_')
    return cast(Study, import_module(f'ik_service.extras.studies.{_FOLDERS[name]}.{module}'))
