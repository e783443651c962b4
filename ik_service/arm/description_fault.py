"""Why the newest robot description is not in use, in words."""

from __future__ import annotations

from typing import NamedTuple

from ik_service.exceptions import IkServiceError


class DescriptionFault(NamedTuple):
    """
    Fault of the newest robot description; none by default.

    :ivar reason: what is wrong, and what to do about it; empty where nothing is.
    :ivar in_use: whether the robot is in use all the same, with a part of what the node offers.
    """

    reason: str = ''
    in_use: bool = False

    @classmethod
    def of(cls, error: Exception, in_use: bool, on_topic: bool) -> DescriptionFault:
        """
        Return the fault that an exception stands for.

        :param error: the exception.
        :param in_use: as the attribute.
        :param on_topic: whether the description comes on a topic, and so may come again.
        """
        if isinstance(error, IkServiceError):
            return cls(str(error), in_use)
        what = ': '.join(text for text in (type(error).__name__, str(error)) if text)
        again = 'publish the description again, or ' if on_topic else ''
        return cls(
            f'error in the node: {what} (traceback in the log); once the cause is fixed, '
            f'{again}restart the node',
            in_use,
        )

    @property
    def text(self) -> str:
        """The line of the log."""
        if self.in_use:
            return f'robot description in use, but incomplete: {self.reason}'
        return f'robot description refused: {self.reason}'
