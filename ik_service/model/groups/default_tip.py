"""
The link that is placed when nobody names one.

Of the links below the base without children, those count that a joint moves. Fingers and jaws
yield to the link that carries them, and links that hang on an arm beside its end to that end. Of
the others the names decide: tools first, cameras and wheels last. Of two equal arms the first
counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
import re

from ik_service.common.quoting import listed
from ik_service.exceptions import ChainError, FaultyJointError
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel

_WORDS = re.compile(r'[a-z]+|[0-9]+')

_BEST = (
    ('tool 0',),
    ('tcp', 'tool center point', 'tool centre point'),
    ('tool', 'tooltip', 'grasp', 'grasping'),
    ('flange',),
    ('ee', 'eef', 'end effector', 'endeffector'),
)
"""Words of links that are made to be placed, by rank."""

_FINGERS = (
    'finger', 'leftfinger', 'rightfinger', 'fingertip', 'knuckle', 'thumb', 'jaw', 'pad',
    'fingers',
)  # fmt: skip
_SERVING = (
    'accelerometer', 'antenna', 'bellow', 'bumper', 'camera', 'cam', 'caster', 'collision',
    'cover', 'd405', 'd415', 'd435', 'depth', 'display', 'dummyhead', 'estop', 'ft', 'gps', 'head',
    'imu', 'inertia', 'infra', 'itb', 'kinect', 'laser', 'led', 'lidar', 'light', 'motor',
    'optical', 'pedestal', 'projector', 'range', 'realsense', 'rgb', 'rgbd', 'scan', 'scanner',
    'screen', 'screw', 'sensor', 'sick', 'sonar', 'speaker', 'stereo', 'ultrasound', 'visual',
    'wheel', 'xtion', 'zed',
)  # fmt: skip
"""Words of links that serve the robot, and are not placed."""

ORDINARY = len(_BEST)  # rank of a link whose name says nothing
_LAST = ORDINARY + 1  # rank of a link that carries a sensor, drives the robot or the like


def tip_rank(link: str) -> int:
    """Return the rank of a link as a tip by its name; the lowest is the best."""
    words = _words(link)
    text = f' {" ".join(words)} '
    for rank, phrases in enumerate(_BEST):
        if any(f' {phrase} ' in text for phrase in phrases):
            return rank
    return ORDINARY if _SERVING_SET.isdisjoint(words) else _LAST


def serves(link: str) -> bool:
    """Return whether a link carries a sensor, drives the robot or the like, by its name."""
    return tip_rank(link) == _LAST


def is_finger(link: str) -> bool:
    """Return whether a link is a part of a finger, by its name."""
    return not _FINGER_SET.isdisjoint(_words(link))


def best_tips(links: Iterable[str]) -> list[str]:
    """Return those of the links with the best rank."""
    ranked = [(tip_rank(link), link) for link in links]
    best = min((rank for rank, _ in ranked), default=0)
    return [link for rank, link in ranked if rank == best]


_FINGER_SET = frozenset(_FINGERS)
_SERVING_SET = frozenset(_SERVING)


def _words(link: str) -> list[str]:
    return _WORDS.findall(link.lower())


_ARM_JOINTS = 3  # fewest joints of an arm
_FINGER_JOINTS = 2  # most joints of a finger
_COMPARED = 64  # most candidates that are compared with each other: no robot has so many hands


def default_tip(model: RobotModel, base_link: str) -> str:
    """
    Return the link below a base that is placed when nobody names one.

    :param model: the robot.
    :param base_link: link in whose frame poses are given.
    :raises UnknownLinkError: there is no such link.
    :raises ChainError: no joint moves a link below the base, or several links would do; the error
        lists them.
    """
    tips = tip_candidates(model, base_link)
    if not tips:
        _refuse_faulty(model, base_link)
        raise ChainError(f'no joint moves a link below {base_link!r}')
    if len(tips) > 1 and not are_equal_arms(model, base_link, tips):
        raise ChainError(
            f'several links below {base_link!r} could be placed; tip_link has to name the tip: '
            f'{listed(tips)}'
        )
    return tips[0]


def _refuse_faulty(model: RobotModel, base_link: str) -> None:
    """Raise an error where there would be a tip but for a faulty joint."""
    pending = [base_link]
    while pending:
        for joint in model.child_joints_of(pending.pop()):
            if joint.fault:
                raise FaultyJointError(base_link, joint.child, joint.name, joint.fault)
            pending.append(joint.child)


def are_equal_arms(model: RobotModel, base_link: str, tips: Sequence[str]) -> bool:
    """Return whether links are the ends of two arms with the same kinds of joints."""
    if len(tips) != 2:
        return False
    paths = [
        [joint for joint in _joints_between(model, base_link, tip) if joint.movable]
        for tip in tips
    ]
    names = [{joint.name for joint in path} for path in paths]
    shared = names[0] & names[1]
    one, other = ([joint.type for joint in path if joint.name not in shared] for path in paths)
    return one == other and len(one) >= _ARM_JOINTS


def tip_candidates(model: RobotModel, base_link: str, faulty_too: bool = False) -> list[str]:
    """
    Return the links below a base that could be its tip, the best ones only.

    :param faulty_too: whether links count that a faulty joint carries.
    :returns: one link where the choice is clear; none where no joint moves.
    :raises UnknownLinkError: there is no such link.
    """
    paths = moved_leaves(model, base_link, faulty_too)
    if any(not serves(leaf) for leaf in paths):
        paths = {leaf: path for leaf, path in paths.items() if not serves(leaf)}
    tips = best_tips(_without_fingers(paths))
    if len(tips) > _COMPARED:
        return tips
    tips = _without_jaws({tip: _joints_between(model, base_link, tip) for tip in tips})
    joints = {
        tip: {joint.name for joint in _joints_between(model, base_link, tip)} for tip in tips
    }
    return [tip for tip in tips if not any(_is_beside(joints[tip], it) for it in joints.values())]


def _without_jaws(paths: Mapping[str, list[Joint]]) -> list[str]:
    """Return the tips, and instead of the jaws of a gripper, by name, the link that has them."""
    jaws = [tip for tip in paths if 'gripper' in _words(tip)]
    levels = zip(*(paths[jaw] for jaw in jaws), strict=False)
    shared = [level[0] for level in levels if len({joint.name for joint in level}) == 1]
    arm = sum(joint.movable for joint in shared)
    own = [sum(joint.movable for joint in paths[jaw]) - arm for jaw in jaws]
    if len(jaws) < 2 or arm < _ARM_JOINTS or not 0 < max(own) <= _FINGER_JOINTS:
        return list(paths)
    return [*(tip for tip in paths if tip not in jaws), shared[-1].child]


def moved_leaves(
    model: RobotModel, base_link: str, faulty_too: bool = False
) -> dict[str, list[Joint]]:
    """
    Return the links without children that a joint moves, with the joints from the base.

    :param faulty_too: whether links count that a faulty joint carries, as if it moved.
    :raises UnknownLinkError: there is no such link.
    """
    found = {}
    pending: list[tuple[str, bool]] = [(base_link, False)]
    while pending:
        link, moved = pending.pop()
        joints = model.child_joints_of(link)
        pending += [
            (joint.child, moved or joint.movable or bool(joint.fault))
            for joint in reversed(joints)
            if faulty_too or not joint.fault
        ]
        if not joints and moved:
            found[link] = _joints_between(model, base_link, link)
    return found


def _joints_between(model: RobotModel, base_link: str, link: str) -> list[Joint]:
    """Return the joints from the base to a link below it."""
    return [joint for joint, _ in model.path(base_link, link)]


def _without_fingers(paths: Mapping[str, list[Joint]]) -> list[str]:
    """Return the leaves, and instead of fingers the links that carry them."""
    branches = _Branches(paths)
    hands = {leaf: _hand(leaf, path, branches) for leaf, path in paths.items()}
    plain = {leaf for leaf, hand in hands.items() if hand == leaf}
    beside = {joint.parent for leaf in plain for joint in paths[leaf]}
    # A tool beside the fingers stands for them.
    kept = (hand for leaf, hand in hands.items() if leaf in plain or hand not in beside)
    return list(dict.fromkeys(kept))


class _Branches:
    """Links on the paths to leaves."""

    def __init__(self, paths: Mapping[str, list[Joint]]) -> None:
        self.leaves: Counter[str] = Counter()  # number of them below each link
        # How many joints move a leaf relative to a link, for each leaf that one moves.
        self.moving: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for path in paths.values():
            count = 0
            for joint in reversed(path):
                count += joint.movable
                self.leaves[joint.parent] += 1
                if count:
                    self.moving[joint.parent][count] += 1

    def are_fingers(self, link: str) -> bool:
        """Return whether two or more short branches of equal length are all that moves below."""
        lengths = self.moving[link]
        return len(lengths) == 1 and all(
            length <= _FINGER_JOINTS and count > 1 for length, count in lengths.items()
        )


def _hand(leaf: str, path: list[Joint], branches: _Branches) -> str:
    """Return the link that carries a leaf if it is the end of a finger; otherwise the leaf."""
    link, index = leaf, len(path)
    while is_finger(link) and index:
        index -= 1
        link = path[index].parent
    if link != leaf and any(joint.movable for joint in path[:index]):
        return link
    if tip_rank(leaf) < ORDINARY:  # made to be placed
        return leaf
    for index in range(len(path) - 1, -1, -1):
        link = path[index].parent
        if branches.leaves[link] > 1:
            above = sum(joint.movable for joint in path[:index])
            own = any(joint.movable for joint in path[index:])
            is_finger_end = own and above >= _ARM_JOINTS and branches.are_fingers(link)
            return link if is_finger_end else leaf
    return leaf


def _is_beside(joints: set[str], other: set[str]) -> bool:
    """Return whether a link hangs on the path to another one, by the joints that move the two."""
    alone = len(other - joints)
    return alone > 0 and 2 * len(joints - other) <= alone
