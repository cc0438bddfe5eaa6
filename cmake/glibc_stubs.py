# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for the libraries of an older glibc, to link against.

What: writes shared libraries that define, without any code, what glibc had at
a given release. A library that was linked against them loads with that release
and all later ones.

Why here: a linker binds each symbol to the newest version that this machine's
glibc offers (`pthread_create@GLIBC_2.34`), although nearly all of them exist in
an older version too (`pthread_create@GLIBC_2.2.5`).

How: 1. reads which versions of which symbols this machine's glibc defines: it
still carries those of all earlier releases; 2. keeps for each symbol the newest
version that is not newer than the wanted release; a symbol without one did not
exist then, and linking fails where nothing else defines it; 3. writes an
assembler file and a version script for each library and links them.

Not handled: libpthread, libdl and librt were merged into libc in glibc 2.34,
and their symbols come from its stand-in. The three become empty stand-ins: a
library that names them finds the symbols there on older systems, for the
dynamic linker matches a symbol's version and not the library that it came from.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# Name for the linker, and name for the loader.
LIBRARIES = {"c": "libc.so.6", "m": "libm.so.6"}
MERGED_LIBRARIES = {"pthread": "libpthread.so.0", "dl": "libdl.so.2", "rt": "librt.so.1"}
# A line of `objdump -T`: address, flags, section, size, version, name. The
# version stands in brackets where it is not the default one.
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+\(?GLIBC_([0-9.]+)\)?\s+(\S+)$")


def path_of(compiler: str, library: str) -> str:
    command = [compiler, f"-print-file-name={library}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def defined_symbols(library: str, release: tuple[int, ...]) -> dict[str, tuple[tuple[int, ...], bool, int]]:
    """For each symbol its newest version up to `release`, whether it is a function, and its size."""
    listing = subprocess.run(["objdump", "-T", library], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in listing.splitlines():
        match = SYMBOL.match(line)
        if not match or match[1] in ("*UND*", "*ABS*"):
            continue
        version = tuple(int(part) for part in match[3].split("."))
        if version <= release and version > found.get(match[4], ((), False, 0))[0]:
            found[match[4]] = (version, match[1] == ".text", int(match[2], 16))
    return found


def assembly_of(symbols: dict[str, tuple[tuple[int, ...], bool, int]]) -> str:
    lines = []
    for name, (_, is_function, size) in sorted(symbols.items()):
        kind = "function" if is_function else "object"
        lines.append(
            f'.section {".text" if is_function else ".data"}\n.globl "{name}"\n.type "{name}", @{kind}\n'
            f'"{name}":\n.skip {max(size, 1) if not is_function else 1}\n.size "{name}", {max(size, 1)}'
        )
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n'


def version_script_of(symbols: dict[str, tuple[tuple[int, ...], bool, int]]) -> str:
    by_version = defaultdict(list)
    for name, (version, _, _) in symbols.items():
        by_version[version].append(name)
    return "".join(
        "GLIBC_{} {{ global: {} }};\n".format(
            ".".join(map(str, version)), " ".join(f"{name};" for name in sorted(names)))
        for version, names in sorted(by_version.items()))  # fmt: skip


def write_stub(
    compiler: str, folder: Path, name: str, loader_name: str, symbols: dict[str, tuple[tuple[int, ...], bool, int]]
) -> None:
    assembly, script = folder / f"{name}.s", folder / f"{name}.map"
    assembly.write_text(assembly_of(symbols))
    script.write_text(version_script_of(symbols))
    versions = [f"-Wl,--version-script={script}"] if symbols else []
    subprocess.run([compiler, "-shared", "-nostdlib", "-fuse-ld=lld", f"-Wl,-soname,{loader_name}", *versions,
                    str(assembly), "-o", str(folder / f"lib{name}.so")], check=True)  # fmt: skip


def main(compiler: str, release: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    limit = tuple(int(part) for part in release.split("."))
    for name, loader_name in LIBRARIES.items():
        write_stub(compiler, folder, name, loader_name, defined_symbols(path_of(compiler, loader_name), limit))
    for name, loader_name in MERGED_LIBRARIES.items():
        write_stub(compiler, folder, name, loader_name, {})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
