# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference of the language and of the package, from docstrings, with an example of each function.

Examples lie in docs/examples and run while the site is built. GROUPS places each
public name; tests/tools/test_site.py counts that none is missing.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

from . import pages

sys.path.insert(0, str(pages.ROOT / "python"))

# Page -> title, sentence, names of tilewright.language.
GROUPS = {
    "programs": (
        "Programs and control flow",
        "Which program this is, loops with hints, and what is decided while a kernel is compiled.",
        """
        program_id num_programs range static_range condition constexpr constexpr_type constexpr_function static_assert
        static_print assume multiple_of max_contiguous max_constancy expect_zero debug_barrier device_assert device_print
        aggregate_replace tuple tuple_type slice slice_type""",
    ),
    "tiles": (
        "Tiles and shapes",
        "Tiles are made, put together and brought into other shapes.",
        """
        tensor arange full zeros zeros_like to_tensor cast where broadcast broadcast_to expand_dims unsqueeze squeeze
        reshape view ravel permute trans cat join split interleave flip gather swizzle2d""",
    ),
    "memory": (
        "Memory",
        "Loads, stores, atomics, block pointers and descriptors.",
        """
        load store atomic_add atomic_and atomic_or atomic_xor atomic_max atomic_min atomic_xchg atomic_cas atomic_load
        atomic_store atomic_poll make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor tensor_descriptor
        tensor_descriptor_base tensor_descriptor_type make_block_ptr advance const""",
    ),
    "arithmetic": (
        "Arithmetic",
        "Functions that work on each element. `+ - * / // % ** & | ^ << >>` and comparisons work on tiles as in Python.",
        """
        abs add sub mul cdiv fma umulhi div_rn fdiv maximum minimum clamp PropagateNan ceil floor exp exp2 log log2 sqrt
        sqrt_rn rsqrt sin cos erf sigmoid softmax map_elementwise inline_asm_elementwise""",
    ),
    "reductions": (
        "Reductions, scans and sorting",
        "Many elements of a tile become fewer, or change their order.",
        """
        sum max min argmax argmin xor_sum reduce_or reduce cumsum cumprod associative_scan sort topk bitonic_merge histogram""",
    ),
    "products": ("Matrix products", "What runs on the tensor cores.", "dot dot_scaled"),
    "random": (
        "Random numbers",
        "A number follows from a seed and an offset, so each program can compute its own.",
        """
        rand randn randint rand4x randn4x randint4x philox philox_impl uint_to_uniform_float pair_uniform_to_normal""",
    ),
    "types": (
        "Types",
        "Types of elements, pointers and tiles.",
        """
        dtype pointer_type block_type get_int_dtype str_to_ty TRITON_MAX_TENSOR_NUMEL int1 int8 int16 int32 int64 uint8 uint16
        uint32 uint64 float16 bfloat16 float32 float64 float8e4nv float8e5 float8e4b15 float8e4b8 float8e5b16 void pi32_t""",
    ),
}
MODULES = """aggregates basics combines compatibility core descriptors extra extrema libdevice math memory random scaled
    shapes standard target_info""".split()

# Section of the page on the package -> names of tilewright.
PACKAGE = {
    "Kernels": "jit JITFunction KernelInterface aggregate constexpr_function must_use_result cdiv next_power_of_2",
    "Tuning": "autotune Autotuner Config heuristics",
    "Compiling": "compile ASTSource CompiledKernel AsyncCompileMode FutureKernel MockTensor load",
    "Arguments and memory": "reinterpret TensorWrapper set_allocator",
    "Errors": "TilewrightError TritonError CompilationError InterpreterError OutOfResources",
    "Programs for Triton": "install_as_triton",
}
PACKAGE_MODULES = "backends compiler errors knobs language runtime testing tools".split()

PAGES = [*(f"reference/{name}.md" for name in GROUPS), "reference/libdevice.md", "reference/package.md"]

# Elements are shown by a table, with one example for all.
ELEMENTS = GROUPS["types"][2].split()[6:]


# What objects without a docstring are.
WRITTEN = {
    "dtype": "The type of an element, by its name in signatures; `tl.float16` and the others are objects of it.",
    "pointer_type": "The type of a pointer to elements of a type.",
    "block_type": "The type of a tile: the type of its elements, and its shape.",
    "TRITON_MAX_TENSOR_NUMEL": "The largest number of elements that a tile may have.",
}

# What a tile has beside the functions of the language.
TILE = {
    "T": "The transposed tile of two dimensions.",
    "dtype": "The type of the elements.",
    "shape": "The extents, as a tuple of constants.",
    "type": "The type of the tile: that of its elements, and its shape.",
    "numel": "The number of elements.",
    "handle": "The value of the compiler or of the interpreter behind the tile.",
}


@functools.cache
def language():
    return importlib.import_module("tilewright.language")


def libdevice_names() -> list[str]:
    """The functions that are libdevice's, not what its module imports."""
    module = language().extra.libdevice
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and inspect.isfunction(value) and name not in ("builtin", "unwrap")
    )


@functools.cache
def examples() -> dict[str, dict]:
    """Name -> text of the example, and what it printed."""
    script = Path(__file__).with_name("run_examples.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(pages.ROOT / "python"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(script), str(pages.ROOT / "docs" / "examples"), *libdevice_names()],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = json.loads(done.stdout)
    failed = [f"{name}: {made['failed']}" for name, made in found.items() if "failed" in made]
    if failed:
        raise RuntimeError("examples of the reference fail:\n" + "\n".join(failed))
    return found


def _signature(name: str, value) -> str:
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    # Defaults that are objects, as a reader would write them.
    for shown, written in (
        ("<PropagateNan.NONE: 0>", "PropagateNan.NONE"),
        ("tilewright.language.", "tl."),
        ("constexpr[10]", "10"),
        ("'Optional[Callable]' = ", ""),
        ("fn: None", "fn=None"),
    ):
        signature = signature.replace(shown, written)
    return f"```python\n{name}{signature}\n```\n"


def documentation(name: str, value) -> str:
    """The docstring; for what cannot have one, its sentence of WRITTEN."""
    return WRITTEN.get(name) or inspect.getdoc(value) or ""


def _example(name: str) -> str:
    made = examples()[name]
    text = f"```python\n{made['code']}\n```\n"
    return text + (f"```text\n{made['printed'].rstrip()}\n```\n" if made["printed"].strip() else "")


def _entry(prefix: str, name: str, module, level: str = "##") -> str:
    value = getattr(module, name)
    example = name if prefix == "tl" else f"tw.{name}"
    if example not in examples():
        # A second name of the same object.
        example = next(other for other in vars(module) if getattr(module, other) is value and other in examples())
    text = [f"{level} {prefix}.{name}\n", _signature(f"{prefix}.{name}", value), documentation(name, value)]
    if prefix == "tl" and inspect.isfunction(value) and hasattr(language().tensor, name):
        text.append(f"\nAlso a method of tiles: `tile.{name}(...)`.\n")
    return "\n".join([*text, "", _example(example)])


def _elements() -> str:
    """A table of the types of elements."""
    tl = language()
    rows = ["| type | in signatures | bits | kind |", "|---|---|---|---|"]
    for name in ELEMENTS:
        value = getattr(tl, name)
        if name == "void":
            rows.append("| `tl.void` | | 0 | what a function without a value returns |")
        elif value.is_ptr():
            rows.append(f"| `tl.{name}` | `*i32` | 64 | pointer to int32 |")
        else:
            kind = (
                "float"
                if value.is_floating()
                else "boolean"
                if name == "int1"
                else "unsigned integer"
                if name.startswith("u")
                else "signed integer"
            )
            rows.append(f"| `tl.{name}` | `{value.short_name}` | {value.primitive_bitwidth} | {kind} |")
    return "## Types of elements\n\n" + "\n".join(rows) + "\n\n" + _example("types")


def _modules(names: list[str], prefix: str, module) -> str:
    rows = ["## Modules\n", "| module | what is in it |", "|---|---|"]
    for name in names:
        first = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{prefix}.{name}` | {first} |")
    return "\n".join(rows) + "\n"


def methods() -> list[str]:
    """The public attributes of a tile."""
    return sorted(name for name in dir(language().tensor) if not name.startswith("_"))


def _methods() -> str:
    """A table of what can be said of a tile with a dot."""
    tl, rows = language(), ["## Methods of tiles\n", "| name | meaning |", "|---|---|"]
    for name in methods():
        value = getattr(tl.tensor, name)
        first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
        meaning = TILE.get(name) or (f"As `tl.{name}`." if name in tl.__all__ else first)
        rows.append(f"| `tile.{name}` | {meaning} |")
    return "\n".join(rows) + "\n"


def _library(module_name: str) -> str:
    """The public names of a module of the package, without examples."""
    module = importlib.import_module(f"tilewright.{module_name}")
    text = [f"## tw.{module_name}\n"]
    for name in module.__all__:
        value = getattr(module, name)
        text += [
            f"### tw.{module_name}.{name}\n",
            _signature(f"tw.{module_name}.{name}", value),
            (inspect.getdoc(value) or "") + "\n",
        ]
    return "\n".join(text)


def _language_page(page: str) -> str:
    title, sentence, names = GROUPS[page]
    text = [
        f"# {title}\n",
        sentence + "\n",
        "The examples ran in the interpreter when this page was made, and the text below each is what it printed. An example "
        "without a decorator is the body of a kernel, launched with one program; `tl` is `tilewright.language`, `tw` is "
        "`tilewright`, `np` is NumPy.\n",
    ]
    text += [_entry("tl", name, language()) for name in names.split() if name not in ELEMENTS]
    if page == "tiles":
        text.append(_methods())
    if page == "types":
        text += [_elements(), _modules(MODULES, "tl", language())]
    return "\n".join(text)


def _libdevice_page() -> str:
    module = language().extra.libdevice
    text = [
        "# libdevice\n",
        inspect.getdoc(module).split("\n\n", 1)[1] + "\n",
        "Each row was run in the interpreter: the arguments are tiles of two elements that hold the value shown.\n",
        "| function | meaning | example | gives |",
        "|---|---|---|---|",
    ]
    for name in libdevice_names():
        value, made = getattr(module, name), examples()[f"libdevice.{name}"]
        arguments = [part.split(", ") for part in made["code"].split("tl.full((2,), ")[1:]]
        shown = ", ".join(f"{number} as {kind.split(')')[0].removeprefix('tl.')}" for number, kind, *_ in arguments)
        result = made["printed"].strip(" ()[]\n").split()
        meaning = documentation(name, value).replace("\n", " ")
        text.append(f"| `{name}{inspect.signature(value)}` | {meaning} | {shown} | `{result[0]}` |")
    return "\n".join(text) + "\n"


def _package_page() -> str:
    package = importlib.import_module("tilewright")
    text = [
        "# The package\n",
        "The names of `tilewright`, here `tw`. Each example is a script that ran when this page was made; "
        "`tl` is `tilewright.language`, `np` is NumPy.\n",
    ]
    for title, names in PACKAGE.items():
        text += [f"## {title}\n", *(_entry("tw", name, package, "###") for name in names.split())]
    text += [_library("testing"), _library("tuning")]
    return "\n".join([*text, _modules(PACKAGE_MODULES, "tw", package)])


def make() -> dict[str, str]:
    """All pages of the reference."""
    made = {f"reference/{name}.md": _language_page(name) for name in GROUPS}
    return {**made, "reference/libdevice.md": _libdevice_page(), "reference/package.md": _package_page()}
