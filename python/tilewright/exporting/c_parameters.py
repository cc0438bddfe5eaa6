# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the arguments of a C function become parameters of machine code, as a launch from Python makes them.

A descriptor becomes its tensor map, where the code takes one, and base, extents as i32 and
strides as i64; maps that the launch makes of other arguments follow, then scratch memory.
"""

from __future__ import annotations

import re

from ..kernel_arguments import refused
from .model import Descriptor, is_descriptor

_SCALARS = {
    "i1": "int8_t",
    "fp32": "float",
    "fp64": "double",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
}

# ir/support/RecipeOp.h
_CONSTANT, _ARGUMENT32, _ARGUMENT64, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _SIGN_EXTEND, _ZERO_EXTEND = range(9)


# Words that C or C++ reserves: a header is for both.
_KEYWORDS = set(
    """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
asm catch class const_cast delete explicit export friend mutable namespace new operator private protected public template this
throw try typename using virtual""".split()
)


def identifier(text) -> str:
    """The nearest name that C has."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _KEYWORDS else name


def number_type(name, kind) -> str:
    """The C type of a number; E0117 where C has none."""
    if kind not in _SCALARS:
        raise refused(
            f"the parameter '{name}' of type {kind} has no C type",
            "give numbers as fp32, fp64 or integers, and tensors as pointers or descriptors",
        )
    return _SCALARS[kind]


def c_type(parameter) -> str:
    """The type of a parameter of the C function, ready for its name."""
    if is_descriptor(parameter.kind):
        return "const TwTensor *"
    if parameter.kind.startswith("*"):
        return "void *" if parameter.is_written else "const void *"
    return number_type(parameter.name, parameter.kind) + " "


def ways_of(variant) -> dict:
    """The different ways in which a variant's images take their parameters, each with an image that does."""
    ways = {}
    for image in variant.images:
        ways.setdefault(way_of(image), image)
    return ways


def way_of(image) -> tuple:
    """(which descriptors are tensor maps, maps that the launch makes, whether scratch memory follows), to be compared."""
    meta = image.metadata
    return (tuple(meta["tensor_maps"]), repr(meta["host_tensor_maps"]), meta["global_scratch_size"] > 0)


class TensorMapForms:
    """The `TwMapForm`s of one kernel: one for each descriptor of a launch, the same for all variants that agree in it."""

    def __init__(self, kernel, numbers):
        self.kernel, self.numbers = kernel, numbers
        self._forms: dict = {}

    def name(self, place, shown, descriptor) -> str:
        """The C name of the form of the descriptor at a place among a launch's, which messages call `shown`."""
        form = descriptor.form()
        box = ", ".join(map(str, form["box"]))
        text = (
            f"{descriptor.rank}, {form['element_bytes']}, {form['data_type']}, {form['swizzle']}, "
            f"{form['promotion']}, {form['fill']}, {{{box}}}"
        )
        found = self._forms.get((place, shown, text))
        if found is None:
            found = self._forms[place, shown, text] = (f"{self.kernel}_map_{len(self._forms)}", next(self.numbers))
        return found[0]

    def texts(self) -> list:
        return [
            f'static const TwMapForm {name} = {{"{self.kernel}", "{shown}", {number}, {text}}};'
            for (_, shown, text), (name, number) in self._forms.items()
        ]


def _expression(steps, places) -> str:
    """The C form of an expression in postfix form; arithmetic wraps, as it does in the kernel."""
    stack = []
    for code, operand in zip(steps[::2], steps[1::2]):
        if code == _CONSTANT:
            stack.append(f"INT64_C({operand})")
        elif code in (_ARGUMENT32, _ARGUMENT64):
            stack.append(f"(int64_t)({'int32_t' if code == _ARGUMENT32 else 'int64_t'}){places[operand]}")
        elif code in (_SIGN_EXTEND, _ZERO_EXTEND):
            stack.append(f"(int64_t)({'int32_t' if code == _SIGN_EXTEND else 'uint32_t'})({stack.pop()})")
        else:
            right, left = stack.pop(), stack.pop()
            sign = {_ADD: "+", _SUBTRACT: "-", _MULTIPLY: "*"}.get(code)
            stack.append(
                f"tw_quotient({left}, {right})" if sign is None else f"(int64_t)((uint64_t)({left}) {sign} (uint64_t)({right}))"
            )
    return stack[0]


class _Block:
    """The C lines of one way, while they are written."""

    def __init__(self, forms):
        self.forms = forms
        self.lines = []
        self.addresses, self.values = [], []  # of each parameter
        self.descriptors = self.maps = 0

    def add(self, address, value=""):
        self.addresses.append(address)
        self.values.append(value)

    def _form(self, shown, descriptor):
        self.descriptors += 1
        return self.forms.name(self.descriptors, shown, descriptor)

    def add_map(self, shown, descriptor, array):
        form = self._form(shown, descriptor)
        self.lines.append(f"  if ((status = tw_find_map(&{form}, {array}, &maps[{self.maps}])) != TW_OK)\n    return status;")
        self.add(f"maps[{self.maps}]")
        self.maps += 1

    def add_descriptor(self, shown, name, descriptor, is_map):
        if is_map:
            self.add_map(shown, descriptor, name)
        else:
            self.lines.append(
                f"  if ((status = tw_check_tensor(&{self._form(shown, descriptor)}, {name})) != TW_OK)\n    return status;"
            )
        self.add(f"(void *)&{name}->data", f"(uintptr_t){name}->data")
        for what in ("shape", "strides"):
            for axis in range(descriptor.rank):
                self.add(f"(void *)&{name}->{what}[{axis}]", f"{name}->{what}[{axis}]")

    def add_recipe(self, recipe, places):
        """A map that the launch makes of numbers among the arguments."""
        descriptor = Descriptor(recipe["element"], list(recipe["block"]), recipe["nan"], False)
        array = f"made_{self.maps}"
        shape, strides = (", ".join(_expression(steps, places) for steps in recipe[what]) for what in ("shape", "strides"))
        self.lines.append(f"  const TwTensor {array} = {{(void *){places[recipe['base']]}, {{{shape}}}, {{{strides}}}}};")
        self.add_map("tl.make_tensor_descriptor", descriptor, f"&{array}")


def parameter_block(kernel, variant, image, names, forms) -> list:
    """C lines that make the parameters of the images like this one, and launch."""
    block, meta = _Block(forms), image.metadata
    maps = iter(meta["tensor_maps"])
    for shown, kind in variant.types.items():
        name = names[shown]
        if is_descriptor(kind):
            block.add_descriptor(shown, name, Descriptor.of(kind), next(maps, False))
        else:
            block.add(f"(void *)&{name}", f"(uintptr_t){name}" if kind.startswith("*") else name)
    places = list(block.values)
    for recipe in meta["host_tensor_maps"]:
        block.add_recipe(recipe, places)
    head = [f"  void *maps[{block.maps}];"] if block.maps else []
    addresses = ", ".join([*block.addresses, "NULL"])  # the last is the place of scratch memory
    return [
        *head,
        *block.lines,
        f"  void *parameters[] = {{{addresses}}};",
        f'  return tw_launch(loaded, "{kernel}", grid, stream, parameters, {len(block.addresses)});',
    ]
