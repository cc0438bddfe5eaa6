# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles every entry kernel of checkouts of public repositories, without a GPU.

    python tests/suites/compile_kernels.py --sources /checkouts --results results.jsonl
    python tests/suites/compile_kernels.py --sources ... --results ... --repository fla --every 4 --target sm_90a
    python tests/suites/compile_kernels.py --results results.jsonl --table
    python tests/suites/compile_kernels.py --sources ... --results results.jsonl --peer /venv-with-triton/bin/python
    python tests/suites/compile_kernels.py --sources ... --results judged.jsonl --judge --containing 'for ' --containing 'dot('

`--sources` holds one folder per repository. Arguments of the kernels are guessed from their text
(signature_guess.py), or taken from `--recorded`, JSON lines with repository, file, kernel, signature, constants,
divisibility and options. Each configuration is one line of the results; what stands there already is not
compiled again, so that a campaign can be interrupted and go on. `--peer` asks the real Triton about what was
refused, and writes its answers into a second file beside the results. `--judge` runs the kernels as well, in the
interpreter and on the PTX emulator, and compares (judge_kernels.py).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from suites.campaign_table import read_results, table  # noqa: E402
from suites.import_stubs import dotted_name  # noqa: E402
from suites.kernel_discovery import discover  # noqa: E402

TARGETS = ("sm_80", "sm_89", "sm_90a")
STAGES = (1, 3)
# Folders whose files are not kernels of today's language: other languages that look alike, and Triton itself.
_SKIPPED = ("gluon", "/python/triton/", "third_party/")


def repositories(sources, names):
    """The folders of checkouts; those whose name contains one of `names`, where there are some."""
    folders = sorted(path for path in Path(sources).iterdir() if path.is_dir())
    return [path for path in folders if not names or any(name.lower() in path.name.lower() for name in names)]


def read_recorded(path) -> dict:
    """Recorded launches by (repository, file, kernel)."""
    lines = Path(path).read_text().splitlines() if path else []
    return {(r["repository"], r["file"], r["kernel"]): r for r in map(json.loads, lines)}


def requests_of(folder, options, seen, recorded):
    """One request per file of a repository; a kernel whose text was seen before is left out."""
    sources = discover(folder)
    launched_in = {}
    for source in sources:
        for name, _, _ in source.launches:
            launched_in.setdefault(name, []).append(source.path)
    for source in sources:
        if any(part in f"/{source.path}" for part in _SKIPPED):
            continue
        kernels = []
        for kernel in source.kernels:
            if not kernel.is_entry or kernel.digest in seen or (options.kernel and kernel.name not in options.kernel):
                continue
            if not all(text in kernel.text for text in options.containing or ()):
                continue
            seen.add(kernel.digest)
            kernels.append({"kernel": kernel.name, "recorded": recorded.get((folder.name, source.path, kernel.name))})
        if kernels:
            files = [path for k in kernels for path in launched_in.get(k["kernel"], ())]
            yield {
                "repository": folder.name,
                "root": str(folder),
                "file": source.path,
                "kernels": kernels,
                "launch_files": list(dict.fromkeys(files))[:8],
                "judge": options.judge,
                # A judged kernel has one result, over configurations that it chooses by itself.
                "targets": ["emulator"] if options.judge else options.target or list(TARGETS),
                "stages": [0] if options.judge else options.stages or list(STAGES),
                "seconds": options.seconds,
                "gigabytes": options.gigabytes,
            }


def selected(requests, options, known):
    """Applies --every, --shard and --limit to kernels, and leaves out what the results have."""
    position, left = 0, options.limit or 1 << 30
    for request in requests:
        kernels = []
        for entry in request["kernels"]:
            position += 1
            if position % options.every or (options.shard and position // options.every % options.shard[1] != options.shard[0]):
                continue
            key = (request["repository"], request["file"], entry["kernel"])
            done = known.get(key, [])
            wanted = [[t, s] for t in request["targets"] for s in request["stages"]]
            if left <= 0 or None in done or all(pair in done for pair in wanted):
                continue
            left -= 1
            kernels.append({**entry, "done": [pair for pair in done if pair]})
        if kernels:
            yield {**request, "kernels": kernels}


class Results:
    """The file of results, and a line of progress."""

    def __init__(self, path):
        self.file = open(path, "a")  # noqa: SIM115 - open as long as the campaign lasts
        self.lock = threading.Lock()
        self.counts = {}

    def add(self, repository, line):
        with self.lock:
            self.file.write(json.dumps({"repository": repository, **line}) + "\n")
            self.file.flush()
            self.counts[line["status"]] = self.counts.get(line["status"], 0) + 1

    def close(self):
        self.file.close()

    def progress(self, request):
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        print(f"{counts}: {request['repository']}/{request['file']}", flush=True)


class Server:
    """A worker process; started again where it has died."""

    def __init__(self, python, compiler, log, folder):
        self.command = [python, str(HERE / "compile_worker.py"), "--compiler", compiler]
        self.log, self.folder = log, folder
        paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths))}
        self.process = self.package = None

    def ask(self, request):
        """The results of one file. Each package gets a process of its own: it may change the compiler's classes."""
        package = request["repository"], dotted_name(Path(request["root"], request["file"]))[0].split(".")[0]
        if self.process is None or self.process.poll() is not None or self.package != package:
            self.close()
            self.package = package
            # Some modules make folders where they are imported.
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                text=True,
                cwd=self.folder,
                env=self.environment,
            )
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ended = "the worker died"
        for line in self.process.stdout:
            answer = json.loads(line)
            if "done" in answer:
                ended = f"the import ended with {answer['status']}" if answer["status"] else ""
                break
            yield answer
        if ended:
            for entry in request["kernels"]:
                yield {
                    "file": request["file"],
                    "kernel": entry["kernel"],
                    "status": "import",
                    "kind": "worker",
                    "message": ended,
                }

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


def run(requests, results, options, compiler):
    """Spreads the requests over the workers."""
    waiting = iter(requests)
    lock = threading.Lock()

    def work():
        with open(options.log or os.devnull, "a") as log, tempfile.TemporaryDirectory() as folder:
            server = Server(options.peer or sys.executable, compiler, log, folder)
            while True:
                with lock:
                    request = next(waiting, None)
                if request is None:
                    break
                for line in server.ask(request):
                    results.add(request["repository"], line)
                results.progress(request)
            server.close()

    threads = [threading.Thread(target=work) for _ in range(options.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.close()


def peer_requests(options):
    """What was refused, once per kernel, with the arguments it was refused with."""
    asked = {(r["repository"], r["file"], r["kernel"]) for r in read_results(peer_path(options.results))}
    for line in read_results(options.results):
        key = (line["repository"], line["file"], line["kernel"])
        if line["status"] not in ("refused", "error", "crash", "timeout") or "signature" not in line or key in asked:
            continue
        asked.add(key)
        recorded = {name: line[name] for name in ("signature", "constants", "divisibility", "options")}
        yield {
            "repository": line["repository"],
            "root": str(Path(options.sources, line["repository"])),
            "file": line["file"],
            "kernels": [{"kernel": line["kernel"], "recorded": recorded}],
            "launch_files": [],
            "targets": ["sm_90a"],
            "stages": [line["stages"]],
            "seconds": options.seconds,
            "gigabytes": options.gigabytes,
        }


def peer_path(path) -> str:
    return f"{path}.peer"


def known_configurations(path) -> dict:
    """Configurations that the results have, by kernel; None for a kernel that could not be imported."""
    known = {}
    for line in read_results(path):
        pair = [line["target"], line["stages"]] if "target" in line else None
        known.setdefault((line["repository"], line["file"], line["kernel"]), []).append(pair)
    return known


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", help="a folder with one checkout per folder")
    parser.add_argument("--results", required=True, help="JSON lines; read, and added to")
    parser.add_argument("--repository", action="append", help="part of a checkout's name; all where none is given")
    parser.add_argument("--kernel", action="append", help="name of a kernel")
    parser.add_argument("--containing", action="append", help="text that a kernel must contain")
    parser.add_argument("--judge", action="store_true", help="run guessed launches and compare; one result per kernel")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--stages", action="append", type=int)
    parser.add_argument("--limit", type=int, help="so many kernels at most")
    parser.add_argument("--every", type=int, default=1, help="every n-th kernel")
    parser.add_argument("--shard", type=lambda text: [int(n) for n in text.split("/")], help="i/n: the i-th of n parts, from 0")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="limit of one compilation, in computing time")
    parser.add_argument("--gigabytes", type=float, default=6, help="limit of one compilation")
    parser.add_argument("--recorded", help="JSON lines with recorded arguments")
    parser.add_argument("--peer", help="a Python with Triton: asks that about what was refused")
    parser.add_argument("--table", action="store_true", help="only print the summary of the results")
    parser.add_argument("--log", help="file for what the workers say")
    options = parser.parse_args(arguments)
    for name in ("sources", "peer"):  # workers run in folders of their own
        if path := getattr(options, name):
            setattr(options, name, os.path.abspath(path))
    return options


def main(arguments=None) -> int:
    options = parse_arguments(arguments)
    if not options.table:
        if options.peer:
            run(peer_requests(options), Results(peer_path(options.results)), options, "triton")
        else:
            seen, recorded = set(), read_recorded(options.recorded)
            requests = (
                r for f in repositories(options.sources, options.repository) for r in requests_of(f, options, seen, recorded)
            )
            run(
                selected(requests, options, known_configurations(options.results)),
                Results(options.results),
                options,
                "tilewright",
            )
    results = read_results(options.results)
    if options.judge:
        from suites.judge_kernels import summary  # loads the emulator

        print(summary(results))
        return 1 if any(r["status"] in ("WRONG", "stages", "fault", "crash") for r in results) else 0
    print(table(results, read_results(peer_path(options.results))))
    return 1 if any(r["status"] == "crash" or r.get("code") == "E0900" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
