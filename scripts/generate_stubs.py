# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the type stubs of the modules that kernels name, from the modules themselves.

    python scripts/generate_stubs.py         # or: make stubs

Names, signatures, defaults and docstrings are those of the running package; stub_types.py adds
types. tests/tools/test_stubs.py fails when a stub is not what this script would write.

Two things need a trick, as the language has values that Python's types do not describe.
A constexpr, a dtype or `tl.const` is an annotation as well as a value, and takes and gives any
type: such names are imported from a module that does not exist, which makes them Any in both
roles for all checkers. And `acc = 0.0` becomes a tensor later: mypy takes the first type for the
variable's, so what functions and operators give is Any there (`_Tile`), and a tensor for other checkers.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "tilewright"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "python")]

import stub_types  # noqa: E402
import tilewright  # noqa: E402
from tilewright import _core  # noqa: E402
from tilewright.compiler.options import DEFAULTS  # noqa: E402
from tilewright.runtime.sourced_function import SourcedFunction  # noqa: E402

_HEAD = """\
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""

#: The modules of the language that get a stub; checkers read the others as they are.
LANGUAGE = (
    "_values",
    "core",
    "memory",
    "shapes",
    "math",
    "standard",
    "random",
    "scaled",
    "descriptors",
    "target_info",
    "extra",
    "extra.libdevice",
    "extra.cuda",
    "extra.cuda.libdevice",
    "extra.cuda.utils",
    "extra.cuda.gdc",
    "extra.hip",
    "extra.hip.libdevice",
    "extra.hip.utils",
    "semantic",
)

# Values that are annotations too: their module does not exist, see above.
_ANY = "_known_to_the_compiler"
_ANNOTATIONS = ("constexpr", "const")

_OPERATORS = tuple(
    f"__{r}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
    for r in ("", "r")
)
_COMPARISONS = tuple(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge"))

_RESULTS = """
MYPY: bool
if MYPY:
    _Tile: TypeAlias = Any
    _BlockPointer: TypeAlias = Any
    _Descriptor: TypeAlias = Any
else:
    _Tile: TypeAlias = tensor
    _BlockPointer: TypeAlias = block_pointer
    _Descriptor: TypeAlias = tensor_descriptor
"""


def _docstring(thing, indent: str) -> str:
    text = inspect.getdoc(thing) or ""
    # What every method of such a name has tells nothing.
    if not text or text == inspect.getdoc(getattr(object, getattr(thing, "__name__", ""), None) or ""):
        return f"{indent}...\n"
    quoted = f'"""{text}"""' if "\\" not in text else f'r"""{text}"""'
    return textwrap.indent(quoted, indent) + "\n"


def _default(value) -> str:
    if type(value) in (bool, int, float, str, type(None)) or value == ():
        return repr(value)
    return "..."


def _parameter_type(function: str, name: str, default) -> str:
    kind = stub_types.PARAMETERS_OF.get(function, {}).get(name) or stub_types.PARAMETERS.get(name, "Any")
    if default is None and kind != "Any" and not kind.endswith("None"):
        kind += " | None"
    return kind


def _parameters(function: str, signature: inspect.Signature, is_method: bool) -> str:
    parts, names = [], list(signature.parameters.values())
    for position, p in enumerate(names):
        if p.kind == p.KEYWORD_ONLY and not any(q.kind in (q.VAR_POSITIONAL, q.KEYWORD_ONLY) for q in names[:position]):
            parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if is_method and position == 0:
            parts.append(p.name)
            continue
        text = f"{star}{p.name}: {'Any' if star else _parameter_type(function, p.name, p.default)}"
        parts.append(text if p.default is p.empty else f"{text} = {_default(p.default)}")
    return ", ".join(parts)


def _function(name: str, thing, indent: str = "", *, is_method: bool = False) -> str:
    """One function, or its overloads; the docstring stands at the last, where all checkers look."""
    body = _docstring(thing, indent + "    ")
    if name in stub_types.OVERLOADS:
        out = ""
        for given, result in stub_types.OVERLOADS[name]:
            if is_method:
                given = given.partition(":")[0] + given.partition("Any" if "Any" in given.split(",")[0] else "int")[2]
            out += f"{indent}@overload\n{indent}def {name}({given}) -> {result}:\n{body}"
        return out
    result = stub_types.RETURNS.get(name, "_Tile" if hasattr(thing, "__tilewright_builtin__") or is_method else "Any")
    arguments = _parameters(name, inspect.signature(thing), is_method)
    return f"{indent}def {name}({arguments}) -> {result}:\n{body}"


def _tensor_class() -> str:
    kind = _core.language.tensor
    out = "@final\nclass tensor:\n" + _docstring(kind, "    ")
    for name in sorted(set(vars(kind)) | {"__hash__"}):
        thing = inspect.getattr_static(kind, name)
        if name in _OPERATORS:
            modulo = ", mod: Any = None" if name in ("__pow__", "__rpow__") else ""
            out += f"    def {name}(self, other: Any{modulo}, /) -> _Tile: ...\n"
        elif name in _COMPARISONS:
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            out += f"    def {name}(self, other: Any, /) -> _Tile: ...{ignore}\n"
        elif name in ("__neg__", "__pos__", "__invert__"):
            out += f"    def {name}(self) -> _Tile: ...\n"
        elif name == "__getitem__":
            out += "    def __getitem__(self, key: Any, /) -> _Tile: ...\n"
        elif name in stub_types.OPERATOR_RETURNS:
            out += f"    def {name}(self) -> {stub_types.OPERATOR_RETURNS[name]}: ...\n"
        elif isinstance(thing, types.FunctionType) and not name.startswith("_"):
            out += _function(name, thing, "    ", is_method=True)
        elif inspect.isdatadescriptor(thing) and name in stub_types.ATTRIBUTES:
            out += f"    @property\n    def {name}(self) -> {stub_types.ATTRIBUTES[name]}:\n{_docstring(thing, '        ')}"
    return out


def _type_class(name: str) -> str:
    """dtype and what derives from it."""
    kind = getattr(_core.language, name)
    base = "" if name == "dtype" else "(dtype)"
    constructor = {
        "dtype": "name: str",
        "pointer_type": "element_ty: _dtype, address_space: int = 1, const: bool = False",
        "block_type": "element_ty: _dtype, shape: Any",
    }[name]
    text = _docstring(kind, "    ") if kind.__doc__ else ""
    out = f"class {name}{base}:\n{text}    def __init__(self, {constructor}) -> None: ...\n"
    for attribute, thing in sorted(vars(kind).items()):
        if attribute.startswith("_"):
            continue
        if isinstance(thing, list):
            out += f"    {attribute}: ClassVar[list[str]]\n"
        elif isinstance(thing, type):
            out += f"    {attribute}: ClassVar[Any]\n"
        elif isinstance(thing, property) or inspect.isdatadescriptor(thing):
            kind_of = stub_types.ATTRIBUTES.get(attribute, "Any")
            out += f"    @property\n    def {attribute}(self) -> {kind_of}: ...\n"
        elif attribute == "is_dtype":
            out += "    @staticmethod\n    def is_dtype(name: str) -> bool: ...\n"
        else:
            result = stub_types.DTYPE_RETURNS.get(attribute, "bool")
            more = ", element_ty: Any" if attribute == "with_element_ty" else ""
            out += f"    def {attribute}(self{more}) -> {result}: ...\n"
    if name == "dtype":
        out += "    def __eq__(self, other: Any, /) -> bool: ...\n    def __hash__(self) -> int: ...\n"
    return out


_CLASS_RETURNS = {
    "__init__": "None",
    "__len__": "int",
    "__bool__": "bool",
    "__eq__": "bool",
    "__hash__": "int",
    "__repr__": "str",
    "mangle": "str",
    "is_ptr": "bool",
    "is_block": "bool",
}
_ITERATES = {"range": "Iterator[_Tile]", "static_range": "Iterator[int]", "tuple_type": "Iterator[Any]"}


def _class(name: str, kind: type) -> str:
    """A class that is written in Python."""
    if issubclass(kind, int):
        return f"class {name}(enum.IntEnum):\n{_docstring(kind, '    ')}" + "".join(
            f"    {member.name} = {member.value}\n" for member in kind
        )
    base = {"tuple": "(builtins.tuple[Any, ...])"}.get(name, "")
    out = f"class {name}{base}:\n{_docstring(kind, '    ')}"
    members = dict(vars(kind))
    if "__init__" not in members and kind.__init__ is not object.__init__ and not issubclass(kind, tuple):
        members["__init__"] = kind.__init__
    for attribute, thing in members.items():
        if attribute.startswith("_") and not (attribute.startswith("__") and callable(thing)) or "tilewright" in attribute:
            continue
        if isinstance(thing, property):
            out += (
                f"    @property\n    def {attribute}(self) -> {stub_types.ATTRIBUTES.get(attribute, 'Any')}:\n"
                f"{_docstring(thing, '        ')}"
            )
        elif isinstance(thing, types.MemberDescriptorType):
            out += f"    {attribute}: Any\n"
        elif attribute == "__new__":
            out += "    def __new__(cls, args: Any = (), type: Any = None) -> tuple: ...\n"
        elif isinstance(thing, types.FunctionType):
            result = _ITERATES.get(name, "Any") if attribute == "__iter__" else _result_of_method(name, attribute)
            shown = inspect.signature(thing)
            ignore = (
                "  # type: ignore[override]" if name == "tuple" and attribute in ("__add__", "__mul__", "__getitem__") else ""
            )
            out += f"    def {attribute}({_parameters('', shown, True)}) -> {result}:{ignore}\n{_docstring(thing, '        ')}"
    return out


def _result_of_method(name: str, attribute: str) -> str:
    if attribute in _CLASS_RETURNS:
        return _CLASS_RETURNS[attribute]
    if attribute.startswith("__"):
        return "Any"
    if attribute in ("load", "gather"):
        return "_Tile"
    return "None" if name == "tensor_descriptor" else stub_types.RETURNS.get(attribute, "Any")


# -- modules ----------------------------------------------------------------


def _home_of(value, module: str):
    """The module that declares a function or class, if it is another one."""
    home = str(getattr(value, "__module__", "") or "")
    return home if home != module and home.startswith("tilewright.") else None


def _relative(module: str, target: str, is_package: bool) -> str:
    """`target` as an import inside `module` writes it."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    there = target.split(".")
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])


def _is_shown(name: str, module) -> bool:
    """Names that a module finds when they are asked for stand in it only after that: they are left out either way."""
    found_later = getattr(vars(module).get("__getattr__"), "homes", ())
    return not name.startswith("_") and name not in ("annotations", "builtin_max", "builtin_min", *found_later)


def language_stub(short: str) -> str:
    """The stub of one module of the language."""
    module = importlib.import_module(f"tilewright.language.{short}")
    is_package = hasattr(module, "__path__")
    imports, definitions, unknown = [], "", []
    for name, value in vars(module).items():
        if not _is_shown(name, module):
            continue
        if (
            name in _ANNOTATIONS
            or isinstance(value, _core.language.dtype)
            or name == "CONSTEXPR_0"
            or name == "N_ROUNDS_DEFAULT"
        ):
            unknown.append(name)
        elif isinstance(value, types.ModuleType):
            if value.__name__.startswith("tilewright.") and value.__name__ != "tilewright._core":
                parent, _, leaf = value.__name__.rpartition(".")
                imports.append(f"from {_relative(module.__name__, parent, is_package)} import {leaf} as {name}")
        elif name in ("tensor", "dtype", "pointer_type", "block_type"):
            if short == "core":
                definitions += "\n\n" + (_tensor_class() if name == "tensor" else _type_class(name))
            else:
                imports.append(
                    f"from {_relative(module.__name__, 'tilewright.language.core', is_package)} import {name} as {name}"
                )
        elif (home := _home_of(value, module.__name__)) is not None:
            imports.append(f"from {_relative(module.__name__, home, is_package)} import {value.__name__} as {name}")
        elif isinstance(value, type):
            definitions += "\n\n" + _class(name, value)
        elif isinstance(value, types.FunctionType):
            definitions += "\n\n" + _function(name, value)
        elif isinstance(value, (int, str)):
            definitions += f"\n{name}: {type(value).__name__}\n"
    return _text(module.__name__, is_package, imports, unknown, definitions, short)


def _text(module: str, is_package: bool, imports: list, unknown: list, definitions: str, short: str) -> str:
    core = _relative(module, "tilewright.language.core", is_package)
    values = _relative(module, "tilewright.language._values", is_package)
    out = _HEAD + f'"""{(sys.modules[module].__doc__ or "").strip().splitlines()[0]}"""\n\n'
    out += "".join(f"import {name}\n" for name in ("builtins", "enum") if f"{name}." in definitions)
    for home, names in (
        ("collections.abc", ("Iterator", "Sequence")),
        ("typing", ("Any", "ClassVar", "Literal", "TypeAlias", "final", "overload")),
    ):
        if used := [name for name in names if name in definitions or short == "_values" and name in ("Any", "TypeAlias")]:
            out += f"from {home} import {', '.join(used)}\n"
    out += "\n"
    if unknown:
        nowhere = _relative(module, f"tilewright.language.{_ANY}", is_package)
        out += "".join(f"from {nowhere} import {name} as {name}  # type: ignore\n" for name in unknown)
    if short == "_values":
        imports += ["from .core import tensor", "from .descriptors import block_pointer, tensor_descriptor"]
        definitions = _RESULTS + definitions
    else:
        imports += [
            f"from {values} import {name}"
            for name in ("PropagateNan", "_Tile", "_BlockPointer", "_Descriptor")
            if name in definitions and f"from {values} import {name} as {name}" not in imports
        ]
    if short == "core":
        definitions += "\n\n_dtype = dtype\n_pointer_type = pointer_type\n"
    elif re.search("_dtype|_pointer_type| dtype", definitions):
        imports.append(f"from {core} import dtype as _dtype, pointer_type as _pointer_type")
        if not any(line.endswith(" as dtype") for line in imports):
            imports.append(f"from {core} import dtype")
    out += "\n".join(sorted(imports)) + "\n" + definitions
    return out.rstrip() + "\n" + _all_of(sys.modules[module])


def language_package() -> str:
    """`tl`: what language/__init__.py imports, from where it imports it."""
    module = tilewright.language
    lines, unknown = [], []
    for name in module.__all__:
        value = getattr(module, name)
        if name in _ANNOTATIONS or isinstance(value, _core.language.dtype):
            unknown.append(name)
        elif isinstance(value, types.ModuleType):
            lines.append(
                f"from {_relative(module.__name__, value.__name__.rpartition('.')[0], True)} import "
                f"{value.__name__.rpartition('.')[2]} as {name}"
            )
        elif isinstance(value, (int, str)):
            lines.append(f"{name}: {type(value).__name__}")
        else:
            # The native types say that they are of the extension.
            home = "tilewright.language.core" if value.__module__ == "tilewright._core.language" else value.__module__
            lines.append(f"from {_relative(module.__name__, home, True)} import {value.__name__} as {name}")
    head = f'"""{module.__doc__}"""\n\n' + "".join(
        f"from .{_ANY} import {name} as {name}  # type: ignore\n" for name in unknown
    )
    hidden = ["_experimental_descriptor_load", "_experimental_descriptor_store"]
    lines += [f"from .compatibility import {name} as {name}" for name in hidden]
    lines.append("from .descriptors import make_tensor_descriptor as _experimental_make_tensor_descriptor")
    return _HEAD + head + "\n".join(lines) + "\n\n__all__ = " + _listed(module.__all__) + "\n"


def _all_of(module) -> str:
    return f"\n__all__ = {_listed(module.__all__)}\n" if "__all__" in vars(module) else ""


def _listed(names) -> str:
    return (
        "[\n"
        + textwrap.fill(", ".join(f'"{name}"' for name in names), 116, initial_indent="    ", subsequent_indent="    ")
        + ",\n]"
    )


def package() -> str:
    """`tilewright`: its names come from their homes."""
    from tilewright import _homes

    lines = [
        "from . import errors as errors",
        "from ._version import __version__ as __version__",
        "from .errors import (CompilationError as CompilationError, InterpreterError as InterpreterError,",
        "                     OutOfResources as OutOfResources, TilewrightError as TilewrightError, "
        "TritonError as TritonError)",
    ]
    for name, home in _homes.items():
        path, _, attribute = home.partition(":")
        if attribute:
            lines.append(f"from .{path} import {attribute} as {name}")
        elif (PACKAGE / path).is_dir() or (PACKAGE / f"{path}.py").is_file():
            lines.append(f"from . import {path} as {name}")
    return (
        _HEAD
        + f'"""{tilewright.__doc__}"""\n\n'
        + "\n".join(sorted(lines[:2]) + lines[2:])
        + "\n\n__all__ = "
        + _listed(tilewright.__all__)
        + "\n"
    )


#: Classes that users know as one -> the bases that hold the rest of it.
PARTS = {"JITFunction": (SourcedFunction,)}


def _runtime_class(name: str, kind: type, given: dict) -> str:
    """A class of the runtime; what `given` does not say of its members is Any."""
    out = given.get(name, f"class {name}:") + "\n" + _docstring(kind, "    ")
    members = {member: None for member in _members_given(name, given)}
    for base in PARTS.get(name, ()):
        members |= vars(base)
    members |= vars(kind)
    for attribute, thing in members.items():
        said = given.get(f"{name}.{attribute}")
        if attribute.startswith("_") and said is None and attribute not in ("__init__", "__eq__", "__hash__"):
            continue
        doc = _docstring(thing, "        ") if thing is not None else "        ...\n"
        if said is not None and said.startswith("property"):
            out += f"    @property\n    def {attribute}(self) -> {said.split()[1]}:\n{doc}"
        elif said is not None:
            out += f"    def {attribute}{said}:\n{doc}" if said.startswith("(") else f"    {attribute}: {said}\n"
        elif isinstance(thing, types.FunctionType):
            arguments = _parameters("", inspect.signature(thing), True)
            out += f"    def {attribute}({arguments}) -> {_CLASS_RETURNS.get(attribute, 'Any')}:\n{doc}"
        else:
            out += f"    {attribute}: Any\n"
    return out


def _members_given(name: str, given: dict) -> list:
    return [key.partition(".")[2] for key in given if key.startswith(f"{name}.")]


def runtime_stub(short: str) -> str:
    """A module of which users have a few classes and decorators."""
    module = importlib.import_module(f"tilewright.{short}")
    head, given = stub_types.RUNTIME[short]
    out = _HEAD + f'"""{(module.__doc__ or "").strip().splitlines()[0]}"""\n' + head
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type):
            out += (
                "\n\n" + _runtime_class(value.__name__, value, given)
                if value.__name__ == name
                else f"\n\n{name} = {value.__name__}\n"
            )
        elif isinstance(value, types.FunctionType) and name in given:
            body = _docstring(value, "    ")
            forms = given[name]
            overload = "@overload\n" if len(forms) > 1 else ""
            out += "\n" + "".join(f"\n{overload}def {name}{form}:\n{body}" for form in forms)
        elif isinstance(value, types.FunctionType):
            out += f"\n\ndef {name}({_parameters(name, inspect.signature(value), False)}) -> Any: ...\n"
    return out.rstrip() + "\n" + _all_of(module)


def stubs() -> dict[str, str]:
    """Path below the package -> text."""
    assert list(stub_types.LAUNCH_OPTIONS) == list(DEFAULTS), "stub_types.LAUNCH_OPTIONS lacks an option, or has one too many"
    texts = {"__init__.pyi": package(), "language/__init__.pyi": language_package()}
    texts.update((f"{name.replace('.', '/')}.pyi", runtime_stub(name)) for name in stub_types.RUNTIME)
    for short in LANGUAGE:
        # A package knows its modules from when they are imported.
        importlib.import_module(f"tilewright.language.{short}")
    for short in LANGUAGE:
        path = short.replace(".", "/")
        is_package = (PACKAGE / "language" / path).is_dir()
        texts[f"language/{path}/__init__.pyi" if is_package else f"language/{path}.pyi"] = language_stub(short)
    return texts


if __name__ == "__main__":
    for path, text in stubs().items():
        (PACKAGE / path).write_text(text)
        print(f"python/tilewright/{path}")
