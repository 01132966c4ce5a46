"""A refused command leaves nothing behind: no folder, no lock file, no state."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy import NAME, advance, toy_config

from azero import loop
from azero.config.schema import (
    Config,
    EvaluateConfig,
    GameConfig,
    InferenceConfig,
    NetworkConfig,
    OracleConfig,
    SelfplayConfig,
    UserError,
)
from azero.run.folder import paths_of
from azero.run.run import Run
from azero.run.state import STAGES

STAGE_PROGRAMS = {str(name): importlib.import_module(f"azero.{name}").run_asked for name in STAGES}
PROGRAMS = {"loop": loop.run_asked, "initialize": STAGE_PROGRAMS["initialize"]}
WRONG = {
    "game": ({"game": GameConfig("missing.py")}, "missing.py"),
    "options": ({"game": GameConfig(options={"size": 5})}, r"game\.options\.size"),
    "device": ({"device": "cuda"}, "device=cuda"),
    "backend": ({"inference": InferenceConfig("torch", "int8")}, "int8"),
    "positions": ({"oracle": OracleConfig(file="nothing.gz")}, "nothing.gz"),
    "self-play": (
        {"selfplay": SelfplayConfig(games=10**9, concurrent_games=10**9)},
        r"Self-play of tictactoe would take .* lower selfplay\.concurrent_games",
    ),
    "match": (
        {"evaluate": EvaluateConfig(games=10**9)},
        r"A match of tictactoe would take .* lower evaluate\.games",
    ),
    "cells": (
        {"game": GameConfig("connect_four"), "network": NetworkConfig(head="spatial")},
        r"network\.head=spatial needs .* Set network\.head=convolutional",
    ),
    "source": ({"init_from": "nothing"}, "no run nothing"),
}


BROKEN = """
from dataclasses import replace
from azero.games import game as interface, tictactoe

@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    for cell in range(9):
        mask[cell] = cell < 8

def make_game(size=3):
    game = tictactoe.make_game()
    return replace(game, name="broken", rules=game.rules._replace(legal_mask=legal_mask))
"""


def files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)
def test_a_run_that_cannot_begin_is_refused_before_anything_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: Callable[[Config, str], int],
    changes: dict[str, object],
    said: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=said):
        program(toy_config(tmp_path, **changes), NAME)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_stage_of_a_run_that_is_not_there_is_refused_before_anything_is_written(
    tmp_path: Path, stage: str
) -> None:
    with pytest.raises(UserError, match=f"Run {NAME} has not begun: .* initialize comes next, not {stage}"):
        STAGE_PROGRAMS[stage](toy_config(tmp_path), NAME)
    assert files_in(tmp_path) == []


def test_a_source_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    advance(config, until="selfplay")
    second = replace(config, init_from=NAME, run="second")
    before = files_in(tmp_path)
    for changes in ({"network": NetworkConfig(blocks=2, channels=8)}, {"game": GameConfig("connect_four")}):
        with pytest.raises(UserError, match="network"):
            loop.run_asked(replace(second, **changes), "second")
        assert files_in(tmp_path) == before


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_file_with_broken_rules_is_refused_with_the_finding_and_the_program_that_says_more(
    tmp_path: Path, program: Callable[[Config, str], int]
) -> None:
    path = tmp_path / "my rules.py"
    path.write_text(BROKEN)
    before = files_in(tmp_path)
    with pytest.raises(UserError) as refusal:
        program(toy_config(tmp_path, game=GameConfig(str(path), options={"size": 3})), NAME)
    said = str(refusal.value)
    assert said.startswith(f"The rules of {path} are broken: ") and "\n" not in said
    assert "mirror" in said and said.endswith(f"; azero check_game 'game={path}' size=3 shows where.")
    assert files_in(tmp_path) == before


def test_a_run_that_has_begun_no_longer_needs_its_source(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=0)
    advance(config, until="selfplay")
    second = replace(config, init_from=NAME, run="second")
    assert loop.run_asked(second, "second") == 0
    paths_of(config, NAME).state.rename(tmp_path / "gone.json")
    assert loop.run_asked(second, "second") == 0


@pytest.mark.parametrize("place", ["checkpoints", "data"])
def test_a_folder_of_something_else_gets_no_lock_and_no_folder_beside_it(tmp_path: Path, place: str) -> None:
    thesis = tmp_path / place / NAME / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("all of it")
    before = files_in(tmp_path)
    with pytest.raises(UserError, match="thesis"):
        loop.run_asked(toy_config(tmp_path), NAME)
    assert files_in(tmp_path) == before


def test_data_that_another_run_works_on_is_refused_and_its_lock_stays(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    with Run.open(config, NAME, "the other one"):
        before = files_in(tmp_path)
        with pytest.raises(UserError, match=r"is in use by .*the other one"):
            loop.run_asked(replace(config, checkpoints=str(tmp_path / "elsewhere")), NAME)
        assert files_in(tmp_path) == before
