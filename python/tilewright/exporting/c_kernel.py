# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C text of one exported kernel: images, a function for each variant, and the launch function that chooses.

What the launch function of a kernel `add` does, in order:

    int add(TwStream stream, const void *x, void *out, int32_t n)
      1. the promises of the signatures are checked; the first signature that fits is taken
      2. the configuration of the nearest tuned values is taken
      3. the variant's function makes the grid, tensor maps and parameters, and calls the driver
"""

from __future__ import annotations

import json

from .c_parameters import TensorMapForms, c_type, identifier, parameter_block, way_of, ways_of
from .model import Descriptor, is_descriptor

# What the functions call their own variables.
_LOCALS = {
    "stream",
    "programs",
    "state",
    "status",
    "loaded",
    "grid",
    "configuration",
    "signature",
    "values",
    "rows",
    "count",
    "parameters",
    "maps",
}


def text_literal(text) -> str:
    """A C string."""
    return json.dumps(text)


class KernelText:
    """Writes one kernel. `first` is the number of its first variant in the library, `forms` numbers tensor maps, `code` gives
    each image its array."""

    def __init__(self, kernel, first, forms, code):
        self.kernel, self.first, self.code = kernel, first, code
        self.names = {p.name: self._c_name(p.name) for p in kernel.parameters}
        self.forms = TensorMapForms(kernel.name, forms)

    @staticmethod
    def _c_name(name):
        name = identifier(name)
        return f"{name}_" if name in _LOCALS or name.startswith(("tw_", "made_", "tuned_")) else name

    # -- declarations -------------------------------------------------------

    def _parameter_list(self):
        return [f"{c_type(p)}{self.names[p.name]}" for p in self.kernel.parameters]

    def _declared(self, *first):
        programs = [] if self.kernel.grid is not None else ["TwGrid programs"]
        return ", ".join([*first, "TwStream stream", *programs, *self._parameter_list()])

    def _passed(self, *first):
        programs = [] if self.kernel.grid is not None else ["programs"]
        return ", ".join([*first, "stream", *programs, *self.names.values()])

    def declarations(self) -> str:
        """What the header has of it."""
        kernel = self.kernel
        lines = [f"/* {kernel.function}"]
        lines += [f"     {', '.join(signature.split(','))}" for signature in kernel.signatures]
        lines += [
            f"   configuration {n}: {', '.join(f'{k}={v}' for k, v in configuration.items())}"
            for n, configuration in enumerate(kernel.configurations)
            if configuration
        ]
        if kernel.grid is not None:
            lines.append(f"   programs: {kernel.grid.text}")
        lines = [line.replace("*/", "* /") for line in lines]
        lines[-1] += " */"
        lines.append(f"int {kernel.name}({self._declared()});")
        if len(kernel.configurations) > 1:
            lines += [
                "/* The same with the configuration of a number. */",
                f"enum {{ {kernel.name}_configurations = {len(kernel.configurations)} }};",
                f"int {kernel.name}_with({self._declared('int configuration')});",
            ]
        return "\n".join(lines)

    # -- images -------------------------------------------------------------

    def variants(self) -> list:
        """The kernel's rows of the library's table of variants."""
        return [
            f"{{{text_literal(self.kernel.name)}, {self.kernel.name}_images_{number}, {len(variant.images)}}}"
            for number, variant in enumerate(self.kernel.variants)
        ]

    def _images(self, number, variant):
        rows, ways = [], list(ways_of(variant))
        for image in variant.images:
            meta, way = image.metadata, ways.index(way_of(image))
            rows.append(
                f"    {{{text_literal(image.entry)}, {text_literal(image.target)}, {self.code(image.content)}, "
                f"{image.capability}, TW_{image.kind.upper()}, {way}, {meta['num_warps'] * meta['warp_size']}, "
                f"{meta['shared']}, {meta['num_ctas']}, {meta['maxnreg'] or 0}, {int(bool(meta['launch_cooperative_grid']))}, "
                f"{int(bool(meta['launch_pdl']))}, {meta['global_scratch_size']}}},"
            )
        return "\n".join([f"static const TwImage {self.kernel.name}_images_{number}[] = {{", *rows, "};"])

    # -- launches -----------------------------------------------------------

    def _launch(self, number, variant):
        kernel, ways = self.kernel, ways_of(variant)
        grid = (
            kernel.grid.as_c(variant.constants, self.names, "state")
            if kernel.grid is not None
            else [f"programs.{axis}" for axis in "xyz"]
        )
        unused = [f"  (void){self.names[p.name]};" for p in kernel.parameters if p.name not in variant.types]
        lines = [
            f"static int {kernel.name}_launch_{number}({self._declared('TwState *state')}) {{",
            *unused,
            f"  const int64_t grid[3] = {{{', '.join(grid)}}};",
            "  TwLoaded *loaded;",
            f"  int status = tw_loaded(state, {self.first + number}, &loaded);",
            "  if (status != TW_OK || tw_is_empty(grid))",
            "    return status;",
        ]
        blocks = [parameter_block(self.kernel.name, variant, image, self.names, self.forms) for image in ways.values()]
        if len(blocks) == 1:
            lines += blocks[0]
        else:
            lines.append("  switch (loaded->image->parameters) {")
            for way, block in enumerate(blocks):
                lines += [f"  case {way}: {{", *("  " + line.replace("\n", "\n  ") for line in block), "  }"]
            lines += ["  }", "  return TW_NO_TARGET; /* every image has one of these ways */"]
        return "\n".join([*lines, "}"])

    # -- checks -------------------------------------------------------------

    def _promises(self, signature):
        """(C condition, refusal) of each promise of a signature."""
        variant, found = self.kernel.variant(0, signature), []
        for parameter in self.kernel.parameters:
            name, shown = self.names[parameter.name], parameter.name
            divisor = variant.divisibility.get(shown, 1)
            if shown in variant.constants:
                value = int(variant.constants[shown])
                found.append(
                    (
                        f"{name} == {value}",
                        f'TW_WRONG_VALUE, "{self.kernel.name}: {shown} is %lld, and {value} is compiled in", (long long){name}',
                    )
                )
            elif divisor > 1 and is_descriptor(parameter.kind):
                form = Descriptor.of(variant.types[shown])
                last = f"{name}->shape[{form.rank - 1}]"
                found.append(
                    (
                        f"{last} * {form.form()['element_bytes']} % {divisor} == 0",
                        f'TW_BAD_TENSOR, "{self.kernel.name}: the last extent of {shown} is %lld, '
                        f'and a multiple of {divisor} bytes is promised", (long long){last}',
                    )
                )
            elif divisor > 1 and parameter.kind.startswith("*"):
                found.append(
                    (
                        f"(uintptr_t){name} % {divisor} == 0",
                        f'TW_MISALIGNED, "{self.kernel.name}: {shown} is %p, no multiple of {divisor} bytes", {name}',
                    )
                )
            elif divisor > 1:
                found.append(
                    (
                        f"{name} % {divisor} == 0",
                        f'TW_NOT_DIVISIBLE, "{self.kernel.name}: {shown} is %lld, no multiple of {divisor}", (long long){name}',
                    )
                )
        return found

    def _address(self, parameter):
        name = self.names[parameter.name]
        return f"{name}->data" if is_descriptor(parameter.kind) else name

    def _overlaps(self):
        """Refusals of arrays that are passed twice, one of them to be written."""
        if not self.kernel.needs_distinct_arguments:
            return []
        arrays = [p for p in self.kernel.parameters if p.kind.startswith("*") or is_descriptor(p.kind)]
        pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[i + 1 :] if a.is_written or b.is_written]
        return [
            f"  if ({self._address(a)} == {self._address(b)} && {self._address(a)})\n"
            f'    return tw_refuse(TW_OVERLAP, "{self.kernel.name}: {a.name} and {b.name} are the same array");'
            for a, b in pairs
        ]

    def _checks(self):
        kernel, count = self.kernel, len(self.kernel.signatures)
        lines = ["  int signature = 0;" if count > 1 else ""]
        lines += [
            f'  if (!{self.names[p.name]})\n    return tw_refuse(TW_BAD_TENSOR, "{kernel.name}: {p.name} is NULL");'
            for p in kernel.parameters
            if is_descriptor(p.kind)
        ]
        lines += [f"  {self.names[p.name]} = {self.names[p.name]} != 0;" for p in kernel.parameters if p.kind == "i1"]
        lines += self._overlaps()
        tests = [" && ".join(condition for condition, _ in self._promises(number)) or "1" for number in range(count)]
        for number in range(count - 1):
            lines.append(f"  {'else ' if number else ''}if ({tests[number]})\n    signature = {number};")
        last = [f"  if (!({condition}))\n    return tw_refuse({refusal});" for condition, refusal in self._promises(count - 1)]
        if count > 1:
            last = ["  else {", *("  " + line.replace("\n", "\n  ") for line in last), f"    signature = {count - 1};", "  }"]
        return [line for line in [*lines, *last] if line]

    # -- choice -------------------------------------------------------------

    def _choice(self):
        """Lines that set `configuration` from the tuned table."""
        kernel, table = self.kernel, self.kernel.table
        if table is None or len(kernel.configurations) == 1:
            return ["  const int configuration = 0;"]
        devices = sorted(table.devices.items(), key=lambda item: -len(item[1]))
        lines = [f"  const int64_t values[] = {{{', '.join(self.names[key] for key in table.keys) or '0'}}};"]
        for number, (_, rows) in enumerate(devices):
            numbers = ", ".join(str(value) for values, choice in rows for value in (*values, choice))
            lines.append(f"  static const int64_t tuned_{number}[] = {{{numbers}}};")
        lines += ["  const int64_t *rows = tuned_0;", f"  int count = {len(devices[0][1])};"]
        for number, (device, rows) in enumerate(devices[1:], 1):
            name, multiprocessors = device.rsplit(", ", 2)[0], device.rsplit(", ", 2)[1].split()[0]
            lines += [
                f"  if (state->multiprocessors == {int(multiprocessors)} && strcmp(state->name, {text_literal(name)}) == 0) {{",
                f"    rows = tuned_{number};",
                f"    count = {len(rows)};",
                "  }",
            ]
        lines.append(f"  const int configuration = (int)tw_nearest(rows, count, {len(table.keys)}, values);")
        return lines

    def _dispatch(self):
        kernel, count = self.kernel, len(self.kernel.signatures)
        lines = [
            f"static int {kernel.name}_dispatch({self._declared('TwState *state', 'int configuration')}) {{",
            *self._checks(),
        ]
        number = f"configuration * {count} + signature" if count > 1 else "configuration"
        lines.append(f"  switch ({number}) {{")
        for place in range(len(kernel.variants)):
            lines.append(f"  case {place}: return {kernel.name}_launch_{place}({self._passed('state')});")
        lines += [
            "  }",
            f'  return tw_refuse(TW_NO_CONFIGURATION, "{kernel.name}: there is no configuration %d", configuration);',
            "}",
        ]
        return "\n".join(lines)

    def _public(self):
        kernel = self.kernel
        state = [
            "  TwState *state;",
            "  int status = tw_current_state(&state);",
            "  if (status != TW_OK)",
            "    return status;",
        ]
        lines = [
            f"int {kernel.name}({self._declared()}) {{",
            *state,
            *self._choice(),
            f"  return {kernel.name}_dispatch({self._passed('state', 'configuration')});",
            "}",
        ]
        if len(kernel.configurations) > 1:
            lines += [
                "",
                f"int {kernel.name}_with({self._declared('int configuration')}) {{",
                *state,
                f"  return {kernel.name}_dispatch({self._passed('state', 'configuration')});",
                "}",
            ]
        return "\n".join(lines)

    def definitions(self) -> str:
        """All of it, after what every library has."""
        numbered = list(enumerate(self.kernel.variants))
        launches = [self._launch(number, variant) for number, variant in numbered]
        images = [self._images(number, variant) for number, variant in numbered]
        return "\n\n".join(
            [f"/* ---- {self.kernel.name} ---- */", *images, *self.forms.texts(), *launches, self._dispatch(), self._public()]
        )
