# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joins kernels that `tools.compile` has made: the command line of Triton's `tools.link`.

    python -m tilewright.tools.link build/*.h -o build/scale

writes `scale.c` and `scale.h`. For each set of constants and options there is one
function that picks, among its specialisations, the first whose arguments it fits, the
most specialised before the others. `scale(stream, ..., algo_id)` picks by the number of
such a set, `scale_default` takes the first, `scale_get_num_algos` counts them.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(r"//\s*tt-linker:\s*(\w+):([^:]*):(\S+)")
_NAME = re.compile(r"(\w+)_([0-9a-f]{8})_((?:\d+[cd])*)$")


class LinkerError(Exception):
    """Headers that do not belong together, or are not of `tools.compile`."""


@dataclass
class Specialisation:
    """One function of a header: its parameters as the kernel has them, and what it asks of them."""

    function: str
    kernel: str
    parameters: list  # (C type, name)
    conditions: dict  # name -> 1 or 16

    def given(self):
        """The parameters that the function takes: those that are equal to 1 are in its code."""
        return [(kind, name) for kind, name in self.parameters if self.conditions.get(name) != 1]

    def test(self) -> str:
        """The C expression that says whether arguments fit."""
        tests = [
            f"{name} == 1" if value == 1 else f"(uintptr_t){name} % {value} == 0" for name, value in self.conditions.items()
        ]
        return " && ".join(tests) or "1"


def _declared(parameters) -> str:
    return "".join(f", {kind} {name}" for kind, name in parameters)


def _named(parameters) -> str:
    return "".join(f", {name}" for _, name in parameters)


def _specialisation(function, signature) -> Specialisation:
    match = _NAME.match(function)
    if match is None:
        raise LinkerError(f"'{function}' is no name that tools.compile gives")
    parameters = [tuple(part.split()) for part in signature.split(",") if part.strip()]
    kernel, _, suffix = match.groups()
    places = [(int(place), 1 if letter == "c" else 16) for place, letter in re.findall(r"(\d+)([cd])", suffix)]
    if places and places[-1][0] >= len(parameters):
        raise LinkerError(f"'{function}' specialises parameter {places[-1][0]} and has {len(parameters)}: constants come last")
    return Specialisation(function, kernel, parameters, {parameters[place][1]: value for place, value in places})


def read_headers(texts) -> dict:
    """{set of constants and options: its specialisations}, in the order of the headers."""
    found = {}
    for text in texts:
        for function, signature, algorithm in _DIRECTIVE.findall(text):
            one = _specialisation(function, signature)
            group = found.setdefault(f"{one.kernel}_{algorithm}".replace(".", "_").replace("-", "m"), [])
            if group and [kind for kind, _ in group[0].parameters] != [kind for kind, _ in one.parameters]:
                raise LinkerError(f"{function} and {group[0].function} have different parameters")
            group.append(one)
    kernels = {one.kernel for group in found.values() for one in group}
    if len(kernels) != 1:
        raise LinkerError(f"headers of one kernel are linked, and these have {sorted(kernels) or 'none'}")
    return found


def _choice(name, group) -> str:
    """The function of one set of constants."""
    group = sorted(group, key=lambda one: -len(one.conditions))
    lines = [
        f"CUresult {one.function}(CUstream stream{_declared(one.given())});\n"
        f"void load_{one.function}(void);\nvoid unload_{one.function}(void);"
        for one in group
    ]
    lines.append(f"CUresult {name}(CUstream stream{_declared(group[0].parameters)}) {{")
    lines += [f"  if ({one.test()})\n    return {one.function}(stream{_named(one.given())});" for one in group]
    lines.append("  return CUDA_ERROR_INVALID_VALUE;\n}")
    for word in ("load", "unload"):
        lines.append(f"void {word}_{name}(void) {{\n" + "".join(f"  {word}_{one.function}();\n" for one in group) + "}")
    return "\n".join(lines)


def _declarations(kernel, parameters, names) -> str:
    lines = [
        "#pragma once",
        "#include <cuda.h>",
        "#include <stdint.h>",
        "",
        "typedef CUstream TT_StreamTy;",
        "typedef CUresult TT_ResultTy;",
        "",
    ]
    for name in (*names, kernel):
        lines += [f"void load_{name}(void);", f"void unload_{name}(void);"]
    lines += [f"CUresult {name}(CUstream stream{_declared(parameters)});" for name in (*names, f"{kernel}_default")]
    lines += [f"CUresult {kernel}(CUstream stream{_declared(parameters)}, int algo_id);", f"int {kernel}_get_num_algos(void);"]
    return "\n".join(lines) + "\n"


def _definitions(kernel, parameters, names) -> str:
    declared, named = _declared(parameters), _named(parameters)
    loads = "".join(
        f"void {word}_{kernel}(void) {{\n" + "".join(f"  {word}_{name}();\n" for name in names) + "}\n"
        for word in ("load", "unload")
    )
    return f"""
typedef CUresult (*{kernel}_function)(CUstream{"".join(", " + kind for kind, _ in parameters)});
static const {kernel}_function {kernel}_functions[] = {{{", ".join(names)}}};

int {kernel}_get_num_algos(void) {{ return {len(names)}; }}

CUresult {kernel}(CUstream stream{declared}, int algo_id) {{
  if (algo_id < 0 || algo_id >= {len(names)})
    return CUDA_ERROR_INVALID_VALUE;
  return {kernel}_functions[algo_id](stream{named});
}}

CUresult {kernel}_default(CUstream stream{declared}) {{ return {kernel}(stream{named}, 0); }}

{loads}"""


def link(headers, out) -> list:
    """Writes the header and the source that join these headers; their paths."""
    groups = read_headers(Path(header).read_text() for header in headers)
    names = list(groups)
    first = groups[names[0]][0]
    header, source = Path(out).with_suffix(".h"), Path(out).with_suffix(".c")
    header.write_text(_declarations(first.kernel, first.parameters, names))
    functions = "\n\n".join(_choice(name, group) for name, group in groups.items())
    source.write_text(f'#include "{header.name}"\n\n{functions}\n{_definitions(first.kernel, first.parameters, names)}')
    return [header, source]


def main(arguments=None):
    parser = ArgumentParser(prog="link", description="Joins kernels that tools.compile has made into one function.")
    parser.add_argument("headers", nargs="+", help="headers that tools.compile has written")
    parser.add_argument("--out", "-o", required=True, help="the files' path without their endings")
    options = parser.parse_args(arguments)
    link(options.headers, options.out)


if __name__ == "__main__":
    main()
