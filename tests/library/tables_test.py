#!/usr/bin/python3
"""The tables of the library are the CSV files of the program, byte for byte: for a run of each
shipped scenario, and for every other question. write_tables also checks what <retrysim/table.hpp>
promises of each column.

SPDX-License-Identifier: MIT
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"

ZOMBIE, DIP, DEPLOY = (SCENARIOS / f"{name}.toml"
                       for name in ("fifo-zombie", "capacity-dip", "deploy"))
LOAD = "client.web.arrivals.total_rate"


def vary(*texts):
    return [argument for text in texts for argument in ("--vary", text)]


def outage(trigger, *varied):
    options = ["--trigger", trigger, "--tolerance", "0.2"]
    return ("tip", ZOMBIE, "tip", 4, [trigger, *varied], options + vary(*varied))


def varied(question, scenario, replications, *texts, options=()):
    return (question, scenario, question, replications, list(texts), [*vary(*texts), *options])


# (question, scenario, command, replications, arguments of write_tables, options of the program)
QUESTIONS = [
    ("run", DEPLOY, "run", 3, [], []),
    varied("compare", DIP, 3, "client.*.retry.max_attempts=1,2"),
    varied("compare", SCENARIOS / "layers-that-retry.toml", 2,
           "client.*.retry.backoff.jitter=full,equal"),
    varied("sweep", DEPLOY, 2, "fault.*.duration=10s:20s:10s", "client.*.retry.max_attempts=1,2"),
    varied("sweep", DEPLOY, 2, "client.*.retry.mode=legacy,standard"),
    outage("fault.outage.duration=0.5s:2s"),
    outage("fault.outage.duration=0.5s:2s", f"{LOAD}=300,350"),
    outage("fault.outage.duration=0.5s:2s", "client.web.attempt_timeout=1s,2s"),
    ("size", ZOMBIE, "size", 5, ["client.web.retry.max_attempts=1:4"],
     ["client.web.retry.max_attempts=1:4", "--slo", "success_rate>=0.5"]),
    ("hysteresis", ZOMBIE, "tip", 2, [f"{LOAD}=100:500:200"],
     ["--hysteresis", f"{LOAD}=100:500:200"]),
    varied("choose", DIP, 4, "client.standard.retry.max_attempts=1,2,3",
           options=["--maximize", "goodput", "--max-replications", "20",
                    "--subject-to", "success_rate>=0.1"]),
    ("advise", DEPLOY, "advise", 2, [], []),
    varied("map", ZOMBIE, 2, f"{LOAD}=50:550:250", "client.web.retry.max_attempts=1:4:1",
           options=["--confirm", "2"]),
    ("predict", DEPLOY, "predict", None, [], []),
    ("predict", SCENARIOS / "cascade.toml", "predict", None, [], []),
]


class Comparison:
    def __init__(self, program, writer, folder):
        self.program, self.writer, self.folder = program, writer, pathlib.Path(folder)
        self.failures, self.kinds, self.count = [], set(), 0

    def compare(self, question, scenario, command, replications, arguments, options):
        self.count += 1
        ours, theirs = self.folder / f"{self.count}-library", self.folder / f"{self.count}-program"
        edits = [] if replications is None else ["--set", f"replications={replications}"]
        if command == "fit":
            edits = []
        quiet = [] if command == "predict" else ["--quiet"]
        reuse = [] if command in ("predict", "fit") else ["--no-reuse"]
        ran = subprocess.run([self.program, command, scenario, *options, *edits, "--out", theirs,
                              *quiet, *reuse], capture_output=True, text=True, check=False)
        asked = subprocess.run([self.writer, question, scenario, ours, str(replications or 1),
                                *arguments], capture_output=True, text=True, check=False)
        name = f"{question} {scenario.name} {' '.join(arguments)}"
        if ran.returncode not in (0, 1) or asked.returncode != 0:
            self.failures.append(f"{name}: {ran.stderr}{asked.stderr}")
            return
        # A CSV file that the scenario reads is copied into the folder.
        inputs = {path.name for path in scenario.parent.glob("*.csv")}
        mine = {path.name for path in ours.iterdir()}
        files = {path.name for path in theirs.glob("*.csv")} - inputs - {"arrivals.csv"}
        if mine != files | (mine & {"arrivals.csv"}):
            self.failures.append(f"{name}: the library has {sorted(mine)}, "
                                 f"the program {sorted(files)}")
        for file in sorted(mine & files):
            self.kinds.add(file)
            if (ours / file).read_bytes() != (theirs / file).read_bytes():
                self.failures.append(f"{name}: {file} differs")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="run one in N of the shipped scenarios")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options.program, options.writer, folder)
        for question in QUESTIONS:
            comparison.compare(*question)
        for scenario in sorted(SCENARIOS.glob("*.toml"))[::options.every]:
            comparison.compare("run", scenario, "run", 1, [], [])
        log = pathlib.Path(folder) / "access.csv"
        subprocess.run([options.program, "run", DEPLOY, "--set", "replications=1", "--quiet",
                        "--no-reuse", "--out", pathlib.Path(folder) / "logged", "--access-log",
                        log], check=False, capture_output=True)
        comparison.compare("fit", log, "fit", None, [], [])
    for failure in comparison.failures:
        print(failure, file=sys.stderr)
    print(f"{comparison.count} results with {len(comparison.kinds)} kinds of tables: "
          f"{len(comparison.failures)} failures")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
