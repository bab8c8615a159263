#!/usr/bin/env python3
"""Does `run --uncertain` know how sure it is? For random systems near the edge of recovery: their
access log, `fit`, and the share of draws that recover, against what the system itself does when the
same fault hits it. Fails if in one of five bins of that share the systems recover more than ten
points more or less often, or if the Brier score is not better than that of the fitted values alone.

    uncertain.py --program build/ci/retrysim [--systems 5]
    uncertain.py --program build/ci/retrysim --find     # looks for the systems anew

The systems are in uncertain_systems.csv. The length of each fault is up to a third more or less
than the one from which half of the runs do not recover: elsewhere all is certain.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

SYSTEMS = pathlib.Path(__file__).with_name("uncertain_systems.csv")
COUNT = 50
BINS = 5
MOST_OFF = 0.10
# With five systems a bin says nothing; then only the scores are compared, and the mean.
FEWEST_FOR_BINS = 30
MOST_OFF_OF_FEW = 0.35
RUNS = 40
DRAWS = 100


def law(row):
    mean = f"{float(row['mean_s']):.6f}s"
    return {"exponential": f'{{ distribution = "exponential", mean = "{mean}" }}',
            "lognormal": f'{{ distribution = "lognormal", mean = "{mean}", cv = 0.7 }}',
            "gamma": f'{{ distribution = "gamma", mean = "{mean}", shape = 3 }}'}[row["law"]]


def client(row):
    """The client's policy, which a log does not tell: TOML of its retries, and its timeout."""
    retry = (f'{{ mode = "custom", max_attempts = {row["attempts"]}, '
             f'backoff.base = "{row["base"]}", backoff.cap = "2s", backoff.jitter = "full" }}')
    return retry, row["timeout"]


def scenario(row, fault_s=None):
    retry, timeout = client(row)
    text = f"""name = "system"
duration = "{row['log_s']}s"
replications = 1
recovery.hold = "10s"
[service.api]
servers = {row['servers']}
service_time = {law(row)}
[client.web]
arrivals = {{ process = "poisson", total_rate = {row['rate']} }}
attempt_timeout = "{timeout}"
retry = {retry}
"""
    return text + (fault(fault_s) if fault_s else "")


def fault(seconds, service=""):
    at = f'service = "{service}"\n' if service else ""
    return f'\n[fault.outage]\n{at}start = "20s"\nduration = "{seconds}s"\ncapacity = 0\n'


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, fails_with=()):
        done = subprocess.run([self.path, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0 and done.returncode not in fails_with:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def result(self, folder):
        return json.loads((self.folder / folder / "result.json").read_text(encoding="utf-8"))

    def rows(self, folder, name):
        with open(self.folder / folder / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def recovered(program, folder):
    """The share of runs that recover."""
    for row in program.rows(folder, "summary.csv"):
        if row["client"] == "all" and row["metric"] == "recovered":
            return float(row["mean"])
    sys.exit(f"{folder}: nothing to recover from")


# --- The systems ---------------------------------------------------------------------------------

def find(program):
    draw = random.Random(20261129)
    rows = []
    while len(rows) < COUNT:
        servers, rate = draw.randint(3, 12), round(draw.uniform(40, 110), 1)
        mean = round(draw.uniform(0.72, 0.92) * servers / rate, 5)
        row = {"servers": servers, "rate": rate, "mean_s": mean,
               "law": draw.choice(["exponential", "lognormal", "gamma"]),
               "attempts": draw.choice([2, 3, 4]), "base": f"{draw.randint(50, 200)}ms",
               "timeout": f"{draw.uniform(12, 25) * mean:.3f}s",
               "log_s": draw.choice([20, 30, 45])}
        program.write("system.toml", scenario(row, 1))
        program("tip", "system.toml", "--trigger", "fault.outage.duration=0.1s:20s", "--set",
                "duration=80s", "--set", "replications=8", "--quiet", "--out", "tip",
                "--force", fails_with=(1, 2, 3))
        found = program.result("tip")
        if found.get("outcome") != "found":
            continue
        d50 = found["d50"]["value"]
        row["fault_s"] = round(d50 * math.exp(draw.uniform(-0.3, 0.3)), 3)
        rows.append(row)
        print(len(rows), row, flush=True)
    with open(SYSTEMS, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# --- What is said of each, and what is true ------------------------------------------------------

def judge(program, row, number):
    """The share of draws that recover, that of runs with the fitted values, and that of the
    system."""
    retry, timeout = client(row)
    program.write("log.toml", scenario(row))
    program("run", "log.toml", "--seed", 1000 + number, "--quiet", "--access-log", "access.csv",
            "--out", "log", "--force")
    program("fit", "access.csv", "--out", "fitted", "--quiet", "--force")
    fitted = (program.folder / "fitted" / "scenario.toml").read_text(encoding="utf-8")
    (program.folder / "fitted" / "scenario.toml").write_text(
        fitted + fault(row["fault_s"]), encoding="utf-8")
    same = ["--set", "duration=80s", "--set", "recovery.hold=10s"]
    policy = ["--set", f"client.clients.attempt_timeout={timeout}", "--set",
              f"client.clients.retry={retry}"]
    once = ["--quiet", "--no-reuse", "--force"]
    program("run", "fitted/scenario.toml", "--uncertain", "--replications", DRAWS, *same, *policy,
            *once, "--out", "drawn")
    answer = program.result("drawn")["uncertain"]
    program("run", "fitted/scenario.toml", "--replications", RUNS, *same, *policy, *once, "--out",
            "point")
    program.write("truth.toml", scenario(row, row["fault_s"]))
    program("run", "truth.toml", "--replications", RUNS, "--seed", 7, *same, *once, "--out",
            "truth")
    return answer["share"], recovered(program, "point"), recovered(program, "truth"), answer


def brier(pairs):
    """Of what is said of a single run: the mean of (said - 1 or 0)^2 over what may happen."""
    return sum(q * (1 - p) ** 2 + (1 - q) * p ** 2 for p, q in pairs) / len(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--systems", type=int, default=COUNT)
    parser.add_argument("--find", action="store_true")
    options = parser.parse_args()
    path = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, pathlib.Path(folder))
        if options.find:
            return find(program)
        with open(SYSTEMS, encoding="utf-8", newline="") as file:
            systems = list(csv.DictReader(file))
        systems = systems[:: max(1, len(systems) // options.systems)][: options.systems]
        drawn, point = [], []
        for number, row in enumerate(systems):
            said, fitted, truth, answer = judge(program, row, number)
            drawn.append((said, truth))
            point.append((fitted, truth))
            keys = ", ".join(key.split(".")[-1] for key in answer["deciding"])
            print(f"{number + 1:3}: {said:.2f} of the draws, {fitted:.2f} with the fitted values, "
                  f"{truth:.2f} of the system's own runs ({keys or 'no key decides'})", flush=True)
    return conclude(drawn, point)


def conclude(drawn, point):
    wrong = []
    scores = brier(drawn), brier(point)
    print(f"Brier score {scores[0]:.4f}, of the fitted values {scores[1]:.4f}")
    if len(drawn) >= FEWEST_FOR_BINS and scores[0] >= scores[1]:
        wrong.append("the fitted values alone have the better score")
    bins = BINS if len(drawn) >= FEWEST_FOR_BINS else 1
    most = MOST_OFF if bins > 1 else MOST_OFF_OF_FEW
    for i in range(bins):
        inside = [(p, q) for p, q in drawn if i <= p * bins < i + 1 or (p == 1 and i == bins - 1)]
        if not inside:
            continue
        said = sum(p for p, _ in inside) / len(inside)
        true = sum(q for _, q in inside) / len(inside)
        print(f"{i / bins:.1f} to {(i + 1) / bins:.1f}: {len(inside)} systems, said {said:.2f}, "
              f"true {true:.2f}")
        if abs(said - true) > most:
            wrong.append(f"said {said:.2f}, true {true:.2f}")
    for what in wrong:
        print("WRONG:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
