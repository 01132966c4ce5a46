"""azero without what only Linux has, as far as Linux can show it; and the GPU of an Apple chip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from azero.config.schema import UserError
from azero.network.inference import resolve_device
from azero.network.torch_inference import obstacle
from azero.training.trainer import resolve_precision

# In a process of its own: libraries are loaded first, then the process looks like macOS.
ELSEWHERE = r"""
import importlib, os, pkgutil, select, signal, sys
import asyncio, multiprocessing, numba, openvino, subprocess, torch, torch.utils.tensorboard, uvicorn

only_linux = {
    os: "sched_getaffinity sched_setaffinity sched_setscheduler posix_fadvise posix_fallocate memfd_create "
    "pidfd_open eventfd splice copy_file_range getrandom getxattr setxattr setresuid unshare setns pipe2",
    signal: "pidfd_send_signal sigwaitinfo sigtimedwait SIGCLD SIGPOLL SIGPWR SIGRTMIN SIGRTMAX SIGSTKFLT",
    select: "epoll",
}
for module, names in only_linux.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "darwin"

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(("/proc", "/sys/")):
        raise FileNotFoundError(2, "no such file", str(arguments[0]))

sys.addaudithook(refuse)
import azero
missing = []
for module in pkgutil.walk_packages(azero.__path__, "azero."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # an extra that is not installed
            missing.append(error.name)
assert not [name for name in missing if name.startswith("azero")], missing
from azero.loop import main
small = ["device=cpu", "network.blocks=1", "network.channels=8", "selfplay.games=16"]
code = main(["tictactoe", "cycles=1", "run=elsewhere", *small])
assert sys.platform == "darwin" and not hasattr(os, "sched_getaffinity")
sys.exit(code)
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_needs_nothing_that_only_linux_has(tmp_path: Path) -> None:
    pytest.importorskip("openvino"), pytest.importorskip("uvicorn")
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=tmp_path, capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "checkpoints" / "elsewhere" / "state.json").exists()


def test_an_apple_gpu_is_taken_only_where_it_is_asked_for_and_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"^device=mps needs the GPU of an Apple chip; set device=cpu"):
        resolve_device("mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert (resolve_device("mps"), resolve_device("auto")) == ("mps", "cpu")
    assert obstacle("fp32", "mps") is None and "fp32" in str(obstacle("bf16", "mps"))
    assert resolve_precision("auto", "mps", channels=256) == "fp32"
