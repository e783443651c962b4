"""Solves, a path and a followed target, as a program that needs the core alone."""

import numpy as np
from support.chains import arm_path

import ik_service as iks

chain = iks.Robot.from_urdf(arm_path('panda')).chain('panda_link0', 'panda_hand_tcp')
start = chain.mid_range()
goal = chain.forward(start + 0.1)
assert iks.solve_ik(chain, goal, seed=start).success
assert iks.solve_ik_batch(chain, np.array([goal, goal])).success.all()
assert len(iks.solve_ik_all(chain, goal, seed=start))
line = iks.straight_lines(chain.forward(start), [goal], max_step=0.01).poses
assert iks.solve_path(chain, line, seed=start).success

follower = iks.TargetFollower(iks.Solver(chain), rate=100.0)
q, now = start, 0.0
follower.set_measured(q, now)
follower.set_target(goal, at=now)
for _ in range(1000):
    now += 0.01
    follower.set_measured(q, now)
    command = follower.tick(now)
    q = q if command is None else command.q
assert np.abs(chain.forward(q)[:3, 3] - goal[:3, 3]).max() < 1e-3
print('the core is enough')
