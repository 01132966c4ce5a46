"""Games of a champion against GNU Go: one board, the same rules, and the champion's outcome."""

from __future__ import annotations

from functools import reduce

import against_gnugo
import numpy as np
import pytest
from gnugo import PROGRAM, GnuGo
from searching import FakeInference

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.players.pv_mcts import PvMcts


@pytest.mark.long
@pytest.mark.skipif(PROGRAM is None, reason="GNU Go is not installed; Debian's package is gnugo")
def test_pairs_from_one_opening_with_colours_swapped() -> None:
    game = make_game("go", size=5)
    champion = PvMcts(game, FakeInference(game), SearchConfig(num_simulations=4, dirichlet_fraction=0.0))
    openings = [[12, 7], [0, 24]]
    with GnuGo(5, "--level", "1", "--seed", "1", "--capture-all-dead", "--never-resign") as gnugo:
        gnugo.ask("komi 7.5")
        games = against_gnugo.play_pairs(game, champion, gnugo, openings)
        assert [len(each) for each in games] == [2, 2]
        for side in (0, 1):
            for played, opening in zip(games[side], openings, strict=True):
                assert list(played.moves[:2]) == opening
                end = reduce(game.step, played.moves, game.initial_state())
                assert game.is_terminal(end) and played.outcome == (1, -1)[side] * game.first_outcome(end)
        last = games[1][1]
        assert game.board is not None
        marks = game.board.marks(reduce(game.step, last.moves, game.initial_state()))
        for colour in (0, 1):  # the last game's stones are those of GNU Go's own board
            cells = np.flatnonzero(marks == colour + 1).tolist()
            assert {game.action_name(game.initial_state(), cell) for cell in cells} == gnugo.stones(colour)
