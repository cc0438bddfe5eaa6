# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`import triton` means Tilewright: in this process, in its children, and for whoever asks what is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright

PYTHON = Path(tilewright.__file__).parents[1]
STARTUP = PYTHON / "tilewright" / "startup"

WHICH = """
def which(_=None):
    import triton
    import triton.language as tl
    from importlib import metadata, util
    is_version_right = metadata.version("triton") == triton.__version__
    return [triton.JITFunction.__module__, is_version_right, util.find_spec("triton") is not None]
"""
RIGHT = "['tilewright.runtime.jit', True, True]"


def environment(**variables):
    """This process's, without what other tests or the user have set."""
    kept = {k: v for k, v in os.environ.items() if k not in ("TILEWRIGHT_AS_TRITON", "PYTHONPATH")}
    return {**kept, **{k: str(v) for k, v in variables.items()}}


def run(*command, **variables):
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=120, env=environment(**variables), cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def path_only(tmp_path):
    """The package in a folder that only PYTHONPATH names, as `pip install --target` makes it."""
    folder = tmp_path / "target"
    folder.mkdir()
    for name in ("tilewright", "_tilewright_startup.py", "tilewright-startup.pth"):
        (folder / name).symlink_to(PYTHON / name)
    return folder


@pytest.fixture
def installed_triton(tmp_path):
    """A folder with another triton, as a peer that is installed."""
    folder = tmp_path / "other"
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "__init__.py").write_text("raise RuntimeError('the other triton')\n")
    (folder / "triton-9.9.9.dist-info").mkdir()
    (folder / "triton-9.9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 9.9.9\n")
    return folder


@pytest.mark.parametrize("has_other", [False, True])
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_of_multiprocessing(tmp_path, path_only, installed_triton, method, has_other):
    (tmp_path / "which.py").write_text(WHICH)
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\nfrom which import which\n"
        f"if __name__ == '__main__':\n    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        print(which(), pool.map(which, [0])[0], sep='\\n')\n"
    )
    path = f"{path_only}:{installed_triton}" if has_other else path_only
    assert run("-m", "tilewright", "run", script, PYTHONPATH=path).split("\n")[:2] == [RIGHT, RIGHT]


def test_children_of_children(tmp_path, path_only):
    """Each starts the next with its own environment, the last one with sys.path as PYTHONPATH, as torch does."""
    script = tmp_path / "script.py"
    last = WHICH + "print(which())"
    middle = (
        "import os, subprocess, sys\n"
        "env = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}\n"
        f"subprocess.run([sys.executable, '-c', {last!r}], env=env, check=True)"
    )
    script.write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {middle!r}], check=True, cwd='/')")
    assert run("-m", "tilewright", "run", script, PYTHONPATH=path_only).strip() == RIGHT


def test_module_and_its_children(tmp_path, path_only):
    (tmp_path / "program.py").write_text(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {WHICH + 'print(which())'!r}], check=True)"
    )
    assert run("-m", "tilewright", "run", "-m", "program", PYTHONPATH=f"{path_only}:{tmp_path}").strip() == RIGHT


@pytest.mark.parametrize("value, is_on", [("1", True), ("on", True), ("0", False), ("", False)])
def test_variable_alone(path_only, value, is_on):
    """An installed package reads the variable while Python starts, by its .pth file."""
    start = f"import site; site.addsitedir({str(path_only)!r})\n"
    finders = run(
        "-c", start + "import sys; print([type(finder).__name__ for finder in sys.meta_path])", TILEWRIGHT_AS_TRITON=value
    )
    assert ("TritonFinder" in finders) == is_on
    if is_on:
        assert run("-c", start + WHICH + "print(which())", TILEWRIGHT_AS_TRITON=value).strip() == RIGHT


def test_start_without_the_variable_loads_nothing(path_only):
    text = f"import site; site.addsitedir({str(path_only)!r})\nimport sys; print([m for m in sys.modules if 'tilewright' in m])"
    assert run("-c", text).strip() == "[]"


def test_start_with_the_variable_does_not_import_the_package(path_only):
    text = (
        f"import site; site.addsitedir({str(path_only)!r})\n"
        "import sys; print([m for m in sys.modules if m.startswith('tilewright') or m == 'numpy'])"
    )
    assert run("-c", text, TILEWRIGHT_AS_TRITON="1").strip() == "[]"


def test_one_line(path_only):
    text = (
        "import sys, subprocess, tilewright\ntilewright.install_as_triton()\n" + WHICH + "print(which())\n"
        f"sys.stdout.flush(); subprocess.run([sys.executable, '-c', {WHICH + 'print(which())'!r}], check=True)"
    )
    assert run("-c", text, PYTHONPATH=path_only).split("\n")[:2] == [RIGHT, RIGHT]


def test_another_sitecustomize_runs_too(tmp_path, path_only):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.was_run = __file__\n")
    text = WHICH + "print(which(), was_run, __import__('sitecustomize').__file__)"
    out = run("-c", text, PYTHONPATH=f"{STARTUP}:{path_only}:{folder}", TILEWRIGHT_AS_TRITON="1")
    assert out.strip() == f"{RIGHT} {folder}/sitecustomize.py {folder}/sitecustomize.py"


def test_what_is_installed_is_told_right(path_only, installed_triton):
    text = (
        "from importlib import metadata, util\nimport triton\n"
        "print(metadata.version('triton'), metadata.distribution('Triton').metadata['Name'], "
        "util.find_spec('triton.language').name)\n"
        "print(len(metadata.entry_points()) >= 0, metadata.version('numpy') != '', util.find_spec('triton.no_such_module'))"
    )
    first, second = (
        run("-c", text, PYTHONPATH=f"{STARTUP}:{path_only}:{installed_triton}", TILEWRIGHT_AS_TRITON="1").strip().split("\n")
    )
    assert first == f"{tilewright.triton_alias.TRITON_VERSION} triton triton.language"
    assert second == "True True None"


def test_another_interpreter_keeps_its_own_triton(tmp_path):
    """Where the package was built for another Python, its children are left alone."""
    folder = tmp_path / "built_for_another"
    (folder / "tilewright").mkdir(parents=True)
    (folder / "tilewright" / "_core.cpython-399-x86_64-linux-gnu.so").write_bytes(b"")
    (folder / "_tilewright_startup.py").symlink_to(PYTHON / "_tilewright_startup.py")
    text = "print(__import__('_tilewright_startup').fits_this_python(folder={!r}))".format(str(folder / "tilewright"))
    assert run("-c", text, PYTHONPATH=folder).strip() == "False"


def test_triton_that_is_loaded_already_is_refused(installed_triton, path_only):
    (installed_triton / "triton" / "__init__.py").write_text("")
    text = "import triton, tilewright\ntry:\n    tilewright.install_as_triton()\nexcept ImportError as error:\n    print(error)"
    assert "is imported already" in run("-c", text, PYTHONPATH=f"{path_only}:{installed_triton}")


def test_types_name_the_package_that_the_program_imports(tmp_path):
    """Programs evaluate the text of a type, and generators write it into source."""
    script = tmp_path / "script.py"
    script.write_text(
        "import triton\nimport triton.language\nassert eval(repr(triton.language.int8)) is triton.language.int8\n"
        "print(repr(triton.language.float8e4nv))\n"
    )
    assert run("-m", "tilewright", "run", script, PYTHONPATH=PYTHON).split() == ["triton.language.float8e4nv"]
    assert run("-c", "import tilewright.language as tl; print(repr(tl.int8))", PYTHONPATH=PYTHON).split() == [
        "tilewright.language.int8"
    ]


def test_pytest_with_files_of_any_name(tmp_path, path_only, installed_triton):
    """`python_files = *.py` sends pytest's finder after every module that it finds by itself, and it comes first."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = *.py\n")
    (tmp_path / "any.py").write_text(
        "import sys, triton, triton.language as tl, triton.language.extra.cuda.libdevice\n"
        "def test_one_copy():\n"
        "    for name, module in list(sys.modules.items()):\n"
        "        if name.startswith('triton.') and hasattr(module, '__name__'):\n"
        "            assert module.__name__.startswith('tilewright'), name\n"
        "    assert tl is sys.modules['tilewright.language']\n"
    )
    path = os.pathsep.join([str(path_only), str(installed_triton)])
    out = run("-m", "tilewright", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "any.py", PYTHONPATH=path)
    assert "1 passed" in out


def test_finder_goes_first(path_only):
    program = (
        "import sys, _tilewright_startup as s\n"
        "s.install()\n"
        "class Other:\n"
        "    def find_spec(self, name, path=None, target=None): seen.append(name)\n"
        "seen, count = [], len(sys.meta_path)\n"
        "sys.meta_path.insert(0, Other())\n"
        "import colorsys\n"
        "import triton.language\n"
        "print(seen[0], [name for name in seen if name.startswith('triton')])\n"
        "print([type(finder).__name__ for finder in sys.meta_path[:2]], len(sys.meta_path) - count)\n"
    )
    first, second = run("-c", program, PYTHONPATH=path_only).splitlines()
    assert first == "colorsys []" and second == "['TritonFinder', 'Other'] 1"
