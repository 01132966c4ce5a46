"""`azero NAME …` runs a program, `azero` lists them; `python -m azero` is the same."""

from __future__ import annotations

import sys

from azero.cli.programs import start


def main() -> int:
    """Run the program that the command line names; return the exit status."""
    return start(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
