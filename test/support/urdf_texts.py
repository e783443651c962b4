"""Robots with given links, joints and trees as URDF text, and SRDF texts for them."""

from ik_service.robot import Robot
from support.chains import limit_xml

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def joint_xml(parts=LIMIT, kind='revolute', name='shoulder', parent='base', child='arm'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{parts}</joint>'
    )


def robot_xml(*joints, links=('base', 'arm')):
    body = ''.join(f'<link name="{link}"/>' for link in links) + ''.join(joints)
    return f'<?xml version="1.0"?>\n<robot name="robot">{body}</robot>'


def read_joint(parts=LIMIT, kind='revolute'):
    return Robot.from_urdf(robot_xml(joint_xml(parts, kind))).joints['shoulder']


KINDS = {'f': 'fixed', 'r': 'revolute', 'p': 'prismatic', 'c': 'continuous', 'm': 'revolute'}


def tree_xml(*branches, name='test', mimics=None):
    """
    URDF text of a robot from branches such as ``'base r:a f:b'``.

    Each branch starts at a link, and goes on with the kind of a joint and its child link; the
    joint is called after the child, ``j_a``. Limits are ±1. ``mimics`` gives the joint that
    a joint follows.
    """
    links, joints = {}, []
    for branch in branches:
        parent, *steps = branch.split()
        links[parent] = None
        for step in steps:
            kind, child = step.split(':')
            links[child] = None
            joints.append(_joint_xml(KINDS[kind], parent, child, (mimics or {}).get(f'j_{child}')))
            parent = child
    body = ''.join(f'<link name="{link}"/>' for link in links) + ''.join(joints)
    return f'<robot name="{name}">{body}</robot>'


def arm_xml(*more, joints=6, name='test', mimics=None):
    """A robot with an arm of revolute joints, base to l<n>, and further branches."""
    arm = 'base ' + ' '.join(f'r:l{i + 1}' for i in range(joints))
    return tree_xml(arm, *more, name=name, mimics=mimics)


def srdf_xml(*parts, name='test'):
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def group_xml(name, *parts):
    """A group of ``chain:base>tip``, ``joint:…``, ``link:…`` and ``group:…``."""
    inner = ''
    for part in parts:
        kind, _, value = part.partition(':')
        if kind == 'chain':
            base, tip = value.split('>')
            inner += f'<chain base_link="{base}" tip_link="{tip}"/>'
        else:
            inner += f'<{kind} name="{value}"/>'
    return f'<group name="{name}">{inner}</group>'


def state_xml(name, group, **values):
    inner = ''.join(f'<joint name="{joint}" value="{value}"/>' for joint, value in values.items())
    return f'<group_state name="{name}" group="{group}">{inner}</group_state>'


def _joint_xml(kind, parent, child, source):
    mimic = f'<mimic joint="{source}"/>' if source else ''
    inner = '' if kind == 'fixed' else limit_xml(-1.0, 1.0) + mimic
    return (
        f'<joint name="j_{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="0 0 1"/>{inner}</joint>'
    )


# A tree: a turning base above the arm's base, a mimic gripper and a camera on a neck beside it.
TREE = """
<robot name="tree">
  <link name="world"/>
  <link name="table"/>
  <link name="base"/>
  <link name="upper"/>
  <link name="fore"/>
  <link name="hand"/>
  <link name="tool"/>
  <link name="finger_1"/>
  <link name="finger_2"/>
  <link name="neck"/>
  <joint name="floor" type="fixed">
    <parent link="world"/><child link="table"/><origin xyz="0 0 0.5"/>
  </joint>
  <joint name="turntable" type="continuous">
    <parent link="table"/><child link="base"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
    <limit lower="0.1" upper="2.5" velocity="1" effort="1"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="fore"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
    <limit velocity="1" effort="1"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="hand"/><child link="tool"/><origin xyz="0.1 0 0"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="hand"/><child link="finger_1"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" velocity="1" effort="1"/>
  </joint>
  <joint name="grip_too" type="prismatic">
    <parent link="hand"/><child link="finger_2"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" velocity="1" effort="1"/><mimic joint="grip"/>
  </joint>
  <joint name="pan" type="revolute">
    <parent link="table"/><child link="neck"/><axis xyz="0 0 1"/>
    <limit lower="0.2" upper="1" velocity="1" effort="1"/>
  </joint>
</robot>
"""
