"""
Parts of the loop for a tree of several tips, each with a goal region.

The modules here are the variants, by the types of a tree's arguments, of the few kernels of
:mod:`ik_service.solvers.loop` that know the goal or its size; all else is the same code. Arguments
that most kernels here take, where they do not say otherwise:

- ``chain``: :class:`~ik_service.kinematics.tree.TreeArrays`;
- ``settings``: :class:`~ik_service.solvers.loop.problem.Settings`, single fields as numbers;
- ``work``: :class:`~ik_service.solvers.loop.tree.problem.TreeWorkspace`;
- ``target``: (11t, 4) blocks of the t tips, see :attr:`~ik_service.solvers.task.Task.block`;
- ``tip``: index of a tip;
- ``goal``: (43,) row of ``work.goal``, see :mod:`~ik_service.solvers.loop.tree.problem`;
- ``margin``: inset of the targets in the tolerances [m] or [rad].
"""

# The variants are declared where these modules are imported.
from ik_service.solvers.loop.tree import goals, jacobian, problem

__all__ = ['goals', 'jacobian', 'problem']
