"""Surveys of what arms reach: known workspaces, measures, estimates, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from support.chains import arm, planar
from support.reach_maps import assert_same_map
from support.robots import GANTRY, SCARA, TWO_LINKS

from ik_service import Robot
from ik_service.extras.reach.grid import chooses_orientation, even_orientations, reach_box
from ik_service.extras.reach.postures import PostureMeasure

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.exceptions import ArgumentError, ChainError, StoreError
from ik_service.extras.reach import capability_map
from ik_service.extras.scale import ChainSpec


@pytest.fixture(scope='module')
def panda():
    return ChainSpec.of(urdf_path('panda'), 'panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def coarse(panda, tmp_path_factory):
    return survey(panda, tmp_path_factory.mktemp('coarse') / 's', spacing=0.3, orientations=6)


def survey(spec, store, **arguments):
    return capability_map(spec, store, progress=False, **arguments)


def test_a_planar_arm_reaches_a_ring(tmp_path):
    found = survey(ChainSpec.of(TWO_LINKS), tmp_path / 's', spacing=0.1, orientations=3)
    radius = np.hypot(*found.positions[:, :2].T)
    inside = (radius > 0.2 - 1e-9) & (radius < 0.8 + 1e-9)
    np.testing.assert_array_equal(found.position_reached, inside)
    assert found.positions[:, 2].max() == 0.0
    assert found.volume == 0.0
    assert not found.touches_edge
    assert not np.isnan(found.manipulability[inside]).any()
    assert np.isnan(found.manipulability[~inside]).all()


@pytest.mark.parametrize('links', [2, 10, 20])
def test_the_grid_holds_all_that_many_joints_reach_stretched_out(links):
    low, high = reach_box(planar(*[0.5] * links))
    for ends in -low, high:
        assert (ends[:2] > 0.5 * links).all()
        assert (ends[:2] < 0.6 * links).all()


def test_a_gantry_with_a_wrist_reaches_every_orientation_inside_its_box(tmp_path):
    found = survey(ChainSpec.of(GANTRY), tmp_path / 's', spacing=0.25, orientations=8)
    inside = (np.abs(found.positions) < 0.5 + 1e-9).all(axis=1)
    assert inside.sum() == 125
    np.testing.assert_array_equal(found.share, inside)
    assert found.volume == pytest.approx(125 * 0.25**3)
    assert found.on_shell.sum() == 125 - 27
    # Slides at a quarter of their range are a quarter from a limit; turns have no limits.
    middle = np.abs(found.positions).max(axis=1) < 0.25 + 1e-9
    assert found.limit_distance[middle] == pytest.approx(
        0.5 - np.abs(found.positions[middle]).max(axis=1), abs=1e-4
    )


def test_a_scara_turns_its_tip_about_one_axis(tmp_path):
    found = survey(ChainSpec.of(SCARA), tmp_path / 's', spacing=0.1, orientations=6)
    assert found.rotations.shape == (6, 3, 3)
    np.testing.assert_allclose(np.abs(found.rotations[:, 2, 2]), 1.0)
    radius = np.hypot(*found.positions[:, :2].T)
    z = found.positions[:, 2]
    inside = (radius > 0.1 - 1e-9) & (radius < 0.7 + 1e-9) & (z > -1e-9) & (z < 0.2 + 1e-9)
    np.testing.assert_array_equal(found.share, inside)
    assert found.volume > 0.0
    # The product of the four singular values is that of the two links, times that of the others.
    assert np.nanmax(found.manipulability) > 0.1


def test_poses_of_a_map_are_those_that_solves_reach(panda, coarse):
    options = iks.IkOptions(max_searches=20, timeout=60.0)
    there = np.flatnonzero(coarse.position_reached)[::7]
    targets = np.tile(np.eye(4), (len(there), 6, 1, 1))
    targets[..., :3, :3] = coarse.rotations
    targets[..., :3, 3] = coarse.positions[there, None]
    chain = panda.build().chain
    answers = iks.solve_ik_batch(chain, targets.reshape(-1, 4, 4), options=options)
    success = answers.success.reshape(-1, 6)
    np.testing.assert_array_equal(coarse.reached[there], success)
    for row, number in enumerate(there.tolist()):
        if success[row].any():
            q = answers.q.reshape(-1, 6, 7)[row, success[row]]
            J = np.array([chain.jacobian(posture) for posture in q])
            largest = np.sqrt(np.linalg.det(J @ J.transpose(0, 2, 1))).max()
            np.testing.assert_allclose(coarse.manipulability[number], largest, rtol=1e-6)
            room = np.minimum(q - chain.lower, chain.upper - q) / (chain.upper - chain.lower)
            np.testing.assert_allclose(coarse.limit_distance[number], room.min(axis=1).max())
    assert 0.3 < coarse.share[there].mean() < 0.9
    assert np.isnan(coarse.free_share).all()


def test_few_searches_miss_what_the_check_finds(panda, coarse, tmp_path):
    hasty = replace(panda, options=iks.IkOptions(max_searches=1))
    found = survey(hasty, tmp_path / 's', spacing=0.3, orientations=6)
    same = found.position_reached & coarse.position_reached
    lost = int(coarse.reached[same].sum() - found.reached[same].sum())
    assert lost > 10
    assert found.missed_poses.tried == found.missed_poses.given_up  # all are in the sample
    assert found.missed_poses.found >= lost
    assert coarse.missed_poses.found <= 0.1 * lost
    assert (found.searches, coarse.searches) == (1, 20)


def test_interrupted_surveys_go_on_and_end_the_same(panda, coarse, tmp_path):
    def stop(stage, done, total):
        if stage == 'poses' and done > 0:
            raise KeyboardInterrupt

    arguments = {'spacing': 0.3, 'orientations': 6, 'chunk': 64, 'threads': 1}
    with pytest.raises(KeyboardInterrupt):
        capability_map(panda, tmp_path / 's', progress=stop, **arguments)
    before = {}
    capability_map(
        panda, tmp_path / 's', progress=lambda *now: before.setdefault(now[0], now[1]), **arguments
    )
    assert before['positions'] == len(coarse.positions)
    assert before['poses'] == 64
    assert before['poses again'] == 0
    found = survey(panda, tmp_path / 's', **arguments)
    assert_same_map(found, coarse)


def test_a_store_of_another_survey_is_refused(panda, tmp_path):
    point = {'positions': [[0.4, 0.0, 0.4]]}
    survey(panda, tmp_path / 's', orientations=2, **point)
    with pytest.raises(StoreError, match='other targets'):
        survey(panda, tmp_path / 's', orientations=3, **point)
    patient = replace(panda, options=iks.IkOptions(max_searches=30))
    with pytest.raises(StoreError, match='other chains, solvers or options'):
        survey(patient, tmp_path / 's', orientations=2, **point)
    survey(panda, tmp_path / 's', orientations=2, **point)  # what it holds is kept


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ({'spacing': 0.0}, 'length above 0'),
        ({'spacing': -0.1}, 'length above 0'),
        ({'spacing': float('nan')}, 'length above 0'),
        ({'spacing': '5 cm'}, 'length above 0'),
        ({'spacing': 1e-4}, 'is the least'),
        ({'orientations': 0}, 'whole number of at least 1'),
        ({'orientations': np.True_}, 'whole number of at least 1'),
        ({'chunk': 2.0}, 'chunk: has to be a whole number'),
        ({'orientations': 2.5}, 'whole number of at least 1'),
        ({'positions': np.empty((0, 3))}, 'are none'),
        ({'positions': [[0.0, np.nan, 0.0]]}, 'NaN'),
        ({'positions': [0.0, 0.0, 0.0]}, 'have to be'),
        ({'rotations': np.empty((0, 3, 3))}, 'are none'),
        ({'rotations': 2.0 * np.eye(3)[None]}, 'not rigid'),
        ({'spacing': 0.02, 'orientations': 5000}, 'survey parts'),
        ({'spacing': 0.1, 'orientations': 10**12}, 'survey parts'),
        ({'rotations': 'none'}, 'real numbers'),
        ({'rotations': 1.0}, 'have to be'),
        ({'positions': 1.0}, 'have to be'),
    ],
)
def test_impossible_surveys_are_refused_before_they_begin(panda, tmp_path, arguments, text):
    with pytest.raises(ArgumentError, match=text):
        survey(panda, tmp_path / 's', **arguments)
    assert not (tmp_path / 's').exists()


def test_a_tip_that_only_turns_has_one_position(tmp_path):
    turn = TWO_LINKS.replace('0.5 0 0', '0 0 0').replace('0.3 0 0', '0 0 0.3')
    found = survey(ChainSpec.of(turn), tmp_path / 's', orientations=5)
    np.testing.assert_allclose(found.positions, [[0.0, 0.0, 0.3]])
    assert found.share.tolist() == [1.0]
    assert np.isnan(found.spacing)
    assert not found.touches_edge


def test_a_store_cannot_be_where_a_file_is(panda, tmp_path):
    (tmp_path / 's').write_text('letter')
    with pytest.raises(StoreError, match='cannot be used'):
        survey(panda, tmp_path / 's', positions=[[0.4, 0.0, 0.4]], orientations=1)
    assert (tmp_path / 's').read_text() == 'letter'
    with pytest.raises(ArgumentError, match='store: has to be the path of a folder, not None'):
        survey(panda, None)


def test_an_arm_on_an_endless_rail_is_refused(tmp_path):
    # A planar joint is two slides without limits, and a turn.
    rail = TWO_LINKS.replace('name="a" type="continuous"', 'name="a" type="planar"')
    with pytest.raises(ChainError, match='endlessly far'):
        survey(ChainSpec.of(rail), tmp_path / 's')


def angles(a, b):
    """Angles of the rotations between all of (k, 3, 3) and all of (m, 3, 3), (k, m) [rad]."""
    traces = np.einsum('aij,bij->ab', a, b)
    return np.arccos(np.clip((traces - 1) / 2, -1, 1))


def random_orientations(count, seed):
    """Uniform ones: the rotation part of Gaussian matrices, by QR with a positive diagonal."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(count, 3, 3)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[np.linalg.det(q) < 0] *= -1
    return q


@pytest.mark.parametrize('count', [1, 2, 50])
def test_they_are_rotations(count):
    R = even_orientations(count)
    unit = np.tile(np.eye(3), (count, 1, 1))
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), unit, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_no_orientation_is_far_from_all_of_them():
    R = even_orientations(50)
    everywhere = random_orientations(4000, seed=0)
    covering = angles(everywhere, R).min(axis=1)
    by_chance = angles(everywhere, random_orientations(50, seed=1)).min(axis=1)
    assert covering.max() < 1.2
    assert covering.max() < 0.8 * by_chance.max()
    assert covering.mean() < by_chance.mean()


def test_no_two_of_them_are_close_together():
    R = even_orientations(50)
    apart = angles(R, R) + 10.0 * np.eye(50)
    assert apart.min() > 0.5


def test_which_arms_choose_their_orientation():
    assert chooses_orientation(arm('panda'))
    assert chooses_orientation(Robot.from_urdf(SCARA).chain())
    assert chooses_orientation(Robot.from_urdf(GANTRY).chain())
    assert not chooses_orientation(planar(1.0, 1.0))
    assert chooses_orientation(planar(1.0, 1.0, 0.5))
    panda = arm('panda')
    locked = dict.fromkeys(panda.joint_names[:2], 0.0)
    assert not chooses_orientation(panda.robot.chain(panda.base_link, panda.tip_link, locked))


def chain_of(name):
    small = {'two_links': TWO_LINKS, 'scara': SCARA}
    return Robot.from_urdf(small[name]).chain() if name in small else arm(name)


@pytest.mark.parametrize(
    ('name', 'rank'), [('panda', 6), ('ur5e', 6), ('planar_6r', 3), ('scara', 4), ('two_links', 2)]
)
def test_manipulability_is_the_product_of_the_singular_values(name, rank):
    chain = chain_of(name)
    q = chain.random_postures(50)
    values = [np.linalg.svd(chain.jacobian(row), compute_uv=False)[:rank] for row in q]
    measured = PostureMeasure(chain).manipulability(q)
    np.testing.assert_allclose(measured, np.prod(values, axis=1), rtol=1e-6, atol=1e-9)


def test_rows_that_the_task_leaves_free_do_not_count():
    chain = arm('panda')
    q = chain.random_postures(20)
    values = [np.linalg.svd(chain.jacobian(row)[:3], compute_uv=False) for row in q]
    measured = PostureMeasure(chain, (1, 1, 1, 0, 0, 0)).manipulability(q)
    np.testing.assert_allclose(measured, np.prod(values, axis=1), rtol=1e-6)


def test_the_distance_from_the_limits_is_that_of_the_closest_joint():
    chain = arm('panda')
    q = chain.mid_range()
    measure = PostureMeasure(chain)
    assert measure.limit_distance(q[None]) == pytest.approx(0.5)
    q[3] = chain.lower[3] + 0.1 * (chain.upper[3] - chain.lower[3])
    assert measure.limit_distance(q[None]) == pytest.approx(0.1)
    q[5] = chain.upper[5] + 1e-9
    assert measure.limit_distance(q[None])[0] == 0.0
    assert measure.quality(q[None])[0] == 0.0


def test_joints_without_limits_keep_no_distance():
    chain = chain_of('two_links')
    assert PostureMeasure(chain).limit_distance(np.full((1, 2), 100.0))[0] == 0.5


def test_the_quality_of_two_links_is_best_at_the_right_angle():
    measure = PostureMeasure(chain_of('two_links'), (1, 1, 1, 0, 0, 0))
    quality = measure.quality(np.array([[0.3, 0.0], [0.3, 0.5 * np.pi], [0.3, np.pi]]))
    # √(sin of the elbow angle); the largest of random postures is not quite the largest.
    np.testing.assert_allclose(quality, [0.0, 1.0, 0.0], atol=1e-4)
