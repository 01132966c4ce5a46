"""A record in words, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]


def begins(words: str) -> str:
    """Return words as they begin a sentence."""
    return words[0].upper() + words[1:]


def title(record: Record) -> str:
    """Return what is searched, and how."""
    where = f"after the moves {' '.join(record['moves'])}" if record["moves"] else "from the start"
    if "start" in record:
        where += f" of {record['start']}"
    return f"{record.get('heading', record['game'])} {where}: {record['title']}"


def board_text(record: Record) -> str:
    """Return the position at the root; the name of a legal move stands in its cell."""
    board, root = record["board"], record["nodes"][0]
    position = root["position"]
    if board is None:
        return str(position["text"])
    marks = position["marks"]
    cells = [board["symbols"][mark] for mark in marks]
    for move in root["moves"]:
        if move["cell"] is not None and move["from"] is None and not marks[move["cell"]]:
            cells[move["cell"]] = move["name"]
    width, columns = max(map(len, cells)), len(board["columns"])
    slant = 1 if board["kind"] == "hexagons" else 0
    rows = [cells[row * columns :][:columns] for row in range(len(board["rows"]))]
    return "\n".join(
        " " * (slant * row) + " ".join(cell.rjust(width) for cell in each) for row, each in enumerate(rows)
    )


def node_name(record: Record, node: int) -> str:
    """Return the move that leads to a node."""
    return str(record["nodes"][node]["name"]) if node else "the root"


def choice_title(record: Record, simulation: Record, place: int) -> str:
    """Return the title of the table of one choice."""
    choice = simulation["choices"][place]
    node = record["nodes"][choice["node"]]
    before = " ".join(node_name(record, each) for each in simulation["path"][1 : place + 1])
    where = f"after {before}" if place else "at the root"
    shared = ", ".join(
        f"moves with n = {value} are in this round" if key == "wanted" else f"{key} = {short_number(value)}"
        for key, value in choice["shared"].items()
    )
    expanded = ", expanded now" if simulation["expanded"] == choice["node"] else ""
    who = begins(record["sides"][node["to_play"]])
    return f"{who} chooses {where}{', ' if shared else ''}{shared}{expanded}"


def heads(record: Record, choice: Record) -> list[str]:
    """Return the heads of the table of one choice."""
    rule = record["rules"][choice["rule"]]
    return ["move", "n", *(head for _, head in rule["columns"]), rule["title"]]


def rows(record: Record, choice: Record) -> Iterator[tuple[list[str], bool]]:
    """Yield the table of one choice: the cells of a move, and whether it was chosen."""
    rule = record["rules"][choice["rule"]]
    for child in choice["children"]:
        terms = {**child["terms"], "w": child["sum"]}
        score = rule["untried"] if child["score"] is None else f"{child['score']:.4f}"
        cells = [short_number(terms[key]) if key in terms else "" for key, _ in rule["columns"]]
        note = f" ({child['note']})" if child["note"] else ""
        yield [child["name"], str(child["visits"]), *cells, score + note], child["action"] == choice["chosen"]


def short_number(value: float) -> str:
    """Return a number with at most three decimals."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def evaluation_text(record: Record, simulation: Record) -> str:
    """Return the evaluation: the random moves and how they ended, or the network's value."""
    evaluation = simulation["evaluation"]
    if evaluation["kind"] == "network":
        return f"network: {evaluation['value']:.3f} for {record['sides'][evaluation['to_play']]}"
    if evaluation["kind"] == "end":
        return f"the game is over: {evaluation['result']}" if evaluation["result"] else "the value is proven"
    return f"rollout: {' '.join(evaluation['moves'])}: {evaluation['result']}"


def statistic(record: Record, total: float, visits: int) -> str:
    """Return the statistic of a node."""
    if record["statistic"] == "wins":
        return f"{total:g}/{visits}"
    return f"{short_number(total / visits) if visits else '–'} ({visits})"


def update_text(record: Record, simulation: Record) -> str:
    """Return the path's nodes after the simulation."""
    return ", ".join(
        f"{node_name(record, each['node'])} {statistic(record, each['sum'][1], each['visits'][1])}"
        for each in simulation["backup"]
    )


def tree_text(record: Record) -> str:
    """Return the final tree, one line for each node, indented by its depth."""
    last = {each["node"]: each for simulation in record["simulations"] for each in simulation["backup"]}
    children: dict[int | None, list[Record]] = {}
    for node in record["nodes"]:
        children.setdefault(node["parent"], []).append(node)

    def lines(node: Record, depth: int) -> Iterator[str]:
        update = last[node["id"]]
        shown = statistic(record, update["sum"][1], update["visits"][1])
        yield "   " * depth + f"{node_name(record, node['id'])} {shown}"
        for child in sorted(children.get(node["id"], []), key=lambda each: each["action"]):
            yield from lines(child, depth + 1)

    return "\n".join(lines(record["nodes"][0], 0))


def chosen_text(record: Record) -> str:
    """Return the move after the search and why."""
    chosen = record["chosen"]
    mover = begins(record["sides"][record["nodes"][0]["to_play"]])
    why = f"{chosen['visits']} of {chosen['of']} visits, {chosen['why']}. {record['ended']}".rstrip()
    return f"{mover} plays {chosen['name']}: {why}"
