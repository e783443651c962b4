"""The arm that a server is asked about: its joints, tips, limits, and random postures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import sampled_range, search_limits
from ik_service.kinematics.link_poses import attached_links, links_below
from ik_service.kinematics.tree import KinematicTree
from ik_service.model.joint import JointType
from ik_service.robot import Robot

_DIRECTIONS = 20  # tries of a step of a walk, from one posture on the mean
# Singular values of the Jacobian, as shares of the largest one: below the first a direction counts
# as none of the arm's, below the second a posture as close to a singular one.
_NEGLIGIBLE, _SINGULAR = 1e-4, 2e-2


class TestedArm:
    """The arm that a server is asked about."""

    __test__ = False  # pytest takes it for a test otherwise

    def __init__(self, robot: Robot, space: KinematicChain | KinematicTree) -> None:
        self.robot = robot
        self.base_link = space.base_link
        self.tips = (
            (space.tip_link,) if isinstance(space, KinematicChain) else tuple(map(str, space.tips))
        )
        self.joint_names = space.joint_names
        self._lower, self._upper = space.lower, space.upper
        self._ranges = sampled_range(space)
        self._space = space

    @classmethod
    def of(cls, robot: Robot, group: str, base_link: str, tip_link: str) -> TestedArm:
        """
        Return an arm of a robot.

        :param group: its planning group, if it has one of that name.
        :param base_link: base; empty for that of the group, or the root.
        :param tip_link: tip; empty for those of the group, or the robot's default.
        :raises ChainError: no tip is named, and several would do.
        :raises UnknownLinkError: there is no such link.
        """
        known = robot.groups.get(group) or (None if group else robot.default_group)
        if known is None or known.fault:
            return cls(robot, robot.chain(base_link or None, tip_link or None))
        if base_link or tip_link:
            tip = tip_link or known.tip_links[0]
            return cls(robot, robot.chain(base_link or known.base_link, tip))
        return cls(robot, robot.group(known.name))

    def bounds(self) -> Iterator[tuple[str, float, float]]:
        """Yield the joints with their limits [rad] or [m], infinite where there are none."""
        yield from zip(self.joint_names, self._lower.tolist(), self._upper.tolist(), strict=True)

    def random_posture(self, rng: np.random.Generator, margin: float = 0.01) -> dict[str, float]:
        """Position of each movable joint by name [rad, m]; those beside the arm near 0."""
        low, high = self._ranges
        away = margin * (high - low)
        q = rng.uniform(low + away, high - away)
        return self.completed(dict(zip(self.joint_names, q.tolist(), strict=True)))

    def moved(
        self, posture: Mapping[str, float], rng: np.random.Generator, step: float
    ) -> dict[str, float]:
        """Return a posture within the limits, some joint of which is a step [rad] or [m] away."""
        q, (low, high) = self._vector(posture), self._ranges
        direction = rng.uniform(-1.0, 1.0, len(q))
        motion = step * direction / np.abs(direction).max()
        beyond = (q + motion < low) | (q + motion > high)
        motion[beyond] *= -1.0
        return self._named(np.clip(q + motion, low, high))

    def walk(
        self, rng: np.random.Generator, length: int, step: float
    ) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
        """Yield beginning and end of steps [rad, m] away from singular postures, if any."""
        low, high = self._ranges
        q, left = self._vector(self.random_posture(rng, 0.2)), length
        for _ in range(_DIRECTIONS * length):
            direction = rng.uniform(-1.0, 1.0, len(q))
            end = q + step * direction / np.abs(direction).max()
            if ((end >= low) & (end <= high)).all() and self._is_regular(end):
                yield self._named(q), self._named(end)
                q, left = end, left - 1
                if not left:
                    return
            elif rng.random() < 1.0 / _DIRECTIONS:
                q = self._vector(self.random_posture(rng, 0.2))

    @property
    def redundant(self) -> bool:
        """Whether the arm can move without its tips."""
        return len(self.joint_names) > self.freedoms

    def _is_regular(self, q: np.ndarray) -> bool:
        """Return whether a posture is far from singular ones, among those of this arm."""
        s = np.linalg.svd(self._space.jacobian(q), compute_uv=False)
        return bool(s[self.freedoms - 1] > _SINGULAR * s[0])

    @cached_property
    def freedoms(self) -> int:
        """Number of the tips' freedoms: a planar arm has three."""
        rng, ranks = np.random.default_rng(0), []
        for _ in range(_DIRECTIONS):
            J = self._space.jacobian(self._vector(self.random_posture(rng)))
            s = np.linalg.svd(J, compute_uv=False)
            ranks.append(int((s > _NEGLIGIBLE * s[0]).sum()))
        return max(ranks)

    def _vector(self, posture: Mapping[str, float]) -> np.ndarray:
        return np.array([posture[name] for name in self.joint_names])

    def _named(self, q: np.ndarray) -> dict[str, float]:
        return self.completed(dict(zip(self.joint_names, q.tolist(), strict=True)))

    def completed(self, given: Mapping[str, float]) -> dict[str, float]:
        """Return the full posture: mimic joints follow those given, others stand next to 0."""
        robot, full = self.robot, {}
        for name in robot.movable_joint_names:
            source, multiplier, offset = robot.resolve_mimic(name)
            limits = robot.joints[source].limits
            rest = min(max(0.0, limits.lower), limits.upper)
            full[name] = multiplier * given.get(source, rest) + offset
        return full

    def joints_beside(self) -> list[str]:
        """Return the joints that move on their own, but not the tips."""
        robot = self.robot
        at_work = {robot.resolve_mimic(name)[0] for name in self.joint_names}
        return [name for name in robot.independent_joint_names if name not in at_work]

    def described(self, names: Iterable[str]) -> list[str]:
        """Return the names that the URDF has, without those made for a floating joint here."""
        text = self.robot.urdf_text
        return [name for name in names if f'"{name}"' in text or f"'{name}'" in text]

    def random_position(self, name: str, rng: np.random.Generator) -> float:
        """Return a random position of a joint within its limits, at most 1 rad or m from 0."""
        limits = self.robot.joints[name].limits
        rest = min(max(0.0, limits.lower), limits.upper)
        return float(rng.uniform(max(limits.lower, rest - 1.0), min(limits.upper, rest + 1.0)))

    def attached_to(self, link: str) -> list[str]:
        """Return the other links that are rigidly attached to a link."""
        return sorted(set(attached_links(self.robot, link)) - {link})

    def links_between(self) -> list[str]:
        """Return the links that the arm moves, but that are not rigidly attached to a tip."""
        path = {
            joint.child for tip in self.tips for joint, _ in self.robot.path(self.base_link, tip)
        }
        still = set(attached_links(self.robot, self.base_link))
        at_tips = {link for tip in self.tips for link in attached_links(self.robot, tip)}
        below = set(links_below(self.robot, self.base_link))
        return [link for link in self.robot.links if link in (path & below) - still - at_tips]

    def reach(self) -> float:
        """Return a length that no tip can be away from the root [m]."""
        slides = [j.limits for j in self.robot.joints.values() if j.type is JointType.PRISMATIC]
        ends = np.abs(search_limits([s.lower for s in slides], [s.upper for s in slides]))
        sliding = float(ends.max(axis=0)[np.isfinite(ends).all(axis=0)].sum())
        lengths = (
            float(np.linalg.norm(joint.T_parent_joint[:3, 3]))
            for joint in self.robot.joints.values()
        )
        return sum(lengths) + sliding
