"""``ik_teleop``: an arm driven by hand, with the keyboard or a joystick."""
