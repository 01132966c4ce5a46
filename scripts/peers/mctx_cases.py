#!/usr/bin/env python3
"""Results of mctx's Gumbel search on small artificial games, which tests/search/test_gumbel.py compares with.

    pip install mctx==0.0.71 jax        in an environment of its own; azero is not needed
    python scripts/peers/mctx_cases.py > tests/support/mctx_gumbel.json

A world is a table: action a leads from state s to (4 s + 31 a + 7) mod 97, and each state has logits and a
value of its own, drawn from a seed. Nothing ever ends, and the players alternate.
"""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import mctx
import numpy as np

STATES, ACTIONS = 97, 4


def tables(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits [97, 4] and values [97] of a world, in sixteenths, which JSON and float32 hold exactly."""
    rng = np.random.default_rng(seed)
    return rng.integers(-32, 33, (STATES, ACTIONS)) / 16, rng.integers(-15, 16, STATES) / 16


def case(
    seed: int, num_simulations: int, considered: int, illegal: list[int], noise_scale: float
) -> dict[str, object]:
    """Search from the state `seed` of the world `seed`; `illegal` actions are forbidden at the root."""
    logits, values = (jnp.asarray(table, jnp.float32) for table in tables(seed))
    start = jnp.array([seed % STATES])

    def move(
        _params: None, _key: jax.Array, action: jax.Array, state: jax.Array
    ) -> tuple[mctx.RecurrentFnOutput, jax.Array]:
        after = (4 * state + 31 * action + 7) % STATES
        ones = jnp.ones(1)
        return mctx.RecurrentFnOutput(
            reward=0 * ones, discount=-ones, prior_logits=logits[after], value=values[after]
        ), after

    forbidden = jnp.array([[float(action in illegal) for action in range(ACTIONS)]])
    found = mctx.gumbel_muzero_policy(
        None,
        jax.random.PRNGKey(seed),
        mctx.RootFnOutput(prior_logits=logits[start], value=values[start], embedding=start),
        move,
        num_simulations,
        invalid_actions=forbidden,
        max_num_considered_actions=considered,
        gumbel_scale=noise_scale,
    )
    tree = found.search_tree
    return {
        "seed": seed,
        "num_simulations": num_simulations,
        "considered": considered,
        "illegal": illegal,
        "logits": tables(seed)[0].tolist(),
        "values": tables(seed)[1].tolist(),
        "noise": tree.extra_data.root_gumbel[0].tolist(),
        "visits": tree.children_visits[0, 0].tolist(),
        "inner_visits": sorted(np.asarray(tree.node_visits[0]).tolist(), reverse=True),
        "action": int(found.action[0]),
        "target": found.action_weights[0].tolist(),
        "root_value": float(tree.node_values[0, 0]),
    }


def main() -> None:
    """Print all cases."""
    cases = [
        case(seed, num_simulations, considered, illegal, noise_scale)
        for seed, (num_simulations, considered, illegal, noise_scale) in enumerate(
            [
                *(
                    (8, 4, [], 1.0),
                    (16, 4, [], 1.0),
                    (32, 2, [], 1.0),
                    (32, 16, [], 1.0),
                    (64, 4, [], 0.0),
                    (50, 3, [], 1.0),
                ),
                *(
                    (16, 4, [2], 1.0),
                    (33, 4, [0, 3], 1.0),
                    (20, 1, [], 1.0),
                    (100, 4, [1], 0.5),
                    (2, 4, [], 1.0),
                    (200, 4, [], 1.0),
                ),
            ],
            start=1,
        )
    ]
    print(json.dumps({"mctx": mctx.__version__, "jax": jax.__version__, "cases": cases}))


if __name__ == "__main__":
    main()
