"""Places for a base: regions, known optima, verified answers, and what is refused."""

import math

import numpy as np
import pytest
from support.chains import arm
from support.robots import SCARA, TWO_LINKS
from support.solids import slider, solid

from ik_service import CollisionChecker, IkOptions, IkStatus, Robot
from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.extras.reach import place, Region, search_places
from ik_service.extras.reach.region import around
from ik_service.extras.scale import ChainSpec

POSITION_ONLY = IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
DOWN = rotation_from_rpy(math.pi, 0.0, 0.0)


def poses_of(chain, count, seed_share=0.4):
    """Poses that a base at the origin reaches in postures away from the limits."""
    q = chain.middle + seed_share * (chain.random_postures(count) - chain.middle)
    return np.array([chain.forward(row) for row in q])


CHAINS = {'panda': lambda: arm('panda'), 'scara': lambda: Robot.from_urdf(SCARA).chain()}


@pytest.mark.parametrize('name', CHAINS)
@pytest.mark.parametrize('mounting', [(0.0, 0.0, 0.0), (math.pi, 0.0, 0.0), (0.0, 1.2, 0.5)])
def test_forward_kinematics_confirms_every_place(name, mounting):
    chain = CHAINS[name]()
    T_world_mount = rigid_transform(rotation_from_rpy(*mounting), (0.4, -0.3, 0.2))
    poses = T_world_mount @ poses_of(chain, 6)
    region = Region((0.2, 0.6), (-0.5, -0.1), (0.2, 0.2), mounting=mounting)
    found = place(chain, poses, region=region, candidates=200, best=3)
    assert found[0].share == 1.0  # one of the grid is where they were made for
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    for placement in found:
        assert (placement.place >= region.lower - 1e-12).all()
        assert (placement.place <= region.upper + 1e-12).all()
        for reached, q, pose in zip(placement.reached, placement.q, poses, strict=True):
            if reached:
                T = placement.T_world_base @ chain.forward(q)
                assert np.linalg.norm(T[:3, 3] - pose[:3, 3]) <= 1.001e-5
                cosine = (np.trace(T[:3, :3].T @ pose[:3, :3]) - 1.0) / 2.0
                assert math.acos(min(cosine, 1.0)) <= 2e-5
                assert (q >= chain.lower - 1e-12).all()
                assert (q <= chain.upper + 1e-12).all()


def test_the_share_of_two_links_is_that_of_their_ring():
    chain = Robot.from_urdf(TWO_LINKS).chain()
    points = np.array([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0], [0.5, 0.9, 0.0]])
    poses = np.array([rigid_transform(DOWN, point) for point in points])
    search = search_places(chain, poses, options=POSITION_ONLY, candidates=3000, headings=1)
    distance = np.linalg.norm(search.places[:, None, :2] - points[:, :2], axis=2)
    clear = (np.abs(distance - 0.2) > 1e-3).all(axis=1) & (np.abs(distance - 0.8) > 1e-3).all(
        axis=1
    )
    share = ((distance > 0.2) & (distance < 0.8)).mean(axis=1)
    assert len(search.places) > 2000
    np.testing.assert_allclose(search.scores.share[clear], share[clear])
    assert search.best.share == 1.0


def test_the_best_place_of_two_links_has_the_elbow_at_a_right_angle():
    chain = Robot.from_urdf(TWO_LINKS).chain()
    pose = rigid_transform(DOWN, (0.3, 0.1, 0.0))
    best = place(chain, [pose], options=POSITION_ONLY)[0]
    assert np.linalg.norm(best.place[:2] - pose[:2, 3]) == pytest.approx(
        math.hypot(0.5, 0.3), abs=0.02
    )
    assert best.quality == pytest.approx(1.0, abs=1e-3)
    assert best.score == pytest.approx((1.0 + best.quality) / 2.0)


def test_the_answer_is_the_same_at_every_call_and_for_any_number_of_threads():
    chain = arm('ur5e')
    poses = poses_of(chain, 4)
    first, second = (
        search_places(chain, poses, candidates=400, threads=threads) for threads in (1, 2)
    )
    np.testing.assert_array_equal(first.scores.share, second.scores.share)
    np.testing.assert_array_equal(first.scores.quality, second.scores.quality)
    for one, other in zip(first.placements, second.placements, strict=True):
        np.testing.assert_array_equal(one.place, other.place)
        np.testing.assert_array_equal(one.q, other.q)


def test_poses_farther_apart_than_the_arm_is_long_are_told_with_their_distance():
    chain = arm('panda')
    poses = np.array([rigid_transform(DOWN, (x, 0.0, 0.4)) for x in (0.0, 0.1, 4.0)])
    best = place(chain, poses, candidates=500)[0]
    assert best.share == pytest.approx(2 / 3)
    np.testing.assert_array_equal(best.reached, [True, True, False])
    assert best.status[2] is IkStatus.UNREACHABLE
    assert best.position_error[2] > 2.0


def test_poses_that_nothing_reaches_still_have_an_answer():
    best = place(arm('panda'), [rigid_transform(DOWN, (0.0, 0.0, -5.0))], candidates=100)[0]
    assert best.share == best.quality == best.score == 0.0
    assert best.position_error[0] > 3.0
    far = [rigid_transform(DOWN, (3.0, 0.0, 3.0)), rigid_transform(np.eye(3), (-3.0, 1.0, 3.0))]
    places = place(arm('panda'), far, region=Region((-2, 2), (-1, 1), (0, 0)), candidates=400)
    misses = [each.position_error.mean() for each in places]
    assert misses == sorted(misses)


def test_a_region_of_one_place_checks_that_place():
    chain = arm('panda')
    pose = rigid_transform(DOWN, (0.2, 0.1, 0.4))
    region = Region((0.5, 0.5), (0.1, 0.1), (0.05, 0.05), yaw=(2.0, 2.0))
    search = search_places(chain, [pose], region=region)
    assert len(search.places) == len(search.placements) == 1
    np.testing.assert_array_equal(search.best.place, [0.5, 0.1, 0.05, 2.0])
    assert search.best.share == 1.0


def test_places_that_are_returned_lie_apart_and_inside_a_polygon():
    corners = [(0.3, -0.4), (0.8, 0.0), (0.3, 0.4)]
    search = search_places(
        arm('panda'),
        [rigid_transform(DOWN, (0.0, 0.0, 0.4))],
        region=Region.polygon(corners),
        candidates=600,
        best=4,
    )
    assert len(search.placements) == 4
    places = np.array([each.place for each in search.placements])
    assert search.region.contains(places).all()
    for k, one in enumerate(places):
        assert (np.linalg.norm(places[:k, :3] - one[:3], axis=1) >= search.spacing - 1e-9).all()


def test_of_very_many_poses_those_that_differ_most_decide():
    chain = Robot.from_urdf(TWO_LINKS).chain()
    angle = np.linspace(0.0, 2.0 * math.pi, 3000, endpoint=False)
    points = 0.25 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    poses = np.array([rigid_transform(DOWN, point) for point in points])
    search = search_places(chain, poses, options=POSITION_ONLY, candidates=800, best=2)
    assert len(search.looked_at) == 100
    assert search.best.share == 1.0
    assert search.best.q.shape == (3000, 2)


def test_a_place_from_where_the_arm_collides_with_itself_does_not_count():
    pytest.importorskip('coal', reason='coal is not installed (extra collision)')
    robot = Robot.from_urdf(slider(solid(), solid(), solid()))
    chain = robot.chain('b', 'c')
    collisions = CollisionChecker(robot)
    pose = np.eye(4)
    line = {'y': (0.0, 0.0), 'z': (0.0, 0.0), 'yaw': (0.0, 0.0)}
    here = Region((0.0, 0.0), **line)
    assert place(chain, [pose], region=here)[0].share == 1.0
    colliding = place(chain, [pose], region=here, collisions=collisions)
    assert colliding[0].share == 0.0
    assert colliding[0].status[0] is IkStatus.IN_COLLISION
    assert sorted(colliding[0].collision[0]) == ['b', 'c']
    anywhere = place(chain, [pose], region=Region((-3.0, 3.0), **line), collisions=collisions)
    assert anywhere[0].share == 1.0
    for placement in anywhere:
        assert not any(collisions.in_collision(q) for q in placement.q[placement.reached])


def test_free_axes_are_those_of_the_base():
    chain = Robot.from_urdf(SCARA).chain()
    tilted = rigid_transform(rotation_from_rpy(0.4, 0.0, 0.0), (0.3, 0.0, 0.1))
    assert place(chain, [tilted], candidates=300)[0].share == 0.0
    assert place(chain, [tilted], candidates=300, options=POSITION_ONLY)[0].share == 1.0


def test_a_specification_brings_its_options():
    spec = ChainSpec.of(SCARA, options=POSITION_ONLY)
    tilted = rigid_transform(rotation_from_rpy(0.4, 0.0, 0.0), (0.3, 0.0, 0.1))
    assert place(spec, [tilted], candidates=300)[0].share == 1.0


@pytest.mark.parametrize(
    ('poses', 'settings', 'message'),
    [
        (np.empty((0, 4, 4)), {}, 'poses: are none'),
        (np.eye(4), {}, 'poses: have shape'),
        ([np.full((4, 4), math.nan)], {}, r'poses\[0\]: holds NaN'),
        ([2.0 * np.eye(4)], {}, r'poses\[0\]'),
        ([np.eye(4)], {'candidates': 0}, 'candidates: has to be a whole number'),
        ([np.eye(4)], {'best': True}, 'best: has to be a whole number'),
        ([np.eye(4)], {'threads': 0}, 'threads: has to be a whole number'),
        ([np.eye(4)], {'headings': 1.5}, 'headings: has to be a whole number'),
        ([np.eye(4)], {'headings': 10**7}, 'headings: has to be a whole number from 1 to 5000000'),
        ([np.eye(4)], {'candidates': 10**9}, 'candidates: .* from 1 to 5000000'),
        ([np.eye(4)], {'spacing': -1.0}, 'spacing: has to be a length'),
        ([np.eye(4)], {'spacing': 'fine'}, 'spacing: has to be a length'),
        ([np.eye(4)], {'spacing': 1e-6}, 'spacing: of 1e-06 m makes more than'),
        ([np.eye(4)], {'region': (0, 1, 0, 1)}, 'region: has to be a Region, not'),
        ([np.eye(4)], {'base_height': 'low'}, 'base_height: has to be real numbers'),
        ([np.eye(4)], {'base_height': math.nan}, 'base_height: has to be finite'),
        ([np.eye(4)], {'inverse_map': 'map.zarr'}, 'inverse_map: has to be a InverseMap, not'),
    ],
)
def test_wrong_arguments_are_named(poses, settings, message):
    with pytest.raises(ArgumentError, match=message):
        place(arm('panda'), poses, **settings)


def test_an_arm_of_endless_reach_needs_a_region():
    # A planar joint is two slides without limits, and a turn.
    rail = TWO_LINKS.replace('name="a" type="continuous"', 'name="a" type="planar"')
    chain = Robot.from_urdf(rail).chain('base', 'tip')
    with pytest.raises(ChainError, match='endlessly far'):
        place(chain, [np.eye(4)])
    far = rigid_transform(DOWN, (9.0, -7.0, 0.0))
    region = Region((0.0, 0.0), (0.0, 0.0))
    assert place(chain, [far], region=region, options=POSITION_ONLY)[0].share == 1.0


TRIANGLE = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize('count', [1, 7, 100, 5000])
@pytest.mark.parametrize('sides', [(0, 0, 0), (2, 0, 0), (1, 3, 0), (1, 1e-6, 0), (2, 1, 0.5)])
def test_a_grid_has_at_most_as_many_places_as_asked_for(sides, count):
    x, y, z = sides
    region = Region((0, x), (0, y), (0, z))
    places = region.grid(region.spacing_for(count, 4), 4)
    assert 4 <= len(places) <= max(count, 4)
    assert (places >= region.lower).all()
    assert (places <= region.upper).all()
    if count == 5000 and y > 0.1:
        assert len(places) > 0.7 * count


def test_headings_of_a_full_turn_are_all_different():
    turns = Region((0, 0), (0, 0)).headings(8)
    assert np.diff(np.append(turns, turns[0] + 2 * math.pi)) == pytest.approx(math.pi / 4)
    part = Region((0, 0), (0, 0), yaw=(0.0, math.pi / 2)).headings(8)
    assert part == pytest.approx([0.0, math.pi / 4, math.pi / 2])
    assert Region((0, 0), (0, 0), yaw=(0.3, 0.3)).headings(8) == pytest.approx([0.3])


def test_a_polygon_holds_what_lies_inside():
    region = Region.polygon(TRIANGLE, z=(0.2, 0.2))
    assert region.x == (0.0, 1.0)
    places = region.grid(0.09, 1)
    assert (places[:, 0] + places[:, 1] < 1.0 + 1e-9).all()
    box = Region((0, 1), (0, 1), z=(0.2, 0.2)).grid(0.09, 1)
    inside = (box[:, 0] + box[:, 1] < 1.0 - 1e-9).sum()
    assert len(places) == pytest.approx(inside, abs=12)


def test_places_are_brought_into_the_box_and_headings_into_one_turn():
    region = Region((0, 1), (0, 1))
    moved = region.bounded(np.array([[-1.0, 0.5, 3.0, 3.5]]))
    np.testing.assert_allclose(moved, [[0.0, 0.5, 0.0, 3.5 - 2 * math.pi]])


def test_a_base_turns_about_the_axis_along_which_it_is_mounted():
    wall = Region((0, 0), (0, 0), mounting=(0.0, math.pi / 2, 0.0))
    poses = wall.poses(np.array([[1.0, 2.0, 3.0, 0.7], [0.0, 0.0, 0.0, -2.0]]))
    np.testing.assert_allclose(poses[:, :3, 2], [[1, 0, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_array_equal(poses[0, :3, 3], [1.0, 2.0, 3.0])
    ceiling = Region((0, 0), (0, 0), mounting=(math.pi, 0.0, 0.0))
    np.testing.assert_allclose(
        ceiling.poses(np.array([[0, 0, 0, 0.7]]))[0, :3, 2], [0, 0, -1], atol=1e-12
    )


@pytest.mark.parametrize('mounting', [(0, 0, 0), (math.pi, 0, 0), (0, math.pi / 2, 0)])
def test_no_base_outside_the_default_region_has_a_pose_within_reach(mounting):
    rng = np.random.default_rng(0)
    positions = rng.uniform(-1, 1, (3, 3))
    reach = np.array([0.1, -0.2, 0.3, 0.9])
    region = around(positions, reach, (0.0, 0.4), mounting=mounting)
    wide = Region((-4, 4), (-4, 4), (0.0, 0.4), mounting=mounting).grid(0.2, 6)
    centres = region.poses(wide) @ np.append(reach[:3], 1.0)
    near = (np.linalg.norm(centres[:, None, :3] - positions, axis=2) <= reach[3]).any(axis=1)
    assert near.any()
    assert (wide[near] >= region.lower - 1e-9).all()
    assert (wide[near] <= region.upper + 1e-9).all()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'x': (1, 0)}, 'x: ends at 0 before it begins, at 1'),
        ({'y': (0, math.nan)}, 'y: has to be two numbers'),
        ({'z': (0,)}, 'z: has to be two numbers'),
        ({'yaw': ('a', 'b')}, 'yaw: '),
        ({'mounting': (0, 0)}, 'mounting: has to be three'),
        ({'corners': [(0, 0), (1, 1)]}, 'corners: have to be three or more, not 2'),
        (
            {'corners': [(0, 0), (1, 1), (0.1, 0.1)]},
            'corners: lie on one line: a polygon needs an area',
        ),
        ({'corners': [(0, 0), (1, math.inf), (2, 2)]}, 'corners: have to be finite'),
    ],
)
def test_what_is_no_region_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message.replace('(', r'\(')):
        Region(**{'x': (0, 1), 'y': (0, 1), **arguments})


def test_a_grid_that_is_too_fine_or_empty_is_refused():
    with pytest.raises(ArgumentError, match='spacing: of 1e-05 m makes more than'):
        Region((0, 1), (0, 1)).grid(1e-5, 8)
    thin = Region.polygon([(0, 0.1), (1, 1), (0, 0.2)])
    with pytest.raises(ArgumentError, match='corners: hold no place'):
        thin.grid(0.5, 1)
