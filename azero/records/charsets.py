"""The text of an SGF file, whatever its charset says.

In Shift_JIS, GBK and Big5 the second byte of a character may be the byte of `]` or of a backslash, and some
programs cut a name in the middle of a character. So a file has up to three readings: decoded as a whole, by
bytes that end a value wherever a `]` stands, and by characters that give way where the file goes on after a
`]`. The reader takes the one in which it finds the most.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

MARKS = {  # byte order marks, the longer ones first
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"(\0": "utf-16-le",  # no mark, but what begins a file
    b"\0(": "utf-16-be",
}
SUPERSETS = {  # what programs write where CA names a smaller charset
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "windows-31j"), "cp932"),
    "big5": "cp950",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
}
KNOWN = {
    *(*SUPERSETS.values(), "big5hkscs", "euc_jp", "koi8-r", "koi8-u", "mac-roman", "tis-620"),
    *(f"iso8859-{part}" for part in (*range(2, 12), *range(13, 17))),
    *(f"cp{page}" for page in (437, 850, 852, 866, 874, *range(1250, 1259))),
}
SEVEN_BITS = {"iso2022_jp": b"\x1b$", "iso2022_kr": b"\x1b$", "hz": b"~{"}  # what begins its characters


class Shape(NamedTuple):
    """The bytes of a charset with characters of two bytes: of all of them, and of the most frequent ones."""

    pair: bytes
    common: bytes
    least: int = 1  # characters that it takes to be recognized


SHAPES = {  # in the order of a guess
    "utf-8": Shape(
        utf8 := rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}", utf8
    ),
    # Hangul has the codes of Chinese characters from a to r, so it takes many to exclude Chinese
    "cp949": Shape(rb"[\x81-\xfe][A-Za-z\x81-\xfe]", rb"[\xb0-\xc8][\xa1-\xfe]", least=8),
    "gb18030": Shape(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]", rb"[\xb0-\xd7][\xa1-\xfe]"),
    "cp932": Shape(
        rb"[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]",
        rb"\x82[\x9f-\xf1]|\x83[\x40-\x96]|[\x88-\x97][\x40-\x7e\x80-\xfc]",
    ),
    "cp950": (big5 := Shape(rb"[\x81-\xfe][\x40-\x7e\xa1-\xfe]", rb"[\xa4-\xc6][\x40-\x7e\xa1-\xfe]")),
    "big5hkscs": big5,
    "euc_jp": Shape(rb"\x8f?[\xa1-\xfe][\xa1-\xfe]", rb"[\xa4\xa5][\xa1-\xf6]|[\xb0-\xcf][\xa1-\xfe]"),
}
ENOUGH = 0.6  # share of frequent characters that makes a guess
SAMPLE = 20_000  # bytes that a guess looks at

CHARSET = re.compile(rb"(?<![A-Za-z])CA\s*+\[([^\]]{0,40}+)\]")
FOREIGN = re.compile(
    rb"[\x80-\xff][\x40-\x5c\x5e-\x7e\x80-\xff]*+"
)  # bytes that may belong to such characters
HALF = rb"[\x80-\xff]{1,3}+(?=\n|\Z)"  # of a character, at the end of such bytes
AMBIGUOUS = re.compile(rb"[\x80-\xff][\\\]]")
GOES_ON = (
    rb"\s*+(?:\(\s*+[;A-Z]|\)\s*+(?:[();]|\Z)|;\s*+[A-Za-z();]|\[|[A-Za-z]{1,20}\s*+\[|\Z)"  # after a value
)
NEVER = rb"(?!)"
UNKNOWN = rb"[\x81-\xfe][\\\]]"  # a character of two bytes, in a charset that could not be guessed


def readings(data: bytes) -> list[str]:
    """Return the texts that a file may have, the likeliest first."""
    for mark, charset in MARKS.items():
        if data.startswith(mark):
            begin = 0 if b"(" in mark else len(mark)
            return [data[begin:].decode(charset, "replace").replace("\0", "")]
    data, charset = data.replace(b"\0", b""), named_charset(data)
    if charset in SEVEN_BITS and SEVEN_BITS[charset] in data:
        return [data.decode(charset, "replace")]
    with suppress(UnicodeDecodeError):
        return [data.decode("utf-8")]
    pairs = [] if charset in KNOWN else [UNKNOWN]
    charset = charset if charset in KNOWN else guessed_charset(data)
    if charset in SHAPES:
        pairs = [NEVER, SHAPES[charset].pair]
    texts = [data.decode(charset, "replace")]
    if AMBIGUOUS.search(data):
        texts += [text_by_values(data, charset, pair) for pair in pairs]
    return texts


def named_charset(data: bytes) -> str:
    """Return Python's name of the charset that CA names, or of its superset; "" if it is unknown."""
    named = CHARSET.search(data)
    name = named[1].decode("latin-1").strip().lower().removeprefix("x-") if named else ""
    with suppress(LookupError, ValueError):
        name = codecs.lookup(name).name
    return SUPERSETS.get(name, name)


def guessed_charset(data: bytes) -> str:
    """Return the charset whose frequent characters the bytes are; Windows-1252 if they are of none."""
    sample = b"\n".join(FOREIGN.findall(data))[:SAMPLE]
    best, charset = ENOUGH, "cp1252"
    for name, shape in SHAPES.items():
        kinds = rb"(?P<common>%b)|(?P<rare>%b)|%b|(?P<wrong>[\x80-\xff])" % (shape.common, shape.pair, HALF)
        found = Counter(match.lastgroup for match in re.finditer(kinds, sample))
        common, whole = found["common"], found.total() - found[None]
        if common >= shape.least and common / whole > best:
            best, charset = common / whole, name
    return charset


def text_by_values(data: bytes, charset: str, pair: bytes) -> str:
    """Return a text whose values were found in the bytes and decoded one by one.

    Args:
        data: the file.
        charset: of its values.
        pair: the bytes of a character that may contain `]` or a backslash.
    """
    whole = rb"(?:%b)(?:(?<!\])|(?!%b))" % (pair, GOES_ON)
    values = re.compile(rb"\[((?:%b|\\.|[^\]\\])*+)\]" % whole, re.DOTALL)
    escapes = re.compile(rb"(%b)|\\(\r\n|\n\r|.)" % pair, re.DOTALL)

    def character(match: re.Match[bytes]) -> bytes:
        return match[1] or (b"" if match[2] in (b"\r", b"\n", b"\r\n", b"\n\r") else match[2])

    texts = []
    for place, part in enumerate(values.split(data)):  # outside and inside of brackets by turns
        if place % 2:
            text = escapes.sub(character, part).decode(charset, "replace")
            texts.append("[" + text.replace("\\", "\\\\").replace("]", "\\]") + "]")
        else:
            texts.append(part.decode("latin-1"))
    return "".join(texts)
