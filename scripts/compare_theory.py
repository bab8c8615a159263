#!/usr/bin/python3 -B
"""Holds what `retrysim predict` says of random scenarios against simulations of them.

Each scenario is a service of moderate load with one to three features drawn from a list that has
something for every row of `retrysim list theory`. Where the fluid names a phase, two simulations
judge it: a calm one, and one after an outage of fifteen timeouts.

    overloaded    the calm one ends strained: clearly fewer requests succeed than at a fifth of the
                  load, but at least half
    dead          fewer than half succeed in it
    vulnerable    the calm one does not end strained, the other one does
    safe          neither does

What the fluid says of the run with the outage (after_disturbance: whether half of the requests
succeed in the end) is held against it as well.
Scenarios in which a border is nearer than --border are counted apart, as are those of which the
fluid says that they are in doubt. The last line counts why there is no claim of the others. The
exit status is 1 if any of the rest disagrees and is not among --known.

Usage: scripts/compare_theory.py --program build/release/retrysim [--scenarios 300] [--seed 1]

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

FEATURES = {}
START, OUTAGE = 20, 15  # in timeouts
STRAINED = 0.97  # success below this share of what an easy load has


def feature(function):
    """One kind of key that a scenario may have; the name of the function is printed."""
    FEATURES[function.__name__.replace("_", " ")] = function
    return function


class Case:
    """A scenario in the making. `keys`: dotted path -> TOML value as text."""

    def __init__(self, seed):
        self.seed = seed
        self.random = draw = random.Random(seed)
        self.features = []
        self.rate = draw.choice([150, 250, 400, 600])  # services a second at full capacity
        self.service_s = draw.choice([0.01, 0.02, 0.05])
        self.servers = max(1, round(self.rate * self.service_s))
        self.rate = self.servers / self.service_s
        self.timeout_s = draw.uniform(260, 400) / self.rate
        self.load = draw.uniform(0.2, 1.15)
        self.attempts = draw.choice([1, 2, 3, 3, 4, 5])
        self.files = {}
        law = draw.choice(["constant", "exponential", "exponential", "erlang"])
        mean = f'"{self.service_s * 1e3:g}ms"'
        time = {"constant": mean,
                "exponential": f'{{ distribution = "exponential", mean = {mean} }}',
                "erlang": f'{{ distribution = "erlang", mean = {mean}, shape = 4 }}'}[law]
        self.keys = {
            "name": f'"theory{seed}"', "seed": str(seed), "replications": "1",
            "warmup": '"0s"', "drain": "false", "interval": '"1s"',
            "service.api.servers": str(self.servers), "service.api.service_time": time,
            "client.web.count": "100", "client.web.arrivals.process": '"poisson"',
            "client.web.arrivals.total_rate": f"{self.load * self.rate:.6g}",
            "client.web.attempt_timeout": f'"{self.timeout_s * 1e3:.3f}ms"',
            "client.web.retry.mode": '"custom"',
            "client.web.retry.max_attempts": str(self.attempts),
            "client.web.retry.backoff.base": f'"{draw.choice([0, 20, 100, 300])}ms"',
            "client.web.retry.backoff.factor": draw.choice(["1", "2"]),
            "client.web.retry.backoff.cap": '"1s"',
            "client.web.retry.backoff.jitter": f'"{draw.choice(["none", "full", "equal"])}"'}
        if draw.random() < 0.4:
            room = draw.choice([0.3, 0.6, 2, 4]) * self.timeout_s
            self.keys["service.api.queue.capacity"] = str(max(1, round(room * self.rate)))

    def set(self, path, value):
        self.keys[path] = value if isinstance(value, str) else json.dumps(value)

    def needs_rate(self):
        """Only open arrivals of one kind have what the feature changes."""
        if self.keys.get("client.web.arrivals.process") != '"poisson"' or \
                "client.web.arrivals.profile" in self.keys:
            raise KeyError("arrivals")

    def web(self, path, value):
        self.set("client.web." + path, value)

    def api(self, path, value):
        self.set("service.api." + path, value)

    def text(self, duration_s, outage, factor=1.0):
        """As TOML; `factor`: of the load."""
        keys = dict(self.keys)
        for key in keys:
            if key.endswith("arrivals.total_rate"):
                keys[key] = f"{factor * float(keys[key]):.6g}"
        keys["duration"] = f"{duration_s:.3f}"
        if outage:
            start = START * self.timeout_s
            keys["fault.outage.start"] = f"{start:.6f}"
            keys["fault.outage.duration"] = f"{OUTAGE * self.timeout_s:.6f}"
            keys["fault.outage.capacity"] = "0"
            if "service.b.servers" in keys:
                keys["fault.outage.service"] = '"api"'
        return "".join(f"{key} = {value}\n" for key, value in
                       sorted(keys.items(), key=lambda pair: pair[0].count(".")))


def quoted_ms(seconds):
    return f'"{seconds * 1e3:.3f}ms"'


@feature
def random_errors(case):
    share = case.random.choice([0.05, 0.2, 0.4])
    case.api(f"errors.{case.random.choice(['500', '503', '429', 'internal'])}", share)


@feature
def fatal_errors(case):
    case.api("errors.400", case.random.choice([0.05, 0.2]))


@feature
def abandoned(case):
    case.api("abandoned", case.random.choice(['"drop-at-dequeue"', '"remove"', '"abort"']))


@feature
def drop_expired(case):
    case.api("queue.drop_expired", "true")


@feature
def discipline(case):
    case.api("queue.discipline",
             case.random.choice(['"lifo"', '"adaptive-lifo"', '"random"', '"processor-sharing"',
                                 '"codel"']))


@feature
def max_age(case):
    case.api("queue.max_age", '"100ms"')


@feature
def autoscaling(case):
    if "service.api.instances" in case.keys:
        raise KeyError("autoscaling is for a single instance")
    case.api("autoscaling.target", 0.7)
    case.api("autoscaling.max", 4 * case.servers)
    case.api("autoscaling.interval", '"2s"')
    case.api("autoscaling.delay", '"2s"')


@feature
def instances(case):
    if "service.api.autoscaling.target" in case.keys:
        raise KeyError("autoscaling is for a single instance")
    case.api("instances", 2)
    case.api("servers", max(1, case.servers // 2))


@feature
def capacity_profile(case):
    case.files["capacity.csv"] = f"time_s,capacity\n0,1\n{30 * case.timeout_s:.3f},0.6\n"
    case.api("profile", '"capacity.csv"')


@feature
def load_profile(case):
    case.needs_rate()
    case.files["load.csv"] = f"time_s,rate\n0,0.7\n{60 * case.timeout_s:.3f},1.3\n"
    case.web("arrivals.profile", '"load.csv"')


@feature
def slowdown(case):
    case.api("slowdown", case.random.choice([0.01, 0.05]))


@feature
def concurrency_limit(case):
    case.api("concurrency.limit", case.servers + round(case.rate * case.timeout_s *
                                                       case.random.choice([0.3, 2])))


@feature
def adaptive_limit(case):
    case.api("concurrency.control", case.random.choice(
        ['"gradient2"', '"aimd"', '"vegas"', '"envoy"', '"kratos"']))


@feature
def service_timeout(case):
    case.api("timeout", quoted_ms(case.timeout_s * case.random.choice([0.5, 2])))


@feature
def throttle(case):
    case.api("throttle.rate", round(case.rate * case.random.choice([0.5, 0.8, 1.5])))
    case.api("throttle.burst", round(case.rate * 0.2) + 1)


@feature
def throttle_by_client(case):
    case.api("throttle.rate", round(case.rate * case.random.choice([0.5, 0.8, 1.5]) / 100, 3))
    case.api("throttle.burst", 10)
    case.api("throttle.scope", '"client"')


@feature
def throttle_window(case):
    case.api("throttle.rate", round(case.rate * case.random.choice([0.5, 0.8])))
    case.api("throttle.window", '"2s"')


@feature
def reject_cost(case):
    case.api("queue.capacity", max(1, round(0.5 * case.timeout_s * case.rate)))
    case.api("reject_cost", quoted_ms(case.service_s * case.random.choice([0.1, 0.5])))


@feature
def overflow(case):
    case.api("queue.capacity", max(1, round(0.5 * case.timeout_s * case.rate)))
    case.api("overflow", case.random.choice(['"throttled"', '"invalid"', '"drop"']))


@feature
def idempotency(case):
    case.web("mutating", case.random.choice([0.3, 1]))
    case.api("idempotency.window", '"10min"')


@feature
def reconcile(case):
    if "client.web.retry.hedging.delay" in case.keys:
        raise KeyError("hedging does not wait for what becomes of the attempt before")
    case.web("mutating", 0.5)
    case.web("reconcile_read", quoted_ms(case.service_s))


@feature
def quota(case):
    case.web("retry.quota.capacity", case.random.choice([20, 50]))
    case.web("retry.quota.cost", case.random.choice([2, 5]))
    case.web("retry.quota.credit", case.random.choice([0.1, 0.5, 1]))
    case.web("retry.quota.refund", case.random.choice(['"none"', '"last"']))


@feature
def quota_with_refill(case):
    case.web("retry.quota.capacity", 20)
    case.web("retry.quota.cost", 5)
    case.web("retry.quota.credit", 0)
    case.web("retry.quota.refill_rate",
             round(5 * case.load * case.rate / 100 * case.random.choice([0.1, 0.5, 2]), 4))


@feature
def quota_of_the_group(case):
    case.web("retry.quota.capacity", 200)
    case.web("retry.quota.cost", 5)
    case.web("retry.quota.credit", 1)
    case.web("retry.quota.scope", '"group"')


@feature
def standard_mode(case):
    preset(case, "standard")


@feature
def legacy_mode(case):
    preset(case, "legacy")


@feature
def adaptive_mode(case):
    preset(case, "adaptive")


def preset(case, mode):
    for key in [key for key in case.keys if key.startswith("client.web.retry.")]:
        del case.keys[key]
    case.web("retry.mode", f'"{mode}"')
    case.web("count", 60)


@feature
def client_throttle(case):
    case.web("retry.client_throttle.k", 2)
    case.web("retry.client_throttle.window", quoted_ms(20 * case.timeout_s))


@feature
def budget(case):
    case.web("retry.budget.kind", case.random.choice(['"window"', '"active"']))
    case.web("retry.budget.minimum", case.random.choice([1, 1000]))


@feature
def breaker(case):
    case.web("retry.retry_breaker.failure_share", 0.5)


@feature
def hedging(case):
    if "client.web.reconcile_read" in case.keys:
        raise KeyError("it does not wait for what becomes of the attempt before")
    case.web("retry.hedging.delay", quoted_ms(case.timeout_s / 2))


@feature
def deadline(case):
    case.web("deadline", quoted_ms(case.timeout_s * case.random.choice([0.5, 1.5, 2.5, 40])))


@feature
def max_connections(case):
    case.web("max_connections", case.random.choice([1, 3, 100]))


@feature
def unrepeatable(case):
    case.web("unrepeatable", case.random.choice([0.1, 0.8]))


@feature
def retry_probability(case):
    case.web("retry.probability", case.random.choice([0.3, 0.7]))


@feature
def decorrelated(case):
    case.web("retry.backoff.base", '"20ms"')
    case.web("retry.backoff.jitter", '"decorrelated"')


@feature
def operations(case):
    case.web("operation.get.share", 3)
    case.web("operation.put.share", 1)
    case.web("operation.put.work", case.random.choice([1, 3]))


@feature
def constant_arrivals(case):
    case.needs_rate()
    case.web("arrivals.process", '"constant"')


@feature
def bursts(case):
    case.needs_rate()
    case.web("arrivals.process", '"on-off"')
    case.web("arrivals.on", '"1s"')
    case.web("arrivals.off", '"1s"')
    case.web("count", case.random.choice([50, 1000]))


@feature
def aligned_bursts(case):
    bursts(case)
    case.web("arrivals.phase", '"aligned"')


@feature
def closed_loop(case):
    case.needs_rate()
    del case.keys["client.web.arrivals.total_rate"]
    case.web("arrivals.process", '"closed"')
    case.web("arrivals.think_time", quoted_ms(100 / (case.load * case.rate)))


@feature
def second_group(case):
    case.needs_rate()
    for key, value in list(case.keys.items()):
        if key.startswith("client.web."):
            case.keys[key.replace("client.web.", "client.batch.", 1)] = value
    for name, share in (("web", 0.6), ("batch", 0.4)):
        case.set(f"client.{name}.arrivals.total_rate", f"{share * case.load * case.rate:.6g}")
    case.set("client.batch.retry.max_attempts", case.random.choice([1, 3, 6]))
    if case.random.random() < 0.5:
        case.set("client.batch.attempt_timeout", quoted_ms(3 * case.timeout_s))


@feature
def latency(case):
    spread = case.random.choice(["constant", "exponential"])
    mean = quoted_ms(case.timeout_s * case.random.choice([0.02, 0.1]))
    case.set("network.latency", mean if spread == "constant" else
             f'{{ distribution = "exponential", mean = {mean} }}')


@feature
def connect(case):
    case.set("network.connect", quoted_ms(case.timeout_s * case.random.choice([0.02, 0.2])))


@feature
def lost_requests(case):
    case.set("network.request_loss", case.random.choice([0.02, 0.1]))


@feature
def lost_responses(case):
    case.set("network.response_loss", case.random.choice([0.02, 0.1]))


@feature
def timeout_distribution(case):
    mean = quoted_ms(case.timeout_s)
    case.web("attempt_timeout", case.random.choice(
        [f'{{ distribution = "exponential", mean = {mean} }}',
         f'{{ distribution = "uniform", min = {quoted_ms(case.timeout_s * 0.95)}, '
         f'max = {quoted_ms(case.timeout_s * 1.05)} }}']))


@feature
def impatience(case):
    case.web("attempt_timeout", quoted_ms(case.service_s * case.random.choice([0.8, 1.5, 3])))


@feature
def no_timeout(case):
    case.web("attempt_timeout", '"none"')


@feature
def calls_below(case):
    case.set("service.b.servers", max(1, round(case.servers * case.random.choice([0.5, 2]))))
    case.set("service.b.service_time", quoted_ms(case.service_s))
    case.set("service.api.calls.b.retry.mode", '"none"')
    case.set("service.api.calls.b.attempt_timeout", quoted_ms(case.timeout_s))
    case.web("calls", '"api"')


@feature
def retry_after(case):
    throttle(case)
    case.api("throttle.retry_after", quoted_ms(case.timeout_s))
    case.web("retry.retry_after", case.random.choice(['"minimum"', '"add"']))


@feature
def unlimited_attempts(case):
    case.web("retry.max_attempts", '"unlimited"')


def make_case(seed):
    case = Case(seed)
    count = case.random.choice([0, 1, 1, 1, 2, 2, 3])
    for name in case.random.sample(sorted(FEATURES), count):
        before = dict(case.keys)
        try:
            FEATURES[name](case)
            case.features.append(name)
        except KeyError:  # another feature has taken a key away
            case.keys = before
    return case


class CannotRun(Exception):
    """A scenario whose attempts never end, such as retries without limit or pause."""


class Judge:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def write(self, case, name, duration_s, outage, judged, factor=1.0):
        for file, text in case.files.items():
            (self.folder / file).write_text(text)
        path = self.folder / f"{name}.toml"
        text = case.text(duration_s, outage, factor)
        path.write_text(text + f"phase.judged.start = {judged:.3f}\n"
                               f"phase.judged.duration = {duration_s - judged:.3f}\n")
        return path

    def predict(self, path):
        done = subprocess.run([self.program, "predict", path, "--format", "json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().split("\n")[0]
        return json.loads(done.stdout), None

    def success(self, path):
        """Successes per request in the phase that is judged."""
        out = self.folder / "out"
        done = subprocess.run([self.program, "run", path, "--out", out, "--force", "--quiet",
                               "--no-progress", "--jobs", "1", "--max-events", "40000000"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise CannotRun(done.stderr.strip())
        rates = collections.Counter()
        with (out / "phases.csv").open() as file:
            for row in csv.DictReader(file):
                if row["phase"] == "judged" and row["client"] == "all":
                    rates[row["metric"]] = float(row["mean"] or 0)
        return rates["goodput"] / max(rates["offered_load"], 1e-9)


def figure(prediction, name):
    for f in prediction["figures"]:
        if f["part"] == "fluid" and f["subject"] == "service.api" and f["name"] == name:
            return f["value"]
    return None


def most_load(prediction):
    """The largest load that attempts can bring, per capacity, if the service is safe; else 0."""
    if worst := figure(prediction, "worst_load"):
        return worst
    load, vulnerable = figure(prediction, "load"), figure(prediction, "vulnerable_load")
    if figure(prediction, "phase") != "safe" or not load or not vulnerable:
        return 0
    return load / vulnerable


def nearness(prediction):
    """Distance of the load to the nearest border of a phase, as a share of the load."""
    if worst := figure(prediction, "worst_load"):
        return abs(1 / worst - 1)
    load = figure(prediction, "load")
    borders = [figure(prediction, name) for name in ("vulnerable_load", "tipping_load")]
    return min((abs(b / load - 1) for b in borders if b is not None and load), default=1)


def compare(case, judge, border):
    """The verdict on one scenario: what is counted, what was predicted, and what was seen."""
    unit = case.timeout_s

    def write_pushed(after):
        long_s = (START + OUTAGE + after) * unit
        return judge.write(case, "pushed", long_s, True, long_s - 25 * unit)

    pushed = write_pushed(90)
    prediction, error = judge.predict(pushed)
    if prediction is None:
        return "invalid", error, ""
    drain = OUTAGE * most_load(prediction) / max(0.03, 1 - most_load(prediction))
    if 3 * drain > 65:  # what the outage leaves takes longer to be served
        pushed = write_pushed(25 + 3 * drain)
        prediction, _ = judge.predict(pushed)
    phase, ends = figure(prediction, "phase"), figure(prediction, "after_disturbance")
    reasons = [r for r in prediction["does_not_apply"]
               if r["part"] == "fluid" and r["subject"] == "service.api"]
    if phase is None and ends is None:
        return "refused", "", reasons[0]["reason"] if reasons else "?"
    if any(d["subject"] == "service.api" for d in prediction["doubts"]):
        return "in doubt", phase or ends, ""
    after_outage = judge.success(pushed)
    if phase is not None:
        calm = judge.write(case, "calm", 100 * unit, False, 75 * unit)
        easy = judge.write(case, "easy", 60 * unit, False, 10 * unit, 0.2 / case.load)
        enough = STRAINED * judge.success(easy)
        share = judge.success(calm)
        seen = ("overloaded" if share >= 0.5 else "dead") if share < enough else \
            "vulnerable" if after_outage < enough else "safe"
        if seen != phase and nearness(prediction) < border:
            return "near a border", phase, seen
        if seen != phase:
            return "disagree", phase, seen
    if ends is not None:
        seen = "down" if after_outage < 0.5 else "up"
        if seen != ends:
            close = phase is not None and nearness(prediction) < border
            return "near a border" if close else "disagree", f"{ends} after the outage", seen
    return "agree", phase or ends, "" if phase else reasons[0]["reason"] if reasons else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--scenarios", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one seed: print its scenario as well")
    parser.add_argument("--border", type=float, default=0.05)
    parser.add_argument("--known", type=int, nargs="*", default=[],
                        help="seeds whose disagreement is documented")
    options = parser.parse_args()
    seeds = [options.only] if options.only is not None else \
        range(options.seed, options.seed + options.scenarios)
    counts, by_phase, by_feature, why = (collections.Counter() for _ in range(4))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(options.program.resolve(), Path(folder))
        for seed in seeds:
            case = make_case(seed)
            if options.only is not None:
                print(case.text(125 * case.timeout_s, True))
            try:
                verdict, predicted, seen = compare(case, judge, options.border)
            except CannotRun as error:
                verdict, predicted, seen = "not simulated", "", str(error)
            counts[verdict] += 1
            by_phase[verdict, str(predicted)] += 1
            for name in case.features:
                by_feature[name, verdict] += 1
            if verdict == "refused":
                why[seen.rpartition(": ")[2]] += 1
            if verdict == "disagree" and seed not in options.known:
                bad += 1
            if verdict not in ("agree", "in doubt", "refused") or options.only is not None:
                print(f"{seed}: {verdict}: {predicted} {seen} ({', '.join(case.features)}; "
                      f"load {case.load:.3f}, attempts {case.attempts})", flush=True)
    verdicts = ["agree", "disagree", "near a border", "in doubt", "refused", "not simulated",
                "invalid"]
    print("\n| feature | " + " | ".join(verdicts) + " |\n|" + "---|" * (len(verdicts) + 1))
    for name in sorted(FEATURES):
        row = [by_feature[name, verdict] for verdict in verdicts]
        if any(row):
            print(f"| {name} | " + " | ".join(map(str, row)) + " |")
    print("| **all** | " + " | ".join(str(counts[verdict]) for verdict in verdicts) + " |")
    print("\nagree: " + ", ".join(f"{phase} {n}" for (verdict, phase), n in sorted(by_phase.items())
                                  if verdict == "agree"))
    print("no claim: " + "; ".join(f"{reason} {n}" for reason, n in why.most_common()))
    return 1 if bad or counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
