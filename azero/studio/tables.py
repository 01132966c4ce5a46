"""All tables of the server."""

from __future__ import annotations

import time
from collections.abc import Callable

from azero.games.game import Game
from azero.studio.mistakes import concerning
from azero.studio.pool import PERSON, Pool, Side
from azero.studio.safety import Refusal
from azero.studio.searches import SharedSearches
from azero.studio.table import GameTable
from azero.studio.threads import in_thread

MOST_TABLES = 500
IDLE_SECONDS = 600.0  # without a page, after which a table may make room for a new one


class Tables:
    """All tables of the server."""

    def __init__(self, pool: Pool, busy: Callable[[], str], report: Callable[[Exception], None]) -> None:
        """`busy`: returns what else uses the cores, "" for nothing; `report`: receives unexpected errors."""
        self.pool, self.searches = pool, SharedSearches(pool, busy, report)
        self.tables: dict[str, GameTable] = {}

    async def open(
        self,
        game: Game,
        asked_sides: list[object],
        moves: list[object],
        start: str = "",
        ply: int | None = None,
    ) -> GameTable:
        """Begin a game at a position, "" for its own, after some moves; `ply` of them are on the board.

        Raises:
            UserError: a side cannot play, or the game has no such position.
            Refusal: too many games, or a move that is not legal.
        """
        if len(asked_sides) != 2:
            raise Refusal(400, "A game has two sides.")
        if len(moves) > game.max_plies:
            raise Refusal(400, f"A game of {game.name} has at most {game.max_plies} moves.")
        sides = await self.read_sides(game, asked_sides)
        with concerning("start"):
            table = GameTable(self.searches, game, sides, start)

        def play() -> None:
            for move in moves:
                table.tree.play(table.tree.action_of(move))

        await in_thread(play)  # a second for a long game of Go
        if ply is not None and 0 <= ply < len(moves):
            table.tree.current, table.paused = table.tree.path()[ply], True
        self.add(table)
        return table

    def add(self, table: GameTable) -> None:
        """Begin to play at a table; Refusal: too many games."""
        self.make_place()
        self.tables[table.id] = table
        table.changed()

    async def read_sides(self, game: Game, asked: list[object]) -> tuple[Side, Side]:
        """Return the two sides that a page asks for; UserError: one of them cannot play."""
        if all(side == {"kind": "person"} for side in asked):
            return PERSON, PERSON
        first, second = await in_thread(lambda: [self.read_side(i, asked[i], game) for i in range(2)])
        return first, second

    def read_side(self, i: int, asked: object, game: Game) -> Side:
        """Return the side i that a page asks for; FieldMistake: it cannot play."""
        name = asked.get("name") if isinstance(asked, dict) else None
        with concerning(f"sides.{i}", f"{name}."):
            return self.pool.read_side(asked, game)

    def make_place(self) -> None:
        """Forget the table that was idle longest if there are too many; Refusal: none is idle."""
        if len(self.tables) < MOST_TABLES:
            return
        idle = [table for table in self.tables.values() if not table.watchers]
        oldest = min(idle, key=lambda table: table.used, default=None)
        if oldest is None or time.monotonic() - oldest.used < IDLE_SECONDS:
            raise Refusal(429, f"{MOST_TABLES} games are open; try again in ten minutes.")
        oldest.close()
        del self.tables[oldest.id]

    def find(self, number: str) -> GameTable:
        """Return a table; Refusal: there is none."""
        if number not in self.tables:
            raise Refusal(404, "This game is not open; the server was started anew, or it was idle for long.")
        table = self.tables[number]
        table.used = time.monotonic()
        return table
