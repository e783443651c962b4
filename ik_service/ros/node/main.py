"""Program ``ik_node``."""

from __future__ import annotations

import sys

from ik_service.common.stall_watch import InterpreterWatch
from ik_service.common.threads import lasting, switch_interval
from ik_service.ros.common.runtime import GRACE, ros, run, shows_help, StopRequest


def main(args: list[str] | None = None) -> None:
    """Run the node by a command line, that of the process by default, until SIGINT or SIGTERM."""
    if shows_help(args, 'ik_node', 'Inverse kinematics of an arm as ROS services and motions.'):
        return
    sys.exit(run(lambda stop: _program(args, stop), 'ik_node'))


def _program(args: list[str] | None, stop: StopRequest) -> None:
    with ros(args), switch_interval(), InterpreterWatch('ik_node'):
        with lasting():
            # Only now, so that signals are caught while it is imported.
            from ik_service.ros.motion.followers import LONGEST_END
            from ik_service.ros.node.ik_node import IkNode

            node = IkNode()
        try:
            node.start()
            with node.running():
                stop.grace = GRACE + LONGEST_END  # a moving arm comes to rest first
                stop.wait()
        finally:
            node.destroy_node()


if __name__ == '__main__':
    main()
