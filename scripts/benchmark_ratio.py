#!/usr/bin/python3
"""How much does an event cost, compared with a loop written by hand for the same system?

Runs the simulator and the yardstick (tests/benchmarks/reference_loop.cpp), both built already, in
turn on one processor, and takes the ratio of their CPU times inside each round: the machine's speed
drifts, the ratio hardly does. Prints median, minimum and maximum over the rounds, and the
instructions per event of both programs if valgrind is installed.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tomllib

import instruction_count

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SYSTEM = ROOT / "tests" / "benchmarks" / "b1.toml"
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
    values = {key: float(value) for key, value in pairs if key in ("events", "cpu_s", "mean_ms")}
    if not {"events", "cpu_s"} <= values.keys():
        sys.exit(f"benchmark_ratio: error: {command[0]} did not print events= and cpu_s=")
    return values


def seconds(duration):
    """A duration of a scenario file, written in seconds."""
    return float(str(duration).removesuffix("s"))


def compare(rounds):
    """Runs both programs in turn; returns the figures of each round but the first (warm-up)."""
    simulated_s = seconds(tomllib.loads(SYSTEM.read_text())["duration"])
    commands = {"retrysim": [BUILD / "tests" / "run_benchmark", SYSTEM],
                "reference": [BUILD / "tests" / "reference_loop", f"secs={simulated_s:g}"]}
    figures = []
    for _ in range(rounds + 1):
        figures.append({name: run(command) for name, command in commands.items()})
    return figures[1:]


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


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
              "(scripts/install_dependencies test)")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="default: 7")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    if options.rounds < ROUNDS_MIN:
        parser.error(f"{options.rounds} rounds are too few to tell; at least {ROUNDS_MIN}")
    figures = compare(options.rounds)
    ratios = print_comparison(figures)
    instructions = count_instructions()
    if options.json:
        summary = {"ratio_median": statistics.median(ratios), "ratios": ratios, "rounds": figures,
                   "instructions_per_event": instructions}
        options.json.write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
