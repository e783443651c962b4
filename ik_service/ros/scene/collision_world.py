"""Known world of a node, and the checks of the collisions of its arm with it and itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
import threading
import time
from weakref import WeakKeyDictionary

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.pair_rules import home_text, left_out_text
from ik_service.collision.posture_test import PostureTest
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import CollisionObjectError, IkServiceError, TargetRefusedError
from ik_service.model.geometry.solids import Box
from ik_service.ros.parameters.parameter_declaration import ParameterSpec
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.known_world import KnownWorld

REQUIRE_COLLISION_CHECKING = ParameterSpec(
    'require_collision_checking',
    find_spec('coal') is not None,
    'Whether requests with avoid_collisions are refused where collisions, or those of some link, '
    'cannot be checked; false: they are solved, and the message says what was not checked. '
    'Default: true where Coal is installed',
)

_REFRESH_PERIOD = 0.05  # of the objects in frames of tf [s]


@dataclass
class _Prepared:
    """Checker of an arm, if there can be one, and why some checks cannot be made."""

    checker: CollisionChecker | None
    fault: str = ''
    lock: threading.Lock = field(default_factory=threading.Lock)


class CollisionWorld:
    """
    Known world around an arm, and the checker of its collisions. Thread-safe.

    :param frames: frames of requests, to which those of objects are added.
    :param required: returns whether all of the robot has to be checked, or nothing counts as
        checked.
    """

    def __init__(
        self,
        frames: Frames,
        measured: Callable[[], MeasuredState | None] = lambda: None,
        required: Callable[[], bool] = lambda: True,
        warn: Callable[[str], object] = lambda text: None,
        inform: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.known = KnownWorld(frames, self._build)
        self._measured = measured
        self._required = required
        self._warn = warn
        self._inform = inform
        self._unplaced = FaultLogger(warn)
        self._refreshed_at = 0.0
        self._prepared: WeakKeyDictionary[Arm, _Prepared] = WeakKeyDictionary()

    def prepare(self, arm: Arm) -> None:
        """Make the checker of an arm, which may take some seconds."""
        prepared = _prepared(arm)
        self._prepared[arm] = prepared
        world = self.known.world
        others: list[WorldObject | AttachedObject] = [*world.objects.values()]
        for other in [*others, *world.attached.values()]:
            with suppress(CollisionObjectError):  # the check will say so
                self._build(other)
        if prepared.fault:
            self._warn(f'collisions: {prepared.fault}')
        if prepared.checker is None:
            return
        left_out, home = left_out_text(prepared.checker), home_text(prepared.checker)
        if left_out:
            self._inform(f'collisions: links that are not checked with each other are {left_out}')
        if home:
            self._warn(f'collisions: {home}')

    def adopt(self, arm: Arm) -> None:
        """Keep the objects of the world that go with an arm, which is in use from now on."""
        lost = self.known.adopt(arm)
        if lost:
            self._warn(
                f'objects dropped, as their links do not exist in the new robot: {", ".join(lost)}'
            )

    @property
    def required(self) -> bool:
        """Whether all of the robot has to be checked, or nothing counts as checked."""
        return self._required()

    def checker(self, arm: Arm | None = None) -> CollisionChecker | None:
        """
        Return the checker, with the world as it is now; to be asked for before every check.

        :param arm: the arm; the one in use by default.
        :returns: None where collisions cannot be checked, see :attr:`fault`.
        """
        prepared = self._of(arm)
        checker = prepared.checker
        if checker is None or (prepared.fault and self._required()):
            return None
        self._refresh()
        world = self.known.world
        if checker.world is not world:
            with prepared.lock:
                checker.set_world(world)
        return checker

    def prepared_checker(self, arm: Arm) -> CollisionChecker | None:
        """Return the checker of an arm, perhaps of an earlier world or of some links; or None."""
        return self._of(arm).checker

    @property
    def fault(self) -> str:
        """Links of the arm in use that cannot be checked, and why; empty for none."""
        return self.fault_of(None)

    def fault_of(self, arm: Arm | None) -> str:
        """Return the checks that cannot be made for an arm, and why; empty where all can be."""
        return self._of(arm).fault

    def report(self) -> dict[str, str]:
        """Return the objects and the checks as keys and values of the diagnostics."""
        world, checker = self.known.world, self._of(None).checker
        report = {'objects': str(len(world.objects)), 'attached objects': str(len(world.attached))}
        if checker is not None:
            checks = checker.statistics
            report |= {
                'checks': str(checks.count),
                'mean check time [µs]': f'{1e6 * checks.mean:.1f}',
                'longest check time [µs]': f'{1e6 * checks.longest:.1f}',
                'unchecked links': ', '.join(checker.unchecked) or 'none',
                'unchecked pairs': left_out_text(checker) or 'none',
                'pairs that collide at home': ', '.join(
                    ' – '.join(pair) for pair in checker.home_contacts
                )
                or 'none',
            }
        return report

    def _of(self, arm: Arm | None) -> _Prepared:
        if arm is None:
            measured = self._measured()
            if measured is None:
                return _Prepared(None, 'there is no robot yet')
            arm = measured.arm
        return self._prepared.get(arm) or _Prepared(None, 'the checker is not ready yet')

    def _build(self, other: WorldObject | AttachedObject) -> None:
        """Build the collision model of an object, so that no check has to wait for it."""
        if not any(prepared.checker for prepared in [*self._prepared.values()]):
            return
        try:
            other.solid.prepare()
        except IkServiceError:
            raise
        except Exception as error:  # of Coal
            raise CollisionObjectError(
                other.name, 'shapes', f'cannot be checked: {error}'
            ) from error

    def _refresh(self) -> None:
        now, measured = time.monotonic(), self._measured()
        due = now - self._refreshed_at >= _REFRESH_PERIOD
        if not due or measured is None or not self.known.is_anchored:
            return
        self._refreshed_at = now
        fault = self.known.refresh(measured)
        if fault:
            self._unplaced.report(f'objects keep their last known poses: {fault}')
        else:
            self._unplaced.clear()


def _prepared(arm: Arm) -> _Prepared:
    """Make the checker of an arm; whatever is wrong with it must not cost the arm."""
    try:
        checker = CollisionChecker(arm.robot, missing_meshes='skip')
        _warm_up(checker)
    except IkServiceError as error:
        return _Prepared(None, str(error))
    except Exception as error:  # such as one of Coal's, for a mesh that it cannot take
        return _Prepared(None, f'{type(error).__name__}: {error}')
    left_out = [f'{link!r}: {reason}' for link, reason in checker.unchecked.items()]
    more = f' and {len(left_out) - 3} more' if len(left_out) > 3 else ''
    fault = f'not fully checked are links {", ".join(left_out[:3])}{more}' if left_out else ''
    return _Prepared(checker, fault)


def _warm_up(checker: CollisionChecker) -> None:
    """Load the code of the checks, so that neither a request nor a command waits for it."""
    world = World().with_object(WorldObject('/', Box((1.0, 1.0, 1.0))))
    checker.with_world(world).contacts({})


class MeasuredCollisions:
    """
    Test of postures of a group, in the world as it is known.

    The joints of other groups are where they were measured last, also while they move.
    """

    def __init__(
        self, collisions: CollisionWorld, measured: MeasuredState, group: ArmGroup
    ) -> None:
        self._collisions = collisions
        self._measured = measured
        self._names = group.chain.joint_names
        self._checker: CollisionChecker | None = None
        self._test: PostureTest | None = None
        self._levers: tuple[World | None, np.ndarray] = None, np.zeros(group.chain.n)
        self._others: tuple[str, ...] = ()
        self._indices = np.empty(0, np.intp)
        self._positions = b''

    @property
    def fault(self) -> str:
        """Why postures cannot be tested; empty when they can."""
        arm = self._measured.arm
        try:
            if self._collisions.checker(arm) is not None:
                return ''
        except Exception as error:  # following has to be refused, whatever it is
            return f'{type(error).__name__}: {error}'
        return self._collisions.fault_of(arm) or 'there is no checker'

    def first_contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """Return the names of two bodies that collide; None when none do."""
        checker = self._collisions.checker(self._measured.arm)
        if checker is None:
            raise TargetRefusedError(self.fault)
        if checker is not self._checker:
            self._adopt(checker)
        positions = self._measured.posture()[self._indices]
        if self._test is None or positions.tobytes() != self._positions:
            others = dict(zip(self._others, positions.tolist(), strict=True))
            self._test = checker.of_motion(self._names, others)
            self._positions = positions.tobytes()
        return self._test.first_contact(q)

    def levers(self) -> np.ndarray:
        """Return how far a unit of each joint moves any point of arm and load [m/rad or 1]."""
        checker = self._collisions.checker(self._measured.arm)
        if checker is not None and (
            checker is not self._checker or self._levers[0] is not checker.world
        ):
            world = checker.world
            self._levers = world, checker.for_joints(self._names).levers()
        return self._levers[1]

    def _adopt(self, checker: CollisionChecker) -> None:
        self._checker, self._test = checker, None
        self._others = tuple(name for name in checker.joint_names if name not in self._names)
        self._indices = self._measured.arm.postures.indices(self._others)
