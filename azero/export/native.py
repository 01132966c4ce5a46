"""A network's code compiled for this machine: what a page computes, in Python, to compare it with torch.

Letters: B positions, A actions, C H W planes.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_void_p
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from azero.export.network_code import ENTRY, NetworkCode


class NativeNetwork:
    """A network's code, compiled. Its weights may be others than the code's own."""

    def __init__(self, code: NetworkCode, weights: np.ndarray) -> None:
        self.code = code
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.engine = compiled(code.ir)
        address = self.engine.get_function_address(ENTRY)
        self.evaluate = CFUNCTYPE(None, *[c_void_p] * 5)(address)

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Map planes [B, C, H, W] to policy logits [B, A] and values [B], one position after the other."""
        planes = np.ascontiguousarray(planes, np.float32)
        logits = np.empty((len(planes), self.code.num_actions), np.float32)
        values = np.empty(len(planes), np.float32)
        scratch = np.empty(self.code.scratch_floats, np.float32)
        for row in range(len(planes)):
            arrays = (planes[row], self.weights, scratch, logits[row], values[row:])
            self.evaluate(*(each.ctypes.data for each in arrays))
        return logits, values


def compiled(text: str) -> Any:
    """Return the engine that holds a module, optimised for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), opt=3)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
