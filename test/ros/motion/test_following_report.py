"""Reports of a follower to the log."""

from types import SimpleNamespace

import numpy as np
from support.motion.rigs import pose_beside, READY, Rig

from ik_service import Solver
from ik_service.ros.motion.following_report import FollowingReport


class StateFaultReport(FollowingReport):
    """Report whose faults of the joint states name the number of their sources alone."""

    def state_fault(self):
        return 'two' if self._follower.contradictory_states else 'one'


def test_two_sources_of_states_are_logged_however_late_they_are_known(panda):
    """The log looks now and then: once before the states have leapt back and forth, once after."""
    solver = Solver(panda)
    rig = Rig(solver, READY)
    logged, leap = [], np.array([1.5, 0, 0, 0, 0, 0, 0])
    following = SimpleNamespace(
        follower=rig.follower, label='following', unmatched_names=lambda: ''
    )
    context = SimpleNamespace(namesake=lambda: '')
    report = StateFaultReport(following, None, context, logged.append)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.45, 0.1]))
    rig.tick(10)
    for sign in (1, -1, 1, -1, 1):
        rig.q = rig.q + sign * leap
        rig.tick(moves=False)
        report.log()
    assert [line.rpartition('; ')[2] for line in logged] == ['one', 'two']
    rig.rest(1.0)
    report.log()
    assert 'good again' in logged[-1]
