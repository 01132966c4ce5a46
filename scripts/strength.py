"""Measure a champion's mistakes on solved positions.

`azero strength` with flags instead of settings: `--run NAME` is run=NAME. See azero/strength.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from azero.strength import main


def settings_of(words: Sequence[str]) -> list[str]:
    """Return flags as settings: `--run NAME` and `--run=NAME` become run=NAME; the rest stays as it is."""
    rest, settings = iter(words), list[str]()
    for word in rest:
        if word.startswith("--") and word != "--help":
            key, equals, value = word.removeprefix("--").partition("=")
            settings.append(f"{key}={value if equals else next(rest, '')}")
        else:
            settings.append(word)
    return settings


if __name__ == "__main__":
    sys.exit(main(settings_of(sys.argv[1:])))
