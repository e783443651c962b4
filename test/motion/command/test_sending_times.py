"""Commands that take a while to send, in exact time."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm

from ik_service.motion.servo.commands import joint_command, ServoSettings
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.target_follower import TargetFollower
from ik_service.solvers.solver import Solver

START = np.array([0.0, -1.2, 1.2, -1.2, -1.2, 0.0])
UNNOTICED = 0.1  # share of a period by which sending may take longer


@pytest.fixture(scope='module')
def chain():
    return arm('ur5e')


def jog(chain, delay, rate, seconds, asked=1.0):
    """
    Jog the first joint.

    :param delay: how long it takes to send the command of a number [s].
    :param asked: share of the speed of a jog.
    :returns: when the commands (k,) have been sent [s], and where they lead [rad].
    """
    settings = ServoSettings()
    follower, goal = TargetFollower(Solver(chain), rate=rate), ServoGoal(chain, settings)
    command, _ = joint_command({chain.joint_names[0]: asked}, settings, chain)
    goal.command(command, until=seconds + 1.0)
    measured, sent, places = START, [], []
    follower.set_measured(measured, 0.0)
    follower.follow_goal(goal)
    for k in range(round(seconds * rate)):
        now = k / rate
        follower.set_measured(measured, now)
        moved = follower.tick(now)
        if moved is not None:
            took = delay(k)
            follower.mark_sent(took)
            measured = moved.q
            sent.append(now + took)
            places.append(measured[0])
    assert follower.violations == 0
    return np.array(sent), np.array(places)


@pytest.mark.parametrize('rate', [100.0, 500.0])
@pytest.mark.parametrize('share', [0.0, 0.05, 0.15, 0.2, 0.4, 0.5])
def test_a_constant_time_of_sending_costs_no_speed(chain, rate, share):
    sent, places = jog(chain, lambda k: share / rate, rate, 1.0)
    moving = sent > 0.5
    speed = np.polyfit(sent[moving], places[moving], 1)[0]
    assert speed == pytest.approx(0.5, rel=0.01)


def test_a_delay_that_is_new_and_stays_costs_its_own_time_alone(chain):
    before = jog(chain, lambda k: 0.0, 100.0, 2.0)[1]
    after = jog(chain, lambda k: 0.004 if k > 100 else 0.0, 100.0, 2.0)[1]
    assert before[-1] - after[-1] <= 0.5 * 0.004 * 11  # until the times before are forgotten


@pytest.mark.parametrize('rate', [100.0, 500.0])
@pytest.mark.parametrize('seed', range(6))
def test_no_step_is_longer_than_the_time_since_the_command_before_has_arrived(chain, rate, seed):
    random, period = np.random.default_rng(seed), 1.0 / rate
    usual = random.uniform(0.0, 0.4) * period

    def delay(k):
        return usual + (random.uniform(0.0, 0.9 * period) if random.random() < 0.2 else 0.0)

    sent, places = jog(chain, delay, rate, 1.0)
    fastest = 0.5 + 1e-9
    assert (np.diff(places) <= fastest * (np.diff(sent) + UNNOTICED * period)).all()


@pytest.mark.parametrize('seed', range(6))
def test_what_a_step_had_too_much_as_sending_was_quick_is_taken_from_the_next_one(chain, seed):
    random, period = np.random.default_rng(seed), 0.01
    level = [0.0]

    def delay(k):
        if k % 25 == 0:
            level[0] = random.uniform(0.0, 0.5) * period
        return level[0]

    sent, places = jog(chain, delay, 100.0, 2.0)
    more = np.diff(places) / 0.5 - np.diff(sent)  # time that the steps had too much [s]
    too_much = more[:-1] > UNNOTICED * period
    assert too_much.any()
    assert ((more[:-1] + more[1:])[too_much] <= UNNOTICED * period).all()
