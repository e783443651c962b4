"""The robot that the node moves: its chains, their solvers, and what never changes about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ik_service.arm.posture import PostureSpace
from ik_service.common.quoting import echo
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import link_poses
from ik_service.model.part_names import listed
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver

_PREPARED = 64  # solvers that are kept


@dataclass(frozen=True)
class SolverSettings:
    """A solver's name and its options."""

    name: str = 'levenberg_marquardt'
    options: IkOptions = field(default_factory=IkOptions)


@dataclass(frozen=True)
class ArmSettings:
    """
    What makes an arm of a robot.

    :ivar base_link: link in whose frame the chain starts; empty is the root.
    :ivar tip_link: link that is placed; empty is the only leaf below the base.
    :ivar locked: joints that do not move, and where [rad] or [m].
    :ivar group_names: planning groups that the services answer to, the default first;
        ``{robot}`` stands for the robot's name.
    """

    base_link: str = ''
    tip_link: str = ''
    locked: Mapping[str, float] = field(default_factory=dict)
    group_names: tuple[str, ...] = ('manipulator',)


@dataclass(frozen=True)
class Limb:
    """
    A chain of the arm with its solver.

    :ivar chain: the chain.
    :ivar solver: its solver, with the settings that were asked for.
    :ivar indices: (n,) where its joints stand in a full posture.
    """

    chain: KinematicChain
    solver: Solver
    indices: np.ndarray


class Arm:
    """
    A robot, and the chain from its base to its tip. Safe to share between threads.

    :ivar robot: the robot.
    :ivar chain: the chain from base to tip.
    :ivar postures: the robot's full postures.
    :ivar indices: (n,) where the chain's joints stand in a full posture.
    :ivar rest: (m,) full posture [rad] or [m], read-only: the chain's joints in the middle of
        their limits, the others at 0 or at the limit nearest to it.
    :ivar group_names: names of the planning group; the first is the default.
    :raises ChainError: the links make no chain.
    :raises UnknownLinkError: there is no such link.
    :raises UnknownJointError: there is no such joint to lock.
    """

    def __init__(self, robot: Robot, settings: ArmSettings) -> None:
        self.robot = robot
        self._locked = dict(settings.locked)
        self.chain = robot.chain(
            settings.base_link or None, settings.tip_link or None, self._locked
        )
        self.group_names = tuple(
            dict.fromkeys(name.replace('{robot}', robot.name) for name in settings.group_names)
        )
        self.postures = PostureSpace(robot, self._locked)
        self.indices = self.postures.indices(self.chain.joint_names)
        self.rest = self._rest()
        self._beside_base = _attached(robot, self.chain.base_link)
        below = set(_below(robot, self.chain.base_link))
        attached = _attached(robot, self.chain.tip_link)
        self._tips = [link for link in robot.links if link in below or link in attached]
        self._links = frozenset(robot.links)
        self._limbs: dict[tuple[str, SolverSettings], Limb] = {}

    def limb(self, tip_link: str, settings: SolverSettings) -> Limb:
        """
        Return the chain to a link with its solver; it is kept for the next time.

        :param tip_link: the tip, a link rigidly attached to it, or any other link below the base;
            empty is the tip.
        :raises ChainError: it is another link, or no joint moves it.
        :raises IkServiceError: the solver does not go with the chain or the options.
        """
        key = (tip_link or self.chain.tip_link, settings)
        limb = self._limbs.get(key)
        if limb is None:
            limb = self._prepare(*key)
            if len(self._limbs) >= _PREPARED:
                self._limbs = {}
            self._limbs[key] = limb
        return limb

    def has_link(self, name: str) -> bool:
        """Return whether the robot has a link of that name."""
        return name in self._links

    def link_poses(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return T_root_link (4, 4) of every link at a full posture (m,) [rad] or [m]."""
        return link_poses(self.robot, self.postures.by_name(positions))

    def base_from_link(self, link: str, positions: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the base frame.

        :param link: a link of the robot.
        :param positions: (m,) full posture [rad] or [m].
        :returns: (4, 4) T_base_link.
        """
        fixed = self._beside_base.get(link)
        if fixed is not None:
            return fixed
        poses = self.link_poses(positions)
        return inverse_transform(poses[self.chain.base_link]) @ poses[link]

    def moves(self, links: Iterable[str]) -> np.ndarray:
        """Return which joints the poses of links in the root's frame depend on, as indices."""
        names = {
            self.robot.resolve_mimic(joint.name)[0]
            for link in links
            for joint, _ in self.robot.path(self.robot.root_link, link)
            if joint.movable
        }
        names -= self._locked.keys()
        return self.postures.indices([name for name in self.postures.names if name in names])

    def _prepare(self, tip_link: str, settings: SolverSettings) -> Limb:
        chain = self.chain
        if tip_link != chain.tip_link:
            if tip_link not in self._tips:
                raise ChainError(
                    f'link {echo(tip_link)} is neither below {chain.base_link!r} nor attached to '
                    f'{chain.tip_link!r}; valid: {listed(self._tips)}'
                )
            chain = self.robot.chain(chain.base_link, tip_link, self._locked)
        solver = Solver(chain, settings.name, settings.options)
        return Limb(chain, solver, self.postures.indices(chain.joint_names))

    def _rest(self) -> np.ndarray:
        posture = self.postures.near_zero()
        posture[self.indices] = self.chain.mid_range()
        self.postures.complete(posture).setflags(write=False)
        return posture


def _below(robot: Robot, link: str) -> Iterator[str]:
    """Yield all links below a link."""
    pending = [link]
    while pending:
        for joint in robot.child_joints_of(pending.pop()):
            pending.append(joint.child)
            yield joint.child


def _attached(robot: Robot, link: str) -> dict[str, np.ndarray]:
    """Return T_link_other (4, 4) of all links that are rigidly attached to a link, and itself."""
    found = {link: np.eye(4)}
    pending = [link]
    while pending:
        at = pending.pop()
        above = robot.parent_joint_of(at)
        joints = [*robot.child_joints_of(at), *([above] if above else [])]
        for joint in joints:
            down = joint.parent == at
            other = joint.child if down else joint.parent
            if not joint.movable and other not in found:
                T = joint.T_parent_joint if down else inverse_transform(joint.T_parent_joint)
                found[other] = found[at] @ T
                pending.append(other)
    return found
