"""Random valid scenarios that combine everything the table of keys offers.

`generate(seed, vocabulary)` gives a Case: the keys of a scenario, its CSV inputs and the command
that runs it. Which keys exist, when they apply and what values they take comes from the program, so
a new key is used as soon as it is in the table. POOLS lists the values that keep a scenario small
enough to run in a moment; rules.py says what several keys must agree on.

SPDX-License-Identifier: MIT
"""

import dataclasses
import random

from soaking import commands, csv_inputs, rules
from soaking.vocabulary import base_sdk

# Extremes are as likely as ordinary lengths: events at one instant and one nanosecond apart are
# where event-driven programs go wrong.
DURATIONS = ["0s", "0s", "1ns", "2ns", "1us", "1ms", "1ms", "5ms", "10ms", "20ms", "50ms", "100ms",
             "100ms", "250ms", "500ms", "1s", "1s", "2s", 0.5, "1min", "1h"]
NUMBERS = [0, 0, 1e-9, 0.01, 0.1, 0.5, 0.9, 1, 1, 1.5, 2, 3, 10, 100, 1e6]
COUNTS = [0, 0, 1, 1, 2, 3, 5, 10, 20, 100]
ERROR_CLASSES = ["throttling", "transient", "timeout", "not-retryable"]
ERROR_NAMES = ["429", "400", "404", "500", "502", "503", "504", "509", "599", "503:SlowDown",
               "400:ThrottlingException", "400:RequestTimeout", "403:RequestTimeTooSkewed",
               "400:IDPCommunicationError", "500:InternalError", "400:Whatever.x",
               "400:Busy+retryable+throttling", "500+not-retryable", "404+maybe-retryable+timeout",
               "503:Down+client-fault+maybe-retryable"]
# What services answer instead of the usual.
ANSWERS = ["429", "503:SlowDown", "503:Busy+throttling+retry-after=100ms", "400:Full+retryable",
           "503+not-retryable", "500:Late+timeout", "429+retry-after=0ms", "404"]
# APIs with error codes of their own, but without a preset.
MORE_APIS = ["ec2", "kinesis", "organizations"]

# Values by full pattern, else by name within the scope. Without a pool a key takes any value in its
# range.
POOLS = {
    "duration": ["500ms", "1s", "1s", "2s", "3s", "5s", 8],
    "fault.*.duration": ["1ns", "1ms", "100ms", "500ms", "1s", "1s", "3s", "20s"],
    "client.*.surge.*.duration": ["1ns", "10ms", "100ms", "500ms", "1s", "2s", "20s"],
    "start": ["0s", "0s", "1ns", "100ms", "500ms", "1s", "1s", "2s", "20s"],
    "warmup": ["0s", "1ns", "100ms", "250ms", "500ms", "1s"],
    "drain_limit": ["0s", "1ns", "100ms", "1s", "10s", "300s"],
    "interval": ["10ms", "100ms", "250ms", "1s", "1s", "3s", "7s", "300s"],
    "seed": [0, 1, 42, 2**63 - 1],
    "replications": [1, 2, 2, 3],
    "max_replications": [10, 11, 12],
    "precision": [0.3, 0.5, 1],
    "network.latency": ["0s", "1ns", "1ms", "10ms", "50ms", "500ms"],
    "service_time": ["0s", "0s", "1ns", "1ms", "5ms", "10ms", "50ms", "200ms", "1s"],
    "servers": [1, 1, 1, 2, 3, 5, 20, 1000000000],
    "autoscaling.interval": ["10ms", "100ms", "500ms", "1s", "10s"],
    "autoscaling.min": [1, 1, 2, 5],
    "autoscaling.max": [1, 2, 3, 10, 1000],
    "slowdown": [0, 0.01, 0.1, 1, 10],
    "slowdown_exponent": [0.5, 1, 2, 3],
    "service.*.instances": [1, 2, 2, 3, 3, 10, 100],
    "health_check.interval": ["10ms", "100ms", "100ms", "500ms", "1s"],
    "health_check.unhealthy_threshold": [1, 1, 2, 3],
    "health_check.healthy_threshold": [1, 1, 2, 5],
    "balancing_decay": ["1ns", "1ms", "100ms", "10s"],
    "balancing_subset": [1, 1, 2, 2, 3, 10],
    "panic_threshold": [0, 0.3, 0.5, 1],
    "ejection.interval": ["10ms", "100ms", "100ms", "500ms", "1s"],
    "ejection.consecutive_5xx": [1, 1, 2, 5],
    "ejection.consecutive_gateway_failure": [1, 1, 2, 5],
    "ejection.base_ejection_time": ["1ns", "10ms", "100ms", "1s"],
    "ejection.max_ejection_time": ["10ms", "100ms", "1s", "10s"],
    "ejection.max_ejection_percent": [0, 10, 50, 50, 100],
    "ejection.success_rate_stdev_factor": [1, 500, 1900],
    "ejection.success_rate_minimum_hosts": [1, 2, 3],
    "ejection.success_rate_request_volume": [1, 3, 10],
    "ejection.failure_percentage_threshold": [1, 50, 85, 100],
    "ejection.failure_percentage_minimum_hosts": [1, 2, 3],
    "ejection.failure_percentage_request_volume": [1, 3, 10],
    "accrual.max_failures": [1, 1, 2, 5],
    "accrual.min_penalty": ["1ns", "10ms", "100ms", "1s"],
    "accrual.max_penalty": ["10ms", "100ms", "1s", "10s"],
    "accrual.jitter_ratio": [0, 0.5, 1],
    "breaker.window_calls": [1, 2, 10, 100, 1000],
    "retry.avoid_hosts": [0, 1, 1, 2, 100],
    "fault.*.instance": [1, 1, 2, 3],
    "fault.*.per_year": [1e6, 1e7, 1e8],
    "fault.*.mtbf": ["100ms", "1s", "3s"],
    "fault.*.length": ["1ms", "100ms", "500ms"],
    "fault_draw": [1, 1, 2, 3],
    "fault.*.instances": [1, 1, 2, 9],
    "throttle.rate": [0.5, 1, 5, 20, 100, 1e9],
    "throttle.burst": [1, 1, 1.5, 2, 10, 1e9],
    "throttle.window": ["1s", "2s", "2500ms", "1min"],
    "service.*.throttle.operation.*.rate": [0.5, 1, 5, 20, 100, 1e9],
    "service.*.throttle.operation.*.window": ["1s", "2s", "1min"],
    "service.*.throttle.key.*.rate": [0.5, 1, 5, 20, 100, 1e9],
    "service.*.throttle.key.*.window": ["1s", "2s", "1min"],
    "keys.count": [1, 1, 2, 3, 10, 1000],
    "keys.exponent": [0, 0.5, 1, 2],
    "concurrency.limit": [1, 1, 2, 5, 20],
    "concurrency.initial": [1, 2, 5, 20, 200],
    "concurrency.min": [1, 1, 2, 5, 20],
    "concurrency.max": [1, 2, 5, 20, 200, 1000000000],
    "concurrency.alpha": [1, 2, 3, 10],
    "concurrency.beta": [1, 3, 6, 20],
    "concurrency.probe_multiplier": [1, 3, 30],
    "concurrency.min_rtt_requests": [1, 1, 3, 10],
    "concurrency.buckets": [1, 2, 5, 50],
    "concurrency.cpu": [0, 0.01, 0.1, 0.5, 0.9, 1],
    "concurrency.load": [0, 0.1, 1, 2.5],
    "queue.capacity": [0, 0, 1, 1, 2, 5, 20, 1000],
    "queue.lifo_above": [0, 1, 1, 2, 5, 20],
    "priority": [0, 0, 1, 1, 2, 63],
    "retry.priority": [0, 0, 1, 2, 63],
    "service.*.concurrency.partitions.*.share": [0, 0.1, 0.3],
    "service.*.concurrency.partitions.*.refuse_from": [0.1, 0.5, 0.8, 1],
    "queue.max_age": ["0s", "1ns", "1ms", "5ms", "20ms", "100ms", "1s"],
    "reject_cost": ["0s", "1ns", "1ms", "5ms", "20ms", "1s"],
    "errors.at": [0, 0.5, 1, 1],
    "capacity": [0, 0, 0.1, 0.5, 1, 2],
    "speed": [0, 0, 0.1, 0.5, 1, 2, 10],
    "count": [1, 1, 2, 3, 5, 20],
    "max_connections": [1, 1, 2, 5],
    "connection_queue": [0, 1, 2, 5],
    "bulkhead.max_concurrent": [1, 1, 2, 5],
    "bulkhead.queue": [0, 1, 2, 5],
    "send_rate.rate": [0.5, 1, 5, 20, 100],
    "send_rate.burst": [1, 1, 1.5, 2, 10],
    "arrivals.rate": [0.1, 0.5, 1, 2, 5, 10],
    "arrivals.total_rate": [0.01, 1, 5, 10, 20, 50],
    "arrivals.concurrency": [1, 1, 2, 5],
    "arrivals.think_time": ["0s", "1ns", "1ms", "10ms", "50ms", "100ms", "500ms"],
    "arrivals.on": ["1ns", "1ms", "10ms", "100ms", "100ms", "1s"],
    "arrivals.off": ["0s", "1ns", "1ms", "10ms", "100ms", "100ms", "1s"],
    "arrivals.job_time": ["0s", "1ns", "50ms", "100ms", "500ms", "2s"],
    "arrivals.base": ["1ns", "1ms", "10ms", "50ms", "100ms", "1s"],
    "arrivals.speed_up": [0.5, 1, 2, 60],
    "arrivals.scale": [0.1, 0.5, 1, 2],
    "arrivals.bucket": ["100ms", "1s", "1min"],
    "attempt_timeout": ["0s", "1ns", "1ms", "10ms", "50ms", "100ms", "100ms", "500ms", "1s"],
    "deadline": ["1ns", "1ms", "50ms", "100ms", "500ms", "1s", "5s"],
    "factor": [0, 0.1, 0.5, 1, 2, 5],
    "share": [1e-9, 0.1, 0.5, 1, 1, 2],
    "work": [0, 0.1, 1, 1, 5, 1e6],
    "reconcile_read": ["0s", "1ns", "1ms", "5ms", "20ms", "200ms"],
    "idempotency.write_delay": ["0s", "1ns", "1ms", "10ms", "50ms", "200ms"],
    "wait_within": ["0s", "1ns", "1ms", "10ms", "50ms", "1s"],
    "retry.max_attempts": [1, 2, 2, 3, 3, 5, 20, 4000000000],
    "retry.max_retries": [0, 1, 2, 5, 4000000000],
    "retry.backoff.factor": [1e-9, 0.5, 1, 1, 1.5, 2, 4],
    "retry.backoff.power": [0, 0.5, 1, 2, 3],
    "retry.delays_factor": [0.5, 1, 1.5, 2],
    "retry.quota.capacity": [0, 1, 5, 10, 14, 20, 500],
    "retry.quota.cost": [0, 1, 5, 5, 14],
    "retry.client_throttle.window_calls": [0, 1, 10, 100],
    "retry.hedging.delay": ["0s", "0s", "1ns", "1ms", "5ms", "10ms", "50ms", "100ms", "200ms"],
}
# What retry.on and its like may name.
ERRORS = ["any", "503", "500", "429", "400", "4xx", "5xx", "internal", "unavailable", "throttled",
          "timeout", "connection", "no-connection", "bulkhead-full", "not-permitted", "SlowDown",
          "400:ThrottlingException"]
# Keys whose combinations have much to get wrong: given in more scenarios than others are.
FAVOURED = {"retry.max_attempts", "retry.hedging.delay", "attempt_timeout", "deadline",
            "max_connections", "queue.discipline", "queue.capacity", "queue.drop_expired",
            "queue.max_age", "abandoned", "overflow", "timeout", "balancing", "mutating",
            "idempotency.window", "idempotency.in_progress", "idempotency.stored", "token_from"}
# Where a value outside of the pool would make a run long, or make it end before anything happens.
ONLY_FROM_POOL = {"duration", "count", "replications", "max_replications", "interval", "rate",
                  "total_rate", "precision", "arrivals.rate", "arrivals.total_rate", "seed",
                  "arrivals.concurrency", "arrivals.speed_up", "arrivals.scale",
                  "retry.client_throttle.window_calls", "service_time", "warmup",
                  "throttle.window", "keys.count", "health_check.interval",
                  "ejection.interval", "accrual.min_penalty"}


# Between these a value has a part in what happens; beyond them it seldom lets anything happen.
ORDINARY_SECONDS = (1e-3, 20)
ORDINARY_NUMBERS = (0.01, 1000)


def is_ordinary(value):
    """Neither extreme nor zero; words are ordinary."""
    if isinstance(value, str) and not value[0].isdigit():
        return True
    low, high = ORDINARY_SECONDS if isinstance(value, str) else ORDINARY_NUMBERS
    return low <= rules.seconds(value) <= high


@dataclasses.dataclass
class Case:
    """A scenario and how to run it. Keys are paths: ("client", "c0", "retry", "mode")."""

    seed: int
    keys: dict
    files: dict = dataclasses.field(default_factory=dict)  # name -> text of a CSV input
    edits: tuple = ()  # paths of keys that are given by --set
    command: tuple = ("run",)  # and its own options
    environment: dict = dataclasses.field(default_factory=dict)
    most_requests: int = 200  # of a client group, roughly: a scenario should take a moment


def is_percentile(parameter):
    return parameter[0] == "p" and parameter[1:].isdigit()


class Generator:
    """One scenario. All of its draws come from its seed."""

    def __init__(self, seed, vocabulary, ordinary=False, wanted=()):
        self.random = random.Random(seed)
        self.vocabulary = vocabulary
        self.ordinary = ordinary
        self.wanted = wanted
        self.case = Case(seed, {})
        self.scenario = rules.Scenario(self.case.keys, vocabulary)
        # A few lengths of time that keep coming back, so that things happen at the same instant.
        self.ticks = self.random.sample(self.usual(DURATIONS), 3)
        # Each scenario uses a few groups of keys much, instead of all of them a little.
        self.eagerness = self.random.choice([0.05, 0.15, 0.3, 0.5])
        self.groups = {}
        self.services = []

    def chance(self, probability):
        return self.random.random() < probability

    def usual(self, values):
        """The ordinary ones of some values, if only those are wanted and there are any."""
        return self.ordinary and [v for v in values if is_ordinary(v)] or values

    def generate(self):
        self.fill((), "")
        self.services = [f"s{i}" for i in range(self.random.choice([1, 1, 2, 2, 3]))]
        for i, name in enumerate(self.services):
            self.fill(("service", name), "service.*")
            for callee in self.services[i + 1:]:
                if self.chance(0.6):
                    self.fill(("service", name, "calls", callee), "service.*.calls.*")
        clients = [f"c{i}" for i in range(self.random.choice([1, 1, 2, 3]))]
        for name in clients:
            self.fill(("client", name), "client.*")
            self.fill_some(("client", name, "surge"), "client.*.surge.*", 0.25)
            self.fill_some(("client", name, "operation"), "client.*.operation.*", 0.25)
        for name in self.services:
            self.limit_throttle(name)
            self.partition_limit(name)
        self.fill_some(("fault",), "fault.*", 0.6)
        self.fill_some(("phase",), "phase.*", 0.15)
        self.fill_some(("expect",), "expect.*", 0.15)
        self.set_objective(clients)
        self.derive("service", self.services)
        self.derive("client", clients)
        if self.ordinary:
            self.case.most_requests = 600
            if self.chance(0.5):
                self.disturb()
        rules.mend(self.case, self.vocabulary)
        commands.choose(self)
        return self.case

    def disturb(self):
        """Faults and surges in the middle of a run that is long enough to show what becomes of it,
        by clients that keep on sending."""
        keys, choose = self.case.keys, self.random.choice
        start = choose([2, 3, 3, 5])
        keys[("duration",)] = choose([10, 15, 20])
        keys[("interval",)] = choose(["250ms", "500ms", "1s"])
        for path in [("warmup",), ("drain",)]:
            if self.chance(0.8):
                keys.pop(path, None)
        for path in list(keys):
            if path[0] == "fault" or "surge" in path:
                if path[-1] == "start":
                    keys[path] = start
                elif path[-1] == "duration":
                    keys[path] = choose(["500ms", "1s", "2s", "3s"])
            elif path[0] == "client" and path[2:] == ("arrivals", "process") and self.chance(0.6):
                keys[path] = choose(["poisson", "constant"])
            elif path[0] == "service" and path[2:] == ("service_time",):
                keys[path] = choose(["10ms", "20ms", "50ms", "100ms"])
        if self.chance(0.6):
            self.heal(start)

    def heal(self, start):
        """Nothing but the disturbance is in the way of the requests."""
        keys, choose = self.case.keys, self.random.choice
        for path in list(keys):
            if path[-1] in ("request_loss", "response_loss", "deadline", "latency", "limit",
                            "control", "profile") or \
                    path[0] == "service" and ("errors" in path or "throttle" in path):
                del keys[path]
            elif path[-1] == "attempt_timeout":
                keys[path] = choose(["200ms", "500ms", "1s"])
            elif path[0] == "service" and path[2:] == ("servers",):
                keys[path] = choose([2, 3, 5])
            elif path[2:] == ("arrivals", "process"):
                keys[path] = choose(["poisson", "constant"])
                keys.pop((*path[:3], "rate"), None)
                keys[(*path[:3], "total_rate")] = choose([10, 20, 40])
        keys[("recovery", "window")] = keys[("recovery", "hold")] = "1s"
        if not any(path[0] == "fault" for path in keys):
            fault = ("fault", "f0")
            keys[(*fault, "service")] = choose(self.services)
            keys[(*fault, "start")] = start
            keys[(*fault, "duration")] = choose(["500ms", "1s", "2s", "3s"])
            kind, value = choose([(("capacity",), 0), (("capacity",), 0.2), (("speed",), 0.2),
                                  (("errors", "unavailable"), 1), (("errors", "throttled"), 0.5)])
            keys[(*fault, *kind)] = value

    def limit_throttle(self, service):
        """Operations or keys with limits of their own, at times where there is a throttle."""
        if not self.scenario.applies(("service", service), "throttle.burst") or self.chance(0.5):
            return
        operations = sorted({path[3] for path in self.case.keys
                             if path[0] == "client" and path[2:3] == ("operation",)})
        kind, names = self.random.choice([("operation", operations), ("key", ["1", "2"])])
        for name in names[:self.random.choice([1, 2])]:
            self.fill(("service", service, "throttle", kind, name), f"service.*.throttle.{kind}.*")

    def partition_limit(self, service):
        """Priorities with rules of their own, at times where there is a limit on concurrency."""
        control = self.scenario.get(("service", service), "concurrency.control")
        limit = self.scenario.get(("service", service), "concurrency.limit")
        if control == "fixed" and limit in (None, "unlimited") or self.chance(0.5):
            return
        for number in range(self.random.choice([1, 2, 3])):
            path = ("service", service, "concurrency", "partitions", f"p{number}")
            self.fill(path, "service.*.concurrency.partitions.*")
            self.case.keys[(*path, "priority")] = number

    def fill_some(self, prefix, scope, probability):
        for number in range(3):
            if not self.chance(probability):
                return
            self.fill((*prefix, f"{prefix[-1][0]}{number}"), scope)

    def set_objective(self, clients):
        """At times an objective, for requests of a window that need not be those of the run."""
        if not self.chance(0.1):
            return
        keys, choose = self.case.keys, self.random.choice
        faults = sorted({path[1] for path in keys if path[0] == "fault"})
        keys[("slo", "o0", "share")] = choose([0.9, 0.99, 0.999])
        keys[("slo", "o0", "requests_per_window")] = choose([1000, 1_000_000])
        if self.chance(0.6):
            keys[("slo", "o0", "latency")] = choose(["10ms", "100ms", "1s", "any"])
        if self.chance(0.5):
            keys[("slo", "o0", "window")] = choose(["1h", "720h"])
        if self.chance(0.5):
            keys[("slo", "o0", "clients")] = [choose(clients)]
        if faults and self.chance(0.8):
            keys[("slo", "o0", "events_per_year", choose(faults))] = choose([1, 12])

    def derive(self, kind, names):
        """At times another entity like one that there is."""
        if not self.chance(0.08) or (kind == "service" and len(names) == 1):
            return  # with a second service, clients and faults must name theirs
        prefix = (kind, names[0] + "like")
        self.case.keys[(*prefix, "like")] = names[0]
        changes = {"service": {"price": 2, "slowdown": 0.5}, "client": {"priority": 1, "count": 2}}
        for name, value in changes[kind].items():
            # A table of slowdowns takes the place of the number.
            replaced = name == "slowdown" and \
                self.scenario.get((kind, names[0]), "slowdown_curve") == "table"
            if self.chance(0.5) and self.scenario.applies((kind, names[0]), name) and not replaced:
                self.case.keys[(*prefix, name)] = value

    # --- Keys ------------------------------------------------------------------------------------

    def fill(self, prefix, scope):
        """Gives keys to one table. Conditions refer to keys that come before in the table."""
        rows = self.vocabulary.by_scope[scope]
        deciding = {row.when.split(" ")[0] for row in rows.values() if row.when}
        for key in rows.values():
            if key.name == "like":
                continue
            if key.name == "retry.mode":
                self.choose_preset(prefix)
            elif key.name in ("retry.revision", "retry.sdk", "retry.api"):
                continue
            elif key.name == "errors.*":
                self.name_errors(prefix)
            elif key.name in ("calls", "service") and len(self.services) == 1 and self.chance(0.5):
                continue  # not needed while there is one
            elif (key.required or self.wants(scope, key, key.name in deciding)) and \
                    self.scenario.applies(prefix, key.name):
                self.case.keys[(*prefix, *key.name.split("."))] = self.draw(prefix, key)

    def wants(self, scope, key, decides):
        """Keys are chosen by group: "retry.quota" of clients is used or not."""
        if key.pattern in self.wanted and self.chance(0.7):
            return True
        if key.name in FAVOURED and self.chance(0.3):
            return True
        group = (scope, key.name.rpartition(".")[0] or key.name)
        if group not in self.groups:
            self.groups[group] = self.chance(self.eagerness)
        if not self.groups[group]:
            return self.chance(0.01)
        return self.chance(0.8 if decides or "." not in key.name else 0.5)

    def choose_preset(self, prefix):
        # Twice custom: it is the mode that takes every other rule.
        modes = sorted({p.mode for p in self.vocabulary.presets}) + ["custom"]
        mode = self.random.choice(modes)
        rows = [p for p in self.vocabulary.presets if p.mode == mode]
        preset = self.random.choice(rows)
        retry = {"mode": mode, "revision": preset.revision, "sdk": preset.sdk, "api": preset.api}
        if preset.api == "default" and mode != "none" and self.chance(0.05):
            retry["api"] = self.random.choice(MORE_APIS)
        implied = {"revision": ("", "2.0"), "sdk": ("", "botocore"), "api": ("default",)}
        if preset.revision == "smithy" or mode == "custom":
            implied["sdk"] = ("",)
        if self.chance(0.2) and (release := self.choose_release(preset)):
            retry["sdk"] = release.sdk
            implied["revision"] = ("", release.revision)
            if mode == release.mode and self.chance(0.5):
                retry["mode"] = ""
        for name, value in retry.items():
            if value == "" or (value in implied.get(name, ()) and
                               (name == "sdk" or mode == "none" or self.chance(0.7))):
                continue
            self.case.keys[(*prefix, "retry", name)] = value
        if self.case.keys.get((*prefix, "retry", "from_environment")) and self.chance(0.5):
            self.case.environment["AWS_MAX_ATTEMPTS"] = self.random.choice(["1", "2", "7"])

    def choose_release(self, preset):
        """A release that has a preset, if there is any."""
        def has_it(release):
            return any((p.mode, p.revision, base_sdk(p.sdk), p.api) ==
                       (preset.mode, preset.revision, preset.sdk, preset.api)
                       for p in release.presets)
        releases = [r for r in self.vocabulary.releases.values() if has_it(r)]
        return self.random.choice(releases) if releases else None

    def name_errors(self, prefix):
        if self.chance(0.1):
            for name in self.random.sample(ERROR_NAMES, self.random.choice([1, 2, 4])):
                self.case.keys[(*prefix, "errors", name)] = self.random.choice([0, 0.1, 0.5, 1])

    # --- Values ----------------------------------------------------------------------------------

    def draw(self, prefix, key):
        special = {"retry.retryer": lambda: self.random.choice(["shared", "other", "none"]),
                   "name": lambda: f"soak{self.case.seed}",
                   "description": lambda: self.random.choice(["", "a \"quoted\" \\ text, ü"]),
                   "service": lambda: self.random.choice(self.services_for(prefix)),
                   "one_of": lambda: self.random.choice(["some", "others"]),
                   "fallback": lambda: self.random.choice(self.services),  # mended
                   "with": lambda: self.random.choice(["f0", "f1"]),  # mended
                   "calls": lambda: self.random.choice(self.services),
                   "metric": lambda: self.random.choice(self.vocabulary.metrics),
                   "client": self.draw_client,
                   "precision_metrics": lambda: ", ".join(
                       self.random.sample(self.vocabulary.metrics, self.random.choice([1, 3])))}
        if key.name == "operation":
            return self.random.choice(["o0", "o1", ["o0", "o1"]])
        if key.name in ("breaker.failures", "breaker.ignored"):
            if self.chance(0.3):
                return key.else_word
            return self.random.sample(ERROR_CLASSES, self.random.choice([1, 2, 3]))
        if key.name in ("retry.on", "retry.not_on", "retry_not_on", "retry.base_after"):
            return self.draw_errors(key.name == "retry.base_after")
        if key.kind == "names":
            return self.draw_services()
        if key.kind == "text" and key.name.startswith("answers."):
            return self.random.choice(ANSWERS)
        if key.kind == "text" and key.name in special:
            return special[key.name]()
        if key.also_word and self.chance(0.2):
            return key.also_word  # "sdk" is dropped again where the SDK has no defaults
        if key.else_word and self.chance(0.3):
            return key.else_word
        return self.draw_of_kind(prefix, key)

    def services_for(self, prefix):
        """Services call only services after them."""
        if prefix[0] != "service":
            return self.services
        return self.services[self.services.index(prefix[1]) + 1:]

    def draw_services(self):
        """One service, or a list that may name one twice."""
        if self.chance(0.8):
            return self.random.choice(self.services)
        return [self.random.choice(self.services) for _ in range(self.random.choice([1, 2, 3]))]

    def draw_errors(self, with_bases):
        """A list of errors, with or without a base of the backoff for each."""
        errors = [self.random.choice(ERRORS) for _ in range(self.random.choice([1, 1, 2, 4]))]
        if not with_bases:
            return errors
        return [f"{error}={round(rules.seconds(self.random.choice(self.ticks)) * 1e9)}ns"
                for error in errors]

    def draw_client(self):
        groups = [path[1] for path in self.case.keys if path[0] == "client"]
        calls = [f"{path[1]}.{path[3]}" for path in self.case.keys
                 if path[0] == "service" and path[2:3] == ("calls",)]
        return self.random.choice(["all", *sorted(set(groups + calls))])

    def draw_of_kind(self, prefix, key):
        if key.kind == "boolean":
            return self.chance(0.5)
        if key.kind == "word":
            return self.random.choice(key.words)
        if key.kind == "distribution":
            return self.draw_distribution(key)
        if key.kind == "counts":
            return self.random.choice([0, 1, 2, 3, 5, {"distribution": "exponential", "mean": 1.5},
                                       {"distribution": "uniform", "min": 0, "max": 4}])
        if key.kind == "distributions":
            return [self.draw_distribution(key) for _ in range(self.random.choice([1, 1, 2, 4]))]
        if key.kind == "file":
            return self.add_file(csv_inputs.kind_for(key.name, self.random))
        if key.kind == "text":
            raise ValueError(f"{key.pattern} is a text; teach Generator.draw what it may be")
        return self.draw_number(key)

    def draw_number(self, key):
        pool = POOLS.get(key.pattern) or POOLS.get(key.name)
        if pool and (key.name in ONLY_FROM_POOL or self.chance(0.8)):
            # Zeros may mean something, and extremes must not be new to the engine.
            values = pool if self.ordinary and self.chance(0.1) else self.usual(pool)
        elif key.kind == "duration":
            values = self.ticks * 3 + self.usual(DURATIONS)
        else:
            values = list(COUNTS if key.kind == "count" else NUMBERS)
            for end in (key.low, key.high):
                if abs(end) < float("inf"):
                    values.append(int(end) if key.kind == "count" or end == int(end) else end)
            values = self.usual([v for v in values if rules.in_range(key, v)])
        fitting = [v for v in values if rules.in_range(key, v)]
        if not fitting:
            raise ValueError(f"no value for {key.pattern} lies in its range; give it a pool")
        return self.random.choice(fitting)

    def draw_distribution(self, key):
        pool = POOLS.get(key.pattern) or POOLS.get(key.name) or self.ticks + DURATIONS
        pool = self.usual(pool)
        if key.name not in ONLY_FROM_POOL:
            pool = self.ticks + pool
        if self.chance(0.5):
            return self.random.choice(pool)
        name, parameters = self.random.choice(self.vocabulary.distributions)
        if name != "constant":  # a mean of 0 is a constant
            pool = [length for length in pool if rules.seconds(length) > 0]
        if is_percentile(parameters[0]):
            return self.draw_percentiles(name, parameters, pool)
        shapes = {"erlang": [1, 2, 10], "gamma": [0.3, 1, 20], "pareto": [1.01, 1.5, 3],
                  "weibull": [0.5, 1, 5]}
        values = {"cv": [1, 1.0, 2, 5], "p": [0, 0.5, 1], "shape": shapes.get(name),
                  "factor": [0.5, 1, 2]}
        result = {"distribution": name}
        for parameter in parameters:
            if parameter == "file":
                result[parameter] = self.add_file("values")
            else:
                result[parameter] = self.random.choice(values.get(parameter) or pool)
        if name == "uniform":
            result["min"], result["max"] = self.random.choice(
                [("0s", "1ns"), ("0s", "10ms"), ("1ms", "100ms"), ("0s", "200ms")])
        return result

    def draw_percentiles(self, name, parameters, pool):
        """Those of a law that there is: p99 is two to eight times the median or the mean."""
        longest = 1e8
        pool = [length for length in pool if 0 < rules.seconds(length) < longest] or ["10ms"]
        middle = rules.seconds(self.random.choice(pool))
        if set(parameters) == {"p50", "p99"}:
            name = self.random.choice([name, name, "weibull", "gamma", "pareto"])
        values = {"p99": f"{max(middle * self.random.choice([2, 3, 8]), 2e-9) * 1e9:.0f}ns",
                  "cv": self.random.choice([0.5, 1, 2])}
        return {"distribution": name} | {parameter: values.get(parameter) or
                                         f"{max(middle, 1e-9) * 1e9:.0f}ns"
                                         for parameter in parameters}

    def add_file(self, kind):
        name = f"{kind}{len(self.case.files)}.csv"
        self.case.files[name] = csv_inputs.text_of(kind, self.random, self.usual)
        return name


def generate(seed, vocabulary, ordinary=False, wanted=()):
    """The scenario of a seed: always the same for the same vocabulary. An ordinary one has hardly
    any extreme values. It is likely to have the keys whose patterns are `wanted`."""
    return Generator(seed, vocabulary, ordinary, wanted).generate()
