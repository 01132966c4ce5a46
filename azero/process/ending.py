"""How programs end early: Ctrl-C, closed pipes, full disks and ASCII terminals give no traceback."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import errno
import gc
import io
import os
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would take longer than all others here
if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn

# exit statuses: 128 + SIGINT, 128 + SIGPIPE, EX_IOERR, EX_SOFTWARE
INTERRUPTED, CLOSED_PIPE, CANNOT_WRITE, CRASHED = 130, 141, 74, 70
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What a disk, a network drive or the system's limits refuse, perhaps for a moment only
REFUSALS = (errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS, errno.ESTALE, errno.ENFILE, errno.EMFILE)
CLEAR_LINE = b"\r\x1b[K"
ASCII = {
    "…": "...", "→": "->", "×": "x", "·": "|", "–": "-", "—": "-", "−": "-", "─": "-", "━": "-",
    "│": "|", "±": "+-", "√": "sqrt", "■": "#", "█": "#", "╸": "-", "╺": "-",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def is_program() -> bool:
    """Return whether this process runs a program of azero: `python -m azero.…` or the command `azero`."""
    words = sys.orig_argv
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1].partition(".")[0] == "azero"
    return os.path.splitext(os.path.basename(sys.argv[0]))[0] == "azero" if sys.argv else False


def prepare() -> None:
    """Prepare a program for its end, and for imports and compiling. `azero` calls it before any other import.

    Ctrl-C ends the process at once, also inside compiled code, until the program takes over the signal:
    `StopSignal` does while a run is open, `raise_interrupts` where something must be saved, and
    `end_at_interrupts` where a bar hides the cursor.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a background job ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.excepthook = end_with
    codecs.register_error("azero.ascii", to_ascii)
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "azero.ascii"), (sys.stderr, "azero.ascii")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    atexit.register(flush_output)
    collect_seldom()


def collect_seldom() -> None:
    """Let Python look for garbage less often: nearly all that is made while importing and compiling stays.

    It saves an eighth of the time (measured: a first move 30 to 26 s of an EPYC).
    """
    gc.set_threshold(100_000, 50, 50)


def raise_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_at_interrupts() -> None:
    """Let Ctrl-C end the process with the cursor shown; in another thread than the main one do nothing."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, lambda *_: end_now(INTERRUPTED))


def to_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what the terminal's encoding lacks: an error handler for `codecs`."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(ASCII.get(character, "?") for character in lacking), error.end


def end_with(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End the process after an uncaught exception; replaces `sys.excepthook`."""
    end_quietly(error)
    if isinstance(error, Exception):
        report_crash(error)
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        end_now(CRASHED)
    sys.__excepthook__(kind, error, trace)


def report_crash(error: Exception) -> int:
    """Print an unexpected error as one sentence and write its traceback to a file; return the exit status."""
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(prefix="azero-", suffix=".txt", delete=False) as file:
            file.write(text.encode(errors="backslashreplace"))
        where = f"the traceback is in {file.name}"
    except OSError:
        where = f"its traceback:\n{text}"
    first = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    show_cursor(1, 2)
    print(f"azero: unexpected {type(error).__name__}: {first}; {where}", file=sys.stderr, flush=True)
    return CRASHED


def end_quietly(error: BaseException) -> None:
    """End the process without a traceback after Ctrl-C, a closed pipe or a refusal of the disk; else return.

    What must be saved is saved atomically, so nothing is lost.
    """
    if isinstance(error, KeyboardInterrupt):
        end_now(INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        end_now(CLOSED_PIPE)
    if isinstance(error, OSError) and error.errno in FULL:
        with contextlib.suppress(OSError):
            what = error.filename or "the output"
            print(f"azero: {what} cannot be written: {error.strerror}.", file=sys.stderr, flush=True)
        end_now(CANNOT_WRITE)
    if isinstance(error, OSError) and error.errno in REFUSALS and error.filename:
        refused = f"{error.filename} cannot be read or written: {error.strerror}"
        print(f"azero: {refused}; fix that and run the same command again.", file=sys.stderr, flush=True)
        end_now(CANNOT_WRITE)


def flush_output() -> None:
    """Flush the standard output; Python itself would print a traceback when that fails."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        end_quietly(error)


def end_now(status: int, closing: str = "") -> NoReturn:
    """End the process with the cursor shown, from any thread. It does not flush, which could block.

    Args:
        status: the exit status.
        closing: a last line for the standard error, if any.
    """
    out, error = take_output()
    if closing:
        write_line(closing, error)
    show_cursor(out, error)
    os._exit(status)


def take_output() -> list[int]:
    """Return the standard output and error as descriptors of their own, and leave terminals to nobody else.

    The progress bar of another thread could otherwise replace the last line.
    """
    own = [1, 2]
    with contextlib.suppress(OSError):  # no descriptor is left: then as it is
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for place, descriptor in enumerate((1, 2)):
            if os.isatty(descriptor):
                own[place] = os.dup(descriptor)
                os.dup2(nowhere, descriptor)
    return own


def write_line(text: str, descriptor: int = 2) -> None:
    """Write a line to the standard error, in place of the live line of a terminal.

    It does not use `print`, which a signal may have interrupted.
    """
    with contextlib.suppress(OSError):
        os.write(descriptor, (CLEAR_LINE if os.isatty(descriptor) else b"") + text.encode() + b"\n")


def show_cursor(*descriptors: int) -> None:
    """Clear the live line of the first of these that is a terminal, and show the cursor, which it hides."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            if os.isatty(descriptor):
                os.write(descriptor, CLEAR_LINE + b"\x1b[?25h")
                return
