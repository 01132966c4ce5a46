"""A watched search as a plain record for JSON: what text, page and other programs show.

`docs/lab/trace_record.md` lists the fields.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from azero.config.schema import SearchConfig, UserError
from azero.games.ending import end_json
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.network.inference import Inference
from azero.tracing.rules import RULES
from azero.tracing.watched_mcts import WatchedMcts, by_network, by_rollouts
from azero.tracing.watched_uct import WatchedUct
from azero.tracing.watching import Choice, Evaluation, Simulation

FORMAT = 1


@dataclass(frozen=True)
class UctSettings:
    """The player uct: UCB1 and random rollouts; see `azero.players.uct` for the numbers."""

    exploration: float = math.sqrt(2.0)
    expansion_threshold: int = 1


@dataclass(frozen=True)
class MctsSettings:
    """The player pv_mcts. `search.kind` is the algorithm.

    Without an inference all moves have the same prior, and a random game takes the place of the value.
    """

    search: SearchConfig = field(default_factory=SearchConfig)
    inference: Inference | None = None
    temperature: float = 0.0


def record(
    game: Game,
    actions: Sequence[int],
    settings: UctSettings | MctsSettings,
    simulations: int,
    seed: int = 1,
    start: np.ndarray | None = None,
) -> dict[str, Any]:
    """Search the position after some actions and return what every simulation did.

    Args:
        game: the game.
        actions: legal ones, one after another.
        settings: the player's.
        simulations: how many; fewer if a proof ends the search.
        seed: of the player's random numbers.
        start: where the actions begin, [S]; None for the initial state.

    Raises:
        UserError: the game is over after these actions, or an action is not legal.
    """
    at = GameInProgress(game, actions, start)
    if at.is_over:
        raise UserError("the game is over there, so there is nothing to search.")
    state, banned = at.state, at.banned()
    search: WatchedUct | WatchedMcts
    if isinstance(settings, UctSettings):
        shape = (settings.exploration, settings.expansion_threshold)
        search, first = WatchedUct(game, state, seed, *shape, banned), 1
    else:
        ask = by_network(game, settings.inference) if settings.inference else by_rollouts(game, seed)
        budget = replace(settings.search, num_simulations=simulations)
        search = WatchedMcts(game, state, budget, ask, seed, settings.temperature, banned)
        first = 0  # the evaluation of the root is not a simulation
    builder = TraceBuilder(game, state, banned)
    for number in range(first, simulations + 1):
        if search.over:
            break
        builder.add(number, search.simulate())
    return {
        "format": FORMAT,
        "game": game.name,
        **described(game, settings),
        "board": game.board.described() if game.board else None,  # None: positions are text
        "sides": [side(game, 0), side(game, 1)],
        "moves": at.moves,
        **({"start": at.start} if start is not None else {}),
        "rules": {key: rule(game, key) for key in builder.rules},
        "nodes": builder.nodes,
        "simulations": builder.simulations,
        "chosen": chosen(builder, settings, search.move()),
        "ended": "A proof of the root's value ended the search early." if search.over else "",
    }


def side(game: Game, to_play: int) -> str:
    """Return such as X, Black, or the first player."""
    players = game.board and game.board.player_names()
    return players[to_play] if players else ("the first player", "the second player")[to_play]


def rule(game: Game, key: str) -> dict[str, Any]:
    """Return a rule of choice in this game."""
    found = RULES[key]
    columns = [list(column) for column in found.columns]
    return {**found._asdict(), "columns": columns, "about": found.about.replace("{second}", side(game, 1))}


def described(game: Game, settings: UctSettings | MctsSettings) -> dict[str, Any]:
    """Return the search in words."""
    first, second = side(game, 0), side(game, 1)
    if isinstance(settings, UctSettings):
        c, threshold = settings.exploration, settings.expansion_threshold
        bonus = "√(2 ln t / n)" if math.isclose(c, math.sqrt(2.0)) else f"{c:g} √(ln t / n)"
        when = "at its second visit" if threshold == 1 else f"after {threshold} visits"
        return {
            "algorithm": "uct",
            "title": "UCT",
            "statistic": "wins",
            "about": f"n: visits; w: wins of {first}, a draw counts half; t: visits of all moves of the "
            f"table. UCB1 is w/n + {bonus} where {first} chooses and −w/n + {bonus} where {second} does. "
            f"A node is expanded {when}, the root at once.",
        }
    kind = settings.search.kind
    source = (
        "The network gives the prior P of each move and the value of a position."
        if settings.inference
        else "There is no network here: every move has the same prior P, and a random game gives the value."
    )
    return {
        "algorithm": kind,
        "title": f"PV-MCTS with {'Gumbel' if kind == 'gumbel' else 'PUCT'}",
        "statistic": "mean",
        "about": "n: visits; q: mean value, from −1 (lost) to 1 (won), for the side that chooses the "
        f"move. {source} The root is evaluated before the first simulation.",
    }


def position(game: Game, state: np.ndarray) -> dict[str, Any]:
    """Return a position: the marks of its cells, row by row, and the cells that have won; or its text."""
    if game.board is None:
        return {"text": game.format_state(state)}
    winning = end_json(game, state)["winning"]
    return {"marks": game.board.marks(state).ravel().tolist(), **({"winning": winning} if winning else {})}


def result(game: Game, state: np.ndarray, cut: bool = False) -> str | None:
    """Return how a game has ended, such as "X wins"; None if it goes on and no rollout was cut there."""
    if not game.is_terminal(state):
        return f"no end after {game.max_plies} moves, a draw" if cut else None
    value = game.first_outcome(state)
    endings = {1.0: f"{side(game, 0)} wins", -1.0: f"{side(game, 1)} wins", 0.0: "a draw"}
    return endings.get(value, f"{value:g} for {side(game, 0)}")


class TraceBuilder:
    """Collects nodes and simulations. A node is known by the moves that lead to it."""

    def __init__(self, game: Game, state: np.ndarray, banned: np.ndarray | None) -> None:
        self.game, self.banned = game, banned
        self.ids: dict[tuple[int, ...], int] = {}
        self.nodes: list[dict[str, Any]] = []
        self.simulations: list[dict[str, Any]] = []
        self.rules: dict[str, None] = {}  # in order of use
        self.states: list[np.ndarray] = []
        self.add_node((), state, 0)

    def add_node(self, path: tuple[int, ...], state: np.ndarray, number: int) -> None:
        """Add a node that a simulation has reached first."""
        game, before = self.game, self.states[self.ids[path[:-1]]] if path else state
        self.ids[path] = len(self.nodes)
        self.states.append(state)
        self.nodes.append(
            {
                "id": len(self.nodes),
                "parent": self.ids[path[:-1]] if path else None,
                "action": path[-1] if path else None,
                "name": game.action_name(before, path[-1]) if path else "root",
                "to_play": game.to_play(state),
                "result": result(game, state),
                "position": position(game, state),
                "cell": game.cell_of(before, path[-1]) if path else None,
                "from": game.from_of(before, path[-1]) if path else None,
                "added": number,
                "expanded": None,
                "moves": [],
            }
        )

    def add(self, number: int, simulation: Simulation) -> None:
        """Add a simulation."""
        moves = tuple(choice.chosen for choice in simulation.choices)
        path = [moves[:depth] for depth in range(len(moves) + 1)]
        if path[-1] not in self.ids:
            self.add_node(path[-1], simulation.leaf, number)
        ids = [self.ids[each] for each in path]
        for choice in simulation.choices:
            self.rules.setdefault(choice.rule)
        if simulation.listed >= 0:
            self.expand(ids[simulation.listed], number)
        self.simulations.append(
            {
                "number": number,
                "path": ids,
                "choices": [
                    self.choice(node, choice) for node, choice in zip(ids, simulation.choices, strict=False)
                ],
                "added": ids[-1] if simulation.added else None,
                "expanded": ids[simulation.listed] if simulation.listed >= 0 else None,
                "evaluation": self.evaluation(simulation.leaf, simulation.evaluation),
                "backup": [
                    {"node": node, "visits": [before[0], after[0]], "sum": [before[1], after[1]]}
                    for node, (_, before, after) in zip(ids, simulation.updates, strict=True)
                ],
            }
        )

    def expand(self, node: int, number: int) -> None:
        """Give a node its moves."""
        state = self.states[node]
        legal = self.game.legal_mask(state)
        if node == 0 and self.banned is not None:
            legal &= ~self.banned
        self.nodes[node]["expanded"] = number
        self.nodes[node]["moves"] = [
            {
                "action": move,
                "name": self.game.action_name(state, move),
                "cell": self.game.cell_of(state, move),
                "from": self.game.from_of(state, move),
            }
            for move in np.flatnonzero(legal).tolist()
        ]

    def choice(self, node: int, choice: Choice) -> dict[str, Any]:
        """Return a choice."""
        return {
            "node": node,
            "rule": choice.rule,
            "shared": choice.shared,
            "chosen": choice.chosen,
            "children": [
                {
                    "action": each.move,
                    "name": self.game.action_name(self.states[node], each.move),
                    "visits": each.visits,
                    "sum": each.value_sum,
                    "score": each.score if math.isfinite(each.score) else None,
                    "terms": each.terms,
                    "note": each.note,
                }
                for each in choice.candidates
            ],
        }

    def evaluation(self, leaf: np.ndarray, evaluation: Evaluation) -> dict[str, Any]:
        """Return the evaluation of a simulation's leaf."""
        return {
            "kind": evaluation.kind,
            "value": evaluation.value,
            "to_play": self.game.to_play(leaf),
            "moves": self.game.move_names(evaluation.moves, leaf),
            "end": position(self.game, evaluation.end),
            "result": result(self.game, evaluation.end, evaluation.kind == "rollout"),
        }


def chosen(builder: TraceBuilder, settings: UctSettings | MctsSettings, action: int) -> dict[str, Any]:
    """Return the move after the search and why it was chosen."""
    visits = {builder.nodes[0]["moves"][0]["action"]: 0}
    for simulation in builder.simulations:
        if simulation["choices"]:
            visits[simulation["choices"][0]["chosen"]] = simulation["backup"][1]["visits"][1]
    count, most = visits.get(action, 0), max(visits.values())
    if isinstance(settings, MctsSettings) and settings.search.kind == "gumbel":
        why = "the highest score of the moves with the most visits"
    elif isinstance(settings, MctsSettings) and settings.temperature:
        why = "drawn at random by the visits"
    else:
        why = "the most visits" if count == most else "a proof counts more than visits"
    name = builder.game.action_name(builder.states[0], action)
    return {"action": action, "name": name, "visits": count, "of": sum(visits.values()), "why": why}
