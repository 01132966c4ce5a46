"""Whole files of networks that are not what azero wrote: each is refused soon, in little memory."""

from __future__ import annotations

import io
import json
import math
import resource
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from toy import NAME, Told, advance, toy_config

from azero.config.schema import NetworkConfig, UserError
from azero.games import make_game
from azero.network.model import LoadedNetwork, build_network, pack_network, unpack_network
from azero.process.signals import StopSignal
from azero.run.run import Run
from azero.stages.registry import stage_named

GAME = make_game("tictactoe")
NETWORK = build_network(NetworkConfig(blocks=2, channels=4), GAME, 1)
STATE = {
    name: {"step": torch.tensor(5.0), "exp_avg": torch.ones_like(p), "exp_avg_sq": torch.ones_like(p)}
    for name, p in NETWORK.named_parameters()
}
DATA = pack_network(NETWORK, game=GAME, optimizer_state={"optimizer": "adam", "state": STATE})
Change = Callable[[dict[str, Any], dict[str, Any]], object]  # of header and tensors


def changed(change: Change, data: bytes = DATA) -> bytes:
    """The file with another header or other tensors."""
    content = torch.load(io.BytesIO(data), weights_only=True)
    header = json.loads(content["header"])
    change(header, content["tensors"])
    buffer = io.BytesIO()
    torch.save({"header": json.dumps(header), "tensors": content["tensors"]}, buffer)
    return buffer.getvalue()


def setting(key: str, value: object) -> Change:
    return lambda header, _: header["config"].update({key: value})


def moment(name: str, value: torch.Tensor | None, parameter: str = "stem.weight") -> Change:
    """Another moment of one parameter; None: it is missing."""

    def change(_: dict[str, Any], tensors: dict[str, Any]) -> None:
        key = f"optimizer/{parameter}/{name}"
        tensors.pop(key, None)
        if value is not None:
            tensors[key] = value

    return change


def weight(value: Callable[[torch.Tensor], torch.Tensor], key: str = "weights/stem.weight") -> Change:
    return lambda _, tensors: tensors.update({key: value(tensors[key])})


LIKE = torch.ones_like(NETWORK.stem.weight).detach()
OTHERS: dict[str, Change] = {
    "a billion blocks": setting("blocks", 1e9),
    "a billion whole blocks": setting("blocks", 10**9),
    "a number of 4,000 digits": setting("blocks", 10**4000),
    "more blocks": setting("blocks", 100),
    "no blocks": setting("blocks", 0),
    "blocks below zero": setting("blocks", -1),
    "channels": setting("channels", 4096),
    "wide and deep": lambda header, _: header["config"].update(blocks=100, channels=4096),
    "channels below zero": setting("channels", -4),
    "channels as text": setting("channels", "4"),
    "hidden units": setting("value_hidden", 2**40),
    "head": setting("head", "huge"),
    "block": setting("block", ["residual"]),
    "true as a number": setting("occupation", 1),
    "unknown setting": setting("depth", 3),
    "board": lambda header, _: header.update(planes_shape=[2, 10**6, 10**6]),
    "board below zero": lambda header, _: header.update(planes_shape=[2, -3, -3]),
    "board of parts": lambda header, _: header.update(planes_shape=[2, 3.0, 3]),
    "actions": lambda header, _: header.update(num_actions=10**12),
    "cycle": lambda header, _: header.update(cycle=math.inf),
    "optimizer": lambda header, _: header.update(optimizer="lion"),
    "moments of another optimizer": lambda header, _: header.update(optimizer="sgd"),
    "nan": weight(lambda old: old * math.nan),
    "infinity": weight(lambda old: old + math.inf, "weights/blocks.1.norm2.running_var"),
    "one number is nan": weight(lambda old: old.index_fill(0, torch.tensor([3]), math.nan)),
    "weight of float64": weight(lambda old: old.double()),
    "weight of one number": weight(lambda old: old[:1, :1, :1, :1]),
    "weight without memory": weight(lambda old: torch.zeros(1).expand(old.shape)),
    "weight is missing": lambda _, tensors: tensors.pop("weights/stem.weight"),
    "one weight more": lambda _, tensors: tensors.update({"weights/more": torch.zeros(3)}),
    "weight is a number": lambda _, tensors: tensors.update({"weights/stem.weight": 3}),
    "half a training network": lambda _, tensors: tensors.update({"training/stem.weight": LIKE}),
    "no exp_avg": moment("exp_avg", None),
    "no exp_avg_sq": moment("exp_avg_sq", None),
    "no step": moment("step", None),
    "no moments of a parameter": lambda _, tensors: [
        tensors.pop(f"optimizer/stem.weight/{name}") for name in ("step", "exp_avg", "exp_avg_sq")
    ],
    "empty exp_avg": moment("exp_avg", torch.zeros(0)),
    "exp_avg of one": moment("exp_avg", torch.zeros(1)),
    "exp_avg_sq of one": moment("exp_avg_sq", torch.zeros(())),
    "exp_avg of a million": moment("exp_avg", torch.zeros(10**6)),
    "exp_avg without memory": moment("exp_avg", torch.zeros(1).expand(LIKE.shape)),
    "exp_avg of float64": moment("exp_avg", LIKE.double()),
    "exp_avg of int64": moment("exp_avg", LIKE.long()),
    "exp_avg of bf16": moment("exp_avg", LIKE.bfloat16()),
    "exp_avg turned": moment("exp_avg", LIKE.transpose(0, 1)),
    "exp_avg is nan": moment("exp_avg", LIKE * math.nan),
    "exp_avg_sq is infinite": moment("exp_avg_sq", LIKE * math.inf),
    "exp_avg_sq below zero": moment("exp_avg_sq", -LIKE),
    "step of three": moment("step", torch.ones(3)),
    "step of int64": moment("step", torch.tensor(5)),
    "step is nan": moment("step", torch.tensor(math.nan)),
    "step below zero": moment("step", torch.tensor(-1.0)),
    "another moment": moment("max_exp_avg_sq", LIKE),
    "another parameter": moment("step", torch.tensor(1.0), "other"),
    "a deeper name": moment("step/more", torch.tensor(1.0)),
}


def packed_anew(data: bytes, **changes: Any) -> bytes:
    """The archive with a longer or compressed entry, or another pickle."""
    whole = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(whole, "w", changes.get("method", zipfile.ZIP_STORED)) as new,
    ):
        for entry in old.infolist():
            part = old.read(entry)
            if entry.filename.endswith(changes.get("name", "nothing")):
                part = changes["part"](part)
            new.writestr(entry.filename, part)
    return whole.getvalue()


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "inflates": lambda: packed_anew(
        DATA, method=zipfile.ZIP_DEFLATED, name="data/0", part=lambda part: bytes(300_000_000)
    ),
    "compressed": lambda: packed_anew(DATA, method=zipfile.ZIP_DEFLATED),
    "a short entry": lambda: packed_anew(DATA, name="data/0", part=lambda part: part[:-4]),
    "a long entry": lambda: packed_anew(DATA, name="data/0", part=lambda part: part * 2),
    "another pickle": lambda: packed_anew(
        DATA, name="data.pkl", part=lambda part: b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R."
    ),
    "a list": lambda: packed_anew(DATA, name="data.pkl", part=lambda part: b"\x80\x02]."),
    "no zip": lambda: legacy(),
}


def legacy() -> bytes:
    """The format of torch before zip files, whose sizes are not those of the file."""
    buffer = io.BytesIO()
    torch.save(torch.load(io.BytesIO(DATA)), buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def assert_refused(data: bytes) -> None:
    began, peak = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError) as refused:
        unpack_network(data, "candidate/000003.pt")
    assert str(refused.value).startswith("candidate/000003.pt")
    assert len(str(refused.value).splitlines()) == 1 and len(str(refused.value)) < 400
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100_000  # kB


@pytest.mark.parametrize("name", OTHERS)
def test_a_network_that_does_not_fit_its_header_is_refused(name: str) -> None:
    assert_refused(changed(OTHERS[name]))


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_is_more_than_it_seems_is_refused(name: str) -> None:
    data = ARCHIVES[name]()
    assert_refused(data)


def test_the_file_that_the_cases_change_is_read() -> None:
    loaded = unpack_network(changed(lambda header, tensors: None), "file")
    assert_same(loaded)
    assert_same(unpack_network(packed_anew(DATA), "file"))


def assert_same(loaded: LoadedNetwork) -> None:
    assert loaded.optimizer_state is not None and loaded.optimizer_state["state"].keys() == STATE.keys()
    assert pack_network(loaded.network, game=GAME, optimizer_state=loaded.optimizer_state) == DATA


@pytest.mark.parametrize("name", ["no exp_avg", "nan", "wide and deep"])
def test_training_goes_on_from_the_network_before_a_candidate_with_the_right_digest(
    tmp_path: Path, name: str
) -> None:
    config = toy_config(tmp_path, cycles=3)
    advance(config, until="evaluate")
    with Run.open(config, NAME, "test") as run:
        stage_named("evaluate").run(config, run, Told(), StopSignal())
        stage_named("selfplay").run(config, run, Told(), StopSignal())
        assert run.state.candidate is not None
        before = run.state.candidate
        bad = run.write_network("candidate", 9, changed(OTHERS[name], run.read_file(before)))
        run.commit(replace(run.state, candidate=bad))
        told = Told()
        stage_named("train").run(config, run, told, StopSignal())
        assert [entry.file for entry in run.state.quarantine] == [bad.file]
        assert run.state.candidate not in (bad, before) and run.state.stage == "evaluate"
        (said,) = [text for text in told.messages if "damaged" in text]
        assert bad.file in said and "The network before it takes its place" in said


def test_a_match_does_not_begin_with_a_candidate_that_is_no_network(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    advance(config, until="evaluate")
    with Run.open(config, NAME, "test") as run:
        assert run.state.candidate is not None
        data = changed(OTHERS["nan"], run.read_file(run.state.candidate))
        bad = run.write_network("candidate", 9, data)
        run.commit(replace(run.state, candidate=bad))
        told = Told()
        stage_named("evaluate").run(config, run, told, StopSignal())
        assert run.state.stage == "train" and [entry.file for entry in run.state.quarantine] == [bad.file]
        assert "Training makes it again" in told.messages[0] and "not finite" in told.messages[0]
