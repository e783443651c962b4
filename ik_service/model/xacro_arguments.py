"""Arguments of xacro files, and what is to be told about these once they are expanded."""

from __future__ import annotations

from collections.abc import Mapping

from ik_service.common.quoting import meant, quote
from ik_service.exceptions import ArgumentError


class XacroArguments(dict[str, object]):
    """
    Arguments of xacro files.

    :ivar asked: names for which one of the files has asked.
    :ivar warnings: what xacro has warned of, a sentence each.
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()
        self.warnings: list[str] = []

    @classmethod
    def of(cls, given: Mapping[str, object] | None) -> XacroArguments:
        """Return arguments themselves, or a mapping as arguments."""
        return given if isinstance(given, cls) else cls(given or {})

    def check_asked(self) -> None:
        """Refuse arguments that no file has asked for, by an ArgumentError for the first."""
        for reason in self._unasked():
            raise ArgumentError('xacro_args', reason)

    def remarks(self) -> list[str]:
        """Return a sentence for each warning, and each argument that no file has asked for."""
        return [*self.warnings, *self._unasked()]

    def _unasked(self) -> list[str]:
        return [
            f'xacro argument {quote(name)} is not used{meant(name, self.asked)}'
            for name in self
            if name not in self.asked
        ]
