"""Texts of the page docs/benchmarks.md: an introduction, and a heading for each table."""

INTRODUCTION = """\
# Benchmarks

This page is written by `benchmarks/report.py` from the tables in `benchmarks/results`, which
`make bench` measures again. Each part also runs alone, for instance
`.bench-venv/bin/python benchmarks/solvers.py --help`.

All solvers get the same problems in the same process on the same core, in turns. A problem is the
forward kinematics of a joint vector drawn uniformly within the limits; the search starts in the
middle of the limits. A problem counts as solved when, by Pinocchio's forward kinematics, all six
components of the twist to the target are within 1e-5 (m or rad) and every joint is within its
limits, whatever the solver reports. Times are those of a call from Python, of solved and unsolved
problems alike. “× ours” is the ratio of the mean times of one round to those of the default method
of this project; both solvers get the same problems directly after each other. The tables give the
median of the rounds and its quartiles.
"""
LOST = '{lost}'
"""Where the cases stand in which a library of that table does better."""

TEXTS = {
    'solvers': """\
## Random reachable poses

One core. “(batch)” is `solve_ik_batch` on one thread, the others are single calls, of this project
through `Solver.solve`. “× ours” is relative to the first row of each chain. roboticstoolbox is
`ik_LM` (C++, Chan, k = 0.1) with tol = 5e-11, because its default lets errors of 1.4e-3 pass;
TRAC-IK is pytracik in Speed mode with 5 ms; pink is a loop of at most 100 steps; EAIK is the
closed form and the choice of the nearest solution within the limits. ikpy and pink get fewer
problems.
""",
    'more_peers': """\
## Ten more libraries

Where they do better, all cases:

{lost}

The same tolerances and limits as above, one core, all in turns. Random seeds are other random
joint vectors; near ones are off by up to 0.1 rad. “Motion” is the median over the solved problems
of the largest motion of a joint from the seed; “nearest in 1 ms” looks for the smallest. Each
library gets a plain description of the one chain. Those but Pink and EAIK run in processes of
their own and time each call themselves; PlaCo needs an environment of its own, as it needs
Pinocchio 3.8. The versions are among the settings above.

- Closed forms: EAIK with the choice of the nearest solution within the limits, and “first”, its
  first exact one as it comes, which may be beyond the limits. ssik with its module of the arm,
  where that has the same dimensions and limits (xarm6), otherwise with what `ssik build` writes,
  and one solution, the nearest. frankik by default tries 60 values of the last joint within 20° of
  the seed's on its branch; “one value” is the seed's alone, and “everywhere” is that joint's range
  on all branches.
- Searches: optik (optik-py) with restarts of its own, one thread, at most 0.1 s.
- Local methods: pink, mink, PlaCo, PyRoki (its only package on PyPI is the fork almond-pyroki),
  roboplan-oink and embodik, as their examples have it, without tasks that pull away from the pose.
  Each makes up to 100 steps from the seed and from nine random joint vectors more. embodik's own
  settings reach 1e-5 from no random and half of the near seeds of the Panda; the best of some
  twenty settings is in the table. PyRoki computes with single precision, as it does by default,
  and with a smaller tolerance of the cost; its compilation does not count.

For xArm6 and xArm7 [DimOS reports](https://github.com/dimensionalOS/dimos/pull/3334), with 10
starts each, on another machine and with a collision check: Pink 90 % in 125 ms and 97 % in 30 ms,
OInK 84.5 % in 37 ms and 97 % in 15 ms.
""",
    'more_peers_free': """\
### Free of collisions

Random poses of the Panda of this package that are free of collisions, from random seeds. A local
method starts again where its library's own test finds a collision of the arm with itself; Pink
leaves that test to Pinocchio. “Colliding” is the share of the answers that collide by Pinocchio's
test of all pairs, which do not count as solved. EAIK, ssik, frankik and optik have no test of
collisions. PyRoki has one, but wraps each link in a single capsule, and those of link3 and link5
of this arm, for instance, overlap in every posture.
""",
    'chains': """\
## Many robots

The default method, one core, time inside the compiled solver. The last two columns are the figures
of TRAC-IK's README (version 1.5.1, Speed mode, 5 ms) for the same protocol, measured on its
authors' machine and partly with other versions of the descriptions.
""",
    'chains_many': '### Many problems\n',
    'odd_limits': """\
## Limits that mean none

The default method, one core, time inside the compiled solver, on arms of six joints with lengths
of their own and the limits that converters write where there are none, on rails, and on bases that
drive. Targets are within ±π rad, ±3 m on a rail and ±50 m or ±1 km on a base. “Reading” is the
least processor time of `Robot.from_urdf`.
""",
    'tracking': """\
## Following a path

Each solve starts from the previous solution. A jump is a joint motion between consecutive
solutions; the paths have 2,000 points, between which the joints have to move by a tenth of a jump
at most. “Inside” is the time in the compiled solver; the mean is that of the whole call.
""",
    'nearest': """\
## The nearest solution

Joint motion is the largest of any joint from the seed to the solution, compared over the problems
that all three solved.
""",
    'all_solutions': """\
## All solutions

Random reachable poses, one core, calls from Python. A branch is a solution within the limits but
for full turns, verified as above but to 1e-7; “branches” are those that any of the libraries has
found, and “missed” those of them that this one has not. “Search only” is without the closed form,
as for an arm that has none. EAIK's solutions are taken as they come, within the limits or not.
""",
    'general_arms': """\
## All solutions without a closed form

Arms of six revolute joints, in the same way. “Ours” is the elimination; Piper has a closed form.
“Calibrated” arms have axes that are off by a milliradian and a millimetre. “Search only” is what
there was before, and still is for other chains; “brute force” goes on until ten times as many
searches have found nothing new. “Proved” is the share of poses where the elimination, or a closed
form, has settled that there are no other solutions, without a search.
""",
    'giving_up': """\
## Unreachable targets

“Turned inwards”: poses at the edge of the workspace with the tool turned by 180°. “Says” counts
the results by status; “closest” is the median distance of the pose that this project returns.
""",
    'growth': """\
## Growth with the number of joints

![time of an iteration against the number of joints](figures/growth.png)
""",
    'overhead': '## Overhead of a call, and the first solve of a process\n',
    'batch': """\
## Batches

Times of the whole call. “Each a batch of its own”: each of two threads solves half of the targets
by a batch call on one thread.
""",
    'two_arms': """\
## Several tips, and tolerances

Random reachable poses from random seeds, one core, calls of `Solver.solve`. Solved is what the
solver reports; the tests check it apart from the kernels.
""",
    'collisions': """\
## Collision checks

Random postures, one core, calls from Python. Pinocchio checks the same pairs of links, all of them
each time. “Other verdicts” are those that differ from Pinocchio's with new geometry data for each
posture, since what it keeps from one posture to the next makes it err now and then; among objects
they are those in which single checks and those of many postures at once differ. The objects are
boxes, balls and cans of 2 to 10 cm within 1.2 m of the robot.
""",
    'collision_free': """\
## Solutions free of collisions

Poses of random postures of the Panda that are free of collisions, calls of `Solver.solve` on one
core with and without the collision checker. Without it, “colliding” is the share of the answers at
which the arm collides. All answers are verified by Pinocchio.
""",
    'paths': """\
## Whole paths

Poses along smooth joint paths between 40 random postures each, from one to the next of which every
joint moves by up to 30 % of its range; from pose to pose no joint has to move by more than 0.06
rad. The others solve pose after pose, each from the previous solution. “Length” and “bends” are
shares of those of the joint path that the poses were made from; the time is that of the whole
path, on all cores. Finding a way without a jump takes longer than solving pose after pose.

From pose to pose the default method of this project jumps as all others do, on some paths more
often: it follows one solution until a limit or a singular posture is in the way, and cannot know
which of the others leads on. Those paths are listed below as lost. Where a whole path is known,
`solve_path` is for it.
""",
    'jerk_timing': """\
## Timing with limits of jerk

`time_path` with limits of velocity, acceleration and jerk, along random joint paths of each kind:
by how much longer the motion takes than the best one between the same rests. Along straight
lines that is Ruckig's, for the way along the line; along the others that of a dense
optimisation by SciPy's HiGHS, whose limits hold at about 400 places alone, so that it is slightly
too good. It knows no limits of position, from which the lines of the tip stay 0.05 rad away.
“Exceeded” is the number of paths on which any limit is exceeded at one of 50 instants
between each two points. The limits are 0.3 to 1 times the velocities of the description,
reached in 0.1 to 0.5 s, with accelerations that are reached in 10 to 320 ms.
Times are those of the timing alone.
""",
    'service': """\
## The service

Round trips over DDS between processes. The echo responds to the same request type with a response
of the same size; trigger is `std_srvs/Trigger`; both are plain rclpy.
""",
}
