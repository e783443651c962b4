"""Requests of the command line, and what is wrong with them."""

from dataclasses import fields, replace
import math
import sys

import numpy as np
import pytest
from support.chains import joint_xml, robot_xml, rotation, within_limits
from support.solve_helpers import request_of

from ik_service import IkOptions, Robot
from ik_service.cli.solve.arguments import parse
from ik_service.cli.solve.options import OPTION_NAMES, option_texts, read_settings, UsageError
from ik_service.cli.solve.request import rotation_from_quaternion
from ik_service.common.resources import urdf_path
from ik_service.exceptions import (
    ArgumentError,
    OptionError,
    UnknownGroupError,
    UnknownStateError,
)


def test_roll_pitch_and_yaw_are_in_degrees():
    request = request_of('panda', '--xyz', 1, 2, 3, '--rpy', 0, 0, 90)
    np.testing.assert_allclose(
        request.T_base_target,
        [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],
        atol=1e-15,
    )
    assert request.options.task_weights == (1.0,) * 6


def test_numbers_may_be_negative_in_every_notation():
    request = request_of('planar_6r', '--joints', -1, '-1e-3', '-.5', '-1E+0', '-0', -0.25)
    chain = request.chain
    np.testing.assert_allclose(
        request.T_base_target, chain.forward([-1, -1e-3, -0.5, -1, 0, -0.25])
    )


def test_a_chain_may_be_a_part_of_an_arm():
    words = ['--base-link', 'panda_link2', '--tip-link', 'panda_link5']
    chain = request_of('panda', '--random', *words).chain
    assert chain.joint_names == ('panda_joint3', 'panda_joint4', 'panda_joint5')


@pytest.mark.parametrize('limits', [(-math.inf, 0.2), (3.0, math.inf), (-1e300, 1e300)])
def test_random_postures_keep_limits_on_one_side_or_far_away(limits):
    lower, upper = limits
    robot = Robot.from_urdf(robot_xml(['a', 'b'], [joint_xml('j', 'continuous', 'a', 'b')]))
    chain = robot.chain().with_limits([lower], [upper])
    postures = chain.random_postures(20)
    assert all(within_limits(chain, q) for q in postures)
    assert np.ptp(postures) > 0.5
    assert np.abs(postures).max() < 10.0


def test_a_quaternion_that_is_nearly_a_unit_one_is_normalised():
    R = rotation_from_quaternion([0.0, 0.0, 0.709, 0.709], 'q')
    np.testing.assert_allclose(R, rotation([0, 0, 1], np.pi / 2), atol=1e-12)


@pytest.mark.parametrize(
    ('quaternion', 'message'),
    [
        ([0.0, 0.0, 0.0, 0.0], 'is the zero quaternion'),
        ([1.0, 1.0, 0.0, 0.0], 'has the norm 1.41421, but a rotation has 1: 0.707107 0.707107'),
        ([1e-200, 0.0, 0.0, 0.0], 'but a rotation has 1: 1 0 0 0'),
    ],
)
def test_a_quaternion_that_is_no_rotation_is_refused(quaternion, message):
    with pytest.raises(ArgumentError, match=message):
        rotation_from_quaternion(quaternion, '--quaternion')


def test_arguments_of_a_xacro_file(tmp_path):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    file = tmp_path / 'arm.urdf.xacro'
    head = '<robot name="$(arg n)" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    text = urdf_path('planar_6r').read_text()
    body = text[text.index('<link') : text.index('</robot>')]
    file.write_text(f'{head}<xacro:arg name="n" default="x"/>{body}</robot>')
    words = [str(file), '--random', '1', '--xacro-args']
    request = request_of(*words, 'n:=named')
    assert request.chain.robot.name == 'named'
    srdf = tmp_path / 'arm.srdf.xacro'
    group = '<group name="g"><chain base_link="base_link" tip_link="$(arg t)"/></group>'
    srdf.write_text(f'{head}<xacro:arg name="n" default="x"/>{group}</robot>')
    request = request_of(*words, 'n:=named t:=tool0', '--srdf', str(srdf))
    assert request.chain.robot.group_names == ('g',)
    assert not [note for note in request.notes if 'xacro' in note]
    with pytest.raises(OptionError, match=r"--xacro-args: .*'n=1'"):
        request_of(*words, 'n=1')


@pytest.mark.parametrize(
    ('word', 'value'),
    [
        ('timeout=0.25', 0.25),
        ('timeout=2', 2.0),
        ('max_iterations=7', 7),
        ('max_iterations=none', None),
        ('step_gain=default', None),
        ('damping=1e-3', 1e-3),
        ('joint_limits=clamp', 'clamp'),
        ('record_trace=true', True),
        ('record_trace=No', False),
        ('task_weights=1,1,1,0,0,0', (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
        ('task_weights=1 1 1 0 0 0.5', (1.0, 1.0, 1.0, 0.0, 0.0, 0.5)),
    ],
)
def test_values_are_read_by_the_type_of_the_option(word, value):
    name = word.partition('=')[0]
    read = read_settings([word])
    assert read == {name: value}
    assert type(read[name]) is type(value)
    replace(IkOptions(), **read)


@pytest.mark.parametrize('option', fields(IkOptions), ids=lambda option: option.name)
def test_every_option_can_be_given_its_default(option):
    text = ','.join(map(str, option.default)) if isinstance(option.default, tuple) else None
    word = f'{option.name}={text or option.default}'
    assert read_settings([word]) == {option.name: option.default}


@pytest.mark.parametrize(
    ('word', 'message'),
    [
        ('max_iterations=1.5', "max_iterations: has to be a whole number, not '1.5'"),
        ('timeout=soon', "timeout: has to be a number, not 'soon'"),
        ('timeout=', "timeout: has to be a number, not ''"),
        ('record_trace=maybe', "record_trace: has to be true or false, not 'maybe'"),
        (
            'task_weights=a,b',
            "task_weights: has to be numbers with commas between them, not 'a,b'",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(word, message):
    with pytest.raises(OptionError) as caught:
        read_settings([word])
    assert str(caught.value) == message


@pytest.mark.parametrize('words', [['timeout'], ['timeout=1', 'timeout=2'], ['']])
def test_what_is_no_option_with_one_value_is_refused(words):
    with pytest.raises(UsageError, match='--set'):
        read_settings(words)


def test_every_option_is_explained():
    texts = option_texts()
    assert tuple(texts) == OPTION_NAMES
    for name, text in texts.items():
        assert len(text.partition(' (default: ')[0]) > 10, f'{name} has no explanation'
    assert texts['position_tolerance'].endswith('reached [m] (default: 1e-05)')
    assert texts['damping'].endswith("(default: the method's own)")


def test_modules_with_solvers_are_loaded_by_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'brings_nothing.py').write_text('LOADED = True\n')
    parse(['panda', '--random', '--load', 'brings_nothing'])
    assert 'brings_nothing' in sys.modules
    with pytest.raises(UsageError, match=r'^--load: .* is no name of a module'):
        parse(['panda', '--random', '--load', './mine.py'])


SRDF = """<robot name="panda">
  <group name="lower"><chain base_link="panda_link0" tip_link="panda_link5"/></group>
  <group name="whole"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
  <group name="hand"><joint name="panda_finger_joint1"/></group>
  <group_state name="bent" group="lower"><joint name="panda_joint2" value="0.5"/></group_state>
  <group_state name="far" group="whole"><joint name="panda_joint1" value="9.0"/></group_state>
</robot>"""


@pytest.fixture
def srdf(tmp_path):
    path = tmp_path / 'panda.srdf'
    path.write_text(SRDF)
    return path


def test_a_known_state_is_a_seed():
    request = request_of('panda', '--random', '--seed', 'ready')
    quarter = np.pi / 4
    ready = [0.0, -quarter, 0.0, -3 * quarter, 0.0, 2 * quarter, quarter]
    np.testing.assert_allclose(request.seed, ready, atol=1e-6)
    assert not request.guessed


def test_a_group_of_an_srdf_brings_its_links_and_states(srdf):
    words = ['--srdf', srdf, '--group', 'lower', '--random', '--seed', 'bent']
    request = request_of('panda', *words)
    assert request.chain.tip_link == 'panda_link5'
    expected = request.chain.mid_range()
    expected[1] = 0.5
    np.testing.assert_array_equal(request.seed, expected)


def test_the_first_group_of_an_srdf_is_the_default_unless_links_are_named(srdf):
    assert request_of('panda', '--srdf', srdf, '--random').chain.tip_link == 'panda_link5'
    words = ['--srdf', srdf, '--tip-link', 'panda_hand_tcp', '--random']
    assert request_of('panda', *words).chain.tip_link == 'panda_hand_tcp'


def test_a_state_outside_the_limits_has_a_note(srdf):
    words = ['--srdf', srdf, '--group', 'whole', '--random', '--seed', 'far']
    notes = ' '.join(request_of('panda', *words).notes)
    assert '--seed lies outside the limits of panda_joint1' in notes


def test_wrong_names_list_the_valid_ones(srdf):
    with pytest.raises(UnknownStateError, match="unknown named state 'rest'; valid: ready, exte"):
        request_of('panda', '--random', '--seed', 'rest')
    with pytest.raises(UnknownStateError, match='valid: none'):
        request_of('planar_6r', '--random', '--seed', 'ready')
    with pytest.raises(UnknownGroupError, match="'arm'; valid: lower, whole, hand"):
        request_of('panda', '--srdf', srdf, '--group', 'arm', '--random')
    with pytest.raises(UnknownGroupError, match="planning group ''; valid: panda_manipulator"):
        request_of('panda', '--group', '', '--random')


def test_a_group_with_several_tips_lists_them(ik_solve, tmp_path, two_arms_urdf):
    path = tmp_path / 'arms.srdf'
    arms = [f'<group name="{arm}"><joint name="{arm}_turn"/></group>' for arm in ('left', 'right')]
    both = '<group name="both"><group name="left"/><group name="right"/></group>'
    path.write_text(f'<robot name="test">{"".join(arms)}{both}</robot>')
    code, _, err = ik_solve(two_arms_urdf, '--srdf', path, '--group', 'both', '--random')
    assert code == 2
    assert "'both' has several tips" in err
    assert 'name it with --tip-link: left, right' in err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'the following arguments are required: URDF'),
        (['panda'], 'one of the arguments --xyz --joints --random --path is required'),
        (['panda', '--xyz', '1', '2'], '--xyz: expected 3 arguments'),
        (['panda', '--xyz', 'nan', '0', '0'], "--xyz: 'nan' is no number"),
        (['panda', '--xyz', '0', '1e308', '0'], "--xyz: '1e308' is no number up to 1e+09"),
        (['panda', '--random', '--joints', '0'], 'not allowed with argument'),
        (['panda', '--random', '--tip', 'hand'], "no option '--tip'; closest: --tip-link"),
        (['panda', '--rndom', '1'], "no option '--rndom'; closest: --random"),
        (['panda', '--xzy=0.1'], "no option '--xzy'; closest: --xyz"),
        (['panda', '--random', '0', 'hand'], 'unrecognized arguments: hand'),
        (['panda', '--random', '-1'], "'-1' is no whole number of at least 0"),
        (['--random', 'panda'], 'the URDF comes first'),
        (['panda', '--random', '--rpy', '0', '0', '0'], '--rpy goes with --xyz'),
        (['panda', '--joints', '1', '2', '3'], '--joints needs 7 values [rad or m], not 3: one'),
        (['panda', '--random', '--seed', '1'], '--seed needs 7 values [rad or m], not 1: one'),
        (['panda', '--random', '--seed', 'nan'], "--seed: 'nan' is no number"),
        (['pandas', '--random'], 'of our own arms none has that name: panda, planar_6r'),
        (['', '--random'], "there is no file ''"),
        (['panda', '--random', '--tip-link', 'nose'], "unknown link 'nose'; valid: panda_link0"),
        (['panda', '--random', '--tip-link', 'panda_link0'], 'no joint moves between'),
        (['panda', '--random', '--solver', 'magic'], "'levenberg_marquardt'"),
        (['panda', '--random', '--all', '--solver', 'ccd'], '--solver is for one solution'),
        (['panda', '--random', '--all', '--trace'], '--trace is for one solution'),
        (
            ['panda', '--random', '--all', '--avoid-collisions'],
            '--avoid-collisions is for one solution',
        ),
        (['panda', '--random', '--all', '--plot', 'a.png'], '--plot is for one solution'),
        (['panda', '--random', '--all', '--resolution', '0'], '--resolution: has to be a number'),
        (['panda', '--random', '--load', 'nomod'], '--load: nomod cannot be imported: Module'),
        (['panda', '--random', '--all', '--set', 'damping=1'], 'damping: is not used for all'),
        (['panda', '--random', '--resolution', '1'], '--resolution goes with --all'),
        (['panda', '--random', '--set', 'magic=1'], "unknown option 'magic'; valid: position_to"),
        (['panda', '--random', '--set', 'timeout'], '--set takes OPTION=VALUE'),
        (['panda', '--random', '--set', 'timeout=-1'], 'timeout: has to be a number above 0'),
        (['panda', '--random', '--set', 'step_gain=1'], 'step_gain: is not used by levenberg'),
        (['panda', '--random', '--lock', 'panda_joint1'], "--lock: has to look like 'torso=0.1"),
        (['panda', '--random', '--lock', 'panda_joint1=9'], 'limits -2.8973 … 2.8973\n'),
        (['panda', '--random', '--lock', 'nose=0'], "unknown joint 'nose'; valid: panda_joint1"),
        (
            ['panda', '--random', '--lock', 'panda_joint1=0', 'panda_joint1=1'],
            "--lock: names joint 'panda_joint1' twice",
        ),
        (
            ['panda', '--xyz', '0', '0', '1', '--quaternion', '0', '0', '0', '0'],
            '--quaternion: is the zero quaternion',
        ),
        (
            ['panda', '--random', '--position-only', '--set', 'task_weights=1,1,1,0,0,0'],
            'contradict each other',
        ),
        (
            ['panda', '--xyz', '0', '0', '1', '--set', 'task_weights=1,1,1,1,1,0'],
            'need an orientation: --rpy or --quaternion',
        ),
        (['panda', '--random', '--trace', '--solver', 'all'], '--trace shows one method'),
        (['panda', '--random', '--plot', 'x.pdf'], '--plot: the file has to end in .png'),
        (
            ['panda', '--random', '--group', 'panda_arm', '--tip-link', 'panda_hand'],
            '--group brings its own links',
        ),
        (
            ['panda', '--random', '--group', 'panda_arm', '--base-link', 'panda_link1'],
            '--group brings its own links',
        ),
        (['panda', '--random', '--seed', 'ready', 'steady'], "--seed: 'ready' is no number"),
        (['panda', '--random', '--seed', '0', 'ready'], "--seed: 'ready' is no number"),
        (
            ['panda', '--random', '--srdf', '/no/such.srdf'],
            "/no/such.srdf': cannot be read: No such file",
        ),
        (['panda', '--random', '--plot', 'no/such/x.png'], "--plot: there is no folder 'no/such'"),
    ],
)
def test_an_invalid_command_is_reported_with_the_valid_form(ik_solve, words, message):
    code, out, err = ik_solve(*words)
    assert code == 2
    assert out == ''
    assert err.startswith('ik_solve: ')
    assert message in err


def test_a_robot_with_two_equal_arms_begins_with_the_first_and_says_so(ik_solve):
    code, out, _ = ik_solve('upper_body', '--random')
    assert code == 0
    assert '→ left_grip' in out
    words = ' '.join(out.split())
    assert "Note equal arms are the groups 'left_arm' and 'right_arm': the first is" in words


def test_a_robot_with_several_leaves_lists_them(ik_solve, two_arms_urdf):
    code, _, err = ik_solve(two_arms_urdf, '--random')
    assert code == 2
    assert 'left, right (--tip-link)' in err


@pytest.mark.parametrize('before', [[], ['panda', '--srdf']], ids=['URDF', 'SRDF'])
def test_an_invalid_description_is_reported_with_its_path(ik_solve, tmp_path, before):
    path = tmp_path / 'robot.xml'
    path.write_text('<robot')
    code, _, err = ik_solve(*before, path, '--random')
    assert code == 2
    assert 'not well-formed' in err
    assert str(path) in err


def test_a_file_is_read_even_if_an_arm_of_ours_has_its_name(
    ik_solve, rail_urdf, tmp_path, monkeypatch
):
    rail_urdf.rename(tmp_path / 'panda')
    monkeypatch.chdir(tmp_path)
    code, out, _ = ik_solve('panda', '--tip-link', 'tool', '--random')
    assert code == 0
    assert 'Robot     test: 2 joints' in out


def test_ctrl_c_ends_it_without_a_traceback(ik_solve, monkeypatch):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr('ik_service.cli.solve.main.solve_request', interrupt)
    code, _, err = ik_solve('panda', '--random')
    assert code == 130
    assert err.strip() == 'stopped'


def test_without_matplotlib_a_picture_is_refused_before_anything_is_solved(
    ik_solve, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    code, out, err = ik_solve('panda', '--random', '--plot', tmp_path / 'x.png')
    assert code == 2
    assert out == ''
    assert "pip install 'ik_service[plot]'" in err
    assert not (tmp_path / 'x.png').exists()
