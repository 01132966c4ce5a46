"""Go in plain Python: sets of points instead of words, every move tried out, the whole history kept.

A point is (column, row), counted from 1 at the bottom left. `test_go.py` holds the compiled rules to this
twin.
"""

from __future__ import annotations

Point = tuple[int, int]
Stones = dict[Point, str]

COLUMNS = "abcdefghjklmnopqrst"


class PlainGo:
    """One game, from the empty board."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones: Stones = {}
        self.mover = "black"
        self.passes = 0
        self.history = [frozenset(self.stones.items())]

    def legal_moves(self, superko: str) -> set[str]:
        """The names of the legal moves under "positional" or "simple" superko."""
        forbidden = set(self.history) if superko == "positional" else set(self.history[-2:-1])
        legal = {"pass"}
        for column in range(1, self.size + 1):
            for row in range(1, self.size + 1):
                after = self.after((column, row))
                if after is not None and frozenset(after.items()) not in forbidden:
                    legal.add(self.name((column, row)))
        return legal

    def play(self, move: str) -> None:
        """Play a legal move."""
        if move == "pass":
            self.passes += 1
        else:
            after = self.after((COLUMNS.index(move[0]) + 1, int(move[1:])))
            assert after is not None
            self.stones, self.passes = after, 0
        self.mover = self.other()
        self.history.append(frozenset(self.stones.items()))

    def after(self, point: Point) -> Stones | None:
        """The stones after a move there, None for an occupied point and for suicide."""
        if point in self.stones:
            return None
        after = {**self.stones, point: self.mover}
        for beside in self.beside(point):
            if after.get(beside) == self.other() and not self.liberties(after, beside):
                for captured in self.chain(after, beside):
                    del after[captured]
        return after if self.liberties(after, point) else None

    def lead(self) -> int:
        """Black's area less white's."""
        lead = sum(1 if colour == "black" else -1 for colour in self.stones.values())
        points = {(column, row) for column in range(1, self.size + 1) for row in range(1, self.size + 1)}
        while points := points - self.stones.keys():
            region = self.chain(self.stones, next(iter(points)))
            owners = {
                self.stones[beside]
                for point in region
                for beside in self.beside(point)
                if beside in self.stones
            }
            lead += {frozenset({"black"}): 1, frozenset({"white"}): -1}.get(frozenset(owners), 0) * len(
                region
            )
            points -= region
        return lead

    def name(self, point: Point) -> str:
        """Such as d4."""
        return f"{COLUMNS[point[0] - 1]}{point[1]}"

    def other(self) -> str:
        """The colour that is not to play."""
        return "white" if self.mover == "black" else "black"

    def beside(self, point: Point) -> list[Point]:
        """The points next to a point."""
        column, row = point
        around = [(column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1)]
        return [(x, y) for x, y in around if 1 <= x <= self.size and 1 <= y <= self.size]

    def chain(self, stones: Stones, start: Point) -> set[Point]:
        """The joined points that hold what `start` holds: a chain, or a region of empty points."""
        found, waiting = {start}, [start]
        while waiting:
            for beside in self.beside(waiting.pop()):
                if beside not in found and stones.get(beside) == stones.get(start):
                    found.add(beside)
                    waiting.append(beside)
        return found

    def liberties(self, stones: Stones, start: Point) -> set[Point]:
        """The empty points beside the chain of `start`."""
        return {
            beside
            for point in self.chain(stones, start)
            for beside in self.beside(point)
            if beside not in stones
        }
