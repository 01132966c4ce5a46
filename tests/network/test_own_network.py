"""A network of one's own: the guide's transformer from first weights to exported files, and bad files."""

from __future__ import annotations

import contextlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import needs_openvino
from places import PROJECT, SUPPORT
from running import RunProgram
from toy import NAME, Told, advance, toy_config

from azero.cli.hydra_program import compose
from azero.config.schema import EvaluateConfig, InferenceConfig, NetworkConfig, UserError
from azero.export.onnx import write_onnx
from azero.export.torchscript import write_torchscript
from azero.games import make_game
from azero.games import own_files as allowed
from azero.games.game import Game
from azero.network.backends import make_inference
from azero.network.choosing import choose_inference, strays, worth_timing
from azero.network.folded import folded
from azero.network.inference import InferenceChoice
from azero.network.int8 import input_ranges
from azero.network.model import build_network, pack_network, resized, unpack_network
from azero.run.run import Run
from azero.stages.train import read_start

PAGE = PROJECT / "docs" / "your_own_network.md"
GUIDE = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
SMALL = {"width": 8, "layers": 1, "heads": 2}
HEAD = """
import numpy as np
import torch
from torch import nn


class Layers(nn.Module):
    def __init__(self, inputs, moves, values=1):
        super().__init__()
        self.policy, self.value = nn.Linear(inputs, moves), nn.Linear(inputs, values)

    def forward(self, planes):
        x = planes.flatten(1)
        return self.policy(x), self.value(x)


def make_network(planes_shape, num_actions, options):
    return Layers(18, num_actions, **options)
"""
TOWER = (SUPPORT / "tower.py").read_text()


@pytest.fixture
def transformer(tmp_path: Path) -> NetworkConfig:
    (tmp_path / "transformer.py").write_text(GUIDE)
    return NetworkConfig(file=str(tmp_path / "transformer.py"), options=SMALL)


def planes_of(rows: int) -> np.ndarray:
    """Return planes of random positions, [rows, 2, 3, 3]."""
    return (np.random.default_rng(1).random((rows, 2, 3, 3)) < 0.3).astype(np.float32)


def test_the_guide_s_network_has_forty_lines() -> None:
    assert len([line for line in GUIDE.splitlines() if line.strip()]) <= 40


def test_its_first_weights_come_from_the_seed_alone_and_survive_packing(
    game: Game, transformer: NetworkConfig
) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one, again, other = (build_network(transformer, game, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    packed = pack_network(one, game=game)
    assert packed == pack_network(again, game=game) != pack_network(other, game=game)
    planes = torch.from_numpy(planes_of(5))
    loaded = unpack_network(packed, "file", game).network
    for mine, theirs in zip(one(planes), loaded(planes), strict=True):
        assert torch.equal(mine, theirs)


def test_azero_s_own_networks_are_written_as_before(game: Game) -> None:
    data = pack_network(build_network(NetworkConfig(blocks=1, channels=4), game, 1), game=game)
    assert b'"file' not in data and b'"options"' not in data


@pytest.mark.parametrize("backend, precision, most", [
    ("torch", "fp32", 1e-6), ("torch", "bf16", 0.02), ("openvino", "fp32", 1e-5), ("openvino", "bf16", 0.02),
])  # fmt: skip
def test_backends_give_its_answers(
    game: Game, transformer: NetworkConfig, backend: str, precision: str, most: float
) -> None:
    network = build_network(transformer, game, seed=1)
    try:
        inference = make_inference(network, game, InferenceChoice(backend, precision, 16, "cpu", 0.0))
    except UserError as lacking:
        pytest.skip(str(lacking))
    assert strays(network, inference, planes_of(16)) < most


def tower(folder: Path, channels: int) -> NetworkConfig:
    """Return a network of one's own with three convolutions and a batch norm."""
    (folder / "tower.py").write_text(TOWER)
    return NetworkConfig(file=str(folder / "tower.py"), options={"channels": channels})


@needs_openvino
def test_convolutions_compute_in_int8(game: Game, tmp_path: Path) -> None:
    network = build_network(tower(tmp_path, 16), game, 1)
    exact, rounded = (
        make_inference(network, game, InferenceChoice("openvino", precision, 16, "cpu", 0.0))
        for precision in ("fp32", "int8")
    )
    assert strays(network, exact, planes_of(16)) < 1e-5 < strays(network, rounded, planes_of(16)) < 0.02
    plain = folded(network).cpu().eval()
    ranges = input_ranges(plain, game)
    assert len(ranges) == 3 and ranges[0] == (0.0, 1.0) and ranges == input_ranges(plain, game)


@needs_openvino
def test_int8_is_tried_for_wide_towers_and_needs_convolutions(
    game: Game, tmp_path: Path, transformer: NetworkConfig
) -> None:
    ways = {
        channels: worth_timing(build_network(tower(tmp_path, channels), game, 1), InferenceConfig(), "cpu")
        for channels in (63, 64)
    }
    assert ("openvino", "int8") not in ways[63] and ways[64] == [*ways[63], ("openvino", "int8")]
    network, int8 = build_network(transformer, game, 1), InferenceConfig(precision="int8")
    with pytest.raises(UserError, match=r"transformer\.py has no convolutions for int8; set inference\.prec"):
        choose_inference(network, game, int8, "cpu", 16, planes_of(16))


def test_a_win_draw_loss_value(game: Game, tmp_path: Path) -> None:
    (tmp_path / "wdl.py").write_text(HEAD)
    config = NetworkConfig(file=str(tmp_path / "wdl.py"), options={"values": 3}, value_output="wdl")
    network = build_network(config, game, seed=1)
    planes = torch.from_numpy(planes_of(3))
    win, _, loss = network.outputs(planes).value.softmax(1).unbind(1)
    assert torch.allclose(network(planes)[1], win - loss)


def test_comments_may_change_and_code_may_not(game: Game, transformer: NetworkConfig) -> None:
    packed = pack_network(build_network(transformer, game, seed=1), game=game)
    path = Path(transformer.file)
    path.write_text(f"# mine\n\n{GUIDE}")
    unpack_network(packed, "file", game)
    moved_in = GUIDE.replace("            nn.init.zeros_(last.bias)", "        nn.init.zeros_(last.bias)")
    for changed in (GUIDE.replace("tokens.mean(1)", "tokens[:, 0]"), moved_in):
        assert changed != GUIDE
        path.write_text(changed)
        with pytest.raises(UserError, match="has changed since it made this network"):
            unpack_network(packed, "file", game)
    with pytest.raises(UserError, match="has changed since it made this network"):
        unpack_network(packed, "file", game)


def test_a_file_that_was_moved_is_found_by_its_name_where_one_works(
    game: Game, transformer: NetworkConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, path = pack_network(build_network(transformer, game, seed=1), game=game), Path(transformer.file)
    (tmp_path / "elsewhere").mkdir()
    path.rename(tmp_path / "elsewhere" / path.name)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert unpack_network(packed, "file", game).network.config.file == str(Path.cwd() / path.name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^file: network\.file=\S+ cannot be read: No such file"):
        unpack_network(packed, "file", game)


def test_a_server_runs_only_files_that_it_was_started_with(
    game: Game, transformer: NetworkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed, "named", None)
    packed = pack_network(build_network(transformer, game, seed=1), game=game)
    allowed.allow_only([])
    with pytest.raises(
        UserError, match=r"which is not run here; start again with network=\S+transformer\.py"
    ):
        unpack_network(packed, "file", game)
    allowed.allow_only([Path(transformer.file).resolve()])
    unpack_network(packed, "file", game)


@pytest.mark.filterwarnings("ignore:.torch.jit.load. is deprecated")
def test_it_is_exported_as_torchscript_and_onnx(
    game: Game, transformer: NetworkConfig, tmp_path: Path
) -> None:
    network, planes = build_network(transformer, game, seed=1), torch.from_numpy(planes_of(5))
    policy, value = (answer.detach().numpy() for answer in network(planes))
    write_torchscript(network, game, {"Run": "own"}, tmp_path / "own.pt")
    mine = [answer.detach().numpy() for answer in torch.jit.load(tmp_path / "own.pt")(planes)]
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    write_onnx(network, game, {"Run": "own"}, tmp_path / "own.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "own.onnx")
    theirs = session.run(None, {"planes": planes.numpy()})
    for found in (mine, theirs):
        assert np.allclose(found[0], policy, atol=1e-5) and np.allclose(found[1], value, atol=1e-5)


def test_a_network_that_loops_over_positions_is_not_exported(game: Game, tmp_path: Path) -> None:
    loop = "torch.stack([torch.cat([part.flatten() for part in planes.unbind()])]).view(len(planes), -1)"
    (tmp_path / "loop.py").write_text(HEAD.replace("planes.flatten(1)", loop))
    network = build_network(NetworkConfig(file=str(tmp_path / "loop.py")), game, seed=1)
    for write in (write_torchscript, write_onnx):
        with pytest.raises(
            UserError, match=r"loop\.py cannot be exported, because its steps depend on how many"
        ):
            write(network, game, {}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_its_weights_fit_one_board(game: Game, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(HEAD)
    config = NetworkConfig(file=str(tmp_path / "own.py"), head="spatial")
    loaded = unpack_network(pack_network(build_network(config, game, 1), game=game), "file")
    with pytest.raises(UserError, match="The network plays tictactoe, but the game is connect_four"):
        resized(loaded, make_game("connect_four"), 1)


INIT, FLAT = "super().__init__()", "planes.flatten(1)"
RANDOM = "torch.tensor(np.random.default_rng().random(), dtype=torch.float32)"
BAD: dict[str, tuple[str, str, str]] = {  # what is replaced, by what, and the sentence
    "no function": ("make_network", "make", r"must define make_network\("),
    "a mistake in Python": ("import torch\n", "import torch\nif\n", "cannot be loaded; fix this first"),
    "an exception": ("Layers(18", "Layers(1 // 0", r"ZeroDivisionError.*\(line 18\)"),
    "no module": ("Layers(18, num_actions, **options)", "3", "it returns int"),
    "one answer": (", self.value(x)", "", "returns Tensor; it must map planes"),
    "another number of moves": ("num_actions, **", "7, **", r"\[4, 7\] and \[4, 1\]"),
    "three values": ("values=1", "values=3", "set network.value_output=wdl"),
    "inputs that do not fit": ("Layers(18", "Layers(17", "RuntimeError"),
    "weights from NumPy": (
        INIT,
        f"{INIT}\n        self.more = nn.Parameter({RANDOM})",
        "first weights must come from torch alone",
    ),
    "weights that do not learn": (
        INIT,
        f"{INIT}\n        self.more = nn.Linear(2, 2)",
        r"^more\.weight of .* has no part in the answers",
    ),
    "weights of 64 bits": (
        "return Layers(18, num_actions, **options)",
        "return Layers(18, num_actions).double()",
        "float64",
    ),
    "dropout": (
        FLAT,
        f"nn.functional.dropout({FLAT} + 1, 0.5, self.training)",
        "answers by chance in training",
    ),
    "dropout of the value": (
        ", self.value(x)",
        ", self.value(nn.functional.dropout(x + 1, 0.5, self.training))",
        "answers by chance in training",
    ),
    "no numbers": (", self.value(x)", ", self.value(x) * float('nan')", "answers NaN or infinity"),
    "infinity": ("self.policy(x),", "self.policy(x) + float('inf'),", "answers NaN or infinity"),
    "no weights": (
        "return self.policy(x), self.value(x)",
        "return x.new_zeros(len(x), 9), x.new_zeros(len(x), 1)",
        "answers without its weights, so it cannot learn",
    ),
    "three answers": (
        ", self.value(x)",
        ", self.value(x), None",
        "returns tuple of Tensor, Tensor, NoneType",
    ),
    "the end of the program": (
        "import torch\n",
        "import sys, torch\nsys.exit(3)\n",
        r"SystemExit: 3 \(line 4\)",
    ),
    "positions that are mixed": (FLAT, f"{FLAT} + {FLAT}.mean(0)", "otherwise alone than in a batch"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_bad_file_is_refused_in_one_sentence(game: Game, tmp_path: Path, mistake: str) -> None:
    old, new, sentence = BAD[mistake]
    (tmp_path / "bad.py").write_text(HEAD.replace(old, new))
    with pytest.raises(UserError, match=sentence) as refused:
        build_network(NetworkConfig(file=str(tmp_path / "bad.py")), game, seed=1)
    assert "\n" not in str(refused.value)


def test_another_ending_is_refused(game: Game, tmp_path: Path) -> None:
    (tmp_path / "tower.txt").write_text(TOWER)
    with pytest.raises(UserError, match=r"tower\.txt must be a Python file, which ends in \.py"):
        build_network(NetworkConfig(file=str(tmp_path / "tower.txt")), game, seed=1)


def test_an_edited_file_loses_no_network(tmp_path: Path) -> None:
    """Candidate 1 is trained but not promoted, so that it differs from champion 0."""
    config = toy_config(
        tmp_path, network=tower(tmp_path, 4), cycles=1, evaluate=EvaluateConfig(games=2, threshold=0.999)
    )
    advance(config)
    with Run.open(config, NAME, "test") as run:
        assert run.state.candidate != run.state.champion
        path, weights = Path(config.network.file), run.read_candidate()
        path.write_text(TOWER.replace("torch.relu(self.third", "torch.sigmoid(self.third"))
        with pytest.raises(UserError, match=r"tower\.py has changed since it made this network"):
            read_start(run, Told())
        path.write_text(TOWER)
        assert run.read_candidate() == weights
        assert read_start(run, Told()).cycle == 1


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(UserError, match=r"network\.options are for a network of your own"):
        compose("network.options.width=3")
    with pytest.raises(UserError, match=r"network\.occupation=true needs azero's own network"):
        compose("network.file=mine.py", "network.occupation=true")
    assert compose("network.file=mine.py", "network.options.width=3").network.options == {"width": 3}


@pytest.mark.long
def test_a_run_of_it_goes_on_plays_and_is_no_page(tmp_path: Path, run_program: RunProgram) -> None:
    (tmp_path / "transformer.py").write_text(GUIDE)
    words = ("smoke", "network.file=transformer.py", "run=own", "device=cpu", "inference.backend=torch")
    options = [f"network.options.{name}={value}" for name, value in SMALL.items()]
    for cycles in (1, 2):
        done = run_program("loop", *words, *options, f"cycles={cycles}", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    champion = ("first=pv_mcts", "first.run=own", "second=random")
    played = run_program("arena", "game=tictactoe", *champion, "games=2", folder=tmp_path)
    assert played.returncode == 0, played.stderr
    page = run_program("export", "run=own", folder=tmp_path)
    assert (page.returncode, page.stderr) == (
        2,
        "azero: A network of transformer.py cannot be a page; format=onnx writes it for other programs.\n",
    )
    other = run_program("loop", *words, *options[1:], "cycles=3", folder=tmp_path)
    assert other.returncode == 2 and "was begun otherwise: network.options" in other.stderr


@needs_openvino
def test_two_threads_may_need_its_graph_at_once(game: Game, transformer: NetworkConfig) -> None:
    """Workers compile smaller batches when they need them; two that traced together ended a run."""
    from azero.network.openvino_graph import graph_of

    layers = folded(build_network(transformer, game, seed=1))
    both, inside = threading.Barrier(2), list[int]()

    def meet(*_: object) -> None:
        """Be inside the layers together, if that can be."""
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)
            inside.append(threading.get_ident())

    layers.register_forward_pre_hook(meet)
    with ThreadPoolExecutor() as pool:
        graphs = list(pool.map(lambda rows: graph_of(layers, (rows, *game.planes_shape), []), (2, 4)))
    assert [graph.inputs[0].shape[0] for graph in graphs] == [2, 4] and not inside
