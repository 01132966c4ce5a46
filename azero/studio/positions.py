"""What is pasted and no file: a position, FEN or another game's, or moves of the game that the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from azero.config.schema import UserError
from azero.games import SHIPPED
from azero.games.game import Game
from azero.studio.game_tree import GameTree
from azero.studio.offered import sizes_of
from azero.studio.safety import Refusal

POSITION = re.compile(r"[^\s:;(\[{]+(/[^\s:;]+){2,}( \S+){1,6}")  # a FEN, or the like of another game
FEN = re.compile(r"[1-8pnbrqkPNBRQK/]+ [wb] .*")
LONGEST = 1_000  # characters
LONGEST_MOVES = 20_000
NUMBER = re.compile(r"\d+\.+")  # of a move, as in 1.e4
END = re.compile(r"1-0|0-1|1/2-1/2|\*")
VARIANTS = {5: "gardner", 6: "losalamos"}  # of chess, by rows


def position_in(data: bytes) -> str:
    """Return the position that a file is, "" if it is something else."""
    text = data[: LONGEST + 1].decode(errors="replace").strip()
    return text if len(data) <= LONGEST and POSITION.fullmatch(text) else ""


def tree_of_moves(data: bytes, shown: GameTree) -> GameTree | None:
    """Return a text of moves, as in `e4 e5 Nf3` or `4435`, as a game that begins like the shown one.

    None: the first word is no move there. Refusal: a later one is none.
    """
    text = data[: LONGEST_MOVES + 1].decode(errors="replace")
    if len(data) > LONGEST_MOVES:
        return None
    words = [NUMBER.sub("", word) for word in re.split(r"[\s,;]+", text)]
    words = [word for word in words if word and not END.fullmatch(word)]
    for moves in (words, list("".join(words))):
        tree = GameTree(shown.game, shown.start)
        for number, move in enumerate(moves, 1):
            try:
                tree.play(tree.action_of(move))
            except Refusal as mistake:
                if number == 1:
                    break
                raise Refusal(mistake.status, f"Move {number}: {mistake}") from mistake
        else:
            return tree if moves else None
    return None


def tree_at(
    text: str,
    here: Game | None,
    make: Callable[[str, dict[str, Any]], Game],
    is_known: Callable[[Game], bool] = lambda game: False,
) -> GameTree | None:
    """Return the game that begins at a position; None: no game has a board of these rows.

    Of several games this is the one that the page shows, else one that is known, else the first.

    Args:
        text: the position.
        here: the game that the page shows, which comes first; None: it shows none.
        make: makes a game from its name and options.
        is_known: whether a champion plays a game.

    Raises:
        UserError: no game of this size has the position; of several games the first one says why.
    """
    rows = text.split()[0].split("/")
    if FEN.fullmatch(text):
        variant = VARIANTS.get(len(rows), "standard")
        is_here = here is not None and here.name == "chess" and here.options["variant"] == variant
        return GameTree(here if here and is_here else make("chess", {"variant": variant}), text)
    refused = None
    games = games_of_size(rows, here, make)
    for game in sorted(games, key=lambda game: (game is not here, not is_known(game))):
        try:
            return GameTree(game, text)
        except UserError as mistake:
            refused = refused or mistake
    if refused:
        raise refused
    return None


def games_of_size(
    rows: list[str], here: Game | None, make: Callable[[str, dict[str, Any]], Game]
) -> Iterator[Game]:
    """Yield the games with a board of so many rows and columns, the shown one first."""
    widths = {len(row.split(",")) if "," in row else len(row) for row in rows}
    if len(widths) > 1:
        return
    columns = widths.pop()

    def fits(game: Game) -> bool:
        board = game.board
        return board is not None and (len(board.rows), len(board.columns)) == (len(rows), columns)

    if here is not None and fits(here):
        yield here
    for name in SHIPPED:
        sizes = [each["options"] for each in sizes_of(name) if each["title"] == f"{len(rows)} × {columns}"]
        for options in sizes if sizes_of(name) else [{}]:
            game = make(name, options)
            if fits(game):
                yield game
