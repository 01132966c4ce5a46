"""The shape of the source: imports point downward, importing does nothing, and dangerous things stand in one place or nowhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "azero"

# A file imports from its own row or from rows below.
LAYERS = [
    {"loop", "estimate"},
    {"trials"},
    {"initialize", "selfplay", "train", "evaluate", "check_game", "champion", "arena", "play", "doctor", "oracle"},
    {"trace", "trace_page", "trace_text", "trace_tree"},
    {"stage", "learning", "lanes", "inference_choice"},
    {"cycle_report", "compile_ahead"},
    {"anchors"},
    {"correctness", "entrants", "gate", "match_report"},
    {"trained"},
    {"truth"},
    {"match"},
    {"forks", "memory"},
    {"examples", "replay", "metrics", "openings"},
    {"run", "rating", "elo_table", "forecast", "monitoring"},
    {"files"},
    {"words", "players"},
    {"search", "network", "evaluations"},
    {"games"},
    {"command_line", "signals", "seeds", "window"},
    {"config", "config_checks", "plugins", "machine"},
]
RANK = {name: row for row, names in enumerate(LAYERS) for name in names}


def module_name(path: Path) -> str:
    """Such as azero.search.tree; a package for its __init__.py."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}
MODULES = pytest.mark.parametrize("name", sorted(FILES))


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
    """The statements that run when a module is imported, without those under `if TYPE_CHECKING` and `if __name__ == …`."""
    return [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]


def own_imports(name: str, tree: ast.AST) -> set[str]:
    """The azero modules a tree imports."""
    return {target for target in imported(tree) if target in FILES and target not in (name, "azero")}


def part(name: str) -> str:
    """The file or folder directly below azero/ that a module belongs to; "" for azero itself."""
    return [*name.split("."), ""][1]


@MODULES
def test_every_module_has_its_layer(name: str) -> None:
    assert part(name) in RANK or name == "azero", f"{name} stands in no row of LAYERS"


@MODULES
def test_imports_point_downward(name: str) -> None:
    if name == "azero":
        return
    up = [target for target in own_imports(name, TREES[name]) if RANK[part(target)] < RANK[part(name)]]
    assert not up, f"{name} imports {up} from above"


def test_no_modules_import_each_other() -> None:
    graph = {name: own_imports(name, TREES[name]) - {name.rpartition(".")[0]} for name in FILES}
    while free := {name for name, targets in graph.items() if not targets & graph.keys()}:
        graph = {name: targets for name, targets in graph.items() if name not in free}
    assert not graph, f"these import each other, or need ones that do: {sorted(graph)}"


@MODULES
def test_importing_only_defines(name: str) -> None:
    if name == "azero":  # sets Numba's cache folder, before any decorator runs
        return
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)
    for node in at_import(TREES[name]):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        own_program = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        assert docstring or own_program or isinstance(node, allowed), f"{name}, line {node.lineno} runs when imported"


@MODULES
def test_torch_is_imported_at_the_top_only_where_networks_are(name: str) -> None:
    top = {target.split(".")[0] for node in at_import(TREES[name]) if isinstance(node, ast.Import | ast.ImportFrom)
           for target in imported(node)}  # fmt: skip
    assert "torch" not in top or part(name) in {"network", "train", "learning"}


@pytest.mark.parametrize("argument", ["--help", "--cfg=job"])
def test_help_imports_neither_torch_nor_numba(argument: str) -> None:
    program = (
        "import runpy, sys\n"
        f"sys.argv = ['azero.loop', *{argument!r}.split('=')]\n"
        "try: runpy.run_module('azero.loop', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'torch', 'numba', 'tensorboard', 'rich', 'scipy'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=PACKAGE.parent, timeout=60)
    assert done.returncode == 0, done.stderr


@MODULES
def test_random_numbers_come_from_generators_only(name: str) -> None:
    allowed = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "BitGenerator"}
    assert "random" not in set(imported(TREES[name])), f"{name} imports random"
    for node in ast.walk(TREES[name]):
        if not isinstance(node, ast.Attribute):
            continue
        text = ast.unparse(node)
        if ast.unparse(node.value) in {"np.random", "numpy.random"}:
            assert node.attr in allowed, f"{name}, line {node.lineno}: {text} has global state"
        assert text not in {"torch.manual_seed", "torch.cuda.manual_seed"} or inside_fork(TREES[name], node), f"{name}: {text}"


def inside_fork(tree: ast.AST, wanted: ast.AST) -> bool:
    """Whether a node stands inside `with torch.random.fork_rng(…)`, where torch's global state is put back."""
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.With))
    forks = (block for block in blocks if any("fork_rng" in ast.unparse(item) for item in block.items))
    return any(wanted in set(ast.walk(fork)) for fork in forks)


@pytest.mark.parametrize(
    "library, where",
    [
        ("tensorboard", {"monitoring"}),
        ("torch.utils.tensorboard", set()),
        ("rich", {"monitoring", "correctness", "trace"}),
        ("pickle", {"replay"}),
        ("filelock", {"files"}),
        ("openvino", {"network"}),
        ("bitbully", {"truth"}),
    ],
)
def test_a_library_is_imported_in_one_place(library: str, where: set[str]) -> None:
    importers = {
        part(name) for name, tree in TREES.items() if any(f"{target}.".startswith(f"{library}.") for target in imported(tree))
    }
    assert importers <= where


@MODULES
def test_no_risky_calls(name: str) -> None:
    for node in ast.walk(TREES[name]):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func)
        assert call not in {"pickle.load", "pickle.loads", "eval", "exec", "os.fork", "hydra.utils.instantiate"}, (
            f"{name}: {call}"
        )
        if call == "torch.load":
            arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert arguments.get("weights_only") == "True", f"{name}, line {node.lineno}: torch.load without weights_only=True"


@MODULES
def test_modules_are_about_something(name: str) -> None:
    assert not {"utils", "util", "helpers", "misc", "common"} & set(name.split("."))
