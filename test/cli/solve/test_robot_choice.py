"""Groups, named states and SRDF files on the command line of ``ik_solve``."""

import numpy as np
import pytest
from support.solve_helpers import request_of

from ik_service.common.resources import urdf_path
from ik_service.exceptions import FaultyJointError, UnknownGroupError, UnknownStateError

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


def test_a_known_group_brings_its_links():
    chain = request_of('panda', '--random', '--group', 'panda_arm').chain
    assert (chain.base_link, chain.tip_link) == ('panda_link0', 'panda_link8')


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
    assert '--seed lies outside the limits of panda_joint1' in request_of('panda', *words).notes[0]


def test_wrong_names_list_the_valid_ones(srdf):
    with pytest.raises(UnknownStateError, match="unknown named state 'rest'; valid: ready, exte"):
        request_of('panda', '--random', '--seed', 'rest')
    with pytest.raises(UnknownStateError, match='valid: none'):
        request_of('planar_6r', '--random', '--seed', 'ready')
    with pytest.raises(UnknownGroupError, match="'arm'; valid: lower, whole, hand"):
        request_of('panda', '--srdf', srdf, '--group', 'arm', '--random')
    with pytest.raises(UnknownGroupError, match="planning group ''; valid: panda_manipulator"):
        request_of('panda', '--group', '', '--random')


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--group', 'panda_arm', '--tip-link', 'panda_hand'], '--group brings its own links'),
        (['--group', 'panda_arm', '--base-link', 'panda_link1'], '--group brings its own links'),
        (['--seed', 'ready', 'steady'], "argument --seed: 'ready' is no number"),
        (['--seed', '0', 'ready'], "argument --seed: 'ready' is no number"),
        (['--srdf', '/no/such.srdf'], "/no/such.srdf'?: cannot be read: No such file"),
    ],
)
def test_an_invalid_command_is_reported_with_the_valid_form(ik_solve, words, message):
    code, out, err = ik_solve('panda', '--random', *words)
    assert code == 2
    assert out == ''
    assert message.replace("'?", "'") in err


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
    ('content', 'message'),
    [
        (b'', 'empty'),
        (b'<robot', 'not well-formed'),
    ],
)
def test_a_faulty_srdf_is_reported_with_its_path(ik_solve, tmp_path, content, message):
    path = tmp_path / 'bad.srdf'
    path.write_bytes(content)
    code, _, err = ik_solve('panda', '--srdf', path, '--random')
    assert code == 2
    assert message in err
    assert str(path) in err


def test_faulty_parts_are_noted(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(urdf_path('panda').read_text().replace('</robot>', '<link name="lid"/>'
        '<joint name="hinge" type="revolute"><parent link="panda_hand"/><child link="lid"/>'
        '</joint></robot>'))  # fmt: skip
    remark = "joint 'hinge' cannot be used: a revolute joint needs a <limit>"
    assert remark in request_of(path, '--random', '--tip-link', 'panda_hand_tcp').notes
    with pytest.raises(FaultyJointError, match='hinge'):
        request_of(path, '--random', '--tip-link', 'lid')
