# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that a change of the compiler leaves the code of every kernel as it was.

Kernels are recorded once, as the tile IR that the front end makes of them; each build
then compiles the recorded files to PTX and prints one line per kernel: a hash of the PTX,
a hash of the remarks and of what a launch needs, the file. Two builds make the same code where the lines are equal:

    export PYTHONPATH=python:tests
    python -m harness.ptx_hashes record FOLDER                        benchmarks and lessons
    pytest -p harness.ptx_hashes --ptx-folder FOLDER tests/e2e        kernels of the tests
    python -m harness.ptx_hashes hash FOLDER > before.txt             with one build
    python -m harness.ptx_hashes hash FOLDER --compare before.txt     with another one

As a plugin of pytest it records what tests compile or emulate, and compiles nothing: a
test ends, passed, where it asks for a result.
"""

import argparse
import concurrent.futures
import hashlib
import json
import re
import sys
from pathlib import Path

HEADER = "// kernel: "
# What the back end reads besides the module.
OPTIONS = ("enable_fp_fusion", "maxnreg", "num_ctas", "num_stages", "launch_pdl")

# What a launch needs besides the code.
METADATA = ("num_warps", "shared", "global_scratch_size", "needs_distinct_arguments")


# ---------------------------------------------------------------------------
# Recording
# ---------------------------------------------------------------------------


def record(folder: Path, kernel, specialised, options: dict, target: str):
    """Writes what the front end makes of one specialisation; its errors are the tests' business."""
    import tilewright
    from tilewright import _core, errors
    from tilewright.compiler.options import parse_options

    source = tilewright.ASTSource(kernel, *specialised)
    given = parse_options({"arguments_may_overlap": False, **options})
    try:
        text = _core.emit_ttir(kernel, source.runtime_signature, source.constants, source.divisibility, given, target)
    except errors.TilewrightError:
        return
    header = json.dumps({"target": target, **{name: given[name] for name in OPTIONS if given.get(name) is not None}})
    text = f"{HEADER}{header}\n{text}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{source.name}.{target}.{digest}.mlir").write_text(text)


def record_cases(folder: Path):
    from harness.tensor_core_cases import all_cases

    for case in all_cases():
        divisible = {name: 16 for name, kind in case.signature.items() if kind.startswith(("*", "i", "tensordesc"))}
        record(folder, case.kernel, (case.signature, case.constants, divisible), case.options, case.target)


def pytest_addoption(parser):
    parser.addoption("--ptx-folder", type=Path, required=True, help="where the kernels of the tests are recorded")


def pytest_configure(config):
    from harness import assemble, devices

    folder = config.getoption("--ptx-folder")

    def note(self, kernel, grid, *args, **options):
        options = {**getattr(self, "options", {}), **options}
        specialised = assemble.specialise(kernel, args, options)
        given = {name: value for name, value in options.items() if name in assemble.OPTIONS}
        for target in devices.ASSEMBLED:
            record(folder, kernel, specialised, given, target)

    def end(self, array):
        raise devices.Assembled

    for device in (devices.Emulator, devices.Assemble):
        device.run, device.numpy = note, end


# ---------------------------------------------------------------------------
# Hashes
# ---------------------------------------------------------------------------


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_file(path: Path, ptx_folder: Path | None) -> str:
    """The line of one recorded kernel."""
    from tilewright import _core, errors

    header, _, text = path.read_text().partition("\n")
    options = {**json.loads(header.removeprefix(HEADER)), "last_stage": "ptx"}
    try:
        result = _core.compile_ir(text, "ttir", options, options.pop("target"))
    except errors.TilewrightError as error:
        return f"{digest_of(str(error))} {type(error).__name__:16} {path.name}"
    ptx = result["ptx"]
    told = [*result["remarks"], *(f"{name} {result['metadata'][name]}" for name in METADATA)]
    if ptx_folder:
        (ptx_folder / f"{path.stem}.ptx").write_text(ptx)
        (ptx_folder / f"{path.stem}.remarks").write_text("\n".join(told))
    return f"{digest_of(ptx)} {digest_of(chr(10).join(told))} {path.name}"


def hash_folder(folder: Path, workers: int, containing: str, ptx_folder: Path | None) -> list[str]:
    paths = [path for path in sorted(folder.glob("*.mlir")) if re.search(containing, path.read_text())]
    if ptx_folder:
        ptx_folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        return list(pool.map(hash_file, paths, [ptx_folder] * len(paths), chunksize=8))


def compare(before: list[str], after: list[str]) -> list[str]:
    """The kernels of `after` that are not what they were, or were not there."""
    old = {line.split()[-1]: line.split()[:-1] for line in before}
    found = []
    for line in after:
        ptx, remarks, name = line.split()
        if name not in old:
            found.append(f"new      {name}")
        elif old[name][0] != ptx:
            found.append(f"ptx      {name}")
        elif old[name][1] != remarks:
            found.append(f"remarks  {name}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "hash"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compare", type=Path, help="lines that an earlier run has printed")
    parser.add_argument("--containing", default="", help="kernels whose IR this regular expression matches")
    parser.add_argument("--ptx", type=Path, help="a folder for the PTX itself and the remarks")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.action == "record":
        record_cases(options.folder)
        return 0
    lines = hash_folder(options.folder, options.workers, options.containing, options.ptx)
    if not options.compare:
        print("\n".join(lines))
        return 0
    changed = compare(options.compare.read_text().splitlines(), lines)
    print("\n".join([*changed, f"{len(changed)} of {len(lines)} kernels differ"]))
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
