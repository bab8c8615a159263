#!/usr/bin/python3
"""Does `retrysim tip` find the tipping points that theory has?

    tip_cases.py --program PROGRAM [CASE...]

The rows of theory_cases.csv are the families fifo_zombie_outage and fifo_zombie_spike, whose D50 a
fluid with delay gives in units of the timeout, and fifo_zombie_quota_recovery, where a retry quota
lets the same system recover after a known time and its absence does not. All are
scenarios/fifo-zombie.toml with other numbers: 500 services in one timeout, so that the fluid holds
to 5 %. Without a CASE all rows are checked, in a few minutes. Exit status 1 if one disagrees.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCENARIO = HERE.parent.parent / "scenarios" / "fifo-zombie.toml"
SERVICES_PER_TIMEOUT = 500
CLOSENESS = 0.05  # of the fluid, where mu T >= 500
# The law of the recovery time is a balance of work: to 15 % or 2.5 s, if that is more.
RECOVERY_SHARE, RECOVERY_SECONDS = 0.15, 2.5
QUOTA_FAMILY = "fifo_zombie_quota_recovery"
QUANTITY = {"fifo_zombie_outage": "D50_over_T", "fifo_zombie_spike": "D50_over_T",
            QUOTA_FAMILY: "recovery_time_after_outage"}


def cases():
    """(id, family, parameters, exact value) of each row."""
    with open(HERE / "theory_cases.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["quantity"] == QUANTITY.get(row["model"]):
                parameters = dict(pair.split("=") for pair in row["params"].split(";"))
                yield row["case"], row["model"], parameters, float(row["value"])


def edits(**keys):
    """--set options; `__` stands for the dots of a path."""
    return [word for path, value in keys.items()
            for word in ("--set", f"{path.replace('__', '.')}={value}")]


def system(parameters):
    return edits(client__web__arrivals__total_rate=float(parameters["rho"]) * SERVICES_PER_TIMEOUT,
                 client__web__retry__max_attempts=parameters["n"], duration="200s")


class Runner:
    def __init__(self, program, replications, tolerance):
        self.program, self.replications, self.tolerance = program, replications, tolerance

    def result(self, command, *words):
        """result.json and exit status of a command on the scenario."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [self.program, command, str(SCENARIO), "--replications", str(self.replications),
                 "--format", "json", "--out", f"{folder}/out", *words],
                stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"tip_cases.py: error: {command} ended with status {done.returncode}")
        return json.loads(done.stdout), done.returncode

    def tipping_point(self, family, parameters, exact):
        """D50 with its interval. The range is not centred at the exact value."""
        trigger = "fault.outage.duration"
        words = system(parameters)
        if family == "fifo_zombie_spike":
            trigger = "client.web.surge.spike.duration"
            words += edits(fault__outage__capacity=1, fault__outage__duration="1ms",
                           client__web__surge__spike__start="15s",
                           client__web__surge__spike__duration="1s",
                           client__web__surge__spike__factor=parameters["f"])
        words += ["--trigger", f"{trigger}={0.8 * exact:.3f}:{1.3 * exact:.3f}",
                  "--tolerance", str(self.tolerance)]
        found, _ = self.result("tip", *words)
        d50 = found["d50"]
        if d50 is None:
            return None
        twins = min((p for p in found["probes"] if p["tipped"] > 0),
                    key=lambda p: abs(p["probability"] - 0.5))
        note = (f"{twins['metastable']} of {twins['tipped']} that tip at {twins['value']:.4g} are "
                f"metastable; {found['not_monotone']} not monotone")
        return d50["value"], d50["ci_low"], d50["ci_high"], note

    def recovery(self, parameters):
        """Median recovery with the quota, and what the same system does without."""
        words = system(parameters) + edits(
            recovery="{ share = 0.85, hold = 8, window = 1 }", client__web__count=parameters["N"],
            fault__outage__duration=parameters["outage"])
        rules = (f'mode = "standard", max_attempts = {parameters["n"]}, backoff.base = 0, '
                 f'quota.capacity = {parameters["quota"]}, '
                 f'quota.timeout_cost = {parameters["timeout_cost"]}')
        quota = edits(client__web__retry=f"{{ {rules} }}")
        rows = self.result("run", "--twin", *words, *quota)[0]["summary"]
        with_quota = {r["metric"]: r for r in rows if r["client"] == "all"}
        rows = self.result("run", "--twin", *words)[0]["summary"]
        without = {r["metric"]: r for r in rows if r["client"] == "all"}
        median = with_quota.get("recovery_median_s")
        metastable = without["metastable_probability"]["mean"]
        if median is None or metastable < 1:
            return None
        return (median["mean"], median["ci_low"], median["ci_high"],
                f"without quota metastable in {100 * metastable:.0f} % of the replications")


def check(runner, case, family, parameters, exact):
    """Prints a line; whether simulation and theory agree."""
    quota = family == QUOTA_FAMILY
    found = (runner.recovery(parameters) if quota
             else runner.tipping_point(family, parameters, exact))
    margin = (max(RECOVERY_SECONDS, RECOVERY_SHARE * exact) if quota else CLOSENESS * exact)
    text = ";".join(f"{k}={parameters[k]}" for k in ("rho", "n", "f", "N", "outage")
                    if k in parameters)
    if found is None:
        print(f"{case:6}{family:28}{text:30}{exact:9.4f}  not found  disagrees", flush=True)
        return False
    value, low, high, note = found
    agrees = abs(value - exact) <= margin
    print(f"{case:6}{family:28}{text:30}{exact:9.4f}{value:9.4f}  ({low or float('nan'):.4f} to "
          f"{high or float('nan'):.4f}){value / exact:8.3f}  "
          f"{'agrees' if agrees else 'disagrees'}; {note}", flush=True)
    return agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--tolerance", type=float, default=0.005)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="such as P114; default: all")
    options = parser.parse_args()
    runner = Runner(options.program, options.replications, options.tolerance)
    rows = [c for c in cases() if not options.cases or c[0] in options.cases]
    if not rows or len(rows) < len(set(options.cases)):
        parser.error("no such case; those of fifo_zombie_outage, fifo_zombie_spike and "
                     "fifo_zombie_quota_recovery are P112 to P121 and P159 to P162")
    print(f"{'case':6}{'family':28}{'parameters':30}{'theory':>9}{'found':>9}  (95 % interval)   "
          "  ratio  verdict")
    return 0 if all([check(runner, *row) for row in rows]) else 1


if __name__ == "__main__":
    sys.exit(main())
