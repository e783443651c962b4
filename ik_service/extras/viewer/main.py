"""Program ``ik_viewer``: the arm in a browser, as a ROS node."""

from __future__ import annotations

from contextlib import ExitStack
import sys
import threading

from ik_service.ros.common import runtime
from ik_service.ros.common.runtime import shows_help


def main(args: list[str] | None = None) -> int:
    """Run the program with the arguments after its name, or those of ``sys.argv``."""
    if shows_help(args, 'ik_viewer', 'The arm in a browser.', 'page.md'):
        return 0

    def program(stop: threading.Event) -> None:
        # Slow imports are here, where signals are already caught.
        from ik_service.extras.viewer.page import close, serve

        with runtime.ros(args):
            from ik_service.extras.viewer.link import viewer_node
            from ik_service.extras.viewer.link.task_queue import LimitedLog
            from ik_service.extras.viewer.viewer import Viewer

            node = viewer_node.ViewerNode()
            with ExitStack() as stack:
                stack.callback(node.destroy_node)
                settings = viewer_node.declare_settings(node)
                page = serve(
                    settings[viewer_node.HOST],
                    settings[viewer_node.PORT],
                    settings[viewer_node.PORT_SEARCH],
                    viewer_node.parse_hosts(settings[viewer_node.ALLOWED_HOSTS]),
                    LimitedLog(node.get_logger().warning),
                )
                stack.callback(close, page.server)
                node.get_logger().info(f'ready: {page.address}')
                with runtime.spinning(node.main_executor):
                    Viewer(page.server, node, settings).run(stop)

    return runtime.run(program, 'ik_viewer')


if __name__ == '__main__':
    sys.exit(main())
