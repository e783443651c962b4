"""Tool frames as links of a robot."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import IkServiceError, ToolFrameError
from ik_service.kinematics.link_poses import link_poses
from ik_service.model import tool_frame

PANDA = arm_path('panda')
TCP = iks.ToolFrame('panda_link8', (0.0, 0.01, 0.1), (0.1, -0.2, 0.3))
T_TCP = transform_from_xyz_rpy(TCP.xyz, TCP.rpy)


@pytest.fixture(scope='module')
def robot():
    return iks.Robot.from_urdf(PANDA)


def test_a_tool_frame_is_a_link(robot):
    tooled = robot.with_tool_frames({'tcp': TCP})
    assert 'tcp' in tooled.links
    assert 'tcp' not in robot.links
    positions = dict.fromkeys(robot.independent_joint_names, 0.3)
    poses = link_poses(tooled, positions)
    np.testing.assert_allclose(poses['tcp'], poses['panda_link8'] @ T_TCP, atol=1e-15)
    q = np.full(7, -0.3)
    np.testing.assert_allclose(
        tooled.chain('panda_link0', 'tcp').forward(q),
        robot.chain('panda_link0', 'panda_link8').forward(q) @ T_TCP,
        atol=1e-14,
    )
    for name in ('name', 'urdf_text', 'source', 'root_link', 'movable_joint_names'):
        assert getattr(tooled, name) == getattr(robot, name)
    assert isinstance(tooled, iks.Robot)


def test_a_tool_on_a_tool_in_any_order(robot):
    tools = {
        'needle': iks.ToolFrame('syringe', (0.1, 0.0, 0.0)),
        'syringe': iks.ToolFrame('holder', (0.1, 0.0, 0.0)),
        'holder': TCP,
        'camera': iks.ToolFrame('holder'),
    }
    tooled = robot.with_tool_frames(tools)
    poses = link_poses(tooled, {})
    expected = poses['panda_link8'] @ T_TCP @ transform_from_xyz_rpy((0.2, 0, 0), (0, 0, 0))
    np.testing.assert_allclose(poses['needle'], expected, atol=1e-15)


def test_copies_and_more_tools(robot):
    tooled = robot.with_tool_frames({'a': TCP}).with_tool_frames({'b': iks.ToolFrame('a')})
    again = pickle.loads(pickle.dumps(tooled))
    assert again.links == tooled.links
    assert again.links[-2:] == ('a', 'b')
    assert robot.with_tool_frames({}) is robot


@pytest.mark.parametrize(
    ('tools', 'words'),
    [
        ({'tcp': iks.ToolFrame('panda_link9')}, "'tcp': there is no link 'panda_link9'; valid: p"),
        ({'tcp': iks.ToolFrame(['panda_link8'])}, 'there is no link'),
        ({'panda_link8': TCP}, 'has a link of that name'),
        ({'panda_joint1': TCP}, 'has a joint of that name'),
        ({'tcp': iks.ToolFrame('panda_link8', (math.nan, 0, 0))}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', (0, 0))}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', 'abc')}, 'xyz has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=(0, 0, 1e7))}, 'rpy has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=(0, 0, True))}, 'rpy has to be three finite'),
        ({'tcp': iks.ToolFrame('panda_link8', rpy=None)}, 'rpy has to be three finite'),
        (
            {'a': iks.ToolFrame('b'), 'b': iks.ToolFrame('a')},
            "itself: 'a' → 'b' → 'a'",
        ),
        ({'a': iks.ToolFrame('a')}, 'attached to itself'),
        ({'': TCP}, 'is no name'),
        ({'/tcp': TCP}, 'slash'),
        ({'x' * 201: TCP}, 'is no name'),
        ({7: TCP}, 'is no name'),
        ({'tcp': {'link': 'panda_link8'}}, 'is a dict, not a ToolFrame'),
        ({f't{i}': TCP for i in range(10_000)}, 'there are 10000 of them'),
    ],
)
def test_bad_tools_are_refused(robot, tools, words):
    with pytest.raises(ToolFrameError) as caught:
        robot.with_tool_frames(tools)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert isinstance(caught.value, IkServiceError)


def test_a_long_row_of_tools(robot):
    count = tool_frame.MOST_TOOLS
    tools = {f't{i}': iks.ToolFrame(f't{i + 1}') for i in range(count - 1)}
    tooled = robot.with_tool_frames({**tools, f't{count - 1}': TCP})
    np.testing.assert_allclose(
        link_poses(tooled, {})['t0'], link_poses(tooled, {})['panda_link8'] @ T_TCP, atol=1e-12
    )


def test_tools_leave_the_default_tip_of_an_arm():
    settings = ArmSettings('panda_link0', 'panda_link8')
    urdf = iks.Robot.from_urdf(PANDA)
    plain = build_arm(PANDA, settings)
    assert plain.described.links == plain.robot.links == urdf.links
    row = '<robot name="row"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
    row += '<parent link="a"/><child link="b"/></joint></robot>'
    arm = build_arm(row, ArmSettings(tool_frames={'tcp': iks.ToolFrame('b'), 'x': TOOL_ON_A}))
    assert arm.chain.tip_link == 'b'
    assert arm.has_link('tcp')
    arm = build_arm(row, ArmSettings(tip_link='tcp', tool_frames={'tcp': iks.ToolFrame('b')}))
    assert arm.chain.tip_link == 'tcp'


TOOL_ON_A = iks.ToolFrame('a')
