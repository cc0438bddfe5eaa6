# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""K1, K9: damaged entries are never used, never raise, and are compiled again.

Each trial damages the file of one kernel in one way and asks for the kernel: the
code must be right, compiled once more, with one warning, and the damaged file in
the quarantine. K9 damages as a power loss does: pages that were never written, and
lengths that were.
"""

import hashlib
import json
import random
import struct

from tilewright import _core

from .common import check_block, compile_block, counted_warnings, forget, key_of_block, private_cache

BLOCK, OTHER = 64, 65


def reseal(content: bytes) -> bytes:
    """The digest made to match again, as only an attacker would."""
    body = content[:-40]
    return body + hashlib.sha256(body).digest() + content[-8:]


def with_number(content, offset, value, size):
    return content[:offset] + struct.pack("<Q", value)[:size] + content[offset + size :]


def with_header(content, key, change):
    header, sections, _ = _core.decode_entry(content, key)
    header = change(json.loads(header))
    return _core.encode_entry(key, header if isinstance(header, (str, bytes)) else json.dumps(header), sections)


def _without(name):
    return lambda header: {k: v for k, v in header.items() if k != name}


def _with(name, value):
    return lambda header: {**header, name: value}


# Headers of right form and wrong content, sealed: the last line of defence.
HEADERS = [
    lambda h: "",
    lambda h: "{",
    lambda h: "[]",
    lambda h: "null",
    lambda h: "1" * 5000,
    lambda h: b"\xff\xfe",
    *[_without(n) for n in ("fields", "target", "metadata", "remarks", "symbol", "globals")],
    _with("target", "sm_80"),
    _with("fields", {}),
    _with("metadata", []),
    _with("metadata", None),
    _with("remarks", "text"),
    _with("symbol", 7),
    _with("globals", [["a"]]),
    _with("globals", 3),
    lambda h: {**h, "fields": {**h["fields"], "target": "sm_80"}},
]


def damages(content, key, foreign, rng, count):
    """`count` damaged forms of a file, each with a name."""
    size = len(content)
    header_end = 64 + struct.unpack_from("<I", content, 56)[0]
    fixed = [("another entry's file", foreign), ("empty", b""), ("text", b"hello"), ("twice", content * 2)]
    fixed += [(f"header {i}", with_header(content, key, change)) for i, change in enumerate(HEADERS)]
    fixed += [(f"format {f}", reseal(with_number(content, 8, f, 4))) for f in (0, 2, 3, 255, 2**32 - 1)]
    for offset, width in ((12, 4), (16, 8), (56, 4), (header_end + 16, 8), (header_end + 40, 8)):
        for value in (0, 1, 2**16, 2**31, 2**32 - 1, 2**63, 2**64 - 1):
            fixed.append((f"length {value:#x} at {offset}", reseal(with_number(content, offset, value, width))))
    name = content[header_end : header_end + 16]
    fixed.append(("two sections of one name", reseal(content[: header_end + 24] + name + content[header_end + 40 :])))
    fixed.append(("another machine code", with_section(content, key, "cubin", b"MZ")))
    yield from fixed[:count]
    for number in range(max(0, count - len(fixed))):
        kind = number % 4
        if kind == 0:  # every byte in turn, then at random
            at = number // 4 if number // 4 < size else rng.randrange(size)
            yield f"truncated at {at}", content[:at]
        elif kind == 1:  # every bit of the header, then any
            bit = number // 4 if number // 4 < header_end * 8 else rng.randrange(size * 8)
            flipped = bytearray(content)
            flipped[bit // 8] ^= 1 << bit % 8
            yield f"bit {bit}", bytes(flipped)
        elif kind == 2:
            yield power_loss(content, rng)
        else:
            start = rng.randrange(size)
            piece = rng.randbytes(rng.randrange(1, 400))
            yield f"{len(piece)} bytes at {start}", content[:start] + piece + content[start + len(piece) :]


def with_section(content, key, name, value):
    header, sections, _ = _core.decode_entry(content, key)
    return _core.encode_entry(key, header, {**sections, name: value})


def power_loss(content, rng, page=512):
    """Some pages reached the disk, the others are zeros; or the file ends early."""
    pages = [content[i : i + page] for i in range(0, len(content), page)]
    kept = [p if rng.random() < 0.5 else bytes(len(p)) for p in pages]
    return "power loss", b"".join(kept[: rng.randrange(1, len(kept) + 1)])


def run(count=2000, seed=1, kind="K1"):
    """One line of figures; raises AssertionError at the first failure."""
    rng = random.Random(seed)
    reasons = {}
    with private_cache() as (folder, compiler):
        compile_block(BLOCK)
        compile_block(OTHER)
        key = key_of_block(BLOCK)
        path = folder / "kernels-1" / key[:2] / f"{key}.bin"
        quarantined = folder / "kernels-1" / "quarantine" / path.name
        content = path.read_bytes()
        other_key = key_of_block(OTHER)
        foreign = (folder / "kernels-1" / other_key[:2] / f"{other_key}.bin").read_bytes()
        forms = damages(content, key, foreign, rng, count) if kind == "K1" else (power_loss(content, rng) for _ in range(count))
        tried = 0
        for name, damaged in forms:
            if damaged == content:
                continue
            tried += 1
            path.write_bytes(damaged)
            forget()
            before = compiler.count
            with counted_warnings() as caught:
                kernel = compile_block(BLOCK)
            check_block(BLOCK, kernel)
            assert compiler.count == before + 1, f"{name}: used a damaged entry"
            assert len(caught) == 1 and "W0501" in str(caught[0].message), (name, [str(w.message) for w in caught])
            assert quarantined.read_bytes() == damaged, f"{name}: not set aside"
            reason = str(caught[0].message).split("(")[1].split(")")[0]
            reasons[reason] = reasons.get(reason, 0) + 1
            assert path.stat().st_size > 0
    return f"{kind}: {tried} damaged entries, none used, none raised, {len(reasons)} kinds of reasons"
