"""What a simulated arm says of itself: on ``diagnostics``, and once in the log."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ik_service.common.fault_log import Complaint
from ik_service.sim.simulation import Simulation

_SLOW = 0.9
"""Real-time factor below which the simulation is too slow."""

_PATIENCE = 2
"""How often in a row it has to be so before that is logged: programs that start take the time."""


class SimReport:
    """
    Tells how fast the simulated time runs, and what goes wrong on purpose.

    :param node: the node that publishes.
    :param engine: name of the engine.
    :param simulation: what is told of.
    """

    def __init__(self, node: Node, engine: str, simulation: Simulation) -> None:
        self._node = node
        self._engine = engine
        self._simulation = simulation
        self._slow_looks = 0
        self._said = False
        self._slow = Complaint(node.get_logger().warning)
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish(self, broken: str) -> None:
        """
        Publish the state of the simulation, if there is an arm; called about once a second.

        :param broken: why the simulation broke down the last time; empty if it never did.
        """
        factor, load = self._simulation.clock.look(time.monotonic())
        if self._simulation.arm is None:
            return
        paused = self._simulation.paused
        slow = factor < _SLOW and not paused
        if not paused:
            self._log(factor, load, slow)
        message = 'the time stands still' if paused else f'running at {factor:.2f} of real time'
        values = {
            'engine': self._engine,
            'real-time factor': f'{factor:.3f}',
            'share of time spent computing': f'{load:.3f}',
            'simulated time [s]': f'{self._simulation.clock.simulated:.3f}',
            'faults on request': str(self._simulation.faults),
            'last break-down': broken or 'none',
        }
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if slow else DiagnosticStatus.OK,
            name=f'{self._node.get_name()}: simulation',
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _log(self, factor: float, load: float, slow: bool) -> None:
        self._slow_looks = self._slow_looks + 1 if slow else 0
        if self._slow_looks >= _PATIENCE:
            self._slow.about(f'the simulation is too slow: {factor:.2f} of real time', 'slow')
        elif not slow:
            self._slow.settle()
            if not self._said:
                self._said = True
                self._node.get_logger().info(
                    f'real-time factor {factor:.2f}, computing {100 * load:.1f} % of the time'
                )
