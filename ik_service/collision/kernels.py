"""
Compiled part of collision checks: which parts are near each other.

Two outlines are apart when the shadows that they cast on some line do not overlap; lines are tried
that separate them most often (Gottschalk, Lin & Manocha, "OBBTree", SIGGRAPH 1996, whose 15 lines
are exact for boxes). Pairs not proven to be apart are left to Coal.

Arguments that most kernels here take, where they do not say otherwise:

- ``robot`` and ``world``: a RobotArrays and a WorldArrays, see
  :mod:`ik_service.collision.scene_arrays`;
- ``buffers``: the Buffers of this thread, which are filled;
- ``outlines`` (k, 17) and ``pair`` (2, 17): see :mod:`ik_service.collision.outline`;
- ``frames``: (b, 12) frames of the rigid bodies;
- ``postures``: (N, m) positions of the variables [rad] or [m];
- ``i``, ``j`` and ``k``: rows of the array before each;
- ``x``, ``y`` and ``z``: a point [m], or a vector;
- ``count`` and ``most``: how many pairs there are, and how many are enough.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inlined_kernel, inner_kernel, kernel, merged_kernel
from ik_service.kinematics.kernels import all_finite

# Gap below which Coal decides, which has a tolerance of its own; rounding errors are smaller [m].
_CLOSE = 1e-5
_MOST_ROWS = 200_000  # postures of a line
_PARALLEL = 1e-6  # a sine below which two lines have no common perpendicular
# Rows of a pair; typed, as Numba compiles a function anew for each number that it is given.
_FIRST, _SECOND = np.int64(0), np.int64(1)


@inner_kernel
def half_shadow(outlines, i, x, y, z):
    """Return half the length of the shadow of an outline on a line along a unit vector."""
    a = x * outlines[i, 6] + y * outlines[i, 7] + z * outlines[i, 8]
    if outlines[i, 16] == 1.0:
        return outlines[i, 14] * abs(a) + outlines[i, 12] * math.sqrt(max(0.0, 1.0 - a * a))
    b = x * outlines[i, 0] + y * outlines[i, 1] + z * outlines[i, 2]
    c = x * outlines[i, 3] + y * outlines[i, 4] + z * outlines[i, 5]
    return (
        outlines[i, 12] * abs(b)
        + outlines[i, 13] * abs(c)
        + outlines[i, 14] * abs(a)
        + outlines[i, 15]
    )


@inner_kernel
def point_distance(outlines, i, x, y, z):
    """Return the distance of a point from an outline; 0 inside."""
    dx, dy, dz = x - outlines[i, 9], y - outlines[i, 10], z - outlines[i, 11]
    w = dx * outlines[i, 6] + dy * outlines[i, 7] + dz * outlines[i, 8]
    if outlines[i, 16] == 2.0:
        return max(0.0, abs(w) - outlines[i, 15])
    u = dx * outlines[i, 0] + dy * outlines[i, 1] + dz * outlines[i, 2]
    v = dx * outlines[i, 3] + dy * outlines[i, 4] + dz * outlines[i, 5]
    w = max(0.0, abs(w) - outlines[i, 14])
    if outlines[i, 16] == 1.0:
        u, v = max(0.0, math.sqrt(u * u + v * v) - outlines[i, 12]), 0.0
    else:
        u, v = max(0.0, abs(u) - outlines[i, 12]), max(0.0, abs(v) - outlines[i, 13])
    return max(0.0, math.sqrt(u * u + v * v + w * w) - outlines[i, 15])


@inner_kernel
def separates(pair, x, y, z):
    """Return whether two outlines are apart on a line along a vector of any length."""
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < _PARALLEL:
        return False
    x, y, z = x / norm, y / norm, z / norm
    gap = abs(
        x * (pair[1, 9] - pair[0, 9])
        + y * (pair[1, 10] - pair[0, 10])
        + z * (pair[1, 11] - pair[0, 11])
    )
    shadows = half_shadow(pair, _FIRST, x, y, z) + half_shadow(pair, _SECOND, x, y, z)
    return gap > shadows + _CLOSE


@inner_kernel
def separates_along_axes(pair, i):
    """Return whether a pair is apart on an axis of outline i, or towards the other."""
    for k in range(0, 9, 3):
        if separates(pair, pair[i, k], pair[i, k + 1], pair[i, k + 2]):
            return True
    x, y, z = 0.0, 0.0, 0.0
    dx = pair[1 - i, 9] - pair[i, 9]
    dy = pair[1 - i, 10] - pair[i, 10]
    dz = pair[1 - i, 11] - pair[i, 11]
    for axis in range(3):  # from the nearest point of its core
        k = 3 * axis
        along = dx * pair[i, k] + dy * pair[i, k + 1] + dz * pair[i, k + 2]
        half = pair[i, 12 + axis]
        if pair[i, 16] == 1.0 and axis < 2:
            half = 0.0
        along -= min(max(along, -half), half)
        x += along * pair[i, k]
        y += along * pair[i, k + 1]
        z += along * pair[i, k + 2]
    return separates(pair, x, y, z)


@inner_kernel
def apart(pair):
    """Return whether two outlines are proven to be apart."""
    for i in range(2):
        if pair[i, 16] == 2.0:
            two = pair[1 - i, 16] == 2.0  # whose shadows on other lines have no end
            return not two and separates(pair, pair[i, 6], pair[i, 7], pair[i, 8])
    dx, dy, dz = pair[1, 9] - pair[0, 9], pair[1, 10] - pair[0, 10], pair[1, 11] - pair[0, 11]
    if separates(pair, dx, dy, dz):
        return True
    for i in range(2):
        if separates_along_axes(pair, i):
            return True
    for a in range(0, 9, 3):
        for b in range(0, 9, 3):
            x = pair[0, a + 1] * pair[1, b + 2] - pair[0, a + 2] * pair[1, b + 1]
            y = pair[0, a + 2] * pair[1, b] - pair[0, a] * pair[1, b + 2]
            z = pair[0, a] * pair[1, b + 1] - pair[0, a + 1] * pair[1, b]
            if separates(pair, x, y, z):
                return True
    return False


@inlined_kernel
def compose(outer, i, inner, j, frames, k):
    """Write a frame of ``inner``, which is given in one of ``outer``, in that one's reference."""
    for axis in range(4):
        x, y, z = inner[j, 3 * axis], inner[j, 3 * axis + 1], inner[j, 3 * axis + 2]
        for r in range(3):
            value = outer[i, r] * x + outer[i, 3 + r] * y + outer[i, 6 + r] * z
            if axis == 3:
                value += outer[i, 9 + r]
            frames[k, 3 * axis + r] = value


@merged_kernel
def place_bodies(robot, postures, row, frames):
    """Write the frames of the rigid bodies in the posture of a row."""
    for k in range(12):
        frames[0, k] = 1.0 if k == 0 or k == 4 or k == 8 else 0.0
    for j in range(robot.parents.shape[0]):
        value = postures[row, robot.variables[j]]
        compose(frames, robot.parents[j], robot.before, j, frames, j + 1)
        angle = robot.moves[j, 0] * value
        if angle != 0.0:
            c, s = math.cos(angle), math.sin(angle)
            for k in range(3):
                x, y = frames[j + 1, k], frames[j + 1, 3 + k]
                frames[j + 1, k] = c * x + s * y
                frames[j + 1, 3 + k] = c * y - s * x
        slide = robot.moves[j, 1] * value
        for k in range(3):
            frames[j + 1, 9 + k] += slide * frames[j + 1, 6 + k]


@inlined_kernel
def place_sphere(frames, i, spheres, j, placed, k):
    """Write a sphere (centre and radius), given in one of the frames, in their reference."""
    x, y, z = spheres[j, 0], spheres[j, 1], spheres[j, 2]
    placed[k, 0], placed[k, 1], placed[k, 2] = place_point(frames, i, x, y, z)
    placed[k, 3] = spheres[j, 3]


@inlined_kernel
def place_point(frames, i, x, y, z):
    """Return a point, given in one of the frames, in their reference."""
    return (
        frames[i, 9] + frames[i, 0] * x + frames[i, 3] * y + frames[i, 6] * z,
        frames[i, 10] + frames[i, 1] * x + frames[i, 4] * y + frames[i, 7] * z,
        frames[i, 11] + frames[i, 2] * x + frames[i, 5] * y + frames[i, 8] * z,
    )


@inlined_kernel
def spheres_touch(first, i, second, j):
    """Return whether two spheres touch, each given by its row of centre and radius."""
    x = first[i, 0] - second[j, 0]
    y = first[i, 1] - second[j, 1]
    z = first[i, 2] - second[j, 2]
    reach = first[i, 3] + second[j, 3] + _CLOSE
    return x * x + y * y + z * z <= reach * reach


@merged_kernel
def place_outline(robot, part, buffers, k):
    """Write the outline of a part of the robot into row k of the buffer for outlines."""
    compose(buffers.frames, robot.bodies[part], robot.outlines, part, buffers.outlines, k)
    for field in range(12, 17):
        buffers.outlines[k, field] = robot.outlines[part, field]


@inner_kernel
def place_part(robot, part, buffers):
    """Write where a part of the robot is, for Coal."""
    body = robot.bodies[part]
    frames = buffers.frames
    for r in range(3):
        for axis in range(4):
            x = robot.frames[part, 3 * axis]
            y = robot.frames[part, 3 * axis + 1]
            z = robot.frames[part, 3 * axis + 2]
            value = frames[body, r] * x + frames[body, 3 + r] * y + frames[body, 6 + r] * z
            if axis < 3:
                buffers.rotations[part, r, axis] = value
            else:
                buffers.origins[part, r] = value + frames[body, 9 + r]


@inner_kernel
def some_cover_near(robot, part, buffers, i):
    """Return whether a sphere that covers a part is near outline i; True where it has none."""
    first, last = robot.cover_starts[part], robot.cover_starts[part + 1]
    for j in range(first, last):
        x, y, z = robot.covers[j, 0], robot.covers[j, 1], robot.covers[j, 2]
        x, y, z = place_point(buffers.frames, robot.bodies[part], x, y, z)
        if point_distance(buffers.outlines, i, x, y, z) <= robot.covers[j, 3] + _CLOSE:
            return True
    return first == last


@inner_kernel
def some_object_cover_near(world, part, buffers):
    """Return whether a sphere that covers a part of an object is near the first outline."""
    first, last = world.cover_starts[part], world.cover_starts[part + 1]
    for j in range(first, last):
        x, y, z = world.covers[j, 0], world.covers[j, 1], world.covers[j, 2]
        if point_distance(buffers.outlines, _FIRST, x, y, z) <= world.covers[j, 3] + _CLOSE:
            return True
    return first == last


@merged_kernel
def note_pair(buffers, count, i, j):
    """Write down a pair that is near, where there is space; return how many there are now."""
    if count < buffers.near.shape[0]:
        buffers.near[count, 0] = i
        buffers.near[count, 1] = j
    return count + 1


@merged_kernel
def near_parts(robot, buffers, most):
    """Write down the pairs of parts of the robot that are near; return how many there are."""
    count = 0
    for g in range(robot.groups.shape[0]):
        if not spheres_touch(
            buffers.bodies, robot.groups[g, 0], buffers.bodies, robot.groups[g, 1]
        ):
            continue
        other, last, following = robot.groups[g, 1], -1, robot.groups[g, 2]
        while following < robot.groups[g, 3]:
            p, following = following, following + 1
            i, j = robot.pairs[p, 0], robot.pairs[p, 1]
            if i != last:
                last = i
                if not spheres_touch(buffers.spheres, i, buffers.bodies, other):
                    following = robot.pairs[p, 2]
                    continue
            if not spheres_touch(buffers.spheres, i, buffers.spheres, j):
                continue
            place_outline(robot, i, buffers, _FIRST)
            place_outline(robot, j, buffers, _SECOND)
            if apart(buffers.outlines):
                continue
            if not some_cover_near(robot, i, buffers, _SECOND):
                continue
            if not some_cover_near(robot, j, buffers, _FIRST):
                continue
            place_part(robot, i, buffers)
            place_part(robot, j, buffers)
            count = note_pair(buffers, count, i, j)
            if count >= most:
                return count
    return count


@merged_kernel
def bound_bodies(buffers, first, last):
    """Compute a box around some bodies: its lower and its upper corner."""
    for r in range(3):
        buffers.box[0, r], buffers.box[1, r] = math.inf, -math.inf
    for body in range(first, last):
        radius = buffers.bodies[body, 3]
        if radius >= 0.0:
            for r in range(3):
                centre = buffers.bodies[body, r]
                buffers.box[0, r] = min(buffers.box[0, r], centre - radius)
                buffers.box[1, r] = max(buffers.box[1, r], centre + radius)


@inlined_kernel
def is_far(world, w, box):
    """Return whether the sphere around a part of an object is far from a box."""
    square = 0.0
    for r in range(3):
        centre = world.spheres[w, r]
        beyond = max(0.0, max(box[0, r] - centre, centre - box[1, r]))
        square += beyond * beyond
    reach = world.spheres[w, 3] + _CLOSE
    return square > reach * reach


@merged_kernel
def near_objects(robot, world, first, last, buffers, count, most):
    """Record the objects of the world near some bodies; return how many pairs there are."""
    bound_bodies(buffers, first, last)
    for w in range(world.spheres.shape[0]):
        if is_far(world, w, buffers.box):
            continue
        for body in range(first, last):
            radius = buffers.bodies[body, 3]
            if radius < 0.0 or not spheres_touch(buffers.bodies, body, world.spheres, w):
                continue
            x, y, z = buffers.bodies[body, 0], buffers.bodies[body, 1], buffers.bodies[body, 2]
            if point_distance(world.outlines, w, x, y, z) <= radius + _CLOSE:
                count = near_parts_of(robot, world, body, w, buffers, count, most)
                if count >= most:
                    return count
    return count


@merged_kernel
def near_parts_of(robot, world, body, w, buffers, count, most):
    """Write down which parts of a body are near a part of an object; return how many pairs."""
    for m in range(robot.body_starts[body], robot.body_starts[body + 1]):
        i = robot.members[m]
        if robot.meets_world[i] == 0 or not spheres_touch(buffers.spheres, i, world.spheres, w):
            continue
        x, y, z = buffers.spheres[i, 0], buffers.spheres[i, 1], buffers.spheres[i, 2]
        if point_distance(world.outlines, w, x, y, z) > buffers.spheres[i, 3] + _CLOSE:
            continue
        place_outline(robot, i, buffers, _FIRST)
        for field in range(17):
            buffers.outlines[1, field] = world.outlines[w, field]
        if apart(buffers.outlines):
            continue
        if not some_cover_near(robot, i, buffers, _SECOND):
            continue
        if some_object_cover_near(world, w, buffers):
            place_part(robot, i, buffers)
            count = note_pair(buffers, count, i, robot.bodies.shape[0] + w)
            if count >= most:
                return count
    return count


@merged_kernel
def place_spheres(robot, buffers):
    """Compute the spheres around the bodies and their parts."""
    for body in range(robot.body_spheres.shape[0]):
        place_sphere(buffers.frames, body, robot.body_spheres, body, buffers.bodies, body)
    for part in range(robot.bodies.shape[0]):
        place_sphere(
            buffers.frames, robot.bodies[part], robot.spheres, part, buffers.spheres, part
        )


@kernel
def near_pairs(robot, world, postures, still, most, buffers, near):
    """
    Write down the pairs of parts that are near each other, and so may collide.

    Of several postures, the pairs and frames of the last one checked stay.

    :param still: whether only parts that never move are checked, against the world alone;
        otherwise they are left out.
    :param near: (N,) of bool: whether something is near, or a position is not finite.
    :returns: how many pairs there are, which may be more than there is space for; −1 where a
        position is not finite.
    """
    count = 0
    for row in range(postures.shape[0]):
        if not still and not all_finite(postures[row]):
            count = -1
        else:
            place_bodies(robot, postures, row, buffers.frames)
            place_spheres(robot, buffers)
            count = 0
            if not still:
                count = near_parts(robot, buffers, most)
            if count < most and world.spheres.shape[0] > 0:
                first, last = (0, 1) if still else (1, robot.body_spheres.shape[0])
                count = near_objects(robot, world, first, last, buffers, count, most)
        near[row] = count != 0
    return count


@merged_kernel
def near_pair_overlaps(robot, world, buffers):
    """
    Return whether the pair that was written down first collides for certain.

    Decided for a sphere and a part that its outline fits; both outlines are in the buffer.
    """
    i, j = buffers.near[0, 0], buffers.near[0, 1]
    parts = robot.bodies.shape[0]
    covers = robot.cover_starts[i + 1] - robot.cover_starts[i]
    if j < parts:
        covers += robot.cover_starts[j + 1] - robot.cover_starts[j]
    else:
        covers += world.cover_starts[j - parts + 1] - world.cover_starts[j - parts]
    if covers > 0:
        return False
    rows = buffers.outlines
    for k in range(2):
        largest = max(rows[k, 12], max(rows[k, 13], rows[k, 14]))
        if largest == 0.0 and rows[k, 16] == 0.0:
            distance = point_distance(rows, 1 - k, rows[k, 9], rows[k, 10], rows[k, 11])
            return distance <= rows[k, 15] - _CLOSE
    return False


FREE, OVERLAP = -1, -2  # outcomes of :func:`near_on_line` that need no further look


@kernel
def near_on_line(robot, world, line, corners, step, first, certain, postures, buffers):
    """
    Look for postures of a motion in which something is near, all but its first posture.

    The motion is a straight line, or a parabola along two lines that meet. Its postures are looked
    at in an order that soon spreads over it: bit reversal, as in the van der Corput sequence: 1,
    1/2, 1/4, 3/4, …

    :param line: a LineJoints.
    :param corners: (2, n) the first posture and the last, or (3, n) with the corner between them
        [rad] or [m].
    :param step: motion of the arm between the postures, at most [m].
    :param first: where in that order to begin: 0, or the index after the one returned before.
    :param certain: whether bodies that overlap for certain collide.
    :param postures: (1, m) is filled with the last posture checked; the buffers with a pair.
    :returns: where in that order something is near, or :data:`FREE` or :data:`OVERLAP`; and how
        many postures were checked.
    """
    n, motion = line.columns.shape[0], 0.0
    for c in range(1, corners.shape[0]):
        for k in range(n):
            motion += line.levers[k] * abs(corners[c, k] - corners[c - 1, k])
    count = max(math.ceil(min(motion / step, _MOST_ROWS)), 1)
    for k in range(line.base.shape[0]):
        postures[0, k] = line.base[k]
    half = 1
    while 2 * half < count:
        half *= 2
    looked = 0
    for place in range(first, 2 * half):
        back, low, high = 0, 1, half
        while high > 0:
            if place & low:
                back |= high
            low, high = low << 1, high >> 1
        if back >= count:
            continue
        share = (count - back) / count
        for k in range(n):
            q = corners[0, k] + share * (corners[1, k] - corners[0, k])
            if corners.shape[0] == 3:
                q += share * (corners[1, k] + share * (corners[2, k] - corners[1, k]) - q)
            postures[0, line.columns[k]] = q
        looked += 1
        place_bodies(robot, postures, 0, buffers.frames)
        place_spheres(robot, buffers)
        near = near_objects(robot, world, 1, robot.body_spheres.shape[0], buffers, 0, 1)
        if near == 0:
            near = near_parts(robot, buffers, 1)
        if near > 0:
            if certain and near_pair_overlaps(robot, world, buffers):
                return OVERLAP, looked
            return place, looked
    return FREE, looked


@kernel
def body_displacements(robot, postures, buffers, before, moved):
    """
    Compute how far any point of the robot is from where it was in the posture before, at most.

    Bounded by the spheres around its rigid bodies: a sphere of radius r whose centre moves by d
    while it turns by θ has no point that is farther away than d + 2 r sin(θ/2).

    :param before: (b, 12) memory for the frames of the posture before.
    :param moved: (N - 1,) is filled [m].
    """
    for row in range(postures.shape[0]):
        for body in range(before.shape[0]):
            for k in range(12):
                before[body, k] = buffers.frames[body, k]
        place_bodies(robot, postures, row, buffers.frames)
        if row > 0:
            farthest = 0.0
            for body in range(before.shape[0]):
                radius = robot.body_spheres[body, 3]
                if radius >= 0.0:
                    frames = buffers.frames
                    turned, distance = 0.0, 0.0
                    for k in range(9):
                        turned += (frames[body, k] - before[body, k]) ** 2
                    for r in range(3):
                        ahead = frames[body, 9 + r] - before[body, 9 + r]
                        for axis in range(3):
                            change = frames[body, 3 * axis + r] - before[body, 3 * axis + r]
                            ahead += change * robot.body_spheres[body, axis]
                        distance += ahead * ahead
                    # The squares of all entries sum up to 8 sin²(θ/2).
                    farthest = max(
                        farthest, math.sqrt(distance) + radius * math.sqrt(0.5 * turned)
                    )
            moved[row - 1] = farthest
