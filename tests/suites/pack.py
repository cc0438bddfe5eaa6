# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes checkouts for run_suites.py from git repositories, or a folder that carries them to a machine without a network.

    python tests/suites/pack.py MIRRORS --checkouts FOLDER     # trimmed checkouts, to run here
    python tests/suites/pack.py MIRRORS --archive FOLDER       # checkouts.tar.xz, these scripts, wheels, run.sh

MIRRORS has a git repository `owner+name` or `owner+name/repo` for each; one that is missing is left out and
named. A checkout holds what suites.toml keeps, and the commit in a file COMMIT.
"""

import argparse
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run_suites import read_suites  # noqa: E402

# What every checkout gets: Python, and what configures its tests.
ORDINARY = ["*.py", "pytest.ini", "setup.cfg", "pyproject.toml"]
# Wheels that the suites import and a machine with torch and pytest may lack.
WHEELS = [
    "pytest-xdist",
    "execnet",
    "pytest-timeout",
    "absl-py",
    "expecttest",
    "parameterized",
    "loguru",
    "nvtx",
    "mmengine-lite",
    "addict",
    "yapf",
    "termcolor",
    "pydantic==2.14.3",
    "pydantic_core==2.50.4",
    "annotated-types",
    "typing-inspection",
    "msgspec",
    "pyzmq",
    "cachetools",
    "cbor2",
    "pybase64",
    "sniffio",
    "platformdirs",
    "sqlalchemy",
    "frozendict",
    "dargs",
    "array-api-compat",
    "wcmatch",
    "bracex",
    "ndindex",
    "dpdata",
    "mendeleev",
    "lazy_import_plus",
    "pytest_check",
    "entmax",
    "torch-einops-utils",
    "einx",
    "filecheck",
]


def git_folder(mirrors: Path, repository: str):
    base = mirrors / repository.replace("/", "+")
    for candidate in (base / "repo" / ".git", base / "repo", base / ".git", base):
        if (candidate / "HEAD").is_file():
            return candidate
    return None


def git(folder: Path, *arguments) -> bytes:
    return subprocess.run(["git", f"--git-dir={folder}", *arguments], check=True, capture_output=True).stdout


def present(folder: Path, commit: str, patterns) -> list:
    """Patterns that match anything: git refuses the others."""
    names = git(folder, "ls-tree", "-r", "--name-only", commit).decode().splitlines()
    import fnmatch

    return [pattern for pattern in patterns if any(fnmatch.fnmatch(name, pattern) for name in names)]


def make_checkout(folder: Path, suites, into: Path) -> str:
    """Everything that these suites of one repository and revision keep."""
    commit = git(folder, "rev-parse", f"{suites[0].revision or 'HEAD'}^{{commit}}").decode().strip()
    patterns = sorted({pattern for suite in suites for pattern in (suite.keep or ORDINARY)})
    into.mkdir(parents=True, exist_ok=True)
    archive = git(folder, "archive", commit, "--", *present(folder, commit, patterns))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
    (into / "COMMIT").write_text(commit + "\n")
    for suite in suites:
        for name, version in suite.metadata.items():
            told = into / suite.path[0] / f"{name}-{version}.dist-info"
            told.mkdir(exist_ok=True)
            (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        for pattern, text in suite.edits.items():
            for path in into.rglob("*.py"):
                path.write_text(re.sub(pattern, text, path.read_text()))
        for name, text in suite.added.items():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_text(text.lstrip())
    return commit


def make_checkouts(mirrors: Path, root: Path, patterns) -> None:
    groups = {}
    for suite in read_suites(patterns):
        groups.setdefault((suite.repository, suite.revision), []).append(suite)
    for (repository, _), suites in groups.items():
        folder = git_folder(mirrors, repository)
        if folder is None:
            print(f"no repository {repository}", file=sys.stderr)
            continue
        target = suites[0].checkout(root)
        shutil.rmtree(target, ignore_errors=True)
        print(f"{target.name} {make_checkout(folder, suites, target)[:10]}")


RUN = """#!/bin/bash
# Unpacks the checkouts (once) and runs the suites: run.sh [arguments of run_suites.py]
# SUITES_PYTHON: the interpreter, python3 where missing. PYTHONPATH must lead to Tilewright.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
work=${SUITES_WORK:-/tmp/suites}
python=${SUITES_PYTHON:-python3}
if [ ! -e "$work/checkouts" ]; then
  mkdir -p "$work/unpacked" "$work/site"
  tar -C "$work/unpacked" -xJf "$here/checkouts.tar.xz"
  for wheel in "$here"/wheels/*.whl; do
    name=$(basename "$wheel"); name=${name%%-*}
    "$python" -c "import importlib.metadata as m, sys; m.version(sys.argv[1])" "$name" 2>/dev/null ||
      "$python" -m pip install -q --no-index --no-deps --target "$work/site" "$wheel"
  done
  mv "$work/unpacked" "$work/checkouts"
fi
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$work/site"
exec "$python" "$here/suites/run_suites.py" "$work/checkouts" "$@"
"""


def make_archive(mirrors: Path, out: Path, patterns) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        make_checkouts(mirrors, Path(scratch), patterns)
        subprocess.run(
            [
                "tar",
                "-C",
                scratch,
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--use-compress-program=xz -6 -T2",
                "-cf",
                str(out / "checkouts.tar.xz"),
                ".",
            ],
            check=True,
        )
    shutil.rmtree(out / "suites", ignore_errors=True)
    shutil.copytree(HERE, out / "suites", ignore=shutil.ignore_patterns("__pycache__"))
    (out / "wheels").mkdir(exist_ok=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            "3.12",
            "-d",
            str(out / "wheels"),
            *WHEELS,
        ],
        check=True,
    )
    (out / "run.sh").write_text(RUN)
    (out / "run.sh").chmod(0o755)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {size / 2**20:.1f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--checkouts", type=Path)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--suite", action="append")
    arguments = parser.parse_args()
    if arguments.checkouts:
        make_checkouts(arguments.mirrors, arguments.checkouts, arguments.suite)
    if arguments.archive:
        make_archive(arguments.mirrors, arguments.archive, arguments.suite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
