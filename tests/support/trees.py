"""Trees made by hand, for tests of the score and of the root."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.search.tree import ILLEGAL, ROOT, UNVISITED, Tree, make_tree


def root_with(
    prior: Sequence[float | None],
    visits: Sequence[int] | None = None,
    value_sums: Sequence[float] | None = None,
    root_value: float = 0.0,
) -> Tree:
    """Return one expanded root, as after its evaluation and the simulations that `visits` counts.

    Args:
        prior: [A], None where an action is illegal.
        visits: [A] child visits.
        value_sums: [A] sums of backed-up values, for the player to move at the root.
        root_value: the network's value of the root.
    """
    num_actions = len(prior)
    tree = make_tree(1, 1, num_actions, 1)
    edges = tree.edges[0, ROOT]
    edges["prior"] = [ILLEGAL if p is None else p for p in prior]
    edges["child"] = UNVISITED
    edges["child_visits"] = visits if visits is not None else [0] * num_actions
    edges["child_value_sum"] = value_sums if value_sums is not None else [0.0] * num_actions
    tree.searches["num_nodes"] = 1
    tree.nodes["expanded"] = True
    tree.nodes["node_visits"] = 1 + edges["child_visits"].sum()
    tree.nodes["raw_value"] = root_value
    tree.nodes["value_sum"] = np.float32(root_value + edges["child_value_sum"].sum())
    return tree
