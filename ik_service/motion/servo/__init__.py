"""Commands as a joystick gives them: twists of the tip, joint velocities, poses."""
