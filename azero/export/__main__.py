"""`azero export run=connect_four out=connect_four.html`: a champion as a file for elsewhere.

A page, a library and a file for Kaggle's ConnectX play by themselves; ONNX and TorchScript are the network
alone, for other programs. Heavy modules are imported where they are needed, so that `--help` is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from azero.cli.arguments import FolderSettings, refuse_rest, run_program, split_words, take_settings
from azero.config.reading import AUTO
from azero.config.schema import UserError, setting

EXAMPLES = """run=connect_four
run=connect_four out=small.html weights=int8
run=connect_four out=connect_four.onnx
run=connect_four out=submission.py
run=connect_four out=champion.so
"""
ENDINGS = {"html": ".html", "onnx": ".onnx", "torchscript": ".pt", "connectx": ".py", "library": ".so"}
WITH_WEIGHTS = ("html", "connectx")
WEIGHTS = ("fp16", "int8", "fp32")


@dataclass(frozen=True)
class ExportSettings(FolderSettings):
    """Settings of the program."""

    run: str = setting("", "The run whose champion is exported.")
    out: str = setting(
        "", "The file: .html, .onnx, .pt, .py or .so. Default: a page with the name of the run."
    )
    format: str = setting(AUTO, "What to write; auto: by the file's ending.", choices=(AUTO, *ENDINGS))
    weights: str = setting("fp16", "Numbers of the network of a page or .py.", choices=WEIGHTS)
    overwrite: bool = setting(False, "Replace the file if it exists.")


def choose_file(asked: ExportSettings) -> tuple[Path, str]:
    """Return the file to write and its format.

    Raises:
        UserError: the ending says no format, the file exists, or its folder is missing.
    """
    kind = "html" if asked.format == AUTO and not asked.out else asked.format
    out = Path(asked.out or f"{Path(asked.run).name}{ENDINGS[kind]}")
    if kind == AUTO:
        known = {ending: kind for kind, ending in ENDINGS.items()}
        if out.suffix.lower() not in known:
            raise UserError(f"out={out} must end in {', '.join(known)}, or set format=.")
        kind = known[out.suffix.lower()]
    if kind not in WITH_WEIGHTS and asked.weights != "fp16":
        raise UserError(
            f"weights={asked.weights} is for a page or a .py file; {kind} keeps the network's own numbers."
        )
    if not out.parent.is_dir():
        raise UserError(f"out={out} cannot be written: there is no folder {out.parent}.")
    from azero.run.disk import refuse_existing

    refuse_existing(out, asked.overwrite)
    if kind == "library":
        if out.suffix == ".h":
            raise UserError(f"out={out} would be the library's header; choose a name that ends in .so.")
        refuse_existing(out.with_suffix(".h"), asked.overwrite)
    return out, kind


def export(asked: ExportSettings) -> str:
    """Write the file; return what to say of it.

    Raises:
        UserError: there is no such run, it cannot be exported, or the file cannot be written.
    """
    if not asked.run:
        raise UserError("run= is missing; azero runs lists the runs, and run=NAME names one.")
    from azero.report.console import format_size
    from azero.run.run import Run

    config = replace(asked.config, device="cpu")
    run = Run.read(config, asked.run)
    out, kind = choose_file(asked)
    from azero.export.exported import facts, read_exported, write_page  # here, because it imports torch

    champion = read_exported(config, run)
    if kind == "html":
        said = write_page(champion, asked.weights, out)
        said += f"\nOpen it in any browser: {out.resolve().as_uri()}"
    elif kind == "connectx":
        from azero.export.submission import write_submission

        said = write_submission(champion, asked.weights, out)
    elif kind == "library":
        from azero.export.library import write_library

        said = write_library(champion, out)
    else:
        from azero.export.onnx import write_onnx
        from azero.export.torchscript import write_torchscript

        write = write_onnx if kind == "onnx" else write_torchscript
        write(champion.network, champion.game, facts(champion), out)
        said = "The README in its metadata says what goes in and what comes out."
    return f"{out}: {format_size(out.stat().st_size)}\n{said}"


def export_asked(words: Sequence[str]) -> int:
    """Write what the words of the command line ask for; return the exit status."""
    texts = split_words(words, bare="run")
    asked = take_settings(texts, ExportSettings)
    refuse_rest(texts, ExportSettings)
    print(export(asked))
    return 0


main = partial(run_program, "export", export_asked, ExportSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
