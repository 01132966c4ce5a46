"""Does a champion of Hex know which first moves win? The sign of its value after each, beside the exact one.

    python scripts/hex_openings.py --run hex7
    python scripts/hex_openings.py --run hex6 --network champion.pt

Printed is the network's value of each opening for the first player, in hundredths, with a cross behind those
of the wrong sign.
"""

from __future__ import annotations

import argparse

from champions import add_champion, load_champion, title

from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.network.torch_inference import one_thread_per_worker
from azero.strength import openings_text
from azero.truth.hex_openings import OPENINGS, has_openings
from azero.truth.judging import judge_openings


def main() -> None:
    """Print the board, then a line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_champion(parser, "hex7")
    arguments = parser.parse_args()
    with one_thread_per_worker():
        trained = load_champion(arguments, 1)
        game = trained.game
        if not has_openings(game.name, game.options):
            sizes = ", ".join(map(str, OPENINGS))
            raise UserError(
                f"Openings are known of Hex of size {sizes} without swap only; {arguments.run} plays "
                f"{game.name} {game.options}."
            )
        judged = judge_openings(game, trained.inferences[0])
    print(f"{title(arguments, trained)}\n")
    print(openings_text(judged, game.options["size"]))
    print(
        f"\nopenings_right={int(judged.right.sum())}\nopenings={len(judged.right)}\nvalue_error={judged.value_error:.4f}"
    )


if __name__ == "__main__":
    with one_sentence():
        main()
