"""Run one stage of a run, if it comes next: `azero train`. See `azero/stages/train.py`."""

from __future__ import annotations

import sys
from functools import partial

from azero.cli.hydra_program import program
from azero.run.state import StageName
from azero.stages.run_stage import run_alone

run_asked = partial(run_alone, StageName.TRAIN)
main = partial(program, StageName.TRAIN, run_asked, pass_arguments=True)

if __name__ == "__main__":
    sys.exit(main())
