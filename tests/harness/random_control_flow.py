# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of integer scalars with nested branches, loops and returns.

Every program is legal, ends (loops are short), and each store goes to its own
element, so that two evaluators can be compared by what is in memory. A seed
alone gives the program.
"""

import random

NAMES = ["a", "b", "c", "d"]
HEADER = ["import tilewright", "import tilewright.language as tl"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = list(HEADER)
        self.stores = 0
        self.counters = 0
        self.helpers = []
        self.in_helper = False

    def chance(self, probability):
        return self.random.random() < probability

    def expression(self, names, depth=0):
        choice = self.random.random()
        if depth > 2 or choice < 0.35:
            return self.random.choice(names if self.chance(0.8) else ["0", "1", "2", "3", "-5", "K"])
        left, right = (self.expression(names, depth + 1) for _ in range(2))
        if choice < 0.70:
            return f"({left} {self.random.choice('+-*&|^')} {right})"
        if choice < 0.78:
            return f"({left} if {self.condition(names)} else {right})"
        if choice < 0.83:
            return f"{self.random.choice(['min', 'max'])}({left}, {right})"
        if choice < 0.90 and self.helpers:
            return f"{self.random.choice(self.helpers)}({left}, {right})"
        return f"({left}, {right})[{self.random.choice('01')}]" if choice < 0.95 else f"-({left})"

    def condition(self, names):
        choice = self.random.random()
        if choice < 0.1:
            return self.random.choice(["True", "False", "K > 2", "K"])
        if choice < 0.2:
            return f"({self.condition(names)} {self.random.choice(['and', 'or'])} {self.condition(names)})"
        if choice < 0.25:
            return f"not {self.condition(names)}"
        comparison = self.random.choice(["<", ">", "==", "!=", "<=", ">="])
        return f"{self.expression(names, 2)} {comparison} {self.expression(names, 2)}"

    def add(self, indent, text):
        self.lines.append("    " * indent + text)

    def fresh(self, letter):
        self.counters += 1
        return f"{letter}{self.counters}"

    def store(self, indent, names):
        self.add(indent, f"tl.store(p + {self.stores}, {self.expression(names)})")
        self.stores += 1

    def assign(self, indent, names):
        """One assignment; the names that exist afterwards."""
        target = self.random.choice(NAMES)
        if target in names and self.chance(0.3):
            self.add(indent, f"{target} {self.random.choice('+-*')}= {self.expression(names)}")
        elif self.chance(0.15):
            second = self.random.choice([n for n in NAMES if n != target])
            self.add(indent, f"{target}, {second} = ({self.expression(names)}, {self.expression(names)})")
            return sorted({*names, target, second})
        else:
            self.add(indent, f"{target} = {self.expression(names)}")
        return sorted({*names, target})

    def branch(self, indent, depth, names, in_loop):
        self.add(indent, f"if {self.condition(names)}:")
        first, second = self.block(indent + 1, depth + 1, names, in_loop), names
        if self.chance(0.5):
            self.add(indent, "else:")
            second = self.block(indent + 1, depth + 1, names, in_loop)
        return [n for n in first if n in second]

    def loop(self, indent, depth, names):
        if self.chance(0.35):
            counter = self.fresh("w")
            self.add(indent, f"{counter} = 0")
            extra = f" & ({self.condition(names)})" if self.chance(0.5) else ""
            self.add(indent, f"while ({counter} < 3){extra}:")
            self.add(indent + 1, f"{counter} += 1")
        else:
            counter = self.fresh("i")
            form = self.random.choice(["range({})", "tl.range(0, {}, 2)", "range({}, 0, -1)", "tl.static_range(2)"])
            self.add(indent, f"for {counter} in {form.format(self.random.choice(['n', '3', 'K']))}:")
        self.block(indent + 1, depth + 1, [*names, counter], in_loop=True)

    def block(self, indent, depth, names, in_loop):
        """A list of statements; the names that are surely set after it."""
        for _ in range(self.random.randint(1, 4)):
            choice = self.random.random()
            if choice < 0.35 or depth > 3:
                names = self.assign(indent, names)
            elif choice < 0.58:
                names = self.branch(indent, depth, names, in_loop)
            elif choice < 0.80:
                self.loop(indent, depth, names)
            elif choice < 0.90 and not in_loop:
                self.add(indent, f"return {self.expression(names)}" if self.in_helper else "return")
                return names
            elif not self.in_helper:
                self.store(indent, names)
        if self.lines[-1].endswith(":"):
            self.add(indent, "pass")
        return names

    def program(self):
        for number in range(self.random.randint(0, 2)):
            self.lines += ["@tilewright.jit", f"def h{number}(a, b, K: tl.constexpr = 2):", "    n = b & 3"]
            self.in_helper = True
            names = self.block(1, 1, ["a", "b"], in_loop=False)
            # A sum with a parameter is never a constant: all returns agree.
            self.add(1, f"return {self.expression(names)} + b")
            self.helpers.append(f"h{number}")
        self.in_helper = False
        self.lines += ["@tilewright.jit", "def kernel(p, n, k, K: tl.constexpr):", "    a = n"]
        self.store(1, self.block(1, 0, ["a", "k", "n"], in_loop=False))
        return "\n".join(self.lines) + "\n"
