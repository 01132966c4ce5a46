"""Run one stage of a run, if it comes next: `azero evaluate`. See `azero/stages/evaluate.py`."""

from __future__ import annotations

from azero.cli.hydra_program import program
from azero.run.state import StageName
from azero.stages.run_stage import program_of

main = program_of(StageName.EVALUATE)

if __name__ == "__main__":
    program(StageName.EVALUATE, main, pass_arguments=True)
