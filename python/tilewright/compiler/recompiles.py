# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TILEWRIGHT_LOG=recompiles: says why a launch needed another specialisation.

    recompiles: add (vector_add.py:12) has a 2nd specialisation, made in 41 ms for the launch at run.py:88
        n: i32 divisible by 16 before, i32 now
        help: do_not_specialize=["n"] makes one kernel for all values of n

Each specialisation that is new to this process is compared with the one before it that
differs in the fewest parts of the key. The first one of a kernel has nothing to be compared
with, so it is not reported. A tuned kernel is reported once for each new tuning key, with
all that its candidates compile.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref

from .. import errors, knobs, observers
from .request import default_text

_TOPICS = ("recompiles",)
# Fields of a key that say what the parts below say, one parameter at a time.
_OF_ARGUMENTS = ("signature", "divisibility")
_MOST_VALUES = 6  # that a hint lists

_earlier: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # function -> [parts of each specialisation]
_tuning_keys: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # tuner -> [named parts of each key]
_lock = threading.Lock()


def is_on() -> bool:
    """Whether TILEWRIGHT_LOG names this topic; E0701 where it names what is none."""
    text = knobs.runtime.log
    if not text:
        return False
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in _TOPICS:
            raise errors.make("E0701", X="LOG", v=word, type=f"names with commas: {', '.join(_TOPICS)}")
    return "recompiles" in words


# ---------------------------------------------------------------------------
# Parts of a key
# ---------------------------------------------------------------------------


def _argument_parts(src) -> dict:
    """What the key says of each parameter, in words."""
    parts = {}
    for param in src.fn.params:
        name = param.name
        if name in src.constants:
            value = src.constants[name]
            parts[name] = f"constexpr {value!r}" if param.is_constexpr else "None" if value is None else f"equal to {value!r}"
            continue
        number = src.divisibility.get(name, 1)
        kind = src.runtime_signature.get(name)
        inner = [
            f"{key[len(name) :]} divisible by {value}"
            for key, value in sorted(src.divisibility.items())
            if key.startswith(f"{name}[")
        ]
        inner += [
            f"{key[len(name) :]} equal to {value!r}"
            for key, value in sorted(src.constants.items())
            if key.startswith(f"{name}[")
        ]
        parts[name] = ", ".join([f"{kind}{f' divisible by {number}' if number > 1 else ''}", *inner])
    return parts


def _parts(request) -> dict:
    """{(kind, name): text} of all that a key holds; kinds are "argument" and "field"."""
    arguments = _argument_parts(request.src)
    parts = {("argument", name): text for name, text in arguments.items()}
    for name, text in request.fields.items():
        is_argument = name in _OF_ARGUMENTS or (name.startswith("constant ") and name[9:].split("[")[0] in arguments)
        if not is_argument:
            parts["field", name] = text
    return parts


def _value(parts, part):
    return parts.get(part, default_text(part[1]) if part[0] == "field" else None)


def _changes(before, now) -> list:
    """The parts in which two keys differ, arguments first."""
    return sorted(
        (part for part in {*before, *now} if _value(before, part) != _value(now, part)),
        key=lambda part: (part[0] != "argument", list(now).index(part) if part in now else len(now)),
    )


# ---------------------------------------------------------------------------
# Words
# ---------------------------------------------------------------------------


def _change_text(part, before, now) -> str:
    kind, name = part
    old, new = _value(before, part), _value(now, part)
    if kind == "argument":
        return f"{name}: {old} before, {new} now"
    if name.startswith("text of "):
        return f"the source of {name[8:]} has changed"
    if name == "option arguments_may_overlap":
        return (
            "arrays of the launch overlap, so loads may not move past stores" if new == "True" else "the arrays do not overlap"
        )
    if old is None or new is None:
        return f"{name}: {'new' if old is None else 'no more'}"
    if name.startswith("option "):  # with the type before the value, as keys have them
        old, new = old.partition(":")[2] or old, new.partition(":")[2] or new
    return f"{name}: {old} before, {new} now"


def _listed(values) -> str:
    """The last few different values, newest last."""
    different = list(dict.fromkeys(values))
    shown = ", ".join(different[-_MOST_VALUES:])
    return f"{len(different)} values ({'..., ' if len(different) > _MOST_VALUES else ''}{shown})"


def _argument_hint(param, before, now, history):
    """What would make one kernel of the two, or None."""
    name = param.name
    if param.is_constexpr:
        values = _listed(
            [parts["argument", name].removeprefix("constexpr ") for parts in history if ("argument", name) in parts]
        )
        return (
            f"{name} has had {values}, and each is a kernel; where none of its uses needs a constant, "
            f"drop tl.constexpr from {name}"
        )
    old_type, new_type = before.split(" ")[0], now.split(" ")[0]
    is_pointer = "*" in (old_type[:1], new_type[:1])
    if "None" in (before, now):
        return f"a kernel for {name}=None and one for an array is the usual way; an array of one element avoids the former"
    if is_pointer and old_type == new_type:
        return (
            f'arrays that begin at multiples of 16 bytes share a kernel; do_not_specialize_on_alignment=["{name}"] '
            "makes one for all, with narrower accesses"
        )
    if {old_type, new_type} <= {"i32", "i64", "u64"} and old_type != new_type:
        return f"annotate {name}: tl.int64 to have one kernel for numbers below and above 2**31"
    if not is_pointer and ("equal" in (old_type, new_type) or old_type == new_type):
        return f'do_not_specialize=["{name}"] makes one kernel for all values of {name}'
    return None


def _hints(request, changed, before, now, history) -> list:
    params = {param.name: param for param in request.src.fn.params}
    hints = []
    for kind, name in changed:
        if kind == "argument" and name in params:
            part = ("argument", name)
            hints.append(_argument_hint(params[name], before.get(part, ""), now.get(part, ""), history))
        elif name.startswith("option num_"):
            hints.append(f"{name[7:]} is part of the key: give one value, or let tilewright.autotune choose it")
    return [hint for hint in hints if hint]


def _ordinal(number) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _launch_place() -> str:
    """Where the user's program launches, or an empty text."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "tilewright":
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").split(".")[0] in ("threading", "concurrent"):
        return ""  # a thread of ours
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _write(title, lines, hints):
    body = "".join(f"\n    {line}" for line in [*lines, *(f"help: {hint}" for hint in dict.fromkeys(hints))])
    print(f"recompiles: {title}{body}", file=sys.stderr)


# ---------------------------------------------------------------------------
# What others call
# ---------------------------------------------------------------------------


def note_specialization(request, seconds, was_compiled):
    """Says what made a specialisation necessary that this process did not have."""
    fn, now = request.src.fn, _parts(request)
    with _lock:
        history = _earlier.setdefault(fn, [])
        others = list(history)
        history.append(now)
    if not others or observers.is_tuning():
        return
    changed, before = min(((_changes(other, now), other) for other in reversed(others)), key=lambda pair: len(pair[0]))
    if not changed:
        return  # made anew, as TILEWRIGHT_ALWAYS_COMPILE wants it
    how = f"{'made' if was_compiled else 'read from the cache'} in {seconds * 1e3:.0f} ms"
    place = _launch_place()
    _write(
        f"{fn.__qualname__} ({os.path.basename(fn.file)}:{fn.starting_line_number}) has a {_ordinal(len(others) + 1)} "
        f"specialisation, {how}{f' for the launch at {place}' if place else ''}",
        [_change_text(part, before, now) for part in changed],
        _hints(request, changed, before, now, [*others, now]),
    )


def _named_key(tuner, nargs, kwargs, key) -> dict:
    """The tuning key by what each part is: arguments that `key` names, then element types."""
    given = [name for name in tuner.keys if name in nargs or name in kwargs]
    parts = dict(zip(given, key))
    parts["element types"] = ", ".join(map(str, key[len(given) :]))
    return {name: str(value) for name, value in parts.items()}


def note_tuning(tuner, nargs, kwargs, key, config):
    """Says which argument asked for another choice of a tuned kernel."""
    if not is_on():
        return
    now = _named_key(tuner, nargs, kwargs, key)
    with _lock:
        history = _tuning_keys.setdefault(tuner, [])
        others = list(history)
        history.append(now)
    if not others:
        return

    def changes(other):
        return [name for name in {**other, **now} if other.get(name) != now.get(name)]

    before = min(reversed(others), key=lambda other: len(changes(other)))
    changed = changes(before)
    if not changed:
        return
    hints = []
    for name in changed:
        if name != "element types":
            values = _listed([other[name] for other in (*others, now) if name in other])
            hints.append(
                f"key names {name}, which has had {values}: leave it out of key, or round it in an argument of its "
                "own, where one configuration serves them all"
            )
    fn = tuner.base_fn
    how = (
        f"measured {len(tuner.tuner.candidates)} configurations in {tuner.bench_time:.2f} s"
        if tuner.tuner.candidates
        else "found its configuration on disk"
    )
    place = _launch_place()
    _write(
        f"{fn.__qualname__}, tuned, {how}{f' for the launch at {place}' if place else ''} and takes {config}",
        [f"{name}: {before.get(name)} before, {now.get(name)} now" for name in changed],
        hints,
    )


# A tuning compiles before it chooses, so this module is loaded by then.
observers.choices.append(note_tuning)
