# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tags and checks of a wheel.

Gives a freshly built wheel the tags that its extension allows, and refuses one
that would not work elsewhere.

How: 1. checks that the extension needs only libraries that every Linux has, no
symbol that glibc 2.28 or Python lacks, that nothing but its init function is
visible, and that the wheel is within its size; 2. takes the interpreter's tag
from the extension's name; 3. writes the wheel into the output folder with its
members in order and with one time for all (SOURCE_DATE_EPOCH), so that the same
contents are the same bytes.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

LIMIT_IN_BYTES = 60 << 20
# That of RHEL 8; Ubuntu 20.04, Debian 11 and RHEL 9 have later ones.
OLDEST_GLIBC = (2, 28)
# What manylinux allows an extension to link, as far as we use it.
ALLOWED_LIBRARIES = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0",
    "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2",
}  # fmt: skip


def tool_output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def newest_version(symbols: str, prefix: str) -> tuple[int, ...]:
    found = re.findall(rf"\b{prefix}_([0-9.]+)\b", symbols)
    return max((tuple(int(part) for part in version.split(".")) for version in found), default=(0,))


def visible_symbols(symbols: str) -> list[str]:
    """Names that the extension defines for others: only its init function may be one."""
    names = [
        line.split()[-1]
        for line in symbols.splitlines()
        if re.search(r"^[0-9a-f]+ +[gwu] .*\s\.(text|data|bss|rodata)\S*\s", line)
    ]
    return [name for name in names if not name.startswith("PyInit_")]


def foreign_symbols(symbols: str) -> list[str]:
    """Names that the extension needs and that neither glibc 2.28 nor Python has: without a version, and not weak."""
    names = [line.split()[-1] for line in symbols.splitlines() if re.search(r"^[0-9a-f]+ +[^w]* +\*UND\*.*\sBase\s", line)]
    return [name for name in names if not re.match("_?Py", name)]


def problems_of(extension: Path) -> list[str]:
    needed = set(re.findall(r"NEEDED\s+(\S+)", tool_output("objdump", "-p", str(extension))))
    problems = [f"links {name}, which other machines may not have" for name in sorted(needed - ALLOWED_LIBRARIES)]
    symbols = tool_output("objdump", "-T", str(extension))
    problems += [f"symbol {name} is visible" for name in visible_symbols(symbols)[:5]]
    problems += [
        f"symbol {name} is not in glibc {'.'.join(map(str, OLDEST_GLIBC))}; python/portability/OldGlibc.cpp is the place for it"
        for name in foreign_symbols(symbols)
    ]
    glibc = newest_version(symbols, "GLIBC")
    if glibc > OLDEST_GLIBC:
        problems.append(f"needs glibc {'.'.join(map(str, glibc))}")
    return problems


def tag_of(extension: str) -> str:
    """_core.cpython-312-x86_64-linux-gnu.so is for cp312-cp312, and 313t for cp313-cp313t."""
    version, flags, machine = re.search(r"\.cpython-(\d+)([a-z]*)-([^-]+)-linux", extension).groups()
    return f"cp{version}-cp{version}{flags}-manylinux_{OLDEST_GLIBC[0]}_{OLDEST_GLIBC[1]}_{machine}"


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def rewrite(members: dict[str, bytes], tag: str, target: Path) -> None:
    """Writes the wheel: its tag, its list of contents, and nothing that depends on when and where."""
    info = next(name.rpartition("/")[0] for name in members if name.endswith(".dist-info/WHEEL"))
    text = re.sub(r"^Tag: .*\n", "", members[f"{info}/WHEEL"].decode(), flags=re.MULTILINE).rstrip("\n")
    members[f"{info}/WHEEL"] = f"{text}\nTag: {tag}\n".encode()
    del members[f"{info}/RECORD"]
    lines = [record_line(name, content) for name, content in sorted(members.items())]
    members[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in sorted(members.items()):
            member = zipfile.ZipInfo(name, when)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(member, content)


def main(wheel: Path, output: Path) -> int:
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    extensions = [name for name in members if re.search(r"tilewright/_core\.[^/]*\.so$", name)]
    if len(extensions) != 1:
        print(f"error: {wheel.name} holds {len(extensions)} extensions, not 1: {extensions}", file=sys.stderr)
        return 1
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(members[extensions[0]])
        file.flush()
        problems = problems_of(Path(file.name))
    size = len(members[extensions[0]])
    tag = tag_of(extensions[0])
    target = output / "-".join([*wheel.name.split("-")[:2], f"{tag}.whl"])
    rewrite(members, tag, target)
    if target.stat().st_size > LIMIT_IN_BYTES:
        problems.append(f"is {target.stat().st_size >> 20} MiB; the limit is {LIMIT_IN_BYTES >> 20}")
    if problems:
        target.unlink()
    for problem in problems:
        print(f"error: {target.name}: {problem}", file=sys.stderr)
    if not problems:
        print(f"{target}  {target.stat().st_size / (1 << 20):.1f} MiB (extension {size / (1 << 20):.1f} MiB)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
