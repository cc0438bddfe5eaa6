# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles a script: `python -m tilewright.profiler.proton [-n NAME] [-k HOOK] script.py arguments`."""

import argparse
import runpy
import sys

from .profile import finalize, start

__all__ = ["finalize", "main", "start"]


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Runs a script and writes where its time on the GPU went.")
    parser.add_argument("-n", "--name", help="path of the profile, without suffix")
    parser.add_argument("-c", "--context", default="shadow", choices=("shadow", "python"))
    parser.add_argument("-d", "--data", default="tree", choices=("tree", "trace"))
    parser.add_argument("-k", "--hook", choices=("triton",))
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    start(options.name, context=options.context, data=options.data, hook=options.hook)
    sys.argv = [options.script, *options.arguments]
    try:
        runpy.run_path(options.script, run_name="__main__")
    finally:
        finalize()


if __name__ == "__main__":
    main()
