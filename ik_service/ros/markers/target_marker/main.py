"""Program ``target_marker``: a marker in RViz that is dragged to set the target."""

from __future__ import annotations

import sys
import threading

from ik_service.ros.common import runtime


def main(args: list[str] | None = None) -> int:
    """Run the program by a command line, that of the process by default; return its exit code."""
    if runtime.shows_help(args, 'target_marker', 'A marker to drag a target in RViz.', 'start.md'):
        return 0

    def program(stop: threading.Event) -> None:
        with runtime.ros(args):
            # Slow imports come here, where signals are already caught.
            from ik_service.ros.markers.target_marker.node import TargetMarkerNode

            with runtime.spinning_node(TargetMarkerNode()):
                stop.wait()

    return runtime.run(program, 'target_marker')


if __name__ == '__main__':
    sys.exit(main())
