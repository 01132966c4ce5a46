"""A champion among other people's programs: OpenSpiel's matches and PettingZoo's environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azero
from azero.champion.champion import Champion
from azero.champion.openspiel_bot import openspiel_bot
from azero.champion.pettingzoo_player import PettingZooPlayer
from azero.config.schema import Config, NetworkConfig, UserError
from azero.games import make_game
from azero.run.run import Run

SMALL = NetworkConfig(blocks=1, channels=4, value_hidden=4)
ALIKE: list[tuple[str, dict[str, Any], str]] = [
    ("tictactoe", {}, "tic_tac_toe"),
    ("connect_four", {}, "connect_four"),
    ("othello", {}, "othello"),
    ("hex", {"size": 5}, "hex(board_size=5)"),
    ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "mnk(m=7,n=5,k=4)"),
    ("go", {"size": 5, "komi": 0.5}, "go(board_size=5,komi=0.5)"),
    ("openspiel:breakthrough", {"rows": 4, "columns": 4}, "breakthrough(rows=4,columns=4)"),
]

Make = Callable[..., Champion]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a champion with a random network."""
    from azero.network.model import build_network, pack_network

    def champion(name: str, **options: Any) -> Champion:
        folder = tmp_path / name.replace(":", "_")
        config = Config(network=SMALL, checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
        game = make_game(name, **options)
        data = pack_network(build_network(SMALL, game, 3), game=game)
        with Run.open(config, "random", "test") as run:
            settings = {**run.state.config, "game.name": name, "game.options": options}
            entry = run.write_network("champion", 0, data)
            run.commit(replace(run.state, config=settings, champion=entry))
        return azero.load_champion("random", str(folder / "checkpoints"), "cpu")

    return champion


# OpenSpiel


@pytest.mark.parametrize(("name", "options", "theirs"), ALIKE)
def test_whole_games_are_played_in_openspiel(
    name: str, options: dict[str, Any], theirs: str, make: Make
) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    matches = pytest.importorskip("open_spiel.python.algorithms.evaluate_bots")
    uniform = pytest.importorskip("open_spiel.python.bots.uniform_random")
    game, rng = pyspiel.load_game(theirs), np.random.RandomState(1)
    bot = openspiel_bot(make(name, **options), game, num_simulations=4)
    for place in (0, 1):
        bots = [uniform.UniformRandomBot(1 - place, rng)] * 2
        bots[place] = bot
        state = game.new_initial_state()
        returns = matches.evaluate_bots(state, bots, rng)
        assert state.is_terminal() and sum(returns) == 0


def test_a_bot_wins_against_chance_and_meets_openspiel_s_mcts(make: Make) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("tic_tac_toe")
    bot = openspiel_bot(make("tictactoe"), game, num_simulations=100)
    rollouts = pyspiel.RandomRolloutEvaluator(1, 1)
    mcts = pyspiel.MCTSBot(game, rollouts, 2.0, 500, 10, True, 1, False)
    chance = [pyspiel.make_uniform_random_bot(1, seed) for seed in range(5)]
    assert [pyspiel.evaluate_bots(game.new_initial_state(), [bot, each], 1)[0] for each in chance] == [
        1.0
    ] * 5
    assert pyspiel.evaluate_bots(game.new_initial_state(), [bot, mcts], 1) == [0.0, 0.0]


def test_a_bot_sees_the_move_that_wins(make: Make) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("connect_four")
    state = game.new_initial_state()
    for action in (0, 1, 0, 1, 0, 1):
        state.apply_action(action)
    assert openspiel_bot(make("connect_four"), game, 50).step(state) == 0


@pytest.mark.parametrize(
    ("name", "options", "theirs"),
    [
        ("tictactoe", {}, "connect_four"),
        ("connect_four", {"connect": 3}, "connect_four"),
        ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "mnk(m=7,n=5,k=5)"),
        ("hex", {"size": 5, "swap": True}, "hex(board_size=5)"),
        ("go", {"size": 5, "komi": 7.5}, "go(board_size=5,komi=8.5)"),
        ("go", {"size": 5, "komi": 7.5}, "go(board_size=5,komi=7.5,handicap=2)"),
        ("go", {"size": 5, "komi": 7.5}, "go(board_size=7,komi=7.5)"),
    ],
)
def test_other_rules_are_refused_in_one_sentence(
    name: str, options: dict[str, Any], theirs: str, make: Make
) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    with pytest.raises(UserError, match=r"^OpenSpiel's .* has other rules than the champion's .*\.$"):
        openspiel_bot(make(name, **options), pyspiel.load_game(theirs))


def test_what_is_no_game_of_openspiel_is_refused_in_one_sentence(make: Make) -> None:
    pytest.importorskip("pyspiel")
    with pytest.raises(
        UserError, match=r"^openspiel_bot\(game=None\): game must be made by pyspiel\.load_game"
    ):
        openspiel_bot(make("tictactoe"), None)


# PettingZoo


def environment(name: str) -> Any:
    """Return one of PettingZoo's classic environments."""
    pytest.importorskip("pygame")
    return pytest.importorskip("pettingzoo").make("aec", f"classic/{name}")


@pytest.mark.parametrize(
    ("name", "env_name"), [("tictactoe", "tictactoe-v3"), ("connect_four", "connect_four-v3")]
)
def test_whole_games_are_played_in_pettingzoo(name: str, env_name: str, make: Make) -> None:
    env, champion, rewards = environment(env_name), make(name), []
    player = PettingZooPlayer(champion, num_simulations=50)
    for number in range(6):  # one player plays one game after the other, on both sides
        env.reset(seed=number)
        mine, played = env.possible_agents[number % 2], list[int]()
        env.action_space(env.possible_agents[1 - number % 2]).seed(number)
        for agent in env.agent_iter():
            observation, reward, ended, cut, _ = env.last()
            action = None
            if not (ended or cut):
                space = env.action_space(agent)
                action = (
                    player.act(observation) if agent == mine else space.sample(observation["action_mask"])
                )
                played.append(int(action))
            elif agent == mine:
                rewards.append(reward)
            env.step(action)
        assert champion.game.is_terminal(champion.position(" ".join(champion.game.move_names(played))))
        assert played[: len(player.moves)] == player.moves
    assert sum(rewards) >= 3  # against chance


def test_two_players_play_each_other_in_pettingzoo(make: Make) -> None:
    env, champion = environment("connect_four-v3"), make("connect_four")
    players = {agent: PettingZooPlayer(champion, 8) for agent in env.possible_agents}
    env.reset()
    for agent in env.agent_iter():
        observation, _, ended, cut, _ = env.last()
        env.step(None if ended or cut else players[agent].act(observation))
    one, other = (player.moves for player in players.values())
    assert one[: len(other)] == other or other[: len(one)] == one


def test_an_observation_that_does_not_follow_is_refused(make: Make) -> None:
    player = PettingZooPlayer(make("tictactoe"), 4)
    planes = np.zeros((3, 3, 2), np.int8)
    planes[0, 0, 1] = planes[0, 1, 0] = planes[0, 2, 1] = 1
    with pytest.raises(
        UserError, match=r"no position of tictactoe that follows from this player's last turn\.$"
    ):
        player.act({"observation": planes, "action_mask": np.ones(9)})
    planes[0] = 0
    with pytest.raises(UserError, match="legal moves are not those of tictactoe"):
        player.act({"observation": planes, "action_mask": np.zeros(9)})


def test_a_game_without_a_board_has_no_player(make: Make) -> None:
    pytest.importorskip("pyspiel")
    with pytest.raises(UserError, match="has no board"):
        PettingZooPlayer(make("openspiel:breakthrough", rows=4, columns=4))
