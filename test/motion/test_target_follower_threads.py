"""The follower while another thread solves: ticks and stops do not wait."""

import threading

import numpy as np
from support.follower_helpers import pose_beside, READY

from ik_service.motion import target_follower
from ik_service.motion.settings import FollowerState


class SlowSolver:
    """Stands in for NearbySolver.solve, and waits for permission to answer."""

    def __init__(self, monkeypatch):
        self.entered, self.allowed = threading.Event(), threading.Event()
        solve = target_follower.NearbySolver.solve

        def slow(nearby, target, seeds):
            self.entered.set()
            assert self.allowed.wait(10.0)
            return solve(nearby, target, seeds)

        monkeypatch.setattr(target_follower.NearbySolver, 'solve', slow)


def test_a_slow_solve_never_delays_a_tick(solver, rig, monkeypatch):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.2, 0.1]))
    slow = SlowSolver(monkeypatch)
    target = pose_beside(solver, READY, [0.0, -0.2, 0.0])
    thread = threading.Thread(target=rig.follower.set_target, args=[target])
    thread.start()
    assert slow.entered.wait(10.0)
    assert rig.tick(20) is not None, 'the old target is followed meanwhile'
    slow.allowed.set()
    thread.join(10.0)
    rig.tick_until(FollowerState.REACHED)
    assert np.abs(solver.chain.forward(rig.q) - target).max() < 1e-4


def test_stop_wins_over_a_solve_that_is_under_way(solver, rig, monkeypatch):
    rig.measure()
    slow = SlowSolver(monkeypatch)
    target = pose_beside(solver, READY, [0.0, -0.2, 0.0])
    thread = threading.Thread(target=rig.follower.set_target, args=[target])
    thread.start()
    assert slow.entered.wait(10.0)
    rig.follower.stop()
    slow.allowed.set()
    thread.join(10.0)
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE
