"""`azero export`: what it refuses, and the text of a page. test_export_page.py opens pages in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import RunProgram, TrainedRun

import azero
from azero.export.__main__ import main
from azero.export.page import page, squeeze

ABOUT = {"title": "</title><b>", "heading": "</title><b>", "width": 2}


@pytest.fixture
def folder(trained_run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the trained run, in which the program runs."""
    shutil.copytree(trained_run.checkpoints, tmp_path / "checkpoints")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("", "run= is missing; azero runs lists the runs, and run=NAME names one."),
        ("run=no", "checkpoints holds no run no; it holds trained."),
        ("no", "checkpoints holds no run no; it holds trained."),
        ("run=trained out=x.txt", "out=x.txt must end in .html, .onnx, .pt, .py, .so, or set format=."),
        ("run=trained out=no/x.html", "out=no/x.html cannot be written: there is no folder no."),
        ("run=trained out=checkpoints format=onnx", "out=checkpoints is a folder; name a file."),
        (
            "run=trained out=old.html",
            "out=old.html is there already; name a new file, or set overwrite=true.",
        ),
        ("run=trained weights=fp8", "weights=fp8 must be one of: fp16, int8, fp32."),
        (
            "run=trained out=x.onnx weights=int8",
            "weights=int8 is for a page or a .py file; onnx keeps the network's own numbers.",
        ),
        ("run=trained outt=x.html", "unknown setting 'outt'; did you mean out?"),
    ],
)
def test_wrong_input_is_one_sentence(
    words: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "old.html").write_text("old")
    before = sorted(folder.iterdir())
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"azero: {sentence}\n"
    assert sorted(folder.iterdir()) == before and (folder / "old.html").read_text() == "old"


@pytest.mark.filterwarnings("ignore:.torch.jit.load. is deprecated")
@pytest.mark.parametrize("ending", ["onnx", "pt"])
def test_a_network_for_other_programs_gives_the_champion_s_answers(ending: str, folder: Path) -> None:
    champion = azero.load_champion("trained", device="cpu")
    planes = champion.game.planes(champion.position("4 0"))[None].astype(np.float32)
    if ending == "onnx":
        pytest.importorskip("onnx", reason="the extra onnx is not installed")
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    assert main(["run=trained", f"out=x.{ending}"]) == 0
    if ending == "onnx":
        import onnxruntime

        session = onnxruntime.InferenceSession("x.onnx", providers=["CPUExecutionProvider"])
        _, value = session.run(None, {"planes": planes})
    else:
        files: dict[str, Any] = {"README.md": ""}
        _, value = torch.jit.load("x.pt", _extra_files=files)(torch.from_numpy(planes))
        assert b"Run: trained, cycle 5" in files["README.md"]
    assert value.item() == pytest.approx(champion.value(champion.position("4 0")), abs=1e-4)


BOARDLESS = """
from dataclasses import replace
from azero.games.tictactoe import make_game as with_board

def make_game():
    return replace(with_board(), name="boardless", board=None)
"""


@pytest.mark.long
def test_a_game_without_a_board_is_refused(tmp_path: Path, run_program: RunProgram) -> None:
    (tmp_path / "boardless.py").write_text(BOARDLESS)
    small = ("network.blocks=1", "network.channels=4", "device=cpu")
    made = run_program("initialize", "game=boardless.py", "run=boardless", *small, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    done = run_program("export", "run=boardless", folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "azero: boardless cannot be a page: its file describes no board (docs/your_own_game.md).\n",
    )
    assert not (tmp_path / "boardless.html").exists()


@pytest.mark.long
def test_a_game_of_openspiel_is_refused(tmp_path: Path, run_program: RunProgram) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    small = ("network.blocks=1", "network.channels=4", "device=cpu")
    words = ("game=openspiel", "game.name=tic_tac_toe", "run=spiel", *small)
    made = run_program("initialize", *words, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    done = run_program("export", "run=spiel", folder=tmp_path)
    sentence = "openspiel:tic_tac_toe cannot be a page: rules of OpenSpiel are not compiled code."
    assert (done.returncode, done.stderr) == (2, f"azero: {sentence}\n")


def test_a_page_loads_nothing_and_runs_only_its_own_script() -> None:
    text = page(ABOUT, b"module", b"weight")
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0]
    (script,) = re.findall(r"<script>(.*)</script>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{hashed}' 'wasm-unsafe-eval';")
    assert not re.findall(r'\b(?:src|href)="(?!data:)|^(?:import|export)\b', text, re.MULTILINE)
    assert "&lt;/title&gt;&lt;b&gt; against azero</title>" in text and text.count("</title>") == 1


def test_weights_are_compressed_by_the_place_of_their_bytes() -> None:
    assert zlib.decompress(base64.b64decode(squeeze(b"aAbBcC", 2))) == b"abcABC"
