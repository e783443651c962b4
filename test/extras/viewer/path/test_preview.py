import numpy as np
import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.page.paths import straight_answer
from support.ros.servers import panda_arm

from ik_service.exceptions import TrajectoryError
from ik_service.extras.viewer.path.preview import make_preview


@pytest.fixture(scope='module')
def chain():
    return panda_arm().chain


def test_a_preview_knows_the_way_of_the_tip_and_how_far_the_arm_is(chain):
    q = chain.mid_range()
    preview = make_preview(chain, straight_answer(chain, q, q + 0.1))
    np.testing.assert_allclose(preview.tips[1], chain.forward(q + 0.1)[:3, 3])
    np.testing.assert_allclose(preview.at(0.5), q + 0.05)
    away = q.copy()
    away[2] += 0.3
    assert preview.distance_from_start(away) == (chain.joint_names[2], pytest.approx(0.3))


def test_joints_in_another_order_are_sorted_and_other_joints_refused(chain):
    q = chain.mid_range()
    answer = straight_answer(chain, q[::-1], q[::-1] + 0.1)
    names = answer.message.joint_trajectory.joint_names
    answer.message.joint_trajectory.joint_names = names[::-1]
    np.testing.assert_allclose(make_preview(chain, answer).at(0.0), q)
    answer.message.joint_trajectory.joint_names = [f'left_{name}' for name in names]
    with pytest.raises(TrajectoryError, match=names[0]):
        make_preview(chain, answer)


def test_on_a_path_that_crosses_itself_the_arm_is_found_where_it_has_come_to(chain):
    q = chain.mid_range()
    preview = make_preview(chain, straight_answer(chain, q, q + 0.1, q, q - 0.1))
    assert preview.time_nearest(q, since=0.0) == 0.0
    assert preview.time_nearest(q + 0.05, since=0.4) == pytest.approx(0.5, abs=0.05)
    assert preview.time_nearest(q, since=1.8) == pytest.approx(2.0, abs=0.05)
    assert preview.time_nearest(q - 0.1, since=2.9) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ('fraction', 'shown'), [(1.0 - 1e-12, 1.0), (2.0, 1.0), (-1.0, 0.0), (float('nan'), 0.0)]
)
def test_a_fraction_is_a_share(chain, fraction, shown):
    q = chain.mid_range()
    answer = straight_answer(chain, q, q + 0.1, fraction=fraction)
    assert make_preview(chain, answer).fraction == shown
