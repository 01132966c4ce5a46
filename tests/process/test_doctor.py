"""The doctor: healthy runs are left in peace, and each illness is named with what to do."""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import TrainedRun
from toy import NAME, Told, toy_config

from azero import doctor, loop
from azero.config.schema import Config, flatten
from azero.games import make_game
from azero.replay.examples import GameRecord, pairs_of, plies_of
from azero.replay.shards import dump_games
from azero.run.run import Run
from azero.run.state import AsideEntry
from azero.stages.diagnosis import CHECKS, Case, case_of, examine, newest_games, rules_of

HEALTHY = {
    **{"selfplay/target_entropy": 1.1, "selfplay/games": 40.0, "selfplay/distinct_games": 38.0},
    "selfplay/draws": 0.2,
    **{"selfplay/idle_share": 0.05, "selfplay/batch_fill": 0.8},
    **{"replay/window_examples": 4000.0, "replay/new_share": 0.25, "replay/trained_examples": 3000.0},
    **{"evaluate/promoted": 1.0, "evaluate/games": 40.0, "evaluate/distinct": 33.0},
}


def game_of(number: int, first_outcome: float, expected: float, sure: bool = False) -> GameRecord:
    """A game of four plies of tic-tac-toe, the first an opening; the search expects this value for the first
    player, and its policies are one move only where it is `sure`.
    """
    to_play = np.array([0, 1, 0, 1], np.int8)
    sign = 1 - 2 * to_play.astype(np.float32)
    return GameRecord(
        number=number,
        states=np.zeros((4, 2), np.uint64),
        to_play=to_play,
        actions=np.arange(4, dtype=np.int32),
        **pairs_of(np.full((4, 9), 1 / 9) if not sure else np.eye(9)[:4]),
        root_value=np.where(to_play >= 0, sign * np.float32(expected), 0),
        searched=np.array([False, True, True, True]),
        first_outcome=first_outcome,
    )


def games_of(expect: float = 0.6, constant: float | None = None) -> list[GameRecord]:
    """Forty games, won and lost in turn; the search expects `expect` times the outcome, or ±`constant`."""
    sign = [1.0 - 2 * (g % 2) for g in range(40)]
    return [
        game_of(g, out, expect * out if constant is None else constant * sign[g // 2])
        for g, out in enumerate(sign)
    ]


def sure_games() -> list[GameRecord]:
    """Forty games whose policies are one move only, though others are legal."""
    return [game_of(g, 1.0 - 2 * (g % 2), 0.6 - 1.2 * (g % 2), sure=True) for g in range(40)]


def case(
    cycles: int = 8,
    games: list[GameRecord] | None = None,
    settings: dict[str, Any] | None = None,
    **stats: float,
) -> Case:
    """A run, healthy but for its games, its settings, or stats of all its cycles (`__` for a slash)."""
    row = HEALTHY | {tag.replace("__", "/"): value for tag, value in stats.items()}
    games = games_of() if games is None else games
    return Case(flatten(Config()) | (settings or {}), [row] * cycles, games, game=make_game("tictactoe"))


def found_in(config: Config) -> Case:
    """What the files of the toy run hold."""
    return case_of(Run.read(config, NAME), make_game("tictactoe"))


def slowed(tag: str, share: float, cycles: int = 6, seconds: float = 9.0) -> Case:
    """A run whose last cycle had that share of the speed before; its stages took so many seconds."""
    usual = HEALTHY | {tag: 1000.0, "time/selfplay": seconds, "time/train": seconds}
    first, last = usual | {tag: 10.0}, usual | {tag: 1000.0 * share}  # the first cycle compiled
    return Case(flatten(Config()), [first, *[usual] * (cycles - 2), last], games_of())


SICK = {
    "value sign": [case(games=games_of(expect=-0.6))],
    "value head": [case(games=games_of(constant=0.01))],
    "policy": [case(selfplay__target_entropy=0.01, games=sure_games())],
    "loss": [
        case(loss__policy=8978.0, loss__value=2.0),
        case(loss__policy=2.5, loss__value=0.5),  # ln 9 is 2.2
        case(loss__policy=1.5, loss__value=1.2),
        case(loss__value=math.inf),
        case(settings={"network.value_output": "wdl"}, loss__value=1.3),  # ln 3 is 1.1
        case(settings={"train.policy_loss": "mse"}, loss__policy=0.1, loss__value=3.0),
    ],
    "games": [case(selfplay__distinct_games=1.0), case(evaluate__distinct=2.0)],
    "draws": [case(selfplay__draws=1.0)],
    "one side": [
        case(selfplay__first_wins=1.0, selfplay__second_wins=0.0, loss__value=2e-07),
        case(selfplay__first_wins=0.0, selfplay__second_wins=1.0, loss__value=0.004),
    ],
    "window": [case(settings={"train.epochs": 40.0}), case(replay__new_share=0.005)],  # 120, and 300 uses
    "cluster": [
        case(cluster__workers=8.0, cluster__head_busy=0.9, time__selfplay=60.0),
        case(cluster__workers=8.0, time__selfplay=10.0, time__train=60.0),
        case(cluster__workers=8.0, time__selfplay=0.1, cluster__play_seconds=10.0, time__train=60.0),
    ],
    "gate": [case(evaluate__promoted=0.0)],
    "files": [case(settings={"network.file": "/gone/net.py"})],
    "champion": [replace(case(), damage="The champion is damaged; put a copy of it back, or begin anew.")],
    "left out": [replace(case(), aside=[AsideEntry(2, 37, "killed"), AsideEntry(4, 5, "no memory")])],
    "workers": [case(selfplay__idle_share=0.5), case(selfplay__batch_fill=0.1)],
    "machine": [slowed("selfplay/simulations_per_second", 0.4), slowed("train/steps_per_second", 0.01)],
}


def test_the_workers_worth_having_are_named() -> None:
    """8 workers that keep the head busy for 0.9: 0.7 of it by 8 * 0.7 / 0.9 = 6.2; 8 * 10 s / 60 s = 1.3."""
    saturated, *waiting = (examine(each)["cluster"] for each in SICK["cluster"])
    assert "about 6 workers are worth having" in saturated and "90 %" in saturated
    assert all("2 of 8 workers are worth having" in sentence for sentence in waiting)


def test_a_match_on_the_workers_is_their_work() -> None:
    """8 workers play 6 s of self-play and 4 s of the match while training takes 60 s: 8 * 10 / 60 = 1.3."""
    here = case(cluster__workers=8.0, time__selfplay=6.0, time__evaluate=4.0, time__train=60.0)
    cycles = [{**stats, "cluster/match_workers": 8.0} for stats in here.cycles]
    spread, alone = examine(replace(here, cycles=cycles)), examine(here)
    assert "play for 10 s of a cycle, and training takes 60 s: 2 of 8 workers" in spread["cluster"]
    assert "play for 6 s of a cycle, and training and the match take 64 s: 1 of 8" in alone["cluster"]


def test_workers_that_play_while_the_head_trains_count_for_the_time_in_which_they_play() -> None:
    beside: Any = {"cluster__workers": 8.0, "time__selfplay": 0.1, "time__train": 60.0}
    overlap = {"cluster.overlap": True}
    assert examine(case(settings=overlap, cluster__play_seconds=50.0, **beside)) == {}
    sentence = examine(case(settings=overlap, cluster__play_seconds=10.0, **beside))["cluster"]
    assert "play for 10 s of a cycle" in sentence and "cluster.overlap" not in sentence


def test_a_healthy_run_is_left_in_peace() -> None:
    assert examine(case()) == {}


@pytest.mark.parametrize("about", CHECKS)
def test_each_illness_is_named_alone_in_one_sentence_that_says_what_to_do(about: str) -> None:
    for sick in SICK[about]:
        found = examine(sick)
        assert list(found) == [about]
        sentence = found[about]
        assert sentence.endswith(".") and sentence.count(": ") == 1 and "nan" not in sentence
        after = sentence.split(": ")[1]
        settings = re.findall(r"\b(?:search|selfplay|train|evaluate)\.\w+", sentence)
        assert set(settings) <= flatten(Config()).keys()
        assert (
            settings
            or "azero check_game" in after
            or "workers" in after
            or "play_game" in after
            or "end those programs" in after
            or "put what is missing back" in after
            or "put a copy of it back" in after
        )


@pytest.mark.parametrize(
    "about, settings, named",
    [
        (
            "policy",
            {"search.kind": "gumbel"},
            {"selfplay.temperature", "selfplay.opening_fraction", "search.value_scale", "train.lr"},
        ),
        ("policy", {"search.kind": "puct"}, {"search.dirichlet_fraction", "search.c_puct", "train.lr"}),
        (
            "gate",
            {"evaluate.gate": "sequential"},
            {"evaluate.most_games", "evaluate.elo1", "evaluate.gate", "train.lr"},
        ),
    ],
)
def test_what_to_change_is_what_the_run_uses(about: str, settings: dict[str, Any], named: set[str]) -> None:
    sick = SICK[about][0]
    sick = replace(sick, config={**sick.config, **settings})
    assert set(re.findall(r"\b(?:search|selfplay|train|evaluate)\.\w+", examine(sick)[about])) == named


@pytest.mark.parametrize(
    "about, well, sick",
    [
        (
            "policy",
            case(selfplay__target_entropy=0.06),
            case(selfplay__target_entropy=0.04, games=sure_games()),
        ),
        ("loss", case(loss__policy=2.4), case(loss__policy=2.45)),  # 1.1 ln 9 = 2.42
        ("loss", case(loss__value=1.09), case(loss__value=1.11)),  # all newest games are decided
        (
            "loss",
            case(settings={"network.value_output": "wdl"}, loss__value=1.19),
            case(settings={"network.value_output": "wdl"}, loss__value=1.22),
        ),
        ("workers", case(selfplay__idle_share=0.29), case(selfplay__idle_share=0.31)),
        ("workers", case(selfplay__batch_fill=0.26), case(selfplay__batch_fill=0.24)),
        ("machine", slowed("train/steps_per_second", 0.51), slowed("train/steps_per_second", 0.49)),
        (
            "machine",
            slowed("train/steps_per_second", 0.4, cycles=4),
            slowed("train/steps_per_second", 0.4, 5),
        ),
        (
            "machine",
            slowed("train/steps_per_second", 0.4, seconds=1.9),
            slowed("train/steps_per_second", 0.4, seconds=2.1),
        ),
        ("draws", case(selfplay__draws=0.98), case(selfplay__draws=0.99)),
        (
            "one side",
            case(selfplay__first_wins=1.0, loss__value=0.011),
            case(selfplay__first_wins=1.0, loss__value=0.009),
        ),
        (
            "one side",
            case(selfplay__first_wins=0.99, loss__value=0.001),
            case(selfplay__first_wins=1.0, loss__value=0.001),
        ),
        ("games", case(selfplay__distinct_games=3.0), case(selfplay__distinct_games=2.0)),  # of 40
        (
            "window",
            case(settings={"train.epochs": 16.0}),
            case(settings={"train.epochs": 17.0}),
        ),  # 48 uses, and 51
        ("value head", case(games=games_of(constant=0.021)), case(games=games_of(constant=0.019))),
    ],
)
def test_where_illness_begins(about: str, well: Case, sick: Case) -> None:
    assert examine(well) == {} and list(examine(sick)) == [about]


def test_a_value_loss_is_compared_with_the_games_of_the_window_and_not_with_the_newest_alone() -> None:
    """Newest games are drawn, so that their targets' mean square is 0, but three older cycles were not."""
    drawn = [game._replace(first_outcome=0.0) for game in games_of()]
    young = case(games=drawn, selfplay__draws=0.9, loss__value=0.5)
    decided = {**young.cycles[0], "selfplay/draws": 0.1}
    window = replace(young, cycles=[decided, *young.cycles[:3]])  # a new share of 0.25: four cycles
    assert examine(window) == {}
    assert list(examine(replace(window, cycles=[decided, *young.cycles[:4]]))) == ["loss"]


def test_forced_moves_are_no_collapse_of_the_policy() -> None:
    """One of three searched positions has a choice, and the search is unsure there: no finding; else one."""
    full = np.array([[0, 0]] * 3 + [[0b010101010, 0b101010100]], np.uint64)  # cell 0 alone is free
    for sure, found in ((False, []), (True, ["policy"])):
        target = np.eye(9, dtype=np.float32)[[0, 0, 0, 0]]
        target[1] = target[1] if sure else 1 / 9
        states = full[[0, 1, 3, 3]]
        games = [game._replace(states=states, **pairs_of(target)) for game in games_of()]
        assert list(examine(case(games=games, selfplay__target_entropy=0.01))) == found
    only = [game._replace(states=full[[3] * 4]) for game in sure_games()]
    assert examine(case(games=only, selfplay__target_entropy=0.0)) == {}


def test_without_rules_the_entropy_is_that_of_all_moves_and_nothing_bounds_the_policy_loss() -> None:
    ruled = case(selfplay__target_entropy=0.01, loss__policy=9.0)
    assert list(examine(ruled)) == ["loss"] and list(examine(replace(ruled, game=None))) == ["policy"]


def test_rules_that_are_gone_or_unnamed_are_none(tmp_path: Path) -> None:
    run = Run(toy_config(tmp_path), NAME)
    for config in ({"game.name": "/gone/mine.py", "game.options": {}}, {}):
        run.state = replace(run.state, config=config)
        assert rules_of(run) is None


def test_files_of_ones_own_that_are_gone_are_named(tmp_path: Path) -> None:
    here = tmp_path / "net.py"
    here.write_text("")
    config = {"game.name": "/gone/game.py", "network.file": str(here), "metrics": "/gone/count.py"}
    said = examine(replace(case(), config={**case().config, **config}))["files"]
    assert said == (
        "game.name=/gone/game.py and metrics=/gone/count.py cannot be found: put what is missing back."
    )


def test_games_that_the_rules_did_not_play_never_meet_them(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    game = make_game("tictactoe")
    with Run.open(config, "toy", "test") as run:  # no game begins anew at each ply
        entry = run.write_shard(1, 0, dump_games(plies_of(games_of()), game.name), 40, 120)
        run.commit(replace(run.state, shards=[entry]))
        assert len(newest_games(run)) == 40 and case_of(run, game).games == []


def test_a_learning_rate_of_100_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path, cycles=1)
    loop.run_asked(replace(config, train=replace(config.train, lr=100.0)), NAME)
    assert "doctor: Training has diverged" in capsys.readouterr().out
    assert doctor.run_asked(config, NAME) == 1
    said = capsys.readouterr().out
    assert said.startswith("loss: Training has diverged") and "lower train.lr, or set train.clip_norm" in said


def test_values_may_be_weakly_wrong_but_not_clearly() -> None:
    """Of 40 games 24 or 28 end against the value: the correlation is (16 - 24) / 40 = -0.2, or -0.4."""
    for against, found in ((24, []), (28, ["value sign"])):
        games = [
            game_of(g, 1.0 - 2 * (g % 2), (1.0 - 2 * (g % 2)) * (-0.6 if g < against else 0.6))
            for g in range(40)
        ]
        assert list(examine(case(games=games))) == found


def test_a_bound_on_uses_keeps_the_window_from_being_overused() -> None:
    assert examine(case(settings={"train.epochs": 40.0, "train.max_uses": 8.0})) == {}


def test_a_young_run_is_not_judged_by_what_it_cannot_have_learned() -> None:
    """The first cycles' network knows nothing, so its values may well have the wrong sign."""
    for games in (games_of(expect=-0.6), games_of(constant=0.01)):
        assert examine(case(cycles=1, games=games)) == {}
    assert examine(case(cycles=4, evaluate__promoted=0.0)) == {}
    assert examine(Case(flatten(Config()), [], [])) == {}


def test_the_gate_may_rest_for_some_cycles_after_a_promotion() -> None:
    turned_away = [HEALTHY | {"evaluate/promoted": 0.0}] * 7
    rested = Case(flatten(Config()), [HEALTHY, *turned_away], games_of())
    assert examine(rested) == {}
    assert list(examine(replace(rested, cycles=[*rested.cycles, *turned_away[:1]]))) == ["gate"]


def test_a_few_games_prove_nothing() -> None:
    few = games_of(expect=-0.6)[:10]
    assert (
        examine(case(games=few, selfplay__games=10.0, selfplay__distinct_games=1.0, selfplay__draws=1.0))
        == {}
    )


def test_a_damaged_champion_is_found(trained_run: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained_run.checkpoints, tmp_path / "checkpoints")
    config = Config(checkpoints=str(tmp_path / "checkpoints"), data=str(trained_run.data))
    run = Run.read(config, "trained")
    assert run.state.champion is not None
    file = tmp_path / "checkpoints/trained" / run.state.champion.file
    file.write_bytes(file.read_bytes()[:1000])
    found = examine(case_of(run, None))["champion"]
    assert f"{file} is damaged" in found and found.endswith("with accept_previous=true.")


def test_without_figures_nothing_is_found() -> None:
    assert examine(Case({}, [{}], [])) == {}


def test_the_toy_run_and_the_trained_run_are_healthy(
    tmp_path: Path,
    trained_run: TrainedRun,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("azero.stages.diagnosis.SLOW", 0.0)  # other tests use the cores meanwhile
    toy = toy_config(tmp_path)
    loop.run_asked(toy, NAME)
    assert "doctor" not in capsys.readouterr().out and examine(found_in(toy)) == {}
    assert HEALTHY.keys() <= found_in(toy).cycles[-1].keys()  # the checks look at what the stages tell
    found = [line for line in trained_run.output.splitlines() if "doctor" in line]
    assert not [line for line in found if "usual speed" not in line]
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data))
    with_files = case_of(Run.read(config, trained_run.name), make_game("tictactoe"))
    assert len(with_files.cycles) == 5 and len(with_files.games) == 3000 and with_files.trained
    assert doctor.run_asked(config, trained_run.name) == 0
    assert capsys.readouterr().out == f"No problems found in 5 cycles of run {trained_run.name}.\n"


def test_a_run_without_chance_is_told_that_all_its_games_are_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = toy_config(tmp_path, cycles=2)
    greedy = replace(toy.selfplay, temperature=0.0)
    loop.run_asked(replace(toy, selfplay=greedy, search=replace(toy.search, dirichlet_fraction=0.0)), NAME)
    assert capsys.readouterr().out.count("doctor: Only 1 of the newest 40 games of self-play differ") == 1


def test_the_program_tells_what_it_found_and_its_status_says_so(
    trained_run: TrainedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data))
    monkeypatch.setattr("azero.doctor.case_of", lambda run, game: case(selfplay__draws=1.0))
    assert doctor.run_asked(config, trained_run.name) == 1
    assert capsys.readouterr().out.startswith("draws: All games of self-play are drawn, so")


@pytest.fixture(scope="module")
def in_two_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a toy run of one cycle, whose 40 games lie in files of 25 and 15."""
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("azero.replay.shards.SHARD_GAMES", 25)
        patch.setattr("azero.stages.measure.report_cycle", lambda *of: None)
        patch.setattr("azero.stages.measure.report_run", lambda *of: None)
        loop.run_asked(toy_config(folder, cycles=1), NAME)
    return folder


def test_all_files_of_the_newest_cycle_are_looked_at(in_two_files: Path) -> None:
    """Of many games the last file may hold a few only; and stats of the cycle before say nothing of them."""
    toy = toy_config(in_two_files)
    run = Run.read(toy, NAME)
    assert [shard.games for shard in run.state.shards] == [25, 15] and len(found_in(toy).games) == 40
    assert (
        examine(case(games=games_of() * 50)) == {}
    )  # 38 of 40 games differ in the newest cycle whose stats are known


def test_a_damaged_shard_is_no_reason_to_fail(in_two_files: Path, tmp_path: Path) -> None:
    shutil.copytree(in_two_files, tmp_path, dirs_exist_ok=True)
    config = toy_config(tmp_path)
    run = Run.read(config, NAME)
    for shard in run.state.shards:
        run.paths.of(shard.file).write_bytes(b"something else")
    assert found_in(config).games == [] and found_in(config).cycles


def test_the_loop_warns_once_of_each_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = iter([{"draws": "All drawn."}, {"draws": "All drawn.", "gate": "Stuck."}, {}])
    monkeypatch.setattr("azero.stages.diagnosis.case_of", lambda run, game: None)
    monkeypatch.setattr("azero.stages.diagnosis.examine", lambda case: next(found))
    report, warned = Told(), set[str]()
    for _ in range(3):
        loop.warn(Run(toy_config(tmp_path), NAME), report, warned)
    assert report.messages == ["doctor: All drawn.", "doctor: Stuck."]
