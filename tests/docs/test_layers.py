"""The shape of the source: imports point downward, importing only defines, and risky calls have one place."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import architecture
import pytest
from places import PROJECT

from azero.process.kernel_cache import NO_KERNELS

PACKAGE = PROJECT / "azero"


def module_name(path: Path) -> str:
    """Such as azero.search.tree; a package for its __init__.py."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of everything imported anywhere below a node, `from a import b` as both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_import(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that run at import, without those under `if TYPE_CHECKING`."""
    return [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]


def own_imports(name: str, tree: ast.AST) -> set[str]:
    """The azero modules a tree imports."""
    return {target for target in imported(tree) if target in FILES and target not in (name, "azero")}


PROGRAM = "program"


def room_of(name: str) -> str:
    """Return the folder that a module lies in, such as "games.kit".

    PROGRAM for a file at the root of the package.
    """
    folder = FILES[name].parent.relative_to(PACKAGE).as_posix().replace("/", ".")
    return PROGRAM if folder == "." else folder


def rooms_used(room: str) -> set[str]:
    """Return the rooms that a room's modules import from, without itself."""
    used = {
        room_of(target)
        for name in FILES
        if room_of(name) == room
        for target in own_imports(name, TREES[name])
    }
    return used - {room}


ROOMS = sorted({room_of(name) for name in FILES} - {PROGRAM})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_imports(room: str) -> None:
    assert set(architecture.room(PACKAGE, room).imports) == rooms_used(room)


def test_no_room_imports_a_program_and_no_rooms_import_each_other() -> None:
    graph = {room: rooms_used(room) for room in ROOMS}
    assert not [room for room, used in graph.items() if PROGRAM in used]
    while free := {room for room, used in graph.items() if not used & graph.keys()}:
        graph = {room: used for room, used in graph.items() if room not in free}
    assert not graph, f"these rooms import each other, or need ones that do: {sorted(graph)}"


def test_no_program_imports_another() -> None:
    for name in FILES:
        if room_of(name) == PROGRAM and name != "azero":
            others = [target for target in own_imports(name, TREES[name]) if room_of(target) == PROGRAM]
            assert not others, f"{name} imports {others}"


def test_no_modules_import_each_other() -> None:
    graph = {name: own_imports(name, TREES[name]) - {name.rpartition(".")[0]} for name in FILES}
    while free := {name for name, targets in graph.items() if not targets & graph.keys()}:
        graph = {name: targets for name, targets in graph.items() if name not in free}
    assert not graph, f"these import each other, or need ones that do: {sorted(graph)}"


def test_the_map_in_the_documents_is_the_code_s() -> None:
    assert architecture.PAGE.read_text() == architecture.page(), "run python scripts/architecture.py"


OF_MANY = {"Options"}  # what each player and game calls its own


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert not {word: names for word, names in homes.items() if len(names) > 1 and word not in OF_MANY}


DEFINING = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign),
)


def runs_when_imported(node: ast.stmt) -> bool:
    """Return whether a statement of a module does more than define something."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    own_program = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
    return not (docstring or own_program or isinstance(node, DEFINING))


def test_importing_only_defines() -> None:
    assert not [
        f"{name}, line {node.lineno}"
        for name, tree in TREES.items()
        if name != "azero"  # prepares the end of programs
        for node in at_import(tree)
        if runs_when_imported(node)
    ]


def test_torch_is_imported_at_the_top_only_where_networks_are() -> None:
    assert {"network", "training"} >= {
        room_of(name)
        for name, tree in TREES.items()
        for node in at_import(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if any(target.split(".")[0] == "torch" for target in imported(node))
    }


@pytest.mark.parametrize(
    ("name", "argument"), [("loop", "--help"), ("loop", "--cfg=job"), ("trace", "--help"), ("runs", "--help")]
)
def test_help_imports_neither_torch_nor_numba(name: str, argument: str) -> None:
    program = (
        "import runpy, sys\n"
        f"sys.argv = ['azero.{name}', *{argument!r}.split('=')]\n"
        f"try: runpy.run_module('azero.{name}', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'torch', 'numba', 'tensorboard', 'rich', 'scipy'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=PACKAGE.parent, timeout=60
    )
    assert done.returncode == 0, done.stderr


GENERATORS = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "BitGenerator"}


def global_random(name: str, tree: ast.AST) -> Iterator[str]:
    """Yield where a module uses random numbers of the whole process."""
    if "random" in set(imported(tree)):
        yield f"{name} imports random"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        text, of = ast.unparse(node), ast.unparse(node.value)
        if of in {"np.random", "numpy.random"} and node.attr not in GENERATORS:
            yield f"{name}, line {node.lineno}: {text}"
        if text in {"torch.manual_seed", "torch.cuda.manual_seed"} and not inside_fork(tree, node):
            yield f"{name}, line {node.lineno}: {text}"


def test_random_numbers_come_from_generators_only() -> None:
    assert not [found for name, tree in TREES.items() for found in global_random(name, tree)]


def inside_fork(tree: ast.AST, wanted: ast.AST) -> bool:
    """Return whether a node is inside `with torch.random.fork_rng(…)`, which restores global state."""
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.With))
    forks = (block for block in blocks if any("fork_rng" in ast.unparse(item) for item in block.items))
    return any(wanted in set(ast.walk(fork)) for fork in forks)


@pytest.mark.parametrize(
    "library, where",
    [
        ("tensorboard", {"report"}),
        ("torch.utils.tensorboard", set()),
        ("rich", {"report", "truth", PROGRAM}),
        ("pickle", {"replay", "process"}),
        ("filelock", {"run", "process", "studio"}),
        ("openvino", {"network"}),
        ("bitbully", {"truth"}),
    ],
)
def test_a_library_is_imported_in_one_place(library: str, where: set[str]) -> None:
    importers = {
        room_of(name)
        for name, tree in TREES.items()
        if any(f"{target}.".startswith(f"{library}.") for target in imported(tree))
    }
    assert importers <= where


RISKY = {"pickle.load", "pickle.loads", "eval", "exec", "os.fork", "hydra.utils.instantiate"}


def risky_calls(name: str, tree: ast.AST) -> Iterator[str]:
    """Yield the calls of a module by which a file could run code."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func)
        if (name, call) == ("azero.process.kernel_cache", "pickle.loads"):
            continue  # compiled code, which Numba pickles, from a folder that only the user can write
        arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if call in RISKY or (call == "torch.load" and arguments.get("weights_only") != "True"):
            yield f"{name}, line {node.lineno}: {call}"


def test_no_risky_calls() -> None:
    assert not [found for name, tree in TREES.items() for found in risky_calls(name, tree)]


COMPILING = {
    *("kernel", "inner", "part", "shared", "entry"),
    *("njit", "inlined", "rule", "cfunc", "heuristic", "dispatched", "overload", "jit"),
}


def untyped(tree: ast.AST, in_compiled: bool = False) -> Iterator[str]:
    """Yield the names of functions without full annotations that are not compiled."""
    for node in ast.iter_child_nodes(tree):
        compiled = in_compiled
        if isinstance(node, ast.FunctionDef):
            used = {ast.unparse(mark).split("(")[0].split(".")[-1] for mark in node.decorator_list}
            compiled = in_compiled or bool(used & COMPILING)
            given = node.args
            arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            typed = all(each.annotation or each.arg in ("self", "cls") for each in arguments)
            if not compiled and not (typed and node.returns):
                yield node.name
        yield from untyped(node, compiled)


def has_kernels(tree: ast.AST) -> bool:
    """Whether a module has a compiled function."""
    return any(
        ast.unparse(mark).split("(")[0].split(".")[-1] in COMPILING
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
    )


def test_kernels_depend_on_no_file_that_their_cache_overlooks() -> None:
    """The cache's digest leaves out programs and some rooms. Modules of pages are kept beside the kernels."""
    overlooked = {PROGRAM, *NO_KERNELS}
    asked = {"azero.export.module", *(name for name, tree in TREES.items() if has_kernels(tree))}
    used = set[str]()
    while asked:
        used |= asked
        asked = {target for name in asked for target in own_imports(name, TREES[name])} - used
    assert {"games", "kernels", "search"} <= {room_of(name) for name in used}
    assert not [name for name in used if room_of(name) in overlooked]


def test_python_functions_are_typed_beside_kernels_too() -> None:
    """Mypy allows untyped functions in modules with kernels; only compiled functions may use that."""
    assert not [f"{name}: {found}" for name, tree in TREES.items() for found in untyped(tree)]


def test_modules_are_about_something() -> None:
    nothing = {"utils", "util", "helpers", "misc", "common"}
    assert not [name for name in FILES if nothing & set(name.split("."))]
