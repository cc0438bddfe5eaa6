# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plugin: torch's device "cuda" is the CPU, so that suites run on a machine without a GPU.

With TILEWRIGHT_INTERPRET=1 (or TRITON_INTERPRET=1 under Triton) kernels then run in the interpreter, on arrays that
lie in host memory, with the arguments that the suite gives them.

How: a mode that sees every call of torch puts the CPU in the place of a CUDA device among the arguments, and
tensors answer that they are on device "cuda:0". What belongs to torch.cuda (streams, events, properties) is
replaced by objects that do nothing. torch.compile returns its function.
"""

import contextlib
import functools
import time
import types

import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)
_real_device = torch.device
_real_generator = torch.Generator


def is_cuda(value):
    return (isinstance(value, _real_device) and value.type == "cuda") or (
        isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))
    )


def moved(value):
    return CPU if is_cuda(value) else value


def _device_of(tensor):
    device = torch.Tensor.device.__get__(tensor)
    return CUDA if device.type == "cpu" else device


# Getters are made anew at each look, but are equal, and so are their hashes.
ANSWERS = {
    torch.device: torch.device,  # a device may be named: only what is made there is elsewhere
    torch.Tensor.device.__get__: _device_of,
    torch.Tensor.is_cuda.__get__: lambda tensor: not torch.Tensor.is_meta.__get__(tensor),
    torch.Tensor.is_cpu.__get__: lambda tensor: False,
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.pin_memory: lambda tensor, *args: tensor,
    torch.Tensor.cuda: lambda tensor, *args, **kwargs: tensor,
    torch.Tensor.record_stream: lambda tensor, stream: None,
    torch.Tensor.is_pinned: lambda tensor, *args: True,
}


class CudaOnCpu(TorchFunctionMode):
    """Calls of torch with the CPU where their arguments say CUDA."""

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = kwargs or {}
        answer = ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **kwargs)
        if type(kwargs.get("device")) is int:
            kwargs = {**kwargs, "device": CPU}
        args = tuple(map(moved, args))
        if func is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], CPU, *args[2:])
        return func(*args, **{name: moved(value) for name, value in kwargs.items()})


class _GeneratorType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _real_generator)


class Generator(metaclass=_GeneratorType):
    def __new__(cls, device=None):
        return _real_generator("cpu")


class Stream:
    """A stream, or a stand-in for whatever is asked of one: everything is done when it is called."""

    cuda_stream = stream_id = 0
    device = CUDA

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return None

    def synchronize(self):
        pass

    wait_stream = wait_event = record_event = lambda self, other=None: None
    query = lambda self: True  # noqa: E731
    is_capturing = lambda self: False  # noqa: E731


class Event:
    """A point in time, by the host's clock."""

    def __init__(self, *args, **kwargs):
        self.time = time.perf_counter()

    def record(self, stream=None):
        self.time = time.perf_counter()

    def elapsed_time(self, other):
        return max((other.time - self.time) * 1e3, 1e-3)

    wait = synchronize = lambda self, *args: None
    query = lambda self: True  # noqa: E731


class Philox:
    """The state of a CUDA device's default generator: a seed and an offset, eight bytes each."""

    def __init__(self):
        self.state = torch.zeros(2, dtype=torch.int64)

    def get_state(self):
        return self.state.clone().view(torch.uint8)

    def set_state(self, state):
        self.state = state.clone().view(torch.int64)

    def manual_seed(self, seed):
        self.state = torch.tensor([seed, 0])
        return self

    def initial_seed(self):
        return int(self.state[0])


PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100 80GB HBM3",
    major=9,
    minor=0,
    total_memory=80 << 30,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    gcnArchName="",
    L2_cache_size=50 << 20,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    is_integrated=False,
)


@contextlib.contextmanager
def nothing_around(*args, **kwargs):
    yield


class DeviceContext:
    def __init__(self, *args, **kwargs):
        self.idx = 0

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return None


def pretend_torch():
    cuda = torch.cuda
    for name, value in {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_name": lambda device=None: PROPERTIES.name,
        "get_device_properties": lambda device=None: PROPERTIES,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "mem_get_info": lambda device=None: (79 << 30, 80 << 30),
        "is_initialized": lambda: False,
        "is_current_stream_capturing": lambda: False,
        "current_stream": lambda device=None: Stream(),
        "default_stream": lambda device=None: Stream(),
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        "max_memory_allocated": lambda device=None: 1 << 20,
        "memory_allocated": lambda device=None: 1 << 20,
        "memory_reserved": lambda device=None: 0,
        "max_memory_reserved": lambda device=None: 1 << 20,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "device": DeviceContext,
        "device_of": DeviceContext,
        "stream": nothing_around,
        "Stream": Stream,
        "Event": Event,
        "default_generators": (Philox(),),
    }.items():
        setattr(cuda, name, value)
    for name in (
        "synchronize set_device set_stream manual_seed manual_seed_all seed init _lazy_init empty_cache "
        "reset_peak_memory_stats reset_max_memory_allocated ipc_collect"
    ).split():
        # A function for each: torch keeps tables by function.
        setattr(cuda, name, lambda *args, **kwargs: None)
    pretend_accelerator()
    torch.version.cuda = "12.8"
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    torch._C._cuda_getDevice = lambda: 0
    torch.Generator = Generator
    torch.set_default_device = lambda device: None
    torch.compile = lambda model=None, **options: model if model is not None else (lambda function: function)
    # Gradients are computed inside of one call of torch, so out of the mode.
    torch.autograd.function.BackwardCFunction.apply = inside_mode(torch.autograd.function.BackwardCFunction.apply)
    pretend_autocast()
    pretend_registration()


def pretend_accelerator():
    """The names that stand for whichever accelerator there is: they ask torch's library, which sees none."""
    for name, value in {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_accelerator": lambda check_available=False: _real_device("cuda"),
        "current_device_index": lambda: 0,
        "current_stream": lambda device=None: Stream(),
        "synchronize": lambda device=None: None,
    }.items():
        setattr(torch.accelerator, name, value)


def pretend_autocast():
    begin = torch.autocast.__init__

    def init(self, device_type, *args, **kwargs):
        begin(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    torch.autocast.__init__ = init
    for name in ("is_autocast_enabled", "get_autocast_dtype"):
        ask = getattr(torch, name)
        setattr(torch, name, lambda *args, ask=ask: ask(*("cpu" if arg == "cuda" else arg for arg in args)))
    torch.cuda.amp.autocast = functools.partial(torch.autocast, "cpu")


def inside_mode(function):
    """The function where tensors are on device "cuda" again: torch leaves a mode while it runs the call that it saw."""
    if not isinstance(function, types.FunctionType):
        return function

    @functools.wraps(function)
    def inside(*args, **kwargs):
        with CudaOnCpu():
            return function(*args, **kwargs)

    return inside


def pretend_registration():
    """Operations that a library registers for CUDA are called for the CPU's tensors."""
    custom_op, register_kernel, impl = torch.library.custom_op, torch.library.register_kernel, torch.library.Library.impl

    def for_cpu(devices):
        if isinstance(devices, str):
            return "cpu" if devices == "cuda" else devices
        return devices if devices is None else [for_cpu(device) for device in devices]

    def custom(name, fn=None, /, *, device_types=None, **rest):
        return custom_op(name, fn, device_types=for_cpu(device_types), **rest)

    def register(op, device_types, *args, **rest):
        return register_kernel(op, for_cpu(device_types), *args, **rest)

    def implement(self, name, fn, dispatch_key="", *args, **rest):
        return impl(self, name, inside_mode(fn), "CPU" if dispatch_key == "CUDA" else dispatch_key, *args, **rest)

    torch.library.custom_op, torch.library.register_kernel, torch.library.Library.impl = custom, register, implement


def pretend_triton():
    import triton
    from pretend_driver import PretendedDriver

    class Driver(PretendedDriver):
        def get_current_stream(self, device=None):
            return 0

        def get_active_torch_device(self):
            return CUDA

        def get_empty_cache_for_benchmark(self):
            return torch.empty(16, dtype=torch.int32)

        def clear_cache(self, cache):
            pass

        def get_benchmarker(self):
            return lambda call, quantiles=None, **options: (call(), [1.0] * len(quantiles or (1,)))[1]

    triton.runtime.driver.set_active(Driver())


def pretend_arrays():
    """Tilewright is told where the arrays are."""
    try:
        from tilewright.runtime import host_arrays
    except ImportError:
        return
    read = host_arrays._from_tensor

    def on_host(name, tensor):
        return read(name, tensor)._replace(device=False)

    host_arrays._from_tensor = on_host


def install():
    pretend_torch()
    pretend_triton()
    pretend_arrays()
    # Never left: the suites of this process see no other device.
    CudaOnCpu().__enter__()


install()
