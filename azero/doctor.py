"""`azero doctor`: does a run learn, and if something is in its way, what to do?

It looks at the stats of the finished cycles (`metrics.csv`), the newest games and the champion's file, and
changes nothing.
Each check is a pure function that answers with one sentence, or with None where all is well. Exit status 0
exactly when nothing was found.

Letters: T searched plies of all games together.
"""

from __future__ import annotations

import sys
from functools import partial

from azero.cli.hydra_program import program
from azero.config.schema import Config
from azero.report.console import format_count
from azero.run.run import Run
from azero.stages.diagnosis import case_of, examine, rules_of


def run_asked(config: Config, name: str) -> int:
    """Print what is in the way of a run; 0 when nothing is, else 1."""
    run = Run.read(config, name)
    found = examine(case_of(run, rules_of(run)))
    for about, sentence in found.items():
        print(f"{about}: {sentence}")
    if not found:
        print(f"No problems found in {format_count(run.state.cycle, 'cycles')} of run {name}.")
    return 1 if found else 0


main = partial(program, "doctor", run_asked)

if __name__ == "__main__":
    sys.exit(main())
