#!/usr/bin/env python3
"""Whether `check`, before a run, and `run` say the same of random scenarios. A warning of what
fails while all is well forbids a good first line, its figures are those of the run, and what a run
finds out about the load by the scenario alone has been warned of.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import mixed
from first_line import Graph, draw, draw_loop

NUMBER = r"([0-9][0-9.,]*)"
GOOD = {"all-well", "unaffected"}
CUSTOM = 'mode = "custom", max_attempts = 3, backoff = { base = "50ms" }'


def number(text):
    return float(text.replace(",", "").rstrip("."))


def near_limits(rng):
    """One service and one group: what is asked of servers, throttle, pool or time is near what
    there is, below or above it."""
    servers, mean_ms = rng.choice([1, 2, 4, 12]), rng.choice([5, 20, 50])
    close = rng.choice([0.5, 0.9, 0.98, 1, 1.02, 1.1, 1.5])
    rate = servers * 1000 / mean_ms
    what = rng.choice(["servers", "throttle", "pool", "timeout", "deadline", "errors",
                       "send rate"])
    time = rng.choice([f'"{mean_ms}ms"',
                       f'{{ distribution = "exponential", mean = "{mean_ms}ms" }}'])
    process = rng.choice(["poisson", "constant"])
    count, timeout, more, client = rng.choice([1, 20]), rng.choice(["none", "1s", "5s"]), "", ""
    load = 0.5
    if what == "servers":
        load = close
    elif what == "errors":
        share = rng.choice([0.1, 0.3])
        load = close * (1 - share)
        more = f"errors = {{ internal = {share}, at = 1.0 }}\n"
    elif what == "throttle":
        more = f"throttle = {{ rate = {0.5 * rate / close:.4g}, burst = {rng.choice([1, 50])} }}\n"
    elif what == "pool":
        count = 1
        load = close / servers if close < servers else 0.5
        client = "max_connections = 1\n"
    elif what == "send rate":
        client = (f'send_rate = {{ rate = {0.5 * rate / count / close:.4g}, '
                  f'burst = {rng.choice([1, 5])}, on_empty = "wait" }}\n')
    elif what == "timeout":
        timeout = f"{mean_ms / close:.4g}ms"
    else:
        client = f'deadline = "{mean_ms / close:.4g}ms"\n'
    return f"""name = "near"
duration = "{rng.choice([40, 100])}s"
replications = {rng.choice([1, 3])}
seed = {rng.randrange(1000)}
[service.api]
servers = {servers}
service_time = {time}
queue = {{ capacity = {rng.choice(['"unlimited"', 50, 1000])} }}
{more}[client.web]
count = {count}
arrivals = {{ process = "{process}", total_rate = {load * rate:.6g} }}
attempt_timeout = "{timeout}"
{client}retry = {{ {rng.choice(['mode = "none"', 'mode = "standard"', CUSTOM])} }}
"""


class Result:
    """What a run says and has counted."""

    def __init__(self, folder):
        self.json = json.loads((folder / "result.json").read_text("utf-8"))
        self.variant = self.json["variants"][0]
        self.said = collections.defaultdict(dict)
        for verdict in self.json["verdicts"]:
            self.said[verdict["client"]][verdict["rule"]] = verdict["sentence"]
        self.values = {}
        with open(folder / "summary.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["mean"]:
                    self.values[row["client"], row["metric"]] = float(row["mean"])

    def callers(self, service):
        """The groups outside, and of calls, that send attempts to a service."""
        return [c["name"] for c in self.variant["clients"] if service in called(c)] + [
            f"{c['caller']}.{c['name']}" for c in self.variant["calls"] if c["callee"] == service]


def called(client):
    services = client.get("services", client.get("calls", []))
    return [s["name"] if isinstance(s, dict) else s for s in services]


def warnings_of(program, path):
    """The warnings of `check`: what is said, and the keys."""
    done = subprocess.run([program, "check", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    text = re.sub(r"\s+", " ", done.stderr)
    parts = re.split(re.escape(str(path)) + ": ", text)
    found = [re.fullmatch(r"warning: (.*) \(keys: (.*)\) ?", p) for p in parts]
    return [(m[1], m[2].split(", ")) for m in found if m]


class Comparison:
    def __init__(self, warnings, result):
        self.warnings, self.result = warnings, result
        self.problems, self.compared = [], collections.Counter()

    def expect(self, rule, holds, warning, said):
        self.compared[rule] += 1
        if not holds:
            self.problems.append(f"{rule}\n    check: {warning}\n    run:   {said}")

    def all_well(self, groups):
        """Those of which the run says nothing bad, with what it says."""
        return [f"{g}: {text}" for g in groups
                for rule, text in self.result.said[g].items() if rule in GOOD]

    def look(self):
        for text, keys in self.warnings:
            for look in (self.overload, self.throttle, self.pool, self.send_rate, self.timeout,
                         self.hedging):
                look(text, keys)
        self.overload_in_run()
        return self.problems

    def overload(self, text, keys):
        times = re.search(rf"ask for {NUMBER} times the capacity, so that the service is over",
                          text)
        if not times:
            return
        service = keys[0].split(".")[1]
        callers = self.result.callers(service)
        well = self.all_well(callers)
        # One caller may be served before the others.
        self.expect("overloaded", len(well) < len(callers), text, well)
        needed = re.search(rf"At least {NUMBER} servers", text)
        for group in callers:
            said = self.result.said[group].get("overload-without-retries", "")
            also = re.search(rf"at least {NUMBER} servers are needed", said)
            if needed and also and "without any retry" in text:
                self.expect("servers", needed[1] == also[1], text, said)

    def throttle(self, text, keys):
        share = re.search(rf"at most {NUMBER} % can succeed", text)
        if not share:
            return
        callers = self.result.callers(keys[0].split(".")[1])
        if len(callers) != 1:
            return
        succeeded = self.result.values.get((callers[0], "success_rate_within_duration"))
        if succeeded is not None:
            most = number(share[1]) / 100
            self.expect("throttle", succeeded <= 1.05 * most + 0.01, text, succeeded)
            self.expect("throttle", most > 0.99 or not self.all_well(callers), text,
                        self.all_well(callers))

    def pool(self, text, keys):
        if "wait longer and longer for one" not in text:
            return
        group = keys[0].removeprefix("client.").removesuffix(".max_connections")
        if keys[0].startswith("client."):
            self.expect("pool", not self.all_well([group]), text, self.all_well([group]))

    def send_rate(self, text, keys):
        if "before they are sent" not in text or not keys[0].startswith("client."):
            return
        group = keys[0].removeprefix("client.").removesuffix(".send_rate.rate")
        need = re.match(rf"{NUMBER} requests a second of .* permits {NUMBER}:", text)
        # At the limit itself, or with a burst that lasts as long as the run, hardly any waits.
        if need and number(need[1]) > 1.05 * number(need[2]):
            self.expect("send rate", not self.all_well([group]), text, self.all_well([group]))

    def timeout(self, text, keys):
        group = re.sub(r"^client\.|\.attempt_timeout$|\.deadline$", "", keys[0])
        if not keys[0].startswith("client."):
            return
        if re.search("without any waiting, and .* gives up after", text):
            self.expect("timeout", not self.all_well([group]), text, self.all_well([group]))
        share = re.search(rf"{NUMBER} % of the attempts take longer than", text)
        late = self.result.values.get((group, "attempt_timeout_share"))
        if keys[0].endswith(".deadline"):
            late = self.result.values.get((group, "deadline_exceeded_share"))
        if share and late is not None:
            self.expect("late", late >= 0.8 * number(share[1]) / 100 - 0.02, text, late)

    def hedging(self, text, keys):
        times = re.search(rf"together: {NUMBER} times the load|it (doubles) the load", text)
        if not times:
            return
        group = keys[0].removeprefix("client.").split(".")[0]
        attempts = self.result.values.get((group, "amplification"))
        if keys[0].startswith("client.") and attempts is not None:
            most = number(times[1]) if times[1] else 2
            self.expect("hedging", attempts > 0.9 * most, text, attempts)

    def overload_in_run(self):
        """What first attempts need by the keys of the scenario alone."""
        warned = " ".join(text for text, _ in self.warnings)
        for client in self.result.variant["clients"]:
            said = self.result.said[client["name"]].get("overload-without-retries", "")
            if "overload without any retry" in said:
                steady = not self.result.variant["disturbances"]
                warns = not steady or "capacity" in warned or "limit of" in warned
                self.expect("overloaded in the run", warns, warned, said)
            late = self.result.said[client["name"]].get("timeout-below-service-time")
            waits = self.result.said[client["name"]].get("send-rate-below-demand")
            if waits and not self.result.variant["disturbances"]:
                self.expect("send rate in the run", "send rate" in warned, warned, waits)
            if late and not late.startswith("during "):  # by a fault, which is the question
                self.expect("timeout in the run", "without any waiting" in warned, warned, late)


def texts(scenarios, seed):
    rng = random.Random(seed)
    for _ in range(scenarios):
        yield near_limits(rng)
        yield mixed(rng)
        yield draw(rng)[0]
        yield draw_loop(rng)[0]
        yield Graph(rng).text()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--scenarios", type=int, default=30, help="of each of five kinds")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    wrong = runs = 0
    compared = collections.Counter()
    for text in texts(arguments.scenarios, arguments.seed):
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder) / "drawn.toml", Path(folder) / "out"
            path.write_text(text, encoding="utf-8")
            warnings = warnings_of(arguments.program, path)
            if warnings is None:
                continue  # messages may be lost where nothing ends the wait for them
            subprocess.run([arguments.program, "run", path, "--quiet", "--out", out],
                           capture_output=True, text=True, check=False)
            comparison = Comparison(warnings, Result(out))
        problems = comparison.look()
        compared += comparison.compared
        runs += 1
        wrong += len(problems)
        for problem in problems:
            print(problem)
        if problems:
            print(text)
    print(f"{runs} scenarios, {sum(compared.values())} claims: {wrong} contradictions")
    print(", ".join(f"{rule} {times}" for rule, times in sorted(compared.items())))
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
