"""What the keys of a random scenario must agree on, beyond the range of each.

`mend` changes a case until it is valid. It is also the judge of a single changed value: a case that
it would not touch is valid.

SPDX-License-Identifier: MIT
"""

import re

from soaking import csv_inputs
from soaking.vocabulary import base_sdk

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
# What one replication may amount to, beside `Case.most_requests`.
MOST_BINS = 2000
FEWEST_REPLICATIONS_FOR_PRECISION = 10
FEWEST_BINS_FOR_WARMUP = 100
SHORTEST_BUCKET_S = 1e-6  # sped up, it must still be longer than a nanosecond


def seconds(value):
    """A duration of a scenario: "10ms" or a number of seconds."""
    if isinstance(value, (int, float)):
        return value
    number, unit = re.fullmatch(r"([0-9.e-]+)([a-z]+)", value).groups()
    return float(number) * UNITS[unit]


def in_range(key, value):
    """Whether a number, or a duration, lies in the range of its key."""
    if key.kind != "duration" and isinstance(value, str):
        return False
    number = seconds(value)
    if key.kind == "count" and number != int(number):
        return False
    if key.kind == "duration" and key.above_low and number < 1e-9:
        return False
    return (number > key.low if key.above_low else number >= key.low) and number <= key.high


def mean_seconds(value):
    """Roughly the mean of a distribution, as far as it matters here."""
    if not isinstance(value, dict):
        return seconds(value)
    lengths = [seconds(value[name]) for name in ("mean", "max", "mean1", "mean2", "p50")
               if name in value]
    return min(lengths) if lengths else 0.1


class Scenario:
    """The keys of a case, with their defaults and conditions."""

    def __init__(self, keys, vocabulary):
        self.keys = keys
        self.vocabulary = vocabulary
        self.places = vocabulary.places  # remembered: there are few different paths

    def names(self, *prefix):
        """The tables in one, by name: names("client")."""
        found = {}
        for path in self.keys:
            if path[:len(prefix)] == prefix and len(path) > len(prefix) + 1:
                found[path[len(prefix)]] = True
        return list(found)

    def tables(self):
        """(prefix, scope) of every table that has keys."""
        found = {}
        for path in self.keys:
            found[self.split(path)[:2]] = True
        return list(found)

    def split(self, path):
        """("client", "c0", "retry", "mode") as (("client", "c0"), "client.*", "retry.mode")."""
        if path not in self.places:
            best = ((), "")
            for scope in self.vocabulary.by_scope:
                parts = scope.split(".") if scope else []
                if len(best[0]) < len(parts) < len(path) and \
                        all(part in ("*", name) for part, name in zip(parts, path)):
                    best = (path[:len(parts)], scope)
            self.places[path] = (*best, ".".join(path[len(best[0]):]))
        return self.places[path]

    def key_of(self, path):
        """The row of the table of keys."""
        _, scope, name = self.split(path)
        rows = self.vocabulary.by_scope[scope]
        if name in rows:
            return rows[name]
        return next(row for row in rows.values()  # one that takes any name: "errors.*"
                    if row.name.endswith(".*") and name.startswith(row.name[:-1]))

    def release(self, prefix):
        """The release of an SDK that a client group names, if it does."""
        return self.vocabulary.releases.get(self.keys.get((*prefix, "retry", "sdk")))

    def preset(self, prefix):
        """The preset that a client group chooses."""
        def get(name, default):
            return self.keys.get((*prefix, "retry", name), default)
        release = self.release(prefix)
        mode, api = get("mode", release.mode if release else ""), get("api", "default")
        revision = get("revision", release and release.revision or "2.0")
        sdk = get("sdk", "" if mode == "custom" or revision == "smithy" else "botocore")
        rows = [p for p in (release.presets if release else self.vocabulary.presets)
                if p.mode == mode and p.revision in ("", revision) and p.sdk in ("", sdk)]
        own = [p for p in rows if p.api == api] + [p for p in rows if p.api == "default"]
        # A preset of this very SDK comes before one of any.
        return next((p for p in own if p.sdk == sdk), own[0] if own else None)

    def get(self, prefix, name):
        """The value in force; None if the key does not apply or has no value."""
        if (value := self.keys.get((*prefix, *name.split(".")))) is not None:
            return value
        scope = self.split((*prefix, *name.split(".")))[1]
        key = self.vocabulary.by_scope[scope].get(name)
        if key is None or not self.applies(prefix, name):
            return None
        if name in ("retry.mode", "retry.revision") and (release := self.release(prefix)):
            return release.mode if name == "retry.mode" else release.revision
        if key.default:
            return read_default(key.default)
        if name.startswith("retry.") and (preset := self.preset(prefix)):
            return preset.defaults.get(name)
        return None

    def given(self, prefix, name):
        return (*prefix, *name.split(".")) in self.keys

    def missing(self):
        """Whether a key is required, say because of another one, and not given."""
        return any(key.required and key.name not in ("retry.mode", "service", "calls") and
                   not self.given(prefix, key.name) and self.applies(prefix, key.name)
                   for prefix, scope in self.tables() if (*prefix, "like") not in self.keys
                   for key in self.vocabulary.by_scope[scope].values())

    def applies(self, prefix, name):
        scope = self.split((*prefix, *name.split(".")))[1]
        key = self.vocabulary.by_scope[scope].get(name)
        if key is None or not key.when:
            return True
        if name.startswith("retry.") and self.get(prefix, "retry.mode") == "none":
            return False
        other, relation, *words = key.when.split(" ")
        if relation == "unset":
            return not self.given(prefix, other)
        value = self.get(prefix, other)
        if value is None:
            return False
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return (text in " ".join(words).split(" or ")) == (relation == "=")


def read_default(text):
    """A default of the table of keys."""
    if text.startswith('"'):
        return text.strip('"')
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text or "e" in text else int(text)


class Mender:
    """Applies every rule until none finds anything more to change."""

    def __init__(self, case, vocabulary):
        self.case = case
        self.keys = case.keys
        self.scenario = Scenario(case.keys, vocabulary)
        self.get = self.scenario.get
        self.given = self.scenario.given

    def put(self, prefix, name, value):
        self.keys[(*prefix, *name.split("."))] = value

    def drop(self, prefix, name):
        self.keys.pop((*prefix, *name.split(".")), None)

    def mend(self):
        for _ in range(20):
            before = dict(self.keys)
            self.drop_what_does_not_apply()
            for prefix, scope in self.scenario.tables():
                if (*prefix, "like") in self.keys:
                    continue  # it is as valid as what it is like
                if not any(path[:len(prefix)] == prefix for path in self.keys):
                    continue  # a rule has just removed it
                for rule in RULES.get(scope, []):
                    rule(self, prefix)
            if before == self.keys:
                return
        raise ValueError(f"seed {self.case.seed}: the rules of rules.py never agree")

    def drop_what_does_not_apply(self):
        for path in list(self.keys):
            prefix, _, name = self.scenario.split(path)
            if not self.scenario.applies(prefix, name) and (*prefix, "like") not in self.keys:
                del self.keys[path]

    # --- Rules -----------------------------------------------------------------------------------

    def limit_probabilities(self, prefix):
        """The probabilities of errors add up to 1 at most."""
        paths = [p for p in self.keys if p[:-1] == (*prefix, "errors") and p[-1] != "at"]
        total = sum(self.keys[p] for p in paths)
        if total > 1:
            for path in paths:
                self.keys[path] = int(self.keys[path] / total * 1000) / 1000

    def fit_sdk(self, prefix):
        """"sdk" is for the SDKs whose defaults are known; not all of them have a timeout."""
        preset = self.scenario.preset(prefix)
        known = preset is not None and \
            base_sdk(preset.sdk) in self.scenario.vocabulary.sdks_with_defaults
        for name in ("attempt_timeout", "connect_timeout", "connection_wait", "max_connections"):
            if self.get(prefix, name) == "sdk" and (not known or name == "attempt_timeout" and
                                                    self.loses_messages(self.target_of(prefix))):
                self.drop(prefix, name)
        if self.get(prefix, "max_connections") == "sdk":  # some have as many as they need
            self.drop(prefix, "connection_wait")
            self.drop(prefix, "connection_queue")

    def target_of(self, prefix):
        if prefix[0] != "service":
            return self.service_of(prefix)
        return self.get(prefix, "service") or prefix[3]

    def fit_call(self, prefix):
        """Shares, quorums, alternatives, fallbacks and operations that go together."""
        calls = self.scenario.names("service", prefix[1], "calls")
        others = [prefix[:3] + (name,) for name in calls if name != prefix[3]]
        is_fallback = any(self.get(other, "fallback") == prefix[3] for other in others)
        if is_fallback:
            self.drop(prefix, "one_of")
        if is_fallback or self.given(prefix, "one_of"):
            self.drop(prefix, "stage")
        if self.given(prefix, "share"):
            if not self.given(prefix, "one_of") and self.get(prefix, "share") > 1 or \
                    self.given(prefix, "one_of") and self.get(prefix, "share") <= 0:
                self.drop(prefix, "share")
        count, need = self.get(prefix, "count"), self.get(prefix, "need")
        if need != "all" and (need > 1000 or not isinstance(count, dict) and need > count):
            self.drop(prefix, "need")
        if self.given(prefix, "fallback"):  # on a call after it, so that there is no circle
            after = [name for name in calls if name > prefix[3]]
            if not after:
                self.drop(prefix, "fallback")
                self.drop(prefix, "on_failure")
            elif self.get(prefix, "fallback") not in after:
                self.put(prefix, "fallback", after[0])
        if self.given(prefix, "operation"):
            wanted = self.get(prefix, "operation")
            wanted = wanted if isinstance(wanted, list) else [wanted]
            callers = [prefix[1], *self.services_like(prefix[1])]  # all of them make this call
            if not all(self.reaches(name, caller) for name in wanted for caller in callers):
                self.drop(prefix, "operation")

    def services_like(self, service):
        return [name for name in self.scenario.names("service")
                if self.keys.get(("service", name, "like")) == service]

    def reaches(self, operation, service):
        """Whether some requests of clients at the service have the operation."""
        for client in self.scenario.names("client"):
            group = ("client", client)
            if (*group, "operation", operation, "share") not in self.keys:
                continue
            own = self.keys.get((*group, "operation", operation, "calls"))
            called = own or self.service_of(group)
            if service == called or isinstance(called, list) and service in called:
                return True
        return False

    def end_lost_requests(self, prefix):
        """Who may lose a message needs a timeout or a deadline; that of the caller may be none."""
        if self.get(prefix, "attempt_timeout") == "none" and \
                self.get(prefix, "deadline") in ("none", "caller"):
            if self.loses_messages(self.target_of(prefix)):
                self.put(prefix, "attempt_timeout", "100ms")

    def service_of(self, prefix):
        return self.get(prefix, "calls") or self.scenario.names("service")[0]

    def loses_messages(self, service):
        # A service that is like another one has its overflow, so any will do.
        return any(path[-1] in ("request_loss", "response_loss") and value > 0 or
                   path[-1] == "black_hole" and value is True or
                   path[-1] == "overflow" and value == "drop" for path, value in self.keys.items())

    def choose_arrivals(self, prefix):
        """Either a rate or a total rate, unless a profile is one."""
        if self.given(prefix, "arrivals.rate"):
            self.drop(prefix, "arrivals.total_rate")
        elif not self.given(prefix, "arrivals.total_rate") and \
                not self.given(prefix, "arrivals.profile") and \
                self.scenario.applies(prefix, "arrivals.rate"):
            self.put(prefix, "arrivals.total_rate", 20)
        on = self.get(prefix, "arrivals.on")
        if on is not None and mean_seconds(on) <= 0:
            self.put(prefix, "arrivals.on", "100ms")

    def fit_arrival_file(self, prefix):
        """Some keys need a file of a certain kind."""
        name = self.get(prefix, "arrivals.file") or self.get(prefix, "arrivals.profile")
        kind = csv_inputs.kind_of(self.case.files[name]) if name in self.case.files else ""
        process = self.get(prefix, "arrivals.process")
        useless = {"": ("interpolate",), "export": ("interpolate",), "rates": ("bucket",),
                   "times": ("interpolate", "bucket", "scale", "spacing")}
        for key in useless.get(kind, ()):
            self.drop(prefix, f"arrivals.{key}")
        if process in ("once", "closed") or (process == "trace" and kind == "times"):
            for path in [p for p in self.keys if p[:3] == (*prefix, "surge")]:
                del self.keys[path]
        bucket = self.get(prefix, "arrivals.bucket")
        if kind == "export" and (self.case.files[name].count("\n") < 3 or
                                 bucket is not None and mean_seconds(bucket) < SHORTEST_BUCKET_S):
            self.put(prefix, "arrivals.bucket", "1s")
        if kind in ("export", "rates") and process == "trace":
            # A minute of an export is a moment of the run; no two rows in one nanosecond.
            self.put(prefix, "arrivals.speed_up", 60 if kind == "export" else 1)

    def limit_load(self, prefix):
        """Few enough requests."""
        count = self.get(prefix, "count")
        length = seconds(self.get((), "duration"))
        factor = max([1, *(self.keys[p] for p in self.keys
                           if p[:3] == (*prefix, "surge") and p[-1] == "factor")])
        rate = self.get(prefix, "arrivals.total_rate") or \
            (self.get(prefix, "arrivals.rate") or 0) * count
        if rate * length * factor > self.case.most_requests:
            self.drop(prefix, "arrivals.rate")
            self.put(prefix, "arrivals.total_rate", self.case.most_requests / length / factor)

    def fit_servers(self, prefix):
        """Limits that enclose what they start with; unlimited servers have no number to change."""
        servers = self.get(prefix, "servers")
        control = self.get(prefix, "concurrency.control")
        if servers in (None, "unlimited"):
            if control in ("go-zero", "kratos", "sentinel"):
                for path in [p for p in self.keys if p[:-1] == (*prefix, "concurrency")]:
                    del self.keys[path]
            self.drop(prefix, "profile")
            if self.get(prefix, "queue.discipline") == "processor-sharing":
                self.drop(prefix, "queue.discipline")
        elif self.given(prefix, "autoscaling.max"):
            self.put(prefix, "autoscaling.max", max(servers, self.get(prefix, "autoscaling.max")))
            if self.given(prefix, "autoscaling.min"):
                self.put(prefix, "autoscaling.min",
                         min(servers, self.get(prefix, "autoscaling.min")))
        self.fit_limit(prefix, control)
        if self.get(prefix, "instances") not in (None, 1):
            for path in [p for p in self.keys if p[:-1] == (*prefix, "autoscaling")]:
                del self.keys[path]
        self.fit_balancing(prefix)
        if self.get(prefix, "slowdown_curve") == "table":
            self.drop(prefix, "slowdown")
        if self.get(prefix, "model") == "occ":
            for path in [p for p in self.keys if p[:3] == (*prefix, "calls")]:
                del self.keys[path]

    def fit_limit(self, prefix, control):
        """An adaptive limit on concurrency begins between its bounds."""
        if control in ("gradient2", "aimd", "vegas", "envoy"):
            # Their defaults depend on the control.
            bounds = {"vegas": (1, 1000), "envoy": (3, 1000)}.get(control, (20, 200))
            least = self.get(prefix, "concurrency.min") or bounds[0]
            most = self.get(prefix, "concurrency.max") or bounds[1]
            initial = self.get(prefix, "concurrency.initial") or least
            if least > initial:
                self.put(prefix, "concurrency.min", initial)
            if most < initial:
                self.put(prefix, "concurrency.max", initial)
        if control == "vegas":
            alpha = self.get(prefix, "concurrency.alpha")
            if self.get(prefix, "concurrency.beta") < alpha:
                self.put(prefix, "concurrency.beta", alpha)

    def fit_partitions(self, prefix):
        """One partition for each priority; together they share the whole limit at most."""
        places = (*prefix, "concurrency", "partitions")
        seen, left = set(), 1.0
        for name in self.scenario.names(*places):
            partition = (*places, name)
            priority = self.get(partition, "priority") or 0
            if priority in seen:
                for path in [p for p in self.keys if p[:len(partition)] == partition]:
                    del self.keys[path]
                continue
            seen.add(priority)
            share = self.get(partition, "share")
            if not isinstance(share, str):
                self.put(partition, "share", min(share, left))
                left = max(0.0, left - share)

    def fit_balancing(self, prefix):
        """A balancer knows no more instances than there are, and can eject at least one."""
        known = self.get(prefix, "instances") or 1
        if (subset := self.get(prefix, "balancing_subset")) not in (None, "all"):
            if subset > known:
                self.put(prefix, "balancing_subset", subset := known)
            known = subset
        for least, most in (("ejection.base_ejection_time", "ejection.max_ejection_time"),
                            ("accrual.min_penalty", "accrual.max_penalty")):
            low, high = self.get(prefix, least), self.get(prefix, most)
            if low is not None and high is not None and seconds(low) > seconds(high):
                self.put(prefix, most, low)
        percent = self.get(prefix, "ejection.max_ejection_percent")
        if percent is not None and percent * known < 100:
            self.put(prefix, "ejection.always_eject_one_host", True)

    def fit_tokens(self, prefix):
        """Where an attempt makes two calls, no other one may wait for it."""
        if self.get(prefix, "model") == "occ" and \
                self.get(prefix, "idempotency.in_progress") == "wait":
            self.put(prefix, "idempotency.in_progress", "error")

    def fit_reconciliation(self, prefix):
        """A read before a retry excludes hedging, and rows that are read anyway."""
        occ = any(path[-1] == "model" and value == "occ" for path, value in self.keys.items())
        if occ or self.get(prefix, "retry.hedging.delay") not in (None, "none"):
            self.drop(prefix, "reconcile_read")

    def fit_fault(self, prefix):
        service = self.get(prefix, "service") or self.scenario.names("service")[0]
        servers = self.get(("service", service), "servers")
        if servers in (None, "unlimited"):
            self.drop(prefix, "capacity")
            self.drop(prefix, "at_load")
        self.fit_chance(prefix)
        if self.get(("service", service), "model") != "queue":
            self.drop(prefix, "errors.at")
        first, count = self.get(prefix, "instance"), self.get(prefix, "instances") or 1
        there = self.get(("service", service), "instances") or 1
        if first != "all" and first + count - 1 > there:
            self.drop(prefix, "instances")
            if first > there:
                self.drop(prefix, "instance")

    def fit_chance(self, prefix):
        """What is left to chance of a fault: it comes with an earlier one only, a range has two
        ends, and there is a draw to play."""
        earlier = [name for name in self.scenario.names("fault") if name < prefix[1]]
        if self.given(prefix, "with") and (self.get(prefix, "with") not in earlier or
                                           self.given(prefix, "per_year")):
            self.drop(prefix, "with")
        if not self.given(prefix, "with"):
            self.drop(prefix, "probability")
        length, gap = self.get(prefix, "length"), self.get(prefix, "mtbf")
        if isinstance(length, str) and seconds(length) == 0:
            self.put(prefix, "length", "1s")
        if gap is not None and not (isinstance(gap, str) and seconds(gap) >= 0.01):
            self.put(prefix, "mtbf", "300ms")  # not too many
        if self.given(prefix, "per_year") and self.get(prefix, "per_year") > 1e9:
            self.put(prefix, "per_year", 1e7)
        if not self.given(prefix, "per_year"):
            self.drop(prefix, "at_load")
        if self.given(prefix, "at_load"):  # not too many where the load is high
            self.put(prefix, "per_year", 1e6)
            if self.given(prefix, "load_exponent"):
                self.put(prefix, "load_exponent", 0.5)
        else:
            self.drop(prefix, "load_exponent")
        for key in ("capacity", "speed"):
            if not self.given(prefix, key):
                self.drop(prefix, f"{key}_to")
        chances = ("per_year", "mtbf", "with", "length", "capacity_to", "speed_to")
        if any(self.given(prefix, key) for key in chances) and not self.given((), "fault_draw"):
            self.put((), "fault_draw", 1)

    def fit_retry(self, prefix):
        """A defect needs the part that it breaks; a quota must be able to give tokens."""
        defect = self.get(prefix, "retry.defect")
        preset = self.scenario.preset(prefix)
        if self.get(prefix, "retry.retry_after_max") == "cap" and \
                self.get(prefix, "retry.retry_after") not in ("replace", "minimum-capped"):
            self.drop(prefix, "retry.retry_after_max")
        if defect not in (None, "none"):
            part = preset.defaults.get("retry.quota.capacity") not in (None, "unlimited") \
                if "quota" in defect else preset.mode == "adaptive"
            if not part:
                self.drop(prefix, "retry.defect")
            elif defect == "no-quota":
                for path in [p for p in self.keys if p[:-1] == (*prefix, "retry", "quota")]:
                    del self.keys[path]
        capacity = self.get(prefix, "retry.quota.capacity")
        if capacity in (None, "unlimited"):
            return
        if (self.get(prefix, "retry.quota.threshold") or 0) >= max(capacity, 1):
            self.put(prefix, "retry.quota.threshold", 0)
        if self.given(prefix, "retry.quota.initial"):
            self.put(prefix, "retry.quota.initial",
                     min(capacity, self.get(prefix, "retry.quota.initial")))
        if self.get(prefix, "retry.quota.on_empty") == "wait" and \
                not self.get(prefix, "retry.quota.refill_rate"):
            self.put(prefix, "retry.quota.refill_rate", 10)

    def fit_breaker(self, prefix):
        """Something must open a breaker; calls that count as they ask need a window of time."""
        if not any(path[:-1] == (*prefix, "breaker") for path in self.keys):
            return
        if self.get(prefix, "breaker.consecutive") == "none" and \
                not isinstance(self.get(prefix, "breaker.failure_share"), float):
            self.drop(prefix, "breaker.consecutive")
        if self.get(prefix, "breaker.failure_share") == "none" and \
                not self.given(prefix, "breaker.consecutive"):
            self.drop(prefix, "breaker.failure_share")
        preset = self.get(prefix, "breaker.preset")
        if preset == "opossum" or self.get(prefix, "breaker.counted") == "calls":
            self.drop(prefix, "breaker.window_calls")
        if preset == "resilience4j":
            self.drop(prefix, "breaker.counted")
        if self.get(prefix, "breaker.scope") == "host" and \
                self.get(prefix, "breaker.order") == "breaker-outside":
            self.drop(prefix, "breaker.scope")
        if self.get(prefix, "retry.max_attempts") == "unlimited" or \
                self.get(prefix, "retry.max_retries") == "unlimited" or \
                self.get(prefix, "retry.sdk") in ("tenacity", "tower"):
            self.put(prefix, "breaker.retry_refused", False)

    def share_retryer(self, prefix):
        """Who shares a retryer has the same rules: those of the first."""
        name = self.get(prefix, "retry.retryer")
        if name in (None, "none"):
            return
        first = next(path[:-2] for path, value in sorted(self.keys.items())
                     if path[-2:] == ("retry", "retryer") and value == name)
        if first == prefix:
            return
        for path in [p for p in self.keys if p[:len(prefix) + 1] == (*prefix, "retry")]:
            del self.keys[path]
        for path in [p for p in self.keys if p[:len(first) + 1] == (*first, "retry")]:
            self.keys[(*prefix, *path[len(first):])] = self.keys[path]

    def fit_window(self, prefix):
        """At least one attempt passes in a window."""
        window, rate = self.get(prefix, "throttle.window"), self.get(prefix, "throttle.rate")
        if window not in (None, "none") and rate * seconds(window) < 1:
            self.drop(prefix, "throttle.window")

    def fit_limits(self, prefix):
        """Limits are for operations or keys that there are, beside a limit for all others."""
        rate, window = self.get(prefix, "throttle.rate"), self.get(prefix, "throttle.window")
        operations = {path[3] for path in self.keys
                      if path[0] == "client" and path[2:3] == ("operation",)}
        keys = max([1, *(value for path, value in self.keys.items()
                         if path[-2:] == ("keys", "count"))])
        both = self.scenario.names(*prefix, "throttle", "operation")
        for kind in ("operation", "key"):
            for name in self.scenario.names(*prefix, "throttle", kind):
                limit = (*prefix, "throttle", kind, name)
                exists = name in operations if kind == "operation" else int(name) <= keys
                if rate in (None, "unlimited") or not exists or (kind == "key" and both):
                    for path in [p for p in self.keys if p[:len(limit)] == limit]:
                        del self.keys[path]
                    continue
                own_rate, own_window = self.get(limit, "rate"), self.get(limit, "window") or window
                if own_window not in (None, "none") and own_rate not in (None, "unlimited") and \
                        own_rate * seconds(own_window) < 1:
                    self.put(limit, "window", "none")

    def fit_answers(self, prefix):
        """Only one of two keys suggests a delay."""
        if "retry-after" in (self.get(prefix, "answers.throttled") or ""):
            self.drop(prefix, "throttle.retry_after")

    def fit_prices(self, prefix):
        """All services that a group calls have the same price."""
        called = self.get(prefix, "calls") or []
        called = set([called] if isinstance(called, str) else called)
        called |= {value for path, value in self.keys.items()
                   if path[:3] == (*prefix, "operation") and path[-1] == "calls"}
        if len(called) > 1:
            for service in called:
                self.drop(("service", service), "price")
                self.drop(("service", service), "rejection_price")

    def fit_run(self, prefix):
        length = seconds(self.get(prefix, "duration"))
        if self.get(prefix, "precision") != "none":
            for key in ("replications", "max_replications"):
                if self.given(prefix, key):
                    self.put(prefix, key, FEWEST_REPLICATIONS_FOR_PRECISION)
            if not self.given(prefix, "max_replications"):
                self.put(prefix, "max_replications", FEWEST_REPLICATIONS_FOR_PRECISION + 2)
        elif not self.given(prefix, "replications"):
            self.put(prefix, "replications", 2)
        if self.get(prefix, "warmup") == "auto":
            self.put(prefix, "interval", "10ms")
        interval = seconds(self.get(prefix, "interval"))
        if (length + seconds(self.get(prefix, "drain_limit"))) / interval > MOST_BINS:
            self.put(prefix, "drain_limit", "1s")
        warmup = self.get(prefix, "warmup")
        if warmup == "auto" and not self.is_steady(length / interval):
            self.drop(prefix, "warmup")
        elif warmup != "auto" and seconds(warmup) >= length:
            self.drop(prefix, "warmup")

    def is_steady(self, bins):
        return bins >= FEWEST_BINS_FOR_WARMUP and not any(
            path[0] == "fault" or "surge" in path or path[-1] == "profile" or
            value in ("once", "trace") for path, value in self.keys.items())

    def fit_expectation(self, prefix):
        if not self.given(prefix, "at_most") and not self.given(prefix, "at_least"):
            self.put(prefix, "at_least", 0)
        for bound in ("at_most", "at_least"):  # what no share can be is an error
            if self.given(prefix, bound) and self.get(prefix, bound) > 1:
                self.put(prefix, bound, 1)
        if self.given(prefix, "at_most") and self.given(prefix, "at_least") and \
                self.get(prefix, "at_least") > self.get(prefix, "at_most"):
            self.drop(prefix, "at_least")
        group = self.get(prefix, "client")
        if "." in group and self.scenario.names("service", group.split(".")[0], "calls").count(
                group.split(".")[1]) == 0:
            self.put(prefix, "client", "all")

    def fit_phase(self, prefix):
        """A phase ends after its start."""
        if self.given(prefix, "end") and \
                seconds(self.get(prefix, "end")) <= seconds(self.get(prefix, "start")):
            self.drop(prefix, "start")

    def fit_objective(self, prefix):
        """A share of 1 would leave no error budget."""
        if self.given(prefix, "share") and self.get(prefix, "share") >= 1:
            self.put(prefix, "share", 0.999)


RULES = {
    "": [Mender.fit_run],
    "service.*": [Mender.limit_probabilities, Mender.fit_servers, Mender.fit_window,
                  Mender.fit_limits, Mender.fit_answers, Mender.fit_tokens,
                  Mender.fit_partitions],
    "service.*.calls.*": [Mender.fit_call, Mender.share_retryer, Mender.fit_sdk,
                          Mender.end_lost_requests, Mender.fit_retry, Mender.fit_reconciliation,
                          Mender.fit_breaker],
    "fault.*": [Mender.limit_probabilities, Mender.fit_fault],
    "client.*": [Mender.share_retryer, Mender.choose_arrivals, Mender.fit_arrival_file,
                 Mender.limit_load, Mender.fit_prices, Mender.fit_sdk,
                 Mender.end_lost_requests, Mender.fit_retry, Mender.fit_reconciliation,
                 Mender.fit_breaker],
    "expect.*": [Mender.fit_expectation],
    "phase.*": [Mender.fit_phase],
    "slo.*": [Mender.fit_objective],
}


def mend(case, vocabulary):
    """Makes a case valid by changing as little as it takes."""
    Mender(case, vocabulary).mend()


def is_valid(case, vocabulary):
    """Whether `mend` would leave a case as it is."""
    before = dict(case.keys)
    mend(case, vocabulary)
    valid = before == case.keys and not Scenario(case.keys, vocabulary).missing()
    case.keys.clear()
    case.keys.update(before)
    return valid
