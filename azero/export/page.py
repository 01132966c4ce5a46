"""A champion as one HTML file that plays: no server, no network, nothing to install."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import azero
from azero.page.board import STATIC as SHARED

STATIC = Path(__file__).parent / "static"
WORKER = [STATIC / "weights.js", STATIC / "engine.js", STATIC / "worker.js"]
SCRIPT = [SHARED / "elements.js", SHARED / "moving.js", SHARED / "marking.js", SHARED / "board.js"]
SCRIPT += [SHARED / "keys.js", SHARED / "ears.js", STATIC / "chess.js"]
SCRIPT += [STATIC / "ends.js", STATIC / "page.js"]
STYLE = [SHARED / "palette.css", SHARED / "look.css", STATIC / "page.css"]
MODULE_WORDS = re.compile(r"^(import\b[^;]*;\n|export (?=const|let|function|async|class))", re.MULTILINE)


def page(about: dict[str, Any], wasm: bytes, weights: bytes) -> str:
    """Return the whole file.

    Args:
        about: what `static/page.js` reads: title, heading, board, chess (false or its first position and
            length), facts, layout, packing and the bytes of a weight.
        wasm: the module of the game, its search and its network.
        weights: the network's, packed.
    """
    style, script = texts(STYLE), bundle(SCRIPT)
    # nothing but this page's own script runs, and nothing is loaded or sent
    policy = (
        f"default-src 'none'; script-src '{digest(script)}' 'wasm-unsafe-eval'; worker-src blob:; "
        f"style-src '{digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "version": azero.__version__,
        "title": escape(f"{about['heading']} against azero"),
        "icon": encode((SHARED / "icon.svg").read_bytes()),
        "style": style,
        "about": json.dumps(about, ensure_ascii=False).replace("<", "\\u003c"),  # nothing may end the element
        "wasm": squeeze(wasm, 1),
        "weights": squeeze(weights, about["width"]),
        "worker": bundle(WORKER),
        "script": script,
    }
    template = (STATIC / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def texts(files: Iterable[Path]) -> str:
    """Return the texts of files, one after another."""
    return "".join(file.read_text(encoding="utf-8") for file in files)


def bundle(modules: Iterable[Path]) -> str:
    """Return modules, each behind those that it imports, as one script, which works in a file from disk."""
    return '"use strict";\n' + MODULE_WORDS.sub("", texts(modules))


def squeeze(data: bytes, width: int) -> str:
    """Return data, numbers of so many bytes, compressed as base64, which `unpack` in worker.js reads.

    All first bytes come first, then all second ones. A number's high byte takes few values, so it compresses.
    """
    return encode(zlib.compress(b"".join(data[place::width] for place in range(width)), 9))


def encode(data: bytes) -> str:
    """Return data as base64."""
    return base64.b64encode(data).decode()


def digest(text: str) -> str:
    """Return the name of an inline script or style in a content security policy."""
    return f"sha256-{encode(hashlib.sha256(text.encode()).digest())}"
