"""Compile functions to one WebAssembly module with Numba and llvmlite; no other tool is needed.

Numba turns functions into LLVM's intermediate language, and llvmlite contains LLVM's code generator for
wasm32. That writes object files, which are meant for a linker. But an object is a WebAssembly module itself.
One that defines all functions that it calls, and whose entry points have the attribute `wasm-export-name`,
runs as it is. The addresses in its code are provisional, but right if its data begin at address 0, where its
data section puts them. (The format: "Linking.md" in github.com/WebAssembly/tool-conventions.)

Memory, from address 0: constants; the stack, which grows down from STACK_TOP; arrays at fixed addresses,
which are part of the code; and the heap. The module imports, all from `env`:

    __linear_memory   the memory
    __stack_pointer   a mutable i32 that begins with STACK_TOP
    exp, log, ...     functions of C that are no instructions, see MATH

`azero/export/module.py` says why this runs in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import njit, types
from numba.core.caching import Cache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext

from azero.config.schema import UserError

TARGET = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint"  # in all browsers since 2023
STACK_TOP = 2**20
STACK = 2**17  # bytes of stack that the constants must leave
ALIGNMENT = 16  # of arrays; a vector has 16 bytes
ENTRY = "entry."  # before the names of entry points, else LLVM takes `read` for C's
# What static/engine.js finds in JavaScript's Math, also with an f behind it for single precision
MATH = "acos asin atan atan2 cbrt cos cosh exp expm1 fmod hypot log log10 log1p log2 pow sin sinh tan tanh"

# What Numba expects of its runtime. Nothing counts references, because all memory that a call has allocated
# is free again at the next call. The square root is an instruction; C's function could set `errno`, so LLVM
# would call it.
RUNTIME = """
@heap = global i32 0
define void @NRT_incref(ptr %info) alwaysinline { ret void }
define void @NRT_decref(ptr %info) alwaysinline { ret void }
define ptr @NRT_MemInfo_data_fast(ptr %info) alwaysinline { ret ptr %info }
define ptr @NRT_MemInfo_alloc_aligned(i64 %bytes, i32 %alignment) {
  %old = load i32, ptr @heap
  %size = trunc i64 %bytes to i32
  %more = add i32 %size, 15
  %padded = and i32 %more, -16
  %new = add i32 %old, %padded
  store i32 %new, ptr @heap
  %start = inttoptr i32 %old to ptr
  ret ptr %start
}
declare double @llvm.sqrt.f64(double)
declare float @llvm.sqrt.f32(float)
define double @sqrt(double %x) alwaysinline { %y = call double @llvm.sqrt.f64(double %x) ret double %y }
define float @sqrtf(float %x) alwaysinline { %y = call float @llvm.sqrt.f32(float %x) ret float %y }
"""

NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry = njit(error_model="numpy", **NO_WRAPPERS)  # called by JavaScript or C only


class Memory:
    """Gives arrays their addresses. An array that is not all zeros becomes data of the module.

    Attributes:
        size: where the next array of zeros will begin.
        definitions: the data, as LLVM's code.
        declarations: the same without their contents.
    """

    def __init__(self) -> None:
        self.size = STACK_TOP
        self.definitions, self.declarations = "", ""
        self.places: dict[int, str] = {}  # pointers, by the id of the array
        self.arrays: list[np.ndarray] = []  # kept, so that ids stay valid

    def place(self, array: np.ndarray) -> str:
        """Return the pointer to an array's first element, in LLVM's notation."""
        if id(array) not in self.places:
            self.arrays.append(array)
            if array.dtype.fields is None and array.any():
                place, kind = f"@data{len(self.arrays)}", f"[{array.nbytes} x i8]"
                content = "".join(f"\\{byte:02X}" for byte in array.tobytes())
                self.definitions += f'{place} = global {kind} c"{content}", align {ALIGNMENT}\n'
                self.declarations += f"{place} = external global {kind}, align {ALIGNMENT}\n"
            else:
                place = f"inttoptr (i32 {self.size} to ptr)"
                self.size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
            self.places[id(array)] = place
        return self.places[id(array)]

    def address(self, array: np.ndarray) -> int:
        """Return the address of an array of zeros."""
        return int(self.place(array).split()[2])

    def operands(self, kind: types.Type, value: Any) -> Iterator[str]:
        """Yield what LLVM's code passes for an argument that is always `value`, an array or a number."""
        if isinstance(kind, types.Array):  # two owners, length, item size, data, shape, strides
            yield from ("ptr null", "ptr null", f"i64 {value.size}", f"i64 {value.itemsize}")
            yield f"ptr {self.place(value)}"
            yield from (f"i64 {number}" for number in (*value.shape, *value.strides))
        elif isinstance(kind, types.BaseTuple):
            parts: Any = kind
            for part_kind, part in zip(parts, value, strict=True):
                yield from self.operands(part_kind, part)
        elif isinstance(kind, types.Boolean):
            yield f"i8 {int(value)}"
        elif isinstance(kind, types.Float):
            yield f"double 0x{np.float64(value).view(np.uint64):016X}"
        else:
            yield f"i64 {value}"


def stop_emitting() -> None:
    """Let Numba emit no machine code in this process from now on: what it compiles then is not called here.

    A page needs LLVM's code of it alone, and that takes a fifth less time (measured: tic-tac-toe 37 to 31 s
    of a slow EPYC).
    """

    def no_pointer(library: JITCodeLibrary, _name: str) -> int:
        library._ensure_finalized()
        return 0

    def nothing(*_of: Any, **_more: Any) -> None:
        pass

    changed: dict[Any, dict[str, Any]] = {
        JITCodeLibrary: {"get_pointer_to_function": no_pointer, "_finalize_specific": nothing},
        JITCPUCodegen: {"set_env": nothing},
        CPUContext: {"create_cpython_wrapper": nothing, "create_cfunc_wrapper": nothing},
        Cache: {"load_overload": nothing, "save_overload": nothing},
    }
    for kind, methods in changed.items():
        for name, method in methods.items():
            setattr(kind, name, method)


def entry_point(name: str, function: Any, bound: Mapping[str, Any], memory: Memory) -> str:
    """Return LLVM's code by which JavaScript calls a function, decorated with `entry`, by `name`.

    An argument that is in `bound` always has that value. The others are whole numbers of 32 bits, and so is
    the result, if there is one.
    """
    code = function.py_func.__code__
    names = list(code.co_varnames[: code.co_argcount])
    kinds = tuple(numba.typeof(bound[each]) if each in bound else types.int64 for each in names)
    function.compile(kinds)
    compiled = function.overloads[kinds]
    given = [each for each in names if each not in bound]
    operands = ["ptr %result", "ptr %error"]
    for each, kind in zip(names, kinds, strict=True):
        operands += memory.operands(kind, bound[each]) if each in bound else [f"i64 %{each}.long"]
    returns = compiled.signature.return_type != types.void
    return f"""{compiled.library.get_llvm_str()}
{memory.declarations}
@heap = external global i32
@heap_start = external global i32
define {"i32" if returns else "void"} @{ENTRY}{name}({", ".join(f"i32 %{each}" for each in given)})
    "wasm-export-name"="{name}" {{
  %start = load i32, ptr @heap_start
  store i32 %start, ptr @heap
  %result = alloca i64
  %error = alloca ptr
  {" ".join(f"%{each}.long = sext i32 %{each} to i64" for each in given)}
  call i32 @"{compiled.fndesc.mangled_name}"({", ".join(operands)})
  %long = load i64, ptr %result
  %short = trunc i64 %long to i32
  {"ret i32 %short" if returns else "ret void"}
}}
"""


def call_of(function: str, name: str, arrays: Iterable[np.ndarray], memory: Memory) -> str:
    """Return LLVM's code of an entry point that calls a function of LLVM's code with pointers to arrays."""
    operands = [f"ptr {memory.place(array)}" for array in arrays]
    return f"""
{memory.declarations}
declare void @{function}({", ".join("ptr" for _ in operands)})
define void @{ENTRY}{name}() "wasm-export-name"="{name}" {{
  call void @{function}({", ".join(operands)})
  ret void
}}
"""


def build(texts: list[str], memory: Memory) -> bytes:
    """Return the module of LLVM's codes, in which only entry points can be called.

    Raises:
        UserError: it needs too many constants, or functions that a page does not have.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TARGET).create_target_machine(opt=3, features=FEATURES)
    begin = f"{RUNTIME}{memory.definitions}@heap_start = constant i32 {memory.size}\n"
    module = optimised([begin, *texts], machine)
    constants = sum(
        machine.target_data.get_abi_size(each.global_value_type) for each in module.global_variables
    )
    if constants > STACK_TOP - STACK:
        raise UserError(
            f"the rules have {constants:,} bytes of tables; a page has room for {STACK_TOP - STACK:,}."
        )
    return loadable(machine.emit_object(module))


def optimised(texts: list[str], machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Return LLVM's codes as one module for a machine, of which only entry points can be called.

    Where a name is defined twice, the first definition counts: the runtime's.
    """
    module = parsed(texts[0], machine)
    for text in texts[1:]:
        module.link_in(parsed(text, machine))
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and not each.name.startswith(ENTRY):
            each.linkage = "internal"  # can be inlined, or left out
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = False  # 57 KB become 21 at the same speed (Connect Four, both algorithms)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module


def parsed(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Return LLVM's code as a module for another machine than the one it was written for."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def loadable(code: bytes) -> bytes:
    """Return an object without its custom sections, which only linkers and debuggers read.

    After a head of 8 bytes, a section is its kind, its size, and so many bytes. Kind 0 is a custom section,
    kind 2 the imports.

    Raises:
        UserError: a function is imported that a page does not have.
    """
    at, kept = 8, [code[:8]]
    while at < len(code):
        size, body = number_at(code, at + 1)
        if code[at] == 2:
            imported = functions_imported(code, body)
            missing = [name for name in imported if not {name, name.removesuffix("f")} & {*MATH.split()}]
            if missing:
                raise UserError(
                    f"the rules or the search call {', '.join(missing)}, which a page does not have; "
                    "write them without."
                )
        if code[at] != 0:
            kept.append(code[at : body + size])
        at = body + size
    return b"".join(kept)


def number_at(code: bytes, at: int) -> tuple[int, int]:
    """Return a number, seven bits a byte with the lowest first (LEB128), and where it ends."""
    number, shift = 0, 0
    while True:
        number |= (code[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if code[at - 1] < 128:
            return number, at


def functions_imported(code: bytes, at: int) -> Iterator[str]:
    """Yield the functions and tables among the imports, whose section begins at `at`.

    An import is the names of a module and of a thing, each with its length before it; the kind (0 a function,
    1 a table, 2 the memory, 3 a variable); and a type, of one number for a function and of two bytes for a
    variable. A table is a byte, then limits. The memory is limits: a flag, the least size and, if the flag
    is odd, the greatest.
    """
    count, at = number_at(code, at)
    for _ in range(count):
        for _ in range(2):
            length, at = number_at(code, at)
            name, at = code[at : at + length].decode(), at + length
        kind, at = code[at], at + 1
        if kind < 2:
            yield name
        if kind == 0:
            _, at = number_at(code, at)
        elif kind == 3:
            at += 2
        else:
            flag, at = number_at(code, at + (kind == 1))
            for _ in range(1 + flag % 2):
                _, at = number_at(code, at)
