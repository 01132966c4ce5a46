"""Players that are ready to move: made when a side first needs them, and shared by all games.

A network takes a second to load and a player has megabytes of trees, so two hundred open games must not have
two hundred players. A player moves in one game at a time.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from azero.cli.player_spec import (
    PlayerSpec,
    check_options,
    choose_player,
    has_learned,
    make_from_spec,
    must_have_network,
    needs_network,
    run_of,
)
from azero.config.reading import read_value
from azero.config.schema import Config, Setting, UserError, settings
from azero.games import SHIPPED
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Report, ThinkingPlayer, options_of
from azero.players.growing import LOOK_SECONDS, GrowingSearch, growing_search
from azero.players.levels import level_of
from azero.run.run import Run

MOST_PLAYERS = 8  # kept ready
MOST_SIMULATIONS = 200_000  # of one search; a tree of 19 x 19 Go then takes 1.1 GiB
MOST_SECONDS = 60.0
MOST = {  # of options; trees, tables and caches of eight players must fit
    **{"num_simulations": MOST_SIMULATIONS, "seconds": MOST_SECONDS, "table": 2**23, "cache": 2**18}
}
NO_NETWORK = "UCT without a network: random games, weak"
ANYTIME = "puct"  # the algorithm of an analysis: its visits mean something at any moment
SURE = ("kind", "num_simulations", "temperature")  # options of a champion that fit each other


@dataclass(frozen=True)
class Side:
    """Who moves for one side of a game.

    Attributes:
        spec: the player; None: a person.
        cycle: of the champion that plays; 0 without one.
        sha256: of its weights: a run that was deleted and trained anew has another one.
    """

    spec: PlayerSpec | None = None
    cycle: int = 0
    sha256: str = ""

    @property
    def title(self) -> str:
        """How the page calls it."""
        if self.spec is None:
            return "you"
        if self.is_champion:
            level = self.level and f", {self.level}"
            return f"champion of {self.spec.options['run']}, cycle {self.cycle}{level}"
        return str(self.spec)

    @property
    def is_champion(self) -> bool:
        """Whether a champion plays with its search."""
        return self.spec is not None and self.cycle > 0 and self.spec.name == "pv_mcts"

    @property
    def level(self) -> str:
        """The level of a champion in words; "" if its options are those of none."""
        return level_of(self.spec.options) if self.spec is not None and self.is_champion else ""

    @property
    def options(self) -> dict[str, Any]:
        """The options of the player that moves, with the champion's cycle."""
        assert self.spec is not None
        return {**self.spec.options, **({"cycle": self.cycle} if self.cycle else {})}

    def to_json(self) -> dict[str, Any]:
        """Return the side as the page reads it."""
        if self.spec is None:
            return {"kind": "person", "title": self.title}
        named = {"name": self.spec.name, "title": self.title, "level": self.level}
        return {"kind": "player", **named, "options": self.options}


PERSON = Side()


@dataclass
class Ready:
    """A player that can move."""

    player: ThinkingPlayer
    lock: threading.Lock = field(default_factory=threading.Lock)


class Pool:
    """Players by game and side; the one used least recently leaves."""

    def __init__(self, config: Config) -> None:
        """`config`: where runs lie, and the device."""
        self.config = config
        self.ready: OrderedDict[tuple[str, str, str], Ready] = OrderedDict()
        self.lock = threading.Lock()

    def read_side(self, asked: object, game: Game) -> Side:
        """Return the side that a page asks for, with its run and cycle named.

        Raises:
            UserError: an unknown player, option or run, or a value that is not allowed.
        """
        if not isinstance(asked, dict) or asked.get("kind") not in ("person", "player"):
            raise UserError('A side must be {"kind": "person"} or {"kind": "player", "name": …}.')
        if asked["kind"] == "person":
            return PERSON
        name, options = asked.get("name"), asked.get("options", {})
        if not isinstance(name, str) or not isinstance(options, dict):
            raise UserError("A player has a name and options.")
        options = {str(key): value for key, value in options.items() if value is not None}
        cycle = options.pop("cycle", 0)
        spec = PlayerSpec(name, name, options)
        check_bounds(spec)
        if not needs_network(spec):
            side = Side(spec)
        else:
            run = options.get("run") or run_of(game, self.config)
            side = self.with_champion(PlayerSpec(name, name, {**options, "run": run}), cycle)
        if not self.can_wait(game, side):
            self.get(game, side)  # refuses what cannot play
        return side

    def can_wait(self, game: Game, side: Side) -> bool:
        """Return whether a player can be made after the board is shown: a champion that surely plays.

        It takes torch two seconds to load.
        """
        spec = side.spec
        if spec is None or spec.name != "pv_mcts" or spec.options.keys() - {"run", *SURE}:
            return False
        check_options(spec)
        usual = spec.options.get("kind") in (None, ANYTIME)
        return usual and game.name in SHIPPED and has_learned(spec.options["run"], game, self.config)

    def with_champion(self, spec: PlayerSpec, cycle: object) -> Side:
        """Return the side of a champion of a spec's run: of the cycle asked for, or the newest for 0.

        Raises:
            UserError: the run has no such champion.
        """
        run = spec.options.get("run")
        if run is None:
            raise UserError(
                f"No run has a champion of this game yet, so {spec.name} cannot play; train one first."
            )
        state = Run.read(self.config, run).state
        champion = state.champion
        if champion is None:
            raise UserError(f"Run {run} has no champion yet.")
        if cycle not in (0, "", None):
            from azero.champion.load import champion_file  # here, because it imports torch

            champion_file(self.config, run, cycle)  # refuses what the run does not keep
            champion = next(entry for entry in state.champions if entry.cycle == cycle)
        return Side(spec, champion.cycle, champion.sha256)

    def get(self, game: Game, side: Side) -> Ready:
        """Return the player of a side, made anew if it is not kept."""
        key = key_of(game, side)
        with self.lock:
            if key in self.ready:
                self.ready.move_to_end(key)
                return self.ready[key]
        made = Ready(self.make(game, side))
        with self.lock:
            self.ready[key] = made
            while len(self.ready) > MOST_PLAYERS:
                self.ready.popitem(last=False)
        return made

    def has(self, game: Game, side: Side) -> bool:
        """Return whether the player of a side is kept."""
        return key_of(game, side) in self.ready

    def make(self, game: Game, side: Side) -> ThinkingPlayer:
        """Return a new player of a side."""
        spec = side.spec
        assert spec is not None
        return make_from_spec(replace(spec, options=side.options), game, self.config, one_game=True)

    def search(self, game: Game, asked: dict[str, Any]) -> tuple[GrowingSearch, str]:
        """Return a new search for an analysis, and who makes it.

        Args:
            game: the game.
            asked: `player` (auto, uct or pv_mcts), `run`, `cycle`, `simulations` and `kind`.

        Raises:
            UserError: a value is not allowed, or no run has a champion.
        """
        name = asked.get("player", "auto")
        if name not in ("auto", "pv_mcts", "uct"):
            raise UserError(f"{str(name)[:20]} cannot analyse; choose auto, pv_mcts or uct.")
        spec = PlayerSpec(name, name, {"num_simulations": asked.get("simulations", 10_000)})
        spec = choose_player(spec, game, self.config, asked.get("run") or "")
        spec = replace(spec, label=spec.name)
        if not must_have_network(spec):
            check_bounds(spec)
            return growing_search(self.make(game, Side(spec))), NO_NETWORK
        spec = replace(spec, options={**spec.options, "kind": asked.get("kind") or ANYTIME})
        check_bounds(spec)
        side = self.with_champion(spec, asked.get("cycle"))
        return growing_search(self.make(game, side)), side.title

    def choose(
        self, side: Side, at: GameInProgress, stopped: Callable[[], bool], report: Report
    ) -> int | None:
        """Return a side's move; None: it was stopped before there was one.

        Args:
            side: who is to move.
            at: the game.
            stopped: whether the position is no longer on the board.
            report: receives what a search has found, ten times a second.
        """
        ready = self.get(at.game, side)
        while not ready.lock.acquire(timeout=LOOK_SECONDS):
            if stopped():
                return None
        try:
            return None if stopped() else play(ready.player, at, stopped, report)
        finally:
            ready.lock.release()


def key_of(game: Game, side: Side) -> tuple[str, str, str]:
    """Return by what the player of a side is kept."""
    return (
        game.name,
        json.dumps(game.options, sort_keys=True),
        json.dumps(side.to_json(), sort_keys=True) + side.sha256,
    )


def play(
    player: ThinkingPlayer, at: GameInProgress, stopped: Callable[[], bool], report: Report
) -> int | None:
    """Return a player's move; see `Pool.choose`."""
    end = time.monotonic() + MOST_SECONDS
    player.new_games(np.array([secrets.randbits(64)], np.uint64))
    thought = player.think(at, 0.0, lambda: stopped() or time.monotonic() >= end, report)
    return None if stopped() else thought.best


def options_here(name: str) -> dict[str, Setting]:
    """Return the options of a player, with the studio's bounds; UserError: there is no such player."""
    return {
        option: replace(known, between=(known.between[0], min(known.between[1], MOST[option])))
        if known.between and option in MOST
        else known
        for option, known in settings(options_of(name)).items()
    }


def check_bounds(spec: PlayerSpec) -> None:
    """Refuse a player whose search would hold the server's memory or cores for long.

    Raises:
        UserError: a number beyond the bounds, an unknown player.
    """
    for option, known in options_here(spec.name).items():
        if option in spec.options:
            read_value(f"{spec.label}.{option}", spec.options[option], known)
