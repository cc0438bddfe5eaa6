# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of a launch on a GPU: bound, captured, cooperative, dependent, from threads, on several devices.

What reaches the driver is checked without one in cases_launch_forms.py and cases_bound_launch.py. The kernels
are compiled here wherever there is an assembler.
"""

import threading

import pytest

import tilewright
import tilewright.language as tl
from harness.devices import TARGETS
from tilewright import errors
from tilewright.compiler import ASTSource
from tilewright.language.extra.cuda import gdc_launch_dependents, gdc_wait

pytestmark = [pytest.mark.e2e]
SIZE, BLOCK = 4096, 256
GRID = (SIZE // BLOCK,)


@tilewright.jit
def add_one(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + 1)


@tilewright.jit
def add_one_dependent(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gdc_wait()
    x = tl.load(x_ptr + offsets)
    gdc_launch_dependents()
    tl.store(out_ptr + offsets, x + 1)


@tilewright.jit
def neighbours(x_ptr, out_ptr, arrived_ptr):
    # Every program waits for all others, so all must run at once.
    program, count = tl.program_id(0), tl.num_programs(0)
    tl.store(x_ptr + program, program)
    tl.debug_barrier()
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < count:
        pass
    tl.store(out_ptr + program, tl.load(x_ptr + (program + 1) % count, volatile=True))


def fresh(function):
    """The function as a kernel that knows no specialisation yet."""
    return tilewright.jit(function.fn)


def compiled_for(target, kernel, **options):
    source = ASTSource(kernel, {"x_ptr": "*fp32", "out_ptr": "*fp32"}, {"BLOCK": BLOCK})
    return tilewright.compile(source, target, options)


@pytest.fixture
def torch(gpu):
    return pytest.importorskip("torch")


@pytest.fixture
def arrays(torch):
    return torch.arange(SIZE, dtype=torch.float32, device="cuda"), torch.zeros(SIZE, device="cuda")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", [add_one, add_one_dependent])
def test_the_kernels_assemble(target, kernel):
    compiled = compiled_for(target, kernel)
    waits = kernel is add_one_dependent and target.startswith("sm_9")
    ptx = compiled.asm["ptx"]
    assert ("griddepcontrol" in ptx) == waits
    if waits:
        places = [
            ptx.index(text) for text in ("griddepcontrol.wait", "ld.global", "griddepcontrol.launch_dependents", "st.global")
        ]
        assert places == sorted(places)


def test_the_kernel_with_a_barrier_assembles():
    source = ASTSource(neighbours, {"x_ptr": "*i32", "out_ptr": "*i32", "arrived_ptr": "*i32"}, {})
    ptx = tilewright.compile(source, "sm_90a", {"num_warps": 1}).asm["ptx"]
    assert "atom" in ptx and "ld.volatile" in ptx


@pytest.mark.parametrize("target", TARGETS)
def test_launch_pdl_is_only_where_it_exists(target):
    compiled = compiled_for(target, add_one, launch_pdl=True)
    assert compiled.metadata.launch_pdl == target.startswith("sm_9")


@pytest.mark.parametrize(
    "options,message",
    [
        ({"cluster_dims": (2, 1, 1)}, "cluster_dims=(2, 1, 1); use num_ctas"),
        ({"index_bits": 16}, "index_bits=16; use 32, 64 or None"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(errors.TilewrightError) as info:
        compiled_for("sm_90a", add_one, **options)
    assert info.value.code == "E0209" and info.value.message == message


@pytest.mark.gpu
def test_bound_launch_follows_the_current_stream(torch, arrays):
    x, out = arrays
    bound = add_one[GRID].bind(x, out, BLOCK=BLOCK)
    bound()
    torch.testing.assert_close(out, x + 1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        x.fill_(5)
        bound()
        result = out.clone()
    torch.cuda.current_stream().wait_stream(side)
    assert (result == 6).all()


@pytest.mark.gpu
def test_graph_of_precompiled_launches(torch, arrays):
    x, out = arrays
    kernel = fresh(add_one)
    kernel.precompile(x, out, BLOCK=BLOCK)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel[GRID](x, out, BLOCK=BLOCK)
        kernel[GRID](out, x, BLOCK=BLOCK)
    for count in (1, 2, 3):
        graph.replay()
        assert x[7].item() == 7 + 2 * count


@pytest.mark.gpu
def test_compiling_while_the_stream_captures(torch, arrays):
    x, out = arrays
    kernel, graph = fresh(add_one), torch.cuda.CUDAGraph()
    with pytest.raises(errors.CaptureActive, match="E0214"):
        with torch.cuda.graph(graph):
            kernel[GRID](x, out, BLOCK=BLOCK)
    torch.cuda.synchronize()
    kernel[GRID](x, out, BLOCK=BLOCK)
    torch.testing.assert_close(out, x + 1)


@pytest.mark.gpu
def test_another_thread_compiles_while_this_one_captures(torch, arrays):
    x, out = arrays
    ready, other, graph, failures = fresh(add_one), fresh(add_one), torch.cuda.CUDAGraph(), []
    ready[GRID](x, out, BLOCK=BLOCK)
    torch.cuda.synchronize()

    def compile_other():
        try:
            other.precompile(x, out, BLOCK=BLOCK, num_warps=1)
        except Exception as error:  # noqa: BLE001 - reported below
            failures.append(error)

    with torch.cuda.graph(graph):  # in the global mode
        ready[GRID](x, out, BLOCK=BLOCK)
        thread = threading.Thread(target=compile_other)
        thread.start()
        thread.join()
        ready[GRID](out, x, BLOCK=BLOCK)
    graph.replay()
    torch.cuda.synchronize()
    assert not failures and x[3].item() == 5


@pytest.mark.gpu
def test_cooperative_launch(torch):
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    x, out = (torch.zeros(programs, dtype=torch.int32, device="cuda") for _ in range(2))
    arrived = torch.zeros(1, dtype=torch.int32, device="cuda")
    neighbours[(programs,)](x, out, arrived, num_warps=1, launch_cooperative_grid=True)
    assert out.tolist() == [(i + 1) % programs for i in range(programs)]
    with pytest.raises(errors.InvalidGrid, match="a cooperative launch runs all its programs at once"):
        neighbours[(10**6,)](x, out, arrived, num_warps=1, launch_cooperative_grid=True)
    arrived.zero_()
    neighbours[(programs,)](x, out, arrived, num_warps=1, launch_cooperative_grid=True)
    torch.cuda.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("pdl", [False, True])
def test_chain_of_dependent_launches(torch, arrays, pdl):
    x, out = arrays
    expected = x + 400
    for _ in range(200):
        add_one_dependent[GRID](x, out, BLOCK=BLOCK, launch_pdl=pdl)
        add_one_dependent[GRID](out, x, BLOCK=BLOCK, launch_pdl=pdl)
    torch.testing.assert_close(x, expected)


@pytest.mark.gpu
def test_dependent_launches_in_a_graph(torch, arrays):
    x, out = arrays
    add_one_dependent.precompile(x, out, BLOCK=BLOCK, launch_pdl=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            add_one_dependent[GRID](x, out, BLOCK=BLOCK, launch_pdl=True)
            add_one_dependent[GRID](out, x, BLOCK=BLOCK, launch_pdl=True)
    graph.replay()
    assert x[11].item() == 51


@pytest.mark.gpu
def test_launches_from_threads_on_their_streams(torch):
    failures = []

    def work(seed):
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                x = torch.full((SIZE,), float(seed), device="cuda")
                out = torch.empty_like(x)
                for _ in range(100):
                    add_one[GRID](x, out, BLOCK=BLOCK)
                    add_one[GRID](out, x, BLOCK=BLOCK)
            stream.synchronize()
            if not (x == seed + 200).all():
                failures.append(seed)
        except Exception as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.gpu
def test_the_tensors_device_decides(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda:1")
    out = torch.zeros_like(x)
    assert torch.cuda.current_device() == 0
    kernel = fresh(add_one)
    kernel[GRID](x, out, BLOCK=BLOCK)
    torch.testing.assert_close(out, x + 1)
    first = x.to("cuda:0")
    kernel[GRID](first, first, BLOCK=BLOCK)
    torch.testing.assert_close(first.to("cuda:1"), x + 1)
    with pytest.raises(errors.InvalidArgument, match="E0202.*'x_ptr' on cuda:0, 'out_ptr' on cuda:1"):
        kernel[GRID](first, out, BLOCK=BLOCK)
    bound = kernel[GRID].bind(x, out, BLOCK=BLOCK)
    bound()
    kernel.precompile(x, out, BLOCK=BLOCK, num_warps=1)
    assert torch.cuda.current_device() == 0
