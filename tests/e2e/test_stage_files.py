# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options and variables that reach the assembler, stages written as files, and kernels taken from files."""

import pathlib
import warnings

import pytest

import tilewright
import tilewright.language as tl
from tilewright import _core, errors, knobs
from tilewright.runtime.cache import get_override_manager


@tilewright.jit
def exponential(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.exp2(tl.load(x_ptr + offsets, mask=mask)), mask=mask)


STAGES = ("source", "ttir", "ttgir", "llir", "ptx", "cubin", "json")


def compile_it(options=None):
    source = tilewright.ASTSource(exponential, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, {"BLOCK": 1024})
    return tilewright.compile(source, "sm_90a", {"num_warps": 4, **(options or {})})


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(tmp_path / "override"))
    monkeypatch.setattr(errors, "_warned", set())


@pytest.fixture
def dumped(tmp_path, monkeypatch):
    """The files of the kernel by stage."""
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    compile_it()
    monkeypatch.delenv("TRITON_KERNEL_DUMP")
    return {path.suffix[1:]: path for path in (tmp_path / "dump").glob("*/exponential.*")}


# -- the assembler ------------------------------------------------------------


def test_options_of_the_assembler_reach_it(monkeypatch):
    usual = compile_it()
    assert compile_it({"ptx_options": "--opt-level=0"}).asm["cubin"] != usual.asm["cubin"]
    assert compile_it({"ptx_options": "  -O0   -dlcm=ca "}).asm["cubin"] != usual.asm["cubin"]
    monkeypatch.setenv("PTXAS_OPTIONS", "--opt-level=0")
    by_variable = compile_it()
    assert by_variable.asm["cubin"] == compile_it({"ptx_options": "--opt-level=0"}).asm["cubin"]
    assert compile_it({"ptx_options": "--opt-level=3"}).asm["cubin"] == usual.asm["cubin"]
    monkeypatch.delenv("PTXAS_OPTIONS")
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    assert compile_it().asm["cubin"] == by_variable.asm["cubin"]


def test_the_worker_process_passes_them_on():
    usual = compile_it({"ptx_options": "-O0", "ptx_version": 83})
    with knobs.compilation.scope():
        knobs.compilation.mode = "isolated"
        knobs.compilation.always_compile = True
        isolated = compile_it({"ptx_options": "-O0", "ptx_version": 83})
    assert (isolated.asm["ptx"], isolated.asm["cubin"]) == (usual.asm["ptx"], usual.asm["cubin"])


def test_an_option_that_the_assembler_refuses():
    with pytest.raises(errors.InvalidOption, match=r"\[E0209\] ptx_options='--no-such-thing': ptxas fatal.*no-such-thing"):
        compile_it({"ptx_options": "--no-such-thing"})
    with pytest.raises(errors.InvalidOption, match=r"ptx_options=3; use a str"):
        compile_it({"ptx_options": 3})


@pytest.mark.parametrize("version", [80, 83, 85, 87])
def test_the_version_of_ptx(version):
    assembler = _core.assembler_info()[0]
    if version > 85 and assembler.split()[-1] in ("12.5", "12.6"):
        pytest.skip(f"{assembler} reads PTX up to 8.5")
    head = compile_it({"ptx_version": version, "ptx_options": None}).asm["ptx"].split(".target")[0]
    assert f".version {version // 10}.{version % 10}\n" in head


@pytest.mark.parametrize("version", [79, "85", True, 8.5])
def test_versions_of_ptx_that_are_none(version):
    with pytest.raises(errors.InvalidOption, match=r"\[E0209\] ptx_version=.*at least 80"):
        compile_it({"ptx_version": version})


def test_an_instruction_says_which_version_it_needs():
    with pytest.raises(errors.TilewrightError, match=r"\[E0304\].*Unsupported .version 19\.9"):
        compile_it({"ptx_version": 199})


@pytest.mark.parametrize(
    "variable, shown", [("NVPTX_ENABLE_DUMP", ".visible .entry exponential"), ("TRITON_DUMP_PTXAS_LOG", "ptxas info")]
)
def test_what_is_printed_while_it_compiles(monkeypatch, capfd, variable, shown):
    compile_it()
    assert shown not in capfd.readouterr().err
    monkeypatch.setenv(variable, "1")
    compile_it()  # though the cache has it
    assert shown in capfd.readouterr().err


# -- files --------------------------------------------------------------------


def test_all_stages_are_written(dumped):
    assert sorted(dumped) == sorted(STAGES)
    kernel = compile_it()
    for stage in STAGES:
        content = kernel.asm[stage]
        assert dumped[stage].read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert dumped["ptx"].parent == next(iter(dumped.values())).parent


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, capfd):
    (tmp_path / "dump").write_text("a file")
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    assert compile_it().asm["ptx"]
    assert "the stages of exponential cannot be written" in capfd.readouterr().err


def test_texts_may_stay_out_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
    first, second = compile_it(), compile_it()
    assert first.asm["cubin"] == second.asm["cubin"]
    assert "ptx" in first.asm and "ptx" not in second.asm


def changed(dumped, stage, old, new):
    path = dumped[stage]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return str(path)


def test_ptx_of_a_file_is_assembled(dumped):
    usual = compile_it()
    kernel = compile_it({"ir_override": changed(dumped, "ptx", "ex2.approx", "lg2.approx")})
    assert "lg2.approx" in kernel.asm["ptx"] and kernel.asm["cubin"] != usual.asm["cubin"]
    assert kernel.name == "exponential" and kernel.metadata.n_regs > 0


def test_tile_ir_of_a_file_is_compiled(dumped):
    kernel = compile_it({"ir_override": changed(dumped, "ttir", "math.exp2", "math.absf")})
    assert "math.absf" in kernel.asm["ttir"] and "ex2.approx" not in kernel.asm["ptx"]


def test_machine_code_of_a_file_is_taken(dumped):
    other = compile_it({"ptx_options": "-O0"})
    dumped["cubin"].write_bytes(other.asm["cubin"])
    kernel = compile_it({"ir_override": str(dumped["cubin"])})
    assert kernel.asm["cubin"] == other.asm["cubin"] != compile_it().asm["cubin"]


def test_a_folder_takes_the_place_of_what_is_compiled(dumped, monkeypatch, tmp_path):
    changed(dumped, "ptx", "ex2.approx", "lg2.approx")
    dumped["cubin"].unlink()
    monkeypatch.setenv("TRITON_KERNEL_OVERRIDE", "1")
    assert "lg2.approx" not in compile_it().asm["ptx"]  # its folder is not there
    (tmp_path / "dump").rename(tmp_path / "override")
    assert "lg2.approx" in compile_it().asm["ptx"]
    monkeypatch.delenv("TRITON_KERNEL_OVERRIDE")
    assert "lg2.approx" not in compile_it().asm["ptx"]


@pytest.mark.parametrize(
    "stage, old, new, reason",
    [
        ("ptx", ".param .u32 exponential_param_2", ".param .u64 exponential_param_2", r"\(.*\.param \.u64\), and launches"),
        ("ptx", "ex2.approx", "no.such", r"\[E0304\]"),
        ("ttir", "math.exp2", "math.no_such", r"\[E0801\]"),
    ],
)
def test_files_that_do_not_fit(dumped, stage, old, new, reason):
    path = changed(dumped, stage, old, new)
    with pytest.raises(errors.TilewrightError, match=reason):
        compile_it({"ir_override": path})


def test_a_file_for_another_number_of_threads(dumped):
    with pytest.raises(errors.InvalidOption, match="its kernel is for 128 threads, and launches have 256"):
        compile_it({"ir_override": str(dumped["ptx"]), "num_warps": 8})


@pytest.mark.parametrize("stage", ["ttgir", "llir", "missing"])
def test_files_that_no_kernel_is_taken_from(dumped, stage):
    path = dumped.get(stage, pathlib.Path("/nowhere/exponential.ptx"))
    with pytest.raises(errors.InvalidOption, match=r"\[E0209\] ir_override=.*\.ttir, \.ptx or \.cubin"):
        compile_it({"ir_override": str(path)})


def test_a_number_is_no_file(tmp_path):
    with open(tmp_path / "open.ptx", "w") as file, pytest.raises(errors.InvalidOption, match=r"\[E0209\] ir_override="):
        compile_it({"ir_override": file.fileno()})


@pytest.mark.gpu
def test_a_changed_file_is_launched(gpu, dumped):
    torch = pytest.importorskip("torch")
    path = changed(dumped, "ptx", "ex2.approx", "lg2.approx")
    x = torch.rand(3000, device="cuda") + 0.5
    y = torch.empty_like(x)
    exponential[(3,)](x, y, 3000, BLOCK=1024, num_warps=4)
    torch.testing.assert_close(y, torch.exp2(x))
    exponential[(3,)](x, y, 3000, BLOCK=1024, num_warps=4, ir_override=path)
    torch.testing.assert_close(y, torch.log2(x), rtol=1e-5, atol=1e-6)


# -- what does nothing ---------------------------------------------------------


@pytest.mark.parametrize(
    "group, name, value", [("compilation", "use_ir_loc", "ttir"), ("runtime", "add_stages_inspection_hook", print)]
)
def test_a_knob_without_effect_says_so(group, name, value):
    knobs_of_group = getattr(knobs, group)
    with knobs_of_group.scope(), pytest.warns(errors.ConfigWarning, match=rf"\[W0715\] knobs.{group}.{name} has no effect"):
        setattr(knobs_of_group, name, value)
    with knobs_of_group.scope(), warnings.catch_warnings():
        warnings.simplefilter("error")
        setattr(knobs_of_group, name, None)


def test_a_variable_without_effect_says_so(monkeypatch):
    monkeypatch.setenv("TRITON_ENABLE_ASAN", "1")
    with pytest.warns(errors.ConfigWarning, match=r"\[W0715\] TRITON_ENABLE_ASAN has no effect here"):
        knobs.check_environment()
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setenv("TRITON_ENABLE_ASAN", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        knobs.check_environment()


def test_compile_leaves_out_what_it_does_not_know():
    with pytest.warns(errors.ConfigWarning, match=r"\[W0716\] compile\(\) has no option 'num_wraps'(.|\n)*num_warps"):
        kernel = compile_it({"num_wraps": 2})
    assert kernel.asm["cubin"] == compile_it().asm["cubin"]


def test_managers_of_the_folders(tmp_path):
    manager = get_override_manager("ab" * 32)
    assert manager.get_file("k.ptx") is None
    path = pathlib.Path(manager.put("text", "k.ptx"))
    assert path.read_text() == "text" and path.parent.parent == tmp_path / "override"
    assert manager.get_file("k.ptx") == str(path)
