# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and records of a run of suites."""

import gzip
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from causes import cause, error_code, first_line, grouped

BAD = ("failed", "crashed", "timeout")
# What says that the machine lacks something, where it is said under both implementations.
LACKS = ("ModuleNotFoundError", "ImportError", "OSError", "FileNotFoundError")


@dataclass
class Outcome:
    """What became of the tests of one suite under both implementations."""

    suite: object
    commit: str
    tilewright: dict = field(default_factory=dict)
    triton: dict = field(default_factory=dict)
    not_run: int = 0

    def count(self, *outcomes) -> int:
        return sum(line["outcome"] in outcomes for line in self.tilewright.values())

    def failed_only_here(self) -> list:
        """Tests that Triton passes. A file that cannot be imported here counts as one, where Triton imports it."""
        names = []
        for name, line in self.tilewright.items():
            if line["outcome"] not in BAD:
                continue
            other = self.triton.get(name)
            if other is not None and other["outcome"] == "passed":
                names.append(name)
            elif (
                other is None
                and line["phase"] in ("collect", "process")
                and "::" not in name
                and any(
                    each.startswith(name.split(" ")[0]) and there["outcome"] == "passed" for each, there in self.triton.items()
                )
            ):
                names.append(name)
        return names

    def unavailable(self) -> list:
        """What neither implementation could try: the suite needs a package or a file that this machine lacks."""
        names = []
        for name, line in self.tilewright.items():
            there = self.triton.get(name)
            if line["outcome"] in BAD and there is not None and there["outcome"] in BAD:
                here = first_line(line["text"])
                if here.startswith(LACKS) and here == first_line(there["text"]):
                    names.append(name)
        return names

    def not_asked(self) -> list:
        """Failures here of which Triton did not say anything."""
        known = set(self.failed_only_here())
        return [
            name
            for name, line in self.tilewright.items()
            if line["outcome"] in BAD and name not in self.triton and name not in known
        ]

    def seconds(self) -> tuple:
        """How many tests pass under both, and their seconds here and there."""
        both = [
            name
            for name, line in self.tilewright.items()
            if line["outcome"] == "passed" and self.triton.get(name, {}).get("outcome") == "passed"
        ]
        here, there = (sum(results[name]["seconds"] for name in both) for results in (self.tilewright, self.triton))
        return len(both), round(here, 1), round(there, 1)

    def row(self) -> dict:
        both, here, there = self.seconds()
        bad, only_here, unavailable, not_asked = (
            self.count(*BAD),
            len(self.failed_only_here()),
            len(self.unavailable()),
            len(self.not_asked()),
        )
        return {
            "suite": self.suite.name,
            "repository": self.suite.repository,
            "area": self.suite.area,
            "commit": self.commit,
            "passed": self.count("passed"),
            "failed": bad - unavailable,
            "failed_only_here": only_here,
            "failed_under_both": bad - only_here - unavailable - not_asked,
            "not_asked": not_asked,
            "crashed": self.count("crashed"),
            "timed_out": self.count("timeout"),
            "unavailable": unavailable,
            "skipped": self.count("skipped"),
            "not_run": self.not_run,
            "seconds": round(sum(line["seconds"] for line in self.tilewright.values()), 1),
            "passed_under_both": both,
            "seconds_of_those_here": here,
            "seconds_of_those_under_triton": there,
        }


def outcomes_of(arguments, suites, jobs) -> list:
    """One for each suite that was asked for by name or has a checkout."""
    outcomes = []
    for suite in suites:
        commit = suite.checkout(arguments.checkouts) / "COMMIT"
        if not arguments.suite and not commit.exists():
            continue
        outcome = Outcome(suite, commit.read_text().strip() if commit.exists() else "unknown")
        for job in jobs:
            if job.suite is suite:
                getattr(outcome, job.implementation).update(job.results)
                if job.implementation == "tilewright":
                    outcome.not_run += len(job.not_run)
        outcomes.append(outcome)
    return outcomes


def failed_otherwise(failure) -> bool:
    """Whether Triton's failure says nothing about this one: a launch that it refuses hides a wrong result here."""
    return bool(failure["triton_cause"]) and failure["triton_cause"] != failure["cause"]


def failures_of(outcomes) -> list:
    failures = []
    for outcome in outcomes:
        only_here = set(outcome.failed_only_here())
        for name, line in outcome.tilewright.items():
            if line["outcome"] not in BAD:
                continue
            there = outcome.triton.get(name, {})
            failures.append(
                {
                    "suite": outcome.suite.name,
                    "id": name,
                    "outcome": line["outcome"],
                    "phase": line["phase"],
                    "code": error_code(line["text"]),
                    "error": first_line(line["text"]),
                    "cause": cause(line["text"]),
                    "only_here": name in only_here,
                    "triton": there.get("outcome", "not run"),
                    "triton_error": first_line(there.get("text", "")) if there.get("outcome") in BAD else "",
                    "triton_cause": cause(there.get("text", "")) if there.get("outcome") in BAD else "",
                    "text": line["text"][-1500:],
                }
            )
    return failures


def machine() -> dict:
    """Board and versions, for the table's heading; empty where there is no GPU."""
    code = (
        "import json, torch, importlib.metadata as m\n"
        "gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'\n"
        "v = {}\n"
        "for n in ('torch', 'triton', 'tilewright', 'pytest'):\n"
        "    try: v[n] = m.version(n)\n"
        "    except Exception: v[n] = ''\n"
        "print(json.dumps({'board': gpu, **v}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    try:
        return json.loads(ran.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"board": "unknown"}


COLUMNS = [
    ("suite", "suite"),
    ("commit", "commit"),
    ("passed", "passed"),
    ("failed", "failed"),
    ("failed_only_here", "only here"),
    ("failed_under_both", "under both"),
    ("not_asked", "Triton not asked"),
    ("crashed", "process died"),
    ("timed_out", "too slow"),
    ("unavailable", "not for this machine"),
    ("skipped", "skipped"),
    ("not_run", "not run"),
    ("passed_under_both", "passed under both"),
    ("seconds_of_those_here", "their seconds"),
    ("seconds_of_those_under_triton", "under Triton"),
]
PAGE_COLUMNS = [
    ("suite", "suite"),
    ("area", "area"),
    ("commit", "commit"),
    ("passed", "passed"),
    ("failed_only_here", "failed only here"),
    ("failed_under_both", "failed under both"),
    ("not_asked", "failed, not compared"),
    ("skipped", "skipped"),
]
BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"


def table(rows, columns=COLUMNS) -> str:
    lines = ["| " + " | ".join(title for _, title in columns) + " |", "|" + "---|" * len(columns)]
    total = {key: "" if isinstance(rows[0][key], str) else sum(row[key] for row in rows) for key, _ in columns} if rows else {}
    for row in [*rows, {**total, "suite": "together"}] if rows else []:
        values = {**row, "commit": row["commit"][:10]}
        lines.append(
            "| "
            + " | ".join(f"{values[key]:.0f}" if isinstance(values[key], float) else str(values[key]) for key, _ in columns)
            + " |"
        )
    return "\n".join(lines) + "\n"


def causes_table(groups, most=60) -> str:
    lines = ["| tests | code | cause | suites |", "|---|---|---|---|"]
    for group in groups[:most]:
        text = group["cause"].replace("|", "\\|")
        lines.append(f"| {group['count']} | {group['code']} | {text} | {', '.join(group['suites'])} |")
    return "\n".join(lines) + "\n"


def findings_text(jobs) -> str:
    """What `tilewright check` said: per suite the launches, and each finding once."""
    lines = []
    for suite in sorted({job.suite.name for job in jobs}):
        reports = [report for job in jobs if job.suite.name == suite for report in job.checked]
        launches = [launch for report in reports for launch in report["launches"]]
        kernels = {(launch["file"], launch["line"]) for launch in launches}
        found = {
            (
                group["code"],
                group["frames"][0]["file"] if group["frames"] else "",
                group["frames"][0]["line"] if group["frames"] else 0,
            ): group
            for report in reports
            for group in report["findings"]
        }
        lines.append(f"{suite}: {len(launches)} launches of {len(kernels)} kernels, {len(found)} findings")
        for (code, file, line), group in found.items():
            lines += [
                f"  {code} {file}:{line} {group['kernel']}: {group['text']}",
                f"      {group['frames'][0]['source_line'] if group['frames'] else ''}",
            ]
            lines += [f"      note: {note}" for note in group["notes"]]
    return "\n".join(lines) + "\n"


def write_report(arguments, suites, jobs, seconds: float):
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    outcomes = outcomes_of(arguments, suites, jobs)
    rows = [outcome.row() for outcome in outcomes]
    failures = failures_of(outcomes)
    only_here = [failure for failure in failures if failure["only_here"]]
    otherwise = [failure for failure in failures if failed_otherwise(failure)]
    summary = {
        "date": time.strftime("%Y-%m-%d"),
        **machine(),
        "seconds": round(seconds),
        "sample": arguments.sample,
        "suites": rows,
        "causes_only_here": grouped(only_here),
        "causes_otherwise": grouped(otherwise),
        "causes": grouped(failures),
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1))
    with open(out / "failures.jsonl", "w") as file:
        file.writelines(json.dumps(failure) + "\n" for failure in failures)
    with gzip.open(out / "tests.jsonl.gz", "wt") as file:
        for outcome in outcomes:
            for implementation in ("tilewright", "triton"):
                for name, line in getattr(outcome, implementation).items():
                    kept = {key: line[key] for key in ("outcome", "phase", "seconds")}
                    file.write(json.dumps({"suite": outcome.suite.name, "under": implementation, "id": name, **kept}) + "\n")
    text = (
        f"{summary['board']}, torch {summary.get('torch', '')}, Triton {summary.get('triton', '')}, {summary['date']}, "
        f"{seconds:.0f} s\n\n"
        f"{table(rows)}\nFailed here and not under Triton:\n\n{causes_table(summary['causes_only_here'])}\n"
        f"Failed under Triton as well, with another error:\n\n{causes_table(summary['causes_otherwise'])}\n"
        f"All failures here:\n\n{causes_table(summary['causes'])}"
    )
    (out / "table.md").write_text(text)
    if any(job.checked for job in jobs):
        (out / "findings.md").write_text(findings_text(jobs))
    with open(out / "ends.txt", "w") as file:
        for job in jobs:
            if (
                any(line["outcome"] in BAD and line["phase"] in ("collect", "process") for line in job.results.values())
                or not job.results
            ):
                file.write(f"==== {job.name}\n{job.output_tail}\n")
    print(text)


def page_section(summary: dict) -> str:
    """The table of docs/compatibility.md, from the summary.json of a run."""
    rows = [{**row, "suite": f"[{row['suite']}](https://github.com/{row['repository']})"} for row in summary["suites"]]
    sample = {"suite": "a sample of each test function's cases", "all": "all cases"}.get(
        summary["sample"], f"{summary['sample']} of each test function's cases"
    )
    return (
        f"{summary['board']}, torch {summary['torch']}, Triton {summary['triton']}, {summary['date']}; {sample}.\n\n"
        f"{table(rows, PAGE_COLUMNS)}"
    )


def merged(summaries) -> dict:
    """Several runs as one: of each suite what the last run of it says."""
    rows = {row["suite"]: row for summary in summaries for row in summary["suites"]}
    return {**summaries[-1], "suites": list(rows.values())}


def main() -> int:
    """Puts the table of a run, or of several, into the page.

    python tests/suites/report.py SUMMARY.json [SUMMARY.json ...] docs/compatibility.md
    """
    summaries, page = [json.loads(Path(name).read_text()) for name in sys.argv[1:-1]], Path(sys.argv[-1])
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{page_section(merged(summaries))}{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
