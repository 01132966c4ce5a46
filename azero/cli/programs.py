"""The programs by name, how one of them is started, and what all of them answer alike."""

from __future__ import annotations

import importlib
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence

import azero
from azero.config.suggest import did_you_mean

PROGRAMS = {
    "loop": "Train a player: self-play, train, evaluate, promote, again.",
    "initialize": "Run one stage alone: make the first network of a run.",
    "selfplay": "Run one stage alone: play one cycle's games.",
    "train": "Run one stage alone: train the next candidate.",
    "evaluate": "Run one stage alone: match candidate and champion.",
    "studio": "Train, play and analyse in the browser.",
    "play": "Play against a champion, or against any other player.",
    "export": "Write a champion as a page that plays, a library, or ONNX.",
    "arena": "Run matches and tournaments between players.",
    "gtp": "Be an engine for GoGui, Sabaki, Lizzie and HexGui (GTP).",
    "strength": "Measure a champion's mistakes on solved positions.",
    "correctness": "Check a champion on tic-tac-toe positions.",
    "doctor": "Read a run, name known problems and their fixes.",
    "runs": "List all runs, or delete one.",
    "records": "Write games as SGF, PGN, JSON lines or Parquet.",
    "estimate": "Measure how long a run takes here, and what it needs.",
    "check_game": "Check that the rules of a game are sound.",
    "trace": "Watch a tree search step by step.",
    "analysis": "Answer KataGo's JSON analysis queries, for every game.",
    "gomocup": "Play Gomoku for Gomocup, Piskvork and their like.",
    "nboard": "Play and analyse Othello under NBoard.",
    "uci": "Be an engine for chess programs (UCI).",
    "epd": "Count the positions of a suite that a player solves.",
    "oracle": "Make positions with exact scores, to measure champions.",
}
ROOMS = ("export", "records", "studio")  # programs that are a room's `__main__`
ANSWERED = ("--help", "--version")  # by every program
WRONG_INPUT = 2  # exit status after a mistake of the user


def refuse(mistake: object) -> int:
    """Print a user's mistake as one sentence, wrapped at spaces on a terminal; return the exit status."""
    text = f"azero: {mistake}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    print(text, file=sys.stderr)
    return WRONG_INPUT


def answers_flag(words: Sequence[str], help_text: Callable[[], str]) -> bool:
    """Print what --help or --version asks for; return whether a word asks for one."""
    if {"--help", "-h"} & set(words):
        print(help_text())
    elif "--version" in words:
        print(f"azero {azero.__version__}")
    else:
        return False
    return True


def overview() -> str:
    """Return the list of programs, one line each."""
    lines = [f"  azero {name:<12} {sentence}" for name, sentence in PROGRAMS.items()]
    head = "azero learns to play a two-player board game from nothing but its rules."
    return "\n".join([head, "", *lines, "", "azero NAME --help says more about one of them."])


def start(words: Sequence[str]) -> int:
    """Run the program that the first word names with the other words as arguments; return the exit status."""
    if not words or words[0] == "help":
        words = [*words[1:2], "--help"]
    if answers_flag(words[:1], overview):
        return 0
    name = words[0].replace("-", "_")
    if name not in PROGRAMS:
        hint = did_you_mean(words[0], [*PROGRAMS, *ANSWERED], "; azero lists the programs.", "azero ")
        return refuse(f"unknown program {words[0]!r}{hint}")
    module = importlib.import_module(f"azero.{name}{'.__main__' if name in ROOMS else ''}")
    status: int = module.main(words[1:])
    return status
