"""The program ``ik_viewer``: the arm in a browser, as a ROS node."""

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
        # What takes time to import is imported here, where signals are already caught.
        from ik_service.viewer.server.page import close, serve

        with runtime.ros(args):
            from ik_service.viewer.link.viewer_node import ViewerNode
            from ik_service.viewer.server.limited_log import LimitedLog
            from ik_service.viewer.settings import declare_settings
            from ik_service.viewer.viewer import Viewer

            graph = ViewerNode()
            settings = declare_settings(graph)
            page = serve(
                settings.host,
                settings.port,
                settings.port_search,
                settings.allowed_hosts,
                LimitedLog(graph.get_logger().warning),
            )
            try:
                graph.get_logger().info(f'ready: {page.address}')
                with runtime.spinning(graph.executor_of_rest):
                    Viewer(page.server, graph, settings).run(stop)
            finally:
                close(page)
                graph.destroy_node()

    return runtime.run(program, 'ik_viewer')


if __name__ == '__main__':
    sys.exit(main())
