"""`azero analysis run=go9`: KataGo's JSON analysis for every game, on the standard input and output.

A program sends queries, one JSON object a line, and reads the answers. `docs/protocols.md` documents them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import partial

from azero.cli.player_spec import PlayerSpec, make_from_spec
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.protocols.engine import EngineSettings, run_engine
from azero.protocols.lines import Lines, Write, is_closed

EXAMPLES = """
run=go9
run=connect_four player.num_simulations=500
"""
LABELS = {"player.OPTION=VALUE": "Such as player.num_simulations=500, for queries that name no maxVisits."}


@dataclass(frozen=True)
class AnalysisSettings(EngineSettings):
    """Settings of the program."""

    run: str = setting("", "The run whose champion analyses. Default: a run of the game.")
    wait: bool = setting(
        True, "Whether to search on when the input ends. false: answer at once with what is known."
    )


def serve(game: Game, spec: PlayerSpec, asked: AnalysisSettings, lines: Lines, write: Write) -> None:
    """Answer the queries of the standard input."""
    if spec.name != "pv_mcts":
        raise UserError(
            f"player {spec.name} cannot analyse {game.name}; name a run with a champion: run=NAME."
        )

    from azero.players.pv_mcts import for_analysis
    from azero.protocols.analysis import Analysis, answer_lines

    player = make_from_spec(spec, game, asked.config, one_game=True)
    # Reports, maxTime and terminate need a search that may end early
    player = for_analysis(player, keeps_kind="kind" in spec.options)
    analysis = Analysis(
        player, lambda answer: write(json.dumps(answer, sort_keys=True, separators=(",", ":")))
    )
    analysis.warm_up()
    print(f"azero: ready to analyse {game.name} with {spec}", file=sys.stderr)
    if asked.wait:
        lines.finish()  # what was asked for is answered
    answer_lines(analysis, lines, lambda: is_closed(lines.client), asked.wait)


main = partial(run_engine, "analysis", serve, AnalysisSettings, EXAMPLES, labels=LABELS, players=["pv_mcts"])

if __name__ == "__main__":
    sys.exit(main())
