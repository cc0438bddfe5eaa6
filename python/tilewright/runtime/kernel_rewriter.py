# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A jit function as a Python function that means what the language means.

The AST is changed only where native Python would mean something else; lines and
columns stay, and the code is compiled under its own file name, so tracebacks,
pdb and editors show the user's source. What changes:

    x = e                 x = assign(e)            numbers become run-time scalars
    x: tl.constexpr = e   x = unwrap(e)            a number stays a compile-time value
    x += e                x = assign(x + e)        never in place
    if/while e            truth(e)                 a scalar's value, or a static bool
    a and b, or, not      join_and(a, b)           no short-circuit at run time
    a if e else b         branch(..., e)           run-time choice gives run-time values
    for i in range(e)     iterate(range(e))        i is a run-time scalar
    min, max, abs, ...    the language's own
    assert e, m           device_assert(e, m)
    x.value, a is b       see through constexpr
    math.sqrt(e)          math.sqrt(static(e))     compile-time arguments only
    t[i]                  t[static(i)]             compile-time index of a tuple
    n.to(t)               promote(n).to(t)         also where n is a number

The helpers are closure variables of the new function: a name of the user cannot
hide them, and its globals stay the module's own dictionary.
"""

from __future__ import annotations

import ast
import types

from .. import errors
from ..user_objects import attribute, has_attribute
from ..frontend_rules import FORBIDDEN
from . import kernel_helpers
from .kernel_scopes import (
    Scope, assigned_names, contains_return, is_constexpr_annotation, names_read_outside_loops)

#: Builtins that mean something of their own in a kernel.
_replaced_builtins = kernel_helpers.builtins_of_the_language
#: Modules whose import inside a kernel is for looking, not for computing.
_debuggers = {"pdb", "ipdb", "pudb", "debugpy", "bdb", "IPython"}

_prefix = "__tw_"


def _helper(name):
    return _prefix + name


def _load(name):
    return ast.Name(id=name, ctx=ast.Load())


def _call(helper, *args):
    return ast.Call(func=_load(_helper(helper)), args=list(args), keywords=[])


class _AssignedNames(ast.NodeVisitor):
    """Names that the function body binds, and those declared constexpr without a value."""

    def __init__(self, arguments):
        self.names = set(arguments)
        self.constants = set()

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_Import(self, node):
        self.names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)

    def visit_AnnAssign(self, node):
        if node.value is None and isinstance(node.target, ast.Name) and is_constexpr_annotation(node.annotation):
            self.constants.add(node.target.id)
        self.generic_visit(node)


class Rewriter(ast.NodeTransformer):
    """Rewrites the body of one jit function."""

    def __init__(self, jit_function):
        self.jit_function = jit_function
        self.tree = jit_function.parse()
        arguments = self.tree.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if arguments.vararg is not None:
            names.append(arguments.vararg.arg)
        assigned = _AssignedNames(names)
        for statement in self.tree.body:
            assigned.visit(statement)
        self.locals = assigned.names
        self.counters_read = names_read_outside_loops(self.tree.body)
        self.constants = assigned.constants
        self.scope = Scope(names)
        self.loop_depth = 0
        self.temporaries = 0

    # -- errors ---------------------------------------------------------------

    def error(self, code, node, **arguments):
        return errors.rendered(errors.make(code, frames=[frame_of_node(self.jit_function, node)], **arguments))

    def refuse(self, key, node):
        construct, alternative = FORBIDDEN[key]
        raise self.error("E0102", node, stmt=construct, alternative=alternative)

    def generic_visit(self, node):
        key = type(node).__name__
        if key not in FORBIDDEN:
            return super().generic_visit(node)
        # Raised where it is reached: a branch that is never taken may hold it.
        refusal = self._at(_call("refused", ast.Constant(key)), node)
        return self._at(ast.Expr(value=refusal), node) if isinstance(node, ast.stmt) else refusal

    # -- function -------------------------------------------------------------

    def run(self) -> ast.FunctionDef:
        """The rewritten `def`: same parameters, no annotations, defaults or decorators."""
        old = self.tree.args
        if old.kwarg is not None:
            self.refuse("KeywordArguments", old.kwarg)

        def bare(argument):
            return ast.copy_location(ast.arg(arg=argument.arg), argument)

        arguments = ast.arguments(posonlyargs=[bare(a) for a in old.posonlyargs], args=[bare(a) for a in old.args],
                                  vararg=None if old.vararg is None else bare(old.vararg),
                                  kwonlyargs=[bare(a) for a in old.kwonlyargs],
                                  kw_defaults=[None for _ in old.kwonlyargs], kwarg=None, defaults=[])
        body = []
        for statement in self.tree.body:
            # The cached tree is shared with the compiler: change a copy.
            result = self.visit(_copy(statement))
            body.extend(result if isinstance(result, list) else [] if result is None else [result])
        # Under its own name the function would be a local of the factory and hide
        # the global that recursive calls mean.
        function = ast.FunctionDef(name=_prefix + "body", args=arguments, body=body or [ast.Pass()], decorator_list=[],
                                   returns=None, type_comment=None)
        if hasattr(self.tree, "type_params"):
            function.type_params = []
        return ast.copy_location(function, self.tree)

    # -- statements -----------------------------------------------------------

    def _at(self, new, old):
        return ast.copy_location(new, old)

    def _check_target(self, target):
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._check_target(element)
        elif isinstance(target, ast.Attribute):
            self.refuse("AttributeTarget", target)
        elif isinstance(target, ast.Subscript):
            self.refuse("SubscriptTarget", target)
        elif isinstance(target, ast.Starred):
            self.refuse("Starred", target)

    def _assigned(self, target, value):
        """`value` as `target` holds it."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._at(_call("unpack", value, _pattern(target)), target)
        if isinstance(target, ast.Name) and target.id in self.constants:
            return self._at(_call("unwrap", value), value)
        return self._at(_call("assign", value), value)

    def visit_Assign(self, node):
        if len(node.targets) != 1:
            self.refuse("ChainedAssign", node)
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            call = _call("set_attribute", self.visit(target.value), ast.Constant(target.attr), self.visit(node.value))
            return self._at(ast.Expr(self._at(call, target)), node)
        self._check_target(node.targets[0])
        node.value = self._assigned(node.targets[0], self.visit(node.value))
        self.scope.assign(node.targets[0])
        return node

    def visit_AnnAssign(self, node):
        self._check_target(node.target)
        if node.value is None:
            return self._at(ast.Pass(), node)
        value = self.visit(node.value)
        if is_constexpr_annotation(node.annotation) and isinstance(node.target, ast.Name):
            value = self._at(_call("unwrap", value), node.value)
        else:
            value = self._assigned(node.target, value)
        self.scope.assign(node.target)
        return self._at(ast.Assign(targets=[node.target], value=value, type_comment=None), node)

    def visit_AugAssign(self, node):
        self._check_target(node.target)
        name = self._at(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        operation = self.visit(self._at(ast.BinOp(left=name, op=node.op, right=node.value), node))
        value = self._assigned(node.target, operation)
        return self._at(ast.Assign(targets=[node.target], value=value, type_comment=None), node)

    def visit_NamedExpr(self, node):
        if node.target.id.startswith(_prefix):  # of _chain: no name of the kernel
            node.value = self.visit(node.value)
            return node
        node.value = self._assigned(node.target, self.visit(node.value))
        self.scope.see({node.target.id})
        return node

    def visit_Assert(self, node):
        message = ast.Constant(ast.unparse(node.test)) if node.msg is None else self.visit(node.msg)
        check = self._at(_call("device_assert", self.visit(node.test), message), node)
        return self._at(ast.Expr(value=check), node)

    def visit_Return(self, node):
        if self.loop_depth:
            raise self.error("E0115", node)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_If(self, node):
        names = [assigned_names(node.body), assigned_names(node.orelse)]
        returns = contains_return(node.body) or contains_return(node.orelse)
        # A branch that returns meets nothing afterwards: its names are not merged.
        one_sided = set() if returns else names[0] ^ names[1]
        fresh = sorted(one_sided - self.scope.seen)
        test = self.visit(node.test)
        before = set(self.scope.bound)
        node.body = self._block(node.body)
        after_body, self.scope.bound = self.scope.bound, set(before)
        node.orelse = self._block(node.orelse)
        self.scope.bound = before if returns else after_body & self.scope.bound
        carried = sorted(one_sided & before & self.scope.bound)
        self.scope.see(names[0] | names[1])
        condition = self._temporary()
        if carried or fresh:
            test = self._at(ast.NamedExpr(target=ast.Name(id=condition, ctx=ast.Store()), value=test), node.test)
        node.test = self._at(_call("truth_if", test), node.test)
        if not carried and not fresh:
            return node
        reason = f"it is assigned in one branch of the 'if' in line {node.lineno} only; assign it before"
        saved, keep = self._save(carried, node)
        checks = [*self._compare("check_branch", carried, saved, node), *self._hide(fresh, reason, node)]
        was_run_time = self._at(_call("is_tensor", _load(condition)), node)
        return [*keep, node, self._at(ast.If(test=was_run_time, body=checks, orelse=[]), node)]

    def visit_While(self, node):
        if node.orelse:
            self.refuse("WhileElse", node)
        node.test = self._truth(node.test, "while")
        return self._loop(node, set())

    def visit_For(self, node):
        if node.orelse:
            self.refuse("ForElse", node)
        if not isinstance(node.target, ast.Name):
            self.refuse("ForTarget", node.target)
        found, callee = self._resolve(node.iter.func) if isinstance(node.iter, ast.Call) else (False, None)
        is_run_time = found and callee is not None and kernel_helpers.is_run_time_range(callee)
        node.iter = self._at(_call("iterate", self.visit(node.iter)), node.iter)
        if is_run_time:
            return self._counted_loop(node)
        self.scope.see(assigned_names([node]))
        before = set(self.scope.bound)
        self.scope.bound.add(node.target.id)
        node.body = self._block(node.body)
        self.scope.bound &= before
        return node

    def _counted_loop(self, node):
        """A run-time `for`. A counter that had a value, and is read afterwards, has the loop's type even where the
        loop did not run."""
        name = node.target.id
        if name not in self.counters_read or name not in self.scope.bound:
            return self._loop(node, {name})
        held, before = self._temporary(), self._temporary()
        node.iter = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=node.iter), node.iter)
        keep = self._at(ast.Assign(targets=[ast.Name(id=before, ctx=ast.Store())], value=_load(name), type_comment=None),
                        node)
        after = _call("counter_after", _load(held), _load(before), _load(name))
        settled = self._at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=after, type_comment=None), node)
        result = [keep, *self._loop(node, {name}), settled]
        self.scope.hidden.add(name)
        return result

    def _loop(self, node, induction):
        """A run-time loop: names keep their types, and those it makes are gone afterwards."""
        names = assigned_names(node.body)
        fresh = sorted(names - induction - self.scope.seen)
        before = set(self.scope.bound)
        self.scope.bound |= induction
        self.scope.see(names | induction)
        node.body = self._loop_body(node.body)
        self.scope.bound = before
        carried = sorted((names - induction) & before)
        saved, keep = self._save(carried, node)
        node.body.extend(self._compare("check_loop", carried, saved, node))
        made = "it is first assigned inside a loop and does not outlive it; assign it before the loop"
        return [*keep, node, *self._hide(fresh, made, node)]

    # -- checks around branches and loops ---------------------------------------

    def _values(self, names):
        return ast.Tuple(elts=[_load(name) for name in names], ctx=ast.Load())

    def _save(self, names, node):
        """A temporary, and the statement that keeps the values of these names in it."""
        if not names:
            return None, []
        saved = self._temporary()
        keep = ast.Assign(targets=[ast.Name(id=saved, ctx=ast.Store())], value=self._values(names), type_comment=None)
        return saved, [self._at(keep, node)]

    def _compare(self, check, names, saved, node):
        if not names:
            return []
        texts = ast.Tuple(elts=[ast.Constant(name) for name in names], ctx=ast.Load())
        return [self._at(ast.Expr(value=_call(check, texts, _load(saved), self._values(names))), node)]

    def _hide(self, names, reason, node):
        self.scope.hide(names)
        return [self._at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())],
                                    value=_call("hidden", ast.Constant(reason)), type_comment=None), node)
                for name in names]

    def _block(self, statements):
        result = []
        for statement in statements:
            new = self.visit(statement)
            result.extend(new if isinstance(new, list) else [new])
        return result

    def _loop_body(self, statements):
        self.loop_depth += 1
        body = self._block(statements)
        self.loop_depth -= 1
        return body

    def visit_Import(self, node):
        if any(alias.name.split(".")[0] not in _debuggers for alias in node.names):
            self.refuse("Import", node)
        return node

    # -- expressions ----------------------------------------------------------

    def _truth(self, node, construct):
        return self._at(_call("truth_" + construct, self.visit(node)), node)

    def _temporary(self):
        self.temporaries += 1
        return f"{_prefix}{self.temporaries}"

    def visit_BoolOp(self, node):
        """(t if decides_and(t := a) else join_and(t, b)), nested to the right."""
        name = "and" if isinstance(node.op, ast.And) else "or"
        values = [self.visit(value) for value in node.values]
        result = values.pop()
        while values:
            value, held = values.pop(), self._temporary()
            keep = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=value), value)
            result = self._at(
                ast.IfExp(test=self._at(_call(f"decides_{name}", keep), value), body=self._at(_load(held), value),
                          orelse=self._at(_call(f"join_{name}", self._at(_load(held), value), result), node)), node)
        return result

    def visit_UnaryOp(self, node):
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._at(_call("logical_not", node.operand), node)
        return node

    def visit_IfExp(self, node):
        held = self._temporary()
        keep = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=self.visit(node.test)), node.test)
        choice = self._at(ast.IfExp(test=self._at(_call("truth_choice", keep), node.test), body=self.visit(node.body),
                                    orelse=self.visit(node.orelse)), node)
        return self._at(_call("branch", choice, self._at(_load(held), node.test)), node)

    def visit_Compare(self, node):
        if len(node.ops) != 1:
            return self._chain(node)
        operator = node.ops[0]
        if type(operator).__name__ in FORBIDDEN:
            self.refuse(type(operator).__name__, node)
        node.left, right = self.visit(node.left), self.visit(node.comparators[0])
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return self._at(_call("is_same" if isinstance(operator, ast.Is) else "is_not_same", node.left, right), node)
        node.comparators = [right]
        return node

    def _chain(self, node):
        """`a < b < c` as `a < (t := b) and t < c`."""
        parts, left = [], node.left
        for position, (operator, right) in enumerate(zip(node.ops, node.comparators)):
            following = right
            if position + 1 < len(node.ops):
                held = self._temporary()
                keep = ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=right)
                right, following = self._at(keep, right), self._at(_load(held), right)
            parts.append(self._at(ast.Compare(left=left, ops=[operator], comparators=[right]), node))
            left = following
        return self.visit(self._at(ast.BoolOp(op=ast.And(), values=parts), node))

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.MatMult):
            self.refuse("MatMult", node)
        return self.generic_visit(node)

    def visit_Call(self, node):
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse("KeywordArguments", node)
        found, callee = self._resolve(node.func)
        kind = kernel_helpers.kind_of_callee(callee) if found else "value"
        # What computes at compile time gets compile-time arguments only.
        visit = self._static if kind == "static" else self.visit
        callee = self._callee(node, kind)
        node.args = [self._argument(a, visit) for a in node.args]
        node.keywords = [self._at(ast.keyword(arg=k.arg, value=visit(k.value)), k) for k in node.keywords]
        node.func = callee
        return node

    def _callee(self, call, kind):
        node = call.func
        if kind == "foreign":
            text = ast.Constant(ast.unparse(node))
            if isinstance(node, ast.Attribute) and isinstance(self._resolve(node.value)[1], types.ModuleType):
                return self._at(_call("host_function", self.visit(node), text), node)
            # Raised where it is called: a branch that is never taken may hold it.
            return self._at(_call("not_a_kernel_function", text), call)
        if kind == "constexpr":
            return self._at(_load(_helper("unwrap")), node)
        callee = self.visit(node)
        return self._at(_call("inner_function", callee), node) if kind == "wrapped" else callee

    def _argument(self, node, visit):
        if isinstance(node, ast.Starred):  # f(*args) is allowed, a starred target is not
            node.value = self.visit(node.value)
            return node
        return visit(node)

    def _resolve(self, node):
        """(True, value) for a dotted name that starts at a global; modules and classes are looked into."""
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return False, None
            try:
                return True, self.jit_function.lookup_global(node.id)
            except KeyError:
                return False, None
        if isinstance(node, ast.Attribute):
            found, base = self._resolve(node.value)
            if found and isinstance(base, (types.ModuleType, type)) and has_attribute(base, node.attr):
                return True, getattr(base, node.attr)
        return False, None

    def visit_Attribute(self, node):
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        found, base = self._resolve(node.value)
        node.value = self.visit(node.value)
        if found and isinstance(base, types.ModuleType):
            value = attribute(base, node.attr)
            return self._at(_call("unwrap", node), node) if kernel_helpers.is_constexpr_object(value) else node
        if node.attr in ("value", "type"):
            return self._at(_call(f"{node.attr}_of", node.value), node)
        if node.attr in kernel_helpers.tensor_attributes:
            node.value = self._at(_call("promote", node.value), node.value)
        return node

    def _static(self, node, helper="static"):
        """A value that must be known at compile time."""
        text = ast.Constant(ast.unparse(node))
        return self._at(_call(helper, self.visit(node), text), node)

    def visit_Subscript(self, node):
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Slice):
            for name in ("lower", "upper", "step"):
                bound = getattr(node.slice, name)
                if bound is not None:
                    setattr(node.slice, name, self._static(bound))
        elif isinstance(node.slice, (ast.Constant, ast.Tuple)):
            node.slice = self.visit(node.slice)
        else:
            node.slice = self._static(node.slice)
        return node

    def visit_List(self, node):
        elements = [self.visit(element) for element in node.elts]
        return self._at(ast.Tuple(elts=elements, ctx=node.ctx), node)

    def visit_ListComp(self, node):
        if len(node.generators) != 1:
            self.refuse("NestedComprehension", node)
        generator = node.generators[0]
        if generator.is_async:
            self.refuse("AsyncFor", node)
        # The target is local to the comprehension; inside it, it hides a global.
        inner = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        generator.iter = self._static(generator.iter, "iterable")
        added = inner - self.locals
        self.locals |= added
        generator.ifs = [self._static(condition) for condition in generator.ifs]
        node.elt = self.visit(node.elt)
        self.locals -= added
        return self._at(_call("make_tuple", node), node)

    def visit_Constant(self, node):
        if isinstance(node.value, bytes):
            self.refuse("Bytes", node)
        if isinstance(node.value, complex):
            self.refuse("Complex", node)
        return node

    def visit_Name(self, node):
        name = node.id
        if isinstance(node.ctx, ast.Load) and name in self.scope.hidden:
            return self._at(_call("visible", node, ast.Constant(name)), node)
        if not isinstance(node.ctx, ast.Load) or name in self.locals or name.startswith(_prefix):
            return node
        try:
            value = self.jit_function.lookup_global(name)
        except KeyError:
            return node  # NameError when it is reached, as E0104
        function = self.jit_function.fn
        if name not in function.__code__.co_freevars and name not in function.__globals__:
            return self._builtin(node)
        if kernel_helpers.is_constexpr_object(value):
            return self._at(_call("unwrap", node), node)
        if not kernel_helpers.is_allowed_global(name, value, self.jit_function):
            # Raised where it is read: a branch that is never taken may hold it.
            return self._at(_call("not_constant", ast.Constant(name)), node)
        return node

    def _builtin(self, node):
        if node.id in _replaced_builtins:
            return self._at(_load(_helper("builtin_" + node.id)), node)
        return node


def _pattern(target):
    """A tuple of Nones and tuples in the form of an assignment's target."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return ast.Tuple(elts=[_pattern(element) for element in target.elts], ctx=ast.Load())
    return ast.Constant(None)


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
    return errors.Frame(jit_function.file, jit_function.__name__, node.lineno, column(line, node.col_offset), end_line,
                        column(end_text, end), line)


def _find_code(code, name, line):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name and constant.co_firstlineno == line:
            return constant
    raise RuntimeError(f"no code object of '{name}'")


def rewrite(jit_function):
    """The `types.FunctionType` that runs `jit_function` natively."""
    definition = Rewriter(jit_function).run()
    original = jit_function.fn
    free = original.__code__.co_freevars
    enclosed = [*free, *(_helper(name) for name in kernel_helpers.closure)]
    # Names assigned in an enclosing function are closure variables of the kernel.
    bindings = [ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=ast.Constant(None), type_comment=None)
                for name in enclosed]
    factory_name = _prefix + "factory"
    factory = ast.FunctionDef(name=factory_name, body=[*bindings, definition], decorator_list=[], returns=None,
                              type_comment=None,
                              args=ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[],
                                                 kwarg=None, defaults=[]))
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
    cells.update({_helper(name): types.CellType(value) for name, value in kernel_helpers.closure.items()})
    defaults = tuple(kernel_helpers.unwrap(value) for value in original.__defaults__ or ())
    function = types.FunctionType(code, original.__globals__, original.__name__, defaults or None,
                                  tuple(cells[name] for name in code.co_freevars))
    function.__kwdefaults__ = {name: kernel_helpers.unwrap(value)
                               for name, value in (original.__kwdefaults__ or {}).items()}
    function.__qualname__, function.__module__ = original.__qualname__, original.__module__
    return function
