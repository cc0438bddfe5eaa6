# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules about names and constructs. Each uses the table by which the compiler or the launch refuses them."""

from __future__ import annotations

import ast
import difflib
import inspect
import types

from .. import foreign, language
from ..compiler.options import DEFAULTS
from ..frontend_rules import DEBUGGERS, FORBIDDEN
from ..language import elsewhere
from .module import is_constexpr

# Keys of FORBIDDEN that stand for a shape of an allowed node, and when a node has it; others need types.
_SHAPES = (
    ("ForElse", lambda node: isinstance(node, ast.For) and node.orelse),
    ("WhileElse", lambda node: isinstance(node, ast.While) and node.orelse),
    ("ForTarget", lambda node: isinstance(node, ast.For) and not isinstance(node.target, ast.Name)),
    ("ChainedAssign", lambda node: isinstance(node, ast.Assign) and len(node.targets) > 1),
    ("KeywordArguments", lambda node: isinstance(node, ast.Call) and any(k.arg is None for k in node.keywords)),
    ("NestedComprehension", lambda node: isinstance(node, ast.ListComp) and len(node.generators) > 1),
    ("Bytes", lambda node: isinstance(node, ast.Constant) and isinstance(node.value, bytes)),
    ("Complex", lambda node: isinstance(node, ast.Constant) and isinstance(node.value, complex)),
)

# Nodes of one class that are a construct where they stand somewhere; a starred argument is none.
_CONTEXTUAL = {"Starred"}


def _construct(node) -> str:
    """The key of FORBIDDEN that a node is, or empty."""
    kind = type(node).__name__
    if kind == "Import" and all(alias.name.split(".")[0] in DEBUGGERS for alias in node.names):
        return ""
    if kind in FORBIDDEN and kind not in _CONTEXTUAL:
        return kind
    return next((key for key, holds in _SHAPES if holds(node)), "")


def check_constructs(kernel, reporter):
    """E0102, by the front end's own table."""
    if kernel.node.args.kwarg is not None:
        construct, alternative = FORBIDDEN["KeywordArguments"]
        reporter.report("forbidden", kernel.node, kernel.name, f"kernels may not contain {construct}", help=alternative)
    # Operators have no place of their own: theirs is that of the expression.
    # A branch that is never taken may hold anything, and usually it is a raise.
    in_branches = {
        id(inner)
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.If)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Raise)
    }
    waiting = [(statement, statement) for statement in kernel.node.body]
    while waiting:
        node, place = waiting.pop(0)
        if id(node) in in_branches:
            continue
        place = node if hasattr(node, "lineno") else place
        if key := _construct(node):
            construct, alternative = FORBIDDEN[key]
            reporter.report("forbidden", place, kernel.name, f"kernels may not contain {construct}", help=alternative)
        else:  # what stands inside a refused construct is not looked at
            waiting += [(child, place) for child in ast.iter_child_nodes(node)]


def check_language_names(module, kernel, reporter):
    """E0125 and E0122: names and keywords of the language, by the language itself."""
    inner = {id(node.value) for node in ast.walk(kernel.node) if isinstance(node, ast.Attribute)}
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            _check_name(module, kernel, node, reporter)
        elif isinstance(node, ast.Call):
            _check_keywords(module, kernel, node, reporter)


def _check_name(module, kernel, node, reporter):
    meaning = module.meaning(node)
    if not meaning.startswith("tilewright.language."):
        return
    owner = language
    for name in meaning.split(".")[2:]:
        if not isinstance(owner, types.ModuleType):
            return  # an attribute of a value
        if hasattr(owner, name) or name.startswith("__"):
            owner = getattr(owner, name, None)
            continue
        shown = ast.unparse(node)
        if name in foreign.NAMES:
            whose, instead = foreign.NAMES[name]
            reporter.report("unknown-name", node, kernel.name, f"'{shown}' belongs to {whose}", help=instead)
        elif not any(meaning.startswith(f"tilewright.{other}") for other in foreign.MODULES):
            near = difflib.get_close_matches(name, dir(owner), n=1)
            reporter.report(
                "unknown-name",
                node,
                kernel.name,
                f"the language has no '{shown}'",
                help=elsewhere.advice(owner, name)
                or (f"did you mean '{near[0]}'?" if near else "see the names of tilewright.language"),
            )
        return


def _check_keywords(module, kernel, node, reporter):
    name = module.function_of_language(node)
    function = language
    for part in name.split("."):
        function = getattr(function, part, None) if name else None
    if not isinstance(function, types.FunctionType):
        return
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in parameters or keyword.arg.startswith("_"):
            continue
        whose, instead = foreign.KEYWORDS.get((name, keyword.arg), ("", ""))
        near = difflib.get_close_matches(keyword.arg, parameters, n=1)
        reporter.report(
            "unknown-keyword",
            node,
            kernel.name,
            f"tl.{name} has no parameter '{keyword.arg}'" + (f": it belongs to {whose}" if whose else ""),
            help=instead or (f"did you mean '{near[0]}'?" if near else f"its parameters are {', '.join(parameters)}"),
        )


def check_launch(kernel, call, reporter):
    """E0210: keywords of a launch of a kernel whose parameters the file shows."""
    names = [argument.arg for argument in kernel.arguments]
    if kernel.node.args.kwarg is not None:
        return
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in names or keyword.arg in DEFAULTS or keyword.arg in ("grid", "warmup"):
            continue
        if keyword.arg in foreign.OPTIONS:
            whose, instead = foreign.OPTIONS[keyword.arg]
            text, help = f"'{keyword.arg}' belongs to {whose}", instead
        else:
            near = difflib.get_close_matches(keyword.arg, [*names, *DEFAULTS], n=1)
            text = f"'{keyword.arg}' is no parameter of '{kernel.name}' and no option of launches"
            help = f"did you mean '{near[0]}'?" if near else "remove it"
        reporter.report("launch-keyword", call, kernel.name, text, help=help)


# -- values that must be known ------------------------------------------------

# Arguments that must be constexpr, by position and name.
_CONSTANT_ARGUMENTS = {
    "arange": ("start", "end"),
    "zeros": ("shape",),
    "full": ("shape",),
    "static_range": ("arg1", "arg2", "step"),
}
_RUN_TIME = ("program_id", "num_programs", "load", "sum", "max", "min", "atomic_add", "atomic_cas", "atomic_xchg")


def check_constants(module, kernel, reporter):
    """E0112 where a run-time value stands in such a place: a parameter of a launched kernel, or what it loads."""
    annotated = {argument.arg for argument in kernel.arguments if is_constexpr(argument)}
    run_time = (
        {argument.arg for argument in kernel.arguments} - annotated if kernel.is_entry and not kernel.is_given_more else set()
    )
    run_time -= {n.id for n in ast.walk(kernel.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(kernel.node):
        wanted = _CONSTANT_ARGUMENTS.get(module.function_of_language(node)) if isinstance(node, ast.Call) else None
        for position, name in enumerate(wanted or ()):
            given = (
                node.args[position]
                if position < len(node.args)
                else next((k.value for k in node.keywords if k.arg == name), None)
            )
            culprit = _run_time_part(module, given, run_time)
            if culprit:
                reporter.report(
                    "constexpr-needed",
                    node,
                    kernel.name,
                    f"'{name}' of tl.{module.function_of_language(node)} is '{ast.unparse(given)}', "
                    f"and '{culprit}' is known at run time only",
                )


def _run_time_part(module, node, run_time) -> str:
    """The part of an expression that is not known while compiling; attributes of an argument may be."""
    if node is None or isinstance(node, (ast.Attribute, ast.IfExp)):
        return ""
    if isinstance(node, ast.Name):
        return node.id if node.id in run_time else ""
    if isinstance(node, ast.Call):
        name = module.function_of_language(node)
        if name in _RUN_TIME:
            return ast.unparse(node)
        if name not in ("cdiv",):
            return ""
    return next(filter(None, (_run_time_part(module, child, run_time) for child in ast.iter_child_nodes(node))), "")
