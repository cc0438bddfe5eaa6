# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The profiler on the recording driver; run by test_launch_mock.py."""

import json
import os

import pytest

import tilewright
import tilewright.profiler as proton
from harness.mock_driver import FakeCompiler, FakeTensor, Mock
from tilewright import _core, knobs
from tilewright.profiler import viewer
from tilewright.profiler.hooks import Hook, HookManager
from tilewright.profiler.session import Timer, sessions

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)


class constexpr:
    """The annotation alone."""


@pytest.fixture(autouse=True)
def recording(monkeypatch, tmp_path):
    Mock().reset()
    monkeypatch.setattr(_core, "compile_kernel", FakeCompiler(), raising=False)
    monkeypatch.setattr(Timer, "milliseconds", lambda self: 2.0 if self.end is not None else None)
    monkeypatch.chdir(tmp_path)
    yield
    for number in list(sessions):
        proton.finalize(number)
    assert not HookManager.active_hooks and not knobs.runtime.launch_enter_hook


def metadata(grid, kernel, arguments):
    return {"name": f"add_{arguments['n']}", "flops32": 1000.0 * arguments["n"], "note": "no number"}


@tilewright.jit(launch_metadata=metadata)
def add(x, y, n, BLOCK: constexpr):
    pass


def launch(n=8):
    add[(1,)](FakeTensor(0x10000000000), FakeTensor(0x10000001000), n, BLOCK=64)


def tree_of(name):
    tree, devices = json.loads(open(f"{name}.hatchet").read())
    return tree, devices


def child(node, *names):
    for name in names:
        node = next(c for c in node["children"] if c["frame"]["name"] == name)
    return node


def test_kernels_by_scope_with_what_they_say():
    proton.start("profile", hook="triton")
    with proton.scope("layer", {"bytes": 64}):
        launch(8)
        launch(8)
        with proton.scope("inner"):
            launch(9)
    launch(8)
    proton.finalize()
    tree, devices = tree_of("profile")
    kernel = child(tree, "layer", "add_8")["metrics"]
    assert (kernel["count"], kernel["time (ns)"], kernel["flops32"]) == (2, 4_000_000, 16000.0)
    assert kernel["device_type"] == "CUDA" and kernel["device_id"] in devices["CUDA"] and "note" not in kernel
    assert child(tree, "layer")["metrics"] == {"bytes": 64, "count": 1}
    assert child(tree, "layer", "inner", "add_9")["metrics"]["count"] == 1
    assert child(tree, "add_8")["metrics"]["count"] == 1


def test_without_a_hook_kernels_have_their_own_name():
    session = proton.start("profile")
    launch()
    tree, _ = proton.data.get(session)
    assert child(tree, "add")["metrics"]["count"] == 1 and "flops32" not in child(tree, "add")["metrics"]


def test_only_active_sessions_record():
    first = proton.start("first")
    second = proton.start("second")
    proton.deactivate(first)
    launch()
    proton.activate(first)
    proton.deactivate(second)
    launch()
    launch()
    proton.deactivate()
    launch()
    counts = [child(proton.data.get(s)[0], "add")["metrics"]["count"] for s in (first, second)]
    assert counts == [2, 1]
    with pytest.raises(ValueError, match="no profiling session"):
        proton.activate(99)


def test_work_of_others_is_the_scope_s():
    session = proton.start("profile")
    with proton.scope("cublas", {"flops16": 4e9}):
        pass
    with proton.scope("outer"):
        with proton.scope("other"):
            pass
    tree, _ = proton.data.get(session)
    assert child(tree, "cublas")["metrics"]["time (ns)"] == 2_000_000
    assert "time (ns)" in child(tree, "outer", "other")["metrics"] and "time (ns)" not in child(tree, "outer")["metrics"]


def test_scopes_as_decorators_states_and_pairs():
    session = proton.start("profile")

    @proton.scope("decorated")
    def twice():
        launch()
        launch()

    twice()
    proton.enter_scope("pair")
    with proton.state("warm"):
        launch()
    with pytest.raises(ValueError, match="is not the one that was entered last"):
        proton.exit_scope("another")
    proton.exit_scope("pair", metrics={"rows": 3})
    with proton.cpu_timed_scope("timed"):
        launch()
    tree, _ = proton.data.get(session)
    assert child(tree, "decorated", "add")["metrics"]["count"] == 2
    assert child(tree, "pair", "warm")["metrics"]["count"] == 1 and child(tree, "pair")["metrics"]["rows"] == 3
    assert child(tree, "timed")["metrics"]["cpu_time (ns)"] > 0


class Counting(Hook):
    def __init__(self):
        self.calls = []

    def enter(self, metadata):
        self.calls.append("enter")

    def exit(self, metadata):
        self.calls.append("exit")

    def activate(self):
        self.calls.append("activate")

    def deactivate(self):
        self.calls.append("deactivate")


def test_hooks_of_the_caller():
    hook = Counting()
    session = proton.start("profile", hook=hook)
    launch()
    proton.deactivate(session)
    launch()
    proton.finalize(session)
    assert hook.calls == ["activate", "enter", "exit", "deactivate"]


def test_python_contexts_and_traces():
    session = proton.start("profile", context="python", data="trace")
    launch()
    tree, _ = proton.data.get(session)
    names = []
    while tree["children"]:
        tree = tree["children"][0]
        names.append(tree["frame"]["name"])
    assert names[-1] == "add" and names[-2].endswith("@launch")
    proton.finalize(session)
    assert os.path.exists("profile.chrome_trace")


def test_a_decorated_function_is_a_session():
    @proton.profile(name="whole")
    def work():
        launch()

    work()
    proton.finalize()
    assert child(tree_of("whole")[0], "add")["metrics"]["count"] == 1


def test_it_can_be_off(monkeypatch):
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    assert proton.start("profile") is None
    launch()
    assert not sessions
    with pytest.raises(ValueError, match="context='shadows'"):
        proton.start(context="shadows")
    with pytest.raises(ValueError, match="hook='tritons'"):
        proton.start(hook="tritons")


def test_the_viewer_derives(capsys):
    proton.start("profile", hook="triton")
    with proton.scope("layer"):
        launch(8)
        launch(9)
    proton.finalize()
    tree, metrics = viewer.parse(["time/ms", "avg_time/ms", "gflop32/s", "count"], "profile.hatchet")
    viewer.print_tree(tree, metrics)
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["4.000", "2.000", "0.004", "2.000", "ROOT"]
    assert [line.split()[-1] for line in shown[2:]] == ["layer", "add_8", "add_9"]
    tree, metrics = viewer.parse(["time/ms"], "profile.hatchet", include="add_9")
    viewer.print_tree(tree, metrics)
    assert "add_8" not in capsys.readouterr().out
    viewer.main(["-m", "util,time/us", "-e", "add_9", "--print-sorted", "profile.hatchet"])
    assert "add_9" not in capsys.readouterr().out
