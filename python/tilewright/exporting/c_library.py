# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A library as C source: a header, a source, its machine code as numbers, and a CMake file.

The text that all libraries share stands beside this file: types.h.in, state.c.in,
launch.c.in and tensor_maps.c.in. The source needs a C11 compiler and, when it runs, libcuda.so.1, which it
opens itself: nothing of CUDA is needed to build it.
"""

from __future__ import annotations

import itertools
import os
import string
import struct

from .c_kernel import KernelText

_HEADER = string.Template("""\
/* Kernels of the library '$name', written by 'tilewright export'.
   Each function launches a kernel on a stream of the current CUDA context and returns TW_OK, or
   why it did not: ${name}_last_error() then says more of the latest refusal in this thread. */

$types
#ifndef TW_LIBRARY_$name
#define TW_LIBRARY_$name

#ifdef __cplusplus
extern "C" {
#endif

$kernels

/* Loads all kernels into the current context; otherwise the first launch of each does. */
int ${name}_load(void);
/* Unloads them, before the context ends. No launch may be under way, and none may follow in this context's place
   in memory before that. */
void ${name}_unload(void);
/* What a status means, and the latest refusal in this thread in full. */
const char *${name}_error_text(int status);
const char *${name}_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
""")

_FUNCTIONS = string.Template("""\
/* ---- The library ---- */

int ${name}_load(void) { return tw_load_all(); }
void ${name}_unload(void) { tw_unload_all(); }
const char *${name}_error_text(int status) { return tw_status_text(status); }
const char *${name}_last_error(void) { return tw_last_error; }
""")

_CMAKE = string.Template("""\
# Written by 'tilewright export': add_subdirectory() of this folder gives the library target $name.
cmake_minimum_required(VERSION 3.16)
project($name LANGUAGES C)

find_package(Threads REQUIRED)
add_library($name STATIC $name.c)
target_include_directories($name PUBLIC $${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries($name PRIVATE Threads::Threads $${CMAKE_DL_LIBS})
set_target_properties($name PROPERTIES C_STANDARD 11 POSITION_INDEPENDENT_CODE ON)
""")


def template(name) -> str:
    """A file beside this one, as all libraries have it."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


class LibraryText:
    """Writes a library; images that are equal are there once."""

    def __init__(self, library):
        self.library = library
        self._images: dict = {}
        self._forms = itertools.count()
        first, self.kernels = 0, []
        for kernel in library.kernels:
            self.kernels.append(KernelText(kernel, first, self._forms, self._code))
            first += len(kernel.variants)
        self.number_of_variants = first

    def _code(self, content):
        return self._images.setdefault(content, f"tw_code_{len(self._images)}")

    def header(self) -> str:
        return _HEADER.substitute(
            name=self.library.name,
            types=template("types.h.in"),
            kernels="\n\n".join(kernel.declarations() for kernel in self.kernels),
        )

    def body(self, code, functions=None) -> str:
        """All after the types. `code` is called for the images, or their include, once it is known which there are; `functions`
        take the place of those of a library."""
        definitions = [kernel.definitions() for kernel in self.kernels]
        rows = ",\n    ".join(row for kernel in self.kernels for row in kernel.variants())
        table = f"static const TwVariant tw_variants[TW_VARIANTS] = {{\n    {rows},\n}};"
        sizes = f"#define TW_VARIANTS {self.number_of_variants}\n#define TW_FORMS {max(1, next(self._forms))}"
        shared = [template(name).rstrip() for name in ("state.c.in", "launch.c.in", "tensor_maps.c.in")]
        return "\n\n".join(
            [sizes, *shared, code(), *definitions, table, functions or _FUNCTIONS.substitute(name=self.library.name)]
        )

    def code(self) -> str:
        """The images as numbers of eight bytes, least significant first, as every host of CUDA has them."""
        return "\n".join(_array(name, content) for content, name in self._images.items())


def _array(name, content) -> str:
    padded = content + bytes(-len(content) % 8)
    words = [f"{word:#x}" for word in struct.unpack(f"<{len(padded) // 8}Q", padded)]
    lines = [",".join(words[start : start + 12]) for start in range(0, len(words), 12)]
    return f"static const uint64_t {name}[{len(words)}] = {{\n" + ",\n".join(lines) + "};"


def write_library(library, folder) -> list:
    """Writes the files of a library; their paths."""
    text, name = LibraryText(library), library.name
    body = text.body(lambda: f'#include "{name}_code.inc"')
    files = {
        f"{name}.h": text.header(),
        f"{name}.c": f'#include "{name}.h"\n\n{body}',
        f"{name}_code.inc": text.code() + "\n",
        "CMakeLists.txt": _CMAKE.substitute(name=name),
    }
    os.makedirs(folder, exist_ok=True)
    paths = []
    for file, content in files.items():
        paths.append(os.path.join(folder, file))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            stream.write(content)
    return paths
