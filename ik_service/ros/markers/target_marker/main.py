"""Program ``target_marker``: a marker in RViz that is dragged to set the target."""

from __future__ import annotations

import sys
import threading

from ik_service.ros.common import runtime


def main(args: list[str] | None = None) -> int:
    """
    Run the program; return its exit code.

    :param args: the command line after the program's name; ``None`` takes it from ``sys.argv``.
    """

    def program(stop: threading.Event) -> None:
        with runtime.ros(args):
            # Slow imports come here, where signals are already caught.
            from ik_service.ros.markers.target_marker.node import TargetMarkerNode

            with runtime.spinning_node(TargetMarkerNode()):
                stop.wait()

    return runtime.run(program, 'target_marker')


if __name__ == '__main__':
    sys.exit(main())
