#!/usr/bin/env python3
"""Kill and restart the studio while people play, and count the games that it loses.

usage: kept_games.py [--rounds 200] [--seed 1] [--folder FOLDER]

A round starts the studio over the same folder. Two tabs, which know only the address and what the studio
answered, open the same games again, play, write comments, delete and bring back, share the address with a
studio that has never seen the game, and begin new games. Then the studio is killed (SIGKILL, in half of the
rounds a second after the last answer, else at once and in the middle of a request) or asked to end (SIGTERM).

    lost games      a game that the list lacks or calls damaged, or that does not open
    lost lines      a move of the line that an address shows is missing
    lost answers    a move or comment that was answered a second before SIGKILL, or before SIGTERM, is missing
    unsettled       a variation or comment that was answered less than a second before SIGKILL and is missing
    begun again     a game that was begun less than a second before SIGKILL and comes back from its address

The exit status is 0 if nothing was lost. The studio is forked from this process, which has imported
everything.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azero.cli.arguments import (
    FolderSettings,
    load_game,
)
from azero.records.record import Record
from azero.records.walk import positions
from azero.studio.server import make_app
from azero.studio.serving import StudioServer
from azero.studio.state import Studio

TOKEN = "kept-games-" * 4
SETTLED = 1.0  # seconds after an answer
GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tictactoe", {}),
    ("connect_four", {}),
    ("hex", {"size": 4}),
    ("go", {"size": 5}),
]
MOST_OPEN = 6  # games that the tabs still play

Path_ = tuple[str, ...]  # the moves that lead to a node


@dataclass
class Kept:
    """What a person knows of a game: when each node and comment was answered, and what the address shows."""

    number: str
    game: str
    options: dict[str, Any]
    nodes: dict[Path_, float] = field(default_factory=dict)
    comments: dict[Path_, tuple[str, float]] = field(default_factory=dict)
    line: list[str] = field(default_factory=list)
    ply: int = 0


def tree_in(table: dict[str, Any]) -> dict[Path_, dict[str, Any]]:
    """Return the nodes of a table by the moves that lead to them."""
    paths: dict[int, Path_] = {}
    for node in sorted(table["nodes"], key=lambda node: node["id"]):
        paths[node["id"]] = () if node["parent"] is None else (*paths[node["parent"]], node["move"])
    return {paths[node["id"]]: node for node in table["nodes"]}


class Trial:
    """All rounds over one folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.choice, self.count = folder, random.Random(seed), Counter[str]()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port, self.child, self.how = self.listening.getsockname()[1], 0, ""
        self.games: dict[str, Kept] = {}

    def start(self) -> None:
        """Fork a studio."""
        self.child = os.fork()
        if self.child:
            return
        settings = FolderSettings(str(self.folder / "checkpoints"), str(self.folder / "data"))
        app = make_app(Studio(settings.config), TOKEN, ["127.0.0.1"], self.port)
        try:
            StudioServer(app).run(sockets=[self.listening])
        finally:
            os._exit(0)

    def end(self, number: int) -> None:
        """End the studio by a signal."""
        os.kill(self.child, number)
        os.waitpid(self.child, 0)

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection to the studio."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, connection: http.client.HTTPConnection, path: str, body: dict[str, Any] | None) -> None:
        """Send a request."""
        cookie = f"azero_studio_{self.port}={TOKEN}"
        text = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", f"/api{path}", text, {"Cookie": cookie})

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Return the status and the content of an answer."""
        connection = self.connect()
        try:
            self.send(connection, path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def note(self, kept: Kept, table: dict[str, Any]) -> None:
        """Note what an answer says of a game."""
        now, tree, number_of = time.monotonic(), tree_in(table), {}
        for path, node in tree.items():
            number_of[node["id"]] = path
            kept.nodes.setdefault(path, now)
            if kept.comments.get(path, ("", 0.0))[0] != node["comment"]:
                kept.comments[path] = (node["comment"], now)
        kept.line = list(number_of[table["line"][-1]])
        kept.ply = len(number_of[table["node"]])

    def play(self) -> None:
        """Do something at random, as a person does."""
        action = self.choice.random()
        if action < 0.15 or not self.games:
            return self.begin()
        kept = self.choice.choice(list(self.games.values()))
        status, table = self.ask(f"/tables/{kept.number}")
        if status != 200:
            self.count["lost games"] += 1
            return None
        base = f"/tables/{kept.number}"
        node = self.choice.choice(table["nodes"])
        if action < 0.25:
            status, table = self.ask(f"{base}/comment", {"node": node["id"], "text": f"said {action}"})
        elif action < 0.35 and node["parent"] is not None:
            gone = tree_in(self.ask(f"{base}/delete", {"node": node["id"]})[1])
            for path in [path for path in kept.nodes if path not in gone]:
                kept.nodes.pop(path)  # until they are answered again
                kept.comments.pop(path, None)
            status, table = self.ask(f"{base}/restore", {})
        elif action < 0.45:
            status, table = self.ask(f"{base}/go", {"node": node["id"]})
        elif action < 0.58:
            return self.share(kept)
        else:
            if action < 0.75:
                table = self.ask(f"{base}/go", {"node": node["id"]})[1]
            moves = table["position"]["moves"]
            if moves:
                move = self.choice.choice(moves)["move"]
                status, table = self.ask(f"{base}/move", {"move": move})
        if status == 200:
            self.note(kept, table)
            self.count["answers"] += 1
        return None

    def begin(self) -> None:
        """Begin a game with a move."""
        game, options = self.choice.choice(GAMES)
        _, table = self.ask("/tables", {"game": game, "options": options})
        move = self.choice.choice(table["position"]["moves"])["move"]
        status, table = self.ask(f"/tables/{table['id']}/move", {"move": move})
        if status == 200:
            kept = self.games[table["id"]] = Kept(table["id"], game, options)
            self.note(kept, table)
            self.count["games"] += 1
        while len(self.games) > MOST_OPEN:
            del self.games[next(iter(self.games))]  # nobody looks at it any more

    def share(self, kept: Kept) -> None:
        """Open an address where its game is not known, and look whether it has the whole line."""
        asked = {"game": kept.game, "options": kept.options, "moves": kept.line, "ply": kept.ply}
        status, table = self.ask("/tables", asked)
        self.count["shared"] += 1
        by_id = {node["id"]: node["move"] for node in table.get("nodes", ())}
        same = status == 201 and [by_id[each] for each in table["line"][1:]] == kept.line
        self.count["lost lines"] += not (same and table["line"].index(table["node"]) == kept.ply)

    def miss(self, kept: Kept, what: str, when: float, before: float) -> None:
        """Count something that is missing."""
        self.count["lost answers" if when < before else "unsettled"] += 1
        if when < before:
            age = time.monotonic() - when
            print(f"game {kept.number}: {what} is missing, {age:.1f} s after its answer ({self.how})")

    def check(self, kept: Kept, before: float) -> None:
        """Open a game again in two tabs; `before`: what was answered earlier must be there."""
        for tab in range(2):
            asked = {"moves": kept.line, "ply": kept.ply} if tab == 0 else {}
            status, table = self.ask(f"/library/{kept.number}/open", asked)
            self.count["opened"] += 1
            if status == 404 and kept.nodes[()] >= before:
                self.count["begun again"] += 1
                del self.games[kept.number]
                return self.share(kept)
            if status != 200:
                print(f"game {kept.number}: {table}")
                self.count["lost games"] += 1
                return None
        tree = tree_in(table)
        self.count["lost lines"] += tuple(kept.line) not in tree
        for path, when in [*kept.nodes.items()]:
            if path not in tree:
                self.miss(kept, ".".join(path), when, before)
                del kept.nodes[path]
                kept.comments.pop(path, None)
        for path, (text, when) in kept.comments.items():
            if path in tree and tree[path]["comment"] != text:
                self.miss(kept, f"{text!r}, now {tree[path]['comment']!r},", when, before)
        self.note(kept, table)
        return None

    def round(self) -> None:
        """Play for a moment, end the studio, start it and look at all games."""
        for _ in range(self.choice.randrange(3, 9)):
            self.play()
        how = self.how = self.choice.choice(("settled", "settled", "at once", "at once", "asked"))
        if how == "settled":
            time.sleep(SETTLED)
        if how == "at once" and self.games:  # in the middle of a request
            connection = self.connect()
            number = self.choice.choice(list(self.games))
            self.send(connection, f"/tables/{number}/comment", {"node": 0, "text": "unheard"})
            time.sleep(self.choice.random() * 0.03)
            connection.close()
        before = time.monotonic() - (SETTLED if how == "at once" else 0.0)
        self.end(signal.SIGTERM if how == "asked" else signal.SIGKILL)
        self.count[how] += 1
        self.start()
        for kept in list(self.games.values()):
            kept.comments.pop((), None)  # may have been said in the middle
            self.check(kept, before)
        if self.choice.random() < 0.2:
            self.check_list()

    def check_list(self) -> None:
        """Look whether the list has all games, none of them damaged."""
        found, count = list[dict[str, Any]](), 1
        while len(found) < count:
            _, answer = self.ask(f"/library?skip={len(found)}")
            found, count = found + answer["games"], answer["count"]
        listed = {game["id"]: game["damaged"] for game in found}
        wrong = [number for number in self.games if listed.get(number, "missing")]
        self.count["lost games"] += len(wrong) + sum(map(bool, listed.values()))


def warm() -> None:
    """Load compiled rules here, so that no fork has to."""
    for name, options in GAMES:
        game = load_game(name, options)
        record = Record(game)
        record.add(0, int(game.legal_mask(game.initial_state()).argmax()))
        positions(record)


def main() -> int:
    """Run the rounds; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the games are; default: a temporary folder")
    asked = parser.parse_args()
    warm()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        trial = Trial(asked.folder or Path(temporary), asked.seed)
        trial.start()
        try:
            for _ in range(asked.rounds):
                trial.round()
            trial.check_list()
        finally:
            trial.end(signal.SIGKILL)
    names = (
        "games",
        "answers",
        "settled",
        "at once",
        "asked",
        "opened",
        "shared",
        "unsettled",
        "begun again",
    )
    said = ", ".join(f"{trial.count[name]} {name}" for name in names)
    print(f"{asked.rounds} rounds in {time.monotonic() - began:.0f} s: {said}")
    lost = {name: trial.count[name] for name in ("lost games", "lost lines", "lost answers")}
    print(", ".join(f"{count} {name}" for name, count in lost.items()))
    return int(any(lost.values()))


if __name__ == "__main__":
    sys.exit(main())
