# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text that a debugger and a notebook show for a tile: type, a corner, statistics."""

from __future__ import annotations

from .. import _core

# Tiles up to this size are shown whole, larger ones by a corner.
_WHOLE = 16
_CORNER = 4


def _corner(array):
    """The first elements along each axis, as text."""
    import numpy as np  # with the first tile that is shown

    part = array[tuple(slice(0, _CORNER) for _ in array.shape)]
    text = np.array2string(part, threshold=_CORNER**3, separator=" ")
    return text if part.shape == array.shape else text[:-1] + " ...]"


def statistics(array) -> dict:
    """Least, mean and largest of the finite elements, and how many are NaN or infinite; counts of booleans."""
    import numpy as np

    if array.dtype == np.bool_:
        return {"true": int(array.sum()), "false": int(array.size - array.sum())}
    numbers = array if array.dtype.kind in "iu" else array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    found = {}
    if finite.size:
        found = {"min": finite.min().item(), "mean": float(finite.mean(dtype=np.float64)), "max": finite.max().item()}
    if numbers.dtype.kind == "f":
        for name, count in (("nan", np.isnan(numbers).sum()), ("inf", np.isinf(numbers).sum())):
            if count:
                found[name] = int(count)
    return found


def _type_text(tensor):
    shape = ",".join(map(str, tensor.shape))
    return tensor.dtype.short_name + (f"[{shape}]" if shape else "")


def _number(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text(tensor) -> str:
    """`fp32[4]([1. 2. 3. 4.])`; of a large tile a corner and its statistics; the type alone while it is compiled."""
    array = _core.kernel.contents(tensor)
    if array is None:
        return _type_text(tensor)
    if array.size <= _WHOLE or tensor.dtype.is_ptr():
        return f"{_type_text(tensor)}({array})"
    numbers = ", ".join(f"{name} {_number(value)}" for name, value in statistics(array).items())
    return f"{_type_text(tensor)}({_corner(array)}; {numbers})"


def as_html(tensor) -> str:
    """A table of the corner under a line with type and statistics."""
    import html  # for notebooks alone

    array = _core.kernel.contents(tensor)
    if array is None:
        return f"<code>{html.escape(_type_text(tensor))}</code>"
    head = [_type_text(tensor)]
    if not tensor.dtype.is_ptr():
        head += [f"{name} {_number(value)}" for name, value in statistics(array).items()]
    rows = array.reshape(1, -1) if array.ndim < 2 else array.reshape(-1, array.shape[-1])
    shown = rows[:_CORNER, : 2 * _CORNER]
    cells = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(str(x))}</td>" for x in row)
        + ("<td>...</td>" if shown.shape[1] < rows.shape[1] else "")
        + "</tr>"
        for row in shown
    )
    more = "<tr><td>...</td></tr>" if shown.shape[0] < rows.shape[0] else ""
    return f"<code>{html.escape(', '.join(head))}</code><table>{cells}{more}</table>"
