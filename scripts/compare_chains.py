#!/usr/bin/python3 -B
"""Holds the chain's mean time to collapse against simulations of random scenarios.

Each is a queue with a bound, exponential services, Poisson arrivals and a fixed attempt timeout, as
the chain wants it, whose predicted time to collapse is short enough to be waited for. Simulations
run for six times that time; the mean is the time until the queue is 90 % full, all replications
together, per collapse that was seen. With --goodput it is the time until fewer than half of the
requests succeed for five timeouts and backoffs, which comes later where a full queue drains again.

Prints a table, one row for each, by the ratio of prediction to simulation, and the quantiles of it,
of all and by the length of the backoff.
The exit status is 1 if a ratio lies outside --least and --most.

Usage: scripts/compare_chains.py --program build/release/retrysim [--chains 60] [--seed 1]

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SERVICE_S = 0.1
REPLICATIONS = 32
TIMES = 6  # the predicted time


def draw_chain(draw):
    """The keys of one scenario and what is printed of it."""
    servers = draw.choice([1, 1, 2, 4])
    rate = servers / SERVICE_S
    patience = draw.choice([8, 12, 20, 30])  # services in a timeout
    places = round(patience * draw.choice([1.5, 2, 3]))
    attempts = draw.choice([2, 3, 4, 5])
    backoff = draw.choice([0, 0.3, 1]) * patience / rate
    law = draw.choice(["constant", "exponential"])
    load = draw.uniform(0.4, 0.95)
    delay = f'"{backoff * 1e3:.3f}ms"'
    if law == "exponential" and backoff > 0:
        delay = f'{{ distribution = "exponential", mean = {delay} }}'
    timeout_s = patience / rate
    text = (f'service.api.servers = {servers}\n'
            f'service.api.service_time = {{ distribution = "exponential", mean = "100ms" }}\n'
            f'service.api.queue.capacity = {places}\n'
            f'service.api.overflow = "drop"\n'
            f'client.web.arrivals = {{ process = "poisson", total_rate = {load * rate:.6f} }}\n'
            f'client.web.attempt_timeout = "{timeout_s * 1e3:.3f}ms"\n'
            f'client.web.retry = {{ mode = "custom", max_attempts = {attempts}, '
            f'delays = [{delay}] }}\n')
    return text, {"servers": servers, "load": f"{load:.3f}", "services in a timeout": patience,
                  "places": places + servers, "attempts": attempts,
                  "backoff": f"{backoff / timeout_s:g} {'exp.' if law != 'constant' else ''}"},\
        places + servers


def head(duration_s, interval_s, seed):
    return (f'name = "chain"\nduration = {duration_s:.3f}\ninterval = {interval_s:.6f}\n'
            f'seed = {seed}\nreplications = {REPLICATIONS}\ndrain = false\n')


def predicted(program, path):
    done = subprocess.run([program, "predict", path, "--format", "json"], check=True,
                          capture_output=True, text=True)
    for f in json.loads(done.stdout)["figures"]:
        if f["part"] == "chain" and f["name"] == "collapse_time":
            return f["value"]
    return None


def simulated(program, path, folder, full, interval_s):
    """Time that was watched, and collapses that were seen."""
    out = folder / "out"
    subprocess.run([program, "run", path, "--out", out, "--force", "--quiet", "--no-progress",
                    "--jobs", "1"], check=True, capture_output=True)
    watched, collapses, over = 0.0, 0, set()
    with (out / "service.csv").open() as file:
        for row in csv.DictReader(file):
            if row["replication"] in over:
                continue
            watched += interval_s
            if float(row["queue_max"]) + float(row["servers"]) >= full:
                collapses += 1
                over.add(row["replication"])
                watched -= interval_s / 2
    return watched, collapses


def good_for(program, path, folder, span_s, interval_s):
    """The same until goodput collapses: to the middle of the first span with too few successes."""
    out = folder / "out"
    subprocess.run([program, "run", path, "--out", out, "--force", "--quiet", "--no-progress",
                    "--jobs", "1"], check=True, capture_output=True)
    counts = {}
    with (out / "timeseries.csv").open() as file:
        for row in csv.DictReader(file):
            counts.setdefault(row["replication"], []).append(
                (float(row["requests"]), float(row["successes"])))
    watched, collapses, bins = 0.0, 0, max(1, math.ceil(span_s / interval_s))
    for rows in counts.values():
        for i in range(len(rows) - bins + 1):
            requests, successes = map(sum, zip(*rows[i:i + bins]))
            if successes < 0.5 * requests:
                collapses += 1
                watched += (i + bins / 2) * interval_s
                break
        else:
            watched += len(rows) * interval_s
    return watched, collapses


def quantiles(ratios):
    ratios = sorted(ratios)
    n = len(ratios)
    near = sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios)
    return (f"{n}: least {ratios[0]:.2f}, a tenth below {ratios[n // 10]:.2f}, half below "
            f"{ratios[n // 2]:.2f}, nine tenths below {ratios[n * 9 // 10]:.2f}, most "
            f"{ratios[-1]:.2f}; {near} within a factor of 1.5")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--chains", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shortest", type=float, default=10, help="s, as predicted")
    parser.add_argument("--longest", type=float, default=1500, help="s, as predicted")
    parser.add_argument("--goodput", action="store_true", help="until goodput collapses")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--most", type=float, default=math.inf)
    options = parser.parse_args()
    program, draw, rows = options.program.resolve(), random.Random(options.seed), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "chain.toml"
        while len(rows) < options.chains:
            text, what, places = draw_chain(draw)
            path.write_text(head(10, 1, 1) + text)
            time_s = predicted(program, path)
            if time_s is None or not options.shortest < time_s < options.longest:
                continue
            interval_s = max(0.05, time_s / 200)
            path.write_text(head(TIMES * time_s, interval_s, len(rows) + 1) + text)
            span_s = 5 * what["services in a timeout"] * SERVICE_S / what["servers"] * \
                (1 + float(what["backoff"].split()[0]))
            watched, collapses = good_for(program, path, folder, span_s, interval_s) \
                if options.goodput else \
                simulated(program, path, folder, math.ceil(0.9 * places), interval_s)
            if collapses < REPLICATIONS / 2:
                seen, ratio = math.inf, 0
            else:
                seen = watched / collapses
                ratio = time_s / seen
            rows.append((ratio, what, time_s, seen, collapses))
            print(f"{len(rows)}: {ratio:.2f}", file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row[0])
    names = list(rows[0][1])
    print("| " + " | ".join(names) + " | predicted | simulated | ratio |")
    print("|" + "---|" * (len(names) + 3))
    def human(value, digits):
        return f"{float(f'{value:.{digits}g}'):,.10g}"

    for ratio, what, time_s, seen, collapses in rows:
        error = seen / math.sqrt(collapses) if collapses else math.inf
        print("| " + " | ".join(str(what[n]).strip() for n in names) +
              f" | {human(time_s, 3)} s | {human(seen, 3)} ± {human(error, 2)} s | {ratio:.2f} |")
    ratios = [row[0] for row in rows]
    print(f"\nall {quantiles(ratios)}")
    for backoff in sorted({row[1]["backoff"].split()[0] for row in rows}, key=float):
        print(f"backoff of {backoff} timeouts, " +
              quantiles(row[0] for row in rows if row[1]["backoff"].split()[0] == backoff))
    return 0 if options.least <= ratios[0] and ratios[-1] <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
