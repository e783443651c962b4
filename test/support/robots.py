"""Robots made for tests: small arms, six-joint arms, arms on bases, and a humanoid."""

from functools import lru_cache
import math

import numpy as np

import ik_service as iks
from ik_service import Robot
from ik_service.model.joint import Joint, JointType
from support.chains import arm_path, joint_xml, limit_xml, robot_xml

X_AXIS = np.array([1.0, 0.0, 0.0])


def make_joint(name, parent, child, kind=JointType.REVOLUTE, mimic=None):
    return Joint(name, kind, parent, child, np.eye(4), X_AXIS, mimic=mimic)


def humanoid_robot():
    """A torso on a base, a head, and two arms of two joints each; the left hand is fixed."""
    return Robot(
        'humanoid',
        ['base', 'torso', 'head', 'l_arm', 'l_hand', 'r_arm', 'r_hand'],
        [
            make_joint('waist', 'base', 'torso'),
            make_joint('neck', 'torso', 'head'),
            make_joint('l_shoulder', 'torso', 'l_arm'),
            make_joint('l_wrist', 'l_arm', 'l_hand', JointType.FIXED),
            make_joint('r_shoulder', 'torso', 'r_arm'),
            make_joint('r_wrist', 'r_arm', 'r_hand', JointType.PRISMATIC),
        ],
    )


# Two links of 0.5 m and 0.3 m in a plane: the tip reaches a ring from 0.2 m to 0.8 m.
TWO_LINKS = """
<robot name="two_links">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="tip"/>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="end" type="fixed">
    <parent link="fore"/><child link="tip"/><origin xyz="0.3 0 0"/>
  </joint>
</robot>
"""

# Links of 0.4 m and 0.3 m, a turn and a slide of 0.2 m: a thick ring from 0.1 m to 0.7 m.
SCARA = """
<robot name="scara">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="quill"/><link name="tip"/>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="c" type="continuous">
    <parent link="fore"/><child link="quill"/><origin xyz="0.3 0 0"/><axis xyz="0 0 -1"/>
  </joint>
  <joint name="d" type="prismatic">
    <parent link="quill"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.2" velocity="1" effort="1"/>
  </joint>
</robot>
"""

# Three slides and a wrist of three joints: every place of a box, with every orientation.
GANTRY = """
<robot name="gantry">
  <link name="base"/>
  {slides}
  {turns}
</robot>
""".format(
    slides=''.join(
        f'<link name="s{i}"/><joint name="slide_{i}" type="prismatic"><parent link="{parent}"/>'
        f'<child link="s{i}"/><axis xyz="{axis}"/>'
        '<limit lower="-0.5" upper="0.5" velocity="1" effort="1"/></joint>'
        for i, (parent, axis) in enumerate([('base', '1 0 0'), ('s0', '0 1 0'), ('s1', '0 0 1')])
    ),
    turns=''.join(
        f'<link name="t{i}"/><joint name="turn_{i}" type="continuous"><parent link="{parent}"/>'
        f'<child link="t{i}"/><axis xyz="{axis}"/></joint>'
        for i, (parent, axis) in enumerate([('s2', '0 0 1'), ('t0', '0 1 0'), ('t1', '0 0 1')])
    ),
)


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
WRIST = [(Z, (0.1, 0.05, 0.3)), (Y, (0, 0, 0)), (Z, (0, 0, 0))]


def arm_of(joints, tool=(0.05, 0.02, 0.1), bound=math.pi):
    """Chain of joints, each an axis and the way there from the one before, in one orientation."""
    limit = limit_xml(-bound, bound)
    xml = [
        joint_xml(f'j{i}', 'revolute', f'l{i}', f'l{i + 1}', xyz, axis=axis, inner=limit)
        for i, (axis, xyz) in enumerate(joints)
    ]
    count = len(joints)
    xml.append(joint_xml('tool', 'fixed', f'l{count}', 'tip', tool, (0.3, -0.4, 0.8)))
    links = [*(f'l{i}' for i in range(count + 1)), 'tip']
    return Robot.from_urdf(robot_xml(links, xml)).chain('l0', 'tip')


def inverted(joints):
    """The same joints from the tip to the base."""
    ways = [way for _, way in joints[1:]]
    back = [(0.02, 0.1, 0.05), *(tuple(-np.array(way)) for way in reversed(ways))]
    return [(axis, way) for (axis, _), way in zip(reversed(joints), back, strict=True)]


def skewed(seed):
    """Six joints about random axes, the last three of which meet."""
    random = np.random.default_rng(seed)
    axes = random.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    ways = random.uniform(-0.4, 0.4, (6, 3))
    ways[4:] = 0.0
    return list(zip(axes, ways, strict=True))


def calibrated(joints, error=1e-3):
    """The same joints with axes that are off by an error [rad] and [m]."""
    random = np.random.default_rng(6)
    errors = error * random.normal(size=(len(joints), 2, 3))
    return [tuple(np.array(joint) + off) for joint, off in zip(joints, errors, strict=True)]


_ELBOW = [(Z, (0, 0, 0.3)), (Y, (0, 0, 0.1)), (Y, (0, 0, 0.4)), *WRIST]
_UR = [
    (Z, (0, 0, 0.1)), (Y, (0, 0.1, 0)), (Y, (0, -0.05, 0.5)), (Y, (0, 0, 0.4)),
    (Z, (0, 0.1, 0)), (Y, (0, 0, 0.09)),
]  # fmt: skip
JOINTS = {
    'elbow': _ELBOW,
    'elbow, shoulder offset': [_ELBOW[0], (Y, (0.15, 0.02, 0.1)), *_ELBOW[2:]],
    'scara': [(Z, (0, 0, 0.3)), (Z, (0.4, 0, 0)), (Y, (0.3, 0, 0)), *WRIST],
    'skewed': skewed(1),
    'parallel': _UR,
    'elbow, inverted': inverted(_ELBOW),
    'skewed, inverted': inverted(skewed(2)),
    'parallel, inverted': inverted(_UR),
}
"""Joints of arms that have a closed form."""
WITHOUT = {
    'wrist apart': [*_ELBOW[:5], (Z, (0.03, 0, 0.02))],
    'wrist of 60 degrees': [
        *_ELBOW[:4],
        ((0.866, 0, 0.5), (0.02, 0, 0.07)),
        ((0.866, 0, -0.5), (0.05, 0, 0.04)),
    ],
    'wrist offset': [
        (Z, (0, 0, 0)),
        (Y, (0, 0, 0)),
        ((0, -1, 0), (0.54, 0, 0)),
        (Z, (0, 0, 0)),
        ((0, -1, 0), (0, 0, -0.54)),
        (Z, (0, -0.15, 0)),
    ],  # Fanuc CRX-10iA
    'elbow, calibrated': calibrated(_ELBOW),
    'parallel, calibrated': calibrated(_UR),
    'any': [
        (axis, way) for (axis, _), (_, way) in zip(skewed(3), skewed(4)[:4] * 2, strict=False)
    ],
}
"""Joints of arms that have none."""


@lru_cache
def six_joint_arm(name):
    return arm_of({**JOINTS, **WITHOUT}[name])


ROOT_LINK = 'world'


@lru_cache
def arm_on(*joints, links=()):
    """The chain of a UR5e from ``odom``, on joints that lead to its root link."""
    text = arm_path('ur5e').read_text()
    root = iks.Robot.from_urdf(text).root_link
    parts = ''.join(f'<link name="{link}"/>' for link in ('odom', *links))
    parts += ''.join(joints).replace(ROOT_LINK, root)
    robot = iks.Robot.from_urdf(text.replace('</robot>', f'{parts}</robot>'))
    return robot.chain('odom', 'tool0')


def arm_on_rail(lower, upper):
    rail = joint_xml(
        'rail', 'prismatic', 'odom', ROOT_LINK, axis=(1, 0, 0), inner=limit_xml(lower, upper)
    )
    return arm_on(rail)


def arm_on_base(kind):
    """On a planar or floating joint, or on two slides and a continuous joint: ``series``."""
    if kind != 'series':
        return arm_on(joint_xml('base', kind, 'odom', ROOT_LINK))
    endless = limit_xml(-1e16, 1e16)
    return arm_on(
        joint_xml('x', 'prismatic', 'odom', 'on_x', axis=(1, 0, 0), inner=endless),
        joint_xml('y', 'prismatic', 'on_x', 'on_y', axis=(0, 1, 0), inner=endless),
        joint_xml('theta', 'continuous', 'on_y', ROOT_LINK),
        links=('on_x', 'on_y'),
    )
