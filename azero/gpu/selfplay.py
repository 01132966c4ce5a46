"""Self-play of a cycle on a GPU, and whether that can be."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import replace

from azero.config.schema import OPENSPIEL, Config, UserError
from azero.games.game import Rules
from azero.network.inference import resolve_device
from azero.process.seeds import SELFPLAY, game_seeds
from azero.workers.selfplay import Plan, PlayedGames, SelfPlay, Watch
from azero.workers.threads import GameQueue, play_settings, play_with

MOST_PLACES = 8192  # games at once; on an H200 twice as many made 1 % more simulations a second
GAMES_A_PLACE = 4  # in a cycle, so that most of a batch is full until the end
CACHE_SHARE = 256  # a worker of the CPU has so many games, which share its cache
MEMORY_SHARE = 0.7  # of the free memory that places may take
_PLAYED: set[tuple[Rules, str]] = set()  # rules and algorithms whose kernels this process has compiled


def obstacle(config: Config) -> str | None:
    """Return why self-play with these settings is not on a GPU, as one sentence; None if it is.

    Raises:
        UserError: the settings ask for a GPU, and that cannot be.
    """
    asked = config.selfplay.trees == "gpu"
    reason = None if config.selfplay.trees != "cpu" else "selfplay.trees=cpu."
    reason = reason or hindrance(config)
    if asked and reason:
        raise UserError(f"selfplay.trees=gpu cannot be: {reason} Set selfplay.trees=auto.")
    return reason


def hindrance(config: Config) -> str | None:
    """Return what hinders self-play on a GPU here; None if nothing does."""
    if config.game.engine == "openspiel" or config.game.name.startswith(OPENSPIEL):
        return "rules of OpenSpiel are not compiled."
    if config.search.kind.endswith(".py"):
        return "a search of your own runs on the CPU only."
    if config.cluster.address:
        return "the workers of a cluster have their trees on the CPU."
    if importlib.util.find_spec("numba_cuda") is None:
        return 'numba-cuda is missing; pip install "azero[gpu12]" or "azero[gpu13]", for CUDA 12 or 13.'
    import torch  # here, as in the next function, because a program's help needs none

    if resolve_device(config.device) != "cuda" or torch.version.hip is not None:
        return "the network is not computed on an NVIDIA GPU."
    from numba import cuda

    return None if cuda.is_available() else "numba-cuda cannot use the GPU; `numba -s` says why."


def places_wanted(config: Config) -> int:
    """Return how many games are played at once, if memory is not short: a power of two.

    It depends on the settings alone: in a batch of another size a network's answers may have other bits.
    """
    return min(MOST_PLACES, max(16, 1 << max(1, config.selfplay.games // GAMES_A_PLACE).bit_length() - 1))


class SelfPlayOnGpu(SelfPlay):
    """Plays a plan with the rules, the search and the network on a GPU."""

    def __init__(self, plan: Plan, say: Callable[[str], object]) -> None:
        """Begin nothing yet. `say` receives sentences on what happens."""
        super().__init__(plan)
        self.say = say

    def play(self, watch: Watch) -> PlayedGames:
        """Play the games; see `SelfPlay`."""
        from azero.gpu.card import Card  # imports numba-cuda
        from azero.gpu.places import bytes_of, make_place
        from azero.gpu.worker import GpuWorker

        plan, config = self.plan, self.plan.config
        place = make_place(plan.game, config.search, config.inference.cache // CACHE_SHARE)
        settings = play_settings(plan.game, config.search, config.selfplay)
        kernels = plan.game.rules, config.search.kind
        compiled = kernels in _PLAYED
        if not compiled:
            self.say("Compiling self-play for the GPU takes a minute or two, at each start.")
        choice = replace(plan.choice, batch_size=self.places(bytes_of(place)), batches=())
        card = Card(plan.game, place, settings, plan.network, choice)
        worker = GpuWorker(plan.game, card, config.search)
        queue = GameQueue(iter(plan.numbers), watch.deadline, plan.expected_seconds)
        seeds = game_seeds(config.seed, plan.cycle, SELFPLAY, config.selfplay.games)
        known = (watch.progress, watch.stop, watch.keep)
        games, stats = play_with([worker], queue, seeds, *known, compiled)
        _PLAYED.add(kernels)
        return PlayedGames(games, stats, time.perf_counter() - watch.began)

    def places(self, size: int) -> int:
        """Return how many games of `size` bytes each are played at once; say so if memory is short.

        Raises:
            UserError: the GPU has no room for a single one.
        """
        import torch

        wanted = places_wanted(self.plan.config)
        room = int(MEMORY_SHARE * torch.cuda.mem_get_info()[0]) // size
        if room < 1:
            raise UserError(
                f"a game of {self.plan.game.name} needs {size / 2**20:,.0f} MiB of the GPU's memory, and "
                "less is free; lower search.num_simulations or inference.cache, or set selfplay.trees=cpu."
            )
        if room < wanted:
            self.say(f"The GPU has memory for {room:,} games at once, not {wanted:,}.")
        return min(wanted, room)
