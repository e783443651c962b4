"""Topics and services of MoveIt Servo."""
