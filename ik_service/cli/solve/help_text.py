"""Help text of ``ik_solve``."""

from __future__ import annotations

import textwrap

from ik_service.cli.solve.options import option_texts
from ik_service.solvers.registry import solver_names, solver_spec

DESCRIPTION = """
Inverse kinematics of one pose, or of a whole path of poses, for any URDF or xacro file: prints the
joint values that put the tip of an arm there, their errors, and on request every iteration of the
solver.

Lengths are in metres. Joint values are in radians, those of sliding joints in metres, as in the
URDF. Only --rpy is in degrees. Poses are those of the tip link in the frame of the base link.
"""

_WORDS = """
terms:
  seed      Joint values at which the search starts. Most poses have several solutions; one near
            the seed is found. Give the arm's present joint values to get a solution close to
            them, or the name of a state that the arm's planning group has. The default is the
            middle of the joint limits. A seed outside the limits is brought inside.
  limits    Every solution lies within the joint limits of the URDF, unless
            --set joint_limits=ignore. "To the limit" in the table is the distance to the nearer
            limit.
  search    A method iterates from a start towards the target. Where it gets stuck, another
            search starts from a random posture. The same command always gives the same result;
            --set random_seed=1 gives other random postures.
  solved    Position and orientation are within tolerance, by the forward kinematics of the
            result, and all joints are within their limits. Otherwise the closest pose found is
            printed.
  path      A CSV file whose first line names the columns: x, y, z [m], then qx, qy, qz, qw or
            roll, pitch, yaw [DEGREES] or neither, for any orientation; t [s] if there are times,
            which are only handed on. Or matrices (N, 4, 4) as .npy or .json. No joint moves by
            more than --max-step from one pose to the next. At most 1,000,000 poses, which take
            some 25 s and 1 GB.
  time      That of a second call. The first one loads (on a new machine: compiles) the solver.
"""

_EXAMPLES = """
examples:
  ik_solve panda --xyz 0.4 0.1 0.5 --rpy 180 0 0
  ik_solve panda --xyz 0.4 0.1 0.5                   position only
  ik_solve ur5e --random 7 --plot ur5e.png           a random reachable pose, with a figure
  ik_solve ur5e --random 7 --solver all              every method on the same pose
  ik_solve panda --joints 0 -0.8 0 -2.4 0 1.6 0.8 --seed 0 0 0 -1 0 1 0 --trace
  ik_solve panda --group panda_arm --random --seed ready
  ik_solve panda --random 3 --avoid-collisions       not colliding with itself
  ik_solve panda --path poses.csv --output joints.csv --plot path.png
  ik_solve panda --path poses.csv --seed ready --start free --timing 0.5 --output joints.csv
  ik_solve my_robot.urdf --srdf my_robot.srdf --group left_arm --random
  ik_solve my_robot.urdf --base-link base --tip-link tool0 --lock torso=0.1 \\
           --xyz 0.3 0 0.4 --quaternion 1 0 0 0 --set timeout=0.05 prefer=nearest --json

exit code: 0 solved (with --solver all: by at least one; with --path: all poses), 1 not solved,
2 the command is wrong.
"""


def epilog() -> str:
    """Return what follows the options: terms, methods, options of solvers, examples."""
    return f'{_WORDS}\n{_solver_lines()}\n{_option_lines()}\n{_EXAMPLES}'


def _solver_lines() -> str:
    width = max(map(len, solver_names()))
    lines = [f'  {name:{width}}  {solver_spec(name).summary}' for name in solver_names()]
    return '\n'.join(['methods (--solver):', *lines, ''])


def _option_lines() -> str:
    lines = ['options (--set), for those methods that use them:']
    for name, text in option_texts().items():
        lines += [f'  {name}']
        lines += textwrap.wrap(text, 94, initial_indent=' ' * 6, subsequent_indent=' ' * 6)
    return '\n'.join([*lines, ''])
