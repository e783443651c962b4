"""Quality-of-service profiles, which both ends of a topic have to agree on."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DESCRIPTION_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Of ``robot_description``: late subscribers get the last message."""

COMMAND_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Of ``joint_command`` and ``joint_trajectory``: no command is to be lost."""

MARKERS_QOS = DESCRIPTION_QOS
"""Of markers: late subscribers get the last markers, and not only later changes."""

SERVICE_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
"""
Of ``compute_ik`` and ``compute_fk``: room for waiting requests and responses.

The default depth of 10 loses messages beyond it, and says nothing. A client needs as much for
itself: its own requests wait in such a queue, and into that of its answers come those of all
other clients of the service too, which the middleware sorts out only when they are taken.
"""

BATCH_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
"""Of ``compute_ik_batch``, whose requests and responses may have a megabyte each."""
