"""Initial weights from files of torch.save or safetensors, told apart by their first bytes."""
from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import Tensor

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def load(path: str | Path) -> dict[str, Tensor]:
    with open(path, "rb") as file:
        first = file.read(9)
    # Eight bytes with the header's length, then the header's opening brace; no zip and no pickle begins like this.
    return load_safetensors(Path(path)) if first[8:] == b"{" else torch.load(path)


def load_safetensors(path: Path) -> dict[str, Tensor]:
    content = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:begin])
        return {name: tensor(content, begin, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path} is not a complete safetensors file: {type(error).__name__}: {error}") from error


def tensor(content: bytearray, begin: int, entry: dict) -> Tensor:
    dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
    first, last = entry["data_offsets"]
    elements = math.prod(shape)
    size = torch.empty((), dtype=dtype).element_size()
    if not 0 <= first <= last <= len(content) - begin or last - first != elements * size:
        raise ValueError(f"data_offsets {first} to {last} do not hold {elements} elements of {entry['dtype']}")
    if elements == 0:
        return torch.empty(shape, dtype=dtype)
    # A copy, because an offset need not be a multiple of the element's size.
    return torch.frombuffer(content[begin + first : begin + last], dtype=dtype).reshape(shape)
