"""
Places in the rows in which the kernels keep the goals of the tips, 43 numbers each.

======  ===========================================================================================
0–11    the goal frame of the last joint: x, y, z axes; origin of the region
12–20   axes of the target, about which the angles count
21–29   axes of the region
30–32   the point of the tip, in the frame behind the last joint
33–35   extents of the region: half lengths, or radius, radius and half the height
36–38   tolerances of the angles
39      number of the region; 0: the point has to be at the target
40      kind of the orientation: one of the numbers below
41–42   cosine and sine of the rotation about z from the frame behind the last joint to the tip
======  ===========================================================================================
"""

from __future__ import annotations

TARGET, REGION, POINT, EXTENTS, TOLERANCES = 12, 21, 30, 33, 36
KIND, TURNING, END, GOAL_SIZE = 39, 40, 41, 43
EXACT, ROTATION_VECTOR, EULER_XYZ, FREE = range(4)
"""Kinds of orientation."""
