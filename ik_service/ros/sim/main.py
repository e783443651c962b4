"""Program ``ik_sim``: a simulated arm as a ROS node."""

from __future__ import annotations

import sys
import threading

from ik_service.common.threads import lasting
from ik_service.ros.common import runtime
from ik_service.ros.common.runtime import shows_help


def main(args: list[str] | None = None) -> int:
    """Run the program by a command line, that of the process by default; return its exit code."""
    if shows_help(args, 'ik_sim', 'A simulated arm.', 'simulated_arm.md'):
        return 0

    def program(stop: threading.Event) -> None:
        with runtime.ros(args):
            with lasting():
                # Slow imports come here, where signals are already caught.
                from ik_service.ros.sim.simulated_arm_node import SimulatedArmNode

                node = SimulatedArmNode()
            with runtime.spinning_node(node, [node.streams]), node.running():
                stop.wait()

    return runtime.run(program, 'ik_sim')


if __name__ == '__main__':
    sys.exit(main())
