"""The public robot: chains between its links, pickling, imports."""

import pickle
import subprocess
import sys

import pytest
from support.robots import humanoid_robot

from ik_service import Robot
from ik_service.exceptions import ChainError, UnknownLinkError
from ik_service.model.robot_model import RobotModel
from ik_service.model.tool_frame import ToolFrame


@pytest.fixture
def humanoid():
    return humanoid_robot()


def test_chain_takes_the_root_and_the_only_leaf_by_default(humanoid):
    chain = humanoid.chain(base_link='r_arm')
    assert (chain.base_link, chain.tip_link) == ('r_arm', 'r_hand')
    assert tuple(chain.joint_names) == ('r_wrist',)
    assert humanoid.chain(tip_link='r_hand').base_link == 'base'


def test_chain_with_several_leaves_lists_them(humanoid):
    with pytest.raises(ChainError, match=r"below 'base'.*: l_hand, r_hand$"):
        humanoid.chain()
    with pytest.raises(UnknownLinkError):
        humanoid.chain(base_link='nowhere')


def test_chain_with_a_locked_joint(humanoid):
    chain = humanoid.chain('base', 'r_hand', locked={'waist': 0.3})
    assert tuple(chain.joint_names) == ('r_shoulder', 'r_wrist')


def test_a_robot_is_a_model_and_stays_a_robot_when_pickled(humanoid):
    copy = pickle.loads(pickle.dumps(humanoid))
    assert isinstance(copy, RobotModel)
    assert type(copy) is Robot
    assert copy.chain('base', 'r_hand').joint_names == ('waist', 'r_shoulder', 'r_wrist')


def test_a_model_knows_no_kinematics():
    model = RobotModel.from_urdf_text('<robot name="r"><link name="a"/></robot>')
    assert type(model) is RobotModel
    assert not hasattr(model, 'chain')
    assert repr(model) == "RobotModel('r', 1 links, 0 joints)"


def test_import_brings_neither_parser_nor_compiler():
    code = (
        'import sys; import ik_service.robot; '
        "print(*{'urdf_parser_py', 'lxml', 'yaml', 'numba', 'rclpy', 'urllib.request'}"
        ' & set(sys.modules))'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ''


def test_remarks_are_kept_by_copies_and_pickles():
    robot = Robot('arm', ['base'], [], remarks=['a part is not used'])
    copies = [
        robot.with_tool_frames({'tcp': ToolFrame('base')}),
        pickle.loads(pickle.dumps(robot)),
    ]
    assert [copy.remarks for copy in copies] == [('a part is not used',)] * 2


def test_remarks_of_the_srdf_are_among_those_of_the_robot():
    robot = Robot('arm', ['base'], []).with_srdf_text('<robot name="arm"/>')
    assert robot.remarks == ('SRDF: it has no planning groups',)
