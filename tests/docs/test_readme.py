"""The documents work as printed: every command and line of Python runs, every link leads somewhere.

The commands run in a folder that looks like a checkout after set-up. Its `.venv/bin/python` is a fork that
has imported azero, and adds toy sizes to the settings, so each command takes seconds. docs/your_own_game.md
has tests of its own in test_guide.py.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forks import BOX, forked
from places import PROJECT

PAGES = sorted(
    path.relative_to(PROJECT).as_posix() for path in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
)
WITH_COMMANDS = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "architecture",
            "export",
            "files",
            "metrics",
            "players",
            "protocols",
            "records",
            "studio",
            "trace",
            "training",
        )
    ),
]
TOY = (
    "network.blocks=1 network.channels=4 search.num_simulations=4 selfplay.games=16 train.batch_size=16"
    " train.epochs=1 evaluate.games=4 device=cpu"
)
# These judge a player that is not trained here; the studio runs until Ctrl-C; the last needs a GPU.
STATUSES = {
    "azero correctness": {0, 1},
    "azero doctor": {0, 1},
    "azero studio": {130},
    "azero loop connect_four_gpu selfplay.trees=gpu": {0, 2},
}

PYTHON = f"""#!/usr/bin/env bash
shopt -s extglob
case "$*" in
  *--help* | *--cfg*) exec {sys.executable} "$@" ;;
  "-m azero"[.\\ ]@(loop|initialize|selfplay|train|evaluate|estimate)*)
    case "$*" in *cycles=*) size="{TOY}" ;; *) size="{TOY} cycles=1" ;; esac
    exec FORK "${{@:2}}" $size ;;
  "-m azero studio"*) timeout --preserve-status --signal=INT 20 FORK "${{@:2}}" open=false port=0 ;;
  "-m azero"*) exec FORK "${{@:2}}" ;;
  "-m pytest"*) exec {sys.executable} "$@" --collect-only --quiet -p no:cacheprovider ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
PROGRAMS = {
    "azero": '#!/usr/bin/env bash\nexec python -m azero "$@"\n',
    # --inspect reads the event files and ends, where the server would run on
    "tensorboard": f'#!/usr/bin/env bash\nexec {sys.executable} -m tensorboard.main "$@" --inspect\n',
    # .ci/run installs azero; here the command must only name this project, and an extra that it has
    "pip": r"""#!/usr/bin/env bash
grep -q 'name = "azero"' pyproject.toml || exit 1
case "$*" in
  "install .") ;;
  "install .["*"]") grep -q "^$(sed 's/.*\[\(.*\)\]/\1/' <<< "$*") = \[" pyproject.toml ;;
  *) exit 1 ;;
esac
""",
}
ACTIVATE = 'export PATH="$PWD/.venv/bin:$PATH"\n'


def text_of(page: str) -> str:
    """Return a page's text."""
    return (PROJECT / page).read_text()


def blocks(page: str, language: str) -> list[str]:
    """Return the page's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return every command of a page, without comments, in order."""
    lines = (
        re.sub(r"\s+#.*", "", line).strip() for block in blocks(page, "bash") for line in block.splitlines()
    )
    return [line for line in lines if line]


def write_program(path: Path, text: str) -> None:
    """Write a file that can be run."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def make_checkout(tmp_path: Path) -> Path:
    """Make a folder like this checkout after set-up. azero comes from the path, compiled already."""
    for name in ("scripts", "tests", "pyproject.toml", "constraints.txt", "README.md"):
        (tmp_path / name).symlink_to(PROJECT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    *fork, _ = forked("")
    write_program(programs / "python", PYTHON.replace("FORK", shlex.join(fork)))
    for name, program in PROGRAMS.items():
        write_program(programs / name, program)
    (programs / "activate").write_text(ACTIVATE)
    wanted = f"{tmp_path}\n{text_of('pyproject.toml')}{text_of('constraints.txt')}"
    for extra in ("core", "dev"):
        (tmp_path / ".venv" / f"installed-{extra}").write_text(wanted)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like this checkout in which tic-tac-toe was learned."""
    folder = make_checkout(tmp_path_factory.mktemp("trained"))
    run("azero loop", folder)
    return folder


def run(command: str, folder: Path) -> None:
    """Run a command of a document in a folder; it must succeed without a traceback."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    environment["PATH"] = f"{folder / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    environment[BOX] = "1"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode in STATUSES.get(command, {0}), f"$ {command}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, f"$ {command}\n{done.stderr}"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_runs(page: str, tmp_path: Path, trained: Path) -> None:
    assert commands(page)
    checkout = make_checkout(tmp_path)
    if page != "README.md":  # the reader has a tictactoe run by then
        for kept in ("checkpoints", "data"):
            shutil.copytree(trained / kept, checkout / kept)
    for command in commands(page):
        run(command, checkout)
    runs = {path.parent.name for path in (checkout / "checkpoints").glob("*/state.json")}
    assert "tictactoe" in runs
    if page == "README.md":
        assert {"smoke", "hex5", "hex4", "second"} <= runs
    if page == "docs/training.md":
        assert {"second", "connect_four", "hex4", "by_hand"} <= runs
        assert {"smoke-seed-1", "smoke-seed-2"} <= runs


def test_pages_with_commands_are_all_tried() -> None:
    guide = {"docs/your_own_game.md", "docs/your_own_network.md"}  # test_guide.py, test_own_network.py
    assert {page for page in PAGES if blocks(page, "bash")} - guide == set(WITH_COMMANDS)


def test_the_python_interface_works(
    trained_run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("docs/players.md", "python")
    assert len([line for line in block.splitlines() if line]) == 7
    monkeypatch.chdir(trained_run.folder)
    names: dict[str, Any] = {}
    exec(compile(block.replace('"tictactoe"', f'"{trained_run.name}"'), "players.md", "exec"), names)
    assert -1.0 <= names["champion"].value(names["state"]) <= 1.0
    sides = {1, 3, 5, 7}  # the corners lose, a side keeps the draw
    assert names["champion"].best_move(names["state"]) in sides
    assert capsys.readouterr().out.strip().endswith("\nDraw")
    picture = trained_run.folder / "board.svg"
    assert picture.read_text().startswith("<svg")
    picture.unlink()  # other tests use the folder too


@pytest.mark.usefixtures("in_forks")
def test_the_python_page_works(
    trained_run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspiel"), pytest.importorskip("pettingzoo"), pytest.importorskip("pygame")
    search, recipe, openspiel, pettingzoo = blocks("docs/python.md", "python")
    names: dict[str, Any] = {}

    def execute(block: str) -> str:
        exec(compile(block.replace('"tictactoe"', f'"{trained_run.name}"'), "python.md", "exec"), names)
        return capsys.readouterr().out

    monkeypatch.chdir(trained_run.folder)
    lines = execute(search).splitlines()
    assert len(lines[-7:-1]) == 6 and lines[-1].startswith("best line: ")
    assert lines[-1].split()[2] in {"1", "3", "5", "7"}  # the corners lose, a side keeps the draw
    assert execute(openspiel) in ("[1.0, -1.0]\n", "[0.0, 0.0]\n")
    assert execute(pettingzoo).splitlines() in (["player_2 -1", "player_1 1"], ["player_2 0", "player_1 0"])
    monkeypatch.chdir(tmp_path)
    toy = (
        "cycles=1, selfplay={'games': 8}, search={'num_simulations': 4}, evaluate={'games': 0}, device='cpu'"
    )
    toy += ", network={'blocks': 1, 'channels': 4}, train={'batch_size': 16, 'epochs': 1}"
    assert "minutes=10" in recipe and '"connect_four"' in recipe
    output = execute(recipe.replace("minutes=10", toy).replace('"connect_four"', '"smoke"'))
    assert output.splitlines()[-1] == "smoke 1 checkpoints/smoke data/smoke"
    assert names["champion"].game.name == "tictactoe"


def test_the_records_example_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("docs/records.md", "python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games.sgf").write_text("(;GM[11]SZ[5]RE[W+];B[c3];W[b2])(;GM[11]SZ[5]RE[B+];B[c3];W[b3])")
    exec(compile(block, "records.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == ["('', '') [12, 6] -1.0", "('', '') [12, 11] 1.0"]
    assert len((tmp_path / "won.jsonl").read_text().splitlines()) == 1


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them: "What helped?" is what-helped."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def missing(page: str) -> list[str]:
    """Return the links of a page that lead nowhere, and the files it names that do not exist."""
    text, folder = text_of(page), (PROJECT / page).parent
    found = []
    for link in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (folder / path).resolve() if path else PROJECT / page
        if not target.exists() or (anchor and anchor not in anchors(target.relative_to(PROJECT).as_posix())):
            found.append(link)
    named = re.findall(r"`((?:azero|conf|scripts|\.ci)/[\w./]*)`", text)
    # a file that the reader writes is called mine
    return found + [name for name in named if Path(name).stem != "mine" and not (PROJECT / name).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    assert not missing(page)


def test_a_broken_link_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# It's A b\n[a](#its-a-b) [b](#its) [c](LICENSE) [d](docs/no.md)\n`azero/no.py` `conf/`\n"
    monkeypatch.setattr(sys.modules[__name__], "text_of", {"README.md": text}.__getitem__)
    assert missing("README.md") == ["#its", "docs/no.md", "azero/no.py"]


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").split()) <= 1500


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\((docs/\w+\.md)", text_of("README.md")))
    assert linked == {page for page in PAGES if re.fullmatch(r"docs/\w+\.md", page)}


def test_every_test_that_the_table_of_faults_names_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", text_of("docs/lab/faults.md"))
    assert len(named) > 30
    for file, test in named:
        (path,) = PROJECT.glob(f"tests/*/{file}")
        assert f"def {test}" in path.read_text(), f"{file}::{test}"
