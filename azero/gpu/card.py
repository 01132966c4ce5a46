"""One NVIDIA GPU: its memory, the kernels that numba-cuda compiles for it, and the network as one CUDA graph.

A wave is three launches: `advance` takes each game to its next leaf and writes the leaf's planes, the graph
answers all of them, `receive` takes the answers in. Nothing crosses the bus meanwhile.

Importing this needs numba-cuda (the extras `gpu12` and `gpu13`), and no GPU.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple
from unittest import mock

import numba.cuda
import numpy as np
from numba.cuda.core import config
from numba.cuda.cudadrv import nvvm
from numba.cuda.target import CUDATargetContext

from azero.games.game import Game, Rules
from azero.gpu.places import Place, map_arrays, repeated, row
from azero.gpu.play import advance, begin, receive, resume
from azero.network.inference import InferenceChoice
from azero.network.model import Network
from azero.network.torch_inference import GpuNetwork, use_gpu
from azero.workers.games import PlaySettings, Worker

cuda: Any = numba.cuda  # has no types
SMALL = 4096  # bytes of a table that numba-cuda may put into a GPU's 64 KiB of constants
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # few games are a person's choice
THREADS = 64  # of a block
COPIED = 256  # places that are written to the GPU at once


_constant_array = CUDATargetContext.make_constant_array


def constant_array(context: Any, builder: Any, kind: Any, array: np.ndarray) -> Any:
    """Do as numba-cuda, but put a large table of the rules into ordinary memory: that of chess has 49 KiB."""
    space = nvvm.ADDRSPACE_CONSTANT if array.nbytes <= SMALL else nvvm.ADDRSPACE_GLOBAL
    with mock.patch.object(nvvm, "ADDRSPACE_CONSTANT", space):
        return _constant_array(context, builder, kind, array)


CUDATargetContext.make_constant_array = constant_array  # type: ignore[method-assign]


class GpuKernels(NamedTuple):
    """The kernels of one game; numba-cuda compiles each once for the types of its arguments."""

    begin: Any  # (places, settings, chosen [any] int64, seeds [any] uint64)
    resume: Any  # (places, settings, how many of them)
    advance: Any  # (places, settings, planes [B, C, H, W] float32)
    receive: Any  # (places, logits [B, A] float32, values [B] float32)


def device_rules(rules: Rules) -> Rules:
    """Return the same rules as functions of a GPU, with the types that they have on the CPU."""
    return Rules(*(cuda.jit(rule._sig, device=True)(rule.__wrapped__) for rule in rules))


@functools.cache
def kernels_of(game_rules: Rules) -> GpuKernels:
    """Return the kernels of a game. The rules are constants of theirs, so each game has its own."""
    rules = device_rules(game_rules)

    @cuda.jit
    def begin_places(places, settings, chosen, seeds):
        number = cuda.grid(1)
        if number < chosen.shape[0]:
            begin(rules, row(places, chosen[number]), seeds[number], settings)

    @cuda.jit
    def resume_places(places, settings, count):
        b = cuda.grid(1)
        if b < count:
            resume(rules, row(places, b), settings)

    @cuda.jit
    def advance_places(places, settings, planes):
        b = cuda.grid(1)
        if b < planes.shape[0]:
            advance(rules, row(places, b), settings, planes[b])

    @cuda.jit
    def receive_places(places, logits, values):
        b = cuda.grid(1)
        if b < values.shape[0]:
            receive(rules, row(places, b), logits[b], values[b])

    return GpuKernels(begin_places, resume_places, advance_places, receive_places)


@cuda.jit
def gather(source, chosen, target):
    """Copy rows `chosen` [any] of source [B, n] to the rows of target [any, n]."""
    here = cuda.grid(1)
    for place in range(here, target.size, cuda.gridsize(1)):
        number, column = place // target.shape[1], place % target.shape[1]
        target[number, column] = source[chosen[number], column]


class Card:
    """A GPU that plays, a `worker.Machine`."""

    def __init__(
        self,
        game: Game,
        place: Place,
        settings: PlaySettings,
        network: Network,
        choice: InferenceChoice,
        number: int,
    ) -> None:
        """Take the memory for `choice.batch_size` places like `place`, or fewer if it is short.

        number: of the GPU. This thread uses it from now on.
        """
        self.number = number
        self.use()
        self.network = GpuNetwork(network, game, choice)
        self.size = len(self.network.planes)
        self.title = f"{network.title} (backend {choice.backend}, {choice.precision})"
        self.kernels = kernels_of(game.rules)
        self.stream = cuda.external_stream(self.network.stream.cuda_stream)
        self.places: Place = map_arrays(self.spread, place)
        self.settings: PlaySettings = map_arrays(self.put, settings)
        answers = self.network.planes, self.network.logits, self.network.value
        self.planes, self.logits, self.values = map(cuda.as_cuda_array, answers)

    def use(self) -> None:
        """Let this thread use this GPU; see `Machine`."""
        use_gpu(self.number)
        cuda.select_device(self.number)

    def spread(self, array: np.ndarray) -> Any:
        """Return an array on the GPU that holds `array` for each place."""
        array = np.asarray(array)
        spread = cuda.device_array((self.size, *array.shape), array.dtype)
        some = repeated(array, COPIED)
        for first in range(0, self.size, COPIED):
            some = some[: self.size - first]
            spread[first : first + len(some)].copy_to_device(some, self.stream)
        return spread

    def put(self, array: np.ndarray) -> Any:
        """Return a copy of an array on the GPU, there before what is launched next."""
        return cuda.to_device(array, self.stream)

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel with a thread for each of so many places, after what runs already."""
        kernel[-(-threads // THREADS), THREADS, self.stream](*arguments)

    def begin(self, chosen: np.ndarray, seeds: np.ndarray) -> None:
        """Begin games; see `Machine`."""
        numbers, seeds = self.put(chosen), self.put(np.asarray(seeds, np.uint64))
        self.launch(self.kernels.begin, len(chosen), self.places, self.settings, numbers, seeds)
        self.stream.synchronize()

    def resume(self, games: Worker) -> None:
        """Go on with games; see `Machine`."""
        count, places = len(games.status), tuple[Any, ...](self.places.worker)
        for array, values in zip(places, games, strict=True):
            array[:count].copy_to_device(np.ascontiguousarray(values[:, None]), self.stream)
        self.launch(self.kernels.resume, count, self.places, self.settings, count)
        self.stream.synchronize()

    def waves(self, count: int) -> None:
        """Begin to play on; see `Machine`."""
        for _ in range(count):
            self.launch(self.kernels.advance, self.size, self.places, self.settings, self.planes)
            self.network.replay()
            self.launch(self.kernels.receive, self.size, self.places, self.logits, self.values)

    def wait(self) -> None:
        """Wait for the last wave."""
        self.stream.synchronize()

    def read(self, array: Any) -> np.ndarray:
        """Return a copy of an array of `places`, whole."""
        copy: np.ndarray = array.copy_to_host()
        return copy

    def read_places(self, record: Any, chosen: np.ndarray) -> Any:
        """Return a record of the `chosen` places; see `Machine`."""
        numbers = self.put(chosen)

        def read(array: Any) -> np.ndarray:
            shape = (len(chosen), *array.shape[1:])
            if not np.prod(shape):
                return np.zeros(shape, array.dtype)
            target = cuda.device_array((len(chosen), int(np.prod(shape[1:]))), array.dtype)
            source = array.reshape(self.size, target.shape[1])
            self.launch(gather, min(target.size, THREADS * 4096), source, numbers, target)
            self.stream.synchronize()
            copy: np.ndarray = target.copy_to_host().reshape(shape)
            return copy

        return map_arrays(read, record)

    def write(self, array: Any, values: np.ndarray) -> Any:
        """Return an array of the GPU with these values; see `Machine`."""
        return self.put(values)
