# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file format of packages (.twpkg): exported kernels as data, with nothing that runs on the host.

A package is one entry in the format of the cache (runtime/cache/EntryFormat.h): marks at both
ends, lengths, a SHA-256 over all of it. The header is JSON: kernels, parameters, signatures,
grids as text, configurations, tuned tables, and for each image its target, its metadata, its
place in the section "code" and a SHA-256 of its own.
"""

from __future__ import annotations

import json
import os

from .. import _core, errors
from ..kernel_arguments import refused
from ..language import dtype, str_to_ty
from .grid import Grid
from .model import KINDS, Descriptor, ExportedKernel, Image, Library, Parameter, TunedTable, Variant, is_descriptor

FORMAT = "tilewright-package-1"
_KEY = _core.sha256(FORMAT.encode())
_MAX_BYTES = 256 << 20  # as an entry


def _constant_to_json(name, value):
    if isinstance(value, dtype):
        return {"dtype": value.cache_key_part}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise refused(f"the constant '{name}' is a {type(value).__name__}, which no package holds", "use numbers, texts and dtypes")


def _constant_from_json(value):
    return str_to_ty(value["dtype"]) if isinstance(value, dict) else value


def _kernel_to_json(kernel, place):
    table = None if kernel.table is None else {"keys": kernel.table.keys, "devices": kernel.table.devices}
    return {
        "name": kernel.name,
        "function": kernel.function,
        "signatures": kernel.signatures,
        "configurations": kernel.configurations,
        "parameters": [[p.name, p.kind, p.is_written] for p in kernel.parameters],
        "grid": None if kernel.grid is None else kernel.grid.text,
        "table": table,
        "variants": [
            {
                "signature": v.signature,
                "configuration": v.configuration,
                "types": v.types,
                "divisibility": v.divisibility,
                "constants": {name: _constant_to_json(name, value) for name, value in v.constants.items()},
                "images": [
                    {
                        "target": i.target,
                        "kind": i.kind,
                        "capability": i.capability,
                        "metadata": i.metadata,
                        "digest": _core.sha256(i.content),
                        "place": place(i.content),
                    }
                    for i in v.images
                ],
            }
            for v in kernel.variants
        ],
    }


def write_package(library, path) -> list:
    """Writes a package; the paths written."""
    code, places = bytearray(), {}

    def place(content):
        if content not in places:
            places[content] = [len(code), len(content)]
            code.extend(content)
        return places[content]

    header = {"format": FORMAT, "name": library.name, "kernels": [_kernel_to_json(kernel, place) for kernel in library.kernels]}
    content = _core.encode_entry(_KEY, json.dumps(header), {"code": bytes(code)})
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return [path]


# What a launch computes with, and the least and the most that makes sense: a file may say anything.
_NUMBERS = {
    "num_warps": (1, 32),
    "num_ctas": (1, 16),
    "warp_size": (32, 32),
    "shared": (0, 2**20),
    "global_scratch_size": (0, 2**40),
    "global_scratch_align": (1, 2**20),
}


def _makes_sense(name, value) -> bool:
    if name in _NUMBERS or (name == "maxnreg" and value is not None):
        least, most = _NUMBERS.get(name, (1, 255))
        is_power = name != "global_scratch_align" or (type(value) is int and value & (value - 1) == 0)
        return type(value) is int and least <= value <= most and is_power
    if name == "cluster_dims":
        return isinstance(value, list) and len(value) == 3 and all(type(n) is int and 1 <= n <= 16 for n in value)
    if name in ("tensor_maps", "host_tensor_maps"):
        kind = bool if name == "tensor_maps" else dict
        return isinstance(value, list) and all(isinstance(item, kind) for item in value)
    return True


def _checked_metadata(metadata):
    if not isinstance(metadata, dict):
        raise ValueError("an image of an unknown kind")
    for name, value in metadata.items():
        if not _makes_sense(name, value):
            raise ValueError(f"{name} of an image is {value!r}")
    missing = {*_NUMBERS, "cluster_dims", "tensor_maps", "host_tensor_maps"} - metadata.keys()
    if missing:
        raise ValueError(f"an image lacks {min(missing)}")
    return metadata


def _image(data, code):
    start, length = data["place"]
    content = code[start : start + length]
    if not 0 <= start <= start + length <= len(code) or _core.sha256(content) != data["digest"]:
        raise ValueError("a wrong digest of machine code")
    if data["kind"] not in KINDS:
        raise ValueError("an image of an unknown kind")
    return Image(str(data["target"]), data["kind"], int(data["capability"]), content, _checked_metadata(data["metadata"]))


def _kernel(data, code):
    variants = [
        Variant(
            v["signature"],
            v["configuration"],
            dict(v["types"]),
            {name: _constant_from_json(value) for name, value in v["constants"].items()},
            dict(v["divisibility"]),
            [_image(image, code) for image in v["images"]],
        )
        for v in data["variants"]
    ]
    parameters = [Parameter(str(name), str(kind), bool(is_written)) for name, kind, is_written in data["parameters"]]
    if len(variants) != len(data["signatures"]) * len(data["configurations"]) or not variants:
        raise ValueError("a kernel without all its variants")
    grid, table = data["grid"], data["table"]
    if grid is not None:
        # What another signature leaves to the launch is a parameter, though the first one makes it a constant.
        constants = {name for name in variants[0].constants if name not in {p.name for p in parameters}}
        grid = Grid(
            grid,
            [p.name for p in parameters if p.kind[0] in "iu"],
            {p.name: Descriptor.of(variants[0].types[p.name]).rank for p in parameters if is_descriptor(p.kind)},
            constants,
        )
    if table is not None:
        table = TunedTable(
            list(table["keys"]),
            {
                str(device): [(list(values), int(choice)) for values, choice in rows]
                for device, rows in table["devices"].items()
            },
        )
    return ExportedKernel(
        str(data["name"]),
        str(data["function"]),
        parameters,
        list(data["signatures"]),
        list(data["configurations"]),
        grid,
        variants,
        table,
    )


def read_package(path) -> Library:
    """The kernels of a package; E0506 where the file is none, is cut short or was changed."""
    path = os.fspath(path)

    def refuse(reason):
        return errors.make("E0506", path=path, reason=reason)

    with open(path, "rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise refuse("it is too large")
    header, sections, problem = _core.decode_entry(content, _KEY)
    if problem:
        raise refuse(problem)
    try:
        data = json.loads(header)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']}")
        return Library(str(data["name"]), [_kernel(kernel, sections["code"]) for kernel in data["kernels"]])
    # The digest is right, so this is what some writer wrote; it is not what this version writes.
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError, errors.TilewrightError) as error:
        raise refuse(f"its header is not as this version writes it ({type(error).__name__}: {error})") from None
