"""
Exceptions of ik_service.

Every error derives from :class:`IkServiceError`, names the fault, carries it as data, and
lists the valid choices where there are any. A solver that does not converge is not an error: that
is an :class:`~ik_service.IkResult` with a status.
"""

from __future__ import annotations

from collections.abc import Iterable
import os

from ik_service.common.quoting import safe_repr, shown_path, truncate


class IkServiceError(Exception):
    """
    Base class of all errors raised by ik_service; they can be pickled.

    :ivar exit_code: exit code of a program that the error ends: 2 where what the program was
        given is wrong, a file or an option, else 1.
    """

    @property
    def exit_code(self) -> int:  # noqa: D102 - see above
        return 2 if isinstance(self, _WRONG_INPUT) else 1

    def __reduce__(self) -> tuple[object, ...]:
        # Python would call the class with the message alone.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[IkServiceError], args: tuple, state: dict[str, object]) -> IkServiceError:
    """Rebuild a pickled error."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class _UnknownNameError(IkServiceError):
    """Name that is not among the valid ones."""

    kind = 'name'

    def __init__(self, name: str, valid: Iterable[str]) -> None:
        self.name = name if isinstance(name, str) else safe_repr(name)
        self.valid = tuple(valid)
        choices = ', '.join(map(truncate, self.valid[:40])) + (
            ', …' if len(self.valid) > 40 else ''
        )
        super().__init__(f'unknown {self.kind} {safe_repr(name)}; valid: {choices or "none"}')


class UnknownLinkError(_UnknownNameError):
    """Name of a link that the robot does not have."""

    kind = 'link'


class UnknownJointError(_UnknownNameError):
    """Name of a movable joint that the robot does not have."""

    kind = 'joint'


class UnknownGroupError(_UnknownNameError):
    """Name of a planning group that the robot does not have."""

    kind = 'planning group'


class UnknownStateError(_UnknownNameError):
    """Name of a state that no planning group has for the joints of a chain."""

    kind = 'named state'


class UnknownObjectError(_UnknownNameError):
    """Name of an object that is not in the world, or not attached."""

    kind = 'object'


class UnknownSolverError(_UnknownNameError):
    """Name of a solver that does not exist."""

    kind = 'solver'


class UnknownArmError(_UnknownNameError):
    """Name of an arm that the package does not contain."""

    kind = 'arm'


class UnknownEngineError(_UnknownNameError):
    """Name of a simulation engine that does not exist."""

    kind = 'engine'


class UnknownStudyError(_UnknownNameError):
    """Name of a study that does not exist."""

    kind = 'study'


class UnknownOptionError(_UnknownNameError):
    """Name of a solver option that does not exist."""

    kind = 'option'


class RobotDescriptionError(IkServiceError):
    """
    Malformed description of a robot.

    :ivar element: the element at fault, such as ``joint 'shoulder'``; empty for the whole file.
    :ivar reason: the fault, without the element.
    """

    def __init__(self, message: str, element: str = '') -> None:
        super().__init__(f'{element}: {message}' if element else message)
        self.element = element
        self.reason = message


class UrdfError(RobotDescriptionError):
    """Malformed URDF."""


class SrdfError(RobotDescriptionError):
    """Malformed SRDF, or one that does not go with the robot."""


class JointLimitsError(RobotDescriptionError, ValueError):
    """Malformed file of joint limits, or one that does not go with the robot."""


class ToolFrameError(IkServiceError, ValueError):
    """
    Tool frame that a robot cannot get.

    :ivar tool: its name; empty for all of them.
    :ivar reason: the fault.
    """

    def __init__(self, tool: str, message: str) -> None:
        name = f'tool frame {safe_repr(tool)}' if tool else 'tool frames'
        super().__init__(f'{name}: {message}')
        self.tool = tool
        self.reason = message


class ChainError(IkServiceError):
    """No usable chain between the requested links."""


class FaultyJointError(ChainError):
    """
    Chain that needs a joint whose description is faulty.

    :ivar joint: the joint's name.
    :ivar reason: its fault.
    """

    def __init__(self, base_link: str, tip_link: str, joint: str, reason: str) -> None:
        super().__init__(f'no chain from {base_link!r} to {tip_link!r}: joint {joint!r} {reason}')
        self.joint = joint
        self.reason = reason


class NoTransformError(IkServiceError):
    """
    No known transform between two frames.

    :ivar target: the frame in which a pose was wanted.
    :ivar source: the frame whose pose was wanted.
    :ivar reason: why there is none.
    """

    def __init__(self, target: str, source: str, reason: str) -> None:
        super().__init__(f'no transform from {safe_repr(source)} to {safe_repr(target)}: {reason}')
        self.target = target
        self.source = source
        self.reason = reason


class OptionError(IkServiceError, ValueError):
    """
    Invalid value of a solver option, or an option that the solver does not use.

    :ivar option: the option's name.
    :ivar reason: the fault, without that name.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f'{option}: {message}')
        self.option = option
        self.reason = message


class SolverSpecError(IkServiceError, ValueError):
    """
    Invalid specification or step of a user-defined solver.

    :ivar field: the field of :class:`~ik_service.SolverSpec` at fault; ``step`` for the step.
    :ivar reason: its fault.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f'{field}: {message}')
        self.field = field
        self.reason = message


class ArgumentError(IkServiceError, ValueError):
    """
    Argument of the wrong type or shape, or with NaN or infinity in it.

    :ivar argument: the argument's name.
    :ivar reason: its fault.
    """

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f'{argument}: {message}')
        self.argument = argument
        self.reason = message


class CollisionGeometryError(IkServiceError):
    """
    Collision geometry of a link that cannot be used.

    :ivar link: the link's name.
    :ivar file: the mesh file as the URDF names it; empty where the fault lies elsewhere.
    :ivar reason: the fault.
    """

    def __init__(self, link: str, file: str, reason: str) -> None:
        super().__init__(f'collision geometry of link {safe_repr(link)}: {reason}')
        self.link = link
        self.file = file
        self.reason = reason


class CollisionObjectError(IkServiceError, ValueError):
    """
    Object that the world of collision checks cannot take.

    :ivar object: its name.
    :ivar field: the faulty part, such as ``shapes[2].radius``.
    :ivar reason: the fault.
    """

    def __init__(self, name: str, field: str, reason: str) -> None:
        super().__init__(f'object {safe_repr(name)}: {field}: {reason}')
        self.object = name if isinstance(name, str) else safe_repr(name)
        self.field = field
        self.reason = reason


class SimulationError(IkServiceError):
    """Failure to build a simulated arm from its description, or to simulate it."""


class SeedFileError(IkServiceError):
    """
    Learned guess that cannot be loaded or saved.

    :ivar path: the file.
    """

    def __init__(self, path: object, message: str) -> None:
        super().__init__(f'{path}: {message}')
        self.path = path


class BatchInterruptedError(IkServiceError, KeyboardInterrupt):
    """
    Interruption of a batch by Ctrl-C.

    :ivar partial: the :class:`~ik_service.IkBatchResult` so far.
    """

    def __init__(self, partial: object) -> None:
        super().__init__('the batch was interrupted; its answers so far are in .partial')
        self.partial = partial


class IncompleteSolutionsError(IkServiceError):
    """
    End of the search for all solutions before it had all.

    :ivar reason: why it ended.
    :ivar partial: (k, n) the solutions so far [rad] or [m].
    :ivar timed_out: whether the time ran out.
    """

    def __init__(self, reason: str, remedy: str, partial: object, timed_out: bool = False) -> None:
        super().__init__(f'not all solutions: {reason}: {remedy}; those found are in .partial')
        self.reason = reason
        self.partial = partial
        self.timed_out = timed_out


class StoreError(IkServiceError):
    """
    Fault of a store of answers, or one that does not go with a call.

    :ivar path: its folder.
    """

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(f'store {shown_path(path)} {reason}')
        self.path = path


class StoreInterruptedError(StoreError, KeyboardInterrupt):
    """Interruption of a call that fills a store, by Ctrl-C."""

    def __init__(self, path: object) -> None:
        super().__init__(
            path, 'was left at an interrupt: it keeps all whole chunks, and the same call goes on'
        )


class ClusterError(IkServiceError):
    """Cluster that cannot solve, or was lost; the store keeps the chunks that are whole."""


class MissingExtraError(IkServiceError, ImportError):
    """
    Missing optional dependency.

    :ivar extra: the extra of this package that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed: pip install 'ik_service[{extra}]'")
        self.extra = extra


class MissingRosPackageError(IkServiceError, ImportError):
    """
    Missing ROS 2 package that is not on PyPI.

    :ivar package: its name.
    """

    def __init__(self, package: str) -> None:
        distribution = os.environ.get('ROS_DISTRO') or '$ROS_DISTRO'
        debian = f'ros-{distribution}-{package.replace("_", "-")}'
        super().__init__(
            f'{package} is not installed, and is not on PyPI; where ROS 2 is installed: '
            f'sudo apt install {debian}'
        )
        self.package = package


class TrajectoryError(IkServiceError, ValueError):
    """
    Trajectory that is none, or that an arm cannot move along.

    :ivar reason: the fault.
    :ivar point: index of the point at fault; None for the whole trajectory.
    :ivar joint: name of the joint at fault; empty for all.
    """

    def __init__(self, message: str, point: int | None = None, joint: str = '') -> None:
        where = '' if point is None else f', point {point}'
        where += f', joint {safe_repr(joint)}' if joint else ''
        super().__init__(f'trajectory{where}: {message}')
        self.reason = message
        self.point = point
        self.joint = joint


class TargetRefusedError(IkServiceError):
    """Target that the arm may not follow now, for example because joint states are missing."""


class ConstraintError(IkServiceError):
    """Constraints that contradict each other or the pose, or that are not supported."""


class CompilationError(IkServiceError):
    """Solver that cannot be compiled now, because too many wait or the program is ending."""


_WRONG_INPUT = (
    ValueError,
    ChainError,
    CollisionGeometryError,
    RobotDescriptionError,
    SeedFileError,
    _UnknownNameError,
)
