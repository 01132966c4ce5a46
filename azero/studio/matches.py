"""Matches and tournaments from the page: `azero.arena` as a process, and its record as it fills."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.routing import Route

from azero.config.reading import is_whole
from azero.config.schema import UserError, option_words
from azero.games.game import Game
from azero.games.titles import game_title
from azero.match.lockstep import MatchGame, summarize
from azero.match.rating import measured, ratings
from azero.match.text import Pairing, crossed
from azero.records.record import MoveNames, Record, read_object
from azero.report.console import format_count
from azero.report.listing import age_text
from azero.run.disk import Disk, next_number, write_atomically
from azero.studio.mistakes import FieldMistake
from azero.studio.pool import Side
from azero.studio.processes import ask_to_stop, end, ending, is_running, last_lines, start
from azero.studio.replay import replay_json
from azero.studio.safety import Refusal, api, can_be_sent, is_number, read_json
from azero.studio.state import Studio

MOST_MATCHES = 2  # at once
MOST_PLAYERS = 8
MOST_GAMES = 10_000  # of a pair
MOST_KEPT = 1000
SHOWN_GAMES = 200
REPAIR = "delete it, or put a copy of it back"
MISSING = "There is no such match."
NUMBER, NUMBERED = re.compile(r"[0-9]{6}"), r"([0-9]{6})\..*"


class Matches:
    """The matches in data/.studio/matches: NUMBER.json says what is played, NUMBER.jsonl has the games."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.folder = studio, studio.folder / "matches"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.games: dict[str, Game] = {}
        self.lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the numbers of all matches, the newest first."""
        names = (path.stem for path in self.folder.glob("*.json"))
        return sorted(filter(NUMBER.fullmatch, names), reverse=True)

    def about(self, name: str) -> dict[str, Any]:
        """Return what is played in a match.

        Raises:
            Refusal: there is none.
            UserError: its file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not NUMBER.fullmatch(name) or not path.exists():
            raise Refusal(404, MISSING)
        with self.studio.reading(str(path), REPAIR):
            about: dict[str, Any] = json.loads(path.read_bytes())
            if not isinstance(about, dict) or not can_be_sent(about):
                raise ValueError("it describes no match")
        return about

    def game(self, name: str, about: dict[str, Any]) -> Game:
        """Return the rules of a match, made once."""
        if name not in self.games:
            self.games[name] = self.studio.make_game(about["game"], about["options"])
        return self.games[name]

    def record(self, name: str) -> Path:
        """Return the file of a match's games."""
        return self.folder / f"{name}.jsonl"

    def begin(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Start a match or tournament; return its number.

        Raises:
            UserError: the game, a player or the number of games is not allowed.
            Refusal: too many are played.
        """
        game = self.studio.make_game(asked.get("game"), asked.get("options"))
        sides = asked.get("players", [asked.get("first"), asked.get("second")])
        games = asked.get("games", 20)
        if not is_whole(games, 2, MOST_GAMES) or games % 2:
            asked_for = f"an even number from 2 to {MOST_GAMES:,}, because colours alternate"
            raise FieldMistake("games", f"Games must be {asked_for}.")
        if not isinstance(sides, list) or not 2 <= len(sides) <= MOST_PLAYERS:
            raise UserError(f"A match has 2 players, a tournament up to {MOST_PLAYERS}.")
        read = [self.studio.tables.read_side(i, side, game) for i, side in enumerate(sides)]
        labels = [f"p{number}" for number in range(1, len(read) + 1)]
        words = [word for label, side in zip(labels, read, strict=True) for word in words_of(label, side)]
        config = self.studio.config
        about = {
            "game": self.studio.name_of(game),
            "options": game.options,
            "players": [side.title for side in read],
            "fixed": [self.studio.pool.get(game, side).player.deterministic for side in read],
            "games": games,
            "started": time.time(),
        }
        with self.lock:
            playing = [name for name in self.names()[:MOST_KEPT] if self.is_playing(name)]
            if len(playing) >= MOST_MATCHES:
                raise Refusal(429, f"{len(playing)} matches are being played; stop one or wait.")
            self.folder.mkdir(parents=True, exist_ok=True)
            name = f"{next_number(self.folder, NUMBERED):06d}"
            place = self.studio.place_of(about["game"])
            process = start(
                [
                    *(
                        "azero.arena",
                        f"game={place}",
                        *option_words(game.options),
                        f"players=[{','.join(labels)}]",
                        *words,
                    ),
                    *(f"games={games}", f"record={self.record(name)}", f"checkpoints={config.checkpoints}"),
                    *(f"data={config.data}", f"device={config.device}"),
                ],
                self.folder / f"{name}.log",
            )
            text = json.dumps({**about, "pid": process.pid}, ensure_ascii=False)
            try:
                write_atomically(Disk(), self.folder / f"{name}.json", text.encode())
            except BaseException:  # nobody could see or stop it
                end(process)
                raise
            self.processes[name] = process
        return {"id": name}

    def pid(self, name: str, about: dict[str, Any]) -> int:
        """Return the process that plays a match; 0 if none does."""
        if name in self.processes:
            process = self.processes[name]
            return process.pid if process.poll() is None else 0
        pid = about.get("pid", 0)
        return pid if is_whole(pid, 1, 2**31) and is_running(pid, f"record={self.record(name)}") else 0

    def is_playing(self, name: str) -> bool:
        """Return whether a process plays a match."""
        try:
            return bool(self.pid(name, self.about(name)))
        except UserError:
            return False

    def stop(self, name: str) -> dict[str, Any]:
        """Ask a match's process to end; Refusal: it is not being played."""
        pid = self.pid(name, self.about(name))
        if not pid:
            raise Refusal(409, "This match is not being played.")
        ask_to_stop(pid)
        return {"state": "stopping"}

    def close(self) -> None:
        """Take leave of the processes; they play on."""
        for process in self.processes.values():
            process.poll()

    def lines(self, name: str, about: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """Return the games of a match that have ended, and a sentence for damaged lines, which are left out.

        A line that is being written is left out too.
        """
        try:
            data = self.record(name).read_bytes()
        except OSError:
            return [], ""
        read = [game_of(line, len(about["players"])) for line in data[: data.rfind(b"\n") + 1].splitlines()]
        games = [game for game in read if game is not None]
        lost = format_count(len(read) - len(games), "lines")
        damaged = f"{self.record(name).name} has {lost} that cannot be read; their games are left out."
        return games, damaged if len(games) < len(read) else ""

    def summary(self, name: str) -> dict[str, Any]:
        """Return a match as the list shows it, also if its description is damaged."""
        try:
            with self.studio.reading(str(self.folder / f"{name}.json"), REPAIR):
                return self.row(name, self.about(name))
        except UserError as damage:
            return {
                **{"id": name, "title": f"match {name}", "state": "damaged", "sentence": str(damage)},
                **{"game": "", "options": {}, "players": [], "games": 0, "done": 0, "total": 0, "age": ""},
            }

    def row(self, name: str, about: dict[str, Any]) -> dict[str, Any]:
        """Return what the list shows of a match that is described whole."""
        count = len(about["players"])
        games, damaged = self.lines(name, about)
        done, total = len(games), about["games"] * count * (count - 1) // 2
        state, sentence = ("playing", "") if self.pid(name, about) else ("finished", "")
        if state != "playing" and done < total:
            log = self.folder / f"{name}.log"
            status = self.processes[name].wait() if name in self.processes else 130
            state, sentence = ending(status, log)
        sentence = " ".join(filter(None, (sentence, damaged)))
        return {
            **{"id": name, "title": game_title(about["game"], about["options"])},
            **{"state": state, "sentence": sentence},
            **{key: about[key] for key in ("game", "options", "players", "games")},
            **{"done": done, "total": total, "age": age_text(time.time() - about["started"])},
        }

    def view(self, name: str) -> dict[str, Any]:
        """Return a match with its table and its newest games."""
        about = self.about(name)
        game, (lines, _) = self.game(name, about), self.lines(name, about)
        pairings = pairings_of(game, lines, about["fixed"])
        count = len(about["players"])
        points, games = crossed(count, pairings)
        rated = ratings(points, games) if pairings else []
        newest = list(enumerate(lines))[: -SHOWN_GAMES - 1 : -1]
        return {
            **self.row(name, about),
            "pairings": [pairing_json(pairing) for pairing in pairings],
            "standings": [
                {
                    **{"player": place, "elo": rated[place].elo, "margin": rated[place].margin},
                    **{"points": points[place].sum(), "games": games[place].sum()},
                    "scores": (points[place] / np.maximum(1, games[place])).tolist(),
                }
                for place in sorted(range(len(rated)), key=lambda place: -rated[place].elo)
            ],
            "list": [
                {
                    "number": number,
                    "players": [place_of(label) for label in line["players"]],
                    "outcome": line["outcome"],
                    "plies": len(line["moves"]),
                }
                for number, line in newest
            ],
            "lines": last_lines(self.folder / f"{name}.log")[-8:],
        }

    def replayed(self, name: str, number: str) -> dict[str, Any]:
        """Return a game of a match with its positions; Refusal: there is none."""
        about = self.about(name)
        lines, _ = self.lines(name, about)
        if not (number.isascii() and number.isdecimal() and len(number) < 10 and int(number) < len(lines)):
            raise Refusal(404, "There is no such game in this match.")
        line = lines[int(number)]
        game = self.game(name, about)
        return {
            **replay_json(game, about["game"], MoveNames(Record(game)).add_texts(line["moves"])),
            "players": [about["players"][place_of(label)] for label in line["players"]],
            "outcome": line["outcome"],
            "opening": line.get("opening_plies", 0),
        }


def game_of(line: bytes, players: int) -> dict[str, Any] | None:
    """Return the game in a line of a record; None if the line is damaged."""
    try:
        game = read_object(line, "a line")
        first, second = map(place_of, game["players"])
        is_game = (
            first != second
            and {first, second} <= set(range(players))
            and is_number(game["outcome"], -1, 1)
            and all(isinstance(move, str) for move in game["moves"])
            and is_whole(game["number"], 0)
            and is_whole(game["opening_plies"], 0)
        )
    except (UserError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return game if is_game else None


def words_of(label: str, side: Side) -> list[str]:
    """Return the arguments of `azero.arena` for a player.

    Raises:
        UserError: the side is a person.
    """
    if side.spec is None:
        raise UserError("A match is played by machines; a person plays on the page Play.")
    return [f"{label}={side.spec.name}", *option_words(side.options, f"{label}.")]


def place_of(name: str) -> int:
    """Return the place of a player by its name in a record, such as 1 for "p2: uct"."""
    return int(name.partition(":")[0].removeprefix("p")) - 1


def pairings_of(game: Game, lines: list[dict[str, Any]], fixed: list[bool]) -> list[Pairing]:
    """Return the matches of a record as far as they were played. fixed: which players are deterministic."""
    named, played = MoveNames(Record(game)), dict[tuple[int, int], list[MatchGame]]()
    for line in lines:
        moves = named.add_texts(line["moves"])
        if len(moves) < len(line["moves"]):
            continue  # a damaged line, or rules that have changed
        first, second = (place_of(name) for name in line["players"])
        one, other = min(first, second), max(first, second)
        outcome = line["outcome"] if first == one else -line["outcome"]
        ended = MatchGame(line["number"], int(first != one), line["opening_plies"], moves, outcome)
        played.setdefault((one, other), []).append(ended)
    return [
        Pairing(*pair, summarize(sorted(games), fixed=fixed[pair[0]] and fixed[pair[1]]))
        for pair, games in sorted(played.items())
    ]


def pairing_json(pairing: Pairing) -> dict[str, Any]:
    """Return the result of two players as the page reads it."""
    result = pairing.result
    counts = {"wins": result.wins, "draws": result.draws, "losses": result.losses}
    places = {"one": pairing.one, "other": pairing.other}
    return {**places, "distinct": result.distinct, **counts, **measured(**counts)}


def routes(studio: Studio) -> list[Route]:
    """Return the routes of matches."""
    matches, in_thread = Matches(studio), studio.run_in_thread
    studio.closing.append(matches.close)

    async def list_matches(request: Request) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            return {"matches": [matches.summary(name) for name in matches.names()[:MOST_KEPT]]}

        return await in_thread(read)

    async def begin(request: Request) -> dict[str, Any]:
        return await in_thread(matches.begin, await read_json(request))

    async def read_match(act: Callable[..., dict[str, Any]], name: str, *more: str) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            with studio.reading(f"Match {name}"):
                return act(name, *more)

        return await in_thread(read)

    async def view(request: Request) -> dict[str, Any]:
        return await read_match(matches.view, request.path_params["id"])

    async def stop(request: Request) -> dict[str, Any]:
        return await in_thread(matches.stop, request.path_params["id"])

    async def game(request: Request) -> dict[str, Any]:
        return await read_match(matches.replayed, request.path_params["id"], request.path_params["number"])

    return [
        api("GET", "/matches", list_matches),
        api("POST", "/matches", begin),
        api("GET", "/matches/{id}", view),
        api("POST", "/matches/{id}/stop", stop),
        api("GET", "/matches/{id}/games/{number}", game),
    ]
