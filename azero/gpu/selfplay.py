"""Self-play of a cycle on a machine's GPUs, and whether that can be."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from azero.config.schema import OPENSPIEL, Config, UserError
from azero.games import rules_digest
from azero.games.game import Game, Rules
from azero.games.legal import legal_room
from azero.network.inference import device_for
from azero.process.seeds import SELFPLAY, game_seeds
from azero.workers.memory import PAIR_BYTES
from azero.workers.selfplay import Plan, PlayedGames, SelfPlay, SelfPlayHere, Watch
from azero.workers.threads import GameQueue, play_settings, play_with

if TYPE_CHECKING:
    from azero.gpu.places import Place
    from azero.gpu.worker import GpuWorker

MOST_PLACES = 8192  # games at once; a prototype on an H200 made 1 % more simulations with twice as many
GAMES_A_PLACE = 4  # in a cycle of several GPUs, so that most of a batch is full until the end
CACHE_SHARE = 256  # a worker of the CPU has at most so many games by default, which share its cache
# Simulations of a game that need no network, before it waits for the others. On an H200 a stage of 8,192
# games made 316,000 evaluations a second without a limit, 370,000, 420,000 and 397,000 with 1, 2 and 4.
AT_ONCE = 2
MEMORY_SHARE = 0.7  # of the free memory that places may take
FEW_PLACES = 1024  # so many games begin at once there, whatever the batch is at the end
# Of this process: rules and algorithms whose kernels it has compiled, and those that could not be
_COMPILED, _REFUSED = set[tuple[Rules, str]](), set[tuple[Rules, str]]()
_GAMES: dict[tuple[str, str, str], Game] = {}  # by name, options and digest of a person's own rules


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

    if device_for(config) != "cuda" or torch.version.hip is not None:
        return "torch does not compute the network on an NVIDIA GPU; see device and inference.backend."
    from numba import cuda

    return None if cuda.is_available() else "numba-cuda cannot use the GPU; `numba -s` says why."


def equal_cards() -> list[int]:
    """Return the numbers of the GPUs that are like the first: another kind may round otherwise."""
    import torch

    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return [number for number, name in enumerate(names) if name == names[0]]


def places_wanted(config: Config, cards: int = 1) -> int:
    """Return how many games each of so many GPUs plays at once, if memory is not short: a power of two.

    It depends on nothing else: in a batch of another size a network's answers may have other bits. So a run
    that goes on with another number of GPUs may have other games.
    """
    games = max(1, config.selfplay.games // cards)
    most = games if cards == 1 else max(games // GAMES_A_PLACE, min(games, FEW_PLACES))
    return power_of_two(min(MOST_PLACES, most))


def power_of_two(most: int) -> int:
    """Return the greatest power of two up to a number."""
    return 1 << most.bit_length() - 1


def first_made(game: Game, config: Config) -> Game:
    """Return the same game as this process made it first: rules that are made anew would compile anew."""
    options = repr(sorted(config.game.options.items()))
    return _GAMES.setdefault((config.game.name, options, rules_digest(config.game.name)), game)


def said_by(failure: Exception) -> str:
    """Return the line of an error that says most: of numba-cuda's, where in the source it happened."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(failure)).splitlines()]
    told = [line for line in lines if line and not line.startswith("Failed in")]
    where = [line for line in told if line.startswith("During: lowering")]
    return f"{type(failure).__name__}: {(where or told or ['no reason is given'])[0][:300].rstrip('.')}"


class SelfPlayOnGpu(SelfPlay):
    """Plays a plan with the rules, the search and the network on a GPU."""

    def __init__(self, plan: Plan, say: Callable[[str], object]) -> None:
        """Begin nothing yet. `say` receives sentences on what happens."""
        super().__init__(plan)
        self.say = say
        self.game = first_made(plan.game, plan.config)

    def play(self, watch: Watch) -> PlayedGames:
        """Play the games; see `SelfPlay`. Where the GPU refuses the kernels, the CPU plays them.

        One GPU begins games of the next cycle too. How far they are depends on how many games of this one
        were left to play, so a stage that is stopped returns no games and plays all of them again.
        """
        plan, config = self.plan, self.plan.config
        workers = self.ready_workers()
        if not workers:
            return SelfPlayHere(plan).play(watch)
        first, own = workers[0], config.selfplay.games
        alone = len(workers) == 1  # of two GPUs time would say which one ends last
        ahead = range(own, 2 * own) if alone and config.cycles > 1 else range(0)
        first.own = own
        first.waiting = plan.waiting[: first.machine.size] if alone else ()
        waiting = (record.number for record in first.waiting)
        numbers = dict.fromkeys([*waiting, *plan.numbers, *ahead])
        queue = GameQueue(iter(numbers), watch.deadline, plan.expected_seconds)
        cycles = plan.cycle, plan.cycle + 1
        seeds = np.concatenate([game_seeds(config.seed, cycle, SELFPLAY, own) for cycle in cycles])
        known = watch.progress, watch.stop, list if ahead else watch.keep
        games, stats = play_with(workers, queue, seeds, *known, compiled=True)
        if ahead and watch.stop.requested and len(games) < len(plan.numbers):
            games = []
        begun = [record._replace(number=record.number - own) for record in first.ahead]
        return PlayedGames(games, stats, time.perf_counter() - watch.began, ahead=begun)

    def ready_workers(self) -> list[GpuWorker]:
        """Return a worker with compiled kernels for each GPU; none, said once, if those cannot be made.

        Raises:
            UserError: it cannot, and the settings ask for a GPU; or the network or a game has no room.
        """
        config = self.plan.config
        kernels = self.game.rules, config.search.kind
        if kernels in _REFUSED:
            return []
        if kernels not in _COMPILED:
            self.say("Compiling self-play for the GPU takes a minute or two, at each start.")
        try:
            workers = self.new_workers()
            for worker in reversed(workers):  # the first one last: this thread goes on with its GPU
                worker.compile()
        except UserError:
            raise
        except Exception as failure:  # of numba-cuda, its libraries, or the driver
            why = f"the GPU refuses these rules or this search: {said_by(failure)}"
            if config.selfplay.trees == "gpu":
                raise UserError(f"selfplay.trees=gpu cannot be: {why}. Set selfplay.trees=auto.") from failure
            _REFUSED.add(kernels)
            self.say(f"Self-play is on the CPU: {why}.")
            return []
        _COMPILED.add(kernels)
        return workers

    def new_workers(self) -> list[GpuWorker]:
        """Return a worker for each GPU, on which its places and its network are."""
        from azero.gpu.card import Card  # imports numba-cuda
        from azero.gpu.places import make_place
        from azero.gpu.worker import GpuWorker

        plan, config = self.plan, self.plan.config
        place = make_place(self.game, config.search, config.inference.cache // CACHE_SHARE)
        settings = play_settings(self.game, config.search, config.selfplay)._replace(at_once=AT_ONCE)
        cards = equal_cards()
        choice = replace(plan.choice, batch_size=self.places(place, cards), batches=())
        made = (Card(self.game, place, settings, plan.network, choice, number) for number in cards)
        return [GpuWorker(self.game, card, config.search) for card in made]

    def places(self, place: Place, cards: list[int]) -> int:
        """Return how many games like `place` each of some GPUs plays at once; say so if memory is short.

        Raises:
            UserError: one of them has no room for a single one.
        """
        import torch

        from azero.gpu.places import bytes_of

        wanted, game = places_wanted(self.plan.config, len(cards)), self.game
        targets = PAIR_BYTES * game.max_plies * legal_room(game)  # room for them grows while games are played
        size = bytes_of(place) + targets
        torch.cuda.empty_cache()  # what training has left there is free
        free = min(torch.cuda.mem_get_info(number)[0] for number in cards)
        room = int(MEMORY_SHARE * free) // size
        if room < 1:
            raise UserError(
                f"a game of {game.name} needs {size / 2**20:,.1f} MiB of the GPU's memory, and self-play may "
                f"take {MEMORY_SHARE * free / 2**20:,.1f}; lower search.num_simulations or inference.cache, "
                "or set selfplay.trees=cpu."
            )
        if room < wanted:
            self.say(f"The GPU has memory for {power_of_two(room):,} games at once, not {wanted:,}.")
        return min(wanted, power_of_two(room))
