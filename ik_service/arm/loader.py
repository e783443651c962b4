"""From a robot description to an arm: at once, or in the background while another is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import os
from pathlib import Path
import threading
from typing import NamedTuple, TypeVar

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.group import ArmGroup, SolverSettings
from ik_service.common.quoting import named, named_file
from ik_service.exceptions import IkServiceError, SrdfError, UrdfError
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.description import is_xacro, is_xacro_text, MAX_BYTES
from ik_service.model.xacro_file import XacroArguments
from ik_service.robot import Robot

Source = str | Path
"""Source of a robot description: a string is URDF text, never a path; a path names its file."""


def source_of(urdf: str, robot_description: str) -> Source:
    """
    Return where the parameters ``urdf`` and ``robot_description`` say that the robot is.

    :param urdf: path of a file, where a leading ``~`` is the home folder; wins unless empty.
    :param robot_description: URDF text.
    """
    # Not Path.expanduser, which raises for a user that there is not.
    return Path(os.path.expanduser(urdf)) if urdf else robot_description


def srdf_source(srdf: str, robot_description_semantic: str) -> Source:
    """
    Return where the parameters ``srdf`` and ``robot_description_semantic`` say the groups are.

    :param srdf: path of a file; wins unless empty.
    :param robot_description_semantic: SRDF text, or the path of a file.
    """
    text = robot_description_semantic
    if not srdf and text.strip() and '<' not in text:
        return source_of(text.strip(), '')
    return source_of(srdf, text)


def read_robot(
    source: Source,
    trusted: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    expand_text: bool = False,
    package_dirs: Iterable[Path] = (),
    file: Path | None = None,
) -> Robot:
    """
    Read a robot.

    :param source: where it is described.
    :param trusted: whether the user of this program has named the source himself; a xacro file,
        which is a program, is run only then.
    :param xacro_args: arguments of a xacro file by name, or
        :class:`~ik_service.model.xacro_file.XacroArguments`, which note what is asked for.
    :param expand_text: whether the user of this program has given the text himself, such as in a
        parameter; only then it is expanded if it is xacro.
    :param package_dirs: more folders in which the packages lie that meshes and xacro files are
        named by.
    :param file: the file that a text was made from, beside which meshes are searched for.
    :raises UrdfError: the file cannot be read, or the description is malformed.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    if isinstance(source, Path):
        if is_xacro(source) and not trusted:
            raise UrdfError(
                'a xacro file that another program names is not expanded; name it in the '
                'parameter urdf of this one',
                named_file(str(source)),
            )
        return Robot.from_urdf(source, xacro_args, package_dirs=package_dirs)
    if source.strip() and '<' not in source:
        raise UrdfError(
            'no XML; the text of a URDF is needed here, and the path of its file in the '
            'parameter urdf',
            named('robot_description', source),
        )
    if is_xacro_text(source):
        if not expand_text:
            raise UrdfError(
                'the text is xacro, a program, which is not run for others; whoever publishes it '
                'has to expand it (robot_state_publisher takes what the command xacro prints), or '
                'name its file in the parameter urdf',
                'robot_description',
            )
        from ik_service.model.xacro_file import expand_xacro_text  # not loaded otherwise

        source = expand_xacro_text(source, MAX_BYTES, xacro_args, package_dirs)
    return Robot.from_urdf_text(source, file).with_package_dirs(package_dirs)


def with_semantics(
    robot: Robot,
    srdf: Source,
    trusted: bool = True,
    xacro_args: Mapping[str, object] | None = None,
) -> Robot:
    """
    Return a robot with the planning groups of a semantic description.

    :param srdf: where the groups are described; empty for nowhere: the robot stays as it is.
    :param trusted: as for :func:`read_robot`.
    :param xacro_args: as for :func:`read_robot`.
    :raises SrdfError: the file cannot be read, the description is malformed, or it does not go
        with the robot.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    if not isinstance(srdf, Path):
        return _with_semantic_text(robot, srdf) if srdf.strip() else robot
    if is_xacro(srdf) and not trusted:
        raise SrdfError(
            'a xacro file that another program names is not expanded; name it in the parameter '
            'srdf of this one',
            named_file(str(srdf)),
        )
    return robot.with_srdf(srdf, xacro_args)


def _with_semantic_text(robot: Robot, text: str) -> Robot:
    element = 'robot_description_semantic'
    if '<' not in text:
        raise SrdfError(
            'no XML; the text of an SRDF is needed here, and the path of its file in the '
            'parameter srdf',
            named(element, text),
        )
    try:
        return robot.with_srdf_text(text)
    except SrdfError as error:  # a node has two descriptions; say which one is at fault
        raise SrdfError(str(error), element) from error


def build_arm(
    source: Source,
    settings: ArmSettings,
    trusted: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    srdf: Source = '',
    srdf_trusted: bool = True,
    package_dirs: Iterable[Path] = (),
    file: Path | None = None,
) -> Arm:
    """
    Build an arm from a robot description.

    :param source: where the robot is described.
    :param settings: which of its links and joints make the arm.
    :param trusted: as for :func:`read_robot`.
    :param xacro_args: as for :func:`read_robot`.
    :param srdf: where its planning groups are described; empty for nowhere.
    :param srdf_trusted: the same as ``trusted`` for ``srdf``.
    :param package_dirs: as for :func:`read_robot`.
    :param file: as for :func:`read_robot`.
    :raises UrdfError: the file cannot be read, or the description is malformed.
    :raises SrdfError: likewise for the semantic description.
    :raises IkServiceError: the settings do not go with the robot.
    """
    given = XacroArguments(xacro_args or {})
    robot = read_robot(source, trusted, given, package_dirs=package_dirs, file=file)
    robot = with_semantics(robot, srdf, srdf_trusted, given)
    return Arm(robot.remarked(given.remarks()), settings)


_News = TypeVar('_News')


class ArmLoader:
    """
    Background thread that builds arms and compiles their kernels; only the newest request counts.

    :param settings: returns the solver's settings as they are now.
    :param on_loaded: called in that thread with an arm whose kernels are compiled.
    :param on_refused: called in that thread with the exception that building an arm raised.
    :param wait: returns when kernels that others compile are there.
    """

    def __init__(
        self,
        settings: Callable[[], SolverSettings],
        on_loaded: Callable[[Arm], None],
        on_refused: Callable[[Exception], None],
        wait: Callable[[], object],
    ) -> None:
        self._settings = settings
        self._on_loaded = on_loaded
        self._on_refused = on_refused
        self._wait = wait
        self._calling, self._news = threading.Lock(), threading.Condition()
        self._waiting: Callable[[], Arm] | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='loader', daemon=True)
        self._thread.start()

    def submit(self, build: Callable[[], Arm]) -> None:
        """Build an arm as soon as possible, by a function, instead of one that still waits."""
        with self._news:
            self._waiting = build
            self._news.notify()

    def end(self) -> None:
        """End the thread; a callback that runs is waited for, and none is called any more."""
        with self._calling, self._news:
            self._ended = True
            self._news.notify()

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._ended or self._waiting is not None)
                build, self._waiting = self._waiting, None
                if self._ended or build is None:
                    return
            try:
                arm = build()
                self._wait()
                _warm_up(arm, self._settings())
                self._tell(self._on_loaded, arm)
            except Exception as error:  # a bad description must not end the loader
                self._tell(self._on_refused, error)

    def _tell(self, callback: Callable[[_News], None], news: _News) -> None:
        with self._calling:
            if not self._ended:
                callback(news)


def _warm_up(arm: Arm, settings: SolverSettings) -> None:
    """Compile the kernels that chains need, and prepare the solver of every group that is one."""
    groups: dict[int, ArmGroup] = {id(group): group for group in arm.groups.values()}
    for group in groups.values():
        if isinstance(group.chain, KinematicChain):  # trees are compiled afterwards
            group.solver(settings).solver.warm_up()


class DescriptionFault(NamedTuple):
    """
    Fault of the newest robot description; none by default.

    :ivar reason: the fault, and its remedy; empty where there is none.
    :ivar in_use: whether the robot is in use all the same, with a part of the node's services.
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
