# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that put a `run` of their own into a kernel, its class or a tuner: a launch goes through it, as in Triton."""

import abc
import types
import typing
from unittest import mock

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright.runtime.autotuner import Autotuner, Heuristics
from tilewright.runtime.jit import JITFunction

CONFIGS = [tilewright.Config({"BLOCK": 16}), tilewright.Config({"BLOCK": 32})]


def twice(source, target, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(target + index, 2 * tl.load(source + index))


@pytest.fixture
def kernel(monkeypatch):
    """A kernel that the interpreter runs."""
    monkeypatch.setenv("TILEWRIGHT_INTERPRET", "1")
    return tilewright.jit(twice)


@pytest.fixture
def calls():
    return []


def noting(calls, original):
    """A `run` that notes the call and goes on with the original one."""

    def run(self, *args, **kwargs):
        calls.append((self, kwargs["grid"], kwargs["warmup"]))
        return original(self, *args, **kwargs)

    return run


def check(launchable, *constants):
    source, target = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    launchable[(1,)](source, target, *constants)
    assert (target == 2 * source).all()


def test_run_of_one_kernel(kernel, calls):
    other = tilewright.jit(twice)
    kernel.run = types.MethodType(noting(calls, JITFunction.run), kernel)
    check(kernel, 16)
    check(other, 16)
    assert calls == [(kernel, (1,), False)] and isinstance(kernel, JITFunction)
    del kernel.run
    check(kernel, 16)
    assert len(calls) == 1 and type(kernel) is JITFunction
    with pytest.raises(AttributeError):
        del kernel.run


@pytest.mark.parametrize(
    "kind, wrap",
    [
        (JITFunction, lambda kernel: kernel),
        (Autotuner, tilewright.autotune(CONFIGS, key=[])),
        (Heuristics, tilewright.heuristics({"BLOCK": lambda arguments: 16})),
        (JITFunction, tilewright.autotune(CONFIGS[:1], key=[])),
        (JITFunction, tilewright.heuristics({"BLOCK": lambda arguments: 16})),
    ],
    ids=["kernel", "tuner", "heuristics", "kernel of a tuner", "kernel of heuristics"],
)
def test_run_of_a_class(kernel, calls, monkeypatch, kind, wrap):
    launchable = wrap(kernel)
    constants = (16,) if launchable is kernel else ()
    check(launchable, *constants)  # known to the native side
    original = kind.run
    with monkeypatch.context() as patch:
        patch.setattr(kind, "run", noting(calls, original))
        check(launchable, *constants)
        assert [type(owner) for owner, _, _ in calls] == [kind]
    assert kind.run is original
    check(launchable, *constants)
    assert len(calls) == 1


def test_run_of_a_subclass(kernel, calls):

    class Counted(JITFunction):
        run = noting(calls, JITFunction.run)

    class Subscripted(Counted):
        def __getitem__(self, grid):
            return super().__getitem__((grid,))

    check(Counted(twice), 16)
    assert len(calls) == 1
    source, target = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    Subscripted(twice)[1](source, target, 16)
    assert (target == 2 * source).all() and len(calls) == 2
    check(kernel, 16)
    assert len(calls) == 2


def test_run_of_a_class_that_is_none_of_ours():

    class Answering:
        def run(self, *args, grid, warmup):
            return args, grid

    class Tuner(Answering, Autotuner):
        pass

    kernel = tilewright.jit(twice)
    tuner = Tuner(kernel, kernel.arg_names, CONFIGS[:1], [])
    assert tuner[(1,)]("source", "target") == (("source", "target"), (1,))


@pytest.mark.parametrize("kind", [JITFunction, Autotuner, Heuristics])
def test_a_class_launches_natively_again_without_what_replaced_run(kind):
    """The patch restores what the dictionary of a class holds, and deletes what it did not hold."""
    derived = type("Derived", (kind,), {})
    native = kind.__getitem__
    for owner in (kind, derived):
        with mock.patch.object(owner, "run"):
            assert owner.__getitem__ is not native
        assert owner.__getitem__ is native


@pytest.mark.parametrize("kind", [JITFunction, Autotuner, Heuristics])
def test_abstract_classes_beside_ours(kind):

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def plan(self):
            pass

    class Planned(kind, Abstract):
        def plan(self):
            return 1

    assert issubclass(Planned, Abstract) and Planned.run is kind.run


@pytest.mark.parametrize("kind", [JITFunction, Autotuner, Heuristics])
def test_protocols_beside_ours(kind, kernel):

    @typing.runtime_checkable
    class Plans(typing.Protocol):
        def plan(self) -> int: ...

    class Planned(kind, Plans):
        def plan(self):
            return 1

    assert issubclass(Planned, kind) and Planned.run is kind.run
    assert isinstance(Planned.__new__(Planned), Plans) and not isinstance(kernel, Plans)


def test_a_tuner_whose_methods_a_library_replaces(kernel, calls, monkeypatch):
    """The whole way of choosing is another, and the choice is kept in an attribute of the library's."""
    made = Autotuner.__init__

    def __init__(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self.chosen = {}

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        config = self.chosen.setdefault(len(args), self.prune_configs(kwargs)[-1])
        calls.append(config)
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    monkeypatch.setattr(Autotuner, "__init__", __init__)
    monkeypatch.setattr(Autotuner, "run", run)
    tuner = tilewright.autotune(CONFIGS[::-1], key=[])(kernel)
    check(tuner)
    check(tuner)
    assert calls == [CONFIGS[0]] * 2 and tuner.chosen == {2: CONFIGS[0]}
