# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A jit function as a Python function that means what the language means.

The AST is changed only where native Python would mean something else; lines and
columns stay, and the code is compiled under its own file name, so tracebacks,
pdb and editors show the user's source. What changes:

    x = e                 x = assign(e)            numbers become run-time scalars
    x: tl.constexpr = e   x = unwrap(e)            a number stays a compile-time value
    x += e                x = assign(x + e)        never in place
    a, b = e              a, b = unpack(e, ...)    a tuple, numbers in it as run-time scalars
    if/while e            truth(e)                 a scalar's value, or a static bool
    a and b, or, not      join_and(a, b)           no short-circuit at run time
    a if e else b         branch(..., e)           run-time choice gives run-time values
    for i in range(e)     iterate(range(e))        i is a run-time scalar
    min, max, abs, ...    the language's own
    assert e, m           device_assert(e, m)
    x.value, a is b       see through constexpr
    math.sqrt(e)          unwrap(math.sqrt(unwrap(e)))
    n.to(t)               promote(n).to(t)         also where n is a number

The rules about what kernels may contain are not here: the compiler's front end checks a kernel
before it runs (rehearsal). A construct that kernels may not contain raises when it is reached, which
only happens in a function that calls one without a source.

The helpers are closure variables of the new function: a name of the user cannot
hide them, and its globals stay the module's own dictionary.
"""

from __future__ import annotations

import ast
import types

from .. import _core, errors
from ..frontend_rules import DEBUGGERS
from . import kernel_helpers
from .expression_rewriter import PREFIX, ExpressionRewriter, call_node, helper_name, load_node
from .kernel_scopes import counters, names_read_outside_loops


class _AssignedNames(ast.NodeVisitor):
    """Names that the function body binds, and those declared constexpr without a value."""

    def __init__(self, jit_function, arguments):
        self.jit_function = jit_function
        self.names = set(arguments)
        self.constants = set()

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_Import(self, node):
        self.names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)

    def visit_AnnAssign(self, node):
        if node.value is None and isinstance(node.target, ast.Name) and is_constexpr(self.jit_function, node):
            self.constants.add(node.target.id)
        self.generic_visit(node)


def is_constexpr(jit_function, annotated) -> bool:
    """Whether `name: annotation` declares a compile-time value."""
    return _core.kernel.is_constexpr_annotation(jit_function, annotated.annotation)


class Rewriter(ExpressionRewriter):
    """Rewrites the body of one jit function."""

    def __init__(self, jit_function, place=None):
        """`place`: a Frame of this function; what is reached there stops."""
        self.jit_function = jit_function
        self.tree = jit_function.parse()
        self.place = place
        self.stopped = None if place is None else _statement_at(self.tree, place.line)
        arguments = self.tree.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if arguments.vararg is not None:
            names.append(arguments.vararg.arg)
        assigned = _AssignedNames(jit_function, names)
        for statement in self.tree.body:
            assigned.visit(statement)
        self.locals = assigned.names
        #: Counters of loops that are read where no loop counts with them.
        self.counters_read = counters(self.tree.body) & names_read_outside_loops(self.tree.body)
        #: Names that certainly have a value at this point of the text.
        self.bound = set(names)
        self.unset = sorted(self.counters_read - set(names))
        self.constants = assigned.constants
        self.temporaries = 0

    # -- function -------------------------------------------------------------

    def run(self) -> ast.FunctionDef:
        """The rewritten `def`: same parameters, no annotations, defaults or decorators."""
        old = self.tree.args

        def bare(argument):
            return ast.copy_location(ast.arg(arg=argument.arg), argument)

        arguments = ast.arguments(
            posonlyargs=[],
            args=[bare(a) for a in (*old.posonlyargs, *old.args)],
            vararg=None if old.vararg is None else bare(old.vararg),
            kwonlyargs=[bare(a) for a in old.kwonlyargs],
            kw_defaults=[None for _ in old.kwonlyargs],
            kwarg=None,
            defaults=[],
        )
        body = [
            self._at(
                ast.Assign(
                    targets=[ast.Name(id=name, ctx=ast.Store())], value=load_node(helper_name("unset")), type_comment=None
                ),
                self.tree,
            )
            for name in self.unset
        ]
        # The cached tree is shared with the compiler: change a copy.
        body += self._block(_copy(self.tree.body))
        # Under its own name the function would be a local of the factory and hide
        # the global that recursive calls mean.
        function = ast.FunctionDef(
            name=PREFIX + "body", args=arguments, body=body or [ast.Pass()], decorator_list=[], returns=None, type_comment=None
        )
        if hasattr(self.tree, "type_params"):
            function.type_params = []
        return ast.copy_location(function, self.tree)

    # -- statements -----------------------------------------------------------

    def _assigned(self, target, value):
        """`value` as `target` holds it."""
        kept = self._kept(target)
        if isinstance(kept, tuple):
            return self._at(call_node("unpack", value, ast.Constant(kept)), target)
        return self._at(call_node("unwrap" if kept else "assign", value), value)

    def _kept(self, target):
        """Whether `x: tl.constexpr` alone says of a name that it keeps constants; of a tuple, that of each name."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return tuple(self._kept(item) for item in target.elts)
        return isinstance(target, ast.Name) and target.id in self.constants

    def visit_Assign(self, node):
        if len(node.targets) != 1:
            return self._refused("ChainedAssign", node)
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            call = call_node("set_attribute", self.visit(target.value), ast.Constant(target.attr), self.visit(node.value))
            return self._at(ast.Expr(self._at(call, target)), node)
        if key := self._fault_of_target(target):
            return self._refused(key, node)
        node.value = self._assigned(target, self.visit(node.value))
        return node

    def visit_AnnAssign(self, node):
        if node.value is None:
            return self._at(ast.Pass(), node)
        if key := self._fault_of_target(node.target):
            return self._refused(key, node)
        value = self.visit(node.value)
        if is_constexpr(self.jit_function, node):
            value = self._at(call_node("unwrap", value), node.value)
        else:
            value = self._assigned(node.target, value)
        return self._at(ast.Assign(targets=[node.target], value=value, type_comment=None), node)

    def visit_AugAssign(self, node):
        if key := self._fault_of_target(node.target):
            return self._refused(key, node)
        name = self._at(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        operation = self.visit(self._at(ast.BinOp(left=name, op=node.op, right=node.value), node))
        value = self._at(call_node("assign", operation), node)
        return self._at(ast.Assign(targets=[node.target], value=value, type_comment=None), node)

    def visit_NamedExpr(self, node):
        if node.target.id.startswith(PREFIX):  # of _chain: no name of the kernel
            node.value = self.visit(node.value)
            return node
        node.value = self._assigned(node.target, self.visit(node.value))
        return node

    def visit_Expr(self, node):
        # Texts that stand alone are comments, whatever they are made of.
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assert(self, node):
        message = ast.Constant(ast.unparse(node.test)) if node.msg is None else self.visit(node.msg)
        check = self._at(call_node("device_assert", self.visit(node.test), message), node)
        return self._at(ast.Expr(value=check), node)

    def visit_If(self, node):
        returns = any(isinstance(inner, ast.Return) for inner in ast.walk(node))
        # After a branch that returns nothing meets.
        meeting = set() if returns else (self._assigned_by(node.body) | self._assigned_by(node.orelse)) & self.bound
        test = self.visit(node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        if not meeting:
            node.test = self._at(call_node("truth_if", test), node.test)
            return node
        # A number meets what a run-time branch made of it as a run-time scalar, also where that is not taken.
        held = self._temporary()
        keep = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=test), node.test)
        node.test = self._at(call_node("truth_if", keep), node.test)
        was_run_time = self._at(call_node("is_tensor", load_node(held)), node)
        return [node, self._at(ast.If(test=was_run_time, body=self._made_run_time(meeting, node), orelse=[]), node)]

    def visit_While(self, node):
        if node.orelse:
            return self._refused("WhileElse", node)
        changed = self._made_run_time(self._assigned_by(node.body) & self.bound, node)
        node.test = self._truth(node.test, "while")
        node.body = self._block(node.body)
        return [*changed, node]

    def visit_For(self, node):
        if node.orelse:
            return self._refused("ForElse", node)
        if not isinstance(node.target, ast.Name):
            return self._refused("ForTarget", node)
        is_run_time = self._is_run_time_loop(node)
        changed = (
            self._made_run_time((self._assigned_by(node.body) - {node.target.id}) & self.bound, node) if is_run_time else []
        )
        iterator = self._call_of_range(node.iter) if is_run_time else self.visit(node.iter)
        node.iter = self._at(call_node("iterate", iterator), node.iter)
        node.body = self._block(node.body)
        return [*changed, *self._counted_loop(node)] if is_run_time else node

    def _is_run_time_loop(self, node):
        if not isinstance(node, ast.For):
            return isinstance(node, ast.While)
        found, callee = self._resolve(node.iter.func) if isinstance(node.iter, ast.Call) else (False, None)
        return found and callee is not None and kernel_helpers.is_run_time_range(callee)

    def _assigned_by(self, statements):
        """Names that these statements assign for certain, so that the compiler carries them: not under an `if`."""
        names = set()
        for statement in statements:
            if isinstance(statement, ast.Assign):
                names |= _names_of(statement.targets)
            elif isinstance(statement, ast.AugAssign):
                names |= _names_of([statement.target])
            elif self._is_run_time_loop(statement):
                names |= self._assigned_by(statement.body)
        return names - self.constants

    def _made_run_time(self, names, node):
        """Numbers that these names hold as run-time scalars."""
        return [
            self._at(
                ast.Assign(
                    targets=[ast.Name(id=name, ctx=ast.Store())], value=call_node("assign", load_node(name)), type_comment=None
                ),
                node,
            )
            for name in sorted(names)
        ]

    def _counted_loop(self, node):
        """A run-time `for`. A counter that is read afterwards has the loop's type even where the loop did not run."""
        name = node.target.id
        if name not in self.counters_read:
            return [node]
        held, before = self._temporary(), self._temporary()
        node.iter = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=node.iter), node.iter)
        keep = self._at(
            ast.Assign(targets=[ast.Name(id=before, ctx=ast.Store())], value=load_node(name), type_comment=None), node
        )
        after = call_node("counter_after", load_node(held), load_node(before), load_node(name))
        settled = self._at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=after, type_comment=None), node)
        return [keep, node, settled]

    def _block(self, statements):
        result, outer = [], set(self.bound)
        for statement in statements:
            if self.stopped is not None and _position(statement) == _position(self.stopped):
                result.append(self._stop())
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            has_value = getattr(statement, "value", None) is not None
            new = self.visit(statement)
            result.extend(new if isinstance(new, list) else [new])
            if has_value:
                self.bound |= _names_of(filter(None, targets))
        self.bound = outer
        return result

    def _stop(self):
        """A call of `stop` that stands where the mistake does, for tracebacks."""
        place = self.place
        where = {
            "lineno": place.line,
            "end_lineno": place.end_line or place.line,
            "col_offset": max(place.column - 1, 0),
            "end_col_offset": max(place.end_column - 1, 0),
        }
        call = call_node("stop")
        for node in ast.walk(call):
            vars(node).update(where)
        return ast.Expr(value=call, **where)

    def visit_Import(self, node):
        if any(alias.name.split(".")[0] not in DEBUGGERS for alias in node.names):
            return self._refused("Import", node)
        return node


def _names_of(targets) -> set:
    """Names that an assignment to these targets binds."""
    return {
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _position(node):
    return node.lineno, node.col_offset


def _statement_at(tree, line):
    """The innermost statement of a function that holds a line; None where that is its head."""
    statements = (node for statement in tree.body for node in ast.walk(statement) if isinstance(node, ast.stmt))
    return max((node for node in statements if node.lineno <= line <= node.end_lineno), key=_position, default=None)


def _copy(node):
    """A deep copy of an AST (copy.deepcopy is several times slower)."""
    if isinstance(node, ast.AST):
        new = type(node).__new__(type(node))
        for name, value in vars(node).items():
            setattr(new, name, _copy(value))
        return new
    if isinstance(node, list):
        return [_copy(item) for item in node]
    return node


def frame_of_node(jit_function, node) -> errors.Frame:
    line = jit_function.source_line(node.lineno)

    def column(text, offset):
        return len(text.encode()[:offset].decode(errors="replace")) + 1

    end_line = getattr(node, "end_lineno", None) or node.lineno
    end = getattr(node, "end_col_offset", None) or 0
    end_text = line if end_line == node.lineno else jit_function.source_line(end_line)
    return errors.Frame(
        jit_function.file,
        jit_function.__name__,
        node.lineno,
        column(line, node.col_offset),
        end_line,
        column(end_text, end),
        line,
    )


def _find_code(code, name, line):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name and constant.co_firstlineno == line:
            return constant
    raise RuntimeError(f"no code object of '{name}'")


def rewrite(jit_function, place=None, stop=None):
    """The `types.FunctionType` that runs `jit_function` natively; it calls `stop` at `place`, a Frame."""
    definition = Rewriter(jit_function, place).run()
    original = jit_function.fn
    free = original.__code__.co_freevars
    enclosed = [*free, *(helper_name(name) for name in kernel_helpers.closure)]
    # Names assigned in an enclosing function are closure variables of the kernel.
    bindings = [
        ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=ast.Constant(None), type_comment=None)
        for name in enclosed
    ]
    factory_name = PREFIX + "factory"
    factory = ast.FunctionDef(
        name=factory_name,
        body=[*bindings, definition],
        decorator_list=[],
        returns=None,
        type_comment=None,
        args=ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]),
    )
    if hasattr(definition, "type_params"):
        factory.type_params = []
    ast.copy_location(factory, definition)
    for statement in bindings:
        ast.copy_location(statement, definition)
        ast.fix_missing_locations(statement)
    ast.fix_missing_locations(factory)
    module = compile(ast.Module(body=[factory], type_ignores=[]), jit_function.file, "exec", dont_inherit=True)
    code = _find_code(_find_code(module, factory_name, definition.lineno), definition.name, definition.lineno)
    code = code.replace(co_name=original.__name__)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=original.__qualname__)

    cells = dict(zip(free, original.__closure__ or ()))
    cells.update({helper_name(name): types.CellType(value) for name, value in kernel_helpers.closure.items()})
    cells[helper_name("stop")] = types.CellType(stop)
    defaults = tuple(kernel_helpers.unwrap(value) for value in original.__defaults__ or ())
    function = types.FunctionType(
        code, original.__globals__, original.__name__, defaults or None, tuple(cells[name] for name in code.co_freevars)
    )
    function.__kwdefaults__ = {name: kernel_helpers.unwrap(value) for name, value in (original.__kwdefaults__ or {}).items()}
    function.__qualname__, function.__module__ = original.__qualname__, original.__module__
    return function
