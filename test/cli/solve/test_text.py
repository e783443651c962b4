from dataclasses import replace

import pytest
from support.chains import transform
from support.solve_helpers import answered, question_of

from ik_service.cli.solve import text as solve_text
from ik_service.common.transforms import rotation_from_rpy


def test_a_pose_in_words():
    T = transform(rotation_from_rpy(0.1, -0.2, 0.3), (1.0, -1e-9, -0.25))
    assert solve_text.pose_text(T) == (
        'x 1.0000  y 0.0000  z -0.2500 m   roll 5.73  pitch -11.46  yaw 17.19°'
    )
    assert solve_text.pose_text(T, False).endswith('m   any orientation')
    assert solve_text.pose_text(T, True, 'about z').endswith('(free: about z)')


@pytest.mark.parametrize(
    ('value', 'text'),
    [(0.0, '0'), (3.2e-7, '3.2e-07'), (0.0123, '0.0123'), (994.4, '994'), (1234.5, '1234')],
)
def test_sizes_are_short(value, text):
    assert solve_text.short(value) == text


@pytest.mark.parametrize(
    ('seconds', 'text'), [(4.2e-6, '4.2 µs'), (0.0123, '12.3 ms'), (1.234, '1.23 s')]
)
def test_times_are_in_a_unit_that_can_be_read(seconds, text):
    assert solve_text.time_text(seconds) == text


def test_long_distances_are_in_metres():
    assert solve_text.distance_text(0.0012) == '1.2 mm'
    assert solve_text.distance_text(647.83) == '647.8 m'


@pytest.mark.parametrize(
    ('limits', 'text'),
    [
        ((-float('inf'), float('inf'), False), 'none'),
        ((-1.0, 2.0, False), '-1.0000 …  2.0000 rad'),
        ((-float('inf'), 0.5, True), '     −∞ …  0.5000 m'),
    ],
)
def test_limits_in_words(limits, text):
    assert solve_text.limits_text(*limits) == text


def test_columns_are_aligned():
    lines = solve_text.table([('a', 'bb', 'c'), ('ddd', 'e', 'f')], left=(0,))
    assert lines == ['a    bb  c', 'ddd   e  f']


def test_long_texts_are_wrapped_under_their_label():
    lines = solve_text.row('Note', 'word ' * 40)
    assert lines[0].startswith('Note      word')
    assert all(line.startswith('          word') for line in lines[1:])
    assert max(map(len, lines)) <= 100


def test_the_table_says_how_much_is_left_to_the_nearer_limit():
    question, (answer,) = answered('panda', '--random', 5)
    lines = solve_text.joint_table(question, answer)
    chain, q = question.chain, answer.result.q
    assert len(lines) == 1 + chain.n
    for line, value, lower, upper in zip(lines[1:], q, chain.lower, chain.upper, strict=True):
        assert f' {min(value - lower, upper - value):.4f} rad ' in line


def test_free_axes_are_named():
    words = ['panda', '--xyz', 0.4, 0, 0.5, '--rpy', 180, 0, 0]
    question = question_of(*words, '--set', 'task_weights=1,1,1,1,1,0')
    assert any('(free: about z)' in line for line in solve_text.question_lines(question))


def test_the_start_of_the_way_is_the_seed_within_the_limits():
    question, (answer,) = answered(
        'planar_6r', '--joints', *[0.1] * 6, '--seed', 99, *[0.1] * 5, '--set', 'max_searches=1'
    )
    inside = answer.result.q[0] - answer.motion[0]
    assert question.chain.lower[0] <= inside <= question.chain.upper[0]


def test_what_a_solver_remarks_is_shown():
    question, (answer,) = answered('panda', '--random')
    lines = solve_text.answer_lines(question, replace(answer, remark='no matrix was inverted'))
    assert '          no matrix was inverted' in lines
