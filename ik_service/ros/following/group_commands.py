"""Commands of a planning group on their way to the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ik_service.arm.arm import MeasuredState
from ik_service.following.target_follower import TargetFollower
from ik_service.ros.following.command_publisher import CommandPublisher


class GroupCommands:
    """
    Commands of one group, from its follower to the topic.

    :param output: publishes the commands.
    :param names: joints of the group.
    :param measured: the measured state of the arm.
    :ivar fault: why the group cannot be commanded; empty when it can.
    """

    def __init__(
        self, output: CommandPublisher, names: Sequence[str], measured: MeasuredState
    ) -> None:
        self._output = output
        self._measured = measured
        self._channel = output.channel(names, measured)
        missing = ', '.join(output.missing(names))
        self.fault = f'command_joints lacks {missing}, which the group moves' if missing else ''

    @property
    def busy(self) -> bool:
        """Whether something is still to be sent after the last command."""
        return self._channel is not None and self._channel.busy

    @property
    def refusals(self) -> int:
        """Number of messages that the gate did not let pass as they were; 0 in health."""
        return 0 if self._channel is None else self._channel.refusals

    def unmeasured(self) -> list[str]:
        """Return joints that commands name besides the group's, and no joint state so far."""
        channel = self._channel
        if channel is None or not len(channel.others):
            return []
        names = self._measured.arm.postures.names
        return [names[i] for i in self._measured.unmeasured(channel.others)]

    def next(self, follower: TargetFollower, now: float) -> bytes | None:
        """
        Return the next message, serialised; None when there is none.

        :param follower: the follower of the group.
        :param now: time of the tick on the monotonic clock [s].
        """
        command = follower.tick(now)
        if self._channel is None:
            return None
        message = self._channel.message(command, follower, now)
        return None if message is None else self._output.serialize(message)

    def is_late(self, now: float) -> bool:
        """
        Return whether the last message is too late to be sent.

        :param now: on the monotonic clock [s].
        """
        return self._channel is not None and self._channel.is_late(now)

    def discard(self) -> None:
        """Forget the last message, which was not sent."""
        if self._channel is not None:
            self._channel.discard()

    def publish(self, message: bytes) -> None:
        """
        Publish a message.

        :param message: one of :meth:`next`.
        """
        self._output.publish(message)

    def mark_sent(self, delay: float, period: float) -> None:
        """
        Take note of when the last message was really sent.

        :param delay: how long it took, from the tick to the end of sending [s].
        :param period: time between two ticks [s].
        """
        if self._channel is not None:
            self._channel.mark_sent(delay, period)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return self._output.report()
