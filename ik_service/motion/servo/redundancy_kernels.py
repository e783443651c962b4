"""
Kernels that spread a motion of the tip over the joints of a redundant arm, by their speeds.

All velocities are in shares of the joints' highest speeds x, so that metres and radians are
comparable and a slow joint is used little. As far as no joint is too fast, the motion is the
wish: that of least norm for the tip, plus a self-motion away from joint limits. Otherwise joints
are held at their bounds, and the others take over, as in F. Flacco, A. De Luca, O. Khatib, Motion
control of redundant robots under joint constraints: Saturation in the Null Space, IEEE ICRA 2012,
285–292; but exactly, and continuously where the optimum jumps from one vertex to another: x is the
solution of

    minimise ½‖x − s wish‖² − price s,  for x within the bounds and s from 0 to 1,
    so that the tip moves with s times its twist.

Its value at every s is on a path that is straight from one change of the joints at their bounds to
the next one, and is followed from s = 0 on. The changes are principal pivots: R. W. Cottle,
J.-S. Pang, R. E. Stone, The Linear Complementarity Problem, 1992, section 2.3.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import has_lower, has_upper
from ik_service.motion.command.motion_kernels import FULL_SPEED

_OUTER = 0.7
"""Share of a joint's range, from its middle, within which self-motions leave the joint alone."""

_SELF_MOTION = 0.5  # speed of self-motions, as a share of that of the fastest joint

_PRICE = 5.0
"""
Price of the whole motion of the tip, as a share of the size of the wish.

Higher ones bring the speed of the tip closer to the highest one that there is, and let the
velocities of the joints change faster with posture and twist.
"""

_DEPENDENT = 1e-9
"""Square of a joint's share in the self-motions that rounding leaves."""

_NOTHING = 1e-9  # ratio of singular values, and share of a vector, that rounding leaves

_NO_SPEED = 1e-300  # of a joint that is never moved: all its motions are 0

_CHANGES = 8  # changes of the joints at their bounds, as a multiple of their number, at most


LOW, HIGH, WISH, MOTION, FORCE, SIDE, OTHER = range(7)
"""
Rows of the joints' memory: highest speeds downwards and upwards, the motion without bounds, that
within them, the force that holds a joint at its bound, that bound (−1 lower, 1 upper, 0 none), and
a motion to compute with. All are in shares of the highest speeds.
"""
ROWS_OF_JOINTS = 7


@inner_kernel
def spread_motion(chain, q, speed, scratch, velocity):
    """
    Spread the motion of the tip over the joints, within their highest speeds.

    :param chain: :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :param q: (n,) the last command [rad] or [m].
    :param speed: (n,) highest speeds [rad/s] or [m/s].
    :param scratch: :class:`~ik_service.motion.servo.velocity_solver.ServoScratch`, with the
        decomposed Jacobian, the free speeds, and the part of the velocity to be left as it is.
    :param velocity: (n,) any velocity that moves the tip as asked [rad/s] or [m/s]; gets the one
        found, the tip of which moves in the same direction.
    :returns: index of the joint at its bound that has the lowest one, −1 for none.
    """
    n, joints, row_space, within = q.shape[0], scratch.joints, scratch.row_space, True
    _span_rows(scratch.columns, scratch.sizes, speed, row_space)
    for i in range(n):
        joints[WISH, i] = velocity[i] - scratch.leaving[i]
    _lessen(speed, row_space, joints)
    for i in range(n):
        joints[WISH, i] += scratch.leaving[i] / max(speed[i], _NO_SPEED)
    _add_self_motion(chain, q, speed, row_space, joints)
    for i in range(n):
        velocity[i] = joints[WISH, i] * speed[i]
        within = within and -scratch.free[0, i] <= velocity[i] <= scratch.free[1, i]
    if within:
        return -1
    for i in range(n):
        joints[LOW, i] = scratch.free[0, i] / max(speed[i], _NO_SPEED)
        joints[HIGH, i] = scratch.free[1, i] / max(speed[i], _NO_SPEED)
    share = _follow_path(scratch.table, row_space, joints)
    tightest, least = -1, math.inf
    for i in range(n):
        joints[OTHER, i] = joints[MOTION, i] - share * joints[WISH, i]
        bound = joints[HIGH if joints[SIDE, i] > 0.0 else LOW, i]
        if joints[SIDE, i] != 0.0 and bound < least:
            tightest, least = i, bound
    _remove_tip_motion(row_space, joints)  # what rounding has added
    for i in range(n):
        velocity[i] = (share * joints[WISH, i] + joints[OTHER, i]) * speed[i]
    return tightest


@inner_kernel
def _span_rows(columns, sizes, speed, rows):
    """Write an orthonormal basis of the joint motions that no self-motion is a part of."""
    n, largest = speed.shape[0], 0.0
    for j in range(6):
        largest = max(largest, sizes[j])
    for j in range(6):
        moves = sizes[j] > _NOTHING * largest
        for i in range(n):
            rows[j, i] = columns[j, i] * speed[i] if moves else 0.0
        square = whole = _product(rows, j, rows, j)
        for _ in range(2):  # the second time where rounding may have left something
            before = square
            for k in range(j):
                along = _product(rows, j, rows, k)
                for i in range(n):
                    rows[j, i] -= along * rows[k, i]
            square = _product(rows, j, rows, j)
            if square > 0.5 * before:
                break
        factor = 1.0 / math.sqrt(square) if square > _NOTHING * _NOTHING * whole else 0.0
        for i in range(n):
            rows[j, i] *= factor


@inner_kernel
def _product(a, j, b, k):
    """Return the scalar product of row j of one array and row k of another."""
    total = 0.0
    for i in range(a.shape[1]):
        total += a[j, i] * b[k, i]
    return total


@inner_kernel
def _lessen(speed, row_space, joints):
    """Turn the wish, in [rad/s] or [m/s], into the motion in shares with the least norm."""
    for i in range(speed.shape[0]):
        joints[WISH, i] /= max(speed[i], _NO_SPEED)
        joints[OTHER, i] = joints[WISH, i]
    _remove_tip_motion(row_space, joints)
    for i in range(speed.shape[0]):
        joints[WISH, i] -= joints[OTHER, i]


@inner_kernel
def _remove_tip_motion(row_space, joints):
    """Project the other motion on those that leave the tip where it is."""
    for j in range(6):
        along = _product(row_space, j, joints, OTHER)
        for i in range(joints.shape[1]):
            joints[OTHER, i] -= along * row_space[j, i]


@inner_kernel
def _add_self_motion(chain, q, speed, row_space, joints):
    """Move joints out of the outer parts of their ranges, in proportion to the velocity."""
    fastest, moves = 0.0, False
    for i in range(q.shape[0]):
        fastest = max(fastest, abs(joints[WISH, i]))
        half = 0.5 * (chain.upper[i] - chain.lower[i])
        joints[OTHER, i] = 0.0
        limited = has_lower(chain.lower[i]) and has_upper(chain.upper[i])
        if half > 0.0 and limited and speed[i] > 0.0:
            off = (q[i] - 0.5 * (chain.upper[i] + chain.lower[i])) / half
            outside = min(max(abs(off) - _OUTER, 0.0) / (1.0 - _OUTER), 1.0)
            joints[OTHER, i] = -math.copysign(outside, off)
            moves = moves or outside > 0.0
    if moves:
        _remove_tip_motion(row_space, joints)
        for i in range(q.shape[0]):
            joints[WISH, i] += _SELF_MOTION * fastest * joints[OTHER, i]


@inner_kernel
def _follow_path(table, row_space, joints):
    """
    Write the motion, the forces that hold joints at their bounds, and these; return s.

    Row i of the table is how x changes with the forces at the joints, columns 0 to n − 1, and
    with s. For a joint at its bound, force and motion change places.
    """
    n, share, size = joints.shape[1], 0.0, 0.0
    for i in range(n):
        joints[MOTION, i] = joints[FORCE, i] = joints[SIDE, i] = 0.0
        for k in range(n):
            table[i, k] = 1.0 if i == k else 0.0
            for j in range(6):
                table[i, k] -= row_space[j, i] * row_space[j, k]
        table[i, n] = joints[WISH, i]
        size += joints[WISH, i] * joints[WISH, i]
    for _ in range(_CHANGES * n):
        step, joint = _next_change(table, joints, share, _PRICE * math.sqrt(size))
        for i in range(n):
            joints[MOTION if joints[SIDE, i] == 0.0 else FORCE, i] += step * table[i, n]
        share += step
        if joint < 0 or not _change(table, joints, joint):
            break
    return share


@inner_kernel
def _next_change(table, joints, share, price):
    """
    Return by how much s grows until a joint comes to its bound or leaves it, and that joint.

    It is −1 where s is 1 before, or grows no more because the next bit costs more than the price.
    """
    n, step, first, cost, growth = joints.shape[1], 1.0 - share, -1, 0.0, 0.0
    for i in range(n):
        rate, room, off = table[i, n], math.inf, -joints[WISH, i]
        if joints[SIDE, i] == 0.0:
            off += rate
            if rate > 0.0:
                room = (joints[HIGH, i] - joints[MOTION, i]) / rate
            elif rate < 0.0:
                room = (joints[LOW, i] + joints[MOTION, i]) / -rate
        elif joints[SIDE, i] * rate > 0.0:
            room = -joints[FORCE, i] / rate
        if max(room, 0.0) < step:
            step, first = max(room, 0.0), i
        cost += (joints[MOTION, i] - share * joints[WISH, i]) * off
        growth += off * off
    if cost + step * growth > price:
        return max(price - cost, 0.0) / growth, -1
    return step, first


@inner_kernel
def _change(table, joints, joint):
    """Release a joint from its bound, or hold it there; False if its motion cannot be replaced."""
    n, outwards, least = joints.shape[1], math.copysign(1.0, table[joint, joints.shape[1]]), 0.0
    if joints[SIDE, joint] != 0.0:
        _exchange(table, joints, joint, 0.0, 0.0)
        return True
    if table[joint, joint] <= _DEPENDENT:  # another one has to be released for it
        least, other = math.inf, -1
        for j in range(n):
            rate = -outwards * table[j, joint]
            if joints[SIDE, j] * rate > _NOTHING and -joints[FORCE, j] / rate < least:
                least, other = -joints[FORCE, j] / rate, j
        if other < 0:
            return False
        for j in range(n):
            if joints[SIDE, j] != 0.0:
                joints[FORCE, j] -= outwards * table[j, joint] * least
        _exchange(table, joints, other, 0.0, 0.0)
        if table[joint, joint] <= _DEPENDENT:
            return False
    _exchange(table, joints, joint, outwards, -outwards * least)
    return True


@inner_kernel
def _exchange(table, joints, k, side, force):
    """Let motion and force of a joint change places: a principal pivot."""
    inverse, n = 1.0 / table[k, k], table.shape[0]
    for i in range(n):
        if i != k:
            factor = table[i, k] * inverse
            for j in range(n + 1):
                table[i, j] -= factor * table[k, j]
            table[i, k] = factor
    for j in range(n + 1):
        table[k, j] *= -inverse
    table[k, k] = inverse
    joints[SIDE, k], joints[FORCE, k] = side, force


@inner_kernel
def turn_first(zone, bounds, scratch, velocity):
    """
    Let the velocity change within the accelerations: first what keeps the tip in its direction.

    Otherwise a large change of the self-motion, which takes many ticks, would hold up what the
    direction needs in each of them. Nothing changes where that alone is beyond the accelerations.

    :param zone: :class:`~ik_service.motion.servo.velocity_solver.SingularZone`.
    :param bounds: :class:`~ik_service.motion.servo.velocity_solver.JointBounds`.
    :param scratch: :class:`~ik_service.motion.servo.velocity_solver.ServoScratch`, with the last
        velocity.
    :param velocity: (n,) the wanted one [rad/s] or [m/s]; gets the one after this tick.
    """
    n, joints, share, beyond = velocity.shape[0], scratch.joints, 1.0, False
    for i in range(n):
        joints[HIGH, i] = bounds.acceleration[i] * bounds.dt * FULL_SPEED
        beyond = beyond or abs(velocity[i] - scratch.last[i]) > joints[HIGH, i]
    if not beyond:
        return
    _set_turn(zone, scratch, velocity)
    _lessen(bounds.speed, scratch.row_space, joints)
    for i in range(n):
        turn = joints[WISH, i] * bounds.speed[i]
        if abs(turn) > joints[HIGH, i]:
            return
        rest = velocity[i] - scratch.last[i] - turn
        room = joints[HIGH, i] - math.copysign(1.0, rest) * turn
        if abs(rest) * share > room:
            share = room / abs(rest)
        joints[WISH, i], joints[MOTION, i] = turn, rest
    for i in range(n):
        velocity[i] = scratch.last[i] + joints[WISH, i] + share * joints[MOTION, i]


@inner_kernel
def _set_turn(zone, scratch, velocity):
    """Write what turns the last motion of the tip to the wanted one: the wish, not in shares."""
    columns, sizes, joints = scratch.columns, scratch.sizes, scratch.joints
    n, largest, along, square = velocity.shape[0], 0.0, 0.0, 0.0
    for i in range(n):
        joints[WISH, i], joints[MOTION, i], joints[FORCE, i] = 0.0, scratch.last[i], velocity[i]
    for j in range(6):
        largest = max(largest, sizes[j])
        wanted = _product(columns, j, joints, FORCE)
        along += wanted * _product(columns, j, joints, MOTION)
        square += wanted * wanted
    for j in range(6):
        if square > 0.0 and sizes[j] * zone.lower > largest:
            off = along / square * _product(columns, j, joints, FORCE)
            off -= _product(columns, j, joints, MOTION)
            for i in range(n):
                joints[WISH, i] += off / (sizes[j] * sizes[j]) * columns[j, i]
