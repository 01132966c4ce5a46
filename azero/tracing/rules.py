"""The rules by which a search chooses a move: their formulas and the terms of each, for text and page."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A rule of choice.

    Attributes:
        title: of its score.
        formula: of the score, in letters.
        arithmetic: the formula with the keys of the terms in braces, to be filled in.
        columns: of the table between visits and score: (key of a term, head).
        about: what the letters mean.
        untried: what stands in place of the score of a move without visits that has none.
    """

    title: str
    formula: str
    arithmetic: str
    columns: tuple[tuple[str, str], ...]
    about: str
    untried: str = ""


ROOT_ABOUT = (
    "g is Gumbel noise, 0 at temperature 0. σ(q) grows with the value q; it is 0 for the worst move. A move "
    "without visits gets as q a mix of the root's value and the other moves' q."
)

RULES = {
    "ucb1": Rule(
        "UCB1",
        "±w/n + c √(ln t / n)",
        "{mean} + {c} · √(ln {t} / {n})",
        (("w", "w"), ("mean", "±w/n"), ("bonus", "bonus")),
        "w/n is what the move has brought, with a minus where {second} chooses. The bonus is large for a "
        "move with few of the t visits. A move that was not tried comes first.",
        "not tried",
    ),
    "puct": Rule(
        "PUCT",
        "q + c P √N / (1 + n)",
        "{q} + {c} · {prior} · √{N} / (1 + {n})",
        (("q", "q"), ("prior", "P"), ("u", "u")),
        "q is the mean value for the side that chooses, a fixed number before the first visit. u, the rest, "
        "is large for a move with a large prior P and few of the N visits.",
    ),
    "gumbel_root": Rule(
        "Gumbel",
        "g + ln P + σ(q)",
        "{noise} + ln {prior} + {advantage}",
        (("noise", "g"), ("log_prior", "ln P"), ("q", "q"), ("advantage", "σ(q)")),
        "Sequential halving: all moves in a round get the same visits, then the worse half is dropped. "
        + ROOT_ABOUT,
    ),
    "gumbel": Rule(
        "lag",
        "π′ − n / N",
        "{improved} − {n} / {N}",
        (("q", "q"), ("prior", "P"), ("advantage", "σ(q)"), ("improved", "π′")),
        "π′ is the improved policy, the softmax of ln P + σ(q). The move whose share of the N visits lags "
        "most behind it is chosen.",
    ),
}
