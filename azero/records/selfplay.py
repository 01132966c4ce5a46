"""Games of a run's self-play as records, read from its shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.records.record import Record, RecordNode
from azero.replay.examples import GameRecord
from azero.replay.shards import load_games
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import ShardEntry

SMALLEST_SHARE = 1e-6  # of a move that is kept


def shards_of(run: Run, cycles: range | None) -> list[ShardEntry]:
    """Return the shards of some cycles, None for all that the run keeps.

    Raises:
        UserError: the run keeps no game of these cycles.
    """
    shards = [shard for shard in run.state.shards if cycles is None or shard.cycle in cycles]
    if shards:
        return shards
    if not run.state.shards:
        raise UserError(f"Run {run.name} has no finished self-play yet.")
    kept = [shard.cycle for shard in run.state.shards]
    assert cycles is not None
    asked = f"{cycles[0]}-{cycles[-1]}" if cycles[0] < cycles[-1] else str(cycles[0])
    raise UserError(
        f"cycles={asked}: run {run.name} keeps the games of cycles {min(kept)} to {max(kept)}; games that "
        "left the replay window were removed."
    )


def read_selfplay(
    run: Run, game: Game, shards: list[ShardEntry], report: Callable[[str], None]
) -> Iterator[Record]:
    """Yield the games of some shards. Only one shard is in memory at a time.

    Args:
        run: opened for reading. It may go on training, which removes old shards.
        game: the run's.
        shards: of the run.
        report: receives a sentence for each shard that the run has removed meanwhile.

    Raises:
        DamagedFile: a shard that the run still keeps is damaged.
    """
    for shard in shards:
        try:
            data = run.read_file(shard)
        except DamagedFile:
            if shard in Run.read(run.config, run.name).state.shards:
                raise
            report(f"The games of cycle {shard.cycle} are left out: the run has just removed them.")
            continue
        for played in load_games(data, str(run.paths.of(shard.file)), game).games():
            yield selfplay_record(game, played, run.name, shard.cycle)


def selfplay_record(game: Game, played: GameRecord, run: str, cycle: int) -> Record:
    """Return a game of self-play as a record, with the values and policies of its searches.

    Plies of an opening have neither.
    """
    nodes = [
        RecordNode(),
        *(RecordNode(place, action) for place, action in enumerate(played.actions.tolist())),
    ]
    first = played.to_play == 0
    for ply, (actions, weights) in enumerate(played.targets()):
        if len(actions):
            value = float(played.root_value[ply])
            nodes[ply].value = plain(max(-1.0, value if first[ply] else -value))
            best_first = np.argsort(-weights, kind="stable")
            kept = best_first[weights[best_first] >= SMALLEST_SHARE]
            policy = zip(actions[kept].tolist(), map(plain, weights[kept].tolist()), strict=True)
            nodes[ply].policy = dict(policy)
    return Record(
        game,
        players=(run, run),
        outcome=played.first_outcome + 0.0,
        source=f"azero self-play, run {run}, game {played.number}",
        cycle=cycle,
        nodes=nodes,
    )


def plain(number: float) -> float:
    """Return a number with six digits, as all formats write it."""
    return min(1.0, float(f"{number:.6g}")) + 0.0  # makes -0.0 plain
