"""What every way to compute has in common: the device behind a wish."""

from __future__ import annotations

import pytest
import torch

from azero.config.schema import UserError
from azero.network.inference import resolve_device


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(UserError, match=r"device=gpu must be one of: auto, cpu, cuda, mps\."):
        resolve_device("gpu")
    with pytest.raises(UserError, match="device=cuda"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == "cuda"
