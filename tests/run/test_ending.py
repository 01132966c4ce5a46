"""Every program ends cleanly at Ctrl-C, at a closed pipe, at a full disk and on a terminal without Unicode.

Real processes in a pseudo-terminal receive the signal at several moments.
"""

from __future__ import annotations

import codecs
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ending import COMMAND, SOON, check_clean, interrupt, lines_in

from azero.cli.hydra_program import program
from azero.config.schema import Config
from azero.process.ending import to_ascii
from azero.process.signals import GRACE_SECONDS, STOPPED

PROGRAMS = [
    "azero.runs",  # first, for it ends within a third of a second
    "azero.loop",
    "azero.initialize",
    "azero.selfplay",
    "azero.train",
    "azero.evaluate",
    "azero.correctness",
    "azero.doctor",
    "azero.estimate",
    "azero.check_game",
    "azero.oracle",
    "azero.arena",
    "azero.play",
    "azero.trace",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_while_a_program_starts_ends_it_at_once(program: str, tmp_path: Path) -> None:
    delay = 0.02 * PROGRAMS.index(program)  # different moments of the import
    ended = interrupt([program, *COMMAND.get(program, [])], tmp_path, delay=delay)
    check_clean(ended, lines=0)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_before_any_stage_leaves_no_run(tmp_path: Path) -> None:
    check_clean(interrupt(["azero.loop"], tmp_path, delay=0.5), lines=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_the_first_interrupt_of_a_run_is_answered_and_the_second_ends_it(tmp_path: Path) -> None:
    """The helper that compiles ahead ends with the run, see `interrupt`."""
    ended = interrupt(["azero.loop", "device=cpu"], tmp_path, b"cycle 1/", 0.3, times=2)
    # what it does now, the two lines of the stage, and how to go on
    check_clean(ended, lines=5)
    assert b"Stopping" in ended.after and b"Ctrl-C" in ended.after


@pytest.mark.slow
def test_an_interrupt_while_everything_is_compiled_is_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    ended = interrupt(["azero.loop", "device=cpu"], tmp_path, b"cycle 1/", 1.0, times=2)
    check_clean(ended, lines=4)
    assert b"Stopping" in ended.after and b"Ctrl-C" in ended.after
    assert lines_in(ended.after)[-1] == STOPPED.encode()


@pytest.mark.long
def test_one_interrupt_while_everything_is_compiled_ends_with_the_closing_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    ended = interrupt(["azero.loop", "device=cpu"], tmp_path, b"cycle 1/", 1.0)
    assert lines_in(ended.after)[-1] == STOPPED.encode() and ended.seconds < GRACE_SECONDS + SOON


def test_an_interrupt_of_a_trial_removes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ended = interrupt(["azero.estimate"], tmp_path, b"trials", 0.2)
    check_clean(ended, lines=0)
    assert not list(tmp_path.glob("azero-estimate-*"))


def test_a_check_is_interrupted(tmp_path: Path) -> None:
    check_clean(interrupt(["azero.check_game", "othello", "games=100000"], tmp_path, delay=1.2), lines=0)


@pytest.mark.parametrize("words", ["azero.trace player.num_simulations=300", "azero.loop --help"])
def test_a_closed_pipe_ends_a_program_without_a_word(words: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (1, 141)


@pytest.mark.parametrize(
    "words",
    ["azero.trace player.num_simulations=3", "azero.check_game tictactoe games=3", "azero.loop --help"],
)
def test_a_full_output_is_one_sentence(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert ended.returncode == 74
    assert ended.stderr == "azero: the output cannot be written: No space left on device.\n"


def test_a_terminal_without_unicode_gets_what_it_can_show() -> None:
    command = [sys.executable, "-m", "azero.trace", "player.num_simulations=3"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode("ascii")
    assert "path: the root -> " in shown and "sqrt(2 ln t / n)" in shown


def test_latin_1_keeps_the_signs_that_it_has() -> None:
    codecs.register_error("azero.ascii", to_ascii)
    assert "8 × 8 → √ü".encode("latin-1", "azero.ascii") == b"8 \xd7 8 -> sqrt\xfc"


def test_importing_azero_leaves_signals_and_streams_alone() -> None:
    """Only a program of azero takes them over, not a script that imports the package."""
    script = (
        "import signal, sys; before = sys.excepthook; import azero; "
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and sys.excepthook is before"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unexpected_error_is_one_sentence_and_a_file(tmp_path: Path) -> None:
    code = "from azero.process import ending; ending.prepare(); print('begun'); {}['no such key']"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    (file,) = tmp_path.iterdir()
    assert (done.returncode, done.stdout) == (70, "begun\n")
    sentence = f"azero: unexpected KeyError: 'no such key'; the traceback is in {file}\n"
    assert done.stderr == sentence
    assert file.read_text().startswith("Traceback (most recent call last)")


@pytest.mark.parametrize("name", ["EIO", "EACCES", "ESTALE", "EMFILE"])
def test_a_refusal_of_the_disk_is_no_unexpected_error(tmp_path: Path, name: str) -> None:
    number = getattr(errno, name)
    raised = f"OSError({number}, {os.strerror(number)!r}, '/net/file')"
    code = f"from azero.process import ending; ending.prepare(); raise {raised}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    said = f"azero: /net/file cannot be read or written: {os.strerror(number)}; fix that and run the same "
    assert (done.returncode, done.stderr) == (74, f"{said}command again.\n")
    assert not list(tmp_path.iterdir())


def test_an_unexpected_error_with_any_text_in_any_locale_is_one_sentence(tmp_path: Path) -> None:
    code = "from azero.process import ending; ending.prepare(); raise RuntimeError('bad \\u2192 \\udce4')"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 70 and done.stderr.count(b"\n") == 1, done.stderr
    (file,) = tmp_path.iterdir()
    assert "bad \u2192 \\udce4" in file.read_text(encoding="utf-8")


def test_an_error_in_a_stage_is_one_sentence_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(config: Config, name: str) -> int:
        raise MemoryError("Unable to allocate 12 GiB")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys, "argv", ["azero", f"checkpoints={tmp_path}"])
    with pytest.raises(SystemExit) as ended:
        sys.exit(program("loop", fail))
    assert ended.value.code == 70
