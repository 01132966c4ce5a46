"""SGF, the Smart Game Format FF[4]: https://www.red-bean.com/sgf. `docs/records.md` says what is written.

Nothing here calls itself, so no file is too deep to be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import azero
from azero.config.schema import UserError
from azero.games.checked import ANYONE, REPEATS
from azero.games.game import Game
from azero.games.kit.board import EMPTY, FIRST, SECOND
from azero.games.titles import describe_game
from azero.records.charsets import readings
from azero.records.record import (
    MOST_NODES,
    NONE,
    NOTE,
    MakeGame,
    MoveNames,
    Record,
    RecordNode,
    Refuse,
    clean,
    cycle_in,
    game_of,
    named_game,
    number_in,
    once,
    one_line,
    raise_error,
    read_object,
    result_text,
    short,
    text_in,
)
from azero.records.sgf_rules import (
    LETTERS,
    NUMBERS,
    SWAPS,
    Properties,
    cell_points,
    foreign_game,
    line_of,
    may_repeat,
    set_up_in,
)
from azero.records.walk import positions, sentence, walk_through

POINTS = ("go", "othello", "gomoku")  # a move is two letters, column and row from the top left
RESIGNATIONS = ("resign", "forfeit")
COLOURS = "BW"
WIDTH = 80  # of a line, about

VALUE = r"\[((?:[^\]\\]++|\\.)*+)\]"
TOKEN = re.compile(rf"\s*+(?:([();])|([A-Za-z0-9]++)\s*+((?:{VALUE}\s*+)++))", re.DOTALL)
VALUES = re.compile(VALUE, re.DOTALL)
START = re.compile(r"\(\s*+;")
BARE_START = re.compile(
    r"\(\s*+[A-Z]{1,2}\s*+\["
)  # in a file of a program that leaves out the first semicolon
ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
PROPERTY = "["  # a kind of token, beside the three marks
FOLLOWS = {"": "(", "(": ";[", ")": "()", ";": "();[", PROPERTY: "();["}  # kinds, by the one before
READ = {  # properties that a record has in its own words; the others are kept as they are
    *("FF", "GM", "SZ", "CA", "AP", "PB", "PW", "DT", "RE", "SO", "KM", "AB", "AW", "AE", "B", "W", "C"),
    *("PL", "AZERO", "AZVALUE", "AZVISITS", "AZPOLICY"),
}


# Write


def write_sgf(record: Record) -> bytes:
    """Return a record as an SGF file with one game.

    Raises:
        UserError: a move is not legal.
    """
    game, states, children = record.game, positions(record), record.children()
    named = MoveNames(record)
    texts = move_texts(game)

    def text_of(place: int, action: int) -> str:
        return texts[action] if texts else named.name(place, action)

    lines = ["(;" + "".join(property_text(name, value) for name, value in root_properties(record).items())]
    lines[0] += setup_text(record)
    todo: list[int | str] = [0]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines[-1] += item
            continue
        node, move = record.nodes[item], ""
        if item:
            mover = COLOURS[game.to_play(states[node.parent])]
            move = f";{mover}[{escaped(text_of(node.parent, node.action))}]"
        if len(lines[-1]) + len(move) > WIDTH and not lines[-1].endswith("("):
            lines.append("")
        lines[-1] += move + kept_text(node) + search_text(named, item, text_of)
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
    if "RU" in record.nodes[0].properties:
        sizes["RU"] = record.nodes[0].properties["RU"][0]
    rules = {"game": game.name, "options": game.options, "outcome": record.outcome}
    if record.start:
        rules["position"] = record.start
    if record.cycle is not None:
        rules["cycle"] = record.cycle
    return {
        "FF": "4",
        **sizes,
        "CA": "UTF-8",
        "AP": f"azero:{azero.__version__}",
        "PB": record.players[0],
        "PW": record.players[1],
        "DT": record.date,
        "RE": record.result or result_text(record.outcome),
        "SO": record.source,
        "AZERO": json.dumps(rules, ensure_ascii=False),
    }


def setup_text(record: Record) -> str:
    """Return the stones of a first position that is not the game's own, and who is to play, as properties."""
    game = record.game
    if not record.start or game.name not in POINTS or not game.board:
        return ""
    state, texts = record.first_state(), move_texts(game)
    new, old = (game.board.marks(each).ravel() for each in (state, game.initial_state()))
    text = ""
    for mark, name in ((FIRST, "AB"), (SECOND, "AW"), (EMPTY, "AE")):
        cells = [cell for cell in range(new.size) if new[cell] == mark and (mark or old[cell])]
        text += name * bool(cells) + "".join(f"[{texts[cell]}]" for cell in cells)
    return f"{text}PL[{COLOURS[game.to_play(state)]}]"


def property_text(name: str, value: str) -> str:
    """Return a property of one line of text; "" without text."""
    return f"{name}[{escaped(one_line(value))}]" if value else ""


def kept_text(node: RecordNode) -> str:
    """Return the properties that a node keeps of a file; `root_properties` writes RU."""
    return "".join(
        name + "".join(f"[{escaped(value)}]" for value in values)
        for name, values in node.properties.items()
        if name != "RU"
    )


def escaped(text: str) -> str:
    """Return a text for use between brackets."""
    return text.replace("\\", "\\\\").replace("]", "\\]")


def move_texts(game: Game) -> list[str]:
    """Return the actions as SGF writes them: azero's names, but two letters in the games of `POINTS`.

    None where names depend on the position.
    """
    if not game.fixed_names:
        return []
    start = game.initial_state()
    names = [game.action_name(start, action) for action in range(game.num_actions)]
    if game.name == "hex":
        return ["swap-pieces" if name == "swap" else name for name in names]
    if game.name not in POINTS:
        return names
    assert game.board
    points = cell_points(len(game.board.columns), len(game.board.rows))
    return points + [""] * (len(names) - len(points))


def search_text(named: MoveNames, place: int, text_of: Callable[[int, int], str]) -> str:
    """Return what a search found at a node, and the comment, as properties; text_of: as SGF writes moves."""
    node = named.record.nodes[place]
    shares = node.best_first()
    policy = "".join(f"[{escaped(text_of(place, action))}:{share:.6g}]" for action, share in shares)
    text = "" if node.value is None else f"AZVALUE[{node.value:.6g}]"
    text += "" if node.visits is None else f"AZVISITS[{node.visits}]"
    text += f"AZPOLICY{policy}" if policy else ""
    note = node.note(lambda action: named.name(place, action))
    comment = "\n".join(filter(None, [clean(node.comment), one_line(note)]))
    return text + (f"C[{escaped(comment)}]" if comment else "")


# Read

NOT_SGF = 'this is not SGF, because no game begins with "(;", and not PGN, JSON lines or Parquet.'


def read_sgf(data: bytes, make: MakeGame = named_game, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Yield the games of an SGF file, one after the other, with their variations.

    Args:
        data: the file.
        make: makes the game of a record from its name and options.
        refuse: receives what is wrong with a game that azero does not play, and is left out if that returns.

    Raises:
        UserError: it is not SGF, or a game of it cannot be played by azero's rules.
    """
    text, place, number, make = read_text(data), 0, 0, once(make)
    start_of = start_in(text)
    while start := start_of.search(text, place):
        number += 1
        try:
            nodes, place = read_tree(text, start.start())
        except UserError as error:  # where the next game begins is not known
            raise UserError(f"SGF, game {number}: {error}") from error
        try:
            record = read_game(nodes, make)
        except UserError as error:
            refuse(UserError(f"SGF, game {number}: {error}"))
            continue
        yield record
    if not number:
        raise UserError(NOT_SGF)


def read_text(data: bytes) -> str:
    """Return the text of a file: of its readings the one with the most values."""
    texts = readings(data)
    return texts[0] if len(texts) == 1 else max(texts, key=values_of)


def start_in(text: str) -> re.Pattern[str]:
    """Return how the games of a text begin."""
    return START if START.search(text) else BARE_START


def values_of(text: str) -> int:
    """Return how many values the games of a text have, up to the first broken game."""
    count, place, start_of = 0, 0, start_in(text)
    while start := start_of.search(text, place):
        try:
            nodes, place = read_tree(text, start.start())
        except UserError:
            break
        count += sum(len(values) for _, node in nodes for values in node.values())
    return count


def read_tree(text: str, place: int) -> tuple[list[tuple[int, Properties]], int]:
    """Return the nodes of the game that begins at a place, each after its parent, and the place of its end.

    A node is its parent's number, -1 for the root, and its properties.
    """
    nodes: list[tuple[int, Properties]] = []
    branches: list[int] = []
    current, before = -1, ""
    while True:
        token = TOKEN.match(text, place)
        kind = token[1] or PROPERTY if token else ""
        if token is None or kind not in FOLLOWS[before]:
            raise UserError(where_broken(text, place))
        if kind == "(":
            branches.append(current)
        elif kind == ")":
            current = branches.pop()
            if not branches:
                return nodes, token.end()
        if kind == ";" or (kind == PROPERTY and before == "("):
            nodes.append((current, {}))
            current = len(nodes) - 1
            if current == MOST_NODES:
                raise UserError(f"it has more than {MOST_NODES:,} positions.")
        if kind == PROPERTY:
            name = "".join(filter(str.isupper, token[2])) or token[2].upper()  # FF[3] allowed Black[aa]
            nodes[current][1].setdefault(name, []).extend(map(unescaped, VALUES.findall(token[3])))
        place, before = token.end(), kind


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
    root, start = nodes[0][1], ""
    if "AZERO" in root:
        rules = read_object(root["AZERO"][0], "AZERO")
        game, outcome, cycle = game_of(rules, make), number_in(rules, "outcome", -1), cycle_in(rules)
        start = text_in(rules, "position")
    else:
        game, outcome, cycle = foreign_game(nodes, make), None, None
    start = start or set_up_in(nodes, game, move_texts(game) if game.name in POINTS else [])
    record = Record(
        game,
        players=(line_of(root, "PB"), line_of(root, "PW")),
        outcome=outcome,
        result=line_of(root, "RE"),
        date=line_of(root, "DT"),
        source=line_of(root, "SO"),
        cycle=cycle,
        start=start,
    )
    named = named_moves(record)
    movers = add_nodes(named, nodes)
    if game.name == "go":
        record.nodes[0].properties.setdefault("RU", [""])  # nothing is said of the rules
    record = played(record, movers, named.known.get("", NONE), may_repeat(game, root), make)
    if "AZERO" in root or game.name != "go":  # in Go dead stones may be left that azero counts as alive
        record.end_by_rules()
    return record


def add_nodes(named: MoveNames, nodes: list[tuple[int, Properties]]) -> list[int]:
    """Add the nodes of a file to a record; return who makes the move to each of its nodes.

    In Hex the stone of the first move may stay where it is after a swap, and the same colour moves again: the
    persons have exchanged their sides. That is azero's swap seen in a mirror, so what follows is mirrored.
    """
    record, game = named.record, named.game
    places, mirrored, movers = list[int](), list[bool](), [ANYONE]
    swap = named.known.get("swap", NONE) if game.name == "hex" else NONE
    for parent, properties in nodes:
        place, mirror = (places[parent], mirrored[parent]) if parent >= 0 else (0, False)
        moves = [(colour, text) for colour in COLOURS for text in properties.get(colour, ())]
        if len(moves) > 1:
            raise UserError(f"a node has {len(moves)} moves, after move {len(record.path(place))}.")
        for colour, text in moves:
            mover, move = COLOURS.index(colour), text.strip().lower()
            if swap != NONE and record.nodes[place].action == swap:
                mirror = mover == 1
            mover = 1 - mover if mirror else mover
            action = named.action(place, move if game.fixed_names else text.strip())
            if move in RESIGNATIONS and action is None:
                record.outcome, record.result = (-1.0, "W+R") if mover == 0 else (1.0, "B+R")
                continue
            if action is None:
                raise named.wrong(place, text)
            if mirror:
                size = game.options["size"]
                action = action % size * size + action // size
            place = record.add(place, action)
            if place == len(movers):
                movers.append(mover)
        places.append(place)
        mirrored.append(mirror)
        read_search(named, place, properties)
        if not mirror:
            record.nodes[place].keep({name: properties[name] for name in properties if name not in READ})
    return movers


def played(record: Record, movers: list[int], passing: int, may_repeat: bool, make: MakeGame) -> Record:
    """Return a record whose moves have been played, without the passes after its end.

    Args:
        record: of a file.
        movers: who makes the move to each node.
        passing: the action that passes; NONE if the game has none.
        may_repeat: whether the game goes on by the simple ko if a position comes back.
        make: makes that game.

    Raises:
        UserError: a move is wrong.
    """
    walked = walk_through(record, movers, passing)
    if walked.wrong == REPEATS and may_repeat:
        options = record.game.options | {"superko": "simple"}
        record.game = game_of({"game": record.game.name, "options": options}, make)
        walked = walk_through(record, movers, passing)
    if walked.wrong:
        game = describe_game(record.game.name, record.game.options)
        raise UserError(f"{sentence(record, walked)} in {game}.")
    return record.without(walked.dropped) if walked.dropped.any() else record


def named_moves(record: Record) -> MoveNames:
    """Return the moves by their texts in SGF and by their names, which some programs write."""
    named, game, texts = MoveNames(record), record.game, move_texts(record.game)
    actions = named.known | {text: action for action, text in enumerate(texts)}
    if game.name == "go":
        # the pass of FF[3], and the point beyond the last one
        beyond = LETTERS[game.options["size"]]
        actions["tt"] = actions[beyond + beyond] = actions[""]
    if game.name == "hex":
        size = game.options["size"]
        points = {point: cell for cell, point in enumerate(cell_points(size, size))}  # Little Golem's
        swaps = dict.fromkeys(SWAPS, size * size) if game.options["swap"] else {}
        actions = points | actions | swaps
    named.known = actions
    return named


def read_search(named: MoveNames, place: int, properties: Properties) -> None:
    """Read what a search found at a node, and the comment."""
    node, noted = named.record.nodes[place], False
    if "AZVALUE" in properties:
        node.value, noted = number_of("AZVALUE", properties["AZVALUE"][0], -1, 1), True
    if "AZVISITS" in properties:
        node.visits, noted = int(number_of("AZVISITS", properties["AZVISITS"][0], 0, 2**53)), True
    for text in properties.get("AZPOLICY", ()):
        move, _, share = text.rpartition(":")
        action = named.action(place, move)
        if action is None:
            raise UserError(f"AZPOLICY[{short(text)}] does not begin with a move.")
        node.policy[action], noted = number_of("AZPOLICY", share, 0, 1), True
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
