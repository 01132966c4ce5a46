"""The PUCT score, worked by hand, and the child it chooses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import root_with

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel
from azero.search.puct import (
    Puct,
    exploration,
    make_puct,
    select_child,
)
from azero.search.tree import ROOT

CONSTANT = Puct(c_puct=1.0, c_puct_base=0.0, extra_visits=1, fpu_from_parent=False, fpu=0.0)


@kernel
def chosen_at(tree: Any, b: int, node: int, puct: Any) -> int:
    return tree.edges[b, select_child(tree, b, node, puct)].action


@kernel
def exploration_of(puct: Any, child_visits_sum: int) -> float:
    return exploration(puct, child_visits_sum)


def chosen(
    puct: Puct,
    prior: Sequence[float | None],
    visits: Sequence[int] | None = None,
    value_sums: Sequence[float] | None = None,
    root_value: float = 0.0,
) -> int:
    return int(chosen_at(root_with(prior, visits, value_sums, root_value), 0, ROOT, puct))


def constants(search: SearchConfig) -> Puct:
    """Return what `make_puct` makes of a search, with the scratch of none."""
    puct = make_puct(search, 1, 3)
    assert puct.scratch.shape == (3,)
    return puct._replace(scratch=CONSTANT.scratch)


def test_the_config_names_the_constants() -> None:
    plain = SearchConfig(c_puct=2, c_puct_base=7, puct_visits="node", fpu_mode="absolute", fpu=-1)
    assert constants(plain) == Puct(
        2, 7, 1, False, -1, fpu_by_prior=False, dirichlet_fraction=0.25, solver=False
    )
    other = SearchConfig(
        c_puct=1, c_puct_base=0, puct_visits="children", fpu_mode="parent", fpu=0.3, dirichlet_fraction=0
    )
    assert constants(other) == Puct(
        1, 0, 0, True, 0.3, fpu_by_prior=False, dirichlet_fraction=0.0, solver=False
    )
    katago = SearchConfig(
        c_puct=1,
        c_puct_base=0,
        fpu_mode="explored",
        fpu=0.2,
        solver=True,
        dirichlet_alpha=0.3,
        dirichlet_fraction=0.1,
    )
    expected = Puct(
        *(1, 0, 1, False, 0.2),
        fpu_by_prior=True,
        dirichlet_alpha=0.3,
        dirichlet_fraction=0.1,
        solver=True,
    )
    assert constants(katago) == expected


def test_a_constant_c_grows_with_the_root_of_the_visits_alone() -> None:
    # under the root sign: 1 + 8 visits of children; c * sqrt(9) = 2 * 3
    assert exploration_of(CONSTANT._replace(c_puct=2.0), 8) == 6.0
    # the children's visits only: 2 * sqrt(8), and nothing at all before the first one
    assert exploration_of(CONSTANT._replace(c_puct=2.0, extra_visits=0), 8) == pytest.approx(2 * math.sqrt(8))
    assert exploration_of(CONSTANT._replace(c_puct=2.0, extra_visits=0), 0) == 0.0


def test_c_grows_with_the_logarithm_of_the_visits() -> None:
    # 99 visits of children and the root's own: c = 1.25 + ln((1 + 100 + 19652) / 19652) = 1.25 + ln(1.005139)
    # = 1.255126
    paper = CONSTANT._replace(c_puct=1.25, c_puct_base=19652.0)
    assert exploration_of(paper, 99) == pytest.approx(1.255126 * 10, rel=1e-6)
    # base 10: c = 1 + ln((1 + 100 + 10) / 10) = 1 + ln(11.1) = 3.406945
    assert exploration_of(CONSTANT._replace(c_puct_base=10.0), 99) == pytest.approx(3.406945 * 10, rel=1e-6)


def test_the_greatest_sum_of_value_and_exploration_is_chosen() -> None:
    # node visits 1 + 4 + 3 + 1 = 9, so c * sqrt(9) = 3
    #   action 0: q = 2.0 / 4 =  0.5;   3 * 0.5 / (1 + 4) = 0.3;     0.8
    #   action 1: q = 1.8 / 3 =  0.6;   3 * 0.2 / (1 + 3) = 0.15;    0.75
    #   action 2: q = -0.5 / 1 = -0.5;  3 * 0.3 / (1 + 1) = 0.45;   -0.05
    assert chosen(CONSTANT, [0.5, 0.2, 0.3], [4, 3, 1], [2.0, 1.8, -0.5]) == 0
    #   half the exploration: 0.5 + 0.15 = 0.65 against 0.6 + 0.075 = 0.675
    assert chosen(CONSTANT._replace(c_puct=0.5), [0.5, 0.2, 0.3], [4, 3, 1], [2.0, 1.8, -0.5]) == 1
    #   ten times: 0.5 + 3, 0.6 + 1.5, -0.5 + 4.5
    assert chosen(CONSTANT._replace(c_puct=10.0), [0.5, 0.2, 0.3], [4, 3, 1], [2.0, 1.8, -0.5]) == 2


def test_an_unvisited_child_has_the_value_fpu() -> None:
    # node visits 1 + 3 = 4, so c * sqrt(4) = 2
    #   action 0: q = 0.6 / 3 = 0.2;  2 * 0.8 / (1 + 3) = 0.4;  0.6
    #   action 1: q = fpu;            2 * 0.2 / (1 + 0) = 0.4;  0.4 + fpu
    for fpu, best in ((0.0, 0), (0.19, 0), (0.21, 1), (-1.0, 0), (1.0, 1)):
        assert chosen(CONSTANT._replace(fpu=fpu), [0.8, 0.2], [3, 0], [0.6, 0.0]) == best


def test_in_mode_parent_an_unvisited_child_has_the_parent_s_mean_value_less_fpu() -> None:
    # the root's own value 0.6 and its children's 0.6: mean (0.6 + 0.6) / 4 = 0.3
    #   action 0: 0.2 + 0.4 = 0.6
    #   action 1: 0.3 - fpu + 0.4, greater while fpu < 0.1
    for fpu, best in ((0.0, 1), (0.09, 1), (0.11, 0), (0.5, 0)):
        puct = CONSTANT._replace(fpu_from_parent=True, fpu=fpu)
        assert chosen(puct, [0.8, 0.2], [3, 0], [0.6, 0.0], root_value=0.6) == best


def test_in_mode_explored_fpu_counts_as_much_as_has_been_explored() -> None:
    # as above, but fpu times sqrt(0.8) = 0.894: action 1 is greater while fpu < 0.1 / 0.894 = 0.1118
    for fpu, best in ((0.0, 1), (0.111, 1), (0.113, 0), (0.5, 0)):
        puct = CONSTANT._replace(fpu_by_prior=True, fpu=fpu)
        assert chosen(puct, [0.8, 0.2], [3, 0], [0.6, 0.0], root_value=0.6) == best
    # a root with noise has none
    puct = CONSTANT._replace(fpu_by_prior=True, fpu=0.5, dirichlet_fraction=0.25)
    assert chosen(puct, [0.8, 0.2], [3, 0], [0.6, 0.0], root_value=0.6) == 1


def test_of_equal_scores_the_first_is_chosen() -> None:
    assert chosen(CONSTANT, [0.25, 0.25, 0.25, 0.25]) == 0
    assert chosen(CONSTANT, [None, 0.1, 0.45, 0.45]) == 2
    assert chosen(CONSTANT, [0.5, 0.5], [2, 2], [1.0, 1.0]) == 0


def test_without_visits_under_the_root_sign_the_first_descent_takes_the_first_legal_action() -> None:
    # sqrt(0) = 0: the priors do not count yet
    assert chosen(CONSTANT._replace(extra_visits=0), [None, 0.1, 0.9]) == 1
    assert chosen(CONSTANT, [None, 0.1, 0.9]) == 2


def test_a_legal_action_with_prior_0_can_be_chosen() -> None:
    #   action 0: q = -2 / 2 = -1;  sqrt(3) * 1 / 3 = 0.58;  -0.42.  action 1: 0
    assert chosen(CONSTANT, [1.0, 0.0], [2, 0], [-2.0, 0.0]) == 1


@given(st.data())
def test_an_illegal_action_is_never_chosen_and_the_choice_is_the_best_of_the_legal(
    data: st.DataObject,
) -> None:
    size = data.draw(st.integers(1, 9))
    legal = data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    weights = data.draw(st.lists(st.integers(0, 8), min_size=size, max_size=size))
    visits = [data.draw(st.integers(0, 9)) if ok else 0 for ok in legal]
    values = [data.draw(st.integers(-n, n)) if n else 0 for n in visits]
    prior = [weight / 8 if ok else None for ok, weight in zip(legal, weights, strict=True)]
    puct = CONSTANT._replace(fpu=data.draw(st.sampled_from([-1.0, 0.0, 0.5])))
    scale = math.sqrt(1 + sum(visits))
    scores = {
        a: (values[a] / visits[a] if visits[a] else puct.fpu) + scale * p / (1 + visits[a])
        for a, p in enumerate(prior)
        if p is not None
    }
    action = chosen(puct, prior, visits, [float(value) for value in values])
    assert action in scores
    assert scores[action] == pytest.approx(max(scores.values()), abs=1e-6)
