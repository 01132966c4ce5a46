"""How fast is self-play with pgx and mctx? Their rules and search and a network like azero's, on XLA.

    python scripts/peers/pgx_mctx.py --precision bf16  # in its own environment, see compare.py

Many games at once, each searched by Gumbel MuZero with the true rules as its model and moved on; finished
ones begin anew. One simulation is one evaluation. XLA compiles search and step together and uses all cores.
Compilation is not timed.

Letters: B games, A actions, C channels, H W the board; XLA's convolutions take [B, H, W, C].
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import pgx

GAMES = {"connect_four": "connect_four", "tictactoe": "tic_tac_toe"}
DTYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16}
HEAD_PLANES, VALUE_HIDDEN = 32, 64  # as azero's heads

Parameters = dict[str, Any]


def make_parameters(
    key: jax.Array, shape: tuple[int, ...], actions: int, blocks: int, channels: int, dtype: Any
) -> Parameters:
    """Random weights of a residual network whose batch norms are folded into biases."""
    height, width, planes = shape
    flat = min(channels, HEAD_PLANES) * height * width
    shapes = {
        "stem": (3, 3, planes, channels),
        **{f"block{k}{half}": (3, 3, channels, channels) for k in range(blocks) for half in "ab"},
        "policy": (1, 1, channels, min(channels, HEAD_PLANES)),
        "value": (1, 1, channels, min(channels, HEAD_PLANES)),
        "policy_output": (flat, actions),
        "value_hidden": (flat, VALUE_HIDDEN),
        "value_output": (VALUE_HIDDEN, 1),
    }
    keys = jax.random.split(key, len(shapes))
    return {
        name: (
            (jax.random.normal(one, size) * math.sqrt(2 / math.prod(size[:-1]))).astype(dtype),
            jnp.zeros(size[-1], dtype),
        )
        for one, (name, size) in zip(keys, shapes.items(), strict=True)
    }


def infer(parameters: Parameters, blocks: int, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
    """[B, H, W, planes] to policy logits [B, A] and value [B], both float32."""

    def convolve(name: str, x: jax.Array) -> jax.Array:
        weight, bias = parameters[name]
        return (
            jax.lax.conv_general_dilated(
                x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            + bias
        )

    def dense(name: str, x: jax.Array) -> jax.Array:
        weight, bias = parameters[name]
        return x @ weight + bias

    x = jax.nn.relu(convolve("stem", observation.astype(parameters["stem"][0].dtype)))
    for k in range(blocks):
        x = jax.nn.relu(convolve(f"block{k}b", jax.nn.relu(convolve(f"block{k}a", x))) + x)
    policy, value = (jax.nn.relu(convolve(name, x)).reshape(len(x), -1) for name in ("policy", "value"))
    value = dense("value_output", jax.nn.relu(dense("value_hidden", value)))
    return dense("policy_output", policy).astype(jnp.float32), jnp.tanh(value[:, 0].astype(jnp.float32))


def make_play(env: Any, parameters: Parameters, blocks: int, simulations: int) -> Any:
    """A compiled function that searches in every game, moves, and begins finished games anew."""
    step, begin = jax.vmap(env.step), jax.vmap(env.init)

    def evaluated(state: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = infer(parameters, blocks, state.observation)
        return jnp.where(state.legal_action_mask, logits, jnp.finfo(jnp.float32).min), value

    def recurrent(_: Any, key: jax.Array, action: jax.Array, state: Any) -> Any:
        mover = state.current_player
        state = step(state, action)
        logits, value = evaluated(state)
        ended = state.terminated
        reward = state.rewards[jnp.arange(len(mover)), mover]
        answer = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.where(
                ended, 0.0, -1.0
            ),  # the value is meant for the player to move, who is the other one
            prior_logits=logits,
            value=jnp.where(ended, 0.0, value),
        )
        return answer, state

    @jax.jit
    def play(state: Any, key: jax.Array) -> Any:
        search_key, begin_key = jax.random.split(key)
        logits, value = evaluated(state)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        found = mctx.gumbel_muzero_policy(
            (), search_key, root, recurrent, simulations, ~state.legal_action_mask
        )
        state = step(state, found.action)
        fresh = begin(jax.random.split(begin_key, len(value)))
        return jax.tree.map(
            lambda new, old: jnp.where(state.terminated.reshape(-1, *[1] * (old.ndim - 1)), new, old),
            fresh,
            state,
        )

    return play


def main() -> None:
    """Print a line a round, then the median."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="connect_four", choices=sorted(GAMES))
    parser.add_argument("--network", default="6x64", help="blocks x channels")
    parser.add_argument("--simulations", type=int, default=32, help="simulations of a move")
    parser.add_argument("--games", type=int, default=256, help="games at once")
    parser.add_argument("--precision", default="fp32", choices=sorted(DTYPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="least seconds of a round")
    arguments = parser.parse_args()
    blocks, channels = map(int, arguments.network.split("x"))
    env = pgx.make(GAMES[arguments.game])
    key = jax.random.PRNGKey(1)
    parameters = make_parameters(
        key, env.observation_shape, env.num_actions, blocks, channels, DTYPES[arguments.precision]
    )
    play = make_play(env, parameters, blocks, arguments.simulations)
    state = jax.vmap(env.init)(jax.random.split(key, arguments.games))
    state = jax.block_until_ready(play(state, key))
    rates = []
    for number in range(arguments.rounds):
        moves, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < arguments.seconds:
            state = jax.block_until_ready(play(state, jax.random.fold_in(key, 1000 * number + moves)))
            moves += 1
        rates.append(moves * arguments.games * arguments.simulations / (time.perf_counter() - begin))
        print(f"round {number + 1}: {rates[-1]:,.0f} simulations/s", flush=True)
    print(f"simulations_per_second={statistics.median(rates):.0f}")


if __name__ == "__main__":
    main()
