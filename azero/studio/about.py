"""What people say of a game beside its moves: its name, who played, when, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from azero.records.record import NONE, Record, clean, one_line, outcome_of, result_text
from azero.studio.game_tree import GameTree, Node
from azero.studio.results import read_date, read_result, result_at
from azero.studio.safety import Refusal

SOURCE = "azero studio"
HUMAN = "human"  # a person without a name, in files
LONGEST_NAME = 200  # characters
LONGEST_COMMENT = 20_000
PROPERTIES = {"name": "GN", "event": "EV"}  # of SGF, in the first node
RESIGNED = ((-1.0, "W+R"), (1.0, "B+R"))  # outcome and result, by who resigns
WORDS = ("players", "date", "result", *PROPERTIES)


def today() -> str:
    """Return the date as files have it."""
    return date.today().isoformat()


@dataclass
class About:
    """What people say of a game.

    Attributes:
        players: names of the two sides; "": as the side is called.
        date, source: as in `Record`.
        outcome, result: how it ended, as in `Record`, if a file or a person says it.
        ended: the node at the end of the main line when that was said; what is played after it revokes it.
        before: what was said of outcome, result and end before somebody resigned; None: nobody has.
    """

    players: tuple[str, str] = ("", "")
    date: str = field(default_factory=today)
    source: str = SOURCE
    outcome: float | None = None
    result: str = ""
    ended: int = NONE
    before: tuple[float | None, str, int] | None = None

    @classmethod
    def of(cls, record: Record, ended: int) -> About:
        """Return what a record says; `ended`: the number of its last node."""
        first, second = ("" if name == HUMAN else name for name in record.players)
        said = record.outcome is not None or bool(record.result)
        return cls(
            (first, second),
            record.date,
            record.source,
            record.outcome,
            record.result,
            ended if said else NONE,
        )

    def change(
        self, asked: dict[str, Any], properties: dict[str, list[str]], last: int, names: Sequence[str] = ()
    ) -> None:
        """Take what a page asks for.

        Args:
            asked: some of `WORDS` with their texts; the players are two.
            properties: of the first node.
            last: the number of the node at the end of the main line.
            names: what the players are called in a result.

        Raises:
            Refusal: there is no such word, or it is no text, no date or no result.
        """
        said = {name: lines_of(name, value) for name, value in asked.items()}
        for name, read in (("date", read_date), ("result", lambda text: read_result(text, names))):
            if name in said and said[name] != [getattr(self, name)]:  # what a file says may stay
                said[name] = [read(said[name][0])]
        for name, (text, *more) in said.items():
            if name == "players":
                self.players = (text, *more)  # type: ignore[assignment]
            elif name == "date":
                self.date = text
            elif name == "result":
                self.result, self.outcome, self.ended = text, outcome_of(text), last if text else NONE
                self.before = None
            else:
                properties.pop(PROPERTIES[name], None)
                if text:
                    properties[PROPERTIES[name]] = [text]

    def resign(self, player: int, last: int) -> None:
        """Note that a player has resigned; last: the node at the end of the line."""
        self.before = self.outcome, self.result, self.ended
        self.outcome, self.result = RESIGNED[player]
        self.ended = last

    def revoke(self) -> None:
        """Take a resignation back."""
        self.outcome, self.result, self.ended = self.before or (None, "", NONE)
        self.before = None

    def to_json(self, properties: dict[str, list[str]]) -> dict[str, Any]:
        """Return it as the page reads it; properties: of the first node."""
        words = {name: one_line(properties.get(kept, [""])[0]) for name, kept in PROPERTIES.items()}
        return {**words, "players": list(self.players), "date": self.date}


def result_of(tree: GameTree, about: About, resigned: int, last: Node) -> tuple[float | None, str]:
    """Return the outcome and the result of a record whose main line ends at the node `last`."""
    if about.ended == last.number:
        return about.outcome, about.result
    if tree.is_over(last):
        return tree.outcome(last), result_at(tree.game, last.state)
    if resigned >= 0:
        return RESIGNED[resigned]
    is_beside = all(node.number != about.ended for node in tree.path(last))  # a variation is on the board
    exists = about.ended != NONE and tree.nodes[about.ended] is not None
    stays = is_beside or about.source != SOURCE  # a file's game has ended; what is played after it is a try
    return (about.outcome, about.result) if exists and stays else (None, "")


def has_ended(tree: GameTree, about: About) -> bool:
    """Return whether the main line was played to its end: by the rules, or as people say."""
    last = tree.main_line()[-1]
    return about.ended == last.number or tree.is_over(last)


def shown_result(tree: GameTree, about: About, resigned: int) -> str:
    """Return how the main line ended in SGF's words; "" if it has not."""
    outcome, result = result_of(tree, about, resigned, tree.main_line()[-1])
    return result or result_text(outcome)


def lines_of(name: str, value: object) -> list[str]:
    """Return a word of `About` that a page sends as a list of lines; Refusal: it is none."""
    texts = value if name == "players" else [value]
    wanted = 2 if name == "players" else 1
    if name not in WORDS or not isinstance(texts, list) or len(texts) != wanted:
        raise Refusal(400, f"A game has {', '.join(WORDS)}; the players are two.")
    if not all(isinstance(text, str) and len(text) <= LONGEST_NAME for text in texts):
        raise Refusal(400, f"{name} must be a text of at most {LONGEST_NAME} characters.")
    return [one_line(text).strip() for text in texts]


def comment_of(value: object) -> str:
    """Return a comment that a page sends; Refusal: it is none."""
    if not isinstance(value, str) or len(value) > LONGEST_COMMENT:
        raise Refusal(400, f"A comment must be a text of at most {LONGEST_COMMENT:,} characters.")
    return clean(value)
