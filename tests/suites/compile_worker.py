# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that imports and compiles other people's kernels, for compile_kernels.py.

A server that has loaded the compiler forks a child per file, which imports it, and that one a child
per kernel, which compiles. A kernel that kills its process, takes too long or too much memory ends
only that one; what it was doing then is the result. Requests come as JSON lines, results go the same way.

With `--compiler triton` the same requests go to the real Triton, to see what it refuses as well.
"""

import argparse
import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suites.import_stubs import import_file, import_package, install_stubs  # noqa: E402
from suites.kernel_discovery import launches_in, parse  # noqa: E402
from suites.signature_guess import VARIANTS, Guess, Guesser, unwrapped  # noqa: E402

IMPORT_SECONDS = 300
# Seconds of the clock for each second of computing, before a process counts as hung.
WAIT = 10


class TritonCompiler:
    """The real Triton, as far as PTX."""

    def __init__(self):
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        self.triton, self.target, self.source = triton, GPUTarget, ASTSource

    def compile(self, kernel, guess, target, options):
        number = int("".join(c for c in target if c.isdigit()))
        signature = {p.name: guess.signature.get(p.name, "constexpr") for p in kernel.params}
        attributes = {
            (kernel.arg_names.index(name),): [["tt.divisibility", value]] for name, value in guess.divisibility.items()
        }
        source = self.source(kernel, signature, guess.constants, attributes)
        compiled = self.triton.compile(source, target=self.target("cuda", number, 32), options=options)
        return {"ptx": len(compiled.asm["ptx"]), "shared": compiled.metadata.shared}


class TilewrightCompiler:
    """This compiler; the machine code is made where the environment has not turned the assembler off."""

    def __init__(self):
        import tilewright
        from tilewright.triton_alias import install

        install()
        self.tilewright = tilewright

    def compile(self, kernel, guess, target, options):
        source = self.tilewright.ASTSource(kernel, guess.signature, guess.constants, guess.divisibility)
        compiled = self.tilewright.compile(source, target, {**options, "arguments_may_overlap": False})
        metadata, steps = compiled.metadata, compiled.step_seconds
        return {
            "ptx": len(compiled.asm["ptx"]),
            "shared": metadata.shared,
            "registers": metadata.n_regs,
            "spills": metadata.n_spills,
            "num_warps": metadata.num_warps,
            "steps": {k: round(v, 3) for k, v in sorted(steps.items(), key=lambda s: -s[1])[:3]},
        }


def pretend_gpu():
    """Modules ask for the GPU when they are imported; they hear of one H100."""
    with contextlib.suppress(ImportError):
        import types

        import torch

        properties = types.SimpleNamespace(
            name="NVIDIA H100",
            major=9,
            minor=0,
            multi_processor_count=132,
            warp_size=32,
            total_memory=80 << 30,
            shared_memory_per_block_optin=232448,
            gcnArchName="",
            max_threads_per_multi_processor=2048,
            regs_per_multiprocessor=65536,
            L2_cache_size=50 << 20,
        )
        torch.cuda.is_available = lambda: True
        torch.cuda.device_count = lambda: 1
        torch.cuda.current_device = lambda: 0
        torch.cuda.get_device_capability = lambda device=None: (9, 0)
        torch.cuda.get_device_name = lambda device=None: "NVIDIA H100"
        torch.cuda.get_device_properties = lambda device=None: properties
        torch.version.cuda = "12.8"
    with contextlib.suppress(Exception):
        from triton.backends.compiler import GPUTarget
        from triton.runtime import driver

        driver.active.get_current_target = lambda *_: GPUTarget("cuda", 90, 32)
        driver.active.get_current_device = lambda *_: 0
        driver.active.utils.get_device_properties = lambda *_: {
            "max_shared_mem": 232448,
            "multiprocessor_count": 132,
            "max_num_regs": 65536,
            "warpSize": 32,
            "sm_clock_rate": 1980000,
            "mem_clock_rate": 2619000,
            "mem_bus_width": 5120,
        }


def problem_of(error) -> dict:
    """What was raised, as a result."""
    code = getattr(error, "code", "")
    message = getattr(error, "message", "") or str(error)
    frames = [f"{frame.file}:{frame.line}" for frame in getattr(error, "frames", ())][:3]
    where = frames or [f"{entry.filename}:{entry.lineno}" for entry in traceback.extract_tb(error.__traceback__)[-2:]]
    status = "refused" if code or type(error).__name__.endswith(("CompilationError", "Failure", "OutOfResources")) else "error"
    return {"status": status, "code": code, "kind": type(error).__name__, "message": message.strip()[:600], "where": where}


def try_to_compile(compiler, kernel, guess, target, options) -> dict:
    start = time.process_time()
    try:
        result = {"status": "compiled", **compiler.compile(kernel, guess, target, options)}
    except MemoryError as error:
        result = {"status": "memory", "message": str(error)}
    except BaseException as error:  # noqa: BLE001 - hooks and classes of strangers raise anything
        result = problem_of(error)
    result["seconds"] = round(time.process_time() - start, 3)
    return result


def describe(guess) -> dict:
    """The guess as JSON; a constant that JSON does not have is its text."""
    plain = {n: v if isinstance(v, (bool, int, float, str, type(None))) else str(v) for n, v in guess.constants.items()}
    return {"signature": guess.signature, "constants": plain, "divisibility": guess.divisibility, "options": guess.options}


def guesses_of(entry, kernel, launches, language, variants=VARIANTS):
    """The recorded arguments where there are some, else the variants of the guess, each once."""
    recorded = entry.get("recorded")
    if recorded:
        constants = {
            n: getattr(language, v.rsplit(".", 1)[-1], v) if isinstance(v, str) else v for n, v in recorded["constants"].items()
        }
        return [Guess(recorded["signature"], constants, recorded.get("divisibility", {}), recorded.get("options", {}))]
    guesser = Guesser(kernel, launches, language)
    found = {}
    for variant in variants:
        guess = guesser.guess(variant)
        found.setdefault(repr(guess), guess)
    return list(found.values())


def compile_kernel(entry, module, launches, compiler, request, write):
    """In the innermost child: writes what it is about to do, and the result, for each configuration."""
    import triton.language as language

    kernel = getattr(module, entry["kernel"])
    function = unwrapped(kernel)[0]
    settled = None
    for target in request["targets"]:
        for stages in request["stages"]:
            if [target, stages] in entry.get("done", []):
                continue
            first = None
            for guess in [settled] if settled else guesses_of(entry, kernel, launches, language):
                options = {**guess.options, "num_stages": stages}
                about = {"target": target, "stages": stages, **describe(guess)}
                write({"begin": about})
                _allow_seconds(request["seconds"])
                result = try_to_compile(compiler, function, guess, target, options)
                first = first or {**about, **result}
                if result["status"] == "compiled":
                    settled, first = guess, {**about, **result}
                    break
                if result.get("code") == "E0900":
                    first = {**about, **result}
                    break
            write({"result": first})


def judge_kernel(entry, module, launches, request, write):
    """In the innermost child: runs and compares guessed launches of a kernel, and writes what was seen."""
    import triton.language as language

    from suites import judge_kernels
    from tilewright.compiler.bisect import optimisations

    about = {"target": "emulator", "stages": 0}
    if ["emulator", 0] in entry["done"]:
        return
    kernel = getattr(module, entry["kernel"])
    facts = Guesser(kernel, launches, language).facts
    guesses = guesses_of(entry, kernel, launches, language, judge_kernels.VARIANTS)
    start = time.process_time()

    def say(**more):
        write({"begin": {**about, **more}})
        _allow_seconds(2 * judge_kernels.KERNEL_LIMITS * request["seconds"])

    say()
    result = judge_kernels.judge(unwrapped(kernel)[0], guesses, facts, optimisations(), request["seconds"], say)
    write({"result": {**about, **result, "seconds": round(time.process_time() - start, 1)}})


def _limit(gigabytes):
    size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGESIZE") + int(gigabytes * (1 << 30))
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _allow_seconds(seconds):
    """Ends this process by SIGXCPU once it has computed for so long: a busy machine does not count."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, resource.RLIM_INFINITY))


def _forked(work):
    """(process id, pipe to read lines from) of a child that does `work(write)` and ends."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    code = 1
    try:
        os.close(read_end)
        work(lambda line: os.write(write_end, (json.dumps(line) + "\n").encode()))
        code = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(child, pipe, seconds, got_line):
    """Passes the child's lines on; ends it where one takes too long. Returns (wait status, timed out)."""
    rest, timed_out = b"", False
    while True:
        ready, _, _ = select.select([pipe], [], [], seconds)
        if not ready:
            os.kill(child, signal.SIGKILL)
            timed_out = True
            break
        data = os.read(pipe, 1 << 16)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            got_line(json.loads(line))
    os.close(pipe)
    _, status = os.waitpid(child, 0)
    return status, timed_out


def run_kernel(entry, module, launches, compiler, request, write):
    """Compiles all configurations of a kernel in child processes; a new one after each that died."""
    done = [list(pair) for pair in entry.get("done", [])]
    while True:
        begun = {}

        def got_line(line):
            if "begin" in line:
                begun.clear()
                begun.update(line["begin"])
            else:
                done.append([line["result"]["target"], line["result"]["stages"]])
                begun.clear()
                write({**name, **line["result"]})

        name = {"file": request["file"], "kernel": entry["kernel"]}

        def work(send):
            _limit(request["gigabytes"])
            now = {**entry, "done": done}
            if request.get("judge"):
                judge_kernel(now, module, launches, request, send)
            else:
                compile_kernel(now, module, launches, compiler, request, send)

        status, timed_out = _watch(*_forked(work), WAIT * request["seconds"], got_line)
        timed_out = timed_out or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
        if status == 0 and not timed_out:
            return
        if not begun:  # it died before it compiled anything: all that is left ends the same way
            write({**name, "status": "error", "kind": "worker", "message": f"the worker ended with {status}"})
            return
        what = "timeout" if timed_out else "crash"
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        write({**name, **begun, "status": what, "message": signal.Signals(number).name if number else f"exit {status >> 8}"})
        done.append([begun["target"], begun["stages"]])


def run_file(request, compiler, write):
    """In the child of a file: imports it and compiles its kernels."""
    try:
        module = import_file(Path(request["root"], request["file"]))
    except BaseException as error:  # noqa: BLE001
        problem = {**problem_of(error), "status": "import"}
        for entry in request["kernels"]:
            write({"file": request["file"], "kernel": entry["kernel"], **problem})
        return
    launches = []
    for path in dict.fromkeys([request["file"], *request["launch_files"]]):
        tree = parse(Path(request["root"], path))
        launches += launches_in(tree) if tree else []
    for entry in request["kernels"]:
        if unwrapped(getattr(module, entry["kernel"], None))[0] is None:
            write(
                {
                    "file": request["file"],
                    "kernel": entry["kernel"],
                    "status": "import",
                    "kind": "absent",
                    "message": "the module does not define it here",
                }
            )
            continue
        run_kernel(entry, module, launches, compiler, request, write)


def serve(compiler, output):
    """Answers requests of one package, which is imported here, so that not every file does it again."""

    def write(line):
        os.write(output, (json.dumps(line) + "\n").encode())

    is_warm = False
    for line in sys.stdin:
        request = json.loads(line)
        if not is_warm:
            install_stubs(request["root"])
            import_package(Path(request["root"], request["file"]))
            is_warm = True
        child, pipe = _forked(lambda send: run_file(request, compiler, send))
        # A file's child watches its kernels itself; this limit is for imports that hang.
        status, timed_out = _watch(child, pipe, IMPORT_SECONDS + WAIT * request["seconds"], write)
        write({"done": request["file"], "status": "timeout" if timed_out else status})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", choices=("tilewright", "triton"), default="tilewright")
    options = parser.parse_args()
    output = os.dup(1)  # strangers' modules print
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.environ.update(TILEWRIGHT_CACHE="0", TRITON_CACHE_DIR=os.environ.get("TRITON_CACHE_DIR", "/tmp/campaign-triton-cache"))
    compiler = TilewrightCompiler() if options.compiler == "tilewright" else TritonCompiler()
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401
    pretend_gpu()
    serve(compiler, output)


if __name__ == "__main__":
    main()
