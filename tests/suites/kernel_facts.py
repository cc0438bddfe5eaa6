# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the text of a kernel says about its parameters: how each is used, as a set of words.

    pointer     it is the base of an address                descriptor  it is asked to load or store
    index       what is loaded through it goes into addresses, ranges or integer arithmetic
    dot         what is loaded through it is multiplied by dot
    bound       its value goes into addresses, ranges or comparisons
    extent      it is an extent of a tile                    condition   it is a condition by itself
    dtype       it names an element type                     precision   it is dot's input precision
    unrolled    a loop that is unrolled runs as often        axis        it is an axis of a tile
    text:X      it is compared with the text X, or given to a keyword that takes X
    half:X      it is compared with the type X

Functions that a kernel calls are looked at in the same way, so that words of their parameters reach its own.
"""

import ast

MEMORY = {
    "load",
    "store",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_xchg",
    "atomic_cas",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "make_block_ptr",
    "make_tensor_descriptor",
    "_experimental_make_tensor_descriptor",
}
# Calls through which an address, or a value, goes unchanged: its first argument.
_TRANSPARENT = {
    "multiple_of",
    "max_contiguous",
    "max_constancy",
    "broadcast_to",
    "expand_dims",
    "cast",
    "advance",
    "trans",
    "reshape",
    "view",
    "ravel",
    "where",
    "broadcast",
    "to",
    "permute",
}
_EXTENT_CALLS = {"arange": (0, 1), "zeros": (0,), "full": (0,), "reshape": (1,), "view": (1,), "broadcast_to": (1,)}
_EXTENT_KEYWORDS = {"block_shape", "shape"}
# One of the texts that a keyword takes; e2m1 is stored in bytes, as which all data is guessed once.
_KEYWORD_TEXTS = {"cache_modifier": ".cg", "eviction_policy": "evict_last", "lhs_format": "e2m1", "rhs_format": "e2m1"}
_FORMAT_PLACES = {2: "lhs_format", 5: "rhs_format"}


def call_name(call) -> str:
    """The last part of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _is_method(call) -> bool:
    """`x.load(...)` on a value, not `tl.load(...)`."""
    return isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id in ("tl", "triton", "language", "libdevice")
    )


class Facts:
    """The words of each parameter of one function, in `words`."""

    def __init__(self, function, resolve, depth=0):
        self.function, self.resolve, self.depth = function, resolve, depth
        arguments = function.args
        packs = [pack for pack in (arguments.vararg, arguments.kwarg) if pack is not None]
        self.parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *packs)]
        self.words = {name: set() for name in self.parameters}
        self.values = {}  # name -> expressions it was given
        self._collect_values()
        self._called = {}
        for node in ast.walk(function):
            self._look_at(node)
        self._look_at_loads()

    # -- values of names ----------------------------------------------------

    def _give(self, target, value):
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for i, element in enumerate(target.elts):
                self._give(element, value.elts[i] if same else value)

    def _collect_values(self):
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._give(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._give(node.target, node.value)
            elif isinstance(node, ast.AugAssign):
                self._give(node.target, ast.BinOp(node.target, node.op, node.value))
            elif isinstance(node, ast.For):
                self._give(node.target, node.iter)

    # -- addresses ----------------------------------------------------------

    def roots(self, node, seen=frozenset()) -> list:
        """Parameters that may be the base of an address, leftmost first."""
        if isinstance(node, ast.Name):
            if node.id in seen:
                return []
            found = [node.id] if node.id in self.words else []
            for value in self.values.get(node.id, ()):
                found += self.roots(value, seen | {node.id})
            return list(dict.fromkeys(found))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return list(dict.fromkeys(self.roots(node.left, seen) + self.roots(node.right, seen)))
        if isinstance(node, ast.Subscript):
            return self.roots(node.value, seen)
        if isinstance(node, ast.IfExp):
            return self.roots(node.body, seen) + self.roots(node.orelse, seen)
        if isinstance(node, ast.Call):
            name = call_name(node)
            if name in ("make_block_ptr", "make_tensor_descriptor") or name in _TRANSPARENT:
                first = node.func.value if _is_method(node) else node.args[0] if node.args else self._keyword(node, "base")
                found = self.roots(first, seen) if first is not None else []
                if name == "where" and len(node.args) == 3:
                    found = self.roots(node.args[1], seen) + self.roots(node.args[2], seen)
                return found
        return []

    @staticmethod
    def _keyword(call, name):
        return next((k.value for k in call.keywords if k.arg == name), None)

    def address_of(self, call):
        """The address that a memory access is given, or None."""
        if call_name(call) not in MEMORY or _is_method(call):
            return None
        if call.args:
            return call.args[0]
        return self._keyword(call, "base") or self._keyword(call, "pointer") or self._keyword(call, "ptr")

    def _base(self, address):
        """The one parameter that is most likely the base of an address."""
        roots = self.roots(address)
        sure = [r for r in roots if "pointer" in self.words[r]]
        named = [r for r in roots if "ptr" in r.lower()]
        other = [r for r in roots if not any(word in r.lower() for word in ("stride", "off", "start", "num", "size", "idx"))]
        return next(iter(named or sure or other or roots), None)

    # -- the words ----------------------------------------------------------

    def _names(self, node) -> set:
        """Every name that a value depends on, but not through loads."""
        found, waiting = set(), [node]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.Call) and call_name(part) == "load":
                continue
            if isinstance(part, ast.Name) and part.id not in found:
                found.add(part.id)
                waiting += self.values.get(part.id, ())
            waiting += ast.iter_child_nodes(part)
        return found

    def _say(self, names, word):
        for name in names:
            if name in self.words:
                self.words[name].add(word)

    def _look_at(self, node):
        if isinstance(node, ast.Call):
            self._look_at_call(node)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            self._look_at_condition(node.test)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self._look_at_condition(value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._look_at_condition(node.operand)
        elif isinstance(node, ast.Compare):
            self._look_at_comparison(node)

    def _look_at_condition(self, node):
        if isinstance(node, ast.Name):
            self._say([node.id], "condition")

    def _look_at_comparison(self, node):
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            for name, other in ((left, right), (right, left)):
                if not isinstance(name, ast.Name):
                    continue
                if isinstance(other, ast.Constant) and isinstance(other.value, str):
                    self._say([name.id], f"text:{other.value}")
                elif isinstance(other, ast.Attribute) and isinstance(other.value, ast.Name) and other.value.id == "tl":
                    self._say([name.id], f"half:{other.attr}")
                elif isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and not isinstance(other, ast.Constant):
                    self._say([name.id], "bound")

    def _look_at_call(self, node):
        name = call_name(node)
        address = self.address_of(node)
        if address is not None:
            base = self._base(address)
            if base:
                self._say([base], "pointer")
            self._say(self._names(address) - {base}, "bound")
        if _is_method(node) and name in ("load", "store", "gather", "scatter") and isinstance(node.func.value, ast.Name):
            self._say([node.func.value.id] if node.func.value.id not in self.values else [], "descriptor")
        if name in ("range", "static_range"):
            for argument in node.args:
                self._say(self._names(argument), "bound" if name == "range" else "unrolled")
        if name in ("dot", "dot_scaled"):
            precision = self._keyword(node, "input_precision")
            self._say([precision.id] if isinstance(precision, ast.Name) else [], "precision")
        if name in ("to", "cast", "zeros", "full"):
            types = (
                [node.args[0]]
                if name == "to" and node.args
                else node.args[1:] + [k.value for k in node.keywords if k.arg == "dtype"]
            )
            self._say([t.id for t in types if isinstance(t, ast.Name)], "dtype")
        self._look_at_keywords(node, name)
        self._look_at_extents(node, name)
        self._look_into(node)

    def _look_at_keywords(self, node, name):
        given = {k.arg: k.value for k in node.keywords}
        if name == "dot_scaled":
            given |= {word: node.args[i] for i, word in _FORMAT_PLACES.items() if i < len(node.args)}
        for keyword, value in given.items():
            if isinstance(value, ast.Name) and keyword in _KEYWORD_TEXTS:
                self._say([value.id], f"text:{_KEYWORD_TEXTS[keyword]}")
            elif isinstance(value, ast.Name) and keyword in ("axis", "dim"):
                self._say([value.id], "axis")

    def _look_at_extents(self, node, name):
        given = [node.args[i] for i in _EXTENT_CALLS.get(name, ()) if i < len(node.args)]
        given += [k.value for k in node.keywords if k.arg in _EXTENT_KEYWORDS and name != "make_tensor_descriptor"]
        for value in given:
            for part in ast.walk(value):
                if isinstance(part, ast.Name):
                    self._say([part.id], "extent")
                    for source in self.values.get(part.id, ()):
                        self._say(self._names(source), "extent")

    def _look_into(self, call):
        """Words of the parameters of a called function reach what it is called with."""
        if not isinstance(call.func, (ast.Name, ast.Attribute)) or self.depth > 6:
            return
        function, resolve = self.resolve(call.func) or (None, None)
        if function is None or function is self.function:
            return
        inner = self._called.get(id(function))
        if inner is None:
            inner = self._called[id(function)] = Facts(function, resolve, self.depth + 1)
        pairs = list(zip(inner.parameters, call.args))
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg in inner.words]
        for name, value in pairs:
            if "pointer" in inner.words[name]:
                base = self._base(value)
                self._say([base] if base else [], "pointer")
                self._say([base] if base else [], "index" if "index" in inner.words[name] else "pointer")
            elif isinstance(value, ast.Name):
                for word in inner.words[name]:
                    self._say([value.id], word)

    def _look_at_loads(self):
        """What becomes of loaded values: index or dot for the pointer they came through."""
        integers, factors = self._integer_names()
        for name, values in list(self.values.items()):
            for value in values:
                for load in [n for n in ast.walk(value) if isinstance(n, ast.Call) and call_name(n) == "load"]:
                    address = self.address_of(load)
                    base = self._base(address) if address is not None else None
                    if base and name in integers:
                        self._say([base], "index")
                    elif base and name in factors:
                        self._say([base], "dot")

    def _integer_names(self):
        """(names whose values must be integers, names that dot multiplies)."""
        integers, factors = set(), set()
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call):
                address = self.address_of(node)
                if address is not None:
                    integers |= self._names(address)
                if call_name(node) in ("range", "static_range"):
                    for argument in node.args:
                        integers |= self._names(argument)
                if call_name(node) == "dot":
                    for argument in node.args[:2]:
                        factors |= self._names(argument)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.RShift)):
                integers |= self._names(node.left)
        return integers, factors
