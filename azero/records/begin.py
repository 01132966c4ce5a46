"""Begin from games in a file: where `azero play` and `azero trace` go on, and the openings of a match."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from azero.cli.arguments import GameSettings, take_game
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.titles import describe_game
from azero.records.files import read_file
from azero.records.record import MoveNames, Record, known_game
from azero.records.walk import positions


def take_start(
    texts: dict[str, str], asked: GameSettings, ply: int | None, is_named: bool, number: int = 1
) -> tuple[Game, list[int] | None, np.ndarray | None]:
    """Take `game=` or `from=FILE` out of the arguments; return the game, and the moves if a file has them.

    The state [S] where these begin comes third, None for the game's own.

    Args:
        texts: arguments by key.
        asked: the settings taken from them. `game=mine.py` gives the rules of a file's own game.
        ply: how many moves of the file's game are kept; None for all.
        is_named: whether `game=` is set; then the file's game must be that one.
        number: which game of the file, from 1; below 0 from its end.

    Raises:
        UserError: as `take_game` and `read_file` say, the file has another game, or the position is its end.
    """
    source = texts.pop("from", "")
    if not source:
        if ply is not None or number != 1:
            raise UserError(f"{'number' if ply is None else 'ply'}= needs a game, from=FILE.")
        return take_game(texts, asked), None, None
    own = take_game(texts, asked) if is_named else None
    record = game_number(number, read_file(Path(source), known_game(own)), source)
    if own:
        refuse_other_game(record, own, f"from={source}")
    start = record.first_state() if record.start else None
    return record.game, moves_of(record, ply, f"from={source}", "ply"), start


def game_number(number: int, records: Iterator[Record], source: str) -> Record:
    """Return a game of a file, from 1; below 0 from its end.

    Raises:
        UserError: it has no such game.
    """
    found = list(islice(records, number - 1, number) if number > 0 else deque(records, -number))
    if len(found) != max(1, -number):
        raise UserError(f"number={number}: from={source} has no such game.")
    return found[0]


def start_of(
    game: Game, position: str, moves: list[int] | None, start: np.ndarray | None
) -> np.ndarray | None:
    """Return the state [S] that `position=` describes, without it `start`; `moves`: those of `from=`, if set.

    Raises:
        UserError: it describes none, the game is over there, or both are set.
    """
    if not position:
        return start
    if moves is not None:
        raise UserError("position= and from= cannot both be set.")
    state = game.position(position)
    if game.is_terminal(state):
        raise UserError(f"position={position!r}: the game is over there.")
    return state


def moves_of(record: Record, ply: int | None, where: str, setting: str) -> list[int]:
    """Return the first moves of a record's main line, None for all; `where` and `setting` are for messages.

    Raises:
        UserError: it has fewer, or the game is over after them.
    """
    moves = record.path(record.main_line()[-1])
    if ply is not None and not 0 <= ply <= len(moves):
        raise UserError(f"{setting}={ply} must be from 0 to {len(moves)}, the moves of the game of {where}.")
    state = record.first_state()
    for action in moves[:ply]:
        state = record.game.step(state, action)
    if record.game.is_terminal(state):
        other = ", or number= to another game (-1: the last)" if where.startswith("from=") else ""
        raise UserError(
            f"{where}: the game is over after its {len(moves)} moves; set {setting}= to fewer{other}."
        )
    return moves[:ply]


def refuse_position(record: Record, where: str) -> None:
    """Raise UserError if a record does not begin at the first position of its game."""
    if record.start:
        raise UserError(f"{where} has a game that begins at a set-up position; choose another game.")


def refuse_other_game(record: Record, game: Game, where: str) -> None:
    """Raise UserError if a record is of another game or has other options."""
    if record.game.name != game.name:
        raise UserError(f"{where} has a game of {record.game.name}, not of {game.name}.")
    if record.game.options != game.options:
        theirs, ours = (describe_game(each.name, each.options) for each in (record.game, game))
        raise UserError(f"{where} has a game of {theirs}, not of {ours}.")


def read_openings(game: Game, path: Path, plies: int | None) -> tuple[list[int], ...]:
    """Return the different openings of a file of games: their first moves, or all of unfinished games.

    The games may have other options, such as another komi, if the board is the same and `game` allows their
    moves.

    Raises:
        UserError: as `read_file` and `moves_of` say, or a game is another one.
    """
    openings: dict[tuple[int, ...], None] = {}
    for record in read_file(path, known_game(game)):
        replayed = replay(record, game, plies, f"book={path}")
        openings[tuple(moves_of(replayed, plies, f"book={path}", "opening_plies"))] = None
    return tuple(map(list, openings))


def replay(record: Record, game: Game, plies: int | None, where: str) -> Record:
    """Return a game with the first moves of a record's main line, None for all, by the rules of `game`.

    Raises:
        UserError: the record has another game or board, or a move is not legal.
    """
    refuse_position(record, where)
    replayed = Record(game)
    if record.game.name != game.name or size_of(record.game) != size_of(game):
        refuse_other_game(record, game, where)
    moves = record.game.move_names(record.path(record.main_line()[-1])[:plies])
    if len(known := MoveNames(replayed).add_texts(moves)) < len(moves):
        refuse_other_game(record, game, where)
        raise UserError(f"{where}: move {len(known) + 1}, {moves[len(known)]}, is not legal in {game.name}.")
    try:
        positions(replayed)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    return replayed


def size_of(game: Game) -> object:
    """Return the rows and columns of a game's board; without a board its options."""
    return (len(game.board.rows), len(game.board.columns)) if game.board else game.options
