"""Compiled functions receive what memory they need: none makes an array, so a GPU can run them, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from places import PROJECT

FOLDERS = ("classic", "heuristics", "kernels", "games", "search", "workers")
COMPILED = {"kernel", "part", "inner", "shared", "njit", "register_jitable", "rule", "heuristic"}
MAKERS = {"zeros", "empty", "ones", "full", "array", "arange", "zeros_like", "empty_like", "ones_like"}
MAKERS |= {"full_like", "copy", "concatenate", "stack", "where", "argsort", "sort", "flatnonzero", "nonzero"}
OWN_MAKERS = {"new_room", "new_tree", "new_stream", "make_legal", "make_line", "make_table", "make_scratch"}


def allocations(tree: ast.AST) -> Iterator[str]:
    """Yield the calls in compiled functions that make an array."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            marks = {ast.unparse(mark).split("(")[0].split(".")[-1] for mark in function.decorator_list}
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            for call in calls if marks & COMPILED else []:
                made_by = ast.unparse(call.func).split(".")
                if made_by[-1] in (MAKERS if len(made_by) > 1 else OWN_MAKERS):
                    yield f"{function.name}: {ast.unparse(call)}"


def test_no_compiled_function_makes_an_array() -> None:
    files = [path for folder in FOLDERS for path in sorted((PROJECT / "azero" / folder).rglob("*.py"))]
    found = {
        path.relative_to(PROJECT).as_posix(): list(allocations(ast.parse(path.read_text()))) for path in files
    }
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_such_calls_are_seen() -> None:
    seen = """
@part
def one(a):
    return np.zeros_like(a), a.copy(), new_room(1, 2)

@njit(cache=True)
def other(n):
    return np.empty(n)

def plain(n):
    return np.empty(n)
"""
    assert len(list(allocations(ast.parse(seen)))) == 4
