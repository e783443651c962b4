"""Solutions that are free of collisions (``ik_solve --avoid-collisions``)."""

import json

import pytest
from support.solids import folding_arm_xml

import ik_service as iks
from ik_service.common.resources import urdf_path

pytest.importorskip('coal')

# All solutions of this pose that there are put a wrist link into the base.
INTO_THE_BASE = ['--joints', -1.43, 1.08, -0.78, -2.53, 0.75, 0.97, -2.51]
FEW = ['--set', 'max_searches=20']


@pytest.fixture(scope='module')
def checker():
    return iks.CollisionChecker(iks.Robot.from_urdf(urdf_path('panda')))


def test_the_answer_is_free_of_collisions_where_another_is_not(ik_solve, checker):
    turned = 0
    for seed in range(60):
        words = ('panda', '--random', seed, '--json')
        first = json.loads(ik_solve(*words)[1])['results'][0]
        if not checker.in_collision(first['q']):
            continue
        code, out, _ = ik_solve(*words, '--avoid-collisions')
        document = json.loads(out)
        (result,) = document['results']
        assert document['avoid_collisions'] is True
        assert (code == 0) == result['success'] == (result['collision'] is None)
        assert checker.in_collision(result['q']) == (not result['success'])
        turned += result['success']
    assert turned


def test_the_bodies_are_named_when_all_solutions_collide(ik_solve, checker):
    code, out, _ = ik_solve('panda', *INTO_THE_BASE, '--avoid-collisions', *FEW)
    assert code == 1
    assert 'IN_COLLISION: only colliding solutions were found' in out
    (line,) = (line for line in out.splitlines() if line.startswith('Collision'))
    code, out, _ = ik_solve('panda', *INTO_THE_BASE, '--avoid-collisions', *FEW, '--json')
    (result,) = json.loads(out)['results']
    assert result['status'] == 'IN_COLLISION'
    assert line.split()[1:] == [result['collision'][0], 'and', result['collision'][1]]
    assert tuple(result['collision']) in checker.contacts(result['q'])
    assert result['position_error_m'] < 1e-5


def test_without_the_option_nothing_is_checked(ik_solve):
    code, out, _ = ik_solve('panda', *INTO_THE_BASE)
    assert code == 0
    assert 'Collision' not in out


def test_a_robot_without_collision_shapes_has_a_note(ik_solve, rail_urdf):
    words = ('--tip-link', 'tool', '--random', '--position-only', '--avoid-collisions')
    code, out, _ = ik_solve(rail_urdf, *words)
    assert code == 0
    assert 'no link of the robot has a collision shape' in ' '.join(out.split())


def test_what_is_left_out_and_what_collides_at_home_is_told_by_names(ik_solve, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(folding_arm_xml())
    words = (path, '--joints', '1.0', '2.3', '--set', 'task_weights=1,1,0,0,0,1')
    _, out, _ = ik_solve(*words, '--avoid-collisions')
    text = ' '.join(out.split())
    assert 'not checked with each other are adjacent: inner – post, inner – outer' in text
    assert 'post with outer' in text
    assert '<disable_collisions link1="post" link2="outer" reason="Default"/>' in text
    _, out, _ = ik_solve(*words)
    assert 'not checked' not in out
    assert 'disable_collisions' not in out


def test_is_for_one_solution(ik_solve):
    code, _, err = ik_solve('panda', '--random', '--all', '--avoid-collisions')
    assert code == 2
    assert '--avoid-collisions is for one solution' in err
