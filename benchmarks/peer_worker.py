"""
Process that solves for one further library, in the environment where that is installed.

It gets an arm and then rounds of problems from ``more_peers.py`` as pickles on its standard input,
and times every solve itself, so that the way between the processes does not count. It imports
nothing of this project: the environment of a library may lack what the project needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import importlib
from importlib import metadata
import os
from pathlib import Path
import pickle
import subprocess
import sys
from time import perf_counter
from typing import Any, BinaryIO, Literal

import numpy as np

Solve = Callable[[np.ndarray, np.ndarray], 'np.ndarray | None']
"""From T_base_tip (4, 4) and a seed (n,) to a joint vector (n,); None for none."""

Collides = Callable[[np.ndarray], bool]  # whether a posture (n,) collides

ATTEMPTS = 10
"""Starts of a local method: the seed, then joint vectors drawn within the limits (as DimOS)."""

ITERATIONS = 100  # steps of a local method from each start
TOLERANCE = 1e-5  # largest error in each of the six components of the twist [m] or [rad]


@dataclass(frozen=True)
class Arm:
    """
    Arm as all libraries get it.

    :ivar urdf: path of its description, a plain chain whose root is the base.
    :ivar lower: (n,) joint limits [rad].
    :ivar upper: (n,) joint limits [rad].
    :ivar joints: (n + 1, 4, 4) transforms before each joint, which turns about z, and to the tip.
    :ivar disabled: pairs of links whose collisions do not count; None when none are looked for.
    """

    name: str
    urdf: str
    base: str
    tip: str
    lower: np.ndarray
    upper: np.ndarray
    joints: np.ndarray
    disabled: list[tuple[str, str]] | None = None


class UnableError(Exception):
    """Library that has nothing for an arm; the text is the reason."""


def restarted(
    attempt: Solve, lower: np.ndarray, upper: np.ndarray, collides: Collides | None = None
) -> Solve:
    """Local method with further starts where the first one fails, or ends in a collision."""
    rng = np.random.default_rng(0)

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        for _ in range(ATTEMPTS):
            q = attempt(target, seed)
            if q is not None and not (collides and collides(q)):
                return q
            seed = rng.uniform(lower, upper)
        return None

    return solve


def ssik(arm: Arm) -> Solve:
    """Closed forms and elimination: its module of the arm, or what ``ssik build`` writes."""
    module = _ssik_shipped(arm) or _ssik_built(arm)
    middle = 0.5 * (arm.lower + arm.upper)
    T_tip_theirs = np.linalg.inv(forward(arm, middle)) @ module.fk(middle)

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solutions = module.solve(target @ T_tip_theirs, max_solutions=1, q_seed=seed)
        return solutions[0].q if solutions else None

    return solve


def _ssik_shipped(arm: Arm) -> Any:  # noqa: ANN401 - a class of ssik
    """Return the arm that the package ships, if it has the same dimensions and limits."""
    import ssik

    try:
        shipped = ssik.Manipulator.from_prebuilt(arm.name)
    except ValueError:
        return None
    limits = np.array(shipped.joint_limits, float)
    if not np.allclose(limits, np.column_stack((arm.lower, arm.upper)), atol=1e-6):
        return None
    postures = np.random.default_rng(0).uniform(arm.lower, arm.upper, (5, len(arm.lower)))
    tips = [np.linalg.inv(forward(arm, q)) @ shipped.fk(q) for q in postures]
    return shipped if np.allclose(tips, tips[0], atol=1e-9) else None


def _ssik_built(arm: Arm) -> Any:  # noqa: ANN401 - a module
    """Return the module that ``ssik build`` writes for the arm, which can take a minute."""
    module = Path(arm.urdf).with_name(f'{arm.name}_ik.py')
    subprocess.run(
        [
            Path(sys.executable).with_name('ssik'), 'build', arm.urdf, '--base', arm.base,
            '--ee', arm.tip, '--out', module, '--no-validate',
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    sys.path.insert(0, str(module.parent))
    return importlib.import_module(module.stem)


def frankik(arm: Arm, search: Literal['', 'one value', 'everywhere'] = '') -> Solve:
    """
    Closed form of the Panda for values of the last joint.

    :param search: by default 60 values within 20 degrees of the seed's, on the seed's branch; or
        the seed's alone; or all of that joint's range and all branches.
    """
    import frankik

    if arm.name != 'panda':
        raise UnableError('it solves for the Panda and the FR3 only')
    kinematics = frankik.FrankaKinematics(frankik.RobotType.PANDA)
    wide = {'global_solution': True, 'q7_sample_interval': 332} if search == 'everywhere' else {}

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        q7 = seed[6] if search == 'one value' else None
        return kinematics.inverse(target, q0=seed, q7=q7, **wide)

    return solve


def optik(arm: Arm) -> Solve:
    """Optimisation with restarts of its own, on one thread."""
    import optik

    robot = optik.Robot.from_urdf_file(arm.urdf, arm.base, arm.tip)
    robot.set_parallelism(1)
    config = optik.SolverConfig(solution_mode='speed', max_time=0.1, tol_f=1e-12)

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        answer = robot.ik(config, target.tolist(), seed.tolist())
        return np.array(answer[0]) if answer else None

    return solve


def mink(arm: Arm) -> Solve:
    """Its loop of ``examples/arm_iiwa.py`` without a posture, whose pull keeps it off the pose."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_path(arm.urdf)
    configuration = mink.Configuration(model)
    task = mink.FrameTask(arm.tip, 'body', position_cost=1.0, orientation_cost=1.0, lm_damping=0.1)
    limits = [mink.ConfigurationLimit(model, gain=1.0)]

    def attempt(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        configuration.update(seed)
        task.set_target(mink.SE3.from_matrix(target))
        for _ in range(ITERATIONS):
            velocity = mink.solve_ik(configuration, [task], 1.0, 'daqp', limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
            if np.abs(task.compute_error(configuration)).max() <= TOLERANCE:
                return configuration.q
        return None

    def collides(q: np.ndarray) -> bool:
        configuration.update(q)
        mujoco.mj_collision(model, configuration.data)
        touching = model.geom_bodyid[configuration.data.contact.geom]
        return any(not allowed(arm, *(model.body(i).name for i in pair)) for pair in touching)

    return restarted(attempt, arm.lower, arm.upper, None if arm.disabled is None else collides)


def placo(arm: Arm) -> Solve:
    """The loop of its page "Getting started"."""
    import placo

    flags = placo.Flags.ignore_collisions if arm.disabled is None else 0
    robot = placo.RobotWrapper(arm.urdf, flags)
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    task = solver.add_frame_task(arm.tip, np.eye(4))
    task.configure(arm.tip, 'soft', 1.0, 1.0)
    names = list(robot.joint_names())

    def attempt(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        for name, value in zip(names, seed, strict=True):
            robot.set_joint(name, value)
        robot.update_kinematics()
        task.T_world_frame = target
        for _ in range(ITERATIONS):
            solver.solve(True)
            robot.update_kinematics()
            errors = task.position().error_norm(), task.orientation().error_norm()
            if max(errors) <= TOLERANCE:
                return np.array([robot.get_joint(name) for name in names])
        return None

    def collides(_q: np.ndarray) -> bool:
        found = robot.self_collisions(False)
        return any(not allowed(arm, link(each.bodyA), link(each.bodyB)) for each in found)

    return restarted(attempt, arm.lower, arm.upper, None if arm.disabled is None else collides)


def pyroki(arm: Arm) -> Solve:
    """Its snippet ``solve_ik``, from the seed; the time of compilation does not count."""
    os.environ['JAX_PLATFORMS'] = 'cpu'
    os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false'
    import jax
    import jaxlie
    import jaxls
    from loguru import logger
    import pyroki
    import yourdfpy

    logger.disable('jaxls')
    robot = pyroki.Robot.from_urdf(yourdfpy.URDF.load(arm.urdf, load_meshes=False))
    link = jax.numpy.array(robot.links.names.index(arm.tip), jax.numpy.int32)

    @jax.jit
    def optimum(target: jax.Array, seed: jax.Array) -> tuple[jax.Array, jax.Array]:
        variable = robot.joint_var_cls(0)
        pose = jaxlie.SE3.from_matrix(target)
        costs = [
            pyroki.costs.pose_cost_analytic_jac(
                robot, variable, pose, link, pos_weight=50.0, ori_weight=10.0
            ),
            pyroki.costs.limit_cost(robot, variable, weight=100.0),
        ]
        problem = jaxls.LeastSquaresProblem(costs, [variable]).analyze()
        q = problem.solve(
            initial_vals=jaxls.VarValues.make([variable.with_value(seed)]),
            verbose=False,
            linear_solver='dense_cholesky',
            trust_region=jaxls.TrustRegionConfig(lambda_initial=1.0),
            termination=jaxls.TerminationConfig(max_iterations=ITERATIONS, cost_tolerance=1e-8),
        )[variable]
        reached = jaxlie.SE3(robot.forward_kinematics(q)[link])
        return q, jax.numpy.abs((reached.inverse() @ pose).log()).max()

    def attempt(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        q, error = optimum(target, seed)
        q = np.asarray(q)
        inside = (q >= arm.lower - 1e-6).all() and (q <= arm.upper + 1e-6).all()
        return q if inside and float(error) <= TOLERANCE else None

    if arm.disabled is None:
        return restarted(attempt, arm.lower, arm.upper)
    bodies = pyroki.collision.RobotCollision.from_urdf(
        yourdfpy.URDF.load(arm.urdf, load_collision_meshes=True), tuple(arm.disabled)
    )
    distances = jax.jit(lambda q: bodies.compute_self_collision_distance(robot, q).min())
    return restarted(attempt, arm.lower, arm.upper, lambda q: float(distances(q)) < 0.0)


def roboplan_oink(arm: Arm) -> Solve:
    """Loop of its example, without the posture and the speed limits of a controller."""
    from roboplan.core import CartesianConfiguration, loadUrdfSceneDescriptionFromXml, Scene
    from roboplan.optimal_ik import FrameTask, FrameTaskOptions, Oink, PositionLimit

    scene = Scene('arm', loadUrdfSceneDescriptionFromXml(Path(arm.urdf).read_text()))
    pairs = ''.join(
        f'<disable_collisions link1="{a}" link2="{b}" reason=""/>' for a, b in arm.disabled or ()
    )
    scene.importSrdf(f'<robot name="{arm.name}">{pairs}</robot>')
    scene.addGroupFromChain('arm', arm.base, arm.tip)
    oink = Oink(scene, 'arm')
    pose = CartesianConfiguration(arm.base, arm.tip, np.eye(4))
    task = FrameTask(oink, scene, pose, FrameTaskOptions(lm_damping=0.01))
    limits, step = [PositionLimit(oink, gain=1.0)], np.zeros(len(arm.lower))

    def attempt(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        task.setTargetFrameTransform(target)
        q = seed
        for _ in range(ITERATIONS):
            oink.solveIk(q, [task], limits, step, 1e-6)
            q = scene.integrate(q, step)
            reached = scene.forwardKinematics(q, arm.tip)
            if pose_error(reached, target) <= TOLERANCE:
                return q
        return None

    collides = None if arm.disabled is None else scene.hasCollisions
    return restarted(attempt, arm.lower, arm.upper, collides)


def embodik(arm: Arm) -> Solve:
    """``solve_position``, a loop of its own; of twenty settings these solve most problems."""
    import embodik

    model = embodik.RobotModel(arm.urdf)
    pairs = model.get_collision_pair_names()
    model.apply_collision_exclusions(
        [pair for pair in pairs if arm.disabled and allowed(arm, *map(link, pair))]
    )
    solver = embodik.KinematicsSolver(model)
    solver.dt = 0.1
    solver.set_tolerance(1e-3)
    options = embodik.PositionIKOptions()
    options.dt = 0.1
    options.primary_solve_mode = embodik.TaskSolveMode.MIN_ERROR
    options.max_iterations = ITERATIONS
    options.position_tolerance = options.orientation_tolerance = TOLERANCE

    def attempt(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = solver.solve_position(seed, target, arm.tip, options)
        return result.q_solution if result.status == embodik.SolverStatus.SUCCESS else None

    def collides(q: np.ndarray) -> bool:
        model.update_configuration(q)
        return model.check_collision()

    return restarted(attempt, arm.lower, arm.upper, None if arm.disabled is None else collides)


def allowed(arm: Arm, first: str, second: str) -> bool:
    """Whether two links may touch."""
    return (first, second) in arm.disabled or (second, first) in arm.disabled


def link(geometry: str) -> str:
    """Name of the link of a shape, as Pinocchio names shapes."""
    return geometry.rpartition('_')[0]


def forward(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return T_base_tip (4, 4) at a joint vector (n,)."""
    T = arm.joints[0]
    for angle, following in zip(q, arm.joints[1:], strict=True):
        turn = np.eye(4)
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        T = T @ turn @ following
    return T


def pose_error(T: np.ndarray, target: np.ndarray) -> float:
    """Largest component of the twist between two close poses [m] or [rad], to first order."""
    R = T[:3, :3].T
    turn = R @ target[:3, :3]
    skew = 0.5 * (turn - turn.T)[(2, 0, 1), (1, 2, 0)]
    far = np.trace(turn) < 2.0
    return np.inf if far else max(np.abs(R @ (target - T)[:3, 3]).max(), np.abs(skew).max())


MAKERS: dict[str, tuple[str, Callable[[Arm], Solve]]] = {
    'ssik': ('ssik', ssik),
    'frankik': ('frankik', frankik),
    'frankik (one value)': ('frankik', partial(frankik, search='one value')),
    'frankik (everywhere)': ('frankik', partial(frankik, search='everywhere')),
    'optik': ('optik-py', optik),
    'mink': ('mink', mink),
    'placo': ('placo', placo),
    'pyroki': ('almond-pyroki', pyroki),
    'roboplan-oink': ('roboplan-oink', roboplan_oink),
    'embodik': ('embodik', embodik),
}
"""Packages on PyPI and adapters by name."""


def main() -> None:
    """Answer until the input ends."""
    answers: BinaryIO = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)  # libraries print to the standard output
    arm = Arm(**pickle.load(sys.stdin.buffer))
    package, make = MAKERS[sys.argv[1]]
    try:
        solve = make(arm)
        send(answers, ('', metadata.version(package)))
    except Exception as error:
        send(answers, (f'{error}' or type(error).__name__, ''))
        return
    while True:
        try:
            targets, seeds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        send(answers, [timed(solve, *problem) for problem in zip(targets, seeds, strict=True)])


def timed(solve: Solve, target: np.ndarray, seed: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Answer and time [s]; whatever a library raises, there is no answer."""
    began = perf_counter()
    try:
        q = solve(target, seed)
    except Exception:
        q = None
    seconds = perf_counter() - began
    return None if q is None else np.array(q, float), seconds


def send(stream: BinaryIO, message: Any) -> None:  # noqa: ANN401 - what pickle takes
    """Write a pickle."""
    pickle.dump(message, stream)
    stream.flush()


if __name__ == '__main__':
    main()
