"""The notebooks run from their first cell to their last, and their files hold no outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import PROJECT

FOLDER = PROJECT / "docs" / "notebooks"
NAMES = ["first_steps", "compare"]


def read(name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook."""
    cells: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]
    return cells


def test_all_are_known_and_told() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NAMES)
    page = (PROJECT / "docs" / "python.md").read_text()
    assert all(f"notebooks/{name}.ipynb" in page for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_they_hold_no_outputs_and_can_install_azero_where_it_is_missing(name: str) -> None:
    code = [cell for cell in read(name) if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert 'find_spec("azero") is None:  # on Colab or Kaggle' in "".join(code[0]["source"])


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name, shown", [
    ("first_steps", ["text/html", "image/svg+xml", "text/html", "text/html", "text/html"]),
    ("compare", ["image/png"]),
])  # fmt: skip
def test_every_cell_runs(
    name: str, shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=800, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [output["data"] for output in outputs if "data" in output]
    assert [next(kind for kind in [*shown, "text/plain"] if kind in each) for each in data] == shown
    text = "".join(output.get("text", "") for output in outputs)
    if name == "first_steps":
        assert "0 % mistakes with search" in text and "best first move" in text
        assert "It is your turn." in data[3]["text/html"] and "<svg" in data[3]["text/html"]
    else:
        assert "gumbel" in text and "wins" in text
