"""
A session with a joystick, in simulated time: how close an arm driven by hand comes to its limits.

Somebody moves the sticks at random for five minutes, all axes at once, mostly far enough to meet
joint limits and singularities, lets go now and then, and switches between the axes of the base and
of the tip. The arm is where it is commanded. Each figure is over the whole session:

- the largest speed and acceleration of a joint, as shares of what it may have;
- the smallest distance of a joint to its limits, from which it stops 0.1 rad away;
- the largest angle between the twist of the tip and the one asked for, while the sticks have been
  still for half a second and no singularity or joint limit has a part in it;
- how long singularities and joint limits had one.

    .venv/bin/python benchmarks/teleop.py [--minutes 5]
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, field
import time

import numpy as np
from records import progress, save

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.tables import show
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.servo.commands import ServoSettings, TwistCommand
from ik_service.motion.servo.servo_goal import ServoCode, ServoGoal
from ik_service.motion.target_follower import TargetFollower

PERIOD = 0.01  # of the commands [s]
STICKS = 0.02  # between two messages of the joystick [s]
STILL = 0.5  # after which the arm moves as the sticks ask for [s]
SCALING = 0.5  # the node's default
STARTS = {
    'panda': ('panda_link0', 'panda_hand_tcp', (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)),
    'ur5e': ('base_link', 'tool0', (0.0, -1.2, 1.6, -1.9, -1.57, 0.0)),
}
_NAMES = {code: code.name.lower().replace('_', ' ') for code in ServoCode}


class Sticks:
    """Somebody at a joystick: six axes that wander, and a button that is let go now and then."""

    def __init__(self, seed: int, settings: ServoSettings) -> None:
        self._random = np.random.default_rng(seed)
        self._scale = np.repeat([settings.linear, settings.rotational], 3)
        self._wanted, self._at = np.zeros(6), np.zeros(6)
        self._until, self._held, self._turns = 0.0, True, False

    def command(self, now: float) -> TwistCommand | None:
        """Return the command at a time [s]; None while the button is not held."""
        if now >= self._until:
            self._until = now + self._random.uniform(0.3, 4.0)
            used = self._random.random(6) < 0.4
            self._wanted = np.where(used, self._random.uniform(-1.0, 1.0, 6), 0.0)
            self._held = self._random.random() < 0.9
            self._turns = self._random.random() < 0.3
        self._at += np.clip(self._wanted - self._at, -6.0 * STICKS, 6.0 * STICKS)
        return TwistCommand(self._at * self._scale, self._turns) if self._held else None


@dataclass
class Session:
    """Record of a session."""

    speed: float = 0.0
    acceleration: float = 0.0
    room: float = np.inf
    angle: float = 0.0
    steady: float = 0.0
    seconds: dict[ServoCode, float] = field(default_factory=dict)
    step: list[float] = field(default_factory=list)


def drive(arm: str, minutes: float, seed: int) -> Session:
    """Drive an arm for some minutes."""
    base, tip, start = STARTS[arm]
    chain = iks.Robot.from_urdf(urdf_path(arm)).chain(base, tip)
    follower = TargetFollower(
        iks.Solver(chain), rate=1.0 / PERIOD, velocity_scaling=SCALING, exclusive=False
    )
    settings, session = ServoSettings(), Session()
    goal, sticks = TimedGoal(chain, settings, session.step), Sticks(seed, settings)
    q, speed, command, moved_at = np.array(start), np.zeros(chain.n), None, 0.0
    follower.set_measured(q, 0.0)
    follower.follow_goal(goal)
    for tick in range(1, round(60.0 * minutes / PERIOD)):
        now = tick * PERIOD
        if tick % round(STICKS / PERIOD) == 0:
            last, command = command, sticks.command(now)
            if last is None or command is None or (last.twist != command.twist).any():
                moved_at = now
            if command is not None:
                if goal.end is not None:  # the arm has been at rest for long
                    goal = TimedGoal(chain, settings, session.step)
                    follower.follow_goal(goal)
                goal.command(command, now + settings.timeout)
        follower.set_measured(q, now)
        sent = follower.tick(now)
        if sent is None:
            continue
        rate = (sent.q - q) / PERIOD
        limits = follower.limits
        change = np.abs(rate - speed) / PERIOD
        session.speed = max(session.speed, float((np.abs(rate) / limits.velocity_now).max()))
        session.acceleration = max(
            session.acceleration, float((change / limits.acceleration_now).max())
        )
        session.room = min(session.room, room(chain, sent.q))
        code = goal.status.code
        session.seconds[code] = session.seconds.get(code, 0.0) + PERIOD
        if code is not ServoCode.NO_WARNING or goal.condition > settings.lower_threshold:
            moved_at = now
        asked = twist_in_base(chain, command, q)
        if asked is not None and now - moved_at > STILL:
            session.steady += PERIOD
            session.angle = max(session.angle, angle(chain.jacobian(q) @ rate, asked))
        q, speed = sent.q, rate
    return session


class TimedGoal(ServoGoal):
    """A goal whose steps are timed; the durations [s] are added to a list."""

    def __init__(self, chain: KinematicChain, settings: ServoSettings, times: list[float]) -> None:
        super().__init__(chain, settings)
        self.times = times

    def step(self, tick):  # noqa: ANN001, ANN201 - as the other one
        """Return the step, and note how long it took."""
        began = time.perf_counter()
        step = super().step(tick)
        self.times.append(time.perf_counter() - began)
        return step


def room(chain: KinematicChain, q: np.ndarray) -> float:
    """Return the smallest distance to a joint limit [rad]."""
    return float(np.minimum(q - chain.lower, chain.upper - q).min())


def twist_in_base(
    chain: KinematicChain, command: TwistCommand | None, q: np.ndarray
) -> np.ndarray | None:
    """Return the twist (6,) that is asked for; None for none worth a direction."""
    if command is None or np.linalg.norm(command.twist) < 0.05:
        return None
    if not command.turns:
        return command.twist
    R = chain.forward(q)[:3, :3]
    return np.concatenate([R @ command.twist[:3], R @ command.twist[3:]])


def angle(twist: np.ndarray, asked: np.ndarray) -> float:
    """Return the angle between two twists, with 1 m as much as 1 rad [°]."""
    size = float(np.linalg.norm(twist) * np.linalg.norm(asked))
    if size < 1e-6:
        return 0.0
    off = twist / np.linalg.norm(twist) - asked / np.linalg.norm(asked)
    return float(np.degrees(2.0 * np.arcsin(min(0.5 * np.linalg.norm(off), 1.0))))


def main() -> None:
    """Drive all arms, save the figures, and print them."""
    parser = ArgumentParser(description=__doc__.partition('\n\n')[0])
    parser.add_argument('--minutes', type=float, default=5.0)
    minutes = parser.parse_args().minutes
    rows = []
    for arm in STARTS:
        session = drive(arm, minutes, seed=15)
        rows.append(_row(arm, minutes, session))
        progress(f'{arm}: {minutes:g} minutes driven')
    save('teleop', rows)
    figures = [*rows[0]][1:]
    show({'figure': name, **{str(row['arm']): row[name] for row in rows}} for name in figures)


def _row(arm: str, minutes: float, session: Session) -> dict[str, object]:
    """Return the figures of a session."""
    seconds = {_NAMES[code]: session.seconds.get(code, 0.0) for code in ServoCode}
    return {
        'arm': arm,
        'minutes': minutes,
        'largest joint speed [% of its limit]': 100.0 * session.speed,
        'largest joint acceleration [% of its limit]': 100.0 * session.acceleration,
        'smallest distance to a joint limit [rad]': session.room,
        'largest deviation of the direction [°]': session.angle,
        'time over which that is measured [s]': session.steady,
        'slowed down or left out near singularities [s]': seconds[
            'decelerate for approaching singularity'
        ]
        + seconds['halt for singularity'],
        'leaving singularities [s]': seconds['decelerate for leaving singularity'],
        'slowed down by a joint limit [s]': seconds['joint bound'],
        'time for a step, median [µs]': 1e6 * float(np.median(session.step)),
        'time for a step, 99 % [µs]': 1e6 * float(np.quantile(session.step, 0.99)),
    }


if __name__ == '__main__':
    main()
