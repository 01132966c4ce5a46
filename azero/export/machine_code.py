"""Compile what a page runs to an object file for processors of this machine's kind, for a linker.

It differs from WebAssembly in three ways: arrays are named variables in place of fixed addresses, the heap is
one of them, and the weights are part of the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from azero.export.webassembly import ALIGNMENT, ENTRY, RUNTIME, Memory, optimised

PREFIX = "azero_"  # of C's names for entry points and arrays, in place of ENTRY
X86 = "x86-64-v3"  # processors since 2015, with AVX2
HEAP_BYTES = 2**24  # that one call may allocate
HEAP = f"""
define ptr @NRT_Allocate(i64 %bytes) {{
  %start = call ptr @NRT_MemInfo_alloc_aligned(i64 %bytes, i32 {ALIGNMENT})
  ret ptr %start
}}
define void @NRT_Free(ptr %start) {{ ret void }}
@heap_start = constant i32 0
@heap_bytes = global [{HEAP_BYTES} x i8] zeroinitializer, align {ALIGNMENT}
"""
# WebAssembly's addresses are numbers of 32 bits; here a number is an offset in `heap_bytes`
OFFSET, POINTER = "inttoptr i32 %old to ptr", "getelementptr i8, ptr @heap_bytes, i32 %old"


class NamedMemory(Memory):
    """Gives each array a variable, with the name of its entry in `values` if it has one."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self.names = {id(array): name for name, array in values.items() if isinstance(array, np.ndarray)}

    def place(self, array: np.ndarray) -> str:
        """Return the pointer to an array's first element, in LLVM's notation."""
        if id(array) not in self.places:
            self.arrays.append(array)
            place = f'@"{ENTRY}{self.names.get(id(array), f"array{len(self.arrays)}")}"'
            kind, content = f"[{array.nbytes} x i8]", "zeroinitializer"
            if array.dtype.fields is None and array.any():
                content = 'c"' + "".join(f"\\{byte:02X}" for byte in array.tobytes()) + '"'
            self.definitions += f"{place} = global {kind} {content}, align {ALIGNMENT}\n"
            self.declarations += f"{place} = external global {kind}, align {ALIGNMENT}\n"
            self.places[id(array)] = place
        return self.places[id(array)]


def build_object(texts: list[str], memory: Memory) -> bytes:
    """Return LLVM's codes as an object file, whose names only the library itself sees."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu = X86 if target.triple.startswith("x86_64") else ""
    machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
    assert OFFSET in RUNTIME
    module = optimised([RUNTIME.replace(OFFSET, POINTER) + HEAP + memory.definitions, *texts], machine)
    for each in (*module.functions, *module.global_variables):
        if each.name.startswith(ENTRY):
            each.name = PREFIX + each.name.removeprefix(ENTRY)
            each.visibility = "hidden"
    return machine.emit_object(module)
