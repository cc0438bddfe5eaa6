# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages of exported kernels: what is in a file, what is refused, and launches (cases_packages.py)."""

import json

import pytest

import tilewright
from harness import devices, mock_driver
from tilewright import _core, cli, errors
from tilewright.exporting import package_file
from tilewright.tools.tensor_descriptor import TensorDescriptor

DATA = mock_driver.ROOT / "tests" / "e2e" / "data" / "exported"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE", "1")
        patch.setenv(
            "TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "export-cache")
        )  # test_exporting.py has compiled them
        patch.delenv("TILEWRIGHT_INTERPRET", raising=False)
        arguments = ["export", str(DATA / "ops.json"), "-o", str(folder / "ops.twpkg"), "-t", "sm_90a"]
        assert cli.main(arguments) == 0
    return folder / "ops.twpkg"


def test_content(package):
    loaded = tilewright.load(package)
    assert list(loaded) == ["add", "softmax", "matmul", "matmul_device", "attention", "grouped"] and len(loaded) == 6
    assert loaded["add"] is loaded.add and "attention" in dir(loaded)
    with pytest.raises(AttributeError, match="no kernel 'sub' in the package; there are add, softmax"):
        loaded.sub
    with pytest.raises(KeyError, match="no kernel 'sub'"):
        loaded["sub"]


def test_launches(package, tmp_path, monkeypatch):
    monkeypatch.setenv("EXPORTED_PACKAGE", str(package))
    code, output = mock_driver.run_in_mock_process(mock_driver.ROOT / "tests" / "e2e" / "mock" / "cases_packages.py", tmp_path)
    assert code == 0, output


def refused(path, content, words):
    path.write_bytes(content)
    with pytest.raises(errors.InvalidPackage, match=r"\[E0506\] .*x\.twpkg is no package that can be used: ") as caught:
        tilewright.load(path)
    assert words in caught.value.message
    assert caught.value.help == "write it again with 'tilewright export', and copy it as a binary file"


def test_a_file_that_is_cut_short_or_changed(package, tmp_path):
    content, path = package.read_bytes(), tmp_path / "x.twpkg"
    refused(path, b"", "too short")
    for length in (50, 1000, len(content) // 2, len(content) - 1):
        refused(path, content[:length], "")
    refused(path, content + b"\0", "a wrong length")
    for place in range(0, len(content), len(content) // 61):
        refused(path, content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :], "")
    refused(path, b"PK\3\4" + content[4:], "not a cache entry")


def sealed(header, code=b""):
    """A file with the right marks and digest, whatever is in it."""
    return _core.encode_entry(package_file._KEY, json.dumps(header) if not isinstance(header, str) else header, {"code": code})


def test_a_file_that_others_have_written(package, tmp_path):
    header, sections, _ = _core.decode_entry(package.read_bytes(), package_file._KEY)
    path, data = tmp_path / "x.twpkg", json.loads(header)
    refused(path, _core.encode_entry("0" * 64, "{}", {}), "another key")
    refused(path, sealed("no JSON"), "its header is not as this version writes it (JSONDecodeError: ")
    refused(path, sealed({**data, "format": "tilewright-package-2"}), "(ValueError: its format is tilewright-package-2)")
    refused(path, sealed({"format": data["format"]}), "its header is not as this version writes it (KeyError: 'name')")
    refused(path, sealed(data, sections["code"][:-1]), "(ValueError: a wrong digest of machine code)")
    variants = data["kernels"][0]["variants"]
    image = variants[0]["images"][0]
    for field, value in (("kind", "every"), ("metadata", [])):
        known, image[field] = image[field], value
        refused(path, sealed(data, sections["code"]), "(ValueError: an image of an unknown kind)")
        image[field] = known
    metadata = image["metadata"]
    for field, values in (
        ("num_warps", (0, 33, "4", None, 1.0)),
        ("num_ctas", (0, 17)),
        ("warp_size", (64,)),
        ("shared", (-1, 2**40)),
        ("global_scratch_size", (-1,)),
        ("global_scratch_align", (0, 24)),
        ("maxnreg", (0, 256, "many")),
        ("cluster_dims", ([1, 1], [0, 1, 1], 3)),
        ("tensor_maps", (None, [1])),
        ("host_tensor_maps", ("", [3])),
    ):
        known = metadata[field]
        for metadata[field] in values:
            refused(path, sealed(data, sections["code"]), f"(ValueError: {field} of an image is {metadata[field]!r})")
        if field != "maxnreg":  # which most kernels do not have
            del metadata[field]
            refused(path, sealed(data, sections["code"]), f"(ValueError: an image lacks {field})")
        metadata[field] = known
    variants.pop()
    refused(path, sealed(data, sections["code"]), "(ValueError: a kernel without all its variants)")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        tilewright.load(tmp_path / "none.twpkg")


def test_constants_that_no_package_holds():
    with pytest.raises(errors.TilewrightError, match=r"\[E0117\] the constant 'f' is a function, which no package holds"):
        package_file._constant_to_json("f", refused)
    assert (
        package_file._constant_from_json(package_file._constant_to_json("d", tilewright.language.float16))
        == tilewright.language.float16
    )


@pytest.mark.gpu
def test_results(package):
    torch = pytest.importorskip("torch")
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("the package is for sm_90a")
    loaded = tilewright.load(package)
    x, y, out = (torch.randn(98432, device="cuda") for _ in range(3))
    loaded.add(x, y, out, x.numel())
    assert torch.equal(out, x + y)
    loaded.add(x[1:], y[1:], out[1:], 1000, configuration=1)
    scores = torch.randn(300, 1000, device="cuda")
    weights = torch.empty_like(scores)
    loaded.softmax[300,](scores, weights, 1000, 1000, 1000)
    assert torch.allclose(weights, scores.softmax(1), atol=1e-6)
    a, b = (torch.randint(-3, 4, shape, device="cuda").half() for shape in ((1024, 512), (512, 1024)))
    c = torch.empty(1024, 1024, dtype=torch.float16, device="cuda")
    described = [
        TensorDescriptor.from_tensor(array, block) for array, block in ((a, [128, 64]), (b, [64, 128]), (c, [128, 64]))
    ]
    loaded.matmul(*described, 1024, 1024, 512)
    assert torch.equal(c, a @ b)
