"""The ablation: its runs are valid recipes, its table is arithmetic, and records are not run again."""

from __future__ import annotations

import json
from pathlib import Path

import ablation
import pytest

from azero.cli.arguments import whole_numbers
from azero.cli.hydra_program import compose
from azero.config.schema import UserError


@pytest.mark.long
def test_every_answer_is_a_recipe_that_can_run() -> None:
    recipe = compose("experiment=connect_four_quick", *ablation.BASE)
    for answer, changes in ablation.answers().items():
        config = compose("experiment=connect_four_quick", *ablation.BASE, *changes)
        assert (answer == "recipe") == (config == recipe), answer


def test_a_name_means_one_run() -> None:
    changes = [
        (ablation.name_of(question, answer), each)
        for question, named in ablation.QUESTIONS.items()
        for answer, each in named.items()
    ]
    assert all(ablation.answers()[name] == each for name, each in changes)
    assert {name for name, _ in changes if ": " not in name} == {"recipe", "PUCT, 128 simulations"}


@pytest.mark.parametrize(
    "freedom, quantile",
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (14, 2.145)],
)
def test_quantiles_are_student_s(freedom: int, quantile: float) -> None:
    assert ablation.student(freedom) == pytest.approx(quantile, abs=0.005)


def test_seeds_of_all_answers_tell_of_the_deviation_of_one() -> None:
    """Squares around the means 2, 6, 7: 1 + 0 + 1, 1 + 1, 0.

    Together 4, with 2 + 1 + 0 = 3 degrees of freedom, so t is 3.182.
    """
    half = ablation.half_width([[1.0, 2.0, 3.0], [5.0, 7.0], [7.0]])
    assert half == pytest.approx(3.182 * (4 / 3) ** 0.5, abs=0.003)
    assert ablation.interval([1.0, 2.0, 3.0], 3.0) == "2.00 ± 1.73"  # 3 / sqrt(3)
    assert ablation.interval([7.0], 3.0) == "7.00 ± 3.00"
    assert ablation.interval([7.0], ablation.half_width([[7.0], [8.0]])) == "7.00"


def test_five_questions_have_every_seed_and_come_first() -> None:
    plan = ablation.plan(list(ablation.QUESTIONS), [4, 5, 6])
    thorough = len(ablation.THOROUGH)
    assert plan[: 3 * thorough] == [(answer, seed) for seed in (4, 5, 6) for answer in ablation.THOROUGH]
    assert {seed for _, seed in plan[3 * thorough :]} == {4}
    assert {answer for answer, _ in plan} == set(ablation.answers()) and len(set(plan)) == len(plan)
    asked = [
        name
        for name, named in ablation.QUESTIONS.items()
        if any(ablation.name_of(name, each) in ablation.THOROUGH[1:] for each in named)
    ]
    assert asked[:5] == [
        "search kind",
        "simulations",
        "value mixing",
        "window and reuse",
        "network size",
    ]


def record(answer: str, seed: int, mistakes: float, minutes: float = 10.0) -> dict[str, object]:
    key = {"answer": answer, "seed": seed, "minutes": minutes, "changes": ablation.answers()[answer]}
    return {**key, "commit": "0ed72c4", "cycles": 8, **dict.fromkeys(ablation.FIGURES, mistakes)}


def test_the_table_has_a_row_for_each_answer_on_record() -> None:
    records = [
        record("recipe", 1, 4.0),
        record("gate: 60 games", 1, 3.0),
        record("gate: 60 games", 2, 5.0),
    ]
    *table, blank, commits = ablation.table(records).splitlines()
    assert (blank, commits) == ("", "runs by commit: 3 of 0ed72c4")
    rows = [row for row in table[2:] if "not measured" not in row]
    assert [row for row in rows if row.startswith("| gate |")] == [
        "| gate | recipe | 1 | 8 | 4.00 ± 17.97 | 4.00 ± 17.97 | 4.00 ± 17.97 | 4.00 ± 17.97 |",
        # 12.706 * sqrt(2) / sqrt(2)
        "| gate | 60 games | 2 | 8 | 4.00 ± 12.71 | 4.00 ± 12.71 | 4.00 ± 12.71 | 4.00 ± 12.71 |",
    ]
    assert len(rows) == sum("recipe" in named for named in ablation.QUESTIONS.values()) + 1


def test_what_is_on_record_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ran = tmp_path / "records.jsonl", list[tuple[list[str], int]]()

    def run_once(changes: list[str], seed: int, minutes: float, core: int) -> dict[str, object]:
        ran.append((changes, seed))
        return {"seconds": 1.0, "cycles": 2, **dict.fromkeys(ablation.FIGURES, 1.0)}

    monkeypatch.setattr(ablation, "run_once", run_once)
    monkeypatch.setattr(
        "sys.argv", ["ablation.py", "--seeds", "1,2", "--questions", "gate", "--records", str(path)]
    )
    shorter, older = (
        record("gate: 60 games", 1, 3.0, 5.0),
        record("gate: 60 games", 1, 3.0) | {"changes": ["evaluate.games=40"]},
    )
    path.write_text("".join(json.dumps(each) + "\n" for each in (record("recipe", 2, 4.0), shorter, older)))
    ablation.main()
    gated = ablation.QUESTIONS["gate"]["60 games"]
    assert sorted(ran) == [([], 1), (gated, 1)]  # at once, a core each
    ran.clear()
    ablation.main()
    assert ran == [] and len(ablation.read_records(path, 10.0)) == 3


def test_seeds_that_are_none_are_refused() -> None:
    with pytest.raises(UserError, match="--seeds=1,x"):
        whole_numbers("1,x", "--seeds", "1,2,3")
