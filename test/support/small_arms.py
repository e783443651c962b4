"""Small arms whose reach is known."""

from __future__ import annotations

# Two links of 0.5 m and 0.3 m in a plane: the tip reaches a ring from 0.2 m to 0.8 m.
TWO_LINKS = """
<robot name="two_links">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="tip"/>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="end" type="fixed">
    <parent link="fore"/><child link="tip"/><origin xyz="0.3 0 0"/>
  </joint>
</robot>
"""

# Links of 0.4 m and 0.3 m, a turn and a slide of 0.2 m: a thick ring from 0.1 m to 0.7 m.
SCARA = """
<robot name="scara">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="quill"/><link name="tip"/>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="c" type="continuous">
    <parent link="fore"/><child link="quill"/><origin xyz="0.3 0 0"/><axis xyz="0 0 -1"/>
  </joint>
  <joint name="d" type="prismatic">
    <parent link="quill"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.2" velocity="1" effort="1"/>
  </joint>
</robot>
"""

# Three slides and a wrist of three joints: every place of a box, with every orientation.
GANTRY = """
<robot name="gantry">
  <link name="base"/>
  {slides}
  {turns}
</robot>
""".format(
    slides=''.join(
        f'<link name="s{i}"/><joint name="slide_{i}" type="prismatic"><parent link="{parent}"/>'
        f'<child link="s{i}"/><axis xyz="{axis}"/>'
        '<limit lower="-0.5" upper="0.5" velocity="1" effort="1"/></joint>'
        for i, (parent, axis) in enumerate([('base', '1 0 0'), ('s0', '0 1 0'), ('s1', '0 0 1')])
    ),
    turns=''.join(
        f'<link name="t{i}"/><joint name="turn_{i}" type="continuous"><parent link="{parent}"/>'
        f'<child link="t{i}"/><axis xyz="{axis}"/></joint>'
        for i, (parent, axis) in enumerate([('s2', '0 0 1'), ('t0', '0 1 0'), ('t1', '0 0 1')])
    ),
)
