"""Shared fixtures: azero for subprocesses, programs as a user starts them, and one small trained run."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import forks
import pytest
from filelock import FileLock
from forks import azero_command, forked
from hypothesis import settings
from pages import PATIENCE, Chromium, opener, served
from places import PROJECT
from running import RunProgram, TrainedRun

from azero.process.ending import collect_seldom
from azero.run.folder import SHIPPED_RUNS
from azero.run.state import State, run_digest
from azero.studio import threads

if TYPE_CHECKING:
    from toy import ToyUntil

    from azero.config.schema import Config
    from azero.games.game import Game

# Enough training that the search of 20 simulations answers all fixed positions right, in a few seconds.
TRAINED = ("cycles=5", "seed=1")
MAKING = 900  # seconds that it may take where nothing is compiled yet and other programs run
MANY = 1000  # tests: nearly all are asked for


def pytest_configure(config: pytest.Config) -> None:
    """Let subprocesses import azero from this checkout, from any folder, on one thread, and heed signals.

    Hypothesis gives an example no deadline: how long it takes depends on what else the machine does.
    """
    collect_seldom()
    threads.NICE = 0  # else the studio's searches get no time beside other tests
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # A shell lets its background jobs ignore Ctrl-C, and nohup the end of the terminal. Programs under test
    # would inherit that, but not a handler that does nothing.
    for number in {"SIGINT", "SIGHUP"} & set(signal.Signals.__members__):
        if signal.getsignal(signal.Signals[number]) is signal.SIG_IGN:
            signal.signal(signal.Signals[number], lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def _empty_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the champions that come with azero, so that no test depends on which these are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("azero.run.folder.SHIPPED_RUNS", tmp_path_factory.mktemp("shipped"))
        yield


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Show the champions that come with azero; return their folder. Forks never see them."""
    monkeypatch.setattr("azero.run.folder.SHIPPED_RUNS", SHIPPED_RUNS)
    return SHIPPED_RUNS


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def game() -> Game:
    """Tic-tac-toe."""
    from azero.games import make_game  # here, because it compiles

    return make_game("tictactoe")


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes most of a small run's time and decides nothing: its stats, and careful timing."""
    monkeypatch.setattr("azero.stages.measure.report_cycle", lambda *of: None)
    monkeypatch.setattr("azero.stages.measure.report_run", lambda *of: None)
    monkeypatch.setattr("azero.network.choosing.TIMING_SECONDS", 0.01)


@pytest.fixture(scope="session")
def undisturbed_run(tmp_path_factory: pytest.TempPathFactory) -> State:
    """The end of the toy run, which nothing disturbs."""
    from toy import advance, toy_config  # here, because it imports the whole loop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("azero.stages.measure.report_cycle", lambda *of: None)  # it decides nothing
        return advance(toy_config(tmp_path_factory.mktemp("undisturbed")))


@pytest.fixture(scope="session")
def undisturbed(undisturbed_run: State) -> str:
    """The digest of the toy run."""
    return run_digest(undisturbed_run)


@pytest.fixture(scope="session")
def toy_until(tmp_path_factory: pytest.TempPathFactory) -> ToyUntil:
    """Put the toy run into a folder as it is before a stage of its first cycle: a copy of one."""
    from toy import advance, toy_config  # here, because it imports the whole loop

    made = dict[str, Path]()

    def copy(folder: Path, stage: str) -> Config:
        if stage not in made:
            made[stage] = tmp_path_factory.mktemp(stage)
            advance(toy_config(made[stage]), until=stage)
        shutil.copytree(made[stage], folder, dirs_exist_ok=True)
        return toy_config(folder)

    return copy


@pytest.fixture(scope="session")
def run_program() -> RunProgram:
    """Start `azero <name>` with arguments, in a folder, and wait for it."""

    def run(
        name: str, *arguments: str, folder: Path, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        started = azero_command(name, *arguments)
        return subprocess.run(started, capture_output=True, text=True, cwd=folder, timeout=timeout)

    return run


@pytest.fixture
def in_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs that azero starts as processes be forks. What imports read stays as it is."""
    forks.address()  # starts them
    real = subprocess.Popen

    def start(words: list[str], *, env: Any = None, **options: Any) -> subprocess.Popen[Any]:
        if words[:2] == [sys.executable, "-m"]:
            words = forked(*words[2:])
            late = {name: value for name, value in (env or {}).items() if not forks.READ.match(name)}
            env = {**os.environ, **late}
        return real(words, env=env, **options)

    monkeypatch.setattr(subprocess, "Popen", start)


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """A small trained run, made once in a test session, whoever asks first; the other workers wait for it."""
    base = tmp_path_factory.getbasetemp()
    return make_trained_run(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


def make_trained_run(shared: Path) -> TrainedRun:
    """Return the trained run of the test session, after making it in a folder if it is not there."""
    folder, output = shared / "trained", shared / "trained" / "output.txt"
    with FileLock(shared / "trained.lock"):
        if not output.exists():
            folder.mkdir(exist_ok=True)
            words = azero_command("loop", *TRAINED, "run=trained")
            done = subprocess.run(words, capture_output=True, text=True, cwd=folder, timeout=MAKING)
            assert done.returncode == 0, done.stderr
            output.write_text(done.stdout)
    return TrainedRun(folder, "trained", output.read_text())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a story in a browser twice; the report names those that needed it (R).

    A test of the trained run may have to wait for it.
    """
    for item in items:
        if "trained_run" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(MAKING + 300))
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Let one worker make the trained run before its first test of the suite: it compiles most of the code.

    Two workers that need the same code at the same time would both compile it; the others begin with tests of
    rules. Garbage is not looked for in what has been imported.
    """
    gc.freeze()
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0" and len(session.items) > MANY:
        factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        make_trained_run(factory.getbasetemp().parent)  # another worker computes beside it


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser of a test session; tests are skipped where it or Playwright is missing."""
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium")
    driver.expect.set_options(timeout=PATIENCE)
    with closing(Chromium(found)) as started:
        yield started


@pytest.fixture
def browser(chromium: Chromium) -> Any:
    """Chromium that answers, if need be a new one."""
    return chromium.answering()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """A page of a studio, without a browser, allowed to ask."""
    from studio import client_of, make_studio  # here, because they need the extra `studio`

    with client_of(make_studio(tmp_path)) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address, with its token, of a studio of a module, which offers the module's OFFERED."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with served(tmp_path_factory.mktemp("studio"), getattr(request.module, "OFFERED", "")) as where:
        yield where


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open a page of a module's studio, by default at 1280 × 800, and wait for its board.

    At the end no page may have had an error of its own.
    """
    with opener(browser) as open_address:
        yield lambda place="", **options: open_address(address + place, **options)
