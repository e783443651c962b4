"""
Distance of a simulated arm's tip from where its moving target is at the same moment.

The target runs along a circle and stops: at once, gently, as a hand that is slowed down, or
steadily, with a constant deceleration that ends at once. It is published at some rate, with
stamps, and every message is some milliseconds on its way. Follower and arm are those of
``ik_node`` and ``ik_sim`` at their default settings, without ROS between them, in steps of a
millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from records import options, progress, save

from ik_service.extras.studies.arms import load_arm
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.simulated_arm import ENGINES, SimulatedArm
from ik_service.solvers.solver import Solver

_START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, math.pi / 4),
    'ur5e': (0.0, -math.pi / 2, math.pi / 2, -math.pi / 2, -math.pi / 2, 0.0),
}
_STEP = 1e-3  # [s]
_PERIOD = 10  # of commands and of joint states, in steps
_RUN_IN = 1.0  # [s]
_AFTERWARDS = 1.5  # [s]
_LONGEST_WAY = 4e-3  # of a message [s]
_SCALING = 0.5  # default of ik_node's velocity_scaling


@dataclass(frozen=True)
class Course:
    """
    Target on a circle that begins at rest in a pose, and ends at rest.

    :ivar T_start: (4, 4) pose where it begins; the centre is at its −y side.
    :ivar radius: [m].
    :ivar duration: of a turn [s].
    :ivar braking: time in which it slows down after a turn [s]; 0 for at once.
    :ivar steady: whether its deceleration is constant, and not small at both ends.
    """

    T_start: np.ndarray
    radius: float
    duration: float
    braking: float
    steady: bool = False

    @property
    def end(self) -> float:
        """When the target is at rest [s]."""
        return self.duration + self.braking

    def pose(self, time: float) -> np.ndarray:
        """Pose of the target, (4, 4)."""
        angle = 2.0 * math.pi / self.duration * self._turned(time)
        T = self.T_start.copy()
        T[0, 3] += self.radius * math.sin(angle)
        T[1, 3] += self.radius * (math.cos(angle) - 1.0)
        return T

    def _turned(self, time: float) -> float:
        """The time that the way up to a moment takes at full speed [s]."""
        running = min(max(time, 0.0), self.duration)
        if not self.braking:
            return running
        braked = min(max(time - self.duration, 0.0), self.braking) / self.braking
        if self.steady:
            return running + self.braking * (braked - 0.5 * braked * braked)
        return running + 0.5 * self.braking * (braked + math.sin(math.pi * braked) / math.pi)


def run(
    arm: str, engine: str, course: Course, rate: float, seed: int, **settings: float
) -> dict[str, object]:
    """Follow a target published at a rate [Hz] and return what is measured, a row of the table."""
    chain = load_arm(arm)
    start = np.array(_START[arm])
    follower = TargetFollower(Solver(chain), velocity_scaling=_SCALING, **settings)
    simulated = SimulatedArm(
        chain.robot, dict(zip(chain.joint_names, start.tolist(), strict=True)), engine=engine
    )
    places = [simulated.joint_names.index(name) for name in chain.joint_names]
    random = np.random.default_rng(seed)
    stamps = np.arange(0.0, course.end + _AFTERWARDS, 1.0 / rate)
    arrivals = np.maximum.accumulate(stamps + random.uniform(0.0, _LONGEST_WAY, len(stamps)))
    arrived, times, tips, targets = 0, [], [], []
    for step in range(-200, round((course.end + _AFTERWARDS) / _STEP)):
        now = step * _STEP
        if step % _PERIOD == 0:
            follower.set_measured(simulated.positions[places], now)
        if step == -150:
            follower.set_target(course.pose(0.0))
        while arrived < len(stamps) and arrivals[arrived] <= now:
            follower.set_target(
                course.pose(stamps[arrived]), at=stamps[arrived], arrived=arrivals[arrived]
            )
            arrived += 1
        if step % _PERIOD == 0:
            command = follower.tick(now)
            if command is not None:
                simulated.command(chain.joint_names, command.q.tolist(), command.velocity.tolist())
        simulated.step(_STEP)
        times.append(now + _STEP)
        tips.append(chain.forward(simulated.positions[places]))
        targets.append(course.pose(now + _STEP))
    return _measures(course, np.array(times), np.array(tips), np.array(targets))


def _measures(
    course: Course, times: np.ndarray, tips: np.ndarray, targets: np.ndarray
) -> dict[str, object]:
    distance = np.linalg.norm((tips - targets)[:, :3, 3], axis=1)
    running = (times > _RUN_IN) & (times <= course.end)
    turning = [
        np.linalg.norm(pose_error(tip, target)[3:])
        for tip, target in zip(tips[running], targets[running], strict=True)
    ]
    stopped = times > course.end
    before, end = course.pose(course.duration - 1e-3), course.pose(course.end)
    ahead = (course.pose(course.end - 1e-3) if course.braking else before)[:3, 3] - end[:3, 3]
    ahead /= -np.linalg.norm(ahead)
    beyond = (tips[stopped][:, :3, 3] - end[:3, 3]) @ ahead
    return {
        'mean_mm': 1e3 * float(distance[running].mean()),
        'max_mm': 1e3 * float(distance[running].max()),
        'max_deg': math.degrees(max(turning)),
        'overshoot_mm': 1e3 * float(max(beyond.max(), 0.0)),
        'last_mm': 1e3 * float(distance[-1]),
    }


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        radius=(0.2, 'of the circle [m]'),
        duration=(6.0, 'of a turn [s]'),
        braking=(0.5, 'time of a gentle stop [s]'),
        seed=(1, 'of the ways of the messages'),
    )
    rows = []
    for arm, start in _START.items():
        T_start = load_arm(arm).forward(np.array(start))
        for engine in ENGINES:
            for rate in (20.0, 50.0, 100.0):
                for stop in ('sudden', 'gentle', 'steady'):
                    braking = 0.0 if stop == 'sudden' else args.braking
                    steady = stop == 'steady'
                    course = Course(T_start, args.radius, args.duration, braking, steady)
                    for feed_forward in (False, True):
                        case = {
                            'arm': arm, 'engine': engine, 'rate': rate, 'stop': stop,
                            'feed_forward': feed_forward,
                        }  # fmt: skip
                        measured = run(
                            arm, engine, course, rate, args.seed, feed_forward=feed_forward
                        )
                        rows.append({**case, **measured})
                        progress(f'following: {rows[-1]}')
    save('following', rows, radius=args.radius, duration=args.duration, seed=args.seed)


if __name__ == '__main__':
    main()
