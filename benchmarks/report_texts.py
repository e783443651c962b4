"""Texts of the page docs/benchmarks.md: an introduction, and a heading for each table."""

INTRODUCTION = """\
# Benchmarks

`benchmarks/report.py` writes this page from the tables in `benchmarks/results`. `make bench`
repeats the measurements. Each part also runs alone, for instance
`.bench-venv/bin/python benchmarks/solvers.py --help`.

All solvers get the same problems in the same process on the same core, in turns. The target of a
problem is the forward kinematics of a joint vector drawn uniformly within the limits; the search
starts in the middle of the limits. A problem counts as solved if, by Pinocchio's forward
kinematics, all six components of the twist to the target are within 1e-5 (m or rad) and every
joint is within its limits, whatever the solver reports. Times are those of calls from Python, for
solved and unsolved problems alike. “× ours” is the ratio of a solver's mean time in a round to
that of the default method of this project; the two solve the same problems directly after each
other. The tables give the median and the quartiles over the rounds.
"""
LOST = '{lost}'
"""Placeholder of the cases in which a library of that table does better."""

TEXTS = {
    'solvers': """\
## Random reachable poses

One core. “(batch)” is `solve_ik_batch` on one thread; the others are single calls, for this
project of `Solver.solve`. “× ours” is relative to the first row of each chain. roboticstoolbox is
`ik_LM` (C++, Chan, k = 0.1) with tol = 5e-11, because its default accepts errors of 1.4e-3;
TRAC-IK is pytracik in Speed mode with 5 ms; pink is a loop of at most 100 steps; EAIK is the
closed form plus the choice of the nearest solution within the limits. ikpy and pink get fewer
problems.
""",
    'more_peers': """\
## Ten more libraries

All cases in which they do better:

{lost}

Tolerances and limits are as above; all run on one core, in turns. Random seeds are random joint
vectors other than the target's; near seeds differ from it by up to 0.1 rad. “Motion” is the
median, over the solved problems, of the largest joint motion from the seed; “nearest in 1 ms”
minimises it. Each library gets a plain description of the single chain. All but Pink and EAIK run
in separate processes and time each call themselves; PlaCo has a separate environment, as it needs
Pinocchio 3.8. The versions are among the settings above.

- Closed forms: EAIK with the choice of the nearest solution within the limits, and “first”, its
  first exact solution, which may be beyond the limits. ssik with its own module of the arm, if
  that has the same dimensions and limits (xarm6), otherwise with the output of `ssik build`, and
  one solution, the nearest. frankik by default tries 60 values of the last joint within 20° of the
  seed's value on its branch; “one value” is the seed's value alone, and “everywhere” is the whole
  range of that joint on all branches.
- Searches: optik (optik-py) with its own restarts, one thread, at most 0.1 s.
- Local methods: pink, mink, PlaCo, PyRoki (its only package on PyPI is the fork almond-pyroki),
  roboplan-oink and embodik, set up as in their examples, without tasks that conflict with the
  pose. Each makes up to 100 steps from the seed and from each of nine further random joint
  vectors. With its own settings, embodik reaches 1e-5 from no random seed and from half of the
  near seeds of the Panda; the table has the best of some twenty settings. PyRoki computes in
  single precision, its default, and with a smaller cost tolerance; its compilation time is
  excluded.

For xArm6 and xArm7 [DimOS reports](https://github.com/dimensionalOS/dimos/pull/3334), with 10
starts each, on another machine and with a collision check: Pink 90 % in 125 ms and 97 % in 30 ms,
OInK 84.5 % in 37 ms and 97 % in 15 ms.
""",
    'more_peers_free': """\
### Free of collisions

Random collision-free poses of this package's Panda, from random seeds. A local method starts again
if its library's own test finds a self-collision of the arm; Pink leaves that test to Pinocchio.
“Colliding” is the share of the answers that collide by Pinocchio's test of all pairs; they do not
count as solved. EAIK, ssik, frankik and optik have no collision test. PyRoki has one, but encloses
each link in a single capsule; those of link3 and link5 of this arm, for instance, overlap in every
posture.
""",
    'chains': """\
## Many robots

The default method, one core, time inside the compiled solver. The last two columns are from
TRAC-IK's README (version 1.5.1, Speed mode, 5 ms): the same protocol, measured on its authors'
machine, partly with other versions of the robot descriptions.
""",
    'chains_many': '### Many problems\n',
    'odd_limits': """\
## Limits that mean none

The default method, one core, time inside the compiled solver. The six-joint arms have individual
dimensions and the limits that converters write for unlimited joints; some stand on rails or mobile
bases. Targets are within ±π rad, ±3 m on a rail and ±50 m or ±1 km on a base. “Reading” is the
least processor time of `Robot.from_urdf`.
""",
    'tracking': """\
## Following a path

Each solve starts from the previous solution. A jump is a joint motion between consecutive
solutions above the column's threshold. The paths have 2,000 points, between which the joints need
to move by at most a tenth of a jump. “Inside” is the time in the compiled solver; the mean is that
of the whole call.
""",
    'nearest': """\
## The nearest solution

Joint motion is the largest motion of any joint from the seed to the solution, over the problems
that all three solvers solved.
""",
    'all_solutions': """\
## All solutions

Random reachable poses, one core, calls from Python. A branch is a solution within the limits, full
turns disregarded, verified as above but to 1e-7. “Branches” counts those found by any of the
libraries, “missed” those that this library did not find. “Search only” is without the closed form,
as for an arm that has none. EAIK's solutions are not filtered by the limits.
""",
    'general_arms': """\
## All solutions without a closed form

The same for arms of six revolute joints. “Ours” is the elimination; Piper has a closed form. The
axes of “calibrated” arms are off by a milliradian and a millimetre. “Search only” is the search
used for other chains; “brute force” continues until ten times as many searches have found nothing
new. “Proved” is the share of poses for which the elimination, or a closed form, has shown without
a search that there are no other solutions.
""",
    'self_motions': """\
## All solutions of seven joints

As intervals of one joint's angle; “branches” is their mean number. “Solutions” are those of the
arm with that joint locked at random angles, which the search from random postures finds.
""",
    'giving_up': """\
## Unreachable targets

“Turned inwards”: poses at the edge of the workspace with the tool turned by 180°. “Says” counts
the results by status; “closest” is the median distance from the target to this project's pose.
""",
    'growth': """\
## Growth with the number of joints

![time of an iteration against the number of joints](figures/growth.png)
""",
    'overhead': '## Overhead of a call, and the first solve of a process\n',
    'batch': """\
## Batches

Times of the whole call. “Each a batch of its own”: each of two threads solves half of the targets
in its own batch call on one thread.
""",
    'two_arms': """\
## Several tips, and tolerances

Random reachable poses from random seeds, one core, calls of `Solver.solve`. “Solved” is as
reported by the solver; the tests verify it independently of the kernels.
""",
    'collisions': """\
## Collision checks

Random postures, one core, calls from Python. Pinocchio checks the same pairs of links, all of them
each time. “Other verdicts” are those that differ from Pinocchio's with new geometry data for each
posture, as reused data makes Pinocchio err now and then. With objects, they are those in which
single checks and checks of many postures at once differ. The objects are boxes, balls and cans of
2 to 10 cm within 1.2 m of the robot.
""",
    'collision_free': """\
## Solutions free of collisions

Poses of random collision-free postures of the Panda, calls of `Solver.solve` on one core with and
without the collision checker. Without it, “colliding” is the share of the answers at which the arm
collides. All answers are verified by Pinocchio.
""",
    'paths': """\
## Whole paths

Poses along smooth joint paths through 40 random postures each. Between two postures every joint
moves by up to 30 % of its range; between two poses no joint needs to move by more than 0.06 rad.
The other solvers solve pose by pose, each from the previous solution. “Length” and “bends” are
relative to the joint path from which the poses were made; the time is that of the whole path, on
all cores. Finding a path without a jump takes longer than solving pose by pose.

Pose by pose, the default method of this project jumps as all others do, on some paths more often:
it follows one branch until it meets a limit or a singular posture, and cannot know which other
branch continues from there. Those paths are listed above, under “Cases in which another library is
better”. If the whole path is known, use `solve_path`.
""",
    'jerk_timing': """\
## Timing with limits of jerk

`time_path` with limits of velocity, acceleration and jerk, along random joint paths of each kind:
by how much longer the motion takes than the best known one from rest to rest. For straight lines,
that is Ruckig's motion along the line; for other paths, a dense optimisation by SciPy's HiGHS,
which enforces the limits at about 400 points only and is therefore slightly too fast. It has no
position limits; the tip lines stay 0.05 rad away from them.
“Exceeded” is the number of paths on which any limit is exceeded at one of 50 instants
between two consecutive points. The velocity limits are 0.3 to 1 times those of the description,
reached in 0.1 to 0.5 s; the acceleration limits are reached in 10 to 320 ms.
Times are those of the timing alone.
""",
    'service': """\
## The service

Round trips over DDS between processes. The echo server answers the same request type with a
response of the same size; trigger is `std_srvs/Trigger`; both are plain rclpy servers.
""",
}
