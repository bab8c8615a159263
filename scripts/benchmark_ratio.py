#!/usr/bin/python3
"""How much does an event cost, compared with a loop written by hand for the same system?

Runs the simulator and the yardstick (tests/benchmarks/reference_loop.cpp), both built already, in
turn on one processor, and takes the ratio of their CPU times inside each round: the machine's speed
drifts, the ratio hardly does. Prints median, minimum and maximum over the rounds; the instructions
per event of both programs, if valgrind is installed; the same system by an engine of callbacks, and
in SimPy and ns-3, if those are; a million customers of the queue M/M/1 by `retrysim run`, and by
cimba's benchmark, if it is there; and, if asked, what the number of clients costs.
`--table` writes what it found into scripts/README.md; `compare_benchmarks.py` compares two results.

SPDX-License-Identifier: MIT
"""

import argparse
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import tomllib

import instruction_count
from benchmarking import results_table, scaling
from benchmarking.results_table import spread

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SYSTEM = ROOT / "tests" / "benchmarks" / "b1.toml"
QUEUE = ROOT / "tests" / "benchmarks" / "mm1.toml"
CIMBA = pathlib.Path("build", "benchmark", "MM1_single")  # in its folder
SIMPY_MODEL = pathlib.Path(__file__).resolve().parent / "benchmarking" / "simpy_model.py"
SIMPY_S, SIMPY_ROUNDS = 20, 3  # it takes some 6 us an event
NOT_INSTALLED = 77
FIGURES = ("events", "attempts", "cpu_s", "mean_ms", "peak_mib")
ROUNDS_MIN = 5


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def run(command):
    """The key=value pairs that a benchmark program prints, as numbers."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          preexec_fn=on_one_processor)
    if done.returncode != 0:
        sys.exit(f"benchmark_ratio: error: {command[0]} ended with {done.returncode}: "
                 f"{done.stderr.strip()}")
    pairs = (word.split("=", 1) for word in done.stdout.split() if "=" in word)
    values = {key: float(value) for key, value in pairs if key in FIGURES}
    if not {"events", "cpu_s"} <= values.keys():
        sys.exit(f"benchmark_ratio: error: {command[0]} did not print events= and cpu_s=")
    return values


def seconds(duration):
    """A duration of a scenario file, written in seconds."""
    return float(str(duration).removesuffix("s"))


def compare(rounds, overload=False):
    """Runs both programs in turn; returns the figures of each round but the first (warm-up)."""
    simulated_s = seconds(tomllib.loads(SYSTEM.read_text())["duration"])
    more = instruction_count.OVERLOAD if overload else {"retrysim": [], "reference": []}
    commands = {"retrysim": [BUILD / "tests" / "run_benchmark", SYSTEM, *more["retrysim"]],
                "reference": [BUILD / "tests" / "reference_loop", f"secs={simulated_s:g}",
                              *more["reference"]]}
    figures = []
    for _ in range(rounds + 1):
        figures.append({name: run(command) for name, command in commands.items()})
    return figures[1:]


def print_comparison(figures):
    for name in ("reference", "retrysim"):
        ns = [f[name]["cpu_s"] * 1e9 / f[name]["events"] for f in figures]
        line = f"{name:10} {spread(ns)} ns per event, {figures[-1][name]['events']:.0f} events"
        if "mean_ms" in figures[-1][name]:
            line += f", mean latency {figures[-1][name]['mean_ms']:.2f} ms"
        print(line)
    ratios = [f["retrysim"]["cpu_s"] / f["reference"]["cpu_s"] for f in figures]
    print(f"CPU time of retrysim / reference: {spread(ratios)}, {len(figures)} rounds")
    share = figures[-1]["retrysim"]["events"] / figures[-1]["reference"]["events"]
    if not 0.97 < share < 1.03:
        print(f"note: the simulator counts {share:.2f} times the reference's events")
    return ratios


def count_instructions():
    """Instructions per event of both programs, by system; empty without valgrind."""
    if not instruction_count.available():
        print("instructions per event: valgrind is not installed "
              "(scripts/install_dependencies bench)")
        return {}
    programs = BUILD / "tests"
    counts = {}
    for system, overload in (("healthy", False), ("overload", True)):
        simulator = instruction_count.of_simulator(programs / "run_benchmark", SYSTEM, overload)
        reference = instruction_count.of_reference(programs / "reference_loop_portable", overload)
        counts[system] = {"retrysim": simulator, "reference": reference}
        print(f"instructions per event, {system} system: retrysim {simulator:.0f}, "
              f"reference {reference:.0f}, ratio {simulator / reference:.2f}")
    return counts


def compare_with_simpy(figures):
    """SimPy's CPU time per event, and over ours in the same round; empty if it is not installed."""
    command = ["/usr/bin/python3", SIMPY_MODEL, f"secs={SIMPY_S}"]
    if subprocess.run([str(c) for c in command[:2]] + ["secs=1"],
                      capture_output=True).returncode == NOT_INSTALLED:
        print("SimPy: not installed (scripts/install_dependencies bench)")
        return {}
    ours = [f["retrysim"]["cpu_s"] / f["retrysim"]["events"] for f in figures]
    rounds = [run(command) for _ in range(SIMPY_ROUNDS)]
    per_event = [r["cpu_s"] / r["events"] for r in rounds]
    ratio = statistics.median(per_event) / statistics.median(ours)
    print(f"SimPy: {spread([s * 1e9 for s in per_event])} ns per event, mean latency "
          f"{rounds[0]['mean_ms']:.2f} ms; {ratio:.0f} times retrysim's CPU time")
    return {"rounds": rounds, "ratio_median": ratio}


def compare_with_callbacks(figures):
    """The same system by a general engine of callbacks, and by that of ns-3, if it is installed:
    their CPU time per event, and over ours."""
    simulated_s = seconds(tomllib.loads(SYSTEM.read_text())["duration"]) / 4
    ours = statistics.median(f["retrysim"]["cpu_s"] / f["retrysim"]["events"] for f in figures)
    results = {}
    for name, program in (("callbacks", "callback_model"), ("ns-3", "callback_model_ns3")):
        if not (BUILD / "tests" / program).exists():
            print(f"{name}: not installed when this was built")
            continue
        rounds = [run([BUILD / "tests" / program, f"secs={simulated_s:g}"])
                  for _ in range(len(figures) + 1)][1:]
        per_event = [r["cpu_s"] / r["events"] for r in rounds]
        ratio = statistics.median(per_event) / ours
        print(f"{name}: {spread([s * 1e9 for s in per_event])} ns per event; {ratio:.2f} times "
              "retrysim's CPU time, without its metrics")
        results[name] = {"rounds": rounds, "ratio_median": ratio}
    return results


def cpu_time(command):
    """What a whole process takes, its start included, in seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          preexec_fn=on_one_processor)
    if done.returncode != 0:
        sys.exit(f"benchmark_ratio: error: {command[0]} ended with {done.returncode}: "
                 f"{done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure_queue(rounds, cimba):
    """A million customers of M/M/1 by `retrysim run`, with all its metrics and files, and by
    cimba's benchmark, of which the only result is a mean."""
    with tempfile.TemporaryDirectory() as folder:
        ours = [BUILD / "retrysim", "run", QUEUE, "--no-reuse", "--quiet", "--no-progress",
                "--jobs", "1", "--force", "--out", pathlib.Path(folder, "out")]
        commands = {"retrysim": ours, **({"cimba": [cimba / CIMBA]} if cimba else {})}
        figures = [{name: cpu_time(command) for name, command in commands.items()}
                   for _ in range(rounds + 1)][1:]
    print("M/M/1, a million customers, whole process: retrysim "
          f"{spread([f['retrysim'] for f in figures])} s of CPU time")
    if not cimba:
        return {"rounds": figures}
    ratios = [f["retrysim"] / f["cimba"] for f in figures]
    print(f"  cimba {spread([f['cimba'] for f in figures])} s; retrysim / cimba: {spread(ratios)}")
    return {"rounds": figures, "ratio_median": statistics.median(ratios)}


def measure_scaling(most):
    """A table of what 1000 to `most` clients cost."""
    def simulate(arguments):
        return run([BUILD / "tests" / "run_benchmark", *arguments])

    points = []
    for system in scaling.SYSTEMS:
        points += scaling.measure(system, SYSTEM.parent, simulate, most)
    scaling.print_table(points)
    return [dataclasses.asdict(p) for p in points]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="default: 7")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--table", action="store_true",
                        help="write the table of scripts/README.md")
    parser.add_argument("--cimba", type=pathlib.Path, metavar="DIR",
                        help="also compare with cimba (github.com/ambonvik/cimba), built in the "
                             "folder `build` of DIR")
    parser.add_argument("--scaling", type=int, metavar="CLIENTS", nargs="?", const=scaling.MOST,
                        help="also measure 1000 clients, 10,000 and so on, up to so many "
                             "(default: 10^8), as far as memory and time allow")
    options = parser.parse_args()
    if options.rounds < ROUNDS_MIN:
        parser.error(f"{options.rounds} rounds are too few to tell; at least {ROUNDS_MIN}")
    page = results_table.PAGE.read_text() if options.table else ""
    if options.table and not results_table.BLOCK.search(page):
        sys.exit(f"benchmark_ratio: error: {results_table.PAGE} has no marks for the table")
    if options.cimba and not os.access(options.cimba / CIMBA, os.X_OK):
        parser.error(f"there is no program {options.cimba / CIMBA}")
    figures = compare(options.rounds)
    ratios = print_comparison(figures)
    print("The overload into which it turns:")
    in_overload = compare(options.rounds, overload=True)
    overload = print_comparison(in_overload)
    instructions = count_instructions()
    simpy = compare_with_simpy(figures)
    callbacks = compare_with_callbacks(figures)
    queue = measure_queue(options.rounds, options.cimba)
    points = measure_scaling(options.scaling) if options.scaling else []
    summary = {"ratio_median": statistics.median(ratios), "ratios": ratios, "rounds": figures,
               "overload": overload, "overload_rounds": in_overload,
               "instructions_per_event": instructions, "simpy": simpy,
               "callbacks": callbacks, "queue": queue, "scaling": points}
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n")
    if options.table:
        results_table.PAGE.write_text(results_table.rewrite(page, summary))


if __name__ == "__main__":
    main()
