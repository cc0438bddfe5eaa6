# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX and SASS by line of the source, and counts of their instructions."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter, defaultdict

from ..tools.disasm import path_to_binary

_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"')
_PTX_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_SASS_PLACE = re.compile(r'//## File "([^"]+)", line (\d+)')
_SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+([^;]*);")
_LIVE = re.compile(r"//\s*\|\s*(\d+)")  # nvdisasm -plr: how many general registers are live

# Kinds of instructions, by the beginning of their name; the first that fits counts.
_KINDS = (
    ("tensor cores", ("HGMMA", "HMMA", "IMMA", "DMMA", "QGMMA", "IGMMA", "BGMMA", "WGMMA", "wgmma", "mma")),
    ("bulk copies", ("UTMA", "UBLK", "cp.async.bulk")),
    ("copies to shared memory", ("LDGSTS", "cp.async", "LDGDEPBAR", "DEPBAR")),
    ("global memory", ("LDG", "STG", "LD.", "ST.", "ATOM", "RED.", "ld.global", "st.global", "atom", "red.")),
    ("shared memory", ("LDS", "STS", "LDSM", "STSM", "ATOMS", "ld.shared", "st.shared", "ldmatrix", "stmatrix")),
    ("spills", ("LDL", "STL", "ld.local", "st.local")),
    (
        "barriers",
        ("BAR", "SYNCS", "MEMBAR", "FENCE", "ERRBAR", "WARPSYNC", "UCGABAR", "bar.", "barrier", "mbarrier", "fence", "membar"),
    ),
    ("exchanges in a warp", ("SHFL", "REDUX", "VOTE", "MATCH", "shfl", "redux", "vote", "match")),
    ("special functions", ("MUFU", "ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt.", "sin.", "cos.", "tanh.")),
    ("float arithmetic", ("F", "H", "D", "add.f", "add.rn.f", "mul.f", "mul.rn.f", "fma.", "sub.f", "div.", "max.f", "min.f")),
    ("conversions", ("I2F", "F2I", "F2F", "I2I", "cvt.")),
    ("control flow", ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK", "NOP", "bra", "ret", "exit", "call")),
    ("moves", ("MOV", "UMOV", "CS2R", "S2R", "S2UR", "R2UR", "LDC", "ULDC", "mov.", "ld.param", "SEL", "PRMT", "selp", "prmt")),
)


def _kind_of(instruction) -> str:
    name = instruction.split()[0]
    # Conversions begin with letters of float arithmetic, too.
    if name.startswith(("F2", "FENCE")):
        return "conversions" if name.startswith("F2") else "barriers"
    return next((kind for kind, beginnings in _KINDS if name.startswith(beginnings)), "integers and addresses")


def _instruction(text) -> str:
    """An instruction without its guard."""
    return re.sub(r"^@\S+\s+", "", text.strip())


def ptx_by_line(ptx):
    """{(file, line): [instruction, ...]} of a text with a line table."""
    files = {
        int(number): os.path.normpath(name)
        for number, name in map(lambda m: m.groups(), filter(None, map(_PTX_FILE.match, ptx.splitlines())))
    }
    found, place = defaultdict(list), None
    for text in ptx.splitlines():
        if at := _PTX_PLACE.match(text):
            place = (files.get(int(at[1]), ""), int(at[2]))
        elif place is not None and (line := text.strip()).endswith(";") and not line.startswith((".", "//")):
            found[place].append(line)
        elif text.startswith("}"):
            place = None
    return dict(found)


def disassemble(cubin):
    """What nvdisasm says of a cubin, with places and live registers where this version can tell them; None without it."""
    tool = path_to_binary("nvdisasm")
    if tool is None or cubin is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        for options in (["-g", "-plr"], ["-g"], []):
            done = subprocess.run([tool, "-c", *options, file.name], capture_output=True, text=True, check=False)
            if done.returncode == 0 and "error" not in done.stderr:
                return done.stdout
    return None


def sass_by_line(text):
    """({(file, line): [instruction, ...]}, {(file, line): most registers alive}, all instructions)"""
    found, live, every, place = defaultdict(list), {}, [], None
    for line in text.splitlines():
        if at := _SASS_PLACE.search(line):
            place = (os.path.normpath(at[1]), int(at[2]))
        elif code := _SASS_LINE.match(line):
            instruction = " ".join(code[1].split())
            every.append(instruction)
            if place is not None:
                found[place].append(instruction)
                if count := _LIVE.search(line):
                    live[place] = max(live.get(place, 0), int(count[1]))
    return dict(found), live, every


def mix(instructions) -> list:
    """[(kind, count)], most first."""
    kinds = Counter(_kind_of(instruction) for text in instructions if (instruction := _instruction(text)))
    return kinds.most_common()
