"""Records as JSON, one game a line. `docs/records.md` documents the schema.

The lines that `azero arena` and `azero play` of earlier versions wrote have no schema; they are read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from azero.config.schema import UserError
from azero.records.record import (
    MOST_NODES,
    NONE,
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
    short,
)
from azero.records.sgf import READ
from azero.records.walk import positions

SCHEMA, VERSION = "azero.records", 1
PROPERTY = re.compile("[A-Z0-9]{1,60}")


def write_json(record: Record, more: Mapping[str, int] = {}) -> str:
    """Return a record as one line of JSON, without the line feed; `more`: further members."""
    return json.dumps({**content_of(record), **more}, ensure_ascii=False)


def content_of(record: Record) -> dict[str, Any]:
    """Return the members of a record's line."""
    game, nodes, moves = record.game, record.nodes, MoveNames(record)
    line = record.main_line()
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "game": game.name,
        "options": game.options,
        "players": [one_line(name) for name in record.players],
        "moves": moves.names(line),
        "outcome": None if record.outcome is None else record.outcome + 0.0,  # + 0.0 makes -0.0 plain
        "result": one_line(record.result),
        "date": one_line(record.date),
        "source": one_line(record.source),
    }
    if kept := kept_properties(nodes[0]):
        content["properties"] = kept
    if record.start:
        content["position"] = record.start
    if record.cycle is not None:
        content["cycle"] = record.cycle
    plain = line == list(range(len(nodes))) and all(
        node == RecordNode(node.parent, node.action) and not (node.parent >= 0 and kept_properties(node))
        for node in nodes
    )
    if not plain:
        content["nodes"] = [written_node(moves, place) for place in range(len(nodes))]
    return content


def written_node(moves: MoveNames, place: int) -> dict[str, Any]:
    """Return a node as JSON has it, without what is not known."""
    node = moves.record.nodes[place]
    content: dict[str, Any] = {}
    if node.parent != NONE:
        content = {"parent": node.parent, "move": moves.name(node.parent, node.action)}
    if node.value is not None:
        content["value"] = node.value
    if node.visits is not None:
        content["visits"] = node.visits
    if node.policy:
        content["policy"] = {moves.name(place, action): share for action, share in node.policy.items()}
    if node.comment:
        content["comment"] = clean(node.comment)
    if node.parent != NONE and (kept := kept_properties(node)):
        content["properties"] = kept
    return content


def kept_properties(node: RecordNode) -> dict[str, list[str]]:
    """Return the properties of a node as JSON has them, without those of a name that it would not read."""
    return {
        name: list(map(clean, values))
        for name, values in node.properties.items()
        if values and PROPERTY.fullmatch(name)
    }


def read_json_lines(
    data: bytes, make: MakeGame = named_game, refuse: Refuse = raise_error
) -> Iterator[Record]:
    """Return the games of a file, one a line, as they are read.

    Args:
        data: the file, UTF-8.
        make: makes the game of a record from its name and options.
        refuse: receives what is wrong with a line, which is left out if that returns.

    Raises:
        UserError: a line is not a record, or a game of it cannot be played by azero's rules.
    """
    return read_lines(data.split(b"\n"), make, refuse)


def read_lines(lines: Iterable[bytes], make: MakeGame, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Yield the games of some lines; see `read_json_lines`."""
    empty, make = True, once(make)
    for number, line in enumerate(lines, 1):
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not line.strip():
            continue
        empty = False
        try:
            record = read_content(read_object(line, "this"), make)
        except UserError as error:
            refuse(UserError(f"JSON, line {number}: {error}"))
            continue
        yield record
    if empty:
        raise UserError("this holds no record, because it is empty.")


def read_content(content: dict[str, Any], make: MakeGame) -> Record:
    """Return the record of a line's members."""
    schema, version = content.get("schema", SCHEMA), content.get("version", VERSION)
    if schema != SCHEMA or version != VERSION or version is True:
        raise UserError(
            f"this has schema {short(schema)}, version {short(version)}; this azero reads {SCHEMA}, "
            f"version {VERSION}."
        )
    game = game_of(content, make)
    players = expect(content, "players", list, ["", ""])
    if len(players) != 2 or not all(isinstance(name, str) for name in players):
        raise UserError(f"players must be two names, not {short(players)}.")
    record = Record(
        game,
        players=(one_line(players[0]), one_line(players[1])),
        outcome=number_in(content, "outcome", -1),
        result=one_line(expect(content, "result", str, "")),
        date=one_line(expect(content, "date", str, "")),
        source=one_line(expect(content, "source", str, "")),
        cycle=cycle_in(content),
        start=one_line(expect(content, "position", str, "")),
    )
    record.nodes[0].properties = properties_in(content)
    named = MoveNames(record)
    if "nodes" in content:
        read_nodes(named, expect(content, "nodes", list, []))
    moves = expect(content, "moves", list, None)
    if len(moves) > MOST_NODES:
        raise UserError(f"it has more than {MOST_NODES:,} moves.")
    if "nodes" not in content:
        last = 0
        for move in moves:
            last = record.add(last, action_of(named, last, move))
    positions(record)
    if "nodes" in content and not is_line(named, moves):
        raise UserError("moves is not the main line of nodes.")
    record.end_by_rules()
    return record


def is_line(named: MoveNames, moves: list[Any]) -> bool:
    """Return whether moves, in any spelling that the game reads, are the main line of a record."""
    line = named.record.main_line()
    return len(moves) == len(line) - 1 and all(
        isinstance(move, str) and named.action(parent, move) == named.record.nodes[place].action
        for (parent, place), move in zip(pairwise(line), moves, strict=True)
    )


def read_nodes(named: MoveNames, nodes: list[Any]) -> None:
    """Add the nodes of a line to a record."""
    record = named.record
    if len(nodes) > MOST_NODES:
        raise UserError(f"it has more than {MOST_NODES:,} nodes.")
    for number, content in enumerate(nodes):
        if not isinstance(content, dict):
            raise UserError(f"node {number} is not a JSON object.")
        place = 0
        if number:
            parent = expect(content, "parent", int, None)
            if not 0 <= parent < number:
                raise UserError(
                    f"node {number} must have a parent from 0 to {number - 1}, not {short(parent)}."
                )
            place = record.add(parent, action_of(named, parent, content.get("move")))
            if place != number:
                raise UserError(f"node {number} repeats the move of node {place}.")
        node = record.nodes[place]
        node.value = number_in(content, "value", -1)
        node.visits = expect(content, "visits", int, None) if "visits" in content else None
        if node.visits is not None and not 0 <= node.visits <= 2**53:
            raise UserError(f"visits={short(node.visits)} of node {number} must lie between 0 and 2**53.")
        policy = expect(content, "policy", dict, {})
        for move in policy:
            share = number_in(policy, move, 0)
            if share is not None:
                node.policy[action_of(named, number, move)] = share
        node.comment = clean(expect(content, "comment", str, ""))
        if number:
            node.properties = properties_in(content)


def properties_in(content: dict[str, Any]) -> dict[str, list[str]]:
    """Return the properties of a node, or of the whole game.

    Raises:
        UserError: they are not lists of texts by names in capital letters, or a record has them elsewhere.
    """
    properties = expect(content, "properties", dict, {})
    for name, values in properties.items():
        texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
        if not PROPERTY.fullmatch(name) or name in READ or not texts or not values:
            raise UserError(f"properties has {short(name)}: {short(values)}, which SGF would not keep there.")
    return {name: [clean(value) for value in values] for name, values in properties.items()}


def action_of(named: MoveNames, place: int, move: object) -> int:
    """Return the action of a move's name at a node."""
    action = named.action(place, move) if isinstance(move, str) else None
    if action is None:
        raise named.wrong(place, move)
    return action


def expect(content: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    """Return a member of an object that must have a type; None as the default: it must be there."""
    value = content.get(name, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{short(name)} must be a JSON {JSON_KINDS[kind]}, not {short(value)}.")
    return value


JSON_KINDS = {list: "list", str: "text", int: "whole number", dict: "object"}
