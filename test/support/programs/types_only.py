"""On import, lets kernels be compiled no further than to their types, in a third of the time."""

from numba.core.compiler import _LowerResult
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.typed_passes import NativeLowering

from ik_service.jit.inner_code import _Lowering
from ik_service.jit.kernel_cache import KernelCache


def describe(_, state):
    """Do without the code in the place of Numba's pass that makes it."""
    described = PythonFunctionDescriptor.from_specialized_function(
        state.func_ir, state.typemap, state.return_type, state.calltypes,
        mangler=state.targetctx.mangler, inline=False, noalias=False, abi_tags=[],
    )  # fmt: skip
    state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
    state['cr'] = _LowerResult(described, None, cfunc=len, env=None)
    return True


NativeLowering.run_pass = _Lowering.run_pass = describe
KernelCache.save_overload = lambda *_: None
