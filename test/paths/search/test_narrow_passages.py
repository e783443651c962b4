"""Narrow passages of arms with several joints too many, and what is said where none is found."""

import numpy as np
import pytest
from support.chains import joint_xml, limit_xml, robot_xml
from support.six_joint_arms import arm_of, Y, Z

import ik_service as iks
from ik_service.extras.studies.paths import poses_along
from ik_service.paths.search import search

# Nine joints: place of each in the one before (xyz, rpy), axis and limits.
JOINTS = [
    (
        (-0.24739, 0.04609, -0.0907),
        (1.47269, -2.2503, -1.12666),
        (0.021744, -0.29171, 0.95626),
        (-6.0305, 6.2),
    ),
    ((-0.20946, 0.10578, 0.10348), (1.5708, -1.5708, 0.0), (1.0, 0.0, 0.0), None),
    ((-0.20828, 0.20387, -0.20139), (-1.5708, -1.5708, 0.0), (-0.0, -1.0, -0.0), (-1.5614, 2.5)),
    (
        (-0.01566, -0.12607, -0.14581),
        (-0.51962, 1.29822, 0.8575),
        (-0.242044, -0.546059, 0.802019),
        (-1.2504, 1.5),
    ),
    (
        (-0.04815, 0.07613, 0.06796),
        (2.58612, -2.56301, 2.93345),
        (-0.032998, 0.296658, -0.954413),
        (-2.4591, 3.1),
    ),
    (
        (-0.02298, -0.07808, 0.19665),
        (1.36516, 2.78271, -2.71316),
        (0.329488, 0.941674, 0.068461),
        (-0.9457, 1.5),
    ),
    (
        (0.00574, -0.1018, -0.10001),
        (2.02248, 1.74164, -0.42334),
        (-0.750733, -0.164168, 0.639881),
        (-3.7343, 6.2),
    ),
    (
        (0.17606, -0.07558, 0.15281),
        (2.84153, -2.20327, -1.78194),
        (-0.422176, -0.688632, 0.589537),
        (-2.8373, 3.1),
    ),
    ((-0.00331, -0.24591, 0.0516), (0.0, -1.5708, 1.5708), (-1.0, -0.0, -0.0), (-1.9388, 2.5)),
]


@pytest.fixture(scope='module')
def nine_joints():
    xml = []
    for i, (xyz, rpy, axis, limits) in enumerate(JOINTS):
        kind = 'revolute' if limits else 'continuous'
        inner = limit_xml(*limits) if limits else '<limit velocity="1" effort="1"/>'
        xml.append(joint_xml(f'j{i}', kind, f'l{i}', f'l{i + 1}', xyz, rpy, axis, inner))
    xml.append(joint_xml('jt', 'fixed', 'l9', 'tip', (0.05, 0.02, 0.15)))
    links = [*(f'l{i}' for i in range(10)), 'tip']
    return iks.Robot.from_urdf(robot_xml(links, xml)).chain('l0', 'tip')


def long_way(chain):
    """Joint path of 1,200 rows through random postures."""
    interpolate = pytest.importorskip('scipy.interpolate', reason='scipy is not installed')
    lower = np.where(np.isfinite(chain.lower), chain.lower, -2.0 * np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, 2.0 * np.pi)
    random = np.random.default_rng(1790)
    postures = [random.uniform(lower, upper)]
    for _ in range(30):
        step = random.uniform(-0.3, 0.3, chain.n) * (upper - lower)
        postures.append(np.clip(postures[-1] + step, lower, upper))
    curve = interpolate.PchipInterpolator(np.linspace(0.0, 1.0, 31), postures)
    rows = curve(np.linspace(0.0, 1.0, 2000))
    return np.clip(rows[:1200], lower + 1e-9, upper - 1e-9)


def test_more_candidates_find_a_way_where_few_end_at_a_limit(nine_joints, monkeypatch):
    truth = long_way(nine_joints)
    targets = poses_along(nine_joints, truth)
    patient = iks.PathOptions(timeout=600.0)
    path = iks.solve_path(nine_joints, targets, truth[0], patient)
    assert path.success, path.reason
    assert path.largest_step <= 0.1
    for widths in ('_WIDER', '_THOROUGH'):
        monkeypatch.setattr(search, widths, ())
    narrow = iks.solve_path(nine_joints, targets, truth[0], patient)
    assert not narrow.success, 'this path is too easy to tell'


def test_a_limit_that_self_motions_may_lead_around_is_no_proof():
    """Two joints about one axis, of which the first is at its limit; then as one joint."""
    joints = [(Z, (0, 0, 0.3)), (Z, (0, 0, 0.1)), (Y, (0.1, 0, 0.1)), (Z, (0.3, 0, 0.1))]
    free = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    for way, redundant in ((joints, True), (joints[1:], False)):
        chain = arm_of(way, bound=1.0)
        truth = np.linspace(np.full(chain.n, 0.5), np.full(chain.n, 1.2), 100)
        path = iks.solve_path(chain, poses_along(chain, truth), truth[0], iks.PathOptions(ik=free))
        assert path.status is iks.PathStatus.LIMIT, path.reason
        assert path.end.redundant == redundant
        assert ('no continuation was found' in path.reason) == redundant
        assert 'limit of 1' in path.reason
