"""Cancellations that come as soon as a goal is accepted, before the node begins with it."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.action.server import ServerGoalHandle
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from support.harness import until
from support.ros.cells import READY
from support.ros.trajectories import Player, smooth

from ik_service.ros.capabilities.trajectory_actions import TrajectoryActions
from ik_service.ros.motion.parameters import REPLACE_GOALS, TRAJECTORY_ACTION

pytestmark = pytest.mark.dds


@pytest.fixture
def actions(bench):
    """Both actions of a node that has no arm, in this process, and a client of them."""
    errors = []
    node = Node('actions', namespace=bench.namespace, context=bench.node.context)
    executor = MultiThreadedExecutor(4, context=bench.node.context)
    thread = threading.Thread(target=executor.spin, daemon=True)
    try:
        ticks = set()
        parts = SimpleNamespace(
            node=node,
            parameters={TRAJECTORY_ACTION: '', REPLACE_GOALS: True},
            followers=lambda: None,
            on_error=errors.append,
            ticks=ticks,
        )
        TrajectoryActions(parts).start()
        executor.add_node(node)
        thread.start()
        yield ticks, Player(bench)
        until(lambda: not ticks, what='the end of the calls in every tick')
    finally:
        executor.shutdown()
        thread.join(5.0)
        node.destroy_node()
    assert not errors


@pytest.mark.parametrize('action', ['follow', 'execute'])
@pytest.mark.parametrize('moment', ['before', 'between'])
def test_one_that_comes_before_the_goal_begins_is_taken(actions, monkeypatch, action, moment):
    """The begin waits here until the goal is canceled: at first, or once rclpy has looked."""
    ticks, player = actions
    execute, update = ServerGoalHandle.execute, ServerGoalHandle._update_state
    beginning = set()  # threads

    def wait_and_execute(handle, *arguments):
        until(lambda: handle.is_cancel_requested, what='the cancellation')
        execute(handle, *arguments)

    def execute_noted(handle, *arguments):
        beginning.add(threading.get_ident())
        execute(handle, *arguments)

    def wait_and_update(handle, event):
        if threading.get_ident() in beginning:
            beginning.clear()
            until(lambda: handle.is_cancel_requested, what='the cancellation')
        update(handle, event)

    if moment == 'before':
        monkeypatch.setattr(ServerGoalHandle, 'execute', wait_and_execute)
    else:
        monkeypatch.setattr(ServerGoalHandle, 'execute', execute_noted)
        monkeypatch.setattr(ServerGoalHandle, '_update_state', wait_and_update)
    goal = getattr(player, action)(smooth(), hasty=True)
    assert goal.cancel_accepted()

    def ticked():
        for tick in tuple(ticks):
            tick(time.monotonic())
        return goal.ended

    until(ticked, what='the result')
    end, result = goal.result()
    assert end == 'canceled'
    if action == 'follow':
        assert result.error_string == 'it was canceled before it began'


@pytest.mark.parametrize('action', ['follow', 'execute'])
def test_the_arm_does_not_move_along_what_is_canceled_at_once(cell, player, action):
    for _ in range(25):
        goal = getattr(player, action)(smooth(seconds=1.0), hasty=True)
        assert goal.cancel_accepted()
        assert goal.result()[0] == 'canceled'
    moved = [np.abs(cell.positions(m) - READY).max() for m in cell.commands.messages]
    assert max(moved, default=0.0) < 0.05
