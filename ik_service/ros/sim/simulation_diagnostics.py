"""Diagnostics of a simulated arm: on the topic ``diagnostics``, and once in the log."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ik_service.common.fault_logger import FaultLogger
from ik_service.sim.real_time_simulation import RealTimeSimulation

_SLOW = 0.9
"""Real-time factor below which the simulation is too slow."""

_PATIENCE = 2
"""Slow reports in a row before that is logged; starting programs make the first ones slow."""


class SimulationDiagnostics:
    """
    Diagnostics of how fast the simulated time runs, and of the injected faults.

    :param node: the node that publishes.
    :param engine: name of the engine.
    :param simulation: the simulation.
    """

    def __init__(self, node: Node, engine: str, simulation: RealTimeSimulation) -> None:
        self._node = node
        self._engine = engine
        self._simulation = simulation
        self._slow_reports = 0
        self._factor_logged = False
        self._slow = FaultLogger(node.get_logger().warning)
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish(self, breakdown: str) -> None:
        """
        Publish the state of the simulation, if there is an arm; to be called once a second.

        :param breakdown: why the simulation broke down the last time; empty if it never did.
        """
        factor, load = self._simulation.real_time.measure(time.monotonic())
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
            'simulated time [s]': f'{self._simulation.real_time.simulated:.3f}',
            'faults on request': str(self._simulation.faults),
            'last break-down': breakdown or 'none',
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
        self._slow_reports = self._slow_reports + 1 if slow else 0
        if self._slow_reports >= _PATIENCE:
            self._slow.report(f'the simulation is too slow: {factor:.2f} of real time', 'slow')
        elif not slow:
            self._slow.clear()
            if not self._factor_logged:
                self._factor_logged = True
                self._node.get_logger().info(
                    f'real-time factor {factor:.2f}, computing {100 * load:.1f} % of the time'
                )
