"""What happens at the root: noise, the policy target, and the move, worked by hand and counted over many
draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from trees import root_with

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel
from azero.kernels.random_stream import new_stream, next_gamma, next_normal
from azero.search.puct import (
    add_noise,
    make_puct,
    move_weights,
)
from azero.search.root import (
    Temperature,
    choose_place,
    normalize,
    temperature_at,
)
from azero.search.tree import ROOT, Tree, edges_of

DRAWS = 40_000
PUCT = make_puct(SearchConfig(), 1, 5)


@kernel
def count_choices(weights: Any, temperature: float, stream: Any, draws: int, counts: Any) -> None:
    for _ in range(draws):
        counts[choose_place(weights, temperature, stream)] += 1


@kernel
def fill_gammas(stream: Any, shape: float, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = next_gamma(stream, shape)


@kernel
def fill_normals(stream: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = next_normal(stream)


@kernel
def fill_priors(
    tree: Any, prior: Any, alpha: float, fraction: float, stream: Any, noise: Any, out: Any
) -> None:
    """Add noise to the same root many times: prior [M], noise [M or more], out [draws, M]."""
    for i in range(out.shape[0]):
        for place in range(prior.shape[0]):
            tree.edges[0, place].prior = prior[place]
        add_noise(tree, 0, alpha, fraction, stream, noise)
        for place in range(prior.shape[0]):
            out[i, place] = tree.edges[0, place].prior


def choices(visits: Sequence[int], temperature: float, draws: int = DRAWS) -> list[float]:
    """Return how often each action is chosen."""
    counts = np.zeros(len(visits), np.int64)
    count_choices(np.array(visits, float), temperature, new_stream(11), draws, counts)
    return [float(share) for share in counts / draws]


def noisy_priors(
    prior: Sequence[float | None], alpha: float, fraction: float, draws: int = DRAWS
) -> np.ndarray:
    """Return the priors of the legal actions, [draws, M] float32."""
    tree = root_with(prior)
    clean = edges_of(tree, 0, ROOT)["prior"].copy()
    out = np.zeros((draws, len(clean)), np.float32)
    fill_priors(tree, clean, alpha, fraction, new_stream(5), np.zeros(len(prior)), out)
    assert (edges_of(tree, 0, ROOT)["action"] == [a for a, p in enumerate(prior) if p is not None]).all()
    return out


def target_of(tree: Tree) -> list[float]:
    """Return the share of each edge."""
    out = np.zeros(tree.nodes["num_edges"][0, ROOT], np.float32)
    normalize(move_weights(tree, 0, PUCT), out)
    return [float(share) for share in out]


def test_the_temperature_stays_then_falls_linearly_then_stays() -> None:
    # 1 for 4 plies; 3 plies on the way down to 0.2, in 4 equal falls of 0.2; then 0.2
    schedule = Temperature(1.0, 4, 3, 0.2)
    expected = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2]
    assert [temperature_at(schedule, ply) for ply in range(10)] == pytest.approx(expected)


def test_without_a_fall_the_temperature_drops_at_once() -> None:
    # AlphaGo Zero: 1 for 30 plies, then 0
    schedule = Temperature(1.0, 30, 0, 0.0)
    assert [temperature_at(schedule, ply) for ply in (0, 29, 30, 31, 500)] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert temperature_at(Temperature(1.0, 0, 0, 0.25), 0) == 0.25


def test_the_temperature_may_rise_as_well() -> None:
    assert [temperature_at(Temperature(0.0, 1, 1, 1.0), ply) for ply in range(4)] == [0.0, 0.5, 1.0, 1.0]


def test_the_policy_target_is_the_visits_over_their_sum() -> None:
    tree = root_with([0.2, 0.2, 0.2, None, 0.4], [6, 3, 1, 0, 0])
    assert edges_of(tree, 0, ROOT)["action"].tolist() == [0, 1, 2, 4]
    assert target_of(tree) == pytest.approx([0.6, 0.3, 0.1, 0.0])
    assert target_of(root_with([0.5, 0.5], [0, 1])) == [0.0, 1.0]


@pytest.mark.parametrize("temperature", [0.0, 1e-9, 0.5, 1.0, 100.0])
def test_choosing_a_move_leaves_target_and_tree_untouched(temperature: float) -> None:
    tree = root_with([0.2, 0.3, 0.5], [6, 3, 1], [1.0, 0.5, -0.25])
    before = tree.edges.copy()
    choose_place(move_weights(tree, 0, PUCT), temperature, new_stream(1))
    assert (tree.edges == before).all()
    assert target_of(tree) == pytest.approx([0.6, 0.3, 0.1])


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1.0, [6 / 10, 3 / 10, 0.0, 1 / 10]),  # 6 + 3 + 1
        (0.5, [36 / 46, 9 / 46, 0.0, 1 / 46]),  # squares: 36 + 9 + 1
        (2.0, [0.4727, 0.3343, 0.0, 0.1930]),  # roots: 2.4495 + 1.7321 + 1 = 5.1815
        (0.25, [1296 / 1378, 81 / 1378, 0.0, 1 / 1378]),  # fourth powers: 1296 + 81 + 1
    ],
)
def test_a_move_is_chosen_as_often_as_its_visits_to_the_power_of_one_over_the_temperature(
    temperature: float, expected: list[float]
) -> None:
    found = choices([6, 3, 0, 1], temperature)
    assert found == pytest.approx(expected, abs=5 * 0.5 / DRAWS**0.5)  # five standard errors
    assert found[2] == 0.0


def test_temperature_0_takes_the_first_of_the_most_visited_and_draws_nothing() -> None:
    stream = new_stream(1)
    assert choose_place(np.array([2.0, 5.0, 5.0, 1.0]), 0.0, stream) == 1
    assert stream[1] == 0


@pytest.mark.parametrize("temperature", [1e-2, 1e-3, 1e-9, 1e-300, 5e-324])
def test_a_tiny_temperature_does_not_overflow(temperature: float) -> None:
    # 1,000,000 ** 100 is 1e600, more than any float; 999,000 / 1,000,000 to the power of 100 is 0.905 and of
    # 10,000 nothing
    assert choices([1_000_000, 10, 0, 500_000], temperature, draws=1000) == [1.0, 0.0, 0.0, 0.0]
    shares = choices([7, 3, 7], temperature)
    assert shares[1] == 0.0
    assert shares[0] == pytest.approx(0.5, abs=5 * 0.5 / DRAWS**0.5)


def test_a_huge_temperature_makes_all_visited_moves_alike() -> None:
    assert choices([900, 1, 0, 30], 1e9) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=5 * 0.5 / DRAWS**0.5)


def test_the_same_stream_chooses_the_same_moves() -> None:
    weights = np.array([4.0, 3.0, 2.0, 1.0])
    streams = [new_stream(9), new_stream(9)]
    moves = [[int(choose_place(weights, 1.0, stream)) for _ in range(50)] for stream in streams]
    assert moves[0] == moves[1]
    assert set(moves[0]) == {0, 1, 2, 3}


def test_normal_numbers_have_mean_0_and_variance_1() -> None:
    out = np.zeros(200_000)
    fill_normals(new_stream(2), out)
    assert out.mean() == pytest.approx(0.0, abs=5 / 200_000**0.5)
    assert out.var() == pytest.approx(1.0, abs=5 * (2 / 200_000) ** 0.5)
    assert (np.abs(out) < 1.959964).mean() == pytest.approx(0.95, abs=0.003)


@pytest.mark.parametrize("shape", [0.03, 0.3, 1.0, 2.5, 30.0])
def test_gamma_numbers_have_mean_and_variance_equal_to_their_shape(shape: float) -> None:
    out = np.zeros(200_000)
    fill_gammas(new_stream(3), shape, out)
    assert (out >= 0).all() and np.isfinite(out).all()
    assert out.mean() == pytest.approx(shape, abs=5 * (shape / len(out)) ** 0.5)
    # the variance of (x - shape) ** 2 is 2 shape ** 2 + 6 shape
    assert out.var() == pytest.approx(shape, abs=5 * ((2 * shape**2 + 6 * shape) / len(out)) ** 0.5)


def test_gamma_numbers_of_shape_1_are_exponential() -> None:
    out = np.zeros(200_000)
    fill_gammas(new_stream(4), 1.0, out)
    for x in (0.1, 0.7, 2.0, 4.0):
        assert (out < x).mean() == pytest.approx(1 - np.exp(-x), abs=0.005)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_pure_noise_has_the_mean_and_variance_of_a_dirichlet_distribution(alpha: float) -> None:
    """Over k legal actions: mean 1 / k, variance (1 / k) (1 - 1 / k) / (k alpha + 1), correlation -1 / (k -
    1).
    """
    legal = [0, 2, 3, 6, 8]
    prior = [0.2 if action in legal else None for action in range(9)]
    noise = noisy_priors(prior, alpha, 1.0).astype(np.float64)
    k = len(legal)
    variance = (1 / k) * (1 - 1 / k) / (k * alpha + 1)
    np.testing.assert_allclose(noise.mean(axis=0), 1 / k, atol=5 * (variance / DRAWS) ** 0.5)
    np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.05)
    correlations = np.asarray(np.corrcoef(noise.T))[np.triu_indices(k, 1)]
    np.testing.assert_allclose(correlations, -1 / (k - 1), atol=0.03)


@pytest.mark.parametrize("alpha", [0.001, 0.03, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("fraction", [0.25, 1.0])
def test_noise_touches_legal_actions_only_and_the_priors_sum_to_one(alpha: float, fraction: float) -> None:
    priors = noisy_priors([0.5, None, 0.125, None, 0.375, 0.0], alpha, fraction, draws=2000)
    assert priors.shape == (2000, 4) and (priors >= 0).all()
    np.testing.assert_allclose(priors.sum(axis=1), 1.0, atol=1e-6)


def test_the_fraction_mixes_prior_and_noise() -> None:
    # mean: 0.75 * prior + 0.25 / 2;  never below the prior's share 0.75 * prior
    priors = noisy_priors([0.8, 0.2], 1.0, 0.25)
    np.testing.assert_allclose(priors.mean(axis=0), [0.725, 0.275], atol=0.003)
    assert (priors >= np.array([0.6, 0.15]) - 1e-6).all()
    assert (priors <= np.array([0.85, 0.4]) + 1e-6).all()


def test_fraction_0_leaves_the_priors_untouched_and_draws_nothing() -> None:
    tree = root_with([0.7, None, 0.3])
    before, stream = tree.edges.copy(), new_stream(1)
    add_noise(tree, 0, 0.3, 0.0, stream, np.zeros(3))
    assert (tree.edges == before).all()
    assert stream[1] == 0


def test_a_single_legal_action_keeps_all_of_the_prior() -> None:
    np.testing.assert_allclose(noisy_priors([None, 1.0, None], 0.3, 0.25, draws=100), 1.0)
