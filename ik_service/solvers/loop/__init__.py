"""
Solver loop that all methods share: searches, iterations, joint limits, restarts, stopping rules.

Arguments that most kernels here take, where they do not say otherwise:

- ``chain``: :class:`~ik_service.kinematics.joint_path.ChainArrays`;
- ``settings``: :class:`~ik_service.solvers.loop.problem.Settings`, single fields as numbers;
- ``work``: :class:`~ik_service.solvers.loop.problem.Workspace`, which holds the results as well;
- ``method``: the method's parameters, a NamedTuple;
- ``q``, ``seed``, ``start`` and ``best``: (n,) joint vectors [rad] or [m];
- ``i`` and ``value``: index of a variable, and its position [rad] or [m];
- ``strategy``: number of the :class:`~ik_service.solvers.options.LimitStrategy`;
- ``goal``: (12,) x, y and z axes, then origin of the frame that the last joint shall carry;
- ``search`` and ``trace``: number of the search from 0, and (rows, 2n + 3) rows of the trace;
- ``deadline``: end of the solve by the monotonic clock [ns].
"""
