"""PUCT, the score that chooses a child (Silver et al. 2018, "Search"):

q(s, a) + c(s) * prior(s, a) * sqrt(visits(s)) / (1 + visits(s, a))
c(s) = c_puct + ln((1 + visits(s) + c_puct_base) / c_puct_base)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from azero.config import SearchConfig
from azero.search.kernels import part


class Puct(NamedTuple):
    """The constants of the score, as the kernels take them; meanings in `config.SearchConfig`."""

    c_puct: float
    c_puct_base: float  # 0: c is constant
    extra_visits: int  # added to the children's visits under the root sign: 1 or 0
    fpu_from_parent: bool
    fpu: float


def make_puct(config: SearchConfig) -> Puct:
    """The constants of a config."""
    return Puct(
        c_puct=float(config.c_puct),
        c_puct_base=float(config.c_puct_base),
        extra_visits=int(config.puct_visits == "node"),
        fpu_from_parent=config.fpu_mode == "parent",
        fpu=float(config.fpu),
    )


@part
def exploration(puct, child_visits_sum):
    """c(s) * sqrt(visits(s)), the part of the score that all children share."""
    visits = child_visits_sum + puct.extra_visits
    c = puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + visits + puct.c_puct_base) / puct.c_puct_base)
    return c * math.sqrt(visits)


@part
def select_child(tree, b, node, puct):
    """The legal action with the greatest score at an expanded node; of equal ones the first."""
    visits = tree.nodes[b, node].node_visits
    scale = exploration(puct, visits - 1)
    unvisited_q = puct.fpu
    if puct.fpu_from_parent:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu
    best_action = -1
    best_score = -math.inf
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, node, action].prior
        if prior < 0.0:
            continue
        count = tree.edges[b, node, action].child_visits
        q = tree.edges[b, node, action].child_value_sum / count if count > 0 else unvisited_q
        score = q + scale * prior / (1.0 + count)
        if score > best_score:
            best_score = score
            best_action = action
    return best_action
