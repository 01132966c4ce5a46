"""Read the file of a network: tensors and text, in bounded time and memory. Nothing of it runs."""

from __future__ import annotations

import io
import pickletools
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

PICKLE = "data.pkl"  # what the file holds; the tensors' numbers are entries of their own
GLOBALS = r"torch \w+Storage|torch\._utils _rebuild_tensor_v2|collections OrderedDict"
OPCODES = {
    *("PROTO", "STOP", "MARK", "EMPTY_DICT", "SETITEM", "SETITEMS", "NEWTRUE", "NEWFALSE"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINUNICODE", "BINPERSID", "GLOBAL", "REDUCE"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
}


def read_stored(data: bytes) -> dict[str, Any]:
    """Return what `torch.save` wrote, on the CPU.

    Raises:
        ValueError, or what zip files and torch raise: it is no such file, or larger than it seems.
    """
    content = torch.load(io.BytesIO(plain_archive(data)), map_location="cpu", weights_only=True)
    if type(content) is not dict:
        raise ValueError("it holds no header")
    return content


def plain_archive(data: bytes) -> bytes:
    """Return the entries of a zip file in a new one, so that torch sees those that were checked.

    Raises:
        ValueError or BadZipFile: entries are compressed or overlap, or the pickle asks for more than tensors.
    """
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(whole, "w") as new:
        entries = old.infolist()
        sizes = [entry.file_size for entry in entries]
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries) or sum(sizes) > len(data):
            raise ValueError("its entries are larger than the file")
        if len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("two of its entries have one name")
        for entry in entries:
            part = old.read(entry)
            if entry.filename.endswith(PICKLE):
                check_pickle(part)
            new.writestr(entry.filename, part)
    return whole.getvalue()


def check_pickle(data: bytes) -> None:
    """Check that a pickle makes tensors, text and dicts only.

    Raises:
        ValueError: it asks for something else.
    """
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name not in OPCODES:
            raise ValueError(f"it uses {opcode.name}")
        if opcode.name == "GLOBAL" and not re.fullmatch(GLOBALS, str(argument)):
            raise ValueError(f"it asks for {argument}")


def check_tensors(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Check tensors from a file before anything is made of them.

    Args:
        wanted: what they have to be like, by name; their values do not matter.
        given: those of the file.

    Raises:
        ValueError: names, shapes or types differ, or a number is not finite.
    """
    if wanted.keys() != given.keys():
        raise ValueError(f"other layers: {', '.join(sorted(wanted.keys() ^ given.keys())[:3])}")
    for name, like in wanted.items():
        tensor = given[name]
        if not isinstance(tensor, Tensor) or tensor.shape != like.shape or tensor.dtype != like.dtype:
            found = f"{list(tensor.shape)} {tensor.dtype}" if isinstance(tensor, Tensor) else "no tensor"
            raise ValueError(f"{name} is {found}, not {list(like.shape)} {like.dtype}")
        if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
            raise ValueError(f"{name} has fewer numbers than its shape")
        if not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{name} holds a number that is not finite")
