"""PGN, Portable Game Notation, for chess and its variants: https://www.saremba.de/chessgml/standards/pgn.

`docs/records.md` says what is written. White is the first player. Nothing here calls itself, so no file is
too deep to be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.kit.fen import read_fen
from azero.records.record import (
    MOST_NODES,
    NONE,
    NOTE,
    MakeGame,
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
    short,
    text_in,
    wrong_move,
)
from azero.records.signs import NAG, SIGNS, TAG, centipawns
from azero.records.walk import positions

VARIANTS = {  # of the tag Variant, in small letters
    **dict.fromkeys(("", "standard", "chess", "classical", "normal", "from position"), "standard"),
    **dict.fromkeys(("gardner", "gardner minichess", "minichess"), "gardner"),
    **dict.fromkeys(("losalamos", "los alamos", "los alamos chess"), "losalamos"),
}
RESULTS = {"1-0": 1.0, "0-1": -1.0, "1/2-1/2": 0.0, "1/2": 0.0, "*": None}
TAGS = {  # that a record keeps as a property of SGF, see `RecordNode.properties`
    **{"Event": "EV", "Site": "PC", "Round": "RO", "WhiteElo": "BR", "BlackElo": "WR"},
    **{"Annotator": "AN", "Opening": "ON", "TimeControl": "TM"},
}
ROSTER = ("Event", "Site", "Date", "Round", "White", "Black", "Result")  # always written, in this order
OWN = {
    *ROSTER,
    *TAGS,
    *["Azero", "FEN", "SetUp", "Variant", "Source", "PlyCount"],
}  # others are kept
WIDTH = 80  # of a line of moves, comments aside
MOST_PLIES = 9_999  # of chess in azero
MOST_BEFORE = 2**16  # bytes of comments before a game
MOST_TOKENS = 10 * MOST_NODES  # of a game
TOKEN = re.compile(
    r"""\s*+(?:
    (?P<tag>\[\s*+[A-Za-z0-9_]++\s*+"(?:[^"\\\n]++|\\.)*+"\s*+\])
    |\{(?P<comment>[^}]*+)\}
    |;(?P<line>[^\n]*+)
    |(?P<open>\()
    |(?P<close>\))
    |\$(?P<nag>[0-9]{1,4}+)
    |(?P<result>1-0|0-1|1/2-1/2|1/2|\*)(?![^\s()\[{;])
    |(?P<number>[0-9]{1,6}+(?:\s*+\.++|(?=\s|\Z))|\.++|e\.?p\.(?=\s|\Z))
    |(?P<sign>[!?]{1,2}+|\+/[-=]|[-=]/\+|\+[=−-]|[=−-]\+|[=□∞⩲⩱±∓⨀]|N(?=[\s)]|\Z))
    |(?P<null>--|Z0)(?=[\s(){;]|\Z)
    |(?P<move>[A-Za-z0-9][A-Za-z0-9=+\#:@-]*+(?:\([QRBN]\)|/[QRBN]|\.p\.)?+[+\#]*+)
    )""",
    re.VERBOSE,
)
WRITTEN_TAG = re.compile(r'\[\s*([A-Za-z0-9_]+)\s*"(.*)"', re.DOTALL)
ESCAPE = re.compile(r"^%[^\n]*\n?", re.MULTILINE)  # a line for other programs
BLANK = re.compile(r"\s*+")
TAG_NAME = re.compile(r"[A-Za-z0-9_]+")
WRITTEN_NAG = re.compile(r"[0-9]{1,4}")
OWN_EVAL = re.compile(r"\[%eval [^\]\s]*\](?=\[%azvalue )")
COMMAND = re.compile(r"\[%(az\w+)\s+([^\]]*)\]\s*")


class Token(NamedTuple):
    """A part of a file: its kind and its text."""

    kind: str
    text: str


# Write


def write_pgn(record: Record) -> bytes:
    """Return a record as a PGN file with one game.

    Raises:
        UserError: the game is not chess, or a move is not legal.
    """
    if record.game.name != "chess":
        raise UserError(f"PGN holds games of chess, not of {record.game.name}; write .sgf or .jsonl.")
    states, children = positions(record), record.children()
    result = next((text for text, value in RESULTS.items() if value == record.outcome), "*")
    tags = "\n".join(f'[{name} "{quoted(value)}"]' for name, value in tags_of(record, result).items())
    plies = [first_number(record.game, states[0])]
    for node in record.nodes[1:]:
        plies.append(plies[node.parent] + 1)
    lines, shows = [""], True

    def add(token: str) -> None:
        if lines[-1] and len(lines[-1]) + len(token) >= WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] and lines[-1][-1] != "(" and token != ")" else "") + token

    for token in notes_of(record, 0, states[0]):
        add(token)
    todo: list[int | str | tuple[int]] = [(0,)]  # a move, a parenthesis, or what follows a node
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            below = children[item[0]]
            alternatives = [part for child in below[1:] for part in ("(", child, (child,), ")")]
            todo += [(below[0],), *alternatives[::-1], below[0]] if below else []
        elif isinstance(item, str):
            add(item)
            shows = True
        else:
            node, before = record.nodes[item], states[record.nodes[item].parent]
            number, is_second = divmod(plies[node.parent], 2)
            if shows or not is_second:
                add(f"{number + 1}{'...' if is_second else '.'}")
            add(record.game.move_text(before, node.action))
            notes = notes_of(record, item, states[item])
            for token in notes:
                add(token)
            shows = bool(notes)
    add(result)
    return (f"{tags}\n\n" + "\n".join(lines) + "\n\n").encode("utf-8", "replace")


def tags_of(record: Record, result: str) -> dict[str, str]:
    """Return the tags of a game."""
    kept = record.nodes[0].properties
    tags = {name: kept[each][0] for name, each in TAGS.items() if kept.get(each)}
    date = record.date.replace("-", ".") if re.fullmatch(r"\d{4}(-\d\d){0,2}", record.date) else "????.??.??"
    known = {
        "Date": (date + ".??.??")[:10],
        "White": record.players[0],
        "Black": record.players[1],
        "Result": result,
    }
    tags = {name: (known | tags).get(name) or "?" for name in ROSTER} | tags
    others = [text.partition(" ") for text in kept.get(TAG, ())]
    tags |= {name: text for name, _, text in others if name not in OWN and TAG_NAME.fullmatch(name)}
    rules: dict[str, Any] = {"game": record.game.name, "options": record.game.options}
    rules |= {"outcome": record.outcome, "result": record.result}
    if record.cycle is not None:
        rules["cycle"] = record.cycle
    if (variant := record.game.options["variant"]) != "standard":
        tags["Variant"] = variant
    if record.start or record.game.options["start"]:
        tags |= {"SetUp": "1", "FEN": record.game.text(record.first_state())}
    if record.source:
        tags["Source"] = record.source
    return tags | {"Azero": json.dumps(rules, ensure_ascii=False)}


def quoted(text: str) -> str:
    """Return a text for use in a tag."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def first_number(game: Game, state: np.ndarray) -> int:
    """Return how many plies come before a position by its FEN."""
    return read_fen(game.text(state), game.planes_shape[1]).plies


def notes_of(record: Record, place: int, state: np.ndarray) -> list[str]:
    """Return the NAGs and the comment of a node; the comment has what a search found.

    Other programs read `[%eval]`, pawns for White; it is not written where the file has one or a player wins.
    """
    node, game = record.nodes[place], record.game
    policy = ",".join(f"{game.action_name(state, action)}:{share:.6g}" for action, share in node.best_first())
    value, commands = node.value, ""
    if value is not None and abs(value) < 1 and "[%eval" not in node.comment:
        commands = f"[%eval {centipawns(value) / 100:.2f}]"
    commands += "" if value is None else f"[%azvalue {value:.6g}]"
    commands += "" if node.visits is None else f"[%azvisits {node.visits}]"
    commands += f"[%azpolicy {policy}]" if policy else ""
    said = clean(node.comment).replace("}", ")")
    comment = "\n".join(filter(None, [said, commands])).replace("\n%", "\n %")
    nags = [f"${nag}" for nag in node.properties.get(NAG, ()) if WRITTEN_NAG.fullmatch(nag)]
    return nags + ([f"{{{comment}}}"] if comment else [])


# Read


def read_pgn(data: bytes, make: MakeGame = named_game, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Yield the games of a PGN file, one after the other, with their variations.

    Args:
        data: the file, UTF-8 or Latin-1.
        make: makes the game of a record from its name and options.
        refuse: receives what is wrong with a game that azero does not play, and is left out if that returns.

    Raises:
        UserError: it is not PGN, or a game of it cannot be played by azero's rules.
    """
    number, make = 0, once(make)
    for number, tokens in enumerate(games_in(read_text(data)), 1):
        try:
            record = read_game(tokens, make)
        except UserError as error:
            refuse(UserError(f"PGN, game {number}: {error}"))
            continue
        yield record
    if not number:
        raise UserError("this is not PGN, because it holds neither a tag nor a move.")


def looks_like_pgn(data: bytes) -> bool:
    """Return whether a file begins as PGN does: with a tag or a numbered move, after comments."""
    begin = data[:MOST_BEFORE].removeprefix(b"\xef\xbb\xbf")
    comments = rb"(?:\s|[%;][^\n]*+\n|\{[^}]*+\})*+"
    return bool(re.match(comments + rb'(?:\[\s*\w+\s*"|1\s*\.\s*[A-Za-z])', begin))


def read_text(data: bytes) -> str:
    """Return the text of a file without the lines that are for other programs."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def games_in(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of each game; a tag after moves, or what follows a result, begins the next one.

    What is no PGN, or too much for a game, is a token of the kind "wrong", with a sentence as its text.
    """
    tokens, depth, moves, has_begun = list[Token](), 0, 0, False
    for token in tokens_in(text):
        if token.kind == "tag" and has_begun:
            yield tokens
            tokens, depth, moves, has_begun = [], 0, 0, False
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        moves += token.kind == "move"
        has_begun = has_begun or token.kind not in ("tag", "comment", "line", "tag?")
        if moves <= MOST_NODES and len(tokens) < MOST_TOKENS:
            tokens.append(token._replace(kind="wrong") if token.kind == "tag?" else token)
        elif tokens[-1].kind != "wrong":
            tokens.append(Token("wrong", f"it has more than {MOST_NODES:,} moves or too many comments."))
        if token.kind == "result" and depth <= 0:
            yield tokens
            tokens, depth, moves, has_begun = [], 0, 0, False
    if any(token.kind not in ("comment", "line", "number") for token in tokens):
        yield tokens


def tokens_in(text: str) -> Iterator[Token]:
    """Yield the tokens of a file, in a time that grows with its length.

    A line that is no tag though it begins as one has the kind "tag?"; after anything else that is no PGN, of
    the kind "wrong", it goes on with the next tag. Both have a sentence as their text.
    """
    place, line, counted, last_close = 0, 1, 0, text.rfind("}")
    while True:
        blank = BLANK.match(text, place)
        assert blank
        place = blank.end()
        if place == len(text):
            return
        is_open = text[place] == "{" and place > last_close  # would be looked through to the end each time
        found = None if is_open else TOKEN.match(text, place)
        if found:
            kind, place = found.lastgroup or "", found.end()
            yield Token(kind, found[kind])
            continue
        line, counted = line + text.count("\n", counted, place), place
        word = text[place : place + 20].split()[0]
        kind, follows = ("tag?", "\n") if word[0] == "[" else ("wrong", "\n[")
        yield Token(kind, f"near line {line} it is not PGN at {short(word)}.")
        end = text.find(follows, place + 1)
        place = len(text) if end < 0 else end


def read_game(tokens: list[Token], make: MakeGame) -> Record:
    """Return the record of a game's tokens, after its moves were played."""
    for token in tokens:
        if token.kind == "wrong":
            raise UserError(token.text)
    tags = dict(reversed([read_tag(token.text) for token in tokens if token.kind == "tag"]))
    record = record_of(tags, sum(token.kind == "move" for token in tokens), make)
    for name, kept in TAGS.items():
        if tags.get(name, "?") not in ("", "?", "-"):
            record.nodes[0].keep({kept: [tags[name]]})
    if others := [f"{name} {tags[name]}" for name in reversed(tags) if name not in OWN]:
        record.nodes[0].keep({TAG: others})
    record, end = add_moves(record, tokens)
    if "Azero" not in tags and record.game.is_terminal(state := record.last_state()):
        record.outcome = record.game.first_outcome(state) or None  # checkmate, whatever the tags say
    if record.outcome is None and "Azero" not in tags:
        record.outcome = RESULTS.get(tags.get("Result", ""), RESULTS.get(end))
        record.outcome = RESULTS.get(end) if record.outcome is None else record.outcome
    record.end_by_rules()
    return record


def read_tag(text: str) -> tuple[str, str]:
    """Return the name and the value of a tag."""
    found = WRITTEN_TAG.match(text)
    assert found
    return found[1], one_line(re.sub(r"\\(.)", r"\1", found[2])).strip()


def record_of(tags: dict[str, str], moves: int, make: MakeGame) -> Record:
    """Return a record without moves, by its tags; moves: about how many will come."""
    outcome, cycle, result = None, None, ""
    if "Azero" in tags:
        rules = read_object(tags["Azero"], "the tag Azero")
        game, outcome = game_of(rules, make), number_in(rules, "outcome", -1)
        cycle, result = cycle_in(rules), text_in(rules, "result")
        if game.name != "chess":
            raise UserError(f"PGN holds games of chess, not of {game.name}.")
    else:
        game = foreign_game(tags, moves, make)
    white, black = ("" if tags.get(name, "?") == "?" else tags[name] for name in ("White", "Black"))
    date = "-".join(part for part in tags.get("Date", "").split(".") if part.isdecimal())
    source, start = tags.get("Source", ""), tags.get("FEN", "")
    return Record(game, (white, black), outcome, result, date, source, cycle, start=start)


def foreign_game(tags: dict[str, str], moves: int, make: MakeGame) -> Game:
    """Return the game of a file that azero has not written; moves: about how many come."""
    variant = tags.get("Variant", "").lower()
    if variant not in VARIANTS:
        raise UserError(f"{short(tags['Variant'])} is a variant of chess that azero does not have.")
    options: dict[str, Any] = {"variant": VARIANTS[variant]}
    game = game_of({"game": "chess", "options": options}, make)
    plies, limit = moves + plies_of(tags.get("FEN", "")), int(game.options["max_plies"])
    if plies < limit:
        return game
    while limit <= plies and limit < MOST_PLIES:  # few different limits, so that few rules serve all games
        limit = min(2 * limit, MOST_PLIES)
    return game_of({"game": "chess", "options": options | {"max_plies": limit}}, make)


def plies_of(fen: str) -> int:
    """Return the plies before a position, as its FEN says, for those that azero can play."""
    number = re.search(r"\s([0-9]{1,4})\s*$", fen)
    return 2 * int(number[1]) if number else 0


def add_moves(record: Record, tokens: list[Token]) -> tuple[Record, str]:
    """Add the moves and comments of a game to its record; return it and the result at its end, "" for none.

    A variation may repeat the moves that are played and come before what follows them, so that its moves are
    added first; `by_rank` puts them behind. A variation ends before a null move, which shows a threat.
    """
    states, ranks = {0: record.first_state()}, {0: (0, 0)}
    known: dict[tuple[int, str], int] = {}  # so that a move is looked for once, however often it is repeated
    branches, current, waiting, result = list[int](), 0, list[str](), ""
    left_out = 0  # brackets that are open since a null move
    for number, token in enumerate(tokens, 1):
        left_out += {"open": 1, "close": -1}.get(token.kind, 0) if left_out else 0
        if left_out:
            continue
        if token.kind == "null":
            if not branches:
                place = place_of(record.game, states[current])
                raise UserError(f"{place}, {short(token.text)}, is a null move, which no game of chess has.")
            left_out = 1
        elif token.kind == "move":
            before = current, token.text
            if before not in known:
                known[before] = add_move(record, states, *before)
            current = known[before]
            rank = len(branches), number
            ranks[current] = min(ranks.get(current, rank), rank)
            read_comments(record, current, waiting, states[current])
        elif token.kind in ("comment", "line"):
            if branches and current == record.nodes[branches[-1]].parent:
                waiting.append(token.text)  # it comes before the first move of a variation
            else:
                read_comments(record, current, [token.text], states[current])
        elif token.kind in ("nag", "sign") and current:
            nag = SIGNS.get(token.text, "") if token.kind == "sign" else token.text
            record.nodes[current].keep({NAG: [nag]} if nag else {})
        elif token.kind == "open":
            if not current:
                raise UserError("a variation comes before the first move.")
            branches.append(current)
            current = record.nodes[current].parent
        elif token.kind == "close":
            if not branches:
                raise UserError("a variation ends that has not begun.")
            read_comments(record, current, waiting, states[current])
            current = branches.pop()
        elif token.kind == "result" and not branches:
            result = token.text
    if branches:
        raise UserError("the game ends inside a variation, so the file may be cut off.")
    return by_rank(record, ranks), result


def by_rank(record: Record, ranks: dict[int, tuple[int, int]]) -> Record:
    """Return a record in which the children of each node are in the order of their ranks.

    ranks: of each node, in how many variations it stands and when it came.
    """
    children = record.children()
    if all(ranks[one] < ranks[other] for below in children for one, other in pairwise(below)):
        return record
    nodes, places, todo = list[RecordNode](), dict[int, int](), [0]
    while todo:
        place = todo.pop()
        node = record.nodes[place]
        places[place] = len(nodes)
        nodes.append(replace(node, parent=places.get(node.parent, NONE)))
        todo += sorted(children[place], key=ranks.__getitem__, reverse=True)
    return replace(record, nodes=nodes)


def add_move(record: Record, states: dict[int, np.ndarray], parent: int, text: str) -> int:
    """Add a move to a record; return its node, whose position is added to `states`."""
    game = record.game
    try:
        action = game.parse_action(states[parent], text)
    except ValueError as error:
        raise wrong_move(game, states[parent], place_of(game, states[parent]), text) from error
    place = record.add(parent, action)
    states.setdefault(place, game.step(states[parent], action))
    return place


def place_of(game: Game, state: np.ndarray) -> str:
    """Return which move comes next as chess players count, such as "move 7 of White"."""
    plies = first_number(game, state)
    return f"move {plies // 2 + 1} of {('White', 'Black')[plies % 2]}"


def read_comments(record: Record, place: int, texts: list[str], state: np.ndarray) -> None:
    """Add comments to a node, and what they say of a search; `texts` is empty then."""
    node = record.nodes[place]
    for text in texts:
        has_search = False
        for name, value in COMMAND.findall(text):
            has_search = read_command(node, name, value, record.game, state) or has_search
        if has_search:
            text = COMMAND.sub("", OWN_EVAL.sub("", text)).strip()
            before, _, last = text.rpartition("\n")
            text = before if last.startswith(NOTE) else text
        text = clean(text).strip().replace("}", ")")  # a comment after ; may have what none in braces can
        node.comment = "\n".join(filter(None, [node.comment, text]))
    texts.clear()


def read_command(node: RecordNode, name: str, text: str, game: Game, state: np.ndarray) -> bool:
    """Read a number or the shares that azero wrote into a comment; return whether it is such."""
    try:
        if name == "azvalue":
            node.value = checked(float(text), -1, 1)
        elif name == "azvisits":
            node.visits = int(checked(int(text[:20]), 0, 2**53))
        elif name == "azpolicy":
            for part in text.split(","):
                move, _, share = part.rpartition(":")
                node.policy[game.parse_action(state, move)] = checked(float(share), 0, 1)
        else:
            return False
    except ValueError as error:
        raise UserError(f"[%{name} {short(text)}] is not what azero writes.") from error
    return True


def checked(number: float, low: float, high: float) -> float:
    """Return a number from `low` to `high`; ValueError: it is not."""
    if not low <= number <= high:
        raise ValueError(number)
    return number + 0.0
