"""Runs for the page: the list, a run's cycles and curves, what the doctor says, its games, TensorBoard."""

from __future__ import annotations

import contextlib
import csv
import socket
import subprocess
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request
from starlette.routing import Route

from azero.config.schema import UserError
from azero.games.titles import game_title
from azero.match.elo_table import COLUMNS as COLUMNS_OF_RATINGS
from azero.replay.examples import GameRecord
from azero.replay.shards import load_games
from azero.report.console import format_seconds, format_size
from azero.report.listing import age_text, facts_of, runs_by_use, size_of_run
from azero.report.metrics_csv import is_row, read_lines, read_stats
from azero.run.folder import LOCK, last_holder, last_used, paths_of
from azero.run.run import Run
from azero.stages.diagnosis import case_of, examine
from azero.studio.processes import last_lines, start
from azero.studio.replay import replay_json
from azero.studio.safety import Refusal, api, can_be_sent, read_json, whole
from azero.studio.state import Studio

MOST_GAMES = 200  # in one answer
TENSORBOARD_SECONDS = 60.0  # until it answers
SHARDS_KEPT = 4


class Curve(NamedTuple):
    """A line of a chart: a tag of `metrics.csv`, and what it is called.

    Attributes:
        chart: the chart's title.
        unit: "%" for shares, "" for other numbers.
        name: of the line.
        tag: as the table has it.
        mistakes: whether the share that is missing to 1 is shown.
        needs: a tag without which it says nothing.
    """

    chart: str
    unit: str
    name: str
    tag: str
    mistakes: bool = False
    needs: str = ""


CURVES = (
    Curve("mistakes", "%", "with search", "oracle/keeps_value_search", True),
    Curve("mistakes", "%", "without search", "oracle/keeps_value_policy", True),
    Curve("mistakes", "%", "with search", "correctness/keeps_value_search", True),
    Curve("mistakes", "%", "without search", "correctness/keeps_value_policy", True),
    Curve("openings right", "%", "first moves", "oracle/openings_right"),
    Curve("Elo", "", "against fixed opponents", "rating/elo"),
    Curve("Elo over promotions", "", "candidate", "evaluate/elo_chain", needs="evaluate/score"),
    Curve("loss", "", "all", "loss/total"),
    Curve("loss", "", "policy", "loss/policy"),
    Curve("loss", "", "value", "loss/value"),
    Curve("loss", "", "last position", "loss/occupation"),
    Curve("simulations a second", "", "self-play", "selfplay/simulations_per_second"),
)
COLUMNS = (  # of the table of cycles: title, tag, how it is shown
    ("games", "selfplay/games", "{:,.0f}"),
    ("plies", "selfplay/game_length", "{:.1f}"),
    ("first wins", "selfplay/first_wins", "{:.0%}"),
    ("draws", "selfplay/draws", "{:.0%}"),
    ("loss", "loss/total", "{:.3f}"),
    ("score", "evaluate/score", "{:.0%}"),
    ("Elo", "rating/elo", "{:.0f}"),
)
SECONDS = ("time/selfplay", "time/train", "time/evaluate", "time/correctness")
Rows = Mapping[int, Mapping[str, float]]  # the stats of cycles by tag


def curves_of(rows: Rows) -> list[dict[str, Any]]:
    """Return the charts that a run has values for."""
    charts: dict[str, dict[str, Any]] = {}
    for curve in CURVES:
        if curve.needs and not any(curve.needs in stats for stats in rows.values()):
            continue
        shown = {cycle: stats[curve.tag] for cycle, stats in rows.items() if curve.tag in stats}
        points = [[cycle, 1 - value if curve.mistakes else value] for cycle, value in shown.items()]
        chart = charts.get(curve.chart, {"title": curve.chart, "unit": curve.unit, "series": []})
        if points and curve.name not in (line["name"] for line in chart["series"]):
            chart["series"].append({"name": curve.name, "tag": curve.tag, "points": points})
            charts[curve.chart] = chart
    return list(charts.values())


def axes_of(rows: Rows) -> dict[str, dict[int, float]]:
    """Return what curves are drawn over, by cycle: cycles, minutes and simulations of self-play so far.

    An axis ends at the first cycle that does not say how much it took.
    """
    axes: dict[str, dict[int, float]] = {"cycles": {cycle: cycle for cycle in rows}}
    for name, taken_by in (("minutes", minutes_of), ("simulations", simulations_of)):
        axes[name], total = {}, 0.0
        for cycle, stats in rows.items():
            if (taken := taken_by(stats)) is None:
                break
            axes[name][cycle] = total = total + taken
    return axes


def minutes_of(stats: Mapping[str, float]) -> float | None:
    """Return how long a cycle took; None: it does not say."""
    known = [stats[tag] for tag in SECONDS if tag in stats]
    return sum(known) / 60 if known else None


def simulations_of(stats: Mapping[str, float]) -> float | None:
    """Return the simulations of a cycle's self-play; None: it does not say."""
    speed, games = stats.get("selfplay/simulations_per_second"), stats.get("selfplay/games_per_second")
    return None if speed is None or not games else speed * stats.get("selfplay/games", 0.0) / games


def table_of(rows: Rows) -> dict[str, Any]:
    """Return a run's cycles as a table of texts, without columns that are empty."""
    head = [
        (title, tag, form) for title, tag, form in COLUMNS if any(tag in stats for stats in rows.values())
    ]
    lines = [
        [
            str(cycle),
            *(form.format(stats[tag]).replace("%", " %") if tag in stats else "" for _, tag, form in head),
            format_seconds(sum(stats.get(tag, 0.0) for tag in SECONDS)),
        ]
        for cycle, stats in rows.items()
    ]
    return {"head": ["cycle", *(title for title, _, _ in head), "time"], "rows": lines}


def row_of(studio: Studio, name: str, used: float) -> dict[str, Any]:
    """Return a run's line in the list; used: when it was last used."""
    size_and_age = {
        "size": format_size(size_of_run(paths_of(studio.config, name))),
        "age": age_text(time.time() - used),
    }
    try:
        with studio.reading(f"Run {name}"):
            run = Run.read(studio.config, name)
            row = {**describe(studio, run), **facts_of(run), **size_and_age}
            if not can_be_sent(row):
                raise ValueError("a value is no number")
            return row
    except UserError as damage:
        row = {"name": name, "state": "damaged", "sentence": str(damage), "title": "", "strength": ""}
        return {**row, "cycle": "", **size_and_age}


def describe(studio: Studio, run: Run) -> dict[str, Any]:
    """Return what the list says of a run whose state is whole."""
    name = run.name
    charts = curves_of(read_stats(run.paths.metrics_csv, run.state.cycle))
    title, points = (charts[0]["title"], charts[0]["series"][0]["points"]) if charts else ("", [])
    return {
        "name": name,
        "state": studio.jobs.state(name)[0],
        "play": run.state.config.get("game.name", ""),
        "options": run.state.config.get("game.options", {}),
        "title": game_title(str(run.state.config.get("game.name", "")), run.state.config.get("game.options")),
        "sentence": damage_of(run),
        "spark": {"title": title, "values": [value for _, value in points]},
    }


def damage_of(run: Run) -> str:
    """Return a sentence for damaged files of a run that its state does not name; "" if there are none."""
    paths, found = run.paths, list[str]()
    for path, is_whole in ((paths.metrics_csv, is_row), (paths.ratings_csv, is_rating)):
        try:
            if not all(map(is_whole, read_lines(path))):
                found.append(path.name)
        except csv.Error:
            found.append(path.name)
        except OSError as failure:
            return f"{path.name} cannot be read: {failure.strerror}."
    if (lock := paths.folder / f"{LOCK}.json").exists() and last_holder(paths.folder) is None:
        found.append(lock.name)
    if not found:
        return ""
    return (
        f"{' and '.join(found)} {'is' if len(found) == 1 else 'are'} damaged; the next start writes new ones."
    )


def is_rating(row: Mapping[Any, Any]) -> bool:
    """Return whether a line of `ratings.csv` has the columns that a run writes."""
    return tuple(row) == COLUMNS_OF_RATINGS and None not in row.values()


def list_runs(studio: Studio) -> dict[str, Any]:
    """Return all runs, the one used last first."""
    return {"runs": [row_of(studio, name, used) for name, used in runs_by_use(studio.config)]}


def view_run(studio: Studio, name: str) -> dict[str, Any]:
    """Return a run's cycles and curves."""
    studio.jobs.paths(name)
    run = Run.read(studio.config, name)
    rows, state = read_stats(run.paths.metrics_csv, run.state.cycle), run.state
    _, game = studio.jobs.game_of(run)
    return {
        **row_of(studio, name, last_used(studio.config, name)),
        "sentence": " ".join(filter(None, (studio.jobs.state(name)[1], damage_of(run)))),
        "play": game,
        "cycles": state.config.get("cycles"),
        "minutes": state.config.get("minutes"),
        "elapsed": format_seconds(state.elapsed_seconds),
        "champions": [entry.cycle for entry in state.champions],
        "table": table_of(rows),
        "curves": curves_of(rows),
        "axes": axes_of(rows),
        "games": sorted({shard.cycle for shard in state.shards}, reverse=True),
    }


def doctor(studio: Studio, name: str) -> dict[str, Any]:
    """Return what is in the way of a run."""
    studio.jobs.paths(name)
    run = Run.read(studio.config, name)
    found = examine(case_of(run, studio.jobs.game_of(run)[0]))
    return {"findings": [{"about": about, "sentence": sentence} for about, sentence in found.items()]}


class Shards:
    """Games of self-play as they are on the disk; the last few files stay in memory."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, list[GameRecord]] = OrderedDict()
        self.lock = threading.Lock()

    def games(self, run: Run, cycle: int) -> list[GameRecord]:
        """Return the games of a cycle by number.

        Raises:
            Refusal: the run keeps none of that cycle.
            UserError: a file is damaged.
        """
        shards = [shard for shard in run.state.shards if shard.cycle == cycle]
        if not shards:
            raise Refusal(404, f"Run {run.name} keeps no games of cycle {cycle}.")
        with self.lock:
            for shard in shards:
                if shard.sha256 not in self.kept:
                    self.kept[shard.sha256] = load_games(run.read_file(shard), shard.file).games()
                self.kept.move_to_end(shard.sha256)
            games = [game for shard in shards for game in self.kept[shard.sha256]]
            while len(self.kept) > SHARDS_KEPT:
                self.kept.popitem(last=False)
            return games

    def listed(self, studio: Studio, name: str, cycle: int, first: int = 0) -> dict[str, Any]:
        """Return some games of a cycle, from the place `first` on."""
        studio.jobs.paths(name)
        games = self.games(Run.read(studio.config, name), cycle)
        shown = [
            {"number": game.number, "plies": len(game.actions), "outcome": game.first_outcome}
            for game in games[first : first + MOST_GAMES]
        ]
        return {"cycle": cycle, "count": len(games), "first": first, "most": MOST_GAMES, "games": shown}

    def replayed(self, studio: Studio, name: str, cycle: int, number: int) -> dict[str, Any]:
        """Return a game with its positions and the values that searches found, for the first player."""
        studio.jobs.paths(name)
        run = Run.read(studio.config, name)
        game, title = studio.jobs.game_of(run)
        if game is None:
            raise UserError(
                f"The rules of {title} are a file; start the studio with game=FILE to replay them."
            )
        record = next((each for each in self.games(run, cycle) if each.number == number), None)
        if record is None:
            raise Refusal(404, f"Cycle {cycle} of run {name} has no game {number}.")
        signs = np.where(record.to_play == 0, 1.0, -1.0)
        values = [
            float(value) if ply >= record.opening_plies else None
            for ply, value in enumerate(signs * record.root_value)
        ]
        return {
            **replay_json(game, title, record.actions.tolist(), values),
            "outcome": record.first_outcome,
            "opening": record.opening_plies,
        }


class TensorBoard:
    """TensorBoard as a child process that ends with the server."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.url = studio, ""
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def open(self) -> dict[str, str]:
        """Start it if it does not run yet; return its address.

        Raises:
            UserError: it does not start.
        """
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                log = self.studio.folder / ".tensorboard.log"  # no run has a name like this
                words = [
                    "--logdir",
                    self.studio.config.checkpoints,
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                ]
                self.process, self.url = start(["tensorboard.main", *words], log), f"http://127.0.0.1:{port}"
                self.wait(port, log)
            return {"url": self.url}

    def wait(self, port: int, log: Path) -> None:
        """Wait until it answers."""
        assert self.process is not None
        until = time.monotonic() + TENSORBOARD_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                return
            time.sleep(0.2)
        said = [line for line in last_lines(log) if line.strip()]
        self.close()
        raise UserError(f"TensorBoard does not start: {said[-1] if said else 'it says nothing'}")

    def close(self) -> None:
        """End it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()


def routes(studio: Studio) -> list[Route]:
    """Return the routes of runs and of training."""
    in_thread, shards, board, jobs = studio.run_in_thread, Shards(), TensorBoard(studio), studio.jobs
    studio.closing += [jobs.close, board.close]

    def of_run(act: Callable[[Studio, str], dict[str, Any]]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> dict[str, Any]:
            return await read_run(act, studio, request.path_params["name"])

        return answer

    async def read_run(act: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            with studio.reading(f"Run {arguments[1]}"):
                return act(*arguments)

        return await in_thread(read)

    def with_body(act: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> dict[str, Any]:
            return await in_thread(act, await read_json(request))

        return answer

    async def change(request: Request) -> dict[str, Any]:
        name, asked = request.path_params["name"], await read_json(request)
        paths_of(jobs.config, name)  # 400 for what can be no name
        match request.path_params["verb"]:
            case "stop":
                return await in_thread(jobs.stop, name)
            case "go_on":
                return await in_thread(jobs.go_on, name, asked)
            case "delete":
                return await in_thread(jobs.delete, name, asked.get("confirm") is True)
            case other:
                raise Refusal(404, f"A run cannot {other[:40]!r}.")

    async def runs(request: Request) -> dict[str, Any]:
        return await in_thread(list_runs, studio)

    async def games(request: Request) -> dict[str, Any]:
        asked = request.query_params
        cycle, first = whole(asked.get("cycle", ""), "cycle"), whole(asked.get("first", "0"), "first")
        return await read_run(shards.listed, studio, request.path_params["name"], cycle, first)

    async def game(request: Request) -> dict[str, Any]:
        path = request.path_params
        cycle, number = whole(path["cycle"], "cycle"), whole(path["number"], "The game's number")
        return await read_run(shards.replayed, studio, path["name"], cycle, number)

    async def tensorboard(request: Request) -> dict[str, str]:
        return await in_thread(board.open)

    return [
        api("GET", "/runs", runs),
        api("GET", "/runs/{name}", of_run(view_run)),
        api("GET", "/runs/{name}/doctor", of_run(doctor)),
        api("GET", "/runs/{name}/games", games),
        api("GET", "/runs/{name}/games/{cycle}/{number}", game),
        api("POST", "/tensorboard", tensorboard),
        api("POST", "/train", with_body(jobs.train)),
        api("POST", "/estimate", with_body(jobs.estimate)),
        api("GET", "/runs/{name}/live", of_run(lambda studio, name: studio.jobs.live(name))),
        api("POST", "/runs/{name}/{verb}", change),
    ]
