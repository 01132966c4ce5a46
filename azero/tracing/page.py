"""A record as one HTML file that needs nothing else and opens from disk."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from azero.page.board import STATIC as SHARED
from azero.tracing.text import title

STATIC = Path(__file__).parent / "static"  # trace.js and trace.css, also for other programs
STYLE = (SHARED / "palette.css", STATIC / "trace.css")


def page(record: dict[str, Any]) -> str:
    """Return the whole file."""
    style = "".join(file.read_text(encoding="utf-8") for file in STYLE)
    script = (STATIC / "trace.js").read_text(encoding="utf-8")
    data = json.dumps(record, ensure_ascii=False).replace("<", "\\u003c")  # nothing in it may end the element
    return (
        '<!DOCTYPE html>\n<html lang="en" class="azero-trace-page">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title(record))}</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body>\n<main>\n<h1>{escape(title(record))}</h1>\n<div id="trace"></div>\n</main>\n'
        f'<script type="application/json" id="record">{data}</script>\n<script type="module">\n{script}\n'
        'mountTrace(document.getElementById("trace"), '
        'JSON.parse(document.getElementById("record").textContent));\n'
        "</script>\n</body>\n</html>\n"
    )
