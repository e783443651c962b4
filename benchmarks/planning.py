"""
Motion plans of the Panda on the problems of MotionBenchMaker: solved, time, length.

The problems are those that VAMP ships (https://github.com/KavrakiLab/vamp, resources/panda): seven
scenes, 100 problems each. They are read from a checkout of it as data, with the robot whose
geometry is spheres:

    python benchmarks/planning.py /path/to/vamp/resources/panda

Each row is of one planner on one scene. Solved is what Pinocchio, which knows nothing of this
package, finds free of collisions at postures 5 mm of the arm's motion apart, and which ends at the
goal. Times are of the processor, from the request in a world that is known to the timed trajectory
that is checked as a whole (or to the path alone, where a planner makes no trajectory). Lengths are
those of the joint path [rad]. Problems whose start or goal Pinocchio finds in collision count for
nobody.

VAMP itself takes part where it is installed, ``pip install vamp-planner``, which builds it and
downloads what it is made of; its settings are those of its own evaluation of the set.

C. Chamzas et al.: MotionBenchMaker: A Tool to Generate and Benchmark Motion Planning Datasets.
IEEE Robotics and Automation Letters 7(2), 2022.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
import tarfile
from time import thread_time
from xml.etree import ElementTree

import numpy as np
from pinocchio_collisions import PinocchioCollisions, Shape
from records import progress, save
from scipy.spatial.transform import Rotation
import yaml

import ik_service as iks
from ik_service.extras.planning.motion_check import MotionCheck, positions_at
from ik_service.extras.planning.rrt_connect import load_ompl
from ik_service.extras.studies.tables import show

JOINTS = tuple(f'panda_joint{number}' for number in range(1, 8))
TIMEOUT = 60.0  # [s]
PLAIN_TIMEOUT = 1.0  # of OMPL with a plain checker, which leaves about half unsolved [s]
FINGERS = {'panda_finger_joint1': 0.065, 'panda_finger_joint2': 0.065}


@dataclass(frozen=True)
class Problem:
    """Problem of the set: shapes and poses (4, 4) by name [m], start and goal (7,) [rad]."""

    scene: str
    objects: dict[str, tuple[Shape, np.ndarray]]
    start: np.ndarray
    goal: np.ndarray


def read_problems(archive: Path, most: int) -> list[Problem]:
    """Return the first problems of every scene."""
    found: dict[tuple[str, str], dict[str, dict]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile():
                _, folder, name = member.name.split('/')
                kind, number = name[:-9], name[-9:-5]
                if int(number) <= most:
                    text = tar.extractfile(member).read()
                    loaded = yaml.load(text, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
                    found.setdefault((folder.removesuffix('_panda'), number), {})[kind] = loaded
    return [_problem(scene, parts) for (scene, _), parts in sorted(found.items())]


def _problem(scene: str, parts: dict[str, dict]) -> Problem:
    objects = {}
    for body in parts['scene']['world']['collision_objects']:
        shape, place = body['primitives'][0], body['primitive_poses'][0]
        size = shape['dimensions']
        made: Shape
        if shape['type'] == 'box':
            made = iks.Box(tuple(size))
        elif shape['type'] == 'cylinder':
            made = iks.Cylinder(size[1], size[0])
        else:
            made = iks.Sphere(size[0])
        outer = _pose(body['pose']) if 'pose' in body else np.eye(4)
        objects[body['id']] = made, outer @ _pose(place)
    request = parts['request']
    state = request['start_state']['joint_state']
    start = dict(zip(state['name'], state['position'], strict=True))
    constraints = request['goal_constraints'][0]['joint_constraints']
    goal = {each['joint_name']: each['position'] for each in constraints}
    return Problem(
        scene,
        objects,
        np.array([start[name] for name in JOINTS], float),
        np.array([goal[name] for name in JOINTS], float),
    )


def _pose(place: dict) -> np.ndarray:
    x, y, z, w = place['orientation']
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat((x, y, z, w)).as_matrix()
    T[:3, 3] = place['position']
    return T


class Referee:
    """Collisions of the Panda as Pinocchio finds them."""

    def __init__(self, urdf: Path, srdf: Path) -> None:
        self._urdf, pairs = urdf, ElementTree.parse(srdf).iter('disable_collisions')
        self._allowed = {frozenset((pair.get('link1'), pair.get('link2'))) for pair in pairs}

    def set_scene(self, problem: Problem) -> None:
        """Put the objects of a problem around the robot."""
        self._found = PinocchioCollisions(self._urdf, self._allowed, problem.objects)

    def collides(self, q: np.ndarray) -> bool:
        """Return whether something collides."""
        positions = dict(zip(JOINTS, q.tolist(), strict=True))
        return self._found.collides(self._found.configuration(positions | FINGERS))


Motion = iks.JointTrajectory | np.ndarray | None
"""Trajectory, or corners (k, 7) of a path of straight lines; None for no plan."""
Plan = Callable[[], Motion]
Planner = Callable[[iks.KinematicChain, iks.CollisionChecker, Problem], Plan]
"""Planner of a problem: what is measured is the plan that it returns."""


def ours(chain: iks.KinematicChain, checker: iks.CollisionChecker, problem: Problem) -> Plan:
    """Plan by ``plan_motion``."""
    goal, start = problem.goal, problem.start
    return lambda: (
        iks.plan_motion(chain, start, goal, collisions=checker, timeout=TIMEOUT).trajectory
    )


def plain_ompl(chain: iks.KinematicChain, checker: iks.CollisionChecker, problem: Problem) -> Plan:
    """Plan by OMPL as its tutorials do it: a test of a state, 1 % of the space apart."""
    return partial(_plain_ompl, chain, checker, problem)


def _plain_ompl(
    chain: iks.KinematicChain, checker: iks.CollisionChecker, problem: Problem
) -> Motion:
    ompl = load_ompl()
    test = checker.for_joints(JOINTS)
    space = ompl.base.RealVectorStateSpace(7)
    limits = ompl.base.RealVectorBounds(7)
    for i in range(7):
        limits.setLow(i, float(chain.lower[i]))
        limits.setHigh(i, float(chain.upper[i]))
    space.setBounds(limits)
    setup = ompl.geometric.SimpleSetup(space)
    setup.setStateValidityChecker(lambda state: test.first_contact(np.array(state[0:7])) is None)
    information = setup.getSpaceInformation()
    start, goal = information.allocState(), information.allocState()
    start[0:7], goal[0:7] = problem.start.tolist(), problem.goal.tolist()
    setup.setStartAndGoalStates(start, goal)
    setup.setPlanner(ompl.geometric.RRTConnect(information))
    setup.solve(PLAIN_TIMEOUT)
    if not setup.haveExactSolutionPath():
        return None
    setup.simplifySolution()
    states = setup.getSolutionPath().getStates()
    return np.array([state[0:7] for state in states])


def vamp_rrtc(
    _chain: iks.KinematicChain, _checker: iks.CollisionChecker, problem: Problem
) -> Plan:
    """Plan and shorten by VAMP: single precision, capsules in place of cylinders."""
    import vamp

    world = vamp.Environment()
    for shape, T in problem.objects.values():
        place = T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_euler('xyz')
        if isinstance(shape, iks.Box):
            world.add_cuboid(vamp.Cuboid(*place, np.array(shape.size) / 2))
        elif isinstance(shape, iks.Cylinder) and problem.scene == 'box':  # as its evaluation does
            half = [shape.radius, shape.radius, shape.height / 2]
            world.add_cuboid(vamp.Cuboid(*place, half))
        elif isinstance(shape, iks.Cylinder):
            world.add_capsule(vamp.Cylinder(*place, shape.radius, shape.height))
        else:
            world.add_sphere(vamp.Sphere(place[0], shape.radius))
    panda, plan, settings, shortening = vamp.configure_robot_and_planner_with_kwargs(
        'panda', 'rrtc'
    )
    sampler = panda.halton()

    def planned() -> Motion:
        found = plan(problem.start, problem.goal, world, settings, sampler)
        if not found.solved:
            return None
        return panda.simplify(found.path, world, shortening, sampler).path.numpy()

    return planned


PLANNERS: dict[str, Planner] = {
    'plan_motion': ours,
    'OMPL, plain checker': plain_ompl,
    'VAMP': vamp_rrtc,
}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('folder', type=Path, help="VAMP's resources/panda")
    parser.add_argument('--count', type=int, default=100, help='problems of each scene')
    parser.add_argument(
        '--planners', nargs='+', choices=PLANNERS, default=[*PLANNERS], help='only these'
    )
    args = parser.parse_args()
    urdf, srdf = args.folder / 'panda_spherized.urdf', args.folder / 'panda.srdf'
    robot = iks.Robot.from_urdf(urdf, srdf=srdf)
    chain = robot.chain('panda_link0', 'panda_link8')
    assert chain.joint_names == JOINTS
    checker = iks.CollisionChecker(robot)
    checker.posture = {n: q for n, q in FINGERS.items() if n in checker.joint_names}
    referee = Referee(urdf, srdf)
    results: dict[tuple[str, str], list[tuple[bool, float, float]]] = {}
    for number, problem in enumerate(read_problems(args.folder / 'problems.tar.bz2', args.count)):
        referee.set_scene(problem)
        if referee.collides(problem.start) or referee.collides(problem.goal):
            continue
        for name in (*checker.objects,):
            checker.remove(name)
        for name, (shape, T) in problem.objects.items():
            checker.add(name, shape, T)
        for planner in args.planners:
            plan = PLANNERS[planner](chain, checker, problem)
            if number == 0:
                plan()  # compiles
            began = thread_time()
            found = plan()
            seconds = thread_time() - began
            good, length = judged(chain, checker, referee, problem, found)
            results.setdefault((problem.scene, planner), []).append((good, seconds, length))
        progress(f'planning: {problem.scene} {number}')
    rows = [summary(scene, planner, each) for (scene, planner), each in results.items()]
    for planner in args.planners:
        every = [one for (_, name), each in results.items() if name == planner for one in each]
        rows.append(summary('all', planner, every))
    show(rows)
    save('planning', rows, count=args.count)


def judged(
    chain: iks.KinematicChain,
    checker: iks.CollisionChecker,
    referee: Referee,
    problem: Problem,
    found: Motion,
) -> tuple[bool, float]:
    """Return whether a motion is what was asked for, and its length [rad]."""
    if found is None:
        return False, np.nan
    if isinstance(found, iks.JointTrajectory):
        check = MotionCheck(chain, checker.for_joints(JOINTS))
        _, rows = check.samples(found, 0.005)
        path = positions_at(found, np.linspace(0.0, found.duration, 500))
    else:
        path = np.asarray(found)
        rows = np.concatenate(
            [
                a + np.linspace(0.0, 1.0, 2 + int(np.abs(b - a).sum() / 0.004))[:, None] * (b - a)
                for a, b in pairwise(path)
            ]
        )
    ends = np.abs(rows[0] - problem.start).max() < 1e-6
    ends &= np.abs(rows[-1] - problem.goal).max() < 1e-6
    free = not any(referee.collides(q) for q in rows)
    return bool(ends and free), float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def summary(scene: str, planner: str, each: list[tuple[bool, float, float]]) -> dict[str, object]:
    """Return a row of the table."""
    solved = [one for one in each if one[0]]
    times = 1e3 * np.array([seconds for _, seconds, _ in solved])
    return {
        'scene': scene,
        'planner': planner,
        'problems': len(each),
        'solved': len(solved),
        'median_ms': round(float(np.median(times)), 2) if solved else '',
        'p95_ms': round(float(np.percentile(times, 95)), 2) if solved else '',
        'length_rad': round(float(np.median([one[2] for one in solved])), 2) if solved else '',
    }


if __name__ == '__main__':
    main()
