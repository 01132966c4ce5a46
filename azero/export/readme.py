"""The README inside a network that is written for other programs: what goes in, what comes out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import azero
from azero.games.game import Game
from azero.games.titles import describe_game

TEXT = """\
# A network of azero for {name}

{game} was learned by self-play. azero {version} wrote this file.

{facts}

## Input

`planes`: float32 [batch, {planes}, {height}, {width}], positions from the view of the player to move, as
`azero.games.make_game({arguments}).planes(state)` writes them.

## Outputs

`policy`: float32 [batch, {actions}], a logit for each action. Take the softmax over the legal actions.
`value`: float32 [batch], the expected outcome for the player to move: 1 is a win, 0 a draw, -1 a loss.

## Actions

{names}
"""


def readme(game: Game, facts: Mapping[str, str]) -> str:
    """Return the text for a network of a game; the facts are a list in it, such as run and cycle."""
    planes, height, width = game.planes_shape
    options = [f"{key}={value!r}" for key, value in game.options.items()]
    return TEXT.format(
        name=game.name,
        game=describe_game(game.name, game.options),
        version=azero.__version__,
        facts="\n".join(f"- {key}: {fact}" for key, fact in facts.items()),
        planes=planes,
        height=height,
        width=width,
        arguments=", ".join([repr(game.name), *options]),
        actions=game.num_actions,
        names=textwrap.fill(names_of_actions(game), 100),
    )


def names_of_actions(game: Game) -> str:
    """Return what each action of a game means, if that is the same in every position."""
    if not game.fixed_names:
        return f"{game.num_actions}; azero's `Game.action_name(state, action)` names them."
    start = game.initial_state()
    return ", ".join(f"{action} = {game.action_name(start, action)}" for action in range(game.num_actions))
