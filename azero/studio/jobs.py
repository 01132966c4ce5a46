"""Training from the page: start `azero.loop` as a process of its own, watch it, stop it, delete its run.

A run's lock says which process trains it, so a run is found again after the server has started anew, and one
that was started in a terminal is found too.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azero.cli.hydra_program import clean_name, compose
from azero.cli.overrides import conf_files, hydra_text, hydra_value, recipe_of
from azero.config.schema import GameConfig, UserError, option_words
from azero.games.game import Game
from azero.games.own_files import check_allowed
from azero.games.playing import GameInProgress
from azero.page.board import board_json
from azero.report.console import TITLES, format_seconds, format_size, format_stat
from azero.report.listing import remove_run
from azero.report.live import BOARDS
from azero.run.disk import free_name
from azero.run.folder import Holder, Paths, names_of_runs, paths_of, present_holder
from azero.run.run import Run, changes_between, leaves_of
from azero.stages.diagnosis import newest_games
from azero.studio.mistakes import FieldMistake
from azero.studio.offered import recipe_for
from azero.studio.processes import NAME, ask_to_stop, end, ending, last_lines, start
from azero.studio.replay import Host, game_of_run, position_json
from azero.studio.safety import Refusal, can_be_sent, is_number

MOST_TRAINING = 4  # runs at once
MOST_MINUTES = 100_000.0
MANY_CYCLES = 1000  # where minutes are the bound
WATCH_SECONDS = 10.0  # after the last question, before a run stops writing its live file
ESTIMATE_SECONDS = 300.0
BUSY_SECONDS = 2.0  # that an answer of `Jobs.busy` stays valid
LOOP = "azero.loop"
OWN = ("run", "checkpoints", "data", "device", "minutes", "cycles")  # settings that `go_on` gives itself


class Jobs:
    """Runs that train or have trained, and the processes that this server has started for them."""

    def __init__(self, studio: Host) -> None:
        self.studio, self.config = studio, studio.config
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.asked_to_stop: dict[str, int] = {}  # the process by run
        self.starting = threading.Lock()
        self.estimating = threading.Lock()
        self.estimate_process: subprocess.Popen[bytes] | None = None
        self.watched: dict[Path, float] = {}  # live files, and when a page asked last
        self.watching: threading.Timer | None = None
        self.busy_text, self.busy_until = "", 0.0
        self.games: dict[str, tuple[Game | None, str]] = {}
        self.saved: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {}
        self.in_flight: dict[str, dict[int, GameInProgress]] = {}

    def log(self, name: str) -> Path:
        """Return the log of a run's processes."""
        return self.studio.folder / f"{name}.log"

    def paths(self, name: str) -> Paths:
        """Return the paths of a run; Refusal: there is none."""
        try:
            paths = paths_of(self.config, name)
        except UserError as mistake:
            raise Refusal(404, str(mistake)) from mistake
        if not paths.state.is_file() and name not in self.processes and not self.is_training(name):
            raise Refusal(404, f"There is no run {name[:80]}.")
        return paths

    def alive(self, name: str) -> bool:
        """Return whether a process that this server has started for a run goes on."""
        process = self.processes.get(name)
        return process is not None and process.poll() is None

    def trainer(self, name: str) -> Holder | None:
        """Return the process that holds a run now."""
        return present_holder(paths_of(self.config, name).folder)

    def state(self, name: str) -> tuple[str, str]:
        """Return what a run is doing and a sentence, which may be "".

        It is starting, training, stopping, busy (another program works on it), stopped, finished or failed.
        """
        holder, process = self.trainer(name), self.processes.get(name)
        if holder is not None and holder.program != LOOP:
            return "busy", f"{holder} works on it."
        ended = process is not None and process.poll() is not None
        if holder is not None and process is not None and ended and process.pid != holder.pid:
            self.processes.pop(name, None)  # another process goes on with the run: this one's end is past
        if who := holder or (None if ended else process):
            pid = who.pid
            if self.asked_to_stop.get(name) == pid:
                return "stopping", "It saves what is finished."
            return "training" if holder else "starting", ""
        if process is not None:
            return ending(process.wait(), self.log(name))
        state = Run.read(self.config, name).state
        if state.cycle >= state.config.get("cycles", 0):
            return "finished", ""
        return (
            "stopped",
            f"It stands before {TITLES.get(state.stage, state.stage)} of cycle {state.cycle + 1}.",
        )

    def is_training(self, name: str) -> bool:
        """Return whether a process trains a run or is about to."""
        return self.alive(name) or self.trainer(name) is not None

    def busy(self) -> str:
        """Return which runs train, for a page whose searches share the cores with them; "" for none."""
        if time.monotonic() >= self.busy_until:
            names = [name for name in names_of_runs(self.config) if self.is_training(name)]
            self.busy_text = f"{', '.join(names)} {'trains' if len(names) == 1 else 'train'}" if names else ""
            self.busy_until = time.monotonic() + BUSY_SECONDS
        return self.busy_text

    def words(self, asked: dict[str, Any]) -> tuple[list[str], str]:
        """Return the arguments for the recipe or the game that a page asks for, and a name for the run.

        Raises:
            UserError: an unknown recipe or game, or a number that is not allowed.
        """
        recipe, game, minutes = asked.get("recipe"), asked.get("game"), minutes_in(asked)
        if (recipe is None) == (game is None):
            raise UserError("Name a recipe or a game.")
        if recipe is not None:
            if not isinstance(recipe, str) or recipe not in conf_files("experiment"):
                known = ", ".join(sorted(conf_files("experiment")))
                raise UserError(f"There is no recipe {str(recipe)[:60]!r}; choose one of: {known}.")
            words, title = [recipe], recipe
        else:
            self.studio.make_game(game, asked.get("options"))  # refuses what it does not know
            place = self.studio.place_of(game)
            options = asked.get("options") or {}
            if (recipe := recipe_for(place, options)) != place:
                place, options = recipe, {}
            named = [GameConfig(name=place).stem, *(f"{key}{value}" for key, value in options.items())]
            title = clean_name("-".join(named))[:60]
            if place in conf_files("game"):
                words, recipe = [f"game={place}"], recipe_of(place)
            else:
                words, recipe = ["plain", f"game.name={hydra_text(place)}"], "plain"
            words += option_words(options, write=hydra_value)
        if minutes is not None:
            words.append(f"minutes={minutes:.8g}")
            if recipe == "plain":
                words.append(f"cycles={MANY_CYCLES}")
        return [*words, *self.places()], title

    def places(self) -> list[str]:
        """Return the arguments that say where runs lie and what computes."""
        config = self.config
        return [f"{key}={hydra_text(getattr(config, key))}" for key in ("checkpoints", "data", "device")]

    def train(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Begin a run; return its name.

        Raises:
            UserError: the name, or what is asked for, is not allowed.
            Refusal: a run has this name, or too many train.
        """
        words, title = self.words(asked)
        name = asked.get("name")
        if not name:  # a second run of the same seed would be the same run
            name = self.free_name(title)
            words += [f"seed={number}"] if (number := name.removeprefix(title).removeprefix("-")) else []
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise FieldMistake(
                "name",
                "A name has at most 64 letters, digits and the signs _ - . , = + and begins with "
                "a letter or a digit.",
            )
        with self.starting:
            if self.is_training(name):
                raise Refusal(409, f"Run {name} is training already.", "name")
            if paths_of(self.config, name).folder.exists():
                taken = f"There is a run {name} already; go on with it, or choose another name."
                raise Refusal(409, taken, "name")
            self.begin(name, words)
        return {"run": name}

    def free_name(self, title: str) -> str:
        """Return a name that no run has: the title, with a number if it is taken."""
        return free_name(lambda name: paths_of(self.config, name).folder.exists() or self.alive(name), title)

    def begin(self, name: str, words: list[str]) -> None:
        """Start the process of a run; Refusal: too many train."""
        others = [each for each in {*names_of_runs(self.config), *self.processes} if self.is_training(each)]
        if len(others) >= MOST_TRAINING:
            raise Refusal(
                429, f"{len(others)} runs train already ({', '.join(sorted(others))}); stop one first."
            )
        self.processes[name] = start([LOOP, *words, f"run={hydra_text(name)}"], self.log(name))
        self.busy_until = 0.0

    def stop(self, name: str) -> dict[str, Any]:
        """Ask a run's process to save and end; a second question changes nothing, as a second Ctrl-C would.

        Raises:
            Refusal: nothing trains this run.
        """
        self.paths(name)
        holder = self.trainer(name)
        if not self.alive(name) and (holder is None or holder.program != LOOP):
            raise Refusal(409, f"Run {name} is not training.")
        if holder is not None and holder.host != socket.gethostname():
            raise Refusal(409, f"Run {name} trains on {holder.host}; stop it there.")
        pid = holder.pid if holder else self.processes[name].pid
        if self.asked_to_stop.get(name) != pid:
            self.asked_to_stop[name] = pid
            ask_to_stop(pid)
        return {"state": "stopping"}

    def go_on(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Go on with a run, with the settings that it has.

        minutes: how many more. Without them the run goes on to its bound, or for as long again.
        """
        self.paths(name)
        minutes = minutes_in(asked)
        with self.starting:
            if self.is_training(name):
                raise Refusal(409, f"Run {name} is training already.")
            state = Run.read(self.config, name).state
            recipe, had = state.recipe or "plain", state.config
            for key, file in had.items():
                if key != "game.name" and str(file).endswith(".py"):
                    check_allowed(file)
            cycles, bound, spent = had.get("cycles", 1), had.get("minutes", 0), state.elapsed_seconds / 60
            if minutes is not None:
                bound = spent + minutes
                cycles = cycles if state.cycle < cycles else state.cycle + MANY_CYCLES
            else:
                bound = bound if spent < bound or not bound else 2 * bound
                cycles = cycles if state.cycle < cycles else 2 * cycles
            words = [recipe, *words_of(recipe, had), f"cycles={cycles}", f"minutes={bound:.8g}"]
            self.begin(name, [*words, *self.places()])
        return {"run": name}

    def delete(self, name: str, confirmed: bool) -> dict[str, Any]:
        """Delete a run; without confirmation return what would go."""
        paths = self.paths(name)
        if self.is_training(name):
            raise Refusal(409, f"Run {name} is training; stop it first.")
        going: list[dict[str, str]] = []

        def confirm(folders: Any) -> bool:
            going.extend({"path": str(path), "size": format_size(size)} for path, size in folders)
            return confirmed

        if remove_run(paths, "azero.studio", confirm):
            self.log(name).unlink(missing_ok=True)
            self.processes.pop(name, None)
            self.in_flight.pop(name, None)
        return {"deleted": confirmed, "folders": going}

    def estimate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the forecast of `azero.estimate` as text.

        Raises:
            Refusal: another forecast is being made.
            UserError: it failed, or took too long.
        """
        words, _ = self.words(asked)
        if not self.estimating.acquire(blocking=False):
            raise Refusal(429, "Another forecast is being made; wait for it.")
        log = self.studio.folder / ".estimate.log"  # no run has a name like this
        try:
            log.unlink(missing_ok=True)
            process = self.estimate_process = start(["azero.estimate", *words], log)
            try:
                status = process.wait(ESTIMATE_SECONDS)
            except subprocess.TimeoutExpired as late:
                end(process)
                took = f"The forecast took more than {format_seconds(ESTIMATE_SECONDS)}"
                raise UserError(f"{took}; azero estimate in a terminal has no such limit.") from late
            if status:
                raise UserError(ending(status, log)[1])
            return {"lines": forecast_of(last_lines(log))}
        finally:
            self.estimate_process = None
            self.estimating.release()

    # --- what a run is doing ------------------------------------------------------------------------------

    def live(self, name: str) -> dict[str, Any]:
        """Return what a run is doing, with the boards of games in flight or else of its newest games."""
        paths = self.paths(name)
        state, sentence = self.state(name)
        training = state in ("training", "stopping")
        shown: dict[str, Any] = {"run": name, "state": state, "sentence": sentence}
        if not paths.state.is_file():
            return shown
        now = self.watch(paths.live) if training else {}
        run = Run.read(self.config, name)
        with contextlib.suppress(Exception):  # what a damaged live file holds can raise nearly anything
            if can_be_sent(doing := self.doing(run, now)):
                return {**shown, **doing}
        return {**shown, **self.doing(run, {})}

    def doing(self, run: Run, now: dict[str, Any]) -> dict[str, Any]:
        """Return a run's stage, with its boards, by what its live file holds."""
        game, name_of_game = self.game_of(run)
        in_flight = now.get("boards", [])
        boards = in_flight or self.newest(run)
        stats = [format_stat(stat, value) for stat, value in now.get("stats", {}).items()]
        left, stage = now.get("seconds_left"), now.get("stage", "")
        champion = run.state.champion
        return {
            **now,
            "stage": TITLES.get(stage, stage),
            "stats": stats,
            "left": "" if left is None else f"{format_seconds(left)} left",
            "cycles_done": run.state.cycle,
            "champion": champion.cycle if champion else None,
            "game": name_of_game,
            "options": game.options if game else {},
            "board": board_json(game) if game else None,
            "in_flight": bool(in_flight),
            "boards": self.board_positions(run.name, game, boards) if game else [],
        }

    def game_of(self, run: Run) -> tuple[Game | None, str]:
        """Return what `game_of_run` returns, which costs more than everything else about a run."""
        key = json.dumps([run.state.config.get(f"game.{part}") for part in ("name", "options")])
        if key not in self.games:
            self.games[key] = game_of_run(self.studio, run)
        return self.games[key]

    def watch(self, live: Path) -> dict[str, Any]:
        """Return what a run has written last, and let it write for a while."""
        with contextlib.suppress(OSError):
            if not live.exists():
                live.touch()
        self.watched[live] = time.monotonic()
        if self.watching is None:
            self.unwatch_later()
        try:
            read = json.loads(live.read_bytes())
            return read if isinstance(read, dict) else {}
        except (OSError, ValueError, RecursionError):
            return {}

    def unwatch_later(self) -> None:
        """Look again in a while which live files nobody reads any more."""
        self.watching = threading.Timer(WATCH_SECONDS / 2, self.unwatch)
        self.watching.daemon = True
        self.watching.start()

    def unwatch(self, all_of_them: bool = False) -> None:
        """Remove the live files that nobody reads any more, so that runs stop writing them."""
        now = time.monotonic()
        for live, asked in list(self.watched.items()):
            if all_of_them or now - asked > WATCH_SECONDS:
                del self.watched[live]
                with contextlib.suppress(OSError):
                    live.unlink(missing_ok=True)
        self.watching = None
        if self.watched:
            self.unwatch_later()

    def newest(self, run: Run) -> list[dict[str, Any]]:
        """Return some of the newest games that are saved, as boards of a live file."""
        saved = tuple(shard.sha256 for shard in run.state.shards)
        if self.saved.get(run.name, ((), []))[0] != saved:
            games = newest_games(run)[:BOARDS]
            boards = [{"number": game.number, "moves": game.actions.tolist()} for game in games]
            self.saved[run.name] = (saved, boards)
        return self.saved.get(run.name, ((), []))[1]

    def board_positions(self, name: str, game: Game, boards: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the position of each game; of a game that has gone on only the new moves are played."""
        before, now, shown = self.in_flight.get(name, {}), {}, []
        for board in boards:
            number, moves = board["number"], board["moves"]
            at = before.get(number)
            if at is None or moves[: len(at.actions)] != at.actions:
                at = GameInProgress(game)
            else:  # another page may ask for the same game in another thread
                at = GameInProgress.along(game, at.actions, at.states)
            at.play_legal(moves[len(at.actions) :])
            now[number] = at
            last = at.actions[-1] if at.actions else -1
            shown.append({"number": number, **position_json(game, at.state, at.before, last)})
        self.in_flight[name] = now
        return shown

    def close(self) -> None:
        """Let runs stop writing live files; they train on."""
        if self.watching is not None:
            self.watching.cancel()
        self.unwatch(all_of_them=True)
        if self.estimate_process is not None:
            self.estimate_process.terminate()
        for process in self.processes.values():
            process.poll()


def forecast_of(lines: Sequence[str]) -> list[str]:
    """Return what a person wants to know of the lines that `azero.estimate` prints: time, memory, disk."""
    wanted = r"minutes=(.*)|[\d,]+ cycles: about .*|(?:memory|disk) about [^:]*"
    found = [part for line in lines if (part := re.match(wanted, line))]
    texts = [part[1].replace(" leaves", " minutes leave", 1) if part[1] else part[0] for part in found]
    return [f"{text[0].upper()}{text[1:]}." for text in texts]


def words_of(recipe: str, had: dict[str, Any]) -> list[str]:
    """Return the arguments that make a recipe's settings those that a run had."""
    composed = leaves_of(compose(recipe))
    words = list[str]()
    for key, value in had.items():
        if key in OWN or key not in composed or not changes_between({key: composed[key]}, {key: value}):
            continue
        prefix, options = (f"{key}.", value) if isinstance(value, dict) else ("", {key: value})
        words += option_words(options, prefix, hydra_value)
    return words


def minutes_in(asked: dict[str, Any]) -> float | None:
    """Return the minutes that a page asks for; None: no limit. FieldMistake: they are not allowed."""
    minutes = asked.get("minutes")
    if minutes is None or (is_number(minutes, 0, MOST_MINUTES) and minutes):
        return minutes
    raise FieldMistake("minutes", f"Minutes must be a number above 0 and at most {MOST_MINUTES:,.0f}.")
