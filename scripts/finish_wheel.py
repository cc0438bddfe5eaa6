# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Platform tag and checks of a wheel.

Gives a freshly built wheel the manylinux tag that its symbols allow and
refuses one that would not work elsewhere.

How: 1. reads the versions of glibc that the extension's symbols ask for; the
newest one is the tag; 2. checks that the extension needs only libraries that
every Linux has, that nothing but its init function is visible, and that the
wheel is within its size; 3. renames it into the output folder.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LIMIT_IN_BYTES = 60 << 20
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
    names = [line.split()[-1] for line in symbols.splitlines()
             if re.search(r"^[0-9a-f]+ +[gwu] .*\s\.(text|data|bss|rodata)\S*\s", line)]
    return [name for name in names if not name.startswith("PyInit_")]


def problems_of(extension: Path) -> list[str]:
    needed = set(re.findall(r"NEEDED\s+(\S+)", tool_output("objdump", "-p", str(extension))))
    problems = [f"links {name}, which other machines may not have" for name in sorted(needed - ALLOWED_LIBRARIES)]
    symbols = tool_output("objdump", "-T", str(extension))
    problems += [f"symbol {name} is visible" for name in visible_symbols(symbols)[:5]]
    return problems


def main(wheel: Path, output: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if re.search(r"tilewright/_core\.[^/]*\.so$", name)]
            if len(members) != 1:
                print(f"error: {wheel.name} holds {len(members)} extensions, not 1: {members}", file=sys.stderr)
                return 1
            extension = Path(archive.extract(members[0], folder))
        problems = problems_of(extension)
        symbols = tool_output("objdump", "-T", str(extension))
        glibc = newest_version(symbols, "GLIBC")
        size = extension.stat().st_size
    if wheel.stat().st_size > LIMIT_IN_BYTES:
        problems.append(f"is {wheel.stat().st_size >> 20} MiB; the limit is {LIMIT_IN_BYTES >> 20}")
    for problem in problems:
        print(f"error: {wheel.name}: {problem}", file=sys.stderr)
    if problems:
        return 1

    platform = f"manylinux_{glibc[0]}_{max(glibc[1], 28)}_x86_64"
    subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", platform, str(wheel)],
                   check=True, capture_output=True)
    tagged = next(wheel.parent.glob("*.whl"))
    target = output / tagged.name
    tagged.replace(target)
    print(f"{target}  {target.stat().st_size / (1 << 20):.1f} MiB (extension {size / (1 << 20):.1f} MiB), "
          f"glibc {'.'.join(map(str, glibc))} or later")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
