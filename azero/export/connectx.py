"""A champion of Connect Four for Kaggle's ConnectX: weights, network and search in one file, with NumPy.

`azero export run=NAME out=submission.py` wrote it, if ABOUT and WEIGHTS are not empty. Kaggle calls the last
function, `agent`. Its search is PUCT (Silver et al. 2017). A position that is decided within two plies is not
evaluated, and what the search has proved decides before visits do.

A position is two numbers of bits, bit = column * 7 + height: the stones of the player to move, and all
stones.

Letters: B positions, C channels.
"""

from __future__ import annotations

import base64
import json
import math
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

ABOUT = "{}"  # JSON: packing (`azero.export.weights`), network (`azero.export.submission`), width, facts
WEIGHTS = ""  # base64 of zlib: the first bytes of all numbers, then the second ones, ...

ROWS, COLUMNS, CONNECT = 6, 7, 4
HEIGHT = ROWS + 1  # a bit above each column stays empty, so no line wraps
BOTTOM = sum(1 << column * HEIGHT for column in range(COLUMNS))
BOARD = BOTTOM * ((1 << ROWS) - 1)
# Taps of a 3 x 3 convolution, and of a dense layer over the whole board
NEAR, ALL = (3, 3), (ROWS, COLUMNS)

TIME_SHARE, HURRIED_SHARE = 0.75, 0.5  # of the time for a move; hurried without a second of reserve
BATCH = 8  # positions that are evaluated at once
MOST_SIMULATIONS = 20_000
C_PUCT, C_PUCT_BASE, FPU_REDUCTION = 1.25, 19652, 0.2
SMALLEST_OUTPUT = 1e-6  # of a linear policy head, as in azero
REMEMBERED = 100_000  # evaluations


def unpack(text: str, width: int) -> bytes:
    """Return the bytes of numbers of `width` bytes that `squeeze` of azero/export/page.py has compressed."""
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return data.reshape(width, -1).T.tobytes()


def matrices(data: bytes, packing: dict[str, Any]) -> Iterator[np.ndarray]:
    """Yield each matrix [columns / group, rows, group] float32 of `azero.export.weights.encode_weights`."""
    kind, group, place = packing["kind"], packing["group"], 0

    def numbers(count: int, dtype: str) -> np.ndarray:
        nonlocal place
        found = np.frombuffer(data, dtype, count, place)
        place += found.nbytes
        return found.astype(np.float32)

    for rows, columns in packing["layers"]:
        steps: Any = 1
        if rows == 1 or kind == "fp32":
            found = numbers(rows * columns, "<f4")
        elif kind == "fp16":
            found = numbers(rows * columns, "<f2")
        else:
            steps = numbers(columns, "<f4").reshape(-1, 1, group)
            found = numbers(rows * columns, "i1")
        yield found.reshape(-1, rows, group) * steps


def plain(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix of `matrices` as [rows, columns]."""
    return np.ascontiguousarray(matrix.transpose(1, 0, 2).reshape(matrix.shape[1], -1))


class PortableNetwork:
    """The network without batch norms; activations are [B, rows, columns, C].

    Layers keep the order in which `azero.export.network_code` writes them.
    """

    def __init__(self, data: bytes, packing: dict[str, Any], shape: dict[str, Any]) -> None:
        self.matrices, self.shape = [*map(plain, matrices(data, packing))], shape

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Map planes [B, 2, rows, columns] to policy logits [B, columns] and values [B]."""
        layers, shape = iter(self.matrices), self.shape
        x = convolve(planes.transpose(0, 2, 3, 1), layers)
        x = relu(x) if shape["stem_relu"] else x
        for block in shape["blocks"]:
            if block == "pyramid":
                inner = convolve(x * next(layers) + next(layers), layers)
                x = x + convolve(relu(inner), layers)
            else:
                inner = convolve(x, layers)
                x = relu(x + convolve(relu(inner), layers))
        policy, value = (head(x, kind, layers) for kind in shape["heads"])
        policy = policy[:, :COLUMNS]
        if shape["linear_policy"]:
            policy = np.log(np.maximum(policy, SMALLEST_OUTPUT))
        if shape["value_outputs"] == 1:
            return policy, np.tanh(value[:, 0])
        chances = softmax(value[:, :3])
        return policy, chances[:, 0] - chances[:, 2]


def convolve(x: np.ndarray, layers: Iterator[np.ndarray]) -> np.ndarray:
    """Return a 3 x 3 convolution and its bias as one product of matrices."""
    weight, bias = next(layers), next(layers)
    x = np.pad(x[..., : len(weight) // math.prod(NEAR)], ((0, 0), (1, 1), (1, 1), (0, 0)))
    count, channels, (image, row, cell, number) = len(x), x.shape[3], x.strides
    taps = np.lib.stride_tricks.as_strided(
        x, (count, ROWS, COLUMNS, NEAR[0], NEAR[1] * channels), (image, row, cell, row, number)
    )
    return (taps.reshape(-1, len(weight)) @ weight + bias).reshape(count, ROWS, COLUMNS, -1)


def head(x: np.ndarray, kind: dict[str, Any], layers: Iterator[np.ndarray]) -> np.ndarray:
    """Return a head's outputs [B, n]: a 1 x 1 convolution or the channels' means, then dense layers."""
    if not kind["pooled"]:
        weight, bias = next(layers), next(layers)
        x = relu(x[..., : len(weight)] @ weight + bias)
    weight, bias = next(layers), next(layers)
    whole = x.mean((1, 2)) if kind["pooled"] else x[..., : len(weight) // math.prod(ALL)]
    found = whole.reshape(len(x), -1)[:, : len(weight)] @ weight + bias
    for _ in range(kind["dense"] - 1):
        weight, bias = next(layers), next(layers)
        found = relu(found)[:, : len(weight)] @ weight + bias
    return found


def relu(x: np.ndarray) -> np.ndarray:
    """Return x where it is positive, else 0."""
    return np.maximum(x, 0)


def softmax(x: np.ndarray) -> np.ndarray:
    """Return the softmax of each row."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def completing(stones: int, taken: int) -> int:
    """Return the empty cells in which one more stone makes a line of four."""
    found = (stones << 1) & (stones << 2) & (stones << 3)
    for way in (HEIGHT - 1, HEIGHT, HEIGHT + 1):
        pair = (stones << way) & (stones << 2 * way)
        found |= pair & ((stones << 3 * way) | (stones >> way))
        pair = (stones >> way) & (stones >> 2 * way)
        found |= pair & ((stones >> 3 * way) | (stones << way))
    return found & BOARD & ~taken


def playable(taken: int) -> int:
    """Return the lowest empty cell of each column."""
    return (taken + BOTTOM) & BOARD


def single_bits(cells: int) -> list[int]:
    """Return each cell on its own."""
    return [1 << bit for bit in range(HEIGHT * COLUMNS) if cells >> bit & 1]


def column_of(move: int) -> int:
    """Return the column of a move."""
    return (move.bit_length() - 1) // HEIGHT


def safe_moves(own: int, taken: int) -> int:
    """Return the moves after which the opponent has no line at once, for a player who has none either."""
    threats, open_cells = completing(own ^ taken, taken), playable(taken)
    forced = open_cells & threats
    if forced:
        open_cells = forced if forced & (forced - 1) == 0 else 0
    return open_cells & ~(threats >> 1)


class PortableNode:
    """A position in the tree.

    Attributes:
        value: what is proved, for the player to move: 1, 0, -1; None: nothing.
        moves: those that do not lose at once, as bits. The lists from `priors` to `nodes` are by move.
        priors: empty until the position has its evaluation.
        sums: of values, for the player to move here.
        first: the network's value.
    """

    __slots__ = ("first", "moves", "nodes", "own", "priors", "sums", "taken", "value", "visits")

    def __init__(self, own: int, taken: int) -> None:
        self.own, self.taken, self.first = own, taken, 0.0
        self.value: int | None = None
        if completing(own, taken) & playable(taken):
            self.value = 1
        elif taken == BOARD:
            self.value = 0
        self.moves = [] if self.value is not None else single_bits(safe_moves(own, taken))
        if self.value is None and not self.moves:
            self.value = -1
        self.priors: list[float] = [1.0] if len(self.moves) == 1 else []  # a forced move needs no network
        self.visits = [0] * len(self.moves)
        self.sums = [0.0] * len(self.moves)
        self.nodes: list[PortableNode | None] = [None] * len(self.moves)

    def choose(self) -> int:
        """Return the place of the move to search."""
        total = sum(self.visits)
        factor = C_PUCT + math.log((1 + total + C_PUCT_BASE) / C_PUCT_BASE)
        factor *= math.sqrt(max(1, total))
        unseen, best, found = self.first - FPU_REDUCTION, -math.inf, 0
        for place, visits in enumerate(self.visits):
            child = self.nodes[place]
            if child is not None and child.value == 1:
                continue
            value = self.sums[place] / visits if visits else unseen
            score = value + factor * self.priors[place] / (1 + visits)
            if score > best:
                best, found = score, place
        return found

    def child(self, place: int) -> PortableNode:
        """Return the position after a move."""
        found = self.nodes[place]
        if found is None:
            found = self.nodes[place] = PortableNode(self.own ^ self.taken, self.taken | self.moves[place])
        return found

    def prove(self) -> None:
        """Take over what the children prove."""
        values = [None if child is None or child.value is None else -child.value for child in self.nodes]
        if 1 in values:
            self.value = 1
        elif None not in values:
            self.value = max(value for value in values if value is not None)

    def best(self) -> int:
        """Return the place of the best move: a proved win, else the most visits without a proved loss."""

        def merit(place: int) -> tuple[int, int, float, int]:
            child = self.nodes[place]
            proved = 0 if child is None or child.value is None else -child.value
            prior = self.priors[place] if self.priors else 0.0
            return proved, self.visits[place], prior, -abs(column_of(self.moves[place]) - COLUMNS // 2)

        return max(range(len(self.moves)), key=merit)


Path = list[tuple[PortableNode, int]]  # nodes and the places of the moves that were searched


class Leaf(NamedTuple):
    """A node that waits for its evaluation, and the way to it."""

    node: PortableNode
    path: Path


class PortableSearch:
    """One search of a position; evaluations are remembered for the next ones."""

    def __init__(
        self, network: PortableNetwork, known: dict[tuple[int, int], tuple[list[float], float]]
    ) -> None:
        self.network, self.known = network, known

    def run(self, root: PortableNode, seconds: float) -> int:
        """Search until the time is over, the root is proved or no other move can win; return simulations."""
        began, done, longest = time.perf_counter(), 0, 0.0
        while root.value is None and done < MOST_SIMULATIONS:
            before = time.perf_counter()
            left = seconds - (before - began)
            if left < 2 * longest:
                break
            ranked = sorted(root.visits)
            if done and ranked[-1] - ranked[-2] > done * left / (before - began):
                break
            done += self.grow(root)
            longest = max(longest, time.perf_counter() - before)
        return done

    def grow(self, root: PortableNode) -> int:
        """Do the simulations of one batch; return how many."""
        waiting, done = list[Leaf](), 0
        while len(waiting) < BATCH and done < 4 * BATCH and root.value is None:
            leaf = descend(root)
            if leaf.node.value is None and any(leaf.node is other.node for other in waiting):
                back_up(leaf.path, None)
                break
            done += 1
            if leaf.node.value is not None:
                back_up(leaf.path, leaf.node.value)
            elif (leaf.node.own, leaf.node.taken) in self.known:
                self.receive(leaf)
            else:
                waiting.append(leaf)
        if waiting:
            self.evaluate([leaf.node for leaf in waiting])
            for leaf in waiting:
                self.receive(leaf)
        return done

    def evaluate(self, nodes: Sequence[PortableNode]) -> None:
        """Remember the evaluations of positions."""
        if len(self.known) > REMEMBERED:
            self.known.clear()
        logits, values = self.network.infer(planes_of(nodes))
        for node, row, value in zip(nodes, logits, values, strict=True):
            columns = [column_of(move) for move in node.moves]
            self.known[node.own, node.taken] = softmax(row[columns]).tolist(), float(value)

    def receive(self, leaf: Leaf) -> None:
        """Give a leaf its evaluation."""
        leaf.node.priors, leaf.node.first = self.known[leaf.node.own, leaf.node.taken]
        back_up(leaf.path, leaf.node.first)


def descend(root: PortableNode) -> Leaf:
    """Return the next leaf; until it is backed up, each move on the way counts as lost."""
    node, path = root, Path()
    while node.value is None and node.priors:
        place = node.choose()
        path.append((node, place))
        node.visits[place] += 1
        node.sums[place] -= 1
        node = node.child(place)
    return Leaf(node, path)


def back_up(path: Path, value: float | None) -> None:
    """Add a leaf's value, for its player to move, to all moves before it; None: forget the simulation."""
    for node, place in reversed(path):
        if value is None:
            node.visits[place] -= 1
            node.sums[place] += 1
            continue
        value = -value
        node.sums[place] += 1 + value
        if node.child(place).value is not None:
            node.prove()
        value = value if node.value is None else node.value


def planes_of(nodes: Sequence[PortableNode]) -> np.ndarray:
    """Return planes [B, 2, rows, columns]: the stones of the player to move, and the opponent's."""
    stones = np.array([[node.own, node.own ^ node.taken] for node in nodes], np.uint64)
    bits = np.arange(COLUMNS) * HEIGHT + np.arange(ROWS)[::-1, None]
    return (stones[:, :, None, None] >> bits.astype(np.uint64) & np.uint64(1)).astype(np.float32)


def position_of(board: Sequence[int], mark: int) -> tuple[int, int]:
    """Return the position of a board as Kaggle has it: row after row from the top, 0 empty, else the mark."""
    own = taken = 0
    for cell, stone in enumerate(board):
        row, column = divmod(cell, COLUMNS)
        bit = 1 << column * HEIGHT + ROWS - 1 - row
        taken |= bit if stone else 0
        own |= bit if stone == mark else 0
    return own, taken


def move_at_once(own: int, taken: int) -> int | None:
    """Return the move of a position that needs no search: a win, the only safe move, or any when all lose."""
    open_cells = playable(taken)
    wins = completing(own, taken) & open_cells
    safe = safe_moves(own, taken)
    if not wins and safe & (safe - 1):
        return None
    blocks = completing(own ^ taken, taken) & open_cells
    middle = COLUMNS // 2 * HEIGHT
    cells = single_bits(wins or safe or blocks or open_cells)
    return min(cells, key=lambda cell: abs(cell.bit_length() - 1 - middle))


def checked_time(observation: Any, configuration: Any) -> float:
    """Return the seconds for a search; ValueError: this is another game."""
    size = tuple(configuration[key] for key in ("rows", "columns", "inarow"))
    if size != (ROWS, COLUMNS, CONNECT):
        raise ValueError(f"this champion plays ConnectX with 6 rows, 7 columns and 4 in a row, not {size}")
    seconds, reserve = float(configuration["actTimeout"]), observation.get("remainingOverageTime", 0)
    return seconds * (TIME_SHARE if reserve >= 1 else HURRIED_SHARE)


NETWORK: list[PortableNetwork] = []  # one after the first move
KNOWN: dict[tuple[int, int], tuple[list[float], float]] = {}


def loaded() -> PortableNetwork:
    """Return the network of this file."""
    if not NETWORK:
        about = json.loads(ABOUT)
        NETWORK.append(PortableNetwork(unpack(WEIGHTS, about["width"]), about["packing"], about["network"]))
    return NETWORK[0]


def agent(observation: Any, configuration: Any) -> int:
    """Return the column to play; Kaggle calls this."""
    began, seconds = time.perf_counter(), checked_time(observation, configuration)
    own, taken = position_of(observation["board"], observation["mark"])
    move = move_at_once(own, taken)
    if move is None:
        root, search = PortableNode(own, taken), PortableSearch(loaded(), KNOWN)
        search.run(root, seconds - (time.perf_counter() - began))
        move = root.moves[root.best()]
    return column_of(move)
