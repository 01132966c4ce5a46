"""GTP, the Go Text Protocol 2, draft 2: http://www.lysator.liu.se/~gunnar/gtp. Lines in, answers out."""

from __future__ import annotations

import re
import sys
import time
import traceback

from azero.config.schema import UserError
from azero.process.ending import end_quietly
from azero.protocols.gtp_engine import COMMANDS, REFUSED, Engine
from azero.protocols.lines import MOST_BYTES, Lines, TooLong, Write
from azero.records.record import clean, one_line

CONTROL = dict.fromkeys((*range(9), *range(10, 32), 127)) | {ord("\t"): " "}


class Session:
    """One client and an engine."""

    def __init__(self, engine: Engine, lines: Lines, write: Write) -> None:
        self.engine, self.lines, self.send = engine, lines, write
        self.id, self.has_begun, self.answered = "", False, 0.0
        engine.stopping, engine.next_line = lines.stopping, lines.waiting
        engine.write, engine.begin = self.send, self.begin

    def serve(self) -> None:
        """Answer lines until `quit` or the end of the input."""
        while True:
            self.engine.ponder_on()
            line = self.lines.read()
            if line is None:
                self.engine.making.exception()  # a player that cannot play is reported before the end
            if line is None or self.answer(line):
                self.lines.finish()
                return

    def answer(self, line: str) -> bool:
        """Answer a line, if it has a command; return whether it was `quit`."""
        words = line.translate(CONTROL).partition("#")[0].split()
        if isinstance(line, TooLong):
            self.end("?", f"syntax error: a line may have {MOST_BYTES:,} bytes", "")
            return False
        if not words:
            return False
        self.id = words.pop(0) if re.fullmatch("[0-9]+", words[0]) else ""
        self.has_begun = False
        name = words[0] if words else ""
        self.engine.late = time.perf_counter() - max(self.lines.arrived, self.answered)
        try:
            command = COMMANDS.get(name) or REFUSED.get(name)
            if command is None:
                raise UserError("unknown command")
            text, mark = command(self.engine, words[1:]), "="
        except UserError as refusal:
            text, mark = one_line(str(refusal)).removesuffix("."), "?"
        except OSError as failure:  # the client is gone
            end_quietly(failure)
            raise
        except Exception as failure:
            traceback.print_exc(file=sys.stderr)
            text, mark = one_line(f"unexpected {type(failure).__name__}: {failure}"), "?"
        self.end(mark, text, self.id)
        return name == "quit"

    def begin(self) -> None:
        """Send the beginning of an answer that goes on."""
        self.send(f"={self.id}")
        self.has_begun = True

    def end(self, mark: str, text: str, identifier: str) -> None:
        """Send an answer, or the end of one that has begun. Empty lines would end it too early."""
        first, *others = clean(text).split("\n")
        text = "\n".join([first, *filter(str.strip, others)])
        if self.has_begun:
            self.send(f"{text}\n" if text else "")
        else:
            space = " " if first else ""
            self.send(f"{mark}{identifier}{space}{text}\n")
        self.has_begun, self.answered = False, time.perf_counter()
