"""Every setting is described once, and docs/settings.md is made from the descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import settings as page_of_settings
from omegaconf import OmegaConf

from azero.cli.help import groups
from azero.cli.overrides import conf_folder
from azero.config.schema import Config, flatten, settings, value_text


@pytest.mark.parametrize("path", [page_of_settings.PAGE, page_of_settings.PLAYERS], ids=["runs", "players"])
def test_the_pages_of_settings_are_the_code_s(path: Path) -> None:
    assert path.read_text() == page_of_settings.page(path), "run python scripts/settings.py --write"


def test_the_records_hold_every_setting_and_its_default() -> None:
    assert {key: known.default for key, known in settings().items()} == flatten(Config())


def test_what_no_recipe_sets_stands_with_its_measurement_in_the_page_of_strength() -> None:
    """A setting of network, search, self-play or training that no recipe sets must earn its place."""
    used, page = set[str](), (page_of_settings.PAGE.parent / "lab" / "strength.md").read_text()
    for path in conf_folder().glob("*/*.yaml"):
        group = "" if path.parent.name == "experiment" else f"{path.parent.name}."
        written: Any = OmegaConf.to_container(OmegaConf.load(path))
        for key, value in written.items():
            inner = {f"{key}.{name}": each for name, each in value.items()} if isinstance(value, dict) else {}
            used |= {f"{group}{name}" for name, each in (inner or {key: value}).items() if each is not None}
    for key in settings().keys() - used - {"search.options", "network.file", "network.options"}:
        if key.startswith(("network.", "search.", "selfplay.", "train.")):
            assert f"`{key}" in page, f"docs/lab/strength.md does not say what {key} gains"


def test_two_configs_share_no_list() -> None:
    assert Config().evaluate.anchors is not Config().evaluate.anchors


def test_settings_of_one_algorithm_have_a_heading() -> None:
    assert "search.c_puct" in groups()["search, PUCT only"]
    assert "search.value_scale" in groups()["search, Gumbel only"]
    assert "search.num_simulations" in groups()["search"]
    assert [key for listed in groups().values() for key in listed if "." not in key] == list(groups()["run"])


@pytest.mark.parametrize(
    "value, text",
    [(19652.0, "19652"), (0.1, "0.1"), (1_000_000, "1000000"), ([10, 100], "[10,100]"), ([], "[]"),
     (None, "null"), (True, "true"), ("", '""'), ("auto", "auto"), ({}, "{}")],
)  # fmt: skip
def test_a_value_is_written_as_the_command_line_takes_it(value: object, text: str) -> None:
    assert value_text(value) == text
