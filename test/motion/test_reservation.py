"""Reservations: nothing else moves the arm until they are withdrawn, whatever ends them."""

import pytest
from support.follower_helpers import pose_beside, READY

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.goal import Reservation


def test_nothing_moves_the_arm_after_a_stop_until_it_is_withdrawn(rig):
    rig.measure()
    beside = pose_beside(rig, READY, [0.0, 0.05, 0.0])
    ends = []
    reservation = Reservation(lambda: 'somebody moves it', ends.append)
    rig.follower.follow_goal(reservation)
    for _ in range(2):
        with pytest.raises(TargetRefusedError, match='somebody moves it'):
            rig.follower.set_target(beside)
        rig.follower.stop()
    assert ends == ['it was stopped']
    assert rig.follower.claim == 'somebody moves it'
    with pytest.raises(TargetRefusedError, match='somebody moves it'):
        rig.follower.follow_goal(Reservation(lambda: 'another', ends.append))
    rig.tick(10)
    assert not rig.commands
    reservation.withdraw()
    rig.follower.release(reservation)
    assert not rig.follower.claim
    rig.follower.set_target(beside)
    rig.tick(10)
    assert rig.commands
