# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels from a grammar that is weighted like real kernels. A seed alone gives the program.

STATEMENTS holds the weights. They follow the shares of 2,361 public kernels (loads and stores in
93 %, casts in 85, creation and choices in 76, elementwise functions in 48, reductions in 46,
products in 31, shapes in 22, hints in 20, tl.range in 12, atomics 6, scans 5, descriptors 5, block
pointers 4, fp8 3.5, tuples, sorting and custom reductions 1 to 2), but what is rare there is
raised to some percent here, for it is rare in other tests, too.
"""

import collections
import contextlib
import math
import random
import re

import numpy as np

from harness import random_values as values
from harness.random_elements import Elements
from harness.random_memory import Memory
from harness.random_products import Products
from harness.random_rarities import Rarities
from harness.random_tiles import Tiles
from harness.random_values import Value

STATEMENTS = {
    "assignment": 14, "load": 9, "load_tail": 4, "store_something": 5, "reduction": 9, "scan": 4, "product": 5,
    "product_loop": 5, "attention": 2, "reshaping": 7, "ordering": 4, "there_and_back": 2, "atomic": 4, "loop": 7,
    "branch": 6, "while_loop": 2, "pair": 3, "random_numbers": 1, "hint": 2, "moving_pointer": 4, "tail_without_other": 2,
    "batched_product": 1, "scaled_product": 1, "descriptor_rows": 1, "descriptor_atomic": 2,
}  # fmt: skip
HEADER = """import tilewright
import tilewright.language as tl
from tilewright.language.extra import libdevice
"""
# Shapes that the tiles of one kernel have.
FAMILIES = [
    [(32,)], [(64,)], [(128,), (16,)], [(256,)], [(512,)],
    [(16, 16), (16,)], [(16, 32), (16,), (32,)], [(32, 16), (16, 32), (32,)], [(32, 32), (32,)], [(8, 64), (64,), (8,)],
    [(64, 8), (8,)], [(2, 128), (128,)], [(1, 64), (64,)], [(4, 8, 8), (8, 8), (4,)], [(2, 16, 16), (16, 16)], [(16, 4, 4)],
]  # fmt: skip
# Most iterations of a loop whose count is a run-time number.
TRIPS = 4


class RandomKernel(Elements, Memory, Tiles, Products, Rarities):
    """One kernel: its text, its arguments, how it is launched."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.lines, self.functions, self.indices = [], {}, {}
        self.scopes, self.counters, self.depth, self.names = [[]], [], 1, 0
        self.arrays, self.scalars = [], {}
        self.is_branch = self.in_helper = False
        self.may_round = self.chance(0.4)
        self.family = self.random.choice(FAMILIES)
        self.grid = self.pick((1,), (1,), (2,), (2,), (3,), (2, 2), (1, 2), (1, 1, 2))
        self.num_programs = math.prod(self.grid)
        self.write()
        self.text = self.whole_text()

    # ---- choices ------------------------------------------------------------

    def pick(self, *options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def weighted(self, table):
        return self.random.choices(list(table), list(table.values()))[0]

    def random_shape(self):
        if self.chance(0.2):
            known = [v.shape for v in self.visible() if v.shape and v.size <= 1024]
            if known:
                return self.random.choice(known)
        return self.random.choice(self.family)

    # ---- names and lines ----------------------------------------------------

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def add(self, text):
        self.lines.append("    " * self.depth + text)

    @contextlib.contextmanager
    def block(self):
        """An indented block; what it names is gone after it."""
        start = len(self.lines)
        self.depth += 1
        self.scopes.append([])
        yield
        if len(self.lines) == start:
            self.add("pass")
        self.scopes.pop()
        self.depth -= 1

    def visible(self):
        return [value for scope in self.scopes for value in scope]

    def keep(self, value):
        self.scopes[-1].append(value)
        return value

    def bind(self, value):
        """A statement that gives the value a name."""
        name = self.fresh("v")
        self.add(f"{name} = {value.text}")
        return self.keep(value.named(name))

    def index(self, shape):
        """The name of a tile that numbers the elements of a shape."""
        shape = tuple(shape)
        if not shape:
            return "0"
        if shape not in self.indices:
            name = "i" + "x".join(map(str, shape))
            if len(shape) == 1:
                text = f"tl.arange(0, {shape[0]})"
            else:
                parts = []
                for axis, size in enumerate(shape):
                    place = ", ".join(":" if other == axis else "None" for other in range(len(shape)))
                    stride = math.prod(shape[axis + 1 :])
                    parts.append(f"{self.index((size,))}[{place}]" + (f" * {stride}" if stride > 1 else ""))
                text = " + ".join(parts)
            self.indices[shape] = (name, text)
        return self.indices[shape][0]

    def argument(self, number):
        """The name of a run-time argument with this value."""
        name = f"n{number}"
        self.scalars[name] = number
        return name

    def number_of(self, text):
        return self.scalars[text] if text in self.scalars else int(text)

    def function(self, name, parameters, body, options=""):
        """A jit function of the module, made once."""
        self.functions[name] = "\n".join(
            [f"@tilewright.jit{options}", f"def {name}({parameters}):", *["    " + line for line in body]]
        )

    # ---- values -------------------------------------------------------------

    def value_of(self, shape):
        """A named value of a shape, which may be made here."""
        shape = tuple(shape)
        known = [v for v in self.visible() if v.shape == shape]
        if self.in_helper:
            return self.random.choice(known) if known else Value("tl.cast(n, tl.int32)", "int32", (), 0, 3)
        if known and (not shape or self.chance(0.75)):
            return self.random.choice(known[-6:] if self.chance(0.7) else known)
        choice = self.random.random()
        if choice < 0.65 or not shape:
            return self.load(shape)
        if choice < 0.85:
            return self.bind(Value(f"({self.index(shape)} + pid)", "int32", shape, 0, math.prod(shape) + self.num_programs))
        dtype = self.pick("float32", "float16", "int32", "bfloat16", "int64", "uint8")
        number = self.random.randint(0, 3)
        text = self.pick(
            f"tl.full({list(shape)}, {number}, tl.{dtype})", f"(tl.zeros({list(shape)}, tl.{dtype}) + {number}).to(tl.{dtype})"
        )
        return self.bind(Value(text, dtype, shape, number, number))

    def call_of_helper(self, x, y):
        """A function made for the types of two values; it may branch and may return early."""
        if self.in_helper or x.dtype == "int1" or y.dtype == "int1":
            return None
        name, outer, lines = self.fresh("helper"), self.scopes, self.lines
        is_called = not x.shape and not y.shape and self.chance(0.5)
        self.in_helper, self.scopes, self.lines, depth, self.depth = True, [[x.named("x"), y.named("y")]], [], self.depth, 1
        number = self.random.randint(0, 3)
        result = self.expression(x.shape, 2)
        if self.chance(0.4):
            self.add(f"if {self.pick('K == 2', 'n > 1', 'K > 2')}:")
            result = values.cast(result, result.dtype)
            other = values.cast(x.named("x"), result.dtype)
            if other is not None:
                self.add(f"    return {other.text}")
                result = values.chosen(result.text, (), result, other)
            else:
                self.lines.pop()
        if result is not None:
            self.add(f"return {result.text}")
        body, self.lines, self.scopes, self.in_helper, self.depth = self.lines, lines, outer, False, depth
        if result is None or result.shape != x.shape:
            return None
        self.function(name, "x, y, n, K: tl.constexpr = 2", [line[4:] for line in body], "(noinline=True)" if is_called else "")
        constant = self.pick("", ", K=3", ", 2")
        scalar = self.pick("pid % 4", str(number), self.argument(self.random.randint(0, 3)))
        return result.named(f"{name}({x.text}, {y.text}, {scalar}{constant})")

    # ---- statements ---------------------------------------------------------

    def statement(self):
        name = self.weighted(STATEMENTS)
        if len(self.counters) + self.is_branch >= 2 and name in ("loop", "while_loop", "branch", "product_loop", "attention"):
            name = "assignment"
        if name in ("load", "load_tail"):
            getattr(self, name)(self.random_shape())
        else:
            getattr(self, name)()

    def assignment(self):
        """Of a new name, or of one that is there."""
        if self.chance(0.3):
            self.reassignment()
        else:
            self.bind(self.expression(self.random_shape() if self.chance(0.85) else (), 3))

    def changed(self, value, expression):
        """An expression in the type and range of a value, or None."""
        if value.has_range:
            if value.low != int(value.low) or value.high != int(value.high):
                return None
            return values.within(expression, int(value.low), int(value.high), value.dtype)
        if value.is_float:
            return None
        return values.cast(expression, value.dtype)

    def assignable(self):
        """Values whose names may be given again: no counters, no arguments."""
        return [v for v in self.visible() if v.text.isidentifier() and v.text.startswith(("v", "acc"))]

    def reassignment(self):
        known = self.assignable()
        if known:
            value = self.random.choice(known)
            new = self.changed(value, self.expression(value.shape, 2))
            if new is not None and new.shape == value.shape and new.dtype == value.dtype:
                self.add(f"{value.text} = {new.text}")

    def store_something(self):
        known = [v for v in self.visible() if v.text.isidentifier()]
        self.store(self.random.choice(known[-5:]) if known else self.value_of(self.random_shape()))

    def hint(self):
        form = self.pick("assume", "static_assert", "barrier")
        if form == "assume":
            value = self.scalar_offset(64)
            self.add(f"tl.assume({value.text} >= 0)")
        elif form == "static_assert":
            self.add("tl.static_assert(K == 2)")
        elif not self.is_branch:
            self.add("tl.debug_barrier()")

    def pair(self):
        """Tuples: made, read, exchanged, unpacked."""
        a, b = self.value_of(self.random_shape()), self.value_of(self.random_shape())
        name = self.fresh("pair")
        self.add(f"{name} = ({a.text}, {b.text}, {self.scalar_offset(16).text})")
        if self.chance(0.3):
            self.add(f"{name} = ({name}[0], {name}[1], {name}[2])")
        first, second = self.fresh("v"), self.fresh("v")
        self.add(
            self.pick(
                f"{first}, {second}, _ = {name}",
                f"{first}, {second} = {name}[0], {name}[1]",
                f"{second}, {first} = ({name}[1], {name}[0])",
            )
        )
        self.keep(a.named(first))
        self.keep(b.named(second))

    def range_text(self, bounds):
        keywords = []
        for keyword, options in (
            ("num_stages", (1, 2, 3, 4)),
            ("loop_unroll_factor", (1, 2)),
            ("flatten", (True, False)),
            ("disallow_acc_multi_buffer", (True,)),
            ("disable_licm", (True,)),
            ("warp_specialize", (True,)),
        ):
            if self.chance(0.12):
                keywords.append(f"{keyword}={self.random.choice(options)}")
        return f"{'tl.range' if keywords else 'range'}({', '.join([bounds, *keywords])})"

    def loop_header(self, counter):
        """The line of a loop, the counter's range, and the number of an iteration with the most there can be."""
        trips = self.random.randint(0, TRIPS)
        if self.chance(0.2):
            count = self.random.randint(1, 3)
            return f"for {counter} in tl.static_range({count}):", (0, count - 1), (counter, count)
        if self.chance(0.15):
            step = self.pick(-1, -2)
            header = f"for {counter} in {self.range_text(f'{self.argument(trips)}, 0, {step}')}:"
            return header, (0, max(trips, 0)), (f"({counter} - 1)", max(trips, 1))
        end, count = self.pick((self.argument(trips), trips), (str(trips), trips), ("pid + 1", self.num_programs))
        if self.chance(0.2):
            known = [
                v
                for v in self.visible()
                if v.shape == () and v.has_range and 0 <= v.low and v.high <= TRIPS and v.dtype in ("int32", "int64")
            ]
            value = self.random.choice(known)
            end, count = value.text, int(value.high)
        bounds = self.pick(end, f"0, {end}", f"0, {end}, 1", f"0, {end}, 2")
        return f"for {counter} in {self.range_text(bounds)}:", (0, max(count - 1, 0)), (counter, max(count, 1))

    def loop(self):
        counter = self.fresh("c")
        header, ends, iteration = self.loop_header(counter)
        total = self.accumulator_before(iteration[1])
        self.add(header)
        with self.block():
            self.counters.append(iteration)
            # A counter of an unrolled loop is a constant, whose type gives way to others'.
            self.keep(Value(f"tl.cast({counter}, tl.int32)" if "static" in header else counter, "int32", (), *ends))
            for _ in range(self.random.randint(1, 3)):
                self.statement()
            if self.chance(0.7):
                self.reassignment()
            if total is not None:
                self.accumulate(total)
            for value in self.unused([v for v in self.scopes[-1] if v.text.isidentifier()])[-2:]:
                self.store(value)
            self.counters.pop()

    def accumulator_before(self, trips):
        """A sum that the loop makes: its value after so many iterations, or nothing."""
        if self.chance(0.4):
            return None
        shape, dtype = (
            self.pick((), self.random_shape(), self.random_shape()),
            self.pick("float32", "float32", "int32", "float16"),
        )
        for _, more in self.counters:
            trips *= more
        most = 8 * trips + 1
        if not values.fits(dtype, -most, most):
            return None
        name = self.fresh("acc")
        number = self.random.randint(0, 1)
        self.add(
            f"{name} = tl.full({list(shape)}, {number}, tl.{dtype})"
            if number
            else f"{name} = tl.zeros({list(shape)}, tl.{dtype})"
        )
        return self.keep(Value(name, dtype, tuple(shape), -most, most))

    def accumulate(self, total):
        term = values.within(self.expression(total.shape, 2), -8, 8, total.dtype)
        term = term or values.within(self.value_of(total.shape), 0, 8, total.dtype)
        if term is not None and term.shape == total.shape:
            self.add(self.pick(f"{total.text} += {term.text}", f"{total.text} = {total.text} + {term.text}"))

    def branch(self):
        was, self.is_branch = self.is_branch, True
        self.add(f"if {self.pick(self.condition((), 1).text, 'pid == 0', 'pid % 2 == 1', 'K == 2')}:")
        with self.block():
            self.reassignment()
            if self.chance(0.5):
                self.statement()
        if self.chance(0.4):
            self.add("else:")
            with self.block():
                self.reassignment()
        self.is_branch = was

    def while_loop(self):
        counter, most = self.fresh("w"), self.random.randint(1, 3)
        self.add(f"{counter} = 0")
        extra = f" & {self.condition((), 1).text}" if self.chance(0.5) else ""
        self.add(f"while ({counter} < {self.pick(str(most), self.argument(most))}){extra}:")
        with self.block():
            self.counters.append((counter, most))
            self.keep(Value(counter, "int32", (), 0, most))
            self.reassignment()
            if self.chance(0.6):
                self.statement()
            self.counters.pop()
            self.add(f"{counter} += 1")

    # ---- the whole ----------------------------------------------------------

    def write(self):
        self.keep(Value("pid", "int32", (), 0, self.num_programs - 1))
        number = self.pick(0, 2, 3, TRIPS)  # an argument that is 1 is a constant
        self.keep(Value(self.argument(number), "int32", (), number, number))
        if self.chance(0.3):
            self.scalars["scale"] = self.pick(0.5, 2.0, -1.0, 3.0)
            self.keep(Value("scale", "float32", (), self.scalars["scale"], self.scalars["scale"], -1))
        for _ in range(self.random.randint(3, 9)):
            self.statement()
        if self.chance(0.1):
            self.add(f"if pid == {self.pick('1', self.argument(self.random.randint(0, 2)))}:")
            self.add("    return")
        known = [v for v in self.scopes[0] if v.text.isidentifier() and v.text.startswith(("v", "acc"))]
        unused = self.unused(known)
        others = [v for v in known if v not in unused]
        chosen = [*unused[-6:], *self.random.sample(others, min(2, len(others)))]
        for value in chosen or [self.value_of(self.family[0])]:
            self.store(value)

    def unused(self, known):
        """Those that no line reads, which an evaluator need not compute."""
        words = collections.Counter(re.findall(r"\b[a-z]+\d+\b", "\n".join(self.lines)))
        return [value for value in known if words[value.text] == 1]

    def whole_text(self):
        parameters = [*[array.name for array in self.arrays], *self.scalars, "K: tl.constexpr"]
        pid = [
            "tl.program_id(0)",
            "tl.program_id(1) * tl.num_programs(0)",
            "tl.program_id(2) * tl.num_programs(0) * tl.num_programs(1)",
        ]
        pid = " + ".join(pid[: len(self.grid)])
        lines = [
            HEADER,
            *[function + "\n" for function in self.functions.values()],
            "@tilewright.jit",
            f"def kernel({', '.join(parameters)}):",
            f"    pid = {pid}",
            *[f"    {name} = {text}" for name, text in self.indices.values()],
            *self.lines,
        ]
        return "\n".join(lines) + "\n"

    # ---- launching ----------------------------------------------------------

    constants = {"K": 2}

    def arguments(self, device):
        """What a launch takes, and the arrays by name."""
        numbers = np.random.default_rng(self.seed)
        arrays = {array.name: device.array(array.numbers(numbers)) for array in self.arrays}
        given = [
            device.descriptor(arrays[array.name], array.block, array.padding) if array.block else arrays[array.name]
            for array in self.arrays
        ]
        return [*given, *self.scalars.values()], arrays

    def options(self, source):
        """How one run of it is compiled."""
        options = {"num_warps": source.choice([1, 2, 4, 4, 4, 8, 8, 16]), "num_stages": source.choice([1, 2, 3, 4])}
        if self.may_round:
            options["enable_fp_fusion"] = False
        if source.random() < 0.1:
            options["maxnreg"] = source.choice([64, 128, 168])
        return options
