#!/usr/bin/python3
"""Two results of `scripts/bench --json FILE`, figure by figure.

  compare_benchmarks.py BEFORE.json AFTER.json

Instructions are exact: exit status 1 if a count has risen by more than 1 %. Times are not: those of
two calls are printed, but decide nothing. Figures that only one of the files has are left out.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import pathlib
import statistics
import sys

RISE_MAX = 0.01


def figures(results):
    """The figures of one file by name, in the order in which they are printed."""
    named = {}
    for system, counts in results.get("instructions_per_event", {}).items():
        for program, count in counts.items():
            named[f"instructions per event, {system}, {program}"] = count
    if "ratio_median" in results:
        named["CPU time of retrysim / reference"] = results["ratio_median"]
    if results.get("overload"):
        named["CPU time of retrysim / reference, overload"] = statistics.median(results["overload"])
    if results.get("simpy"):
        named["CPU time per event of SimPy / retrysim"] = results["simpy"]["ratio_median"]
    if "ratio_median" in results.get("queue", {}):
        named["CPU time of retrysim / cimba, M/M/1"] = results["queue"]["ratio_median"]
    for point in results.get("scaling", []):
        name = f"{point['system']}, {point['clients']} clients"
        named[f"ns per event, {name}"] = point["ns_per_event"]
        named[f"peak MiB, {name}"] = point["peak_mib"]
    return named


def risen(before, after):
    """Names of the instruction counts of the simulator that have risen too far."""
    return [name for name in before
            if name in after and name.startswith("instructions") and name.endswith("retrysim")
            and after[name] > before[name] * (1 + RISE_MAX)]


def read(path):
    try:
        results = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"compare_benchmarks: error: {path}: {error}")
    if not isinstance(results, dict):
        sys.exit(f"compare_benchmarks: error: {path}: not a result of scripts/bench")
    return figures(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    options = parser.parse_args()
    before, after = read(options.before), read(options.after)
    both = [name for name in before if name in after]
    if not both:
        sys.exit("compare_benchmarks: error: the two files have no figure in common")
    width = max(map(len, both))
    print(f"{'':{width}}{'before':>12}{'after':>12}{'change':>10}")
    for name in both:
        change = (after[name] / before[name] - 1) * 100 if before[name] else 0.0
        print(f"{name:{width}}{before[name]:12.2f}{after[name]:12.2f}{change:+9.1f} %")
    worse = risen(before, after)
    for name in worse:
        print(f"compare_benchmarks: error: {name}: more than {RISE_MAX:.0%} above what it was",
              file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
