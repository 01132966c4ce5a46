"""SGF, the Smart Game Format FF[4]: https://www.red-bean.com/sgf. `docs/records.md` says what is written.

Nothing here calls itself, so no file is too deep to be read.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from azero import __version__
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.go import MOST_PLIES
from azero.records.record import (
    MOST_NODES,
    MakeGame,
    Node,
    Record,
    clean,
    cycle_in,
    game_of,
    move_names,
    named_game,
    number_in,
    once,
    one_line,
    read_object,
    result_text,
    short,
)
from azero.records.walk import ANYONE, positions

NUMBERS = {"go": 1, "othello": 2, "gomoku": 4, "hex": 11}  # GM
POINTS = ("go", "othello", "gomoku")  # a move is two letters, column and row from the top left
SIZES = {"go": 19, "othello": 8, "gomoku": 15, "hex": 11}  # without SZ
COLOURS = "BW"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NOTE = "azero: "  # begins the line of a comment that shows a search
NOTED_MOVES = 3
WIDTH = 80  # of a line, about

CHARSETS = {
    *("ascii", "utf-8", "utf-8-sig", "iso8859-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252"),
    *("koi8-r", "shift_jis", "cp932", "euc_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr", "cp949"),
}

VALUE = r"\[((?:[^\]\\]++|\\.)*+)\]"
TOKEN = re.compile(rf"\s*+(?:([();])|([A-Za-z0-9]++)\s*+((?:{VALUE}\s*+)++))", re.DOTALL)
VALUES = re.compile(VALUE, re.DOTALL)
START = re.compile(r"\(\s*+;")
CHARSET = re.compile(rb"(?<![A-Za-z])CA\s*+\[([^\]]{0,40}+)\]")
ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
FOLLOWS = {"(": ";", ")": "()"}  # what must follow a bracket

Properties = dict[str, list[str]]


# Write


def write_sgf(record: Record) -> bytes:
    """Return a record as an SGF file with one game.

    Raises:
        UserError: a move is not legal.
    """
    game, states, children = record.game, positions(record), record.children()
    texts = move_texts(game)
    lines = ["(;" + "".join(property_text(name, value) for name, value in root_properties(record).items())]
    todo: list[int | str] = [0]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines[-1] += item
            continue
        node, move = record.nodes[item], ""
        if item:
            mover = COLOURS[game.to_play(states[node.parent])]
            move = f";{mover}[{escaped(texts[node.action])}]"
        if len(lines[-1]) + len(move) > WIDTH and not lines[-1].endswith("("):
            lines.append("")
        lines[-1] += move + search_text(game, texts, node)
        if len(children[item]) == 1:
            todo += children[item]
        else:
            todo += [part for child in reversed(children[item]) for part in (")", child, "(")]
    return ("\n".join(lines) + ")\n").encode("utf-8", "replace")


def root_properties(record: Record) -> dict[str, str]:
    """Return the properties of the whole game. An empty one is not written."""
    game, sizes = record.game, {}
    if game.name in NUMBERS:
        assert game.board
        rows, columns = len(game.board.rows), len(game.board.columns)
        sizes = {"GM": str(NUMBERS[game.name]), "SZ": str(rows) if rows == columns else f"{columns}:{rows}"}
    if game.name == "go":
        sizes |= {"KM": f"{game.options['komi']:g}", "RU": "Chinese"}
    rules = {"game": game.name, "options": game.options, "outcome": record.outcome}
    if record.cycle is not None:
        rules["cycle"] = record.cycle
    return {
        "FF": "4",
        **sizes,
        "CA": "UTF-8",
        "AP": f"azero:{__version__}",
        "PB": record.players[0],
        "PW": record.players[1],
        "DT": record.date,
        "RE": record.result or result_text(record.outcome),
        "SO": record.source,
        "AZERO": json.dumps(rules, ensure_ascii=False),
    }


def property_text(name: str, value: str) -> str:
    """Return a property of one line of text; "" without text."""
    return f"{name}[{escaped(one_line(value))}]" if value else ""


def escaped(text: str) -> str:
    """Return a text for use between brackets."""
    return text.replace("\\", "\\\\").replace("]", "\\]")


def move_texts(game: Game) -> list[str]:
    """Return the actions as SGF writes them: azero's names, but two letters in the games of `POINTS`."""
    names = [game.action_name(action) for action in range(game.num_actions)]
    if game.name == "hex":
        return ["swap-pieces" if name == "swap" else name for name in names]
    if game.name not in POINTS:
        return names
    assert game.board
    columns = len(game.board.columns)
    cells = columns * len(game.board.rows)
    return [LETTERS[c % columns] + LETTERS[c // columns] for c in range(cells)] + [""] * (len(names) - cells)


def search_text(game: Game, texts: list[str], node: Node) -> str:
    """Return what a search found in a position, and the comment, as properties."""
    shares = sorted(node.policy.items(), key=lambda share: -share[1])
    policy = "".join(f"[{escaped(texts[action])}:{share:.6g}]" for action, share in shares)
    text, noted = "", []
    if node.value is not None:
        text += f"AZVALUE[{node.value:.6g}]"
        noted.append(f"value {node.value:+.2f} for the first player")
    if node.visits is not None:
        text += f"AZVISITS[{node.visits}]"
        noted.append(f"{node.visits} visits")
    if policy:
        text += f"AZPOLICY{policy}"
        noted += [f"{game.action_name(action)} {100 * share:.0f} %" for action, share in shares[:NOTED_MOVES]]
    note = NOTE + ", ".join(noted) if noted else ""
    comment = "\n".join(filter(None, [clean(node.comment), one_line(note)]))
    return text + (f"C[{escaped(comment)}]" if comment else "")


# Read


def read_sgf(data: bytes, make: MakeGame = named_game) -> Iterator[Record]:
    """Yield the games of an SGF file, one after the other, with their variations.

    Args:
        data: the file.
        make: makes the game of a record from its name and options.

    Raises:
        UserError: it is not SGF, or a game of it cannot be played by azero's rules.
    """
    text, place, number, make = decoded(data), 0, 0, once(make)
    while start := START.search(text, place):
        number += 1
        try:
            nodes, place = read_tree(text, start.start())
            record = read_game(nodes, make)
        except UserError as error:
            raise UserError(f"SGF, game {number}: {error}") from error
        yield record
    if not number:
        raise UserError('this is not SGF, because no game begins with "(;".')


def decoded(data: bytes) -> str:
    """Return the text of a file by its property CA; without one it is UTF-8, else Latin-1 as SGF says."""
    named = CHARSET.search(data)
    if named is None:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("latin-1")
    name = named[1].decode("latin-1").strip()
    try:
        charset = codecs.lookup(name).name
    except (LookupError, ValueError):
        charset = ""
    if charset not in CHARSETS:
        raise UserError(f"the SGF's charset CA[{short(name)}] is unknown; save the file as UTF-8.")
    return data.decode("utf-8-sig" if charset == "utf-8" else charset, "replace")


def read_tree(text: str, place: int) -> tuple[list[tuple[int, Properties]], int]:
    """Return the nodes of the game that begins at a place, each after its parent, and the place of its end.

    A node is its parent's number, -1 for the root, and its properties.
    """
    nodes: list[tuple[int, Properties]] = []
    branches: list[int] = []
    current, allowed = -1, "("
    while True:
        token = TOKEN.match(text, place)
        mark = token[1] or "" if token else ""
        if token is None or (allowed and (not mark or mark not in allowed)):
            raise UserError(where_broken(text, place))
        place, allowed = token.end(), FOLLOWS.get(mark, "")
        if mark == "(":
            branches.append(current)
        elif mark == ")":
            current = branches.pop()
            if not branches:
                return nodes, place
        elif mark == ";":
            nodes.append((current, {}))
            current = len(nodes) - 1
            if current == MOST_NODES:
                raise UserError(f"it has more than {MOST_NODES:,} positions.")
        else:
            name = "".join(filter(str.isupper, token[2]))  # FF[3] allowed Black[aa]
            nodes[current][1].setdefault(name, []).extend(map(unescaped, VALUES.findall(token[3])))


def where_broken(text: str, place: int) -> str:
    """Return what is wrong at a place of an SGF text."""
    rest = text[place : place + 200].split()
    if not rest:
        return "the file ends inside the game, so it may be cut off."
    return f"line {text.count(chr(10), 0, place) + 1} is not SGF at {short(rest[0][:20])}."


def unescaped(value: str) -> str:
    """Return what stands between brackets without escapes and soft line breaks."""
    return ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], clean(value))


def read_game(nodes: list[tuple[int, Properties]], make: MakeGame) -> Record:
    """Return the record of a game's nodes, after its moves were played."""
    root = nodes[0][1]
    game, outcome, cycle = read_rules(nodes, make)
    refuse_setup(game, nodes)
    record = Record(
        game,
        players=(line_of(root, "PB"), line_of(root, "PW")),
        outcome=outcome,
        result=line_of(root, "RE"),
        date=line_of(root, "DT"),
        source=line_of(root, "SO"),
        cycle=cycle,
    )
    actions = known_moves(game)
    places, movers = list[int](), [ANYONE]
    for parent, properties in nodes:
        place = places[parent] if parent >= 0 else 0
        moves = [(colour, text) for colour in COLOURS for text in properties.get(colour, ())]
        if len(moves) > 1:
            raise UserError(f"a node has {len(moves)} moves, after move {len(record.path(place))}.")
        for colour, text in moves:
            move = text.strip().lower()
            if game.name == "hex" and move in ("resign", "forfeit"):
                loser = COLOURS.index(colour)
                record.outcome, record.result = (-1.0, "W+R") if loser == 0 else (1.0, "B+R")
                continue
            if move not in actions:
                raise UserError(f"{short(text)} is not a move of {game.name}.")
            place = record.add(place, actions[move])
            if place == len(movers):
                movers.append(COLOURS.index(colour))
        places.append(place)
        read_search(record.nodes[place], properties, actions)
    try:
        positions(record, movers)
    except UserError as error:
        raise UserError(f"{str(error).removesuffix('.')} in {game.name} with {game.options}.") from error
    return record


def line_of(properties: Properties, name: str) -> str:
    """Return a property as one line; "" if there is none."""
    return one_line(properties.get(name, [""])[0])


def read_rules(nodes: list[tuple[int, Properties]], make: MakeGame) -> tuple[Game, float | None, int | None]:
    """Return the game and, if azero has written them, the outcome and the cycle."""
    root = nodes[0][1]
    if "AZERO" in root:
        rules = read_object(root["AZERO"][0], "AZERO")
        return game_of(rules, make), number_in(rules, "outcome", -1), cycle_in(rules)
    number = line_of(root, "GM").strip() or "1"
    names = {str(known): name for name, known in NUMBERS.items()}
    if number not in names:
        raise UserError(
            f"GM[{short(number)}] is a game that azero does not read; it reads "
            + ", ".join(f"{known} ({name})" for known, name in names.items())
            + "."
        )
    name = names[number]
    columns, rows = read_size(line_of(root, "SZ"), SIZES[name])
    if name == "gomoku":
        return game_of({"game": name, "options": {"rows": rows, "columns": columns}}, make), None, None
    if rows != columns:
        raise UserError(f"a board of {columns} x {rows} is not square, and azero's {name} needs that.")
    options: dict[str, Any] = {"size": rows}
    if name == "go":
        options["superko"] = (
            "simple" if line_of(root, "RU").lower() in ("japanese", "korean") else "positional"
        )
        if komi := line_of(root, "KM").strip():
            options["komi"] = number_of("KM", komi, -400, 400)
        if len(nodes) > 2 * rows * rows:  # where azero would end the game
            options["max_plies"] = min(len(nodes), MOST_PLIES)
    if name == "hex":
        texts = (text for _, node in nodes for colour in COLOURS for text in node.get(colour, ()))
        options["swap"] = any(text.strip().lower() == "swap-pieces" for text in texts)
    return game_of({"game": name, "options": options}, make), None, None


def read_size(text: str, default: int) -> tuple[int, int]:
    """Return the columns and rows of SZ."""
    size = re.fullmatch(r"\s*([0-9]{1,3})(?:\s*:\s*([0-9]{1,3}))?\s*", text) if text else None
    if text and not size:
        raise UserError(f"SZ[{short(text)}] is not the size of a board.")
    return (int(size[1]), int(size[2] or size[1])) if size else (default, default)


def refuse_setup(game: Game, nodes: list[tuple[int, Properties]]) -> None:
    """Raise UserError if stones are set up that a game does not begin with."""
    if line_of(nodes[0][1], "HA").strip() not in ("", "0", "1"):
        raise UserError("it is a handicap game, which azero does not play.")
    given: dict[str, set[str]] = {"AB": set(), "AW": set(), "AE": set()}
    for place, (_, properties) in enumerate(nodes):
        for name, stones in given.items():
            stones.update(text.strip().lower() for text in properties.get(name, ()))
            if place and name in properties:
                raise UserError("it sets up stones in the middle of the game, which azero cannot read.")
    if any(given.values()):
        marks = game.board.marks(game.initial_state()).ravel().tolist() if game.board else []
        texts = move_texts(game)
        start = [{texts[cell] for cell, mark in enumerate(marks) if mark == side} for side in (1, 2)]
        if given["AE"] or [given["AB"], given["AW"]] != start:
            raise UserError("it begins with stones that are set up, which azero cannot read.")


def known_moves(game: Game) -> dict[str, int]:
    """Return the actions by their texts in SGF and by their names, which some programs write."""
    actions = {text: action for action, text in enumerate(move_texts(game))}
    if game.name == "go":
        actions["tt"] = actions[""]  # the pass of FF[3]
    return move_names(game) | actions


def read_search(node: Node, properties: Properties, actions: dict[str, int]) -> None:
    """Read what a search found in a position, and the comment."""
    noted = False
    if "AZVALUE" in properties:
        node.value, noted = number_of("AZVALUE", properties["AZVALUE"][0], -1, 1), True
    if "AZVISITS" in properties:
        node.visits, noted = int(number_of("AZVISITS", properties["AZVISITS"][0], 0, 2**53)), True
    for text in properties.get("AZPOLICY", ()):
        move, _, share = text.rpartition(":")
        if move not in actions:
            raise UserError(f"AZPOLICY[{short(text)}] does not begin with a move.")
        node.policy[actions[move]], noted = number_of("AZPOLICY", share, 0, 1), True
    comment = clean("\n".join(properties.get("C", ())))
    if noted:
        before, _, last = comment.rpartition("\n")
        comment = before if last.startswith(NOTE) else comment
    node.comment = "\n".join(filter(None, [node.comment, comment]))


def number_of(name: str, text: str, low: float, high: float) -> float:
    """Return a number between two others.

    Raises:
        UserError: it is not.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UserError(f"{name}[{short(text)}] is not a number from {low} to {high}.")
    return value
