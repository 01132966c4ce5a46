"""Does a champion of Hex know which first moves win? The sign of its value after each, beside the exact one.

    python scripts/hex_openings.py --run hex7
    python scripts/hex_openings.py --run hex6 --network champion.pt

Printed is the network's value of each opening for the first player, in hundredths, with a cross behind those of the wrong sign.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from azero.command_line import one_sentence
from azero.config import Config, UserError
from azero.network.torch_inference import one_thread_a_lane
from azero.trained import load_for_lanes
from azero.truth.hex_openings import OPENINGS, has_openings, opening_states, opening_values
from azero.truth.judging import ask_network


def board_text(values: np.ndarray, right: np.ndarray, size: int) -> str:
    """The first player's values [A] as the board lies, each row half a cell to the right of the one above."""
    cells = [f"{round(100 * value):4d}{' ' if fine else 'x'}" for value, fine in zip(values, right, strict=True)]
    return "\n".join(3 * row * " " + " ".join(cells[row * size : (row + 1) * size]) for row in range(size))


def main() -> None:
    """Print the board, then a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="hex7")
    parser.add_argument("--network", default="", help="file of a network, instead of the run's champion")
    parser.add_argument("--checkpoints", default="checkpoints", help="where runs lie")
    parser.add_argument("--inference", default="", help="backend:precision, such as openvino:bf16; by default the run's")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    config = Config(checkpoints=arguments.checkpoints, device=arguments.device)
    network = Path(arguments.network) if arguments.network else None
    with one_thread_a_lane():
        game, inferences, _, choice = load_for_lanes(config, arguments.run, 1, network, arguments.inference)
        if not has_openings(game.name, game.options):
            sizes = ", ".join(map(str, OPENINGS))
            raise UserError(
                f"Openings are known of Hex of size {sizes} without swap only; {arguments.run} plays {game.name} {game.options}."
            )
        values = ask_network(game, inferences[0], opening_states(game)).values
    exact = opening_values(game)
    right = np.sign(values) == exact
    print(f"{arguments.network or arguments.run}, {choice.backend} {choice.precision} on {choice.device}\n")
    print(board_text(-values, right, game.options["size"]))
    print(f"\nopenings_right={int(right.sum())}\nopenings={len(right)}\nvalue_error={np.abs(values - exact).mean():.4f}")


if __name__ == "__main__":
    with one_sentence():
        main()
