# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who may import whom in python/tilewright: layers, no cycle, few imports inside functions.

    python tests/tools/check_imports.py

Every import of an own module counts, wherever it stands: at the head, inside a
function, or deferred by name (`deferred`, `lazy_names`, `wiring.answers`). A module may import
its own layer and what its layer's row names. An import inside a function stands in LAZY with
its reason. Modules that hold names for users alone are facades: a home that they name by
`lazy_names` is no dependency, since nothing in the package may take a name from there.
"""

from __future__ import annotations

import ast
import sys
from collections import namedtuple
from pathlib import Path

from tools.sources import ROOT

FOLDER = Path("python/tilewright")

# Layer -> layers that it may import beside itself; lower layers stand first.
ALLOWED = {
    "base": [],
    "language": ["base"],
    "host": ["base"],
    "compiler": ["base", "language", "host"],
    "interpreter": ["base", "language", "host"],
    "explaining": ["base", "host", "compiler"],
    "launch": ["base", "language", "host", "compiler", "interpreter", "explaining"],
    "tuning": ["base", "host", "compiler"],
    "tuned": ["base", "host", "launch", "tuning"],
    "checking": ["base", "language", "host", "interpreter", "launch"],
    "linting": ["base", "language"],
    "proving": ["base", "language", "host", "interpreter"],
    "profiler": ["base", "host"],
    "tools": ["base", "language", "host", "compiler", "interpreter", "launch"],
    "commands": [
        "base",
        "host",
        "compiler",
        "interpreter",
        "explaining",
        "tuning",
        "checking",
        "linting",
        "proving",
        "profiler",
        "tools",
    ],
    "cli": ["base", "checking", "tools", "commands"],
    "names": ["base", "checking", "profiler", "tools"],
}

# Module or package -> its layer; the longest name decides. The packages of the layer "names" are themselves alone.
LAYERS = {
    # What needs no more than errors, knobs and the native library.
    "_core": "base",
    "_version": "base",
    "errors": "base",
    "user_objects": "base",
    "annotations": "base",
    "parsing": "base",
    "frontend_rules": "base",
    "foreign": "base",
    "knob_types": "base",
    "knobs": "base",
    "scalar_types": "base",
    "lazy_names": "base",
    "wiring": "base",
    "toolkit": "base",
    "_utils": "base",
    "observers": "base",
    "run_program": "base",
    "backends.compiler": "base",
    "compiler.errors": "base",
    "compiler.options": "base",
    "compiler.bisect": "base",
    "child_process": "base",
    "runtime.errors": "base",
    "runtime.source": "base",
    "runtime.mathematics": "base",
    "runtime.arguments": "base",
    "runtime.allocation": "base",
    "runtime._allocation": "base",
    "runtime.tracebacks": "base",
    "runtime.interface": "base",
    "runtime.tensors": "base",
    "runtime.lookups": "base",
    "runtime.launch_method": "base",
    "runtime.specialization": "base",
    "runtime.params": "base",
    "tools.linear_layout": "base",
    "_C.libtriton": "base",
    "instrumentation": "base",
    "triton_alias": "base",
    "language": "language",
    # The machine and the caller's data: driver, files, arrays, time.
    "runtime.driver": "host",
    "runtime.timing": "host",
    "runtime.checks": "host",
    "runtime.cache": "host",
    "runtime.build": "host",
    "runtime.host_arrays": "host",
    "runtime.dependencies": "host",
    "tools.disasm": "host",
    "tools.tensor_descriptor": "host",
    "backends.driver": "host",
    "backends.nvidia.driver": "host",
    "compiler": "compiler",
    "backends.nvidia.compiler": "compiler",
    "backends.amd": "base",
    "backends.registry": "compiler",
    "runtime.interpreter": "interpreter",
    "runtime.kernel_frames": "interpreter",
    "runtime.kernel_rewriter": "interpreter",
    "runtime.expression_rewriter": "interpreter",
    "runtime.kernel_helpers": "interpreter",
    "runtime.kernel_scopes": "interpreter",
    "runtime.rehearsal": "interpreter",
    "runtime.unwritten": "interpreter",
    "runtime.accesses": "interpreter",
    "runtime.sourced_function": "launch",
    "runtime.jit": "launch",
    "runtime.launch_binder": "launch",
    "runtime._async_compile": "launch",
    "runtime.tuned_attributes": "tuned",
    "tuning": "tuning",
    "runtime.heuristic_arguments": "tuned",
    "runtime.tuned_arguments": "tuned",
    "runtime.autotuner": "tuned",
    "runtime.tuned_interpreter": "tuned",
    "checking.finding": "base",
    "checking": "checking",
    "linting": "linting",
    "proving": "proving",
    "profiler": "profiler",
    "profiler.language": "language",
    "explaining": "explaining",
    "tools": "tools",
    "torch": "tools",
    "jax": "tools",
    "framework_calls": "tools",
    "ops": "tools",
    "exporting": "tools",
    "selftest": "tools",
    "testing": "tools",
    "_internal_testing": "tools",
    "kernel_arguments": "tools",
    "startup": "tools",
    "pytest_plugin": "tools",
    "doctor": "commands",
    "compile_command": "commands",
    "compiler.cache_tools": "commands",
    "compiler.reproducer": "commands",
    "tuning.commands": "commands",
    "proving.command": "commands",
    "checking.command": "commands",
    "profiler.command": "commands",
    "explaining.command": "commands",
    "linting.command": "commands",
    "exporting.command": "commands",
    "exporting.tuned": "commands",
    "cli": "cli",
    "__main__": "cli",
    "compile_arguments": "cli",
    "checking.arguments": "cli",
    "compiler.cache_arguments": "cli",
    "compiler.repro_arguments": "cli",
    "proving.arguments": "cli",
    "tuning.arguments": "cli",
    "profiler.arguments": "cli",
    "explaining.arguments": "cli",
    "linting.arguments": "cli",
    "exporting.arguments": "cli",
    "": "names",
    "runtime": "names",
    "backends": "names",
    "backends.nvidia": "names",
    "_C": "names",
}

# (module, what a function of it imports) -> why not at the head. Fewer than MOST_LAZY.
MOST_LAZY = 10
LAZY = {
    ("runtime.jit", "runtime.interpreter"): "it brings NumPy, which programs that only compile do without",
    ("runtime.jit", "runtime.accesses"): "it brings the interpreter",
    ("tools.tensor_descriptor", "runtime.host_arrays"): "it brings NumPy",
    ("compiler.sources", "compiler.argument_access"): "torch alone asks, and every kernel loads the module",
    ("testing", "runtime.unwritten"): "it brings NumPy",
    ("tuning.tuner", "tuning.session"): "a process whose figures are on disk measures nothing",
    ("pytest_plugin", "knobs"): "pytest loads the plugin in every run, also of tests that use none of it",
}

# What module imports what, in which function (None: at the head, "" deferred by name), in which line.
Import = namedtuple("Import", "module target name function line")


class Package:
    """The package's modules by name ("" is the package itself) and their imports; `texts` maps paths to sources."""

    def __init__(self, texts):
        self.paths = {_module_of(path): path for path in texts}
        self.trees = {module: ast.parse(texts[path]) for module, path in self.paths.items()}
        self.packages = {module for module, path in self.paths.items() if path.name == "__init__.py"}
        self.facades = {module for module, tree in self.trees.items() if any(_calls(tree, "lazy_names"))}
        self.imports = [found for module, tree in self.trees.items() for found in self._imports(module, tree, None)]

    def is_module(self, name):
        return name in self.paths or name == "_core"

    def parents(self, target):
        """Packages that are loaded with a module."""
        return {target.rpartition(".")[0]} | self.parents(target.rpartition(".")[0]) if target else set()

    def _imports(self, module, node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                yield from self._of_statement(module, child, function)
            elif isinstance(child, ast.Call) and _name_of_call(child) == "deferred":
                home = child.args[0].value if child.args and isinstance(child.args[0], ast.Constant) else "?"
                yield Import(module, home.partition(":")[0], "", "", child.lineno)
            elif isinstance(child, ast.Assign) and ast.unparse(child.targets[0]).startswith("wiring.answers["):
                yield Import(module, child.value.value.partition(":")[0], "", "", child.lineno)
            inner = (
                getattr(child, "name", "lambda")
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                else function
            )
            yield from self._imports(module, child, inner)

    def _of_statement(self, module, node, function):
        if isinstance(node, ast.Import):
            bases = [(alias.name, "") for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                parts = ["tilewright", *module.split(".")] if module else ["tilewright"]
                depth = len(parts) - node.level + (module in self.packages)
                base = ".".join([*parts[:depth], *filter(None, [base])])
            bases = [(base, alias.name) for alias in node.names]
        for base, name in bases:
            if base.split(".")[0] != "tilewright":
                continue
            own = base.partition(".")[2]
            whole = ".".join(filter(None, (own, name)))
            yield Import(module, *((whole, "") if self.is_module(whole) else (own, name)), function, node.lineno)

    def defines(self, module, name):
        """Whether a module has a name of its own, and not by its `__getattr__`."""
        for node in ast.walk(self.trees[module]):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
                return True
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
                return True
            if isinstance(node, ast.alias) and (node.asname or node.name) == name:
                return True
        return False


def _module_of(path):
    parts = list(path.relative_to(FOLDER).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _name_of_call(call):
    function = call.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def _calls(tree, name):
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name_of_call(node) == name)


def layer_of(module):
    """The layer of a module; None where the table has no row for it."""
    name = module
    while name not in LAYERS:
        if not name:
            return None
        name = name.rpartition(".")[0]
    return None if LAYERS[name] == "names" and name != module else LAYERS[name]


def layer_problems(package):
    problems = [f"{path}: '{module}' is in no layer" for module, path in package.paths.items() if layer_of(module) is None]
    for found in package.imports:
        place = f"{package.paths[found.module]}:{found.line}"
        own, other = layer_of(found.module), layer_of(found.target)
        if own is None or not package.is_module(found.target):
            if own is not None:
                problems.append(f"{place}: there is no module '{found.target}'")
        elif other != own and other not in ALLOWED[own]:
            problems.append(f"{place}: {own} must not import {found.target}, which is in {other}")
        if found.target in package.facades and found.function != "" and not package.defines(found.target, found.name):
            problems.append(
                f"{place}: {found.target or 'tilewright'} holds '{found.name or 'its names'}' for users; import from the home"
            )
    return problems


def lazy_problems(package, reasons=None):
    reasons = LAZY if reasons is None else reasons
    lazy = {(found.module, found.target): found for found in package.imports if found.function}
    problems = [
        f"{package.paths[module]}:{found.line}: {found.function} imports {target}; import it at the head, or give "
        "the reason in LAZY"
        for (module, target), found in lazy.items()
        if (module, target) not in reasons
    ]
    problems += [
        f"{module}: LAZY has a row for {target}, which no function imports"
        for module, target in reasons
        if (module, target) not in lazy
    ]
    if len(lazy) >= MOST_LAZY:
        problems.append(f"{len(lazy)} imports inside functions; fewer than {MOST_LAZY} are allowed")
    for module, tree in package.trees.items():
        for name in ("import_module", "__import__"):
            for call in _calls(tree, name):
                text = ast.unparse(call.args[0]) if call.args else ""
                if module != "lazy_names" and text.lstrip("f").lstrip("'\"").startswith((".", "tilewright.")):
                    problems.append(f"{package.paths[module]}:{call.lineno}: imports {text} by its name; use deferred()")
    return problems


def cycles(package):
    """Groups of modules that import each other. A module needs the packages that its import loads, but for its own."""
    needs: dict = {module: set() for module in package.paths}
    for found in package.imports:
        targets = {found.target} | {p for p in package.parents(found.target) if not f"{found.module}.".startswith(f"{p}.")}
        needs[found.module] |= {t for t in targets if t in needs and t and t != found.module}
    reach = {module: _reachable(needs, module) for module in needs}
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in needs}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reachable(needs, start):
    seen, todo = set(), [start]
    while todo:
        for other in needs[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def order_problems():
    """A layer that imports a later row would be no layer."""
    names = list(ALLOWED)
    return [
        f"ALLOWED: {layer} stands before {other}, which it may import"
        for layer, others in ALLOWED.items()
        for other in others
        if names.index(other) > names.index(layer)
    ]


def problems_in(texts, reasons=None):
    package = Package(texts)
    problems = layer_problems(package) + lazy_problems(package, reasons)
    return problems + [f"modules import each other: {', '.join(group)}" for group in cycles(package)]


def problems() -> list[str]:
    paths = [path.relative_to(ROOT) for path in (ROOT / FOLDER).rglob("*.py")]
    return order_problems() + problems_in({path: (ROOT / path).read_text(encoding="utf-8") for path in sorted(paths)})


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "imports: ok")
    sys.exit(bool(found))
