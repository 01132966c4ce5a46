"""Every player stops when it is told to: by four protocols, by the studio, and by Ctrl-C in play."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from searching import FakeInference, after

from azero import play
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import MODULES, ThinkingPlayer, base, make_player, move_of
from azero.process.background import in_background
from azero.protocols import gtp, thinking
from azero.protocols.gomocup import Gomocup
from azero.protocols.gtp_engine import Engine
from azero.protocols.lines import Lines
from azero.protocols.nboard import NBoard
from azero.protocols.thinking import Thinker
from azero.protocols.uci import Uci
from azero.studio import pool

OTHELLO = make_game("othello")
PATIENCE = 60.0  # seconds for what takes a moment; the searches below take minutes
MILLION = 10**6
LONG: dict[str, dict[str, Any]] = {
    "alpha_beta": {"depth": 40},
    "negamax": {"depth": 40},
    "iterative_deepening": {"seconds": 1e5},
    "perfect": {"seconds": 1e5},
    "flat_monte_carlo": {"rollouts": 100 * MILLION},
    "uct": {"num_simulations": 100 * MILLION},
    "grouped_uct": {"num_simulations": MILLION},
    "pure_mcts": {"num_simulations": MILLION},
    "alphago": {"num_simulations": 10_000},  # each with a rollout by the network
    "pv_mcts": {"num_simulations": MILLION // 2},  # its tree has a place for each
}


class Cell:
    """One player, and whether its search has begun and ended."""

    def __init__(self, name: str) -> None:
        self.spec = PlayerSpec(name, name, LONG.get(name, {}))
        self.begun, self.ended = threading.Event(), threading.Event()

    def make(self, spec: PlayerSpec, game: Game, config: Config, one_game: bool = False) -> ThinkingPlayer:
        """Return a player as `make_from_spec` does, with a fake network, that notes when it thinks."""
        player = make_player(spec.name, game, inference=FakeInference(game), **spec.options)
        plain = player.think

        def think(*arguments: Any, **named: Any) -> Any:
            self.ended.clear()
            self.begun.set()
            try:
                return plain(*arguments, **named)
            finally:
                self.ended.set()

        player.think = think  # type: ignore[method-assign]
        return player

    def wait_until_deep_in_thought(self) -> None:
        """Wait until the search has gone on for a while; players that do not search have moved by then."""
        assert self.begun.wait(PATIENCE)
        assert not (self.ended.wait(0.03) and self.spec.name in LONG)

    def serve(self, make_server: Callable[[Lines], Callable[[], None]], *steps: str) -> None:
        """Let a server obey lines; before the last step the player is deep in thought."""
        end, writing = os.pipe()
        with os.fdopen(end, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as client:
            lines = Lines(stream, end=lambda: None)
            serving = in_background(make_server(lines))
            for step in steps[:-1]:
                client.write(step.encode())
                self.wait_until_deep_in_thought()
            client.write(steps[-1].encode())
            serving.result(PATIENCE)
            lines.finish()
        assert self.ended.is_set()


def by_gtp(cell: Cell) -> None:
    """`# interrupt` makes the player answer with a legal move."""
    engine, answers = Engine(OTHELLO, cell.spec, Config()), list[str]()
    engine.player()
    cell.begun.clear()
    cell.serve(
        lambda lines: gtp.Session(engine, lines, answers.append).serve, "genmove b\n", "# interrupt\nquit\n"
    )
    answer = "".join(answers).split()
    assert answer[0] == answer[2] == "=" and len(engine.at.actions) == 1
    assert answer[1].lower() == OTHELLO.action_name(OTHELLO.initial_state(), engine.at.actions[0])


def by_gomocup(cell: Cell) -> None:
    """STOP makes the player answer with a legal move."""
    size, answers = 5 if cell.spec.name == "perfect" else 15, list[str]()
    thinker = Thinker(cell.spec, make_game("gomoku", rows=size, columns=size), Config())
    brain = list[Gomocup]()

    def make_server(lines: Lines) -> Callable[[], None]:
        brain.append(Gomocup(lambda *_: thinker, lines, answers.append))
        brain[0].start(str(size))
        cell.begun.clear()
        return brain[0].serve

    cell.serve(make_server, "BEGIN\n", "STOP\nEND\n")
    assert answers[0] == "OK" and re.fullmatch(r"\d+,\d+", answers[1]) and len(answers) == 2
    x, y = map(int, answers[1].split(","))
    assert brain[0].playing and brain[0].playing.actions == [y * size + x]


def by_nboard(cell: Cell) -> None:
    """`ping` ends the search; nobody waits for its move any more."""
    answers, thinker = list[str](), Thinker(cell.spec, OTHELLO, Config())
    cell.serve(lambda lines: NBoard(thinker, lines, answers.append).serve, "go\n", "ping 1\nquit\n")
    assert answers[0] == "status azero is thinking" and answers[-1] == "pong 1"


def by_uci(cell: Cell) -> None:
    """`stop` makes the player answer an infinite search with a legal move."""
    answers, made = list[str](), list[Uci]()
    game = make_game("chess", variant="gardner", max_plies=25 if cell.spec.name == "perfect" else 512)

    def make_server(lines: Lines) -> Callable[[], None]:
        made.append(Uci(game, cell.spec, Config(), lines, answers.append))
        made[0].player()
        cell.begun.clear()
        return made[0].serve

    cell.serve(make_server, "go\n", "stop\nquit\n")
    (move,) = [answer.split()[1] for answer in answers if answer.startswith("bestmove ")]
    start = game.initial_state()
    assert move in {game.action_name(start, action) for action in game.legal_actions(start)}


def by_the_studio(cell: Cell) -> None:
    """A change on the table ends the search, whose move is dropped."""
    stopped, at = threading.Event(), GameInProgress(OTHELLO)
    moving = in_background(
        lambda: pool.Pool(Config()).choose(pool.Side(cell.spec), at, stopped.is_set, lambda thought: None)
    )
    cell.wait_until_deep_in_thought()
    stopped.set()
    action = moving.result(PATIENCE)
    assert action is None or (action in at.legal_actions() and cell.spec.name not in LONG)


def by_interrupt(cell: Cell) -> None:
    """Ctrl-C leaves the game, and the search in its thread ends too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main, asked = threading.main_thread().ident, threading.Event()
    assert main

    def press() -> None:
        cell.wait_until_deep_in_thought()
        assert cell.spec.name in LONG or asked.wait(PATIENCE)
        signal.pthread_kill(main, signal.SIGINT)

    def ask(_: str) -> str:
        """Ask the person after a player that has moved at once."""
        asked.set()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:  # in pieces: a signal just before a sleep does not end it
            time.sleep(0.01)
        raise EOFError

    player = cell.make(cell.spec, OTHELLO, Config())
    player.new_games(np.zeros(1, np.uint64))
    session = play.PlaySession(OTHELLO, player, player, 1, ask, lambda text: None)
    pressing = in_background(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            session.play()
    finally:
        pressing.result(PATIENCE)
        signal.signal(signal.SIGINT, before)
    assert cell.ended.wait(PATIENCE)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("stop", [by_gtp, by_gomocup, by_nboard, by_uci, by_the_studio, by_interrupt])
def test_every_player_stops(stop: Callable[[Cell], None], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(name)
    monkeypatch.setattr(thinking, "make_from_spec", cell.make)
    monkeypatch.setattr(pool, "make_from_spec", cell.make)
    stop(cell)


@pytest.mark.parametrize(
    "name, options",
    [
        ("flat_monte_carlo", {"num_simulations": 700}),
        ("flat_monte_carlo", {"rollouts": 30}),
        ("uct", {"num_simulations": 500}),
        ("uct", {"num_simulations": 500, "rollouts": 7}),
        ("grouped_uct", {"num_simulations": 500}),
        ("pure_mcts", {"num_simulations": 500}),
        ("alphago", {"num_simulations": 60}),
    ],
)
def test_a_search_that_could_be_stopped_is_the_same_search(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces or at once: the same move, and the same random numbers drawn."""
    monkeypatch.setattr(base, "LOOK_SECONDS", 0.0)
    game = make_game("tictactoe")
    for seed, moves in enumerate([(), (4,), (0, 4), (4, 0, 8)]):
        at = GameInProgress(game, state=after(game, *moves))
        whole, pieces = (make_player(name, game, inference=FakeInference(game), **options) for _ in range(2))
        for player in (whole, pieces):
            player.new_games(np.array([seed], np.uint64))
        asked = list[bool]()
        found = pieces.think(at, stopping=lambda asked=asked: bool(asked.append(True)))  # type: ignore[misc]
        assert found.best == move_of(whole, at) and len(asked) > 1
        assert (pieces.words == whole.words).all()  # type: ignore[attr-defined]
