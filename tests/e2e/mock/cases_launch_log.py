# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of launches on the recording driver, timed by events or by a mock of CUPTI; run by test_profiling.py."""

import ctypes
import json
import os
import time
import warnings

import pytest

import tilewright
from harness.launch_cases import constexpr
from harness.mock_driver import FakeTensor, Mock
from tilewright import errors, knobs, observers
from tilewright.profiler import launches
from tilewright.profiler.launch_report import Report
from tilewright.profiler.launch_trace import events_of

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_profiling.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

HAS_CUPTI = knobs.nvidia.cupti not in ("", "off") and os.environ.get("MOCK_CUPTI") != "fails"
WORK = json.dumps(
    [
        {"what": "read", "parameter": "x", "amount": 4096, "times": [["trips", 0, ["parameter", "n"], 2]]},
        {"what": "write", "parameter": "y", "amount": 1024, "times": []},
        {"what": "products", "type": "f16", "amount": 1000, "times": []},
    ]
)


class Sized(FakeTensor):
    """An array that tells its size."""

    nbytes = 100_000


@pytest.fixture(autouse=True)
def compiler(compiler):
    compiler.metadata["work"] = WORK
    errors._warned.clear()
    return compiler


@pytest.fixture
def add():

    def add(x, y, n, BLOCK: constexpr):
        pass

    return tilewright.jit(add)


def launch(kernel, n=10, grid=(8, 1, 1), block=64, **options):
    return kernel[grid](Sized(0x10000000000), Sized(0x10000100000), n, BLOCK=block, **options)


class Asked(FakeTensor):
    """An array whose size raises something."""

    def __init__(self, raises, *arguments):
        super().__init__(*arguments)
        self.raises = raises

    @property
    def nbytes(self):
        raise self.raises


def test_arrays_that_raise_when_they_are_asked(add):
    with launches.record() as profile:
        add[(8,)](Asked(ValueError("lazy")), Sized(), 10, BLOCK=64)
        with pytest.raises(KeyboardInterrupt):  # that is the program's, not the array's
            add[(8,)](Asked(KeyboardInterrupt()), Sized(), 10, BLOCK=64)
    assert [each.words for each in profile.launches] == [(None, 100_000, 10)]


def test_each_launch_has_its_times(add):
    with launches.record() as profile:
        for n in (10, 20, 30):
            launch(add, n)
    assert [each.grid for each in profile.launches] == [(8, 1, 1)] * 3
    for each in profile.launches:
        assert profile.begin <= each.called <= each.submitted <= each.returned <= profile.end
        assert profile.values_of(each) == {"x": 100_000, "y": 100_000, "n": each.words[2]}
    assert [each.words[2] for each in profile.launches] == [10, 20, 30]
    assert profile.launches[0].missed > 0 and profile.launches[1].missed == profile.launches[2].missed == 0
    assert profile.launches[0].missed < profile.launches[0].overhead
    if HAS_CUPTI:
        assert [each.end - each.start for each in profile.launches] == [1000, 2000, 3000]
        for each in profile.launches:
            assert 0 <= each.start - each.submitted - 1000 < 50_000_000, "the clocks are one"
    else:
        assert [each.seconds for each in profile.launches] == [1e-3] * 3


def test_nothing_is_recorded_before_and_after(add):
    launch(add)
    with launches.record() as profile:
        pass
    launch(add)
    assert profile.launches == []
    assert not observers.interpreted_launches and len(observers.choices) == 1, "the log of recompilations alone"


def test_recordings_follow_each_other(add):
    launch(add)
    for count in (1, 2):
        with launches.record() as profile:
            for _ in range(count):
                launch(add)
        assert len(profile.launches) == count and profile.kernels[0].name == "add"


def test_only_one_at_a_time():
    with launches.record():
        with pytest.raises(errors.TilewrightError, match="E0714.*launches are being recorded already"):
            with launches.record():
                pass


def test_launches_that_fail_are_left_out(add):
    launch(add)
    with launches.record() as profile:
        Mock().library.mockFailNextLaunch(1)
        with pytest.raises(errors.TilewrightError):
            launch(add)
        launch(add)
    assert len(profile.launches) == 1


def test_captured_launches_have_no_time(add):
    launch(add)
    Mock().library.mockSetCapturing(1)
    try:
        with launches.record() as profile:
            launch(add)
    finally:
        Mock().library.mockSetCapturing(0)
    assert profile.launches[0].is_captured and profile.launches[0].start is None


def test_bound_and_direct_launches_and_kernels_that_go(add):
    compiled = launch(add)
    bound = add[(4,)].bind(Sized(0x10000000000), Sized(0x10000100000), 7, BLOCK=64)
    with launches.record() as profile:
        bound()
        compiled[(2,)](Sized(0x10000000000), Sized(0x10000100000), 9)
        other = tilewright.jit(add.fn)
        launch(other, n=11)
        del other
    assert [each.grid[0] for each in profile.launches] == [4, 2, 8]
    assert [profile.values_of(each)["n"] for each in profile.launches] == [7, 9, 11]
    assert all(each.overhead < 10**9 for each in profile.launches), "bind() is no part of the launch"


def test_arguments_without_numbers(add):

    class Odd(FakeTensor):
        @property
        def nbytes(self):
            raise RuntimeError("ask me not")

    with launches.record() as profile:
        add[(1,)](Odd(0x10000000000), FakeTensor(0x10000100000), 2**40, BLOCK=64)
    assert profile.launches[0].words == (None, None, 2**40)


def test_rows_are_kernels_and_configurations(add):
    with launches.record() as profile:
        for _ in range(3):
            launch(add, 10, block=64)
        launch(add, 10, block=128, num_warps=8)
    rows = Report(profile).sorted_rows("calls")
    assert [(row.name, row.configuration, row.calls) for row in rows] == [
        ("add", "BLOCK=64 num_warps=4 num_stages=3", 3),
        ("add", "BLOCK=128 num_warps=8 num_stages=3", 1),
    ]
    # Eight programs read 5 x 4096 bytes each, of an array of 100000, and write 1024 each.
    assert rows[0].requested_bytes == 3 * (8 * 5 * 4096 + 8 * 1024) and rows[0].bytes == 3 * (100_000 + 8 * 1024)
    assert rows[0].operations == 3 * 8 * 1000
    text = profile.table()
    assert "BLOCK=128 num_warps=8" in text and "4 launches" in text
    as_json = json.loads(json.dumps(profile.as_json()))
    assert as_json["launches"] == 4 and as_json["kernels"][0]["unknown"] == []
    assert as_json["source"] == ("cupti" if HAS_CUPTI else "events")


def test_unknown_counts_are_said_to_be(add, compiler):
    compiler.metadata["work"] = json.dumps([{"what": "read", "parameter": "x", "amount": 4, "times": [None]}])
    with launches.record() as profile:
        launch(add)
    (row,) = Report(profile).sorted_rows()
    assert row.unknown == {"bytes"} and row.bytes_per_second is None and row.share is None
    assert "unknown" in profile.table()


def test_tunings_are_told_apart(add, monkeypatch):
    configs = [tilewright.Config({"BLOCK": block}) for block in (64, 128)]
    tuner = tilewright.autotune(configs, key=["n"], do_bench=lambda call, quantiles: (call(), [1.0] * 3)[1])(add)
    with launches.record() as profile:
        for _ in range(2):
            tuner[(8,)](Sized(0x10000000000), Sized(0x10000100000), 10)
    report = Report(profile)
    assert len(profile.launches) == 4 and report.tuning_launches == 2
    assert [row.calls for row in report.sorted_rows()] == [2]
    (tuning,) = profile.tunings
    assert tuning.kernel.endswith("add") and tuning.configurations == 2 and "was tuned 1 times" in profile.table()


def test_the_trace_has_hosts_streams_and_arrows(add, tmp_path):
    with launches.record() as profile:
        launch(add)
        launch(add)
    profile.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert events == json.loads(json.dumps(events_of(profile), default=str))
    slices = [(e["cat"], e["name"]) for e in events if e["ph"] == "X"]
    assert slices == [("launch", "launch add"), ("kernel", "add")] * 2
    assert [e["id"] for e in events if e["ph"] in "sf"] == [0, 0, 1, 1]
    assert all(e["ts"] >= 0 for e in events if "ts" in e)
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"host", "GPU 0"}


@pytest.mark.skipif("NVTX_INJECTION64_PATH" not in os.environ, reason="without a tool for ranges")
def test_ranges_stand_around_launches(add):
    tool = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
    tool.mockRanges.restype = ctypes.c_char_p
    before = tool.mockRanges()
    with launches.record():
        launch(add)
    with launches.record(ranges=False):
        launch(add)
    launch(add)
    assert tool.mockRanges()[len(before) :] == b"push add BLOCK=64 num_warps=4 num_stages=3\npop\n"


@pytest.mark.skipif(os.environ.get("MOCK_CUPTI") != "fails", reason="only where CUPTI fails")
def test_events_step_in_and_say_why(add):
    with pytest.warns(
        errors.ConfigWarning,
        match=r"W0711.*events time the kernels, as CUPTI does not work here: .*"
        "CUPTI_ERROR_NOT_INITIALIZED",
    ):
        with launches.record() as profile:
            launch(add)
    assert profile.cupti == "" and profile.launches[0].seconds == 1e-3


@pytest.mark.skipif(os.environ.get("MOCK_CUPTI") != "fails", reason="only where CUPTI fails")
def test_a_warning_that_is_an_error_leaves_no_recording_and_say_why(add):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.ConfigWarning, match="W0711"):
            launches.Recording().start(ranges=False)
    assert not observers.choices[1:] and not observers.interpreted_launches
    with launches.record() as profile:
        launch(add)
    assert len(profile.launches) == 1


@pytest.mark.skipif(os.environ.get("MOCK_CUPTI") != "loses", reason="only where CUPTI loses records")
def test_lost_records_leave_no_wrong_times(add):
    with pytest.warns(errors.ConfigWarning, match="W0712.*2 of 3 launches have no time in the profile: "):
        with launches.record() as profile:
            launch(add, grid=(4, 1, 1))
            launch(add, grid=(4, 1, 1))
            launch(add, grid=(5, 1, 1))
    assert [each.start is None for each in profile.launches] == [True, True, False]


@pytest.mark.skipif(os.environ.get("MOCK_CUPTI") != "more", reason="only where CUPTI sees other kernels")
def test_kernels_of_others(add):
    with launches.record() as profile:
        launch(add)
        launch(add)
    assert [each.end - each.start for each in profile.launches] == [1000, 2000]
    others = {(name, in_graph): (count, nanoseconds) for name, in_graph, count, nanoseconds in profile.others}
    assert others == {("cutlass_gemm", False): (1, 50000), ("add", False): (1, 10000), ("add", True): (1, 7000)}
    assert "cutlass_gemm" in profile.table() and "in graphs" in profile.table()


def test_a_recorded_launch_costs_little_more(add):
    """At most 2 us: here without the driver's part, so the least of several rounds is well below."""
    x, y = Sized(0x10000000000), Sized(0x10000100000)
    launcher = add[(8, 1, 1)]
    launcher(x, y, 10, BLOCK=64)

    def least(rounds=20, count=500):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(count):
                launcher(x, y, 10, BLOCK=64)
            times.append((time.perf_counter() - start) / count)
        return min(times)

    Mock().library.mockRecord(0)
    try:
        plain = least()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mock has no record of these launches
            with launches.record():
                recorded = least()
    finally:
        Mock().library.mockRecord(1)
    print(f"{plain * 1e9:.0f} ns, recorded {recorded * 1e9:.0f} ns")
    assert recorded - plain < 2e-6
