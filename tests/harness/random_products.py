# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random products of matrices: single ones, the loops of matrix products, and those of attention."""

from harness import random_values as values
from harness.random_values import Value
from harness.element_types import bits

# Left type, right type, bounds of operands, the accumulator's type; and how often.
DOTS = {
    ("float16", "float16", 4, "float32"): 8,
    ("bfloat16", "bfloat16", 4, "float32"): 5,
    ("float32", "float32", 6, "float32"): 4,
    ("int8", "int8", 100, "int32"): 3,
    ("float8e4nv", "float8e4nv", 4, "float32"): 2,
    ("float8e5", "float8e5", 4, "float32"): 1,
    ("float8e4nv", "float8e5", 4, "float32"): 1,
    ("float16", "float16", 2, "float16"): 1,
    ("float64", "float64", 6, "float64"): 0.3,
}
PRECISIONS = ["tf32", "ieee", "tf32x3", "bf16x3", "bf16x6"]


class Products:
    """Part of RandomKernel."""

    def operand(self, shape, dtype, bound):
        """Often straight from memory, as in most kernels, sometimes computed."""
        if self.chance(0.15):
            other = self.operand(shape[::-1], dtype, bound)
            return other.shaped(f"tl.trans({other.text})", shape)
        if dtype != "int8" and self.chance(0.65):
            value = self.load(shape, dtype, "small")
        else:
            value = values.within(self.expression(shape, 1), *((0, bound) if self.chance(0.3) else (-bound, bound)), dtype)
            value = value or self.load(shape, dtype, "small")
        if value.bound > bound:
            value = values.within(value, -bound, bound, dtype)
        return value if value.text.isidentifier() or self.chance(0.5) else self.bind(value)

    def product(self):
        """tl.dot with or without an accumulator."""
        rows, columns = self.pick(16, 32, 32, 64), self.pick(16, 32)
        left, right, bound, result = self.weighted(DOTS)
        inner = self.pick(32, 64) if bits(left) == 8 else self.pick(16, 16, 32)
        a, b = self.operand((rows, inner), left, bound), self.operand((inner, columns), right, bound)
        most = a.bound * b.bound * inner
        keywords = ""
        if left == "float32":
            keywords = f', input_precision="{self.pick(*PRECISIONS)}"' if self.chance(0.7) else ""
        if result == "float16":
            keywords = ", out_dtype=tl.float16"
        dot = f"tl.dot({a.text}, {b.text}{{}}{keywords})"
        known = [
            v
            for v in self.visible()
            if v.shape == (rows, columns)
            and v.dtype == result
            and v.has_range
            and v.grain == 0
            and values.fits(result, -v.bound - most, v.bound + most)
        ]
        if known and self.chance(0.4):
            acc = self.random.choice(known)
            text = (
                dot.format(self.pick(f", {acc.text}", f", acc={acc.text}"))
                if self.chance(0.7)
                else f"{dot.format('')} + {acc.text}"
            )
            return self.bind(Value(text, result, (rows, columns), -acc.bound - most, acc.bound + most))
        value = values.of_type(dot.format(""), result, (rows, columns), -most, most)
        return value and self.bind(value)

    # ---- loops of matrix products -------------------------------------------

    def product_loop(self):
        """Two loads, pointers or offsets or blocks that move, an accumulator; perhaps for several tiles of a result."""
        if self.counters or self.is_branch:
            return self.product()
        # From 64 rows on a group of four warps multiplies together.
        rows, columns, inner = self.pick(16, 32, 32, 64, 64, 128), self.pick(16, 32, 32), self.pick(32, 32, 64)
        left, right, bound, result = self.weighted(
            {key: weight for key, weight in DOTS.items() if key[3] in ("float32", "int32")}
        )
        steps = self.random.randint(1, 4)
        acc, counter = self.fresh("acc"), self.fresh("k")
        pointers, blocks = self.loaded_by_pointers, self.loaded_by_blocks
        make = self.pick(pointers, pointers, blocks, self.loaded_by_descriptors, self.loaded_packed)
        if self.chance(0.25):
            return self.persistent(make, (rows, columns, inner, steps), (left, right, result), acc, counter)
        before, inside, after = make((rows, columns, inner, steps), (left, right), counter)
        for line in [
            f"{acc} = tl.zeros(({rows}, {columns}), tl.{result})",
            *before,
            f"for {counter} in {self.range_text(f'0, {steps}')}:",
        ]:
            self.add(line)
        with self.block():
            for line in [*inside, *self.multiply(acc, left, result), *after]:
                self.add(line)
        most = 2 * 128 * inner * steps
        return self.keep(values.of_type(acc, result, (rows, columns), -most, most))

    def persistent(self, make, sizes, types, acc, counter):
        """Each program makes several tiles of the result."""
        rows, columns, inner, steps = sizes
        left, right, result = types
        before, inside, after = make(sizes, (left, right), counter)
        tiles, tile = self.num_programs + self.random.randint(0, 2), self.fresh("t")
        out = self.array(result, 0, "out", length=tiles * rows * columns)
        index, n = self.index((rows, columns)), self.argument(tiles)
        self.add(f"for {tile} in tl.range(pid, {n}, {self.num_programs}{self.pick('', ', flatten=True', ', num_stages=2')}):")
        with self.block():
            for line in [
                f"{acc} = tl.zeros(({rows}, {columns}), tl.{result})",
                *before,
                f"for {counter} in {self.range_text(f'0, {steps}')}:",
            ]:
                self.add(line)
            with self.block():
                for line in [*inside, *self.multiply(acc, left, result), *after]:
                    self.add(line)
            self.add(f"tl.store({out.name} + {tile} * {rows * columns} + {index}, {acc} + {tile})")

    def multiply(self, acc, left, result):
        """The product; perhaps registers see an operand as well."""
        lines = self.product_lines(acc, left)
        if self.chance(0.2):
            seen = self.pick("tl.sum(a.to(tl.{0}), 1)[:, None]", "tl.sum(b.to(tl.{0}), 0)[None, :]").format(result)
            lines.insert(self.pick(0, len(lines)), f"{acc} += {seen}")
        return lines

    def product_lines(self, acc, left):
        lines = []
        if left == "float16" and self.chance(0.2):
            lines.append(self.pick("a = (a * 2).to(tl.float16)", "b = tl.abs(b)", "a = -a"))
        if self.chance(0.1):
            return [*lines, f"if {self.scalar_offset(16).text} < 3:", f"    {acc} += tl.dot(a, b)"]
        return [*lines, self.pick(f"{acc} = tl.dot(a, b, {acc})", f"{acc} += tl.dot(a, b)")]

    def loaded_by_pointers(self, sizes, types, counter):
        """Lines before the loop, in it before the product, and after that: they give `a` and `b`."""
        rows, columns, inner, steps = sizes
        a, b = (self.array(dtype, "small") for dtype in types)
        a.length, b.length = rows * inner * steps, columns * inner * steps
        row, column, k = self.index((rows,)), self.index((columns,)), self.index((inner,))
        b_rows = f"{b.name} + {k}[:, None] * {columns} + {column}[None, :]"
        places = (
            f"{a.name} + {row}[:, None] * {inner * steps} + {k}[None, :]",
            self.pick(b_rows, f"{b.name} + {k}[:, None] + {column}[None, :] * {inner * steps}"),
        )
        strides = (inner, inner * columns if places[1] == b_rows else inner)
        masks = ("", "")
        if self.chance(0.3):
            total = self.argument(inner * steps - self.random.randint(0, inner - 1))
            masks = (
                f", mask={k}[None, :] + {counter} * {inner} < {total}, other=0",
                f", mask={k}[:, None] + {counter} * {inner} < {total}, other=0",
            )
        moves, a_at, b_at = self.chance(0.5), self.fresh("pointer"), self.fresh("pointer")
        at = (a_at, b_at) if moves else tuple(f"{place} + {counter} * {stride}" for place, stride in zip(places, strides))
        inside = [f"{name} = tl.load({place}{mask}{self.load_keywords()})" for name, place, mask in zip("ab", at, masks)]
        if not moves:
            return [], inside, []
        return (
            [f"{a_at} = {places[0]}", f"{b_at} = {places[1]}"],
            inside,
            [f"{a_at} += {strides[0]}", f"{b_at} += {strides[1]}"],
        )

    def loaded_packed(self, sizes, types, counter):
        """`b` from words of several numbers of four bits, along its rows or its columns, or joined from bytes."""
        rows, columns, inner, steps = sizes
        word, per = self.pick(("int32", 8), ("int32", 4), ("int16", 4), ("int8", 2), ("uint8", 2))
        a, words = self.array(types[0], "small"), self.array(word, "any")
        a.length, words.length = rows * inner * steps, columns * inner * steps // per
        row, column, k = (self.index((size,)) for size in (rows, columns, inner))
        width, form = bits(word) // per, self.pick("rows", "columns", "joined" if per == 2 else "rows")
        shift = f"({k} % {per} * {width})[:, None]"
        if form == "rows":
            place, stride = f"({k} // {per})[:, None] * {columns} + {column}[None, :]", inner // per * columns
        elif form == "columns":
            place, stride = f"{k}[:, None] * {columns // per} + ({column} // {per})[None, :]", inner * columns // per
            shift = f"({column} % {per} * {width})[None, :]"
        else:
            half = self.index((inner // 2,))
            place, stride = f"{half}[:, None] * {columns} + {column}[None, :]", inner // 2 * columns
        moved = self.fresh("pointer") if self.chance(0.5) else ""
        at = moved or f"{words.name} + {place} + {counter} * {stride}"
        number, less = f".to(tl.{types[1]})", " - 8" if self.chance(0.3) else ""
        inside = [
            f"a = tl.load({a.name} + {row}[:, None] * {inner * steps} + {k}[None, :] + {counter} * {inner})",
            f"words = tl.load({at}{self.load_keywords()})",
        ]
        if form == "joined":
            low, high = (f"({text}{less}){number}" for text in ("(words & 15)", "((words >> 4) & 15)"))
            inside.append(f"b = tl.reshape(tl.permute(tl.join({low}, {high}), (0, 2, 1)), ({inner}, {columns}))")
        else:
            inside.append(f"b = (((words >> {shift}) & 15){less}){number}")
        return [f"{moved} = {words.name} + {place}"] * bool(moved), inside, [f"{moved} += {stride}"] * bool(moved)

    def loaded_by_blocks(self, sizes, types, counter):
        rows, columns, inner, steps = sizes
        a, b = self.matrices(sizes, types)
        a_at, b_at = self.fresh("block"), self.fresh("block")
        a_shape, b_shape = (
            self.pick(f"{x.shape[0]}, {x.shape[1]}", f"{self.argument(x.shape[0])}, {self.argument(x.shape[1])}")
            for x in (a, b)
        )
        before = [
            f"{at} = tl.make_block_ptr({x.name}, shape=({shape}), strides=({x.shape[1]}, 1), offsets=(0, 0), "
            f"block_shape=({block}), order=(1, 0))"
            for at, x, shape, block in ((a_at, a, a_shape, f"{rows}, {inner}"), (b_at, b, b_shape, f"{inner}, {columns}"))
        ]
        inside = [
            f'{name} = tl.load({at}, boundary_check=(0, 1), padding_option="zero"{self.load_keywords()})'
            for name, at in (("a", a_at), ("b", b_at))
        ]
        return before, inside, [f"{a_at} = tl.advance({a_at}, (0, {inner}))", f"{b_at} = tl.advance({b_at}, ({inner}, 0))"]

    def loaded_by_descriptors(self, sizes, types, counter):
        rows, columns, inner, steps = sizes
        a, b = self.matrices(sizes, types)
        names = [self.descriptor(a, (rows, inner)), self.descriptor(b, (inner, columns))]
        start = self.pick(f"{counter} * {inner}", "start")
        inside = [f"a = {names[0]}.load([0, {start}])", f"b = {names[1]}.load([{start}, 0])"]
        if start == "start":
            return ["start = 0"], inside, [f"start += {inner}"]
        return [], inside, []

    def matrices(self, sizes, types):
        """Arrays whose last block may leave them; rows are multiples of 16 bytes."""
        rows, columns, inner, steps = sizes
        short = self.pick(0, 0, 16)
        a = self.array(types[0], "small", shape=(rows - self.pick(0, 0, 3), inner * steps - short))
        return a, self.array(types[1], "small", shape=(inner * steps - short, columns))

    def attention(self):
        """Scores, their running maximum and sum, a second product: with powers of two, which are exact."""
        if self.counters or self.is_branch:
            return self.product()
        rows, keys, width, steps = self.pick(16, 32, 64), self.pick(16, 32), self.pick(16, 32), self.random.randint(1, 3)
        dtype = self.pick("float16", "float16", "bfloat16")
        q, k, v = (self.array(dtype, "small", length=size * width) for size in (rows, keys * steps, keys * steps))
        row, key, column = self.index((rows,)), self.index((keys,)), self.index((width,))
        acc, total, largest, counter = self.fresh("acc"), self.fresh("acc"), self.fresh("acc"), self.fresh("c")
        where = f"({counter} * {keys} + {key}"
        lines = [
            f"q = tl.load({q.name} + {row}[:, None] * {width} + {column}[None, :])",
            f"{largest} = tl.zeros([{rows}], tl.float32)",
            f"{total} = tl.zeros([{rows}], tl.float32)",
            f"{acc} = tl.zeros([{rows}, {width}], tl.float32)",
            f"for {counter} in {self.range_text(f'0, {self.argument(steps)}')}:",
            f"    k = tl.load({k.name} + {where}[None, :]) * {width} + {column}[:, None]{self.load_keywords()})",
            f"    scores = tl.minimum(tl.maximum(tl.dot(q, k), -1.0), {self.pick('1.0', '2.0')})",
        ]
        if self.chance(0.5):
            lines.append(f"    scores = tl.where({row}[:, None] >= {where}[None, :]), scores, -1.0)")
        lines += [
            f"    top = tl.maximum({largest}, tl.max(scores, 1))",
            f"    alpha = tl.exp2({largest} - top)",
            "    p = tl.exp2(scores - top[:, None])",
            f"    {total} = {total} * alpha + tl.sum(p, 1)",
            f"    v = tl.load({v.name} + {where}[:, None]) * {width} + {column}[None, :]{self.load_keywords()})",
            f"    {acc} = {acc} * alpha[:, None]" if self.chance(0.7) else f"    {acc} *= alpha[:, None]",
            self.pick(f"    {acc} = tl.dot(p.to(tl.{dtype}), v, {acc})", f"    {acc} += tl.dot(p.to(tl.{dtype}), v)"),
            f"    {largest} = top",
        ]
        for line in lines:
            self.add(line)
        self.keep(Value(largest, "float32", (rows,), -1, 2))
        # Multiples of 2**-5: the maximum rises by 2 in all, and a score lies 3 below it at most.
        self.keep(Value(total, "float32", (rows,), 0, keys * steps, -5))
        return self.keep(Value(acc, "float32", (rows, width), -4 * keys * steps, 4 * keys * steps, -5))
