"""A traced search as a self-contained HTML page: one simulation at a time, with buttons and arrow keys."""

from __future__ import annotations

import json
from html import escape

import numpy as np

from azero.games.game import Game
from azero.games.kit.board import NO_CELL
from azero.games.kit.picture import cells_of_actions, draw
from azero.tracing.text import (
    Trace,
    choice_title,
    head_text,
    names,
    path_text,
    rollout_text,
    rows,
    update_text,
)
from azero.tracing.tree import grown_tree
from azero.tracing.watched_uct import Simulation

STYLE = """
body { font-family: sans-serif; margin: 1.5em auto; max-width: 68em; color: #20242b; background: #faf9f6; }
nav { margin: 1em 0; } button { font-size: 1em; padding: .3em 1em; }
.pictures { display: flex; flex-wrap: wrap; gap: 1em; }
figure { margin: 0; width: 14em; } figcaption { font-size: .9em; } figure svg { width: 100%; }
.tables { display: flex; flex-wrap: wrap; gap: 2em; }
table { border-collapse: collapse; margin: .6em 0; } tr.chosen { background: #cfe8cf; }
caption { text-align: left; font-weight: bold; padding: .3em 0; }
th, td { text-align: right; padding: .1em .8em; border-bottom: 1px solid #ddd; }
#grown { max-height: 34em; overflow: auto; border: 1px solid #ddd; background: white; }
#grown text { font-size: 12px; paint-order: stroke; stroke: white; stroke-width: 5px; }
#grown line { stroke: #b9c0c8; } #grown circle { fill: #7d8a99; }
#grown line.path { stroke: #2e8b57; stroke-width: 3; } #grown .path circle { fill: #2e8b57; }
#grown .path text { font-weight: bold; } #grown .new circle { stroke: #e07b00; stroke-width: 3; }
"""

COLUMN, LINE, EDGE = 150, 18, 14  # pixels from a node to its children, from leaf to leaf, around the tree

SCRIPT = """
const simulations = document.querySelectorAll("section"), at = document.getElementById("at");
const nodes = JSON.parse(document.getElementById("nodes").textContent);
const drawing = document.querySelector("#grown svg");
const make = (kind, parent, values) => {
  const made = document.createElementNS(drawing.namespaceURI, kind);
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value);
  return parent.appendChild(made);
};
const lines = make("g", drawing, {});  // below every label
for (const node of nodes) {
  node.group = make("g", drawing, {});
  const above = nodes[node.parent] || node;
  node.line = make("line", lines, {x1: above.x, y1: above.y, x2: node.x, y2: node.y});
  node.circle = make("circle", node.group, {cx: node.x, cy: node.y});
  node.label = make("text", node.group, {x: node.x + 12, y: node.y + 4});
}
function grow() {
  for (const node of nodes) {
    const last = node.passed.filter(each => each[0] <= shown).pop();
    node.group.style.display = node.line.style.display = last ? "" : "none";
    if (!last) continue;
    const [simulation, visits, wins] = last;
    node.circle.setAttribute("r", Math.min(9, 3 + Math.log2(visits)));
    node.label.textContent = `${node.move} ${wins}/${visits}`;
    node.line.setAttribute("class", simulation === shown ? "path" : "");
    const path = simulation === shown ? "path" : "", fresh = node.passed[0][0] === shown ? "new" : "";
    node.group.setAttribute("class", `${path} ${fresh}`);
  }
}
let shown = 0;
function show(which) {
  simulations[shown].hidden = true;
  shown = Math.max(0, Math.min(simulations.length - 1, which));
  simulations[shown].hidden = false;
  at.textContent = `simulation ${shown + 1} of ${simulations.length}`;
  grow();
}
document.getElementById("back").onclick = () => show(shown - 1);
document.getElementById("next").onclick = () => show(shown + 1);
document.onkeydown = event => {
  if (event.key === "ArrowLeft") show(shown - 1);
  if (event.key === "ArrowRight") show(shown + 1);
};
show(0);
"""


def page(trace: Trace) -> str:
    """Return the whole file."""
    title = escape(f"{trace.game.name}: UCT, one simulation after another")
    sections = "\n".join(section(trace, simulation) for simulation in trace.simulations)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>After the moves: {escape(names(trace.game, trace.moves))}.</p>\n"
        f"<p>{escape(head_text(trace))}</p>\n"
        '<nav><button id="back">back</button> <button id="next">next</button> <span id="at"></span></nav>\n'
        f"{tree_drawing(trace)}\n{sections}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def tree_drawing(trace: Trace) -> str:
    """Return the tree, which the script draws: w/n at each node, the path green, a new node with a ring."""
    nodes = grown_tree(trace.simulations)
    width = COLUMN * (1 + max(len(node.path) for node in nodes)) + EDGE
    height = LINE * max(node.row for node in nodes) + 2 * EDGE
    listed = [
        {
            "x": EDGE + COLUMN * len(node.path),
            "y": EDGE + LINE * node.row,
            "parent": node.parent,
            "move": trace.game.action_name(node.path[-1]) if node.path else "root",
            "passed": node.passed,
        }
        for node in nodes
    ]
    data = json.dumps(listed).replace("<", "\\u003c")  # nothing in it may end the element
    return (
        f'<div id="grown"><svg width="{width}" height="{height:g}" role="img" aria-label="the tree"></svg>'
        "</div>\n"
        f'<script type="application/json" id="nodes">{data}</script>'
    )


def section(trace: Trace, simulation: Simulation) -> str:
    """Return one simulation."""
    game = trace.game
    tables = "\n".join(table(game, simulation, place) for place in range(len(simulation.choices)))
    path = [choice.chosen for choice in simulation.choices]
    pictures = [
        picture(game, trace.start, "visits of each move, after the update", simulation.root_visits),
        picture(game, simulation.leaf, f"the leaf, after {names(game, path)}"),
        picture(game, simulation.end, "the end of the rollout"),
    ]
    return (
        f"<section hidden>\n<p><b>Path</b>: {escape(path_text(game, simulation))}</p>\n"
        f"<p><b>Rollout</b>: {escape(rollout_text(game, simulation))}</p>\n"
        f"<p><b>Update</b>, w/n: {escape(update_text(game, simulation))}</p>\n"
        f'<div class="pictures">{"".join(pictures)}</div>\n<div class="tables">{tables}</div>\n</section>'
    )


def picture(game: Game, state: np.ndarray, caption: str, visits: np.ndarray | None = None) -> str:
    """Return a position, with the visits [A] of its moves in its cells; as text if the game has no board."""
    if game.board is None:
        drawn = f"<pre>{escape(game.format_state(state))}</pre>"
    elif visits is None:
        drawn = draw(game.board, state)
    else:
        shown = np.where(visits > 0, visits, np.nan)
        cells = cells_of_actions(game.board, state, shown)
        drawn = draw(game.board, state, NO_CELL, cells, cells / visits.sum())
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def table(game: Game, simulation: Simulation, place: int) -> str:
    """Return the table of one choice."""
    lines = ""
    for *cells, chosen in rows(game, simulation.choices[place]):
        columns = "".join(f"<td>{escape(cell)}</td>" for cell in map(str, cells))
        lines += f'<tr class="{"chosen" if chosen else ""}">{columns}</tr>'
    head = "<tr><th>move</th><th>n</th><th>w</th><th>UCB1</th></tr>"
    return f"<table><caption>{escape(choice_title(game, simulation, place))}</caption>{head}{lines}</table>"
