"""The network: its first weights, its shapes, and its form on disk."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from answering import every_kind
from places import MANY_ACTIONS, OWN_GAMES

from azero.config.schema import NetworkConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network.blocks import PyramidBlock, ResidualBlock, SpatialHead
from azero.network.folded import FoldedHead
from azero.network.model import Network, build_network, check_fits, pack_network, resized, unpack_network

SPATIAL = NetworkConfig(blocks=2, channels=8, head="spatial")


def pack(network: Network, game: Game, **changes: Any) -> bytes:
    settings: dict[str, Any] = {"cycle": 3, "train_steps": 70, "optimizer_state": None}
    return pack_network(network, game=game, **(settings | changes))


@every_kind
def test_every_kind_gives_a_policy_and_a_bounded_value_and_survives_packing(
    game: Game, config: NetworkConfig
) -> None:
    network = build_network(config, game, 1)
    planes = torch.rand(5, 2, 3, 3, generator=torch.Generator().manual_seed(1))
    policy, value = network(planes)
    assert policy.shape == (5, 9) and value.shape == (5,)
    assert value.abs().max() <= 1
    again = unpack_network(pack(network, game), "file").network
    assert all(torch.equal(one, other) for one, other in zip(again(planes), (policy, value), strict=True))


def test_a_win_draw_loss_head_gives_win_less_loss(game: Game) -> None:
    """Logits ln 6, ln 3, ln 1 are 0.6, 0.3 and 0.1, whatever the board."""
    network = build_network(NetworkConfig(blocks=1, channels=4, value_output="wdl"), game, 1)
    network.value_head.output.weight.data.zero_()
    network.value_head.output.bias.data.copy_(torch.log(torch.tensor([6.0, 3.0, 1.0])))
    assert network(torch.rand(2, 2, 3, 3))[1].tolist() == pytest.approx([0.5, 0.5])


def test_an_occupation_head_changes_nothing_else_and_is_left_out_in_play(game: Game) -> None:
    """It is made last, so the other first weights are those of a network without it."""
    config = NetworkConfig(blocks=1, channels=4)
    plain, more = (build_network(replace(config, occupation=on), game, 1) for on in (False, True))
    planes = torch.rand(2, 2, 3, 3)
    found = more.outputs(planes).occupation
    assert found is not None and found.shape == (2, 9) and plain.outputs(planes).occupation is None
    assert all(torch.equal(a, b) for a, b in zip(plain(planes), more(planes), strict=True))
    assert more.state_dict().keys() - plain.state_dict().keys() == {
        "occupation_head.weight",
        "occupation_head.bias",
    }


def test_a_game_without_a_board_or_with_another_has_no_occupation(game: Game) -> None:
    for board in (None, make_game("connect_four").board):
        with pytest.raises(UserError, match=r"a board of the planes' size; tictactoe has none\. Set"):
            build_network(NetworkConfig(occupation=True), replace(game, board=board), 1)


def test_a_network_of_before_a_setting_was_there_loads_with_its_default(game: Game) -> None:
    content = torch.load(io.BytesIO(pack(build_network(NetworkConfig(blocks=1, channels=4), game, 1), game)))
    header = json.loads(content["header"])
    for name in ("value_output", "occupation"):
        del header["config"][name]
    buffer = io.BytesIO()
    torch.save(content | {"header": json.dumps(header)}, buffer)
    assert unpack_network(buffer.getvalue(), "old").network.config == NetworkConfig(blocks=1, channels=4)


def test_first_weights_have_the_variance_of_he(game: Game) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=128, value_hidden=512), game, 1)
    block = network.blocks[0]
    assert isinstance(block, ResidualBlock)
    hidden = network.value_head.hidden
    assert isinstance(hidden, torch.nn.Linear)
    # 128 inputs x 9 taps = fan-in 1152 and 147,456 weights, so the sample variance is within 1.5 % or so
    assert block.conv1.weight.var().item() == pytest.approx(2 / 1152, rel=0.02)
    assert block.conv1.weight.mean().item() == pytest.approx(0, abs=4 * math.sqrt(2 / 1152 / 147_456))
    assert hidden.weight.var().item() == pytest.approx(2 / (32 * 9), rel=0.02)
    assert network.value_head.output.weight.var().item() == pytest.approx(0.01 / 512, rel=0.3)
    assert hidden.bias.abs().max() == 0


@pytest.mark.parametrize("head", ["convolutional", "pooled", "spatial"])
def test_an_untrained_network_prefers_hardly_any_move_or_outcome(head: str) -> None:
    """Ten networks on the empty board of Go 5 x 5, which has 26 moves."""
    game = make_game("go", size=5)
    planes = torch.from_numpy(game.planes(game.initial_state())).float()[None]
    config = NetworkConfig(4, 64, head=head, value_output="wdl")
    for seed in range(10):
        with torch.no_grad():
            policy, value = build_network(config, game, seed)(planes)
        assert torch.softmax(policy, -1).max() < 3 / 26 and value.abs() < 0.25


def test_equal_seeds_give_equal_networks_and_touch_no_global_stream(game: Game) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, other, third = (pack(build_network(NetworkConfig(), game, seed), game) for seed in (7, 7, 8))
    assert one == other != third
    assert torch.equal(torch.get_rng_state(), before)


def test_a_pyramid_block_is_the_published_one() -> None:
    """BN - conv - BN - ReLU - conv - BN plus identity, without ReLU: a last scale of 0 leaves only x."""
    block = PyramidBlock(4).eval()
    x = torch.randn(2, 4, 3, 3, generator=torch.Generator().manual_seed(1))
    inner = torch.relu(block.norm2(block.conv1(block.norm1(x))))
    assert torch.equal(block(x), block.norm3(block.conv2(inner)) + x)
    block.norm3.weight.data.zero_()
    assert torch.equal(block(x), x)
    assert (block(x) < 0).any()


def test_the_published_network_has_a_bare_stem_and_one_dense_layer_a_head(game: Game) -> None:
    network = build_network(NetworkConfig(blocks=16, channels=128, block="pyramid", head="pooled"), game, 1)
    assert network.stem_norm is None
    convolutions = 2 * 9 * 128 + 32 * 128 * 128 * 9
    batch_norms = 16 * 3 * 2 * 128
    heads = 128 * 9 + 9 + 128 + 1
    assert sum(parameter.numel() for parameter in network.parameters()) == convolutions + batch_norms + heads


def test_packing_is_a_function_of_the_content(game: Game) -> None:
    network = build_network(NetworkConfig(), game, 1)
    moments = {
        "optimizer": "adamw",
        "state": {
            name: {"exp_avg": torch.ones_like(p), "exp_avg_sq": p.detach() ** 2, "step": torch.tensor(70.0)}
            for name, p in network.named_parameters()
        },
    }
    data = pack(network, game, optimizer_state=moments)
    loaded = unpack_network(data, "file")
    assert (loaded.cycle, loaded.train_steps, loaded.game_name, loaded.network.config) == (
        3,
        70,
        "tictactoe",
        network.config,
    )
    assert loaded.optimizer_state is not None and loaded.optimizer_state["optimizer"] == "adamw"
    assert pack(loaded.network, game, optimizer_state=loaded.optimizer_state) == data
    channels_last = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    assert pack(channels_last, game, optimizer_state=moments) == data


@pytest.mark.parametrize("part", ["stem.weight", "blocks.0.norm1.running_var", "moment"])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_not_finite_is_never_packed(game: Game, part: str, number: float) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=4), game, 1)
    moment = torch.zeros(3)
    target = moment if part == "moment" else network.state_dict()[part]
    target.view(-1)[1] = number
    with pytest.raises(UserError, match="not finite"):
        pack(
            network,
            game,
            optimizer_state={"optimizer": "adam", "state": {"stem.weight": {"exp_avg": moment}}},
        )


def test_what_is_no_network_is_refused_by_name(game: Game) -> None:
    data = pack(build_network(NetworkConfig(blocks=1, channels=4), game, 1), game)
    foreign = torch.nn.Linear(2, 2).state_dict()
    buffer = io.BytesIO()
    torch.save(foreign, buffer)
    for content in (b"", b"not a network", data[:1000], data[:-1], buffer.getvalue()):
        with pytest.raises(UserError, match=r"candidate/000003\.pt is not a network"):
            unpack_network(content, "candidate/000003.pt")


def test_a_hostile_file_runs_nothing(game: Game, tmp_path: Any) -> None:
    import os

    class Hostile:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    buffer = io.BytesIO()
    torch.save({"header": Hostile(), "tensors": {}}, buffer)
    with pytest.raises(UserError):
        unpack_network(buffer.getvalue(), "file")
    assert not (tmp_path / "ran").exists()


def test_a_network_of_other_size_than_its_header_says_is_refused(game: Game) -> None:
    small = build_network(NetworkConfig(blocks=1, channels=4), game, 1)
    small.config = NetworkConfig(blocks=1, channels=8)
    lying = pack_network(small, game=game)
    with pytest.raises(UserError, match="is not a network"):
        unpack_network(lying, "file")


def test_a_network_of_another_game_does_not_fit(game: Game) -> None:
    loaded = unpack_network(pack(build_network(NetworkConfig(blocks=1, channels=4), game, 1), game), "file")
    check_fits(loaded, game)
    other = dataclasses.replace(game, name="go", options={"size": 9})
    with pytest.raises(UserError, match=r"plays tictactoe, but the game is go\(size=9\)"):
        check_fits(loaded, other)
    with pytest.raises(UserError):
        check_fits(loaded, dataclasses.replace(game, num_actions=10))


def test_a_spatial_head_gives_each_cell_its_own_output() -> None:
    """With weights by hand: a cell's logit is its plane's number, the pass the mean plus the largest.

    plane   1 0 4        logits of the cells   1 0 4  0 0 0  0 0 0
            0 0 0        pass                  5/9 + 4
            0 0 0
    """
    head = SpatialHead(channels=1, planes=1, per_cell=1, hidden=1, others=1).eval()
    for name, weights in head.named_parameters():
        weights.data.fill_(0.0 if name.endswith("bias") else 1.0)
    head.norm.eps = 0.0
    plane = torch.tensor([1.0, 0, 4, 0, 0, 0, 0, 0, 0])
    found = head(plane.reshape(1, 1, 3, 3))
    assert found[0].tolist() == pytest.approx([*plane.tolist(), 5 / 9 + 4])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("go", {"size": 5}),
        ("hex", {"size": 5}),
        ("gomoku", {"rows": 7, "columns": 7}),
        ("othello", {"size": 6}),
    ],
)
def test_a_spatial_head_turns_with_the_board(name: str, options: dict[str, int]) -> None:
    """Cells in another order give logits in that order; pass and value stay."""
    game = make_game(name, **options)
    network = build_network(replace(SPATIAL, blocks=0), game, 1)
    x = torch.rand(1, SPATIAL.channels, *game.planes_shape[1:])
    cells, order = game.planes_shape[1] * game.planes_shape[2], torch.from_numpy(game.cell_symmetries[-1])
    turned = x.flatten(2)[:, :, order].reshape(x.shape)
    logits, others = (network.policy_head(each)[0] for each in (x, turned))
    assert torch.allclose(logits[:cells][order], others[:cells], atol=1e-5)
    assert torch.allclose(logits[cells:], others[cells:], atol=1e-5)
    assert torch.allclose(network.value_head(x), network.value_head(turned), atol=1e-5)


def test_a_spatial_head_keeps_the_moves_of_a_cell_together() -> None:
    """Three moves a cell with weights 1, 10 and 100 of one plane: 2 becomes 2 20 200, cell after cell.

    plane   2 0        logits   2 20 200   0 0 0
            0 1                 0 0 0      1 10 100     pass   3/4 + 2
    """
    head = SpatialHead(channels=1, planes=1, per_cell=3, hidden=1, others=1).eval()
    for name, weights in head.named_parameters():
        weights.data.fill_(0.0 if name.endswith("bias") else 1.0)
    assert head.cells is not None
    head.cells.weight.data[:, 0, 0, 0] = torch.tensor([1.0, 10.0, 100.0])
    head.norm.eps = 0.0
    found = head(torch.tensor([[[[2.0, 0.0], [0.0, 1.0]]]]))
    assert found[0].tolist() == pytest.approx([2, 20, 200, 0, 0, 0, 0, 0, 0, 1, 10, 100, 3 / 4 + 2])
    assert FoldedHead(head)(torch.tensor([[[[2.0, 0.0], [0.0, 1.0]]]])).tolist() == found.tolist()


def test_a_spatial_network_of_breakthrough_moves_to_a_larger_board_with_equal_weights() -> None:
    """Without blocks a cell's logits depend on its own planes alone, on every board."""
    small, large = (make_game("breakthrough", rows=size, columns=size) for size in (6, 8))
    config = replace(SPATIAL, blocks=0)
    loaded = unpack_network(pack(build_network(config, small, 1), small), "file")
    network = resized(loaded, large, 2)
    policies = [
        each(torch.from_numpy(game.planes(game.initial_state()))[None])[0].reshape(-1, 3)
        for each, game in ((loaded.network, small), (network, large))
    ]
    assert [policy.shape for policy in policies] == [(36, 3), (64, 3)]
    # the inner columns of the rows where the mover's pawns stand
    assert torch.allclose(policies[0][6 * 5 + 2], policies[1][8 * 7 + 3], atol=1e-6)


def test_a_game_of_pairs_of_cells_has_a_spatial_head_if_a_move_s_number_begins_with_its_cell() -> None:
    """9 x 8 cells, action = from * 72 + to. Refused: symmetries that map moves to other cells."""
    pairs = make_game(MANY_ACTIONS)
    network = build_network(SPATIAL, pairs, 1)
    assert isinstance(network.policy_head, SpatialHead) and network.policy_head.cells is not None
    assert network.policy_head.cells.out_channels == 72 and network.policy_head.others == 0
    game = make_game("breakthrough", rows=6, columns=6)
    build_network(SPATIAL, game, 1)
    wrong = dataclasses.replace(game, action_symmetries=np.roll(game.action_symmetries, 3, axis=1))
    with pytest.raises(UserError, match=r"breakthrough is none\. Set"):
        build_network(SPATIAL, wrong, 1)
    with pytest.raises(UserError, match=r"from_to is none\. Set"):
        build_network(SPATIAL, make_game(str(OWN_GAMES / "from_to.py")), 1)


def test_a_spatial_network_moves_to_a_larger_board_with_equal_weights() -> None:
    small, large = make_game("go", size=5), make_game("go", size=7)
    loaded = unpack_network(pack(build_network(SPATIAL, small, 1), small), "file")
    network = resized(loaded, large, 2)
    policy, value = network(torch.rand(2, *large.planes_shape))
    assert policy.shape == (2, 50) and value.shape == (2,)
    theirs, ours = loaded.network.state_dict(), network.state_dict()
    assert theirs.keys() == ours.keys() and all(torch.equal(theirs[key], ours[key]) for key in theirs)


@pytest.mark.parametrize("before, after", [(False, True), (True, False)])
def test_the_swap_of_hex_is_learned_anew_or_left_out(before: bool, after: bool) -> None:
    small, large = make_game("hex", size=5, swap=before), make_game("hex", size=7, swap=after)
    loaded = unpack_network(pack(build_network(SPATIAL, small, 1), small), "file")
    theirs, ours = loaded.network.state_dict(), resized(loaded, large, 2).state_dict()
    assert all(torch.equal(theirs[key], ours[key]) for key in theirs.keys() & ours.keys())
    layers = {f"policy_head.{layer}.{part}" for layer in ("hidden", "output") for part in ("weight", "bias")}
    assert theirs.keys() ^ ours.keys() == layers and (layers <= ours.keys()) is after
    first = build_network(SPATIAL, large, 2).state_dict()
    new = layers - {"policy_head.output.bias"}
    assert all(torch.equal(ours[key], first[key]) for key in new if after)


def test_a_move_that_the_other_board_lacks_begins_as_likely_as_an_average_one() -> None:
    """After a first move on 5 x 5: 24 cells and the swap, whose odds are 1 : 24 in the geometric mean."""
    small, large = make_game("hex", size=4), make_game("hex", size=5, swap=True)
    network = build_network(SPATIAL, small, 1)
    network.get_parameter("policy_head.cells.bias").data += 9.0  # learned
    network = resized(unpack_network(pack(network, small), "file"), large, 2).eval()
    start = large.initial_state()
    states = [large.step(start, cell) for cell in range(25)]
    assert all(large.legal_actions(state)[-1] == 25 for state in states)
    logits, _ = network(torch.from_numpy(np.stack([large.planes(state) for state in states])))
    cells = [logits[at, large.legal_actions(state)[:-1]].logsumexp(0) for at, state in enumerate(states)]
    assert (logits[:, 25] - torch.stack(cells)).mean().item() == pytest.approx(-math.log(24), abs=1e-5)


@pytest.mark.parametrize("before, after", [("gardner", "standard"), ("standard", "gardner")])
def test_two_kinds_of_chess_share_the_moves_that_both_have(before: str, after: str) -> None:
    """A cell of Gardner's has 49 moves, one of chess 24 more, which are the long ways of a queen."""
    small, large = make_game("chess", variant=before), make_game("chess", variant=after)
    loaded = unpack_network(pack(build_network(SPATIAL, small, 1), small), "file")
    theirs, ours = loaded.network.state_dict(), resized(loaded, large, 2).state_dict()
    first = build_network(SPATIAL, large, 2).state_dict()
    cells = {"policy_head.cells.weight", "policy_head.cells.bias"}
    assert all(torch.equal(theirs[key], ours[key]) for key in theirs.keys() - cells)
    known = [step in small.steps for step in large.steps]
    assert sum(known) == 49
    if before == "gardner":
        assert {step for step in large.steps if step not in small.steps} == {
            ((down * far, right * far), 0)
            for far in (5, 6, 7)
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if (down, right) != (0, 0)
        }
    for key in cells:
        for own, step in enumerate(large.steps):
            source = theirs[key][small.steps.index(step)] if known[own] else first[key][own]
            assert torch.equal(ours[key][own], source)


def test_a_spatial_network_of_another_game_is_refused() -> None:
    loaded = unpack_network(
        pack(build_network(SPATIAL, make_game("go", size=5), 1), make_game("go", size=5)), "file"
    )
    with pytest.raises(UserError, match="The network plays go"):
        resized(loaded, make_game("hex", size=7), 2)


def test_a_game_without_a_move_for_each_cell_has_no_spatial_head() -> None:
    with pytest.raises(UserError, match=r"connect_four is none\. Set"):
        build_network(SPATIAL, make_game("connect_four"), 1)


def test_rules_of_another_size_under_the_same_name_are_refused_with_both_sizes() -> None:
    small, large = (replace(make_game("go", size=size), options={}) for size in (5, 6))
    loaded = unpack_network(pack(build_network(NetworkConfig(), small, 1), small), "file")
    with pytest.raises(
        UserError,
        match=r"The network plays go with planes of \d+ x 5 x 5 and 26 actions, "
        r"but the game is go with planes of \d+ x 6 x 6 and 37 actions",
    ):
        check_fits(loaded, large)
