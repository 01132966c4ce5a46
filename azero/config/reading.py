"""Read the value of a setting from a word, YAML, JSON or Python; say in one sentence what is wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

from azero.config.schema import Options, Setting, UserError, settings, value_text
from azero.config.suggest import did_you_mean

MOST_SHOWN = 120  # characters of a wrong value
AUTO = "auto"  # as the value of a number: its default
TRUE, FALSE = {"true", "yes", "on", "y", "t", "1"}, {"false", "no", "off", "n", "f", "0"}
KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
LISTS = {
    "int": "a list of whole numbers, such as [1,2]",
    "float": "a list of numbers, such as [0.5,1]",
    "str": "a list, such as [a,b]",
}

T = TypeVar("T", bound=Options)


def read_value(key: str, value: Any, known: Setting, typed: str | None = None) -> Any:
    """Return the value of a setting, with the type that the setting has.

    Args:
        key: as a person types it, such as "first.num_simulations".
        value: the text that was typed, or what YAML, JSON or Python has.
        known: the setting.
        typed: the text that was typed, for the sentence; None: `value` says it.

    Raises:
        UserError: the value is not allowed.
    """
    kind, _, optional = known.kind.partition(" | ")
    try:
        if value == AUTO and (kind != "str" or (optional and known.choices)):
            return known.default
        if value is None and not optional and "" in (known.choices or ()):
            return ""  # such as heuristic= from a shell, which strips the quotes
        if optional and (value is None or (value == "null" and (kind != "str" or known.choices))):
            return None
        taken = converted(kind, value)
        is_possible = not known.choices or taken in known.choices or is_own_file(taken, known)
        if is_possible and kind in ("int", "float"):
            low, high = known.between or (-math.inf, math.inf)
            is_possible = abs(taken) != math.inf and low <= taken <= high
    except (ValueError, TypeError):
        is_possible = False
    if not is_possible:
        raise refusal(key, value, known, typed)
    return taken


def is_own_file(value: Any, known: Setting) -> bool:
    """Return whether a value is the path of a person's own file, and the setting takes one."""
    return bool(known.own) and isinstance(value, str) and value.endswith(".py")


def check_value(key: str, value: Any, known: Setting) -> None:
    """Check a value that stays as it is, of a config or of a game's factory: a text is no number.

    Raises:
        UserError: it is not allowed, or `read_value` would make another one of it.
    """
    taken = read_value(key, value, known)
    same_kind = isinstance(value, bool) == isinstance(taken, bool) and isinstance(value, str) == isinstance(
        taken, str
    )
    if not same_kind or taken != (list(value) if isinstance(taken, list) else value):
        raise refusal(key, value, known)


def refusal(key: str, value: Any, known: Setting, typed: str | None = None) -> UserError:
    """Return the error for a value that a setting does not allow; arguments as for `read_value`."""
    is_fraction = known.kind.startswith("int") and isinstance(value, float)
    text = typed
    if text is None:
        text = value if isinstance(value, str) else repr(value) if is_fraction else value_text(value)
    shown = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    return UserError(f"{key}={shown} must be {wanted(known)}.")


def converted(kind: str, value: Any) -> Any:
    """Return a value as a type, such as "int" or "list[str]"; for "float", a whole number stays one.

    Raises:
        ValueError, TypeError: it has another type.
    """
    if kind.startswith("list"):
        if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
            value = [each.strip().strip("'\"") for each in value[1:-1].split(",") if each.strip()]
        if not isinstance(value, list | tuple):
            raise TypeError
        return [converted(kind[5:-1], each) for each in value]
    if kind == "bool":
        word = str(value).lower()
        if word not in TRUE | FALSE:
            raise ValueError
        return word in TRUE
    if kind == "str":
        if not isinstance(value, str | int | float):
            raise TypeError
        return value if isinstance(value, str) else value_text(value)
    if kind in ("int", "float"):
        if isinstance(value, str):
            has_fraction = kind == "float" and not value.strip().lstrip("+-").isdecimal()
            return float(value) if has_fraction else int(value)
        if not (is_whole(value) or (kind == "float" and isinstance(value, float))):
            raise TypeError
        return value
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


def is_whole(value: object, low: float = -math.inf, high: float = math.inf) -> TypeGuard[int]:
    """Return whether a value of JSON or Python is a whole number in bounds; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def wanted(known: Setting) -> str:
    """Return what a setting may be, such as "a whole number from 1 to 100"."""
    if known.choices:
        file = f", or a Python file with {known.own}" if known.own else ""
        return f"one of: {', '.join(map(value_text, known.choices))}{file}"
    kind = known.kind.partition(" | ")[0]
    if kind.startswith("list"):
        return LISTS[kind[5:-1]]
    text = KINDS.get(kind, "a group of options, each written with its name")
    if not known.between:
        return text
    low, high = known.between
    return f"{text} from {plain_number(low)} {'up' if high == math.inf else f'to {plain_number(high)}'}"


def plain_number(number: float) -> str:
    """Return such as "10,000,000" or "0.5"."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.15g}"


def whole_number(key: str, value: int, low: int, high: int) -> None:
    """Check a whole number whose range another value sets.

    Raises:
        UserError: it is out of range.
    """
    check_value(key, value, Setting(None, "", between=(low, high), kind="int"))


def read_options(
    schema: type[T], given: Mapping[str, Any], prefix: str, owner: str, also: Sequence[str] = ()
) -> T:
    """Return the options of a player or a game.

    Args:
        schema: the class of its options.
        given: values by name.
        prefix: what a person types before a name, such as "first.".
        owner: whose options these are, such as "player uct", for the sentence about an unknown one.
        also: further names that a person may have meant.

    Raises:
        UserError: an unknown option, or a value that is not allowed.
    """
    known = settings(schema)
    for name in given:
        if name not in known:
            raise unknown_setting(name, [*known, *also], prefix, owner)
    values = {name: read_value(prefix + name, value, known[name]) for name, value in given.items()}
    return schema(prefix=prefix, **values)


def unknown_setting(name: str, known: Collection[str], prefix: str = "", owner: str = "") -> UserError:
    """Return the error for a setting that does not exist, with the closest of the `known` ones.

    prefix, owner: as for `read_options`; without an owner, --help lists the known ones.
    """
    otherwise = f"; {owner} has {', '.join(known) or 'no options'}." if owner else "; --help lists them."
    return UserError(f"unknown setting '{prefix}{name}'{did_you_mean(name, known, otherwise, prefix)}")
