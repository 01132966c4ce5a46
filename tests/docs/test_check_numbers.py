"""The table of promised numbers: complete rows, right verdicts, and the same table in RESULTS.md."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from places import PROJECT, SCRIPTS

spec = importlib.util.spec_from_file_location("check_numbers", SCRIPTS / "check_numbers.py")
assert spec and spec.loader
check_numbers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_numbers)

ROWS = json.loads((PROJECT / "RESULTS.json").read_text())


def row(**changes: Any) -> dict[str, Any]:
    """A measured row."""
    whole: dict[str, Any] = dict.fromkeys(check_numbers.COLUMNS, "")
    whole |= {
        "id": "x",
        "target": ["<=", 3],
        "value": 2,
        "seeds": [],
        "commit": "abc",
        "device": "2 cores",
        "date": "2026-01-01",
        "note": "Why. And more.",
    }
    return whole | changes


@pytest.mark.parametrize(
    "target, value, verdict",
    [
        (["<=", 3], 3, "ok"),
        (["<=", 3], 3.01, "MISS"),
        (["<", 3], 3, "MISS"),
        (["==", 11], 11, "ok"),
        (["==", 11], 10, "MISS"),
        ([">=", 20], 20, "ok"),
        ([">", 20], 20, "MISS"),
        (["<=", 3], None, "MISSING"),
        (None, 7, "reported"),
        (None, None, "MISSING"),
    ],
)
def test_a_value_is_compared_with_its_target(
    target: list[Any] | None, value: float | None, verdict: str
) -> None:
    assert check_numbers.verdict(row(target=target, value=value)) == verdict


def test_a_measured_row_says_where_it_comes_from() -> None:
    assert not check_numbers.faults([row()])
    for column in ("commit", "device", "date"):
        assert check_numbers.faults([row(**{column: None})])
        assert not check_numbers.faults([row(**{column: None, "value": None})])


def test_a_row_that_is_not_whole_or_stands_twice_is_found() -> None:
    assert check_numbers.faults([row(), row()])
    assert check_numbers.faults([{"id": "x"}])
    assert check_numbers.faults([row(surplus=1)])


def test_a_missed_row_says_why() -> None:
    assert not check_numbers.faults([row(value=4), row(id="y", note="")])
    assert check_numbers.faults([row(value=4, note="")])
    assert check_numbers.faults([row(value=None, note="")])


def test_the_table_shows_number_machine_and_misses() -> None:
    device = "2 cores of an Intel Xeon with AMX, no GPU, Python 3.11"
    rows = [
        row(
            name="a",
            target=[">=", 60000],
            value=50751,
            unit="a second",
            device=device,
            note="At 1.5 s. More.",
        ),
        row(name="b", target=None, value=0.5, unit="s"),
        row(name="c", target=["==", 3], value=None, note="No GPU."),
    ]
    assert check_numbers.markdown(rows) == (
        "| what | target | measured | where |\n"
        "| --- | --- | --- | --- |\n"
        "| a | >= 60,000 | 50,751 a second **missed** | Xeon |\n"
        "| b |  | 0.5 s | 2 cores |\n"
        "| c | == 3 | not measured |  |\n"
        "\n### Missed\n\n"
        "- **a**: At 1.5 s.\n"
        "- **c**: No GPU.\n"
    )


def test_the_page_is_short() -> None:
    assert len((PROJECT / "RESULTS.md").read_text().split()) <= 2900


def test_the_rows_are_whole_and_the_page_shows_them() -> None:
    assert not check_numbers.faults(ROWS)
    page = (PROJECT / "RESULTS.md").read_text()
    assert check_numbers.with_table(page, check_numbers.markdown(ROWS)) == page, (
        "run python scripts/check_numbers.py --write"
    )


@pytest.mark.parametrize(
    "changes, status", [({}, 0), ({"value": 4}, 1), ({"value": None}, 1), ({"device": None}, 1)]
)
def test_the_exit_status_tells(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    status: int,
) -> None:
    (tmp_path / "RESULTS.json").write_text(json.dumps([row(**changes)]))
    (tmp_path / "RESULTS.md").write_text(f"# Results\n{check_numbers.BEGIN}{check_numbers.END}")
    monkeypatch.setattr(check_numbers, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["check_numbers.py", "--write"])
    assert check_numbers.main() == status
    monkeypatch.setattr("sys.argv", ["check_numbers.py"])
    assert check_numbers.main() == status
    if status == 0:
        (tmp_path / "RESULTS.md").write_text(
            f"# Results\n{check_numbers.BEGIN}| other |\n{check_numbers.END}"
        )
        assert check_numbers.main() == 1
    assert capsys.readouterr().out
