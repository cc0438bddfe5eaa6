# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright`: doctor, compile, explain, run, check, prove, replay, profile, cache, tune, knobs."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import platform
import re
import runpy
import sys
import time

_STAGES = {"ttir": "ttir", "ir": "ttir", "layout": "ttgir", "ttgir": "ttgir", "llir": "llir", "ptx": "ptx",
           "cubin": "cubin", "sass": "sass"}

# ---------------------------------------------------------------------------
# doctor
# ---------------------------------------------------------------------------


def _version_of(name):
    """The version of an installed distribution without importing it, or None."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _line(label, text):
    print(f"  {label:<14}{text}")


def _attempt(label, action):
    """Prints what `action` returns, or its error; whether it went well."""
    start = time.perf_counter()
    try:
        result = action()
    except Exception as error:  # noqa: BLE001 - a doctor reports whatever it meets
        _line(label, f"FAILED: {type(error).__name__}: {str(error).splitlines()[0]}")
        return False
    milliseconds = (time.perf_counter() - start) * 1e3
    _line(label, f"{result} ({milliseconds:.0f} ms)")
    return True


def _check(result):
    if not result:
        raise RuntimeError("the results are wrong")
    return "ok"


def doctor(arguments) -> int:
    from . import __version__, _core, knobs
    from .tools.disasm import path_to_binary

    _core.find_wheel_folders(sys.path)
    print("Tilewright")
    _line("version", f"{__version__}, native {_core.build_id()}")
    _line("Python", f"{platform.python_version()} on {platform.platform()}")
    frameworks = [f"{name} {version}" for name in ("numpy", "ml_dtypes", "torch", "cupy", "jax", "triton")
                  if (version := _version_of(name))]
    _line("packages", ", ".join(frameworks))
    print("Tools")
    version, path = _core.assembler_info()
    _line("assembler", f"{version} at {path}" if version else "nvJitLink was not found; the driver assembles PTX")
    for name, pattern, consequence, avoided in _core.assembler_faults():
        _line("known fault", f"{name}: {pattern}; {consequence}. {avoided[0].upper()}{avoided[1:]}")
    _line("libdevice", _core.find_libdevice() or "not found; polynomials are used")
    _line("disassembler", path_to_binary("nvdisasm") or path_to_binary("cuobjdump") or "not found; no asm['sass']")
    print("GPU")
    has_gpu = _core.driver_available()
    if has_gpu:
        library, number, count = _core.driver_info()
        _line("driver", f"CUDA {number // 1000}.{number % 1000 // 10} ({library})")
        for ordinal in range(count):
            p = _core.device_properties(ordinal)
            _line(f"device {ordinal}", f"{p['name']}, sm_{p['capability']}, {p['total_memory'] >> 30} GiB, "
                  f"{p['multiprocessor_count']} multiprocessors, {p['max_shared_mem']:,} bytes shared")
    else:
        _line("driver", "none, or no visible GPU: kernels run in the interpreter")
    _line("cache", _cache_line())
    changed = [(v, os.environ[v]) for v, *_ in knobs.table() if v in os.environ]
    if changed:
        print("Environment")
        for variable, value in changed:
            _line("", f"{variable}={value}")
    print("Self-test")
    return 0 if _self_test(has_gpu) else 1


def _cache_line() -> str:
    from .compiler.disk_cache import default_directory, store_of

    store = store_of()
    if store is None:
        return "off (TILEWRIGHT_CACHE=0)"
    _, _, _, problem = store.native.load("0" * 64)
    entries = store.native.list()
    text = f"{default_directory()}: {len(entries)} kernels, {sum(size for _, size, _ in entries) / 2**20:.1f} MiB"
    return f"{text}; not used: {problem[1]}" if problem else text


def _self_test(has_gpu) -> bool:
    from . import _core

    def selftest():
        from . import selftest as module

        return module

    good = _attempt("interpreter", lambda: _check(selftest().interpret()))
    target = "sm_90a"
    if has_gpu:
        target = _core.target_name(_core.device_properties(0)["capability"])

    def compile_it():
        from . import knobs

        with knobs.compilation.scope():
            knobs.compilation.always_compile = True  # the compiler is tested, not the cache
            kernel = selftest().compile_for(target)
        size = len(kernel.asm["cubin"]) if "cubin" in kernel.asm else 0
        return f"ok, {target}, {kernel.metadata.n_regs} registers, {size:,} bytes"

    good &= _attempt("compiler", compile_it)
    if has_gpu:
        good &= _attempt("GPU", lambda: _check(selftest().run_on_gpu()))
    return good


# ---------------------------------------------------------------------------
# compile
# ---------------------------------------------------------------------------


def load_function(text):
    """The jit function of FILE:FUNCTION, or of package.module:function."""
    from .runtime.jit import JITFunction

    path, separator, name = text.rpartition(":")
    if not separator or not path or not name:
        raise SystemExit(f"tilewright compile: '{text}' is not of the form FILE:FUNCTION")
    if path.endswith(".py"):
        if not os.path.isfile(path):
            raise SystemExit(f"tilewright compile: no file '{path}'")
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise  # not this module, but one that it imports
            raise SystemExit(f"tilewright compile: no module '{path}'; a file ends in .py") from None
    function = getattr(module, name, None)
    # Tuners and heuristics stand in front of the function.
    while function is not None and not isinstance(function, JITFunction) and hasattr(function, "fn"):
        function = function.fn
    if not isinstance(function, JITFunction):
        known = [n for n, v in vars(module).items() if isinstance(v, JITFunction)]
        raise SystemExit(f"tilewright compile: '{name}' is no jit function of {path}; there are {', '.join(known)}")
    return function


def _split(text):
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in (*parts, text[start:])]


def parse_signature(function, text):
    """(types, constants, divisibility) from "*fp32:16,i32,1024" or "x=*fp32,BLOCK=1024".

    A tensor descriptor is "tensordesc<fp16[128,64]>". A type may be followed by `:16` or `:8`
    (divisible; of a descriptor its last extent in bytes) or `:1` (equal to 1); a literal is a constant.
    """
    types, constants, divisibility = {}, {}, {}
    names = iter(function.arg_names)
    for item in _split(text):
        if not item:
            continue
        name, separator, value = item.partition("=")
        if separator and name.strip().isidentifier():
            name, item = name.strip(), value.strip()
            if name in types or name in constants:
                raise SystemExit(f"tilewright compile: '{name}' is in the signature twice")
        else:
            name = next((n for n in names if n not in types and n not in constants), None)
            if name is None:
                raise SystemExit(f"tilewright compile: more entries in the signature than "
                                 f"{function.__name__}({', '.join(function.arg_names)}) has parameters")
        kind, _, hint = item.partition(":")
        try:
            constants[name] = ast.literal_eval(item)
            continue
        except (ValueError, SyntaxError):
            pass
        if hint == "1":
            constants[name] = 1
            continue
        types[name] = kind.strip()
        if hint:
            if hint.strip() not in ("8", "16"):
                raise SystemExit(f"tilewright compile: '{item}' ends in none of :16 or :8 (divisible by it) and :1 "
                                 "(equal to 1)")
            divisibility[name] = int(hint)
    return types, constants, divisibility


def _option(text):
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def source_of_arguments(arguments, kernel):
    """(ASTSource, options) of a command line that names a kernel."""
    import tilewright

    from .triton_alias import install

    install()
    function = load_function(kernel)
    source = tilewright.ASTSource(function, *parse_signature(function, arguments.signature))
    # What a launch on separate arrays runs.
    options = {"arguments_may_overlap": False, **dict(_option(o) for o in arguments.option)}
    for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        if getattr(arguments, name, None) is not None:
            options[name] = getattr(arguments, name)
    return source, options


def compile_command(arguments) -> int:
    import tilewright

    source, options = source_of_arguments(arguments, arguments.kernel)
    kernel = tilewright.compile(source, arguments.target, options)
    stage = _STAGES[arguments.emit]
    try:
        content = kernel.asm[stage]
    except KeyError as error:
        raise SystemExit(f"tilewright compile: no {arguments.emit}: {error.args[0]}") from None
    made_for = re.search(r"\.target (\w+)", kernel.asm["ptx"])[1]
    if arguments.target.startswith("sm_") and made_for != arguments.target:
        print(f"tilewright compile: {arguments.target} is not known; this is code for {made_for}", file=sys.stderr)
    if arguments.verbose:
        meta = kernel.metadata
        print(f"{kernel.name}: {meta.num_warps} warps, {meta.n_regs} registers, {meta.n_spills} bytes spilled, "
              f"{meta.shared} bytes shared", file=sys.stderr)
        for remark in kernel.remarks:
            print(remark, file=sys.stderr)
    if arguments.output and arguments.output != "-":
        with open(arguments.output, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        print(content)
    return 0


# ---------------------------------------------------------------------------
# run, knobs
# ---------------------------------------------------------------------------


def run_command(arguments) -> int:
    from .triton_alias import install_as_triton

    install_as_triton()
    sys.argv = arguments.rest
    if not sys.argv:
        raise SystemExit("tilewright run: name a script, or -m and a module")
    if sys.argv[0] == "-m":
        if len(sys.argv) < 2:
            raise SystemExit("tilewright run: -m needs the name of a module")
        del sys.argv[0]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    if not os.path.isfile(sys.argv[0]):
        raise SystemExit(f"tilewright run: no file '{sys.argv[0]}'")
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


def knobs_command(arguments) -> int:
    from . import knobs

    for variable, kind, default, doc in knobs.table():
        print(f"{variable:<42} {kind:<6} {default or '-':<9} {doc}")
    return 0


def _parser():
    from .checking import command as check_commands
    from .compiler import cache_tools
    from .explaining import command as explain_commands
    from .profiler import command as profile_commands
    from .proving import command as prove_commands
    from .tuning import commands as tune_commands

    parser = argparse.ArgumentParser(prog="tilewright", description="A tile language and its compiler.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say what was found, and test it").set_defaults(call=doctor)
    one = commands.add_parser("compile", help="compile a kernel without a GPU")
    one.set_defaults(call=compile_command)
    one.add_argument("kernel", metavar="FILE:FUNCTION")
    one.add_argument("--signature", "-s", required=True, help='"*fp32:16,*fp32,i32,1024" or "x=*fp32,BLOCK=1024"')
    one.add_argument("--target", "-t", default="sm_90a", help="sm_80, sm_86, sm_89 or sm_90a (default)")
    one.add_argument("--emit", "-e", default="ptx", choices=sorted(_STAGES))
    one.add_argument("--output", "-o", help="file; standard output where missing")
    one.add_argument("--num-warps", dest="num_warps", type=int)
    one.add_argument("--num-stages", dest="num_stages", type=int)
    one.add_argument("--num-ctas", dest="num_ctas", type=int)
    one.add_argument("--maxnreg", type=int)
    one.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="any other launch option")
    one.add_argument("--verbose", "-v", action="store_true", help="resources and remarks on standard error")
    run = commands.add_parser("run", help="run a script in which 'import triton' means Tilewright")
    run.set_defaults(call=run_command)
    run.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    check_commands.add_parser(commands)
    explain_commands.add_parser(commands)
    profile_commands.add_parser(commands)
    prove_commands.add_parser(commands)
    cache_tools.add_parser(commands)
    tune_commands.add_parser(commands)
    commands.add_parser("knobs", help="list all switches").set_defaults(call=knobs_command)
    return parser


def main(argv=None) -> int:
    """Entry of the console script; errors of the user's kernel are printed without a traceback."""
    from . import errors

    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["run"] and argv[1:2] not in (["-h"], ["--help"]):
        # All that follows belongs to the script, options too: nothing for argparse.
        return run_command(argparse.Namespace(rest=argv[1:]))
    program = []
    if argv[:1] in (["check"], ["profile"]):
        # As above, from the script on.
        command = importlib.import_module(".checking.command" if argv[0] == "check" else ".profiler.command", __package__)
        own, program = command.split_arguments(argv[1:])
        argv = [argv[0], *own]
    arguments = _parser().parse_args(argv)
    if program:
        arguments.rest = program
    try:
        return arguments.call(arguments)
    except errors.TilewrightError as error:
        print(f"{type(error).__name__}{error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Nothing more may be written,
        # also not when Python closes its streams.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file that cannot be read or written
        print(f"tilewright: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
