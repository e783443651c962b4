"""
Program ``ik_node``, in which handing over one command hangs for a while.

``HANGS`` in the environment says how: ``locked`` keeps the interpreter's lock meanwhile, as the
calls of rclpy do, ``free`` lets other threads run.
"""

import ctypes
import os

from ik_service.ros.motion.command_publisher import CommandPublisher
from ik_service.ros.node.main import main

HANGS = {'locked': ctypes.PyDLL, 'free': ctypes.CDLL}
TIME = 1_500_000  # [µs]
COMMAND = 20  # which one


class HangingPublisher:
    """A publisher of which one call hangs."""

    def __init__(self, publisher):
        self._publisher, self._count = publisher, 0
        self._library = HANGS[os.environ['HANGS']](None)

    def publish(self, message):
        self._count += 1
        if self._count == COMMAND:
            self._library.usleep(TIME)
        self._publisher.publish(message)

    def __getattr__(self, name):
        return getattr(self._publisher, name)


def _with_hanging_publisher(create):
    def created(self, *arguments):
        create(self, *arguments)
        self._publisher = HangingPublisher(self._publisher)

    return created


if __name__ == '__main__':
    CommandPublisher.__init__ = _with_hanging_publisher(CommandPublisher.__init__)
    main()
