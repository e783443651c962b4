"""Base class of all errors."""

from __future__ import annotations


class IkServiceError(Exception):
    """Base class of all errors raised by ik_service; they can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        # Python would call the class with the message alone.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[IkServiceError], args: tuple, state: dict[str, object]) -> IkServiceError:
    """Rebuild a pickled error."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
