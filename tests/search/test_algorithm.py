"""A search algorithm is one file: UCB1 of `toy_search.py`, outside the package, plays and makes examples."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from places import PROJECT
from searching import FakeInference, after
from targets import rows_of_targets
from trees import action_at, root_with

from azero.cli.hydra_program import compose
from azero.config.schema import Config, SearchConfig, SelfplayConfig, UserError
from azero.games.game import Game
from azero.match.lockstep import play_match
from azero.players import make_player
from azero.players.pv_mcts import PvMcts
from azero.process.kernel_cache import OWN_SEARCH, kernel_folder
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord, examples_of, plies_of
from azero.report.console import Progress
from azero.search.algorithm import check, find_kind, with_kind
from azero.search.tree import ROOT
from azero.workers.threads import GameQueue, play_games

TOY = str(PROJECT / "tests" / "support" / "toy_search.py")
UCB = SearchConfig(kind=TOY, num_simulations=20, tree_reuse=False)


def self_play(game: Game, search: SearchConfig, games: int = 12) -> list[GameRecord]:
    config = Config(search=search, selfplay=SelfplayConfig(games=games))
    seeds = game_seeds(1, 1, SELFPLAY, games)
    return play_games(
        game,
        [FakeInference(game)],
        config,
        GameQueue(iter(range(games))),
        seeds,
        Progress(),
        StopSignal(),
    )[0]


def ucb_search(game: Game, root: np.ndarray, simulations: int, exploration: float) -> list[int]:
    """A plain twin: how often UCB1 visits each move of a position, evaluated as FakeInference does."""
    answer = FakeInference(game).answer
    tree: dict[tuple[int, ...], list[float]] = {}  # moves from the root: visits, sum for the player to move

    def simulate(state: np.ndarray, moves: tuple[int, ...]) -> float:
        """Return the value for the player to move at `state`."""
        if game.is_terminal(state):
            value = float(game.outcome(state))
        elif moves not in tree:
            value = float(answer(game.planes(state))[1])
        else:

            def score(action: int) -> float:
                visits, total = tree.get((*moves, action), (0, 0.0))
                if not visits:
                    return math.inf
                return -total / visits + exploration * math.sqrt(math.log(tree[moves][0]) / visits)

            action = max(game.legal_actions(state), key=score)
            value = -simulate(game.step(state, action), (*moves, action))
        visits, total = tree.get(moves, (0, 0.0))
        tree[moves] = [visits + 1, total + value]
        return value

    for _ in range(simulations + 1):  # the first evaluates the root
        simulate(root, ())
    return [int(tree.get((action,), (0, 0.0))[0]) for action in range(game.num_actions)]


@pytest.mark.long
def test_a_player_searches_with_an_algorithm_of_one_s_own(game: Game) -> None:
    player = PvMcts(game, FakeInference(game), UCB)
    states = np.stack([after(game), after(game, 4, 0), after(game, 0, 3, 1)])
    player.new_games(np.zeros(3, np.uint64))
    player.search_states(states, np.arange(3))
    expected = [ucb_search(game, state, 20, 1.4) for state in states]
    assert player.visit_counts(np.arange(3)).tolist() == expected
    player.new_games(np.zeros(1, np.uint64))  # alone, with prefetch
    player.search_states(states[:1], np.zeros(1, np.int64))
    assert player.visit_counts(np.zeros(1, np.int64)).tolist() == expected[:1]


@pytest.mark.long
def test_two_searches_with_the_same_constants_stay_apart(game: Game, tmp_path: Path) -> None:
    """Numba tells records apart by the types of their fields: the second file would run the first one's code.

    It prefers the last of equal moves: 10 simulations visit each of nine moves once, and one of them twice.
    """
    for folder, better in (("first", ">"), ("last", ">=")):
        (tmp_path / folder).mkdir()
        text = Path(TOY).read_text().replace("score > best_score", f"score {better} best_score")
        (tmp_path / folder / "mine.py").write_text(text)
    even = FakeInference(game, lambda planes: (np.zeros(9, np.float32), np.float32(0)))
    visits = {}
    for folder in ("first", "last", "first"):
        search = replace(UCB, kind=str(tmp_path / folder / "mine.py"), num_simulations=10)
        player = PvMcts(game, even, search)
        player.new_games(np.zeros(1, np.uint64))
        player.search_states(after(game)[None], np.zeros(1, np.int64))
        visits[folder] = player.visit_counts(np.zeros(1, np.int64))[0].tolist()
    assert visits == {"first": [2, 1, 1, 1, 1, 1, 1, 1, 1], "last": [1, 1, 1, 1, 1, 1, 1, 1, 2]}


@pytest.mark.parametrize(("options", "exploration"), [({}, 1.4), ({"exploration": 0.1}, 0.1)])
def test_it_plays_games_whose_targets_are_the_shares_of_its_visits(
    game: Game, options: dict[str, float], exploration: float
) -> None:
    records, others = self_play(game, replace(UCB, options=options)), 1.5 - exploration
    assert len(records) == 12
    differs = False
    for record in records:
        for ply, state in enumerate(record.states):
            counts = np.array(ucb_search(game, state, 20, exploration))
            assert rows_of_targets(record, game.num_actions)[ply] == pytest.approx(counts / counts.sum())
            differs |= ucb_search(game, state, 20, others) != counts.tolist()
    assert differs  # the option counts
    assert len(examples_of(plies_of(records)).states) == sum(len(record.actions) for record in records)
    # Kernels of a file are not kept: their index would name the file's module, and a process without it could
    # read none of the index.
    kept = list(Path(kernel_folder()).rglob("games.*.nbi"))
    assert kept and not any(OWN_SEARCH.encode() in path.read_bytes() for path in kept)


@pytest.mark.long
def test_it_plays_a_match_as_a_player(game: Game) -> None:
    player = make_player("pv_mcts", game, inference=FakeInference(game), kind=TOY, num_simulations=20)
    assert isinstance(player, PvMcts) and player.search.kind == TOY
    result = play_match(game, (player, make_player("random", game)), np.arange(8, dtype=np.uint64))
    assert len(result.games) == 8
    timed = make_player("pv_mcts", game, inference=FakeInference(game), kind=TOY, seconds=0.05)
    assert timed.choose(after(game)[None], np.zeros(1, np.int64), np.zeros(1, np.int64))[0] in range(9)


def test_an_unknown_option_is_refused(game: Game) -> None:
    check(SearchConfig(kind=TOY, options={"exploration": 2.0}))
    wrong = SearchConfig(kind=TOY, options={"explore": 2.0})
    with pytest.raises(UserError, match=r"search\.options\.explore; search\.kind=ucb has exploration"):
        check(wrong)
    with pytest.raises(UserError, match=r"search\.options\.explore; search\.kind=puct has none"):
        compose("experiment=smoke", "+search.options.explore=1")


@pytest.mark.parametrize(("kind", "name"), [("puct", "puct"), ("gumbel", "gumbel"), (TOY, "ucb")])
def test_every_algorithm_registers_its_name(kind: str, name: str) -> None:
    assert find_kind(kind).name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KIND = 3", r"KIND of \S+mine\.py must be a SearchKind"),
        ("KINDS = 3", r"mine\.py must define KIND; docs/lab/own_parts\.md shows how\."),
        ("1 / 0", r"mine\.py cannot be loaded; fix this first: ZeroDivisionError.*line 1"),
        (None, r"^search\.kind=\S*mine\.py cannot be read: No such file"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError, match=said):
        compose("experiment=smoke", f"search.kind={file}")


WRONG_CHILD = ("    return best\n", "    return best if node == 0 else -1\n")
WRONG_MOVE = ("    return first_edge(tree, b, ROOT) + choose_place", "    return 1000 + choose_place")
NO_FIELD = ("ucb.exploration * spread", "ucb.explores * spread")


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (WRONG_CHILD, r"mine\.py fails: ValueError: next_child must return an edge of its node"),
        (WRONG_MOVE, r"mine\.py fails: ValueError: choose_move must return an edge of the root"),
        (NO_FIELD, r"mine\.py fails: TypingError: Unknown attribute 'explores' of type Ucb.* \(line 37\)\.$"),
    ],
)
def test_a_search_that_goes_wrong_is_named(
    game: Game, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    """In self-play and in a player: no endless loop, nothing read beside the tree, no traceback."""
    text, file = Path(TOY).read_text(), tmp_path / "mine.py"
    assert change[0] in text
    file.write_text(text.replace(*change))
    search = replace(UCB, kind=str(file))
    with pytest.raises(UserError, match=said):
        self_play(game, search)
    player = PvMcts(game, FakeInference(game), search)
    with pytest.raises(UserError, match=said):
        player.choose(after(game)[None], np.zeros(1, np.int64), np.zeros(1, np.int64))


def test_a_change_of_algorithm_drops_how_puct_explores() -> None:
    explores = SearchConfig(c_puct=3.0, fpu_mode="parent", fpu=0.2, dirichlet_fraction=0.5)
    assert with_kind(explores, "gumbel") == SearchConfig(kind="gumbel", tree_reuse=False)


def test_a_root_by_hand() -> None:
    """Four visits and the root's own: ln 5 = 1.609. Move 0: 0.9 / 3 + c * sqrt(1.609 / 3), move 2: 0.1 + c *
    sqrt(1.609).

    With c = 0.1 that is 0.373 and 0.227, with c = 1 it is 1.032 and 1.369. An unvisited move comes first.
    """
    from toy_search import Ucb, select_ucb

    def chosen(visits: list[int], value_sums: list[float], exploration: float) -> int:
        tree = root_with([0.2, None, 0.8], visits, value_sums)
        return action_at(tree, select_ucb(tree, 0, ROOT, Ucb(exploration, False, np.zeros(3))))

    assert [chosen([3, 0, 1], [0.9, 0.0, 0.1], c) for c in (0.1, 1.0)] == [0, 2]
    assert chosen([3, 0, 0], [0.9, 0.0, 0.0], 1.0) == 2
