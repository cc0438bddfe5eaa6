# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs written for Triton import and ask: names, modules, knobs."""

import importlib
import importlib.util
import os
import pathlib
import pkgutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs

NAMES = pathlib.Path(__file__).parent / "data" / "triton_names.txt"


def recorded():
    """{module: names} of the file."""
    rows, module = {}, None
    for line in NAMES.read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            module, _, line = line.partition(":")
            rows[module] = []
        rows[module] += line.split()
    return rows


@pytest.mark.parametrize("module", sorted(recorded()))
def test_names_are_there(module):
    if module in ("triton.tools.mxfp",):
        pytest.importorskip("torch")
    loaded = importlib.import_module("tilewright" + module.removeprefix("triton"))
    missing = [name for name in recorded()[module] if not hasattr(loaded, name)]
    assert not missing


def test_every_lazily_loaded_name_has_a_home():
    found = 0
    for place in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        if place.name.split(".")[-1] in ("__main__", "_core", "sitecustomize", "torch", "mxfp"):
            continue
        try:
            module = importlib.import_module(place.name)
        except ModuleNotFoundError as error:
            assert error.name in ("jax", "torch")  # of frameworks that need not be there
            continue
        for name in getattr(vars(module).get("__getattr__"), "homes", ()):
            getattr(module, name)
            found += 1
    for name in tilewright.__getattr__.homes:
        if name not in ("jax", "torch") or importlib.util.find_spec(name):
            getattr(tilewright, name)
            found += 1
    assert found > 50


def run_as_triton(text):
    """A script under `tilewright run`."""
    script = "from tilewright import triton_alias\ntriton_alias.install()\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_reported_release_has_these_names():
    assert run_as_triton("import triton; print(triton.__version__)").strip() == "3.9.0"


@pytest.mark.parametrize(
    "first",
    [
        "import triton.runtime.driver",
        "from triton.runtime.driver import driver",
        "import triton.runtime.driver as d; d.active",
        "from triton.runtime import driver",
        "import triton.runtime.autotuner",
        "import triton",
    ],
)
def test_the_driver_answers_however_it_was_imported(first):
    run_as_triton(f"""
        {first}
        import triton
        class Mine:
            pass
        mine = Mine()
        triton.runtime.driver.active.get_current_device
        triton.runtime.driver.set_active(mine)
        assert triton.runtime.driver.active is mine
        from triton.runtime.driver import driver
        assert driver.active is mine
        triton.runtime.driver.reset_active()
        assert driver.active is triton.runtime.driver.default
        """)


def test_libdevice_by_its_path_for_cuda():
    run_as_triton("""
        from triton.language.extra.cuda import libdevice
        from triton.language.extra.cuda.libdevice import tanh
        import triton.language.extra.libdevice as portable
        assert libdevice.tanh is tanh is portable.tanh
        """)


def test_names_of_older_releases():
    assert tl.math.tanh is tl.libdevice.tanh is tl.extra.libdevice.tanh and tl.math.pow is tl.extra.libdevice.pow
    assert not hasattr(tl.math, "nonsense") and not hasattr(tl.math, "_language_of_no_name")
    assert tl._experimental_make_tensor_descriptor is tl.make_tensor_descriptor
    assert tl.tensor.advance is tl.advance


def test_types_of_arguments():
    from tilewright.runtime.jit import mangle_type

    values = (1, 2**40, 2**63, True, 1.0, None, tl.float32, np.zeros(1, np.float16), (1, 2.0))
    assert [mangle_type(v) for v in values] == [
        "i32",
        "i64",
        "u64",
        "u1",
        "fp32",
        "constexpr",
        "constexpr",
        "*fp16",
        ("i32", "fp32"),
    ]


def test_types_from_their_texts():
    assert tl.str_to_ty("*kfp32", None) == tl.pointer_type(tl.float32, const=True)
    assert tl.str_to_ty("i64", None) == tl.int64 and tl.str_to_ty("u1", None) == tl.int1
    assert tl.str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    assert str(tl.str_to_ty("tensordesc<fp16[16, 32]>", None)) == f"tensor_descriptor<{tl.block_type(tl.float16, [16, 32])}>"
    assert tl.float32.is_dtype("fp32") and not tl.float32.is_dtype("float33")
    assert isinstance(tl.float32, tl.core.base_type) and isinstance(tl.constexpr(1), tl.core.base_value)


@tilewright.jit
def combined(x, out):
    i = tl.arange(0, 64)
    values = tl.load(x + i)
    tl.store(out, tl.reduce(values, 0, tl.standard._sum_combine))
    top, at = tl.reduce((values, i), 0, tl.standard._argmax_combine_tie_break_left)
    tl.store(out + 1, top)
    tl.store(out + 2, at.to(tl.float32))
    log: tl.constexpr = tl.standard._log2(64)
    tl.store(out + 3 + i, tl.standard._bitonic_merge(values, log, 1, log))


def test_combining_functions_and_steps_of_sorts():
    x = np.concatenate([np.arange(32), np.arange(32)[::-1]]).astype(np.float32)
    out = np.zeros(67, np.float32)
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(combined.fn)[(1,)](x, out)
    np.testing.assert_array_equal(out[:3], [x.sum(), 31, 31])
    np.testing.assert_array_equal(out[3:], np.sort(x)[::-1])


# -- knobs ----------------------------------------------------------------------------


def test_a_group_of_a_library(monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    monkeypatch.setenv("BAR", "off")

    class library_knobs(knobs.base_knobs):
        foo = knobs.env_str("FOO", "text")
        bar = knobs.env_bool("BAR", True)
        baz = knobs.env_opt_bool("BAZ")
        many = knobs.env_int("MANY", 3)

    group = library_knobs()
    assert group.knobs == {"foo": "text", "bar": False, "baz": None, "many": 3}
    group.bar, group.many = True, 4
    other = group.copy()
    other.foo = "else"
    assert (group.foo, other.foo, other.bar, other.many) == ("text", "else", True, 4)
    other.bar = knobs.env
    assert other.bar is False and group.bar is True
    assert other.reset().knobs == {"foo": "text", "bar": False, "baz": None, "many": 3} and group.many == 4
    assert "FOO" not in os.environ
    with pytest.raises(AttributeError, match="knobs.library has no 'fooo'"):
        group.fooo = 1


def test_scopes_put_everything_back(monkeypatch):
    monkeypatch.delenv("AMDGCN_USE_BUFFER_OPS", raising=False)
    with knobs.amd.scope():
        knobs.amd.use_buffer_ops = False
        assert os.environ["AMDGCN_USE_BUFFER_OPS"] == "0" and not knobs.amd.use_buffer_ops
    assert knobs.amd.use_buffer_ops and "AMDGCN_USE_BUFFER_OPS" not in os.environ
    hook = print
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(hook)
        assert knobs.runtime.launch_enter_hook.calls == [hook]
    assert not knobs.runtime.launch_enter_hook


def test_resetting_leaves_the_user_s_environment_alone(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE_ARCH", "sm_80")
    knobs.runtime.reset()
    assert knobs.runtime.override_arch == "sm_80"
    knobs.runtime.override_arch = "sm_90a"
    knobs.runtime.copy().reset()
    assert os.environ["TILEWRIGHT_OVERRIDE_ARCH"] == "sm_80" == knobs.runtime.override_arch
    with knobs.runtime.scope():
        knobs.runtime.override_arch = None
        assert knobs.runtime.override_arch is None
        knobs.runtime.override_arch = "sm_89"
    assert knobs.runtime.override_arch == "sm_80"
    del knobs.runtime.override_arch
    assert knobs.runtime.override_arch == "sm_80"


def test_directories_and_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    assert knobs.cache.dump_dir == str(tmp_path / ".triton" / "dump")
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "tilewright.runtime.cache:FileCacheManager")
    assert knobs.cache.manager_class is tilewright.runtime.cache.FileCacheManager
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.1'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tool))
    assert (knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version) == (str(tool), "12.4")
    from tilewright import _core, toolkit

    monkeypatch.delenv("TRITON_PTXAS_PATH")
    monkeypatch.setattr(toolkit, "find_tool", lambda name: None)
    monkeypatch.setattr(_core, "assembler_info", lambda: ("12.9.86", "/usr/lib/libnvJitLink.so.12"))
    assert knobs.nvidia.ptxas == ("/usr/lib/libnvJitLink.so.12", "12.9")
    monkeypatch.setattr(_core, "assembler_info", lambda: ("", ""))
    with pytest.raises(RuntimeError, match="ptxas was not found"):
        knobs.nvidia.ptxas  # noqa: B018
    assert isinstance(knobs.cache.dir, str) and knobs.language.fp_fusion_enabled(None) is True
    knobs.refresh_knobs()


@pytest.mark.parametrize("place", ["local", "remote"])
def test_files_that_are_kept_together(place, monkeypatch, tmp_path):
    from tilewright.runtime import cache

    class Store(cache.RemoteCacheBackend):
        kept: dict = {}

        def get(self, filenames):
            return {name: self.kept[name] for name in filenames if name in self.kept}

        def put(self, filename, data):
            self.kept[filename] = data

    monkeypatch.setattr(knobs.cache, "dir", str(tmp_path))
    monkeypatch.setattr(knobs.cache, "remote_manager_class", Store)
    manager = cache.FileCacheManager("key") if place == "local" else cache.RemoteCacheManager("key")
    assert manager.get_group("kernel.json") is None
    paths = {"kernel.json": manager.put("{}", "kernel.json"), "kernel.cubin": manager.put(b"code", "kernel.cubin")}
    manager.put_group("kernel.json", paths)
    assert manager.get_group("kernel.json") == paths
    Store.kept.pop("kernel.cubin", None)
    os.remove(paths["kernel.cubin"])
    assert manager.get_group("kernel.json") is None
    manager.put("no list", "__grp__kernel.json")
    assert manager.get_group("kernel.json") is None


def test_what_free_names_mean():
    inner = 7

    def function(x):
        return inner + NAMES

    scope = tilewright.jit(function).get_capture_scope()
    assert scope["inner"] == 7 and scope["NAMES"] is NAMES


# -- names of other GPUs, and of the inside of Triton's compiler ---------------------------


@tilewright.jit
def amd_s_function(x):
    tl.store(x, tl.extra.hip.libdevice.exp(tl.load(x)))


@tilewright.jit
def amd_s_clock(x):
    tl.store(x, tl.extra.hip.memrealtime())


@pytest.mark.parametrize("kernel", [amd_s_function, amd_s_clock])
def test_functions_of_amd_say_whose_they_are(kernel):
    with pytest.raises(errors.UnsupportedSyntax, match=r"\[E0125\] 'hip\..*' belongs to AMD GPUs"):
        tilewright.compile(tilewright.ASTSource(kernel, {"x": "*fp32"}), "sm_80")


def test_the_backend_of_amd_is_never_active():
    from tilewright.backends.amd.compiler import HIPBackend, HIPOptions
    from tilewright.backends.amd.driver import HIPDriver
    from tilewright.backends.compiler import GPUTarget

    assert not HIPDriver.is_active() and not HIPBackend.supports_target(GPUTarget("cuda", 90, 32))
    for make in (HIPDriver, HIPOptions, lambda: HIPBackend(GPUTarget("hip", "gfx942", 64))):
        with pytest.raises(errors.TilewrightError, match=r"\[E0125\] 'HIP\w+' belongs to AMD GPUs"):
            make()


@tilewright.jit
def with_scopes(x):
    from_profiler.enter_scope("load")
    value = tl.load(x)
    from_profiler.exit_scope("load")
    tl.store(x, value + 1)


def test_scopes_inside_a_kernel(device):
    from tilewright.profiler import language

    globals()["from_profiler"] = language
    language.enable_semantic("triton")
    language.disable_semantic("triton")
    x = device.array(np.ones(1, np.float32))
    device.run(with_scopes, (1,), x)
    assert device.numpy(x)[0] == 2


def test_a_scope_inside_a_kernel_warns_once():
    from tilewright.profiler import language

    with pytest.warns(UserWarning, match="scope 'host' inside a kernel: only whole launches are timed") as heard:
        with language.scope("host"):
            pass
    assert len(heard) == 1


def test_no_submodule_hides_a_name():
    """Loading a submodule binds its name in the package, over what the package would look up under that name."""
    import importlib
    import pkgutil

    from tilewright.lazy_names import at

    hidden = []
    for end in ("", ".runtime", ".tools", ".compiler"):
        package = importlib.import_module("tilewright" + end)
        homes = getattr(vars(package).get("__getattr__"), "homes", {})
        for module in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{module.name}"
            # The module of the driver answers for the driver.
            if module.name in homes and name not in ("tilewright.runtime.driver", "tilewright." + homes[module.name]):
                importlib.import_module(name)
                hidden += [name] if getattr(package, module.name) is not at(homes[module.name]) else []
    assert not hidden


def test_decorators_from_the_runtime():
    from tilewright.runtime import autotune, heuristics

    assert callable(autotune([], key=[])) and callable(heuristics({}))
