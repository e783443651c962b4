"""Pairs of links that are not checked: by an SRDF, by neighbourhood, by random postures."""

import numpy as np
import pytest
from support.chains import arm_path
from support.solids import at, BOX, folding_arm_xml, hinge, slider, solid

from ik_service import Box, CollisionChecker, Robot
from ik_service.collision import checked_robot
from ik_service.collision.checked_robot import CheckedRobot, random_postures
from ik_service.collision.pair_rules import home_text, left_out_text, srdf_lines

pytest.importorskip('coal', reason='Coal comes with the extra collision')


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(checked_robot, '_kept', {})
    monkeypatch.setattr(checked_robot, 'cache_folder', lambda: tmp_path / 'cache')
    (tmp_path / 'cache').mkdir()


def names(checker):
    return {''.join(sorted(pair)): reason for pair, reason in checker.disabled_pairs.items()}


def test_rigid_parts_and_empty_links_do_not_hide_neighbours():
    box = solid(BOX)
    text = (
        f'<robot name="r"><link name="a">{box}</link><link name="b">{box}</link>'
        f'<link name="c"/><link name="d">{box}</link><link name="e">{box}</link>'
        + hinge('ab', 'a', 'b', '0.05 0 0', 'fixed')
        + hinge('bc', 'b', 'c', '0.2 0 0')
        + hinge('cd', 'c', 'd')
        + hinge('de', 'd', 'e', '0.2 0 0')
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    assert names(checker) == dict.fromkeys(('ab', 'ad', 'bd', 'de'), 'adjacent')


def test_links_whose_joints_are_apart_are_checked_across_an_empty_link():
    bar = solid('<box size="1 0.1 0.1"/>', '0.5 0 0')
    text = (
        f'<robot name="r"><link name="base">{solid(xyz="0.4 0.8 0")}</link><link name="turn"/>'
        f'<link name="bar">{bar}</link>'
        + hinge('shoulder', 'base', 'turn', limits='lower="-3" upper="3"')
        + hinge('elbow', 'turn', 'bar', '0.4 0 0', limits='lower="-3" upper="3"')
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    assert names(checker) == {}
    assert not checker.in_collision([0.0, 0.0])
    assert checker.in_collision([0.0, np.pi / 2])


@pytest.mark.parametrize('kinds', [('revolute', 'prismatic'), ('prismatic', 'prismatic')])
def test_links_that_slide_apart_are_checked_across_an_empty_link(kinds):
    text = (
        f'<robot name="r"><link name="base">{solid(xyz="0 0 0.5")}</link><link name="turn"/>'
        f'<link name="rod">{solid()}</link>'
        + hinge('shoulder', 'base', 'turn', kind=kinds[0])
        + hinge('extend', 'turn', 'rod', kind=kinds[1])
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    assert names(checker) == {}
    assert checker.in_collision([0.0, 0.5])


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_links_on_one_joint_of_several_degrees_of_freedom_are_neighbours(kind):
    text = (
        f'<robot name="r"><link name="floor">{solid()}</link><link name="base">{solid()}</link>'
        + hinge('move', 'floor', 'base', kind=kind)
        + '</robot>'
    )
    assert names(CollisionChecker(Robot.from_urdf(text))) == {'basefloor': 'adjacent'}


def test_pairs_that_collide_in_all_postures_are_left_out():
    """A robot whose link a collides with c always, and with d at home only."""
    cover = solid('<sphere radius="0.4"/>')
    text = (
        f'<robot name="r"><link name="a">{solid()}</link>'
        f'<link name="b">{solid(xyz="0 3 0")}</link><link name="c">{solid()}</link>'
        f'<link name="d">{cover}</link>'
        + hinge('ab', 'a', 'b', '0.05 0 0')
        + hinge('bc', 'b', 'c', '0.05 0 0')
        + hinge('cd', 'c', 'd', '0.6 0 0', limits='lower="0.4" upper="1"')
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    assert names(checker)['ac'].startswith('in collision in ')
    assert 'ad' not in names(checker)


def folding_arm():
    return Robot.from_urdf(folding_arm_xml())


def corners(x, y, angle, length, width, offset):
    """Corners of a rectangle that begins at a point, (4, 2)."""
    along, across = (
        np.array([np.cos(angle), np.sin(angle)]),
        np.array([-np.sin(angle), np.cos(angle)]),
    )
    middle = np.array([x, y]) + offset * along
    signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    return np.array([middle + 0.5 * (a * length * along + b * width * across) for a, b in signs])


def rectangles_meet(one, other):
    """Whether no side of either rectangle parts them."""
    for edges in (one, other):
        for k in range(2):
            side = edges[k + 1] - edges[k]
            a, b = one @ side, other @ side
            if a.max() < b.min() or b.max() < a.min():
                return False
    return True


def outer_meets_post(shoulder, elbow):
    outer = corners(np.cos(shoulder), np.sin(shoulder), shoulder + elbow, 1.0, 0.1, 0.5)
    return rectangles_meet(outer, corners(0.0, 0.0, 0.0, 0.8, 0.8, 0.0))


def test_a_collision_at_home_is_checked_for_and_told():
    checker = CollisionChecker(folding_arm())
    assert names(checker) == {'innerpost': 'adjacent', 'innerouter': 'adjacent'}
    postures = random_postures(checker, 1000)
    found = [checker.in_collision(q) for q in postures]
    assert found == [outer_meets_post(*q) for q in postures]
    assert 300 < sum(found) < 900
    home = CheckedRobot(folding_arm(), False).home
    assert checker.in_collision(home)
    assert checker.home_contacts == (('post', 'outer'),) == checker.contacts(home)
    text = home_text(checker)
    line = '<disable_collisions link1="post" link2="outer" reason="Default"/>'
    assert 'post with outer' in text
    assert line in text
    assert left_out_text(checker) == 'adjacent: inner – post, inner – outer'
    pairs = [*srdf_lines(checker.disabled_pairs), line]
    srdf = f'<robot name="r">{"".join(pairs)}</robot>'
    allowed = CollisionChecker(folding_arm().with_srdf_text(srdf))
    assert not any(allowed.in_collision(q) for q in random_postures(checker, 100))
    assert allowed.home_contacts == ()
    assert home_text(allowed) == ''


def test_links_that_are_seen_but_have_no_collision_shape_are_told():
    text = folding_arm_xml()
    for tag in ('<collision>', '</collision>'):
        text = text.replace(tag, tag.replace('collision', 'visual'), 1)
    told = left_out_text(CollisionChecker(Robot.from_urdf(text)))
    assert told == 'adjacent: inner – outer; visible, but without a collision shape: post'


def test_faulty_joints_that_checks_take_to_stand_at_0_are_told():
    hand = f'<link name="hand">{solid()}</link>{hinge("grip", "outer", "hand", limits="")}</robot>'
    robot = Robot.from_urdf(folding_arm_xml().replace('</robot>', hand))
    told = left_out_text(CollisionChecker(robot))
    assert told.endswith('joints that cannot be used, and are taken to stand at 0: grip')


def test_links_that_one_joint_moves_against_each_other_are_left_out():
    """The fingers of a gripper touch when it is closed, at 0; their tips stand on them."""
    finger = solid('<box size="0.1 0.02 0.02"/>', '0.05 0 0')
    mimic = '<mimic joint="left" multiplier="{}"/></joint>'
    text = (
        f'<robot name="r"><link name="arm">{solid(xyz="0 0 9")}</link>'
        f'<link name="hand">{solid()}</link>'
        + ''.join(f'<link name="{name}">{finger}</link>' for name in ('l', 'r', 'lt', 'rt'))
        + hinge('wrist', 'arm', 'hand')
        + hinge('left', 'hand', 'l', '0.2 0.01 0', limits='lower="0" upper="1"')
        + hinge('right', 'hand', 'r', '0.2 -0.01 0').replace('</joint>', mimic.format(-1))
        + hinge('lt', 'l', 'lt', '0.1 0 0').replace('</joint>', mimic.format(-1))
        + hinge('rt', 'r', 'rt', '0.1 0 0').replace('</joint>', mimic.format(1))
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    by_one = {pair for pair, reason in names(checker).items() if reason == 'moved by one joint'}
    assert by_one == {'lr', 'lrt', 'ltr', 'ltrt', 'handlt', 'handrt'}
    assert not checker.in_collision({})
    apart = text.replace(mimic.format(-1), '</joint>', 1)  # a joint of its own
    checker = CollisionChecker(Robot.from_urdf(apart))
    assert 'lr' not in names(checker)
    assert ('l', 'r') in checker.contacts({})


def test_the_share_of_random_postures_is_told():
    # b turns without end, and only within 3 % of a turn is it away from the ring of c.
    ring = ''.join(
        solid('<sphere radius="0.1"/>', f'{np.cos(t):.4f} {np.sin(t):.4f} 0')
        for t in np.linspace(0.15, 2 * np.pi - 0.15, 90)
    )
    text = (
        f'<robot name="r"><link name="a">{solid(xyz="0 0 5")}</link>'
        f'<link name="b">{solid("""<sphere radius="0.01"/>""", "1 0 0")}</link>'
        f'<link name="c">{ring}</link>'
        + hinge('ab', 'a', 'b', kind='continuous').replace('lower="-1" upper="1"', '')
        + hinge('ac', 'a', 'c', limits='lower="-0.001" upper="0.001"')
        + '</robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    reason = names(checker)['bc']
    share = float(reason.removeprefix('in collision in ').split()[0])
    assert 95.0 <= share < 100.0
    assert reason == f'in collision in {share:g} % of random postures'
    Q = random_postures(checker, checked_robot.POSTURES)
    assert (np.abs(Q[:, checker.joint_names.index('ab')]) < 0.04).mean() == pytest.approx(
        1 - share / 100, abs=0.002
    )


SRDF = """<robot name="row">
  <group name="g"><joint name="to_b"/></group>
  <disable_collisions link1="b" link2="c" reason="Never"/>
  {more}
</robot>"""


def test_an_srdf_decides_where_it_disables_pairs():
    robot = Robot.from_urdf(slider(*[solid()] * 4))
    checker = CollisionChecker(robot.with_srdf_text(SRDF.format(more='')))
    assert names(checker) == {'bc': 'Never'}
    assert checker.contacts({'to_b': -0.5, 'to_c': -1.0}) == (('a', 'b'), ('a', 'c'))
    groups_only = SRDF.format(more='').replace('<disable_collisions', '<ignored')
    checker = CollisionChecker(robot.with_srdf_text(groups_only))
    assert names(checker) == dict.fromkeys(('ab', 'ac', 'ad'), 'adjacent')
    enabled = groups_only.replace('</robot>', '<enable_collisions link1="b" link2="a"/></robot>')
    checker = CollisionChecker(robot.with_srdf_text(enabled))
    assert names(checker) == dict.fromkeys(('ac', 'ad'), 'adjacent')
    both = '<enable_collisions link1="c" link2="b"/>'  # as in MoveIt, the disabled ones win
    assert names(CollisionChecker(robot.with_srdf_text(SRDF.format(more=both)))) == {'bc': 'Never'}


def test_links_without_default_checks_meet_only_enabled_ones():
    more = '<disable_default_collisions link="d"/><enable_collisions link1="c" link2="d"/>'
    robot = Robot.from_urdf(slider(*[solid()] * 4)).with_srdf_text(SRDF.format(more=more))
    checker = CollisionChecker(robot)
    assert all(len(pair) == 2 for pair in checker.disabled_pairs)
    together = {'to_b': -0.5, 'to_c': -1.0, 'to_d': -1.5}
    assert checker.contacts(together) == (('a', 'b'), ('a', 'c'), ('c', 'd'))
    checker.add('wall', Box((0.1, 0.1, 0.1)), at(9))
    checker.attach('tool', Box((0.1, 0.1, 0.1)), 'c', pose=at(0, 1))
    assert checker.contacts({'to_d': 7.5}) == ()
    assert checker.contacts({'to_b': 8.5}) == (('b', 'wall'),)


def test_pairs_are_found_once_and_kept_on_disk(monkeypatch, tmp_path):
    robot = Robot.from_urdf(arm_path('panda'))
    found = []
    monkeypatch.setattr(
        checked_robot, 'random_postures', lambda *of: found.append(of) or random_postures(*of)
    )
    first = dict(CollisionChecker(robot).disabled_pairs)
    assert CollisionChecker(robot).disabled_pairs == first
    checked_robot._kept.clear()
    assert CollisionChecker(robot).disabled_pairs == first
    assert len(found) == 1
    assert 'moved by one joint' in first.values()
    (file,) = (tmp_path / 'cache').iterdir()
    for damaged in (b'', b'x' * 100, file.read_bytes()[:-3], file.read_bytes()[64:]):
        file.write_bytes(damaged)
        checked_robot._kept.clear()
        assert CollisionChecker(robot).disabled_pairs == first
    assert len(found) == 5
    other = Robot.from_urdf(arm_path('panda').read_text().replace('radius="0.0', 'radius="0.01'))
    CollisionChecker(other)
    assert len(found) == 6


def test_a_cache_that_cannot_be_written_does_not_matter(monkeypatch, tmp_path):
    robot = Robot.from_urdf(arm_path('ur5e'))
    pairs = CollisionChecker(robot).disabled_pairs
    for folder in (None, tmp_path / 'missing', tmp_path / 'file' / 'below'):
        (tmp_path / 'file').touch()
        monkeypatch.setattr(checked_robot, 'cache_folder', lambda folder=folder: folder)
        checked_robot._kept.clear()
        assert CollisionChecker(robot).disabled_pairs == pairs
