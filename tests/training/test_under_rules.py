"""Stored games meet the rules only after the rules have played them again."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from targets import rows_of_targets
from toy import NAME, advance, toy_config
from twins import listed

from azero.config.schema import GameConfig, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.records.selfplay import read_selfplay
from azero.replay.examples import GameRecord, pairs_of, plies_of
from azero.replay.shards import OtherRules, dump_games, load_games, load_partial, load_window
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import ShardEntry

GAMES: dict[str, dict[str, Any]] = {
    "tictactoe": {},
    "connect_four": {},
    "othello": {"size": 6},
    "go": {"size": 5},
    "gomoku": {"rows": 5, "columns": 5, "connect": 4},
    "hex": {"size": 4},
}


def random_game(game: Game, seed: int, repeats: bool = False) -> GameRecord:
    """A whole game of random moves that the rules and, without `repeats`, its history allow."""
    rng, state = np.random.default_rng(seed), game.initial_state()
    states, to_play, actions, targets = list[np.ndarray](), list[int](), list[int](), list[np.ndarray]()
    seen: list[bytes] = []
    while not game.is_terminal(state) and len(actions) < game.max_plies:
        legal, here = game.legal_mask(state), key_of(game, state)
        for action in np.flatnonzero(legal).tolist() if here and not repeats else []:
            there = key_of(game, game.step(state, action))
            legal[action] = there == here or there not in seen
        if repeats and legal.sum() > 1:
            legal[-1] = False  # a pass, after which games end soon
        seen.append(here)
        action = int(rng.choice(np.flatnonzero(legal)))
        states.append(state)
        to_play.append(game.to_play(state))
        actions.append(action)
        targets.append(legal / legal.sum())
        state = game.step(state, action)
    return GameRecord(
        number=seed,
        states=np.array(states),
        to_play=np.array(to_play, np.int8),
        actions=np.array(actions, np.int32),
        **pairs_of(np.array(targets)),
        root_value=np.zeros(len(actions), np.float32),
        searched=np.ones(len(actions), np.bool_),
        first_outcome=game.first_outcome(state) if game.is_terminal(state) else 0.0,
    )


def key_of(game: Game, state: np.ndarray) -> bytes:
    """What must not come back; empty if anything may."""
    key = np.zeros(game.repetition_words, np.uint64)
    game.rules.repetition_key(state, key)
    return key.tobytes()


def with_columns(record: GameRecord, change: Callable[[np.ndarray], np.ndarray]) -> GameRecord:
    """Change every column of a game."""
    columns: dict[str, Any] = {
        name: change(column)
        for name, column in record._asdict().items()
        if isinstance(column, np.ndarray) and not name.startswith("target_")
    }
    targets = rows_of_targets(record, int(record.target_actions.max()) + 1)
    return record._replace(**columns, **pairs_of(change(targets)))


def shard_of(game: Game, records: list[GameRecord]) -> bytes:
    return dump_games(plies_of(records), game.name)


@pytest.mark.parametrize("name", GAMES)
def test_games_that_the_rules_played_are_read(name: str) -> None:
    game = make_game(name, **GAMES[name])
    records = [random_game(game, seed) for seed in range(20)]
    read = load_games(shard_of(game, records), "shard", game).games()
    assert [each.actions.tolist() for each in read] == [each.actions.tolist() for each in records]
    assert {each.first_outcome for each in read} > {1.0}


def test_games_of_rules_that_list_moves_are_read_and_checked() -> None:
    game = listed(make_game("tictactoe"))
    records = [random_game(game, seed) for seed in range(20)]
    assert len(load_games(shard_of(game, records), "shard", game).games()) == 20
    for change in (played_on_a_stone, searched_on_a_stone, more_actions):
        with pytest.raises(OtherRules):
            load_games(shard_of(game, [change(game, records[0])]), "shard", game)


def random_words(game: Game, record: GameRecord) -> GameRecord:
    words = np.random.default_rng(1).integers(0, 2**64, record.states.shape, np.uint64)
    return record._replace(states=words)


def one_bit(game: Game, record: GameRecord) -> GameRecord:
    states = record.states.copy()
    states[-1, -1] ^= np.uint64(1 << 60)
    return record._replace(states=states)


def other_player(game: Game, record: GameRecord) -> GameRecord:
    return record._replace(to_play=1 - record.to_play)


def other_outcome(game: Game, record: GameRecord) -> GameRecord:
    return record._replace(first_outcome=-record.first_outcome)


def longer_by_a_ply(game: Game, record: GameRecord) -> GameRecord:
    end = game.step(record.states[-1], int(record.actions[-1]))
    longer = with_columns(record, lambda column: np.concatenate([column, column[-1:]]))
    longer.states[-1] = end
    return longer


def won_before_the_end(game: Game, record: GameRecord) -> GameRecord:
    return with_columns(record, lambda column: column[:-1])


def played_on_a_stone(game: Game, record: GameRecord) -> GameRecord:
    actions = record.actions.copy()
    actions[1] = np.flatnonzero(~game.legal_mask(record.states[1]))[0]
    return record._replace(actions=actions)


def searched_on_a_stone(game: Game, record: GameRecord) -> GameRecord:
    targets = rows_of_targets(record, game.num_actions)
    targets[1] = ~game.legal_mask(record.states[1])
    return record._replace(**pairs_of(targets / targets.sum(axis=1, keepdims=True)))


def wider_state(game: Game, record: GameRecord) -> GameRecord:
    return record._replace(states=np.hstack([record.states, record.states[:, :1]]))


def narrower_state(game: Game, record: GameRecord) -> GameRecord:
    return record._replace(states=np.ascontiguousarray(record.states[:, :1]))


def more_actions(game: Game, record: GameRecord) -> GameRecord:
    actions = record.target_actions.copy()
    actions[record.target_counts[0] - 1] = game.num_actions
    return record._replace(target_actions=actions)


Change = Callable[[Game, GameRecord], GameRecord]
CHANGES: list[Change] = [
    random_words, one_bit, other_player, other_outcome, longer_by_a_ply, won_before_the_end, wider_state,
    played_on_a_stone, searched_on_a_stone, narrower_state, more_actions,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["go", "hex", "othello"])
def test_games_that_the_rules_did_not_play_never_reach_them(name: str, change: Change) -> None:
    game = make_game(name, **GAMES[name])
    records = [random_game(game, seed) for seed in range(8)]
    seed = next(each.number for each in records if each.first_outcome)
    records[seed] = change(game, records[seed])
    if change in (wider_state, narrower_state):  # all rows of a column are of one width
        records = records[seed : seed + 1]
    data = shard_of(game, records)
    load_games(data, "shard")  # nothing but the rules can say so
    with pytest.raises(OtherRules):
        load_games(data, "shard", game)


def test_games_of_another_game_or_board_are_refused() -> None:
    small, large = (make_game("go", size=size) for size in (5, 7))
    data = shard_of(small, [random_game(small, 1)])
    for other in (large, make_game("tictactoe"), replace(small, name="shogi")):
        with pytest.raises(OtherRules):
            load_games(data, "shard", other)


def test_a_move_that_repeats_a_position_is_refused() -> None:
    game, repeated = make_game("go", size=3, max_plies=200), 0
    for seed in range(100):
        record = random_game(game, seed, repeats=True)
        keys = [key_of(game, state) for state in record.states]
        pairs = enumerate(pairwise(keys))
        place = next(
            (place for place, (here, there) in pairs if there != here and there in keys[:place]), None
        )
        if place is None:
            continue
        repeated += 1
        cut = with_columns(record, itemgetter(slice(place + 1)))._replace(first_outcome=0.0)
        data = shard_of(game, [cut])
        with pytest.raises(OtherRules, match=f"at ply {place} its move repeats an earlier position"):
            load_games(data, "shard", game)
    assert repeated > 20


CONFIGS: dict[str, dict[str, Any]] = {
    "puct": {"search": SearchConfig(kind="puct", num_simulations=8)},
    "gumbel": {"search": SearchConfig(kind="gumbel", num_simulations=8)},
    "go": {"game": GameConfig(name="go", options={"size": 5})},
    "openings": {"game": GameConfig(name="go", options={"size": 3, "max_plies": 60})},
    "openspiel": {"game": GameConfig(name="openspiel:tic_tac_toe", engine="openspiel")},
    "cut": {"game": GameConfig(name="openspiel:tic_tac_toe", options={"max_plies": 6}, engine="openspiel")},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_what_self_play_wrote_is_read_without_a_loss(tmp_path: Path, name: str) -> None:
    if "openspiel" in str(CONFIGS[name]) and not importlib.util.find_spec("pyspiel"):
        pytest.skip("OpenSpiel is not installed")
    config = toy_config(tmp_path, **CONFIGS[name])
    if name == "openings":
        selfplay = SelfplayConfig(games=40, concurrent_games=16, opening_fraction=1.0, opening_plies=9)
        config = replace(config, selfplay=selfplay)
    assert advance(config, until="evaluate").quarantine == []
    run = Run.read(config, NAME)
    game = make_game(config.game.name, **config.game.options)
    said: list[str] = []
    assert len(list(read_selfplay(run, game, run.state.shards, said.append))) == 40 and not said


@pytest.fixture
def run(tmp_path: Path) -> Any:
    with Run.open(toy_config(tmp_path, game=GameConfig(name="go", options={"size": 5})), NAME, "test") as run:
        yield run


def add(run: Run, cycle: int, records: list[GameRecord]) -> ShardEntry:
    entry = run.write_shard(cycle, 0, dump_games(plies_of(records), "go"), len(records), 99)
    run.commit(replace(run.state, shards=[*run.state.shards, entry]))
    return entry


@pytest.mark.parametrize("change", CHANGES)
def test_a_shard_of_other_games_with_the_right_digest_goes_to_quarantine(run: Run, change: Change) -> None:
    game = make_game("go", size=5)
    records = [random_game(game, seed) for seed in range(30)]
    add(run, 1, records)
    won = next(record for record in records if record.first_outcome)
    entry = add(run, 2, [change(game, won)])
    said: list[str] = []
    examples = load_window(run, game, 400, said.append, occupation=True)
    assert len(examples.states) == min(400, sum(len(record.actions) for record in records))
    assert [each.file for each in run.state.quarantine] == [entry.file]
    assert len(said) == 1 and entry.file in said[0] and len(said[0].splitlines()) == 1


def test_random_words_alone_are_a_sentence(run: Run) -> None:
    game = make_game("go", size=5)
    entry = add(run, 1, [random_words(game, random_game(game, 1))])
    with pytest.raises(DamagedFile, match="do not play its game 1 so: at ply 0"):
        list(read_selfplay(run, game, [entry], print))
    with pytest.raises(UserError, match="no whole shard"):
        load_window(run, game, 400)
    part = run.write_shard(1, 0, shard_of(game, [random_words(game, random_game(game, 1))]), 1, 9)
    run.commit(replace(run.state, partial=[part]))
    assert load_partial(run, game) == [] and not run.state.partial
