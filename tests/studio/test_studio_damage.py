"""Damaged files of a run or a match: the studio says so in its row, and shows all others."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running import TrainedRun
from studio import TestClient, client_of, make_studio

from azero.run.folder import MOST_BYTES
from azero.studio.jobs import Jobs

ABOUT = {
    **{"game": "tictactoe", "options": {}, "players": ["random", "UCT"], "fixed": [False, False]},
    **{"games": 4, "started": 1.7e9, "pid": 0},
}
GAME = {
    **{"number": 0, "players": ["p1: random", "p2: uct"], "opening_plies": 0, "outcome": -1.0},
    "moves": ["4", "0", "8", "2", "1", "7", "6", "3", "5"],
}


@pytest.fixture(scope="module")
def runs(trained_run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `whole` and `other`, and a match."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("whole", "other"):
        shutil.copytree(trained_run.checkpoints / "trained", folder / "checkpoints" / name)
        shutil.copytree(trained_run.data / "trained", folder / "data" / name)
    for number in ("000001", "000002"):
        write_match(folder, number, json.dumps(ABOUT), [json.dumps(GAME)] * 3)
    return folder


def write_match(folder: Path, number: str, about: str, lines: list[str]) -> None:
    """Write the two files of a match."""
    place = folder / "data" / ".studio" / "matches"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{number}.json").write_text(about)
    (place / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def folder(runs: Path, tmp_path: Path) -> Path:
    """A copy of the folder, for a test to damage."""
    return Path(shutil.copytree(runs, tmp_path / "runs"))


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    """A client of the studio over that folder."""
    with client_of(make_studio(folder)) as opened:
        yield opened


def rows_of(client: TestClient, what: str, key: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a list."""
    answer = client.get(f"/api/{what}")
    assert answer.status_code == 200, answer.text
    return {row[key]: row for row in answer.json()[what]}


def replace_stats(text: str, *values: str) -> str:
    """Return metrics.csv with other values."""
    head, *rows = [line.split(",") for line in text.splitlines()]
    for row, value in zip(rows, values, strict=False):
        row[head.index("time/train")] = value
    return "".join(",".join(line) + "\n" for line in (head, *rows))


@pytest.mark.parametrize(
    ("file", "damage", "said"),
    [
        (
            "run.lock.json",
            lambda text: text.replace('"pid": ', '"pid": 12345678901234567890'),
            "run.lock.json",
        ),
        ("run.lock.json", lambda text: "[" * 100_000, "run.lock.json"),
        ("metrics.csv", lambda text: replace_stats(text, "nan", "inf", "1e999", "1e300"), ""),
        ("metrics.csv", lambda text: text.replace(",", ",,", 60), "metrics.csv"),
        ("ratings.csv", lambda text: "player,cycle\n" + "x" * 200_000, "ratings.csv"),
        ("ratings.csv", lambda text: "player,cycle\na,b,c,d\n", "ratings.csv"),
        ("state.json", lambda text: text[:-9], "state.json"),
        ("state.json", None, "state.json is missing"),
        ("metrics.csv", lambda text: "\0" * 5000 + text, "metrics.csv"),
    ],
)
def test_a_run_with_a_damaged_file_says_so_and_the_others_are_shown(
    client: TestClient, folder: Path, file: str, damage: Callable[[str], str] | None, said: str
) -> None:
    before, path = rows_of(client, "runs", "name"), folder / "checkpoints/other" / file
    if damage is None:
        path.unlink()
    else:
        path.write_text(damage(path.read_text() if path.exists() else "x"))
    rows = rows_of(client, "runs", "name")
    assert {**rows["whole"], "age": ""} == {**before["whole"], "age": ""} and before["other"][
        "sentence"
    ] == ""
    assert said in rows["other"]["sentence"] and rows["other"]["size"]
    assert client.get("/api/runs/other").status_code in (200, 400, 404)
    assert client.get("/api/runs/whole").status_code == 200


@pytest.mark.parametrize(
    "name", ["x" * 300, "%E5%AF%B9" * 100, "%ED%B3%BF", "%00", "%2e%2e", ".studio", "none", "x" * 9000]
)
@pytest.mark.parametrize("rest", ["", "/doctor", "/games?cycle=1", "/games/1/0", "/live"])
def test_odd_names_of_runs_are_not_found(client: TestClient, name: str, rest: str) -> None:
    assert client.get(f"/api/runs/{name}{rest}").status_code == 404


def test_folders_with_odd_names_are_left_out_of_the_list(client: TestClient, folder: Path) -> None:
    for name in (b"\xff\xfe", b"line\nline", b"x" * MOST_BYTES, b" "):
        place = os.path.join(os.fsencode(folder), b"checkpoints", name)
        os.mkdir(place)
        with open(os.path.join(place, b"state.json"), "w") as file:
            file.write("{")
    assert {"whole", "other"} <= rows_of(client, "runs", "name").keys()


@pytest.mark.parametrize(
    ("about", "lines", "state", "said"),
    [
        (json.dumps(ABOUT), [json.dumps(GAME), json.dumps(GAME)[:40]], "", "1 line that cannot be read"),
        (json.dumps(ABOUT), [json.dumps({**GAME, "players": ["p1", "p9"]})] * 2, "", "2 lines"),
        (json.dumps(ABOUT), [json.dumps({**GAME, "moves": ["z9"]})], "", ""),
        (
            json.dumps(ABOUT),
            ["[]", "3", '{"moves": NaN}', json.dumps({**GAME, "outcome": "?"})],
            "",
            "4 lines",
        ),
        (json.dumps(ABOUT)[:-9], [], "damaged", "000001.json is damaged"),
        ("[1]", [], "damaged", "000001.json is damaged"),
        (json.dumps({**ABOUT, "options": {"x": float("inf")}}), [], "damaged", "000001.json is damaged"),
        (json.dumps({**ABOUT, "games": "4"}), [], "damaged", "000001.json is damaged"),
        (json.dumps({**ABOUT, "pid": 10**20}), [json.dumps(GAME)], "", ""),
    ],
)
def test_a_match_with_a_damaged_file_says_so_and_the_others_are_shown(
    client: TestClient, folder: Path, about: str, lines: list[str], state: str, said: str
) -> None:
    before = rows_of(client, "matches", "id")
    write_match(folder, "000001", about, lines)
    rows = rows_of(client, "matches", "id")
    assert {**rows["000002"], "age": ""} == {**before["000002"], "age": ""}
    assert said in rows["000001"]["sentence"] and (rows["000001"]["state"] == "damaged") == bool(state)
    assert client.get("/api/matches/000001").status_code == (400 if state else 200)
    assert client.get("/api/matches/000001/games/0").status_code in (200, 400, 404)


def test_a_file_that_is_no_match_is_left_out(client: TestClient, folder: Path) -> None:
    (folder / "data/.studio/matches/notes.json").write_text("{")
    assert rows_of(client, "matches", "id").keys() == {"000001", "000002"}


def test_moves_that_are_not_legal_reach_no_compiled_rule(client: TestClient, folder: Path) -> None:
    studio = make_studio(folder)
    game = studio.make_game("tictactoe")
    boards = [{"number": 1, "moves": [4, 4, 99, -7, 10**9]}, {"number": 2, "moves": [99]}]
    shown = studio.jobs.board_positions("whole", game, boards)
    assert [position["number"] for position in shown] == [1, 2]


@pytest.mark.parametrize(
    "live",
    [
        *("", "{", "[1]", '{"boards": 3}', '{"boards": [{}]}', '{"boards": [{"number": 1, "moves": [0.5]}]}'),
        *('{"stage": []}', '{"stats": [1]}', '{"seconds_left": "x"}', '{"done": 1e999}', "[" * 100_000),
    ],
)
def test_a_damaged_live_file_counts_as_an_empty_one(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch, live: str
) -> None:
    monkeypatch.setattr(Jobs, "state", lambda self, name: ("training", ""))
    file = folder / "checkpoints/whole/live.json"
    file.write_text('{"stage": "train", "stats": {"loss/total": NaN}}')
    assert client.get("/api/runs/whole/live").json()["stage"] == "train"
    file.write_text(live)
    shown = client.get("/api/runs/whole/live").json()
    assert shown["stage"] == "" and shown["state"] == "training" and len(shown["boards"]) == 16


def routes_of(name: str) -> list[str]:
    """Return the addresses that read files of a run or a match."""
    return [
        *("/runs", "/matches", "/games", "/players?game=tictactoe"),
        *(f"/runs/{name}{rest}" for rest in ("", "/doctor", "/live", "/games?cycle=1", "/games/1/0")),
        *("/matches/000001", "/matches/000001/games/0", "/matches/000001/games/1"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_no_route_fails_whatever_happened_to_the_files(client: TestClient, folder: Path, seed: int) -> None:
    choice = random.Random(seed)
    matches = sorted((folder / "data/.studio/matches").glob("000001*"))
    files = [path for name in ("checkpoints/other", "data/other") for path in (folder / name).rglob("*")]
    files = sorted(path for path in files if path.is_file()) + matches
    for _ in range(12):
        path = choice.choice(files)
        whole = path.read_bytes()
        place = choice.randrange(len(whole) + 1)
        pieces = [b"", choice.randbytes(9), b"\0" * 40, b"nan", b"[" * 5000, b"9" * 40, b'"', b"\n"]
        path.write_bytes(
            whole[:place] + choice.choice(pieces) + whole[place + choice.choice((0, 1, 9, 10**9)) :]
        )
        for route in routes_of("other"):
            answer = client.get(f"/api{route}")
            assert answer.status_code < 500, (path, route, answer.text)
        assert rows_of(client, "runs", "name")["whole"]["state"] == "finished"
        assert rows_of(client, "matches", "id")["000002"]["done"] == 3
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("experiment/mine.yaml", b"# caf\xe9 in Latin-1\ndefaults:\n  - override /game: hex5\n", ""),
        ("experiment/mine.yaml", b"defaults:\n  - mine\n", ""),
        ("game/mine.yaml", b"name: [", "game/mine.yaml is damaged (ParserError"),
        ("game/mine.yaml", b"- 3\n", "game/mine.yaml is damaged (AttributeError"),
        ("game/mine.yaml", b"name: mine\n", "game/mine.yaml is damaged (RecursionError"),
    ],
)
def test_a_damaged_file_of_settings_is_named_and_the_rest_is_offered(
    file: str, text: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own" / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    monkeypatch.setenv("AZERO_CONF", str(tmp_path / "own"))
    with client_of(make_studio(tmp_path)) as client:
        offered = client.get("/api/games").json()
    assert {"tictactoe", "chess"} <= {game["name"] for game in offered["games"]}
    assert "connect_four" in {recipe["name"] for recipe in offered["recipes"]}
    assert len(offered["damaged"]) == bool(said) and said in "".join(offered["damaged"])
