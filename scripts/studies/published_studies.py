"""The published studies that reproduce_studies.py runs: which scenario, with which keys changed, is
which of the study's cases, and what the study claims.

SPDX-License-Identifier: MIT
"""

import collections
import csv
import dataclasses
import typing

from agreement import Sample, wilson


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of a study: keys to change, and whose metrics to take. Two clients: the study's figure
    lies between theirs."""
    edits: tuple = ()
    clients: tuple = ("all",)


@dataclasses.dataclass(frozen=True)
class Claim:
    """Something that a study says in words; `check` returns whether it holds for the far end of the
    95 % interval, and the figures."""
    text: str
    check: typing.Callable


@dataclasses.dataclass(frozen=True)
class Study:
    name: str
    title: str
    source: str
    scenario: str
    cases: dict
    claims: tuple = ()
    logarithmic: bool = False  # positive figures with long tails
    factor: float = None  # the study approximates: figures agree if they differ by less than this
    measure: typing.Callable = None


def metrics_of(folder):
    """(client, metric) -> values by replication."""
    values = collections.defaultdict(list)
    with (folder / "replications.csv").open(newline="", encoding="utf-8") as file:
        for r in csv.DictReader(file):
            values[r["client"], r["metric"]].append(float(r["value"]))
    return values


def interval_text(sample):
    return f"{sample.mean:.5g} ± {sample.half_width():.2g}"


def less(text, metric, small, large, than=None):
    """A claim that `metric` is less in one case than in another (or less than the metric `than`),
    replication by replication: equal seeds give both the same random numbers."""
    def check(study, runs):
        a, b = (runs.get(study, study.cases[case])[study.cases[case].clients[0], name]
                for case, name in ((small, metric), (large, than or metric)))
        difference = Sample.of(y - x for x, y in zip(a, b))
        return difference.mean > difference.half_width(), interval_text(difference) + " less"
    return Claim(text, check)


def backoff_and_jitter():
    backoff = "client.writers.retry.backoff."
    algorithms = {
        "no backoff": (backoff + "jitter=none", backoff + "base=0s"),
        "no jitter": (backoff + "jitter=none",),
        "full jitter": (),
        "equal jitter": (backoff + "jitter=equal",),
        "decorrelated jitter": (backoff + "jitter=decorrelated",),
    }
    return Study(
        name="backoff-and-jitter",
        title="writes and time until all clients have updated one row",
        source="M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015; its "
               "simulator, 400 trials",
        scenario="study-backoff-and-jitter.toml",
        cases={f"{n} clients, {name}": Case((f"client.writers.count={n}",) + edits)
               for n in (10, 20, 50, 100, 200) for name, edits in algorithms.items()},
        claims=(
            less("full jitter makes fewer calls than none at 100 clients", "attempts",
                 "100 clients, full jitter", "100 clients, no jitter"),
            less("and is done sooner", "completion_time_s",
                 "100 clients, full jitter", "100 clients, no jitter"),
            less("at 200 clients equal jitter makes slightly fewer calls than full", "attempts",
                 "200 clients, equal jitter", "200 clients, full jitter"),
            less("no backoff is done soonest", "completion_time_s",
                 "100 clients, no backoff", "100 clients, decorrelated jitter"),
        ),
        measure=metrics_of)


def token_bucket():
    bucket = ("filled-by-calls", "filled-by-calls-above")
    strategies = {"no retries": ("no-retries",), "three retries": ("three-retries",),
                  "bucket filled by calls": bucket,
                  "bucket filled by successes": ("filled-by-successes",)}
    cases = {}
    for failures in ("0.05", "0.1", "0.3", "0.5", "0.75"):
        for name, clients in strategies.items():
            cases[f"failures {failures}, {name}"] = Case(
                (f"service.api.errors.internal={failures}",), clients)
    # The study's clients make one call at once and then a Poisson stream of them, which matters
    # where a client makes ten.
    for count, duration in ((10, 100.1), (100, 101), (1000, 110)):
        for failures in ("0.1", "0.3", "0.5", "0.75"):
            cases[f"{count} clients, failures {failures}"] = Case(
                (f"service.api.errors.internal={failures}", f"client.*.count={count}",
                 "client.*.arrivals.total_rate=100", f"duration={duration}s"), bucket)
    # Once the bucket is empty, retries are a tenth of the successes, A = 1 + (1 - f) A / 10.
    for failures in ("0.5", "0.75"):
        cases[f"failures {failures}, bucket filled by successes, from 10 s on"] = Case(
            (f"service.api.errors.internal={failures}", "warmup=10s"), ("filled-by-successes",))
    return Study(
        name="token-bucket",
        title="success and load with retries, and with a bucket of tokens for them",
        source="M. Brooker, Fixing retries with token buckets and circuit breakers, 2022; its "
               "simulator, one run",
        scenario="study-token-bucket.toml",
        cases=cases,
        claims=(
            less("filled by successes, the bucket adds less load than filled by calls",
                 "amplification", "failures 0.5, bucket filled by successes",
                 "failures 0.5, bucket filled by calls"),
            less("a bucket each lets many small clients retry more than few large ones",
                 "amplification", "10 clients, failures 0.5", "1000 clients, failures 0.5"),
        ),
        measure=metrics_of)


def open_closed_latency():
    laws = {  # law -> (keys, mean service time in s)
        "exponential": ('distribution="exponential", mean="100ms"', 0.1),
        "bimodal": ('distribution="hyperexponential", p=0.999, mean1="100ms", mean2="10s"', 0.1099),
        "Weibull": ('distribution="weibull", mean="100ms", shape=2', 0.1),
    }
    load = 0.8
    cases = {}
    for name, (law, mean) in laws.items():
        edits = (f"service.*.service_time={{{law}}}",
                 f"client.open.arrivals.total_rate={load / mean:.9g}",
                 f"client.closed-1.arrivals.think_time.mean={(1 - load) * mean:.9g}s",
                 f"client.closed-10.arrivals.think_time.mean={(1 - load + 9 / load) * mean:.9g}s")
        for case, client in (("open", "open"), ("open (second run)", "open"),
                             ("1 client", "closed-1"), ("10 clients", "closed-10")):
            cases[f"{name}, {case}"] = Case(edits, (client,))
    for tenths in range(1, 10):
        cases[f"Weibull, open at load 0.{tenths}"] = Case(
            (f"service.*.service_time={{{laws['Weibull'][0]}}}", "duration=20000s",
             "replications=20", f"client.open.arrivals.total_rate={tenths}",
             "client.closed-1.arrivals.think_time.mean=1h",
             "client.closed-10.arrivals.think_time.mean=1h"), ("open",))
    return Study(
        name="open-closed-latency",
        title="latency that open and closed clients see of the same server",
        source="M. Brooker, Open and Closed, Omission and Collapse, 2023; its simulator, one run",
        scenario="study-open-closed-latency.toml",
        cases=cases,
        claims=(
            less("a single client that waits sees less than open clients", "latency_p99",
                 "exponential, 1 client", "exponential, open"),
            less("ten clients that wait do, too", "latency_p99",
                 "exponential, 10 clients", "exponential, open"),
            less("a rare long request hides from a single client", "latency_p99",
                 "bimodal, 1 client", "bimodal, open"),
        ),
        logarithmic=True,
        measure=metrics_of)


def backoff_open_closed():
    strategies = {"three retries, open": ("open",),
                  "three retries with backoff, open": ("open-backoff",),
                  "three retries, closed": ("closed",),
                  "three retries with backoff, closed": ("closed-backoff",),
                  "bucket, open": ("bucket", "bucket-above"),
                  "bucket with backoff, open": ("bucket-backoff", "bucket-backoff-above")}
    cases = {
        f"failures {failures}, {name}": Case((f"service.api.errors.internal={failures}",),
                                             clients)
        for failures in ("0", "0.1", "0.3", "0.5", "0.75")
        for name, clients in strategies.items()}
    return Study(
        name="backoff-open-closed",
        title="what backoff saves in open and closed loops",
        source="M. Brooker, What is Backoff For?, 2022; its simulator, one run",
        scenario="study-backoff-open-closed.toml",
        cases=cases,
        claims=(
            less("with backoff, clients that make one call at a time call less", "offered_load",
                 "failures 0.5, three retries with backoff, closed",
                 "failures 0.5, three retries, closed"),
            less("and less than an open stream with the same backoff", "attempt_rate",
                 "failures 0.5, three retries with backoff, closed",
                 "failures 0.5, three retries with backoff, open"),
        ),
        measure=metrics_of)


def flows_of(folder):
    """What clients learn, and when: successes per second in windows of ten seconds, and the sums of
    the run. (Timeouts only as a sum: of the few in a quiet window no mean is near normal.)"""
    counts = collections.defaultdict(collections.Counter)  # (client, metric) -> replication -> sum
    with (folder / "timeseries.csv").open(newline="", encoding="utf-8") as file:
        for r in csv.DictReader(file):
            replication, start = int(r["replication"]), int(float(r["time_s"])) // 10 * 10
            window = f"goodput, {start} to {start + 10} s"
            counts[r["client"], window][replication] += float(r["successes"]) / 10
            for column in ("requests", "successes", "timeouts"):
                counts[r["client"], column][replication] += float(r[column])
    values = {key: [sums[i] for i in sorted(sums)] for key, sums in counts.items()}
    for client in {client for client, _ in values}:
        for column in ("successes", "timeouts"):
            values[client, f"{column} per request"] = [
                n / requests for n, requests in zip(values[client, column],
                                                    values[client, "requests"])]
    return values


def collapse(shape, title, claims):
    return Study(
        name=f"collapse-{shape}",
        title=title,
        source="M. Brooker, simple simulation of congestive collapse, 2022; its simulator, "
               "100 runs",
        scenario=f"study-collapse-{shape}.toml",
        cases={"no backoff": Case(clients=("no-backoff",)), "backoff": Case(clients=("backoff",))},
        claims=claims,
        measure=flows_of)


def lasting(folder):
    """Metrics, and whether a replication is still lost at the end."""
    values = metrics_of(folder)
    lost = len(values["all", "requests"]) - len(values["all", "recovery_s"])
    values["all", "lost"] = [1.0] * lost + [0.0] * len(values["all", "recovery_s"])
    return values


def most(text, case, lost):
    """A claim that most runs of a case are, or are not, lost half a day later."""
    def check(study, runs):
        ends = runs.get(study, study.cases[case])["all", "lost"]
        low, high = wilson(sum(ends), len(ends))
        return ((low > 0.5 if lost else high < 0.5),
                f"{sum(ends):.0f} of {len(ends)} runs lost ({100 * low:.0f} to {100 * high:.0f} %)")
    return Claim(text, check)


def metastable_chain():
    def case(load, *edits):
        return Case((f"client.giving-up.arrivals.total_rate={7.5 * load:.9g}",
                     f"client.retrying.arrivals.total_rate={2.5 * load:.9g}") + edits)

    cases = {f"load {load}": case(load) for load in (0.4, 0.5, 0.55, 0.6)}
    # 72 % are lost: of 40 runs too few to say "most" once in six times, of 120 hardly ever.
    cases["load 0.65"] = case(0.65, "replications=120")
    cases |= {f"load {load}, from empty": case(load, "fault.stop.capacity=1", "replications=10")
              for load in (0.4, 0.5, 0.55, 0.8)}
    return Study(
        name="metastable-chain",
        title="how long a full queue lasts, and where it is the normal state",
        source="metafor, the program of Analyzing Metastable Failures, HotOS 2025; its chain, "
               "solved numerically",
        scenario="study-metastable-chain.toml",
        cases=cases,
        claims=(
            most("below the flip: at 60 % load most queues are empty again within half a day",
                 "load 0.6", False),
            most("above it: at 65 % load most stay full for longer", "load 0.65", True),
            less("a bad state lasts longer at 55 % load than at 50 %", "recovery_s",
                 "load 0.5", "load 0.55"),
            less("and longer still at 60 %", "recovery_s", "load 0.55", "load 0.6"),
        ),
        factor=10,
        measure=lasting)


def flows_and_ends(folder):
    """What `flows_of` says, and whether a replication is still lost at the end."""
    return flows_of(folder) | {("all", "lost"): lasting(folder)["all", "lost"]}


def balancer_crash():
    return Study(
        name="balancer-crash",
        title="one of two servers crashes for five seconds and clients retry at once",
        source="stability-sim (M. Brooker, 2026), example Metastable Failure; its program, "
               "400 runs",
        scenario="study-balancer-crash.toml",
        cases={"as shipped": Case()},
        claims=(
            most("nearly all runs are lost although both servers are back", "as shipped", True),
            less("long after the crash less succeeds than during it", "goodput, 50 to 60 s",
                 "as shipped", "as shipped", "goodput, 10 to 20 s"),
        ),
        measure=flows_and_ends)


def call_rates(folder):
    """Metrics, and how often each service is called."""
    values = metrics_of(folder)
    called = collections.defaultdict(list)
    for (client, metric), rates in values.items():
        if metric == "attempt_rate" and "." in client:
            called[client.split(".")[1]].append(rates)
    for service, rates in called.items():
        values["all", f"calls of {service}"] = [sum(r) for r in zip(*rates)]
    return values


def waits(folder):
    """Metrics, how often the database is called, and how long the calls wait there on average: what
    they take beyond 5 ms for a read and 8 ms for a write."""
    values = metrics_of(folder)
    reads, writes = "router.read", "router.write"
    values["all", "calls of database"] = [
        r + w for r, w in zip(values[reads, "attempt_rate"], values[writes, "attempt_rate"])]
    values["all", "waiting for the database"] = [
        (r * (read - 0.005) + w * (write - 0.008)) / (r + w)
        for r, read, w, write in zip(values[reads, "attempt_rate"], values[reads, "latency_mean"],
                                     values[writes, "attempt_rate"],
                                     values[writes, "latency_mean"])]
    return values


def full_stack():
    return Study(
        name="full-stack",
        title="how many of 600 requests a second each part of a site sees",
        source="Breakscale (2026), example Full Stack; what its text says",
        scenario="study-full-stack.toml",
        cases={"as shipped": Case()},
        measure=call_rates)


def in_four(text, case, failed, all_of_them):
    """A claim that all, or none, of a study's four runs lost more than this share of their
    requests: four runs of ours would do so in more than one case of twenty."""
    def check(study, runs):
        values = runs.get(study, study.cases[case])
        shares = [n / of for n, of in zip(values["all", "failures"], values["all", "requests"])]
        ours = sum(share > failed for share in shares)
        low, high = wilson(ours, len(shares))
        chance = (high if all_of_them else 1 - low) ** 4
        return chance > 0.05, f"{ours} of {len(shares)} runs of ours"
    return Claim(text, check)


def retry_storm():
    return Study(
        name="retry-storm",
        title="where a short timeout with retries tips a small database",
        source="Breakscale (2026), example Retry Storm; its tests, four seeds",
        scenario="study-retry-storm.toml",
        cases={f"{rate}/s": Case((f"client.web.arrivals.total_rate={rate}",))
               for rate in (80, 85, 90)},
        claims=(
            in_four("at 80/s no request fails in any of four runs", "80/s", 0, False),
            in_four("at 85/s more than 30 % fail in each of four runs", "85/s", 0.3, True),
            in_four("at 90/s more than 40 % fail in each of four runs", "90/s", 0.4, True),
        ),
        measure=metrics_of)


def cached_database():
    return Study(
        name="cached-database",
        title="reads and writes through a server, a cache and a database",
        source="Loadline (2026), end-to-end run e2e-web, one run",
        scenario="study-cached-database.toml",
        cases={"healthy": Case()},
        measure=waits)


STUDIES = (
    backoff_and_jitter(),
    token_bucket(),
    open_closed_latency(),
    backoff_open_closed(),
    collapse("spike", "requests double for five seconds",
             (less("a minute after the spike more succeeds with backoff than without",
                   "goodput, 70 to 80 s", "no backoff", "backoff"),
              less("with backoff, what the spike left is done from 30 s on, beyond the 40/s that "
                   "come later", "goodput, 70 to 80 s", "backoff", "backoff",
                   "goodput, 30 to 40 s"))),
    collapse("ramp", "requests rise to twice what the service can do and fall again",
             (less("nothing comes back although requests fall: less succeeds than before",
                   "goodput, 60 to 70 s", "backoff", "backoff", "goodput, 0 to 10 s"),)),
    metastable_chain(),
    balancer_crash(),
    full_stack(),
    retry_storm(),
    cached_database(),
)
