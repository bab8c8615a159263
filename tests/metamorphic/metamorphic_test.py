#!/usr/bin/python3
"""What must stay as it is when a scenario is changed in a way that means nothing, or whose effect
is known without a model: all times doubled, a second group that does nothing, a limit out of reach.

Each relation makes two scenarios of one and says what they have in common. It is tried on scenarios
of the corpus, those with many features included. Where limits come from the table of keys, a new
key takes part by itself.

Usage: metamorphic_test.py --runner build/ci/tests/run_corpus --program build/ci/retrysim

SPDX-License-Identifier: MIT
"""

import argparse
import copy
import csv
import dataclasses
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from soaking import checks, commands, corpus, rules
from soaking.program import with_limits
from soaking.vocabulary import load as load_vocabulary, rows_of

RUNNER = None
PROGRAM = None
VOCABULARY = None
ENTRIES = []
UNITS_BY_PATTERN = {}

# Draws are rounded to nanoseconds, and means to doubles.
ROUNDING = 1e-5
# Scenarios that each relation is tried on; it must apply to one in eight.
TRIED = 60
FAR = "1000h"  # longer than any run of the corpus, its drain included
HUGE = 1_000_000


@dataclasses.dataclass
class Behaviour:
    """What a scenario does: the texts whose checksums the corpus records."""

    parts: dict
    error: str = ""

    def figures(self):
        """(client, metric) -> (unit, mean, least, most ...) of the whole run."""
        rows = csv.reader(self.parts["figures"].splitlines())
        return {(row[2], row[3]): tuple(row[4:]) for row in rows if len(row) == 12}

    def runs(self):
        """Replication, fingerprint of its events, and its end."""
        return self.parts["events"].splitlines()

    def tables(self):
        """The tables over time, by the first names of their headers."""
        found = {}
        for line in self.parts["tables"].splitlines():
            if line.startswith("scenario,"):
                rows = found.setdefault(line, [])
            else:
                rows.append(line.partition(",")[2])
        return {head: sorted(rows) for head, rows in found.items()}


def behaviours(cases):
    """Runs scenarios, given as cases, under numbers for which run_corpus leaves out the fluid."""
    entries = [corpus.Entry(8 * i + 1, case.environment, commands.scenario_text(case), case.files)
               for i, case in enumerate(cases)]
    with tempfile.TemporaryDirectory(prefix="metamorphic-") as temporary:
        path = Path(temporary) / "scenarios.txt"
        path.write_text("".join(entry.written() for entry in entries), encoding="utf-8")
        command = with_limits([str(RUNNER), str(path), "--full"], corpus.MOST_CPU_S)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = []
    for block in ("\n" + done.stdout).split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        if "\terror\t" in head:
            found.append(Behaviour({}, head))
            continue
        parts = {}
        for part in ("\n" + body + "\n").split("\n--- ")[1:]:
            name, _, text = part.partition("\n")
            parts[name] = text
        found.append(Behaviour(parts))
    assert len(found) == len(cases), done.stdout[-1000:] + done.stderr
    return found


def edited(case, **changes):
    """A copy, with keys changed by a function."""
    copied = dataclasses.replace(case, keys=copy.deepcopy(case.keys), **changes)
    return copied


def scenario_of(case):
    return rules.Scenario(case.keys, VOCABULARY)


def tables_of(case, kind):
    """The prefixes of all tables of a kind that are not like another one."""
    return [prefix for prefix, scope in scenario_of(case).tables()
            if scope == kind and (*prefix, "like") not in case.keys]


def put(case, prefix, name, value):
    case.keys[(*prefix, *name.split("."))] = value


def with_own_hold(case):
    """How long goodput must stay follows from the longest waits of all groups, unless it is given:
    then what is done to one of them changes nothing about what counts as recovered."""
    pinned = edited(case)
    pinned.keys.setdefault(("recovery", "hold"), "2s")
    return pinned


def drop(case, *names):
    """Without the keys, or tables of keys, of these names in any table."""
    for path in list(case.keys):
        if set(names) & set(path):
            del case.keys[path]


def same_figures(before, after, but=()):
    """The first figure that differs, of those that both have."""
    first, second = before.figures(), after.figures()
    for name in sorted(set(first) & set(second)):
        if name[1] not in but and first[name] != second[name]:
            return f"{' '.join(name)}: {first[name]} and {second[name]}"
    return None


def same_tables(before, after, but=()):
    first, second = before.tables(), after.tables()
    for head in first:
        if not any(column in head for column in but) and first[head] != second.get(head):
            rows = [(a, b) for a, b in zip(first[head], second.get(head, [])) if a != b]
            return f"{head}\n    {rows[:1] or (len(first[head]), len(second.get(head, [])))}"
    return None


def same_parts(*names):
    def compare(before, after):
        for name in names:
            if before.parts[name] != after.parts[name]:
                lines = [(a, b) for a, b in zip(before.parts[name].splitlines(),
                                                after.parts[name].splitlines()) if a != b]
                return f"{name}: {lines[:1]}"
        return None
    return compare


def all_of(*comparisons):
    def compare(before, after):
        return next((found for c in comparisons if (found := c(before, after))), None)
    return compare


def close_figures(before, after, times, but=()):
    """The first figure that differs by more than rounding, if durations are so many times as long
    and rates that much smaller."""
    first, second = before.figures(), after.figures()
    factors = {"s": times, "1/s": 1 / times}
    for name in sorted(set(first) & set(second)):
        unit, mean = first[name][0], float(first[name][1])
        expected, found = mean * factors.get(unit, 1), float(second[name][1])
        if name[1] not in but and abs(found - expected) > max(abs(expected), 1e-3) * ROUNDING:
            return f"{' '.join(name)}: {mean} and {found}, expected {expected}"
    return None


same_events = same_parts("events")
EVERYTHING = same_parts("events", "figures", "tables", "words")


class Relations(unittest.TestCase):
    def holds(self, make, compare, size=1):
        """`make(case)` gives two scenarios, or None where the relation does not apply; those that
        are not valid do not count either. `size`: of the relation, in terms of the others."""
        tried = int(size * TRIED)
        fewest = max(1, tried // 8)
        pairs, numbers = [], []
        for entry in ENTRIES:
            case = entry.case()
            pair = make(case)
            if pair is not None:
                pairs.append(pair)
                numbers.append(entry.number)
            if len(pairs) == tried:
                break
        found = behaviours([case for pair in pairs for case in pair])
        differences, applied = [], 0
        for i, number in enumerate(numbers):
            before, after = found[2 * i], found[2 * i + 1]
            if before.error or after.error:
                if "not valid" not in before.error + after.error and \
                        bool(before.error) != bool(after.error):
                    differences.append(f"{number}: {before.error} / {after.error}")
                continue
            applied += 1
            if difference := compare(before, after):
                differences.append(f"{number}: {difference}")
        errors = sorted({checks.without_details(b.error) for b in found if b.error})
        self.assertGreaterEqual(applied, fewest, errors[:5])
        shown = "\n".join(differences[:5])
        self.assertFalse(differences, f"{len(differences)} of {applied}\n{shown}")

    # --- What changes nothing --------------------------------------------------------------------

    def test_an_expectation_changes_nothing(self):
        def make(case):
            more = edited(case)
            more.keys[("expect", "zz", "metric")] = "goodput"
            more.keys[("expect", "zz", "at_least")] = 0
            return case, more
        self.holds(make, all_of(same_parts("events", "tables", "words"), same_figures))

    def test_a_phase_changes_no_event_and_no_figure_of_the_whole(self):
        def make(case):
            more = edited(case)
            more.keys[("phase", "zz", "start")] = "100ms"
            more.keys[("phase", "zz", "end")] = "400ms"
            return case, more
        self.holds(make, all_of(same_parts("events", "tables"), same_figures))

    def test_an_idle_group_changes_nothing_for_the_others(self):
        def make(case):
            services = tables_of(case, "service.*")
            if not services:
                return None
            case = with_own_hold(case)
            more = edited(case)
            idle = {"calls": services[0][1], "arrivals.process": "poisson",
                    "arrivals.profile": "never.csv", "attempt_timeout": "1s", "retry.mode": "none"}
            for name, value in idle.items():
                put(more, ("client", "zz"), name, value)
            more.files = {**case.files, "never.csv": "time_s,rate\n0,0\n"}
            return case, more
        self.holds(make, all_of(same_events, lambda a, b: same_figures(a, b, OF_ALL_CLIENTS)))

    def test_a_service_that_nobody_calls_changes_nothing(self):
        def make(case):
            services = [path[1] for path in case.keys if path[0] == "service"]
            named = edited(case)
            for kind, key in (("client", "calls"), ("fault", "service")):
                for prefix in tables_of(case, f"{kind}.*"):
                    named.keys.setdefault((*prefix, key), services[0])
            more = edited(named)
            more.keys[("service", "zz", "service_time")] = 1
            return named, more
        self.holds(make, all_of(same_events, lambda a, b: same_figures(a, b, OF_ALL_SERVICES)))

    def test_a_fault_without_effect_changes_nothing(self):
        def make(case):
            more = edited(case)
            service = tables_of(case, "service.*")[0]
            put(more, ("fault", "zz"), "service", service[1])
            put(more, ("fault", "zz"), "start", "200ms")
            put(more, ("fault", "zz"), "duration", "300ms")
            put(more, ("fault", "zz"), "speed", 1)
            put(more, ("fault", "zz"), "latency", "0s")
            if scenario_of(case).get(service, "servers") not in (None, "unlimited"):
                put(more, ("fault", "zz"), "capacity", 1)
            return case, more
        self.holds(make, lambda a, b: same_figures(a, b, DISTURBANCE) or
                   same_tables(a, b, ("onset_s",)))

    def test_a_fault_after_the_end_changes_nothing(self):
        def make(case):
            more = edited(case)
            service = tables_of(case, "service.*")[0]
            put(more, ("fault", "zz"), "service", service[1])
            put(more, ("fault", "zz"), "start", FAR)
            put(more, ("fault", "zz"), "duration", "1s")
            put(more, ("fault", "zz"), "errors.internal", 1)
            return case, more
        self.holds(make, lambda a, b: same_figures(a, b, DISTURBANCE) or
                   same_tables(a, b, ("onset_s",)))

    def test_a_surge_without_effect_changes_nothing(self):
        def make(case):
            groups = [p for p in tables_of(case, "client.*") if scenario_of(case).get(
                p, "arrivals.process") in ("poisson", "constant")]
            if not groups or any("surge" in path for path in case.keys):
                return None
            more = edited(case)
            for start, factor in (("300ms", 1), (FAR, 2)):
                surge = (*groups[0], "surge", f"zz{factor}")
                put(more, surge, "start", start)
                put(more, surge, "duration", "300ms")
                put(more, surge, "factor", factor)
            return case, more
        # The times of arrivals are found piece by piece, each of which is rounded to nanoseconds.
        self.holds(make, lambda a, b: close_figures(a, b, 1, DISTURBANCE))

    def test_prices_and_descriptions_change_no_event_and_only_prices(self):
        def make(case):
            more = edited(case)
            more.keys[("description",)] = "another one"
            for prefix in tables_of(case, "service.*"):
                put(more, prefix, "price", 7)
                put(more, prefix, "rejection_price", 3)
            return case, more
        self.holds(make, all_of(same_parts("events", "tables"),
                                lambda a, b: same_figures(a, b, ("cost_per_request",
                                                                 "cost_per_success",
                                                                 "retry_cost_share", "cost"))))

    def test_the_interval_changes_no_event(self):
        def make(case):
            if case.keys.get(("warmup",)) == "auto":
                return None
            more = edited(case)
            more.keys[("interval",)] = "70ms"
            return case, more
        self.holds(make, same_events)

    def test_the_warmup_changes_no_event(self):
        def make(case):
            if case.keys.get(("warmup",)) == "auto":
                return None
            more = edited(case)
            more.keys[("warmup",)] = "130ms"
            return case, more
        self.holds(make, same_events)

    def test_the_first_replications_of_more_are_the_same(self):
        def make(case):
            if case.keys.get(("precision",), "none") != "none" or \
                    case.keys.get(("warmup",)) == "auto":
                return None
            few, many = edited(case), edited(case)
            few.keys[("replications",)], many.keys[("replications",)] = 2, 4
            return few, many
        self.holds(make, lambda a, b: None if a.runs() == b.runs()[:2] and len(b.runs()) == 4
                   else f"{a.runs()} and {b.runs()}")

    def test_the_order_of_tables_changes_nothing(self):
        def make(case):
            if len(scenario_of(case).tables()) < 4:
                return None
            # The calls of a service are made in the order of the file.
            kinds = ("client", "fault", "service", "phase", "expect")
            reverse = sorted(case.keys.items(), key=lambda item: (
                kinds.index(item[0][0]) if item[0][0] in kinds else -1,
                [-ord(c) for c in item[0][1]] if len(item[0]) > 2 else []))
            return case, dataclasses.replace(case, keys=dict(reverse))
        self.holds(make, lambda a, b: same_figures(a, b) or same_tables(a, b) or
                   same_events(a, b))

    def test_the_same_priority_for_all_is_none(self):
        def make(case):
            pair = edited(case), edited(case)
            for same, priority in zip(pair, (2, 5)):
                for path in list(same.keys):
                    if "partitions" in path or path[-2:] == ("retry", "priority"):
                        del same.keys[path]
                for scope in ("client.*", "service.*.calls.*"):
                    for prefix in tables_of(case, scope):
                        put(same, prefix, "priority", priority)
            return pair
        self.holds(make, EVERYTHING)

    def test_defaults_that_are_given_change_nothing(self):
        def make(case):
            more = edited(case)
            scenario = scenario_of(more)
            for prefix, scope in scenario.tables():
                if (*prefix, "like") in case.keys or "like" in str(case.keys.keys()):
                    return None
                for key in VOCABULARY.by_scope[scope].values():
                    if key.default and not scenario.given(prefix, key.name) and \
                            scenario.applies(prefix, key.name):
                        put(more, prefix, key.name, rules.read_default(key.default))
            return case, more
        self.holds(make, EVERYTHING)

    # --- Limits out of reach ---------------------------------------------------------------------

    def test_a_limit_out_of_reach_is_none(self):
        for key in VOCABULARY.keys:
            if key.else_word not in ("none", "unlimited") or key.pattern in NO_LIMITS or \
                    key.kind not in ("duration", "count", "number", "distribution"):
                continue
            far = FAR if key.kind in ("duration", "distribution") else int(min(key.high, HUGE))

            def make(case, key=key, far=far):
                prefixes = [p for p in tables_of(case, key.scope)
                            if scenario_of(case).applies(p, key.name)]
                if not prefixes:
                    return None
                case = with_own_hold(case)
                without, distant = edited(case), edited(case)
                for prefix in prefixes:
                    put(without, prefix, key.name, key.else_word)
                    put(distant, prefix, key.name, far)
                    for c in (without, distant):
                        for path in list(c.keys):  # what applies only with the limit
                            place, _, name = scenario_of(c).split(path)
                            if place == prefix and VOCABULARY.by_scope[key.scope].get(name) and \
                                    VOCABULARY.by_scope[key.scope][name].when.startswith(
                                        key.name + " "):
                                del c.keys[path]
                    for name, value in WITH_LIMIT.get(key.name, {}).items():
                        put(distant, prefix, name, value)
                return without, distant
            but = WINDOWED if key.name == "attempt_timeout" else ()
            with self.subTest(key=key.pattern):
                self.holds(make, lambda a, b, but=but: same_figures(a, b, but), 0.4)


    # --- Times and rates -------------------------------------------------------------------------

    def test_all_times_doubled_is_the_same_at_half_the_speed(self):
        """To the event, but for what draws and rates lose when they are rounded to nanoseconds."""
        self.holds(lambda case: (twice := doubled(case)) and (case, twice),
                   lambda a, b: close_figures(a, b, 2, NOT_SCALED))

    # --- Without failures ------------------------------------------------------------------------

    def test_without_failures_all_modes_agree(self):
        # Hedges and a client's own throttle do not wait for a failure.
        presets = [p for p in VOCABULARY.presets if p.mode != "none" and all(
            p.defaults.get(f"retry.{key}") in (None, "none")
            for key in ("hedging.delay", "client_throttle.k"))]
        turn = iter(range(10**6))

        def make(case):
            sound = without_failures(case)
            if sound is None:
                return None
            none, other = edited(sound), edited(sound)
            for scope in ("client.*", "service.*.calls.*"):
                for prefix in tables_of(sound, scope):
                    put(none, prefix, "retry.mode", "none")
                    preset = presets[next(turn) % len(presets)]
                    for name in ("mode", "revision", "sdk", "api"):
                        if value := getattr(preset, name):
                            put(other, prefix, f"retry.{name}", value)
            return none, other
        self.holds(make, all_of(same_events, lambda a, b: same_figures(a, b, WINDOWED),
                                same_parts("tables")), 3)

    def test_a_hedge_that_comes_too_late_is_none(self):
        def make(case):
            sound = without_failures(case)
            if sound is None:
                return None
            pair = edited(sound), edited(sound)
            for scope in ("client.*", "service.*.calls.*"):
                for prefix in tables_of(sound, scope):
                    for hedging, delay in zip(pair, ("none", FAR)):
                        put(hedging, prefix, "retry.mode", "custom")
                        put(hedging, prefix, "retry.hedging.delay", delay)
            return pair
        self.holds(make, same_figures)


class Laws(unittest.TestCase):
    """What holds of means. Two of them differ by chance beyond FAR_APART standard errors once in
    70,000 comparisons (Student's t with 38 degrees of freedom), so that one of the comparisons here
    fails by chance with one seed in 3,000."""

    FAR_APART = 5
    BASE = """
name = "laws"
duration = 40
warmup = 5
replications = 20
[service.s0]
servers = {servers}
service_time = {{ distribution = "exponential", mean = "50ms" }}
{clients}
"""
    CLIENT = """
[client.{name}]
count = {count}
arrivals = {{ process = "poisson", rate = {rate} }}
attempt_timeout = "{timeout}"
retry.mode = "{mode}"
"""

    def figures(self, *texts):
        found = []
        for text in texts:
            with tempfile.TemporaryDirectory(prefix="metamorphic-") as folder:
                path = Path(folder) / "laws.toml"
                path.write_text(text, encoding="utf-8")
                done = subprocess.run([str(PROGRAM), "run", str(path), "--out", f"{folder}/out",
                                       "--format", "csv", "--no-progress"],
                                      capture_output=True, text=True, check=True)
            found.append(Behaviour({"figures": done.stdout}).figures())
        return found

    def distance(self, first, second):
        """Of two rows, in standard errors."""
        def mean_and_error(row):
            return float(row[1]), float(row[4]) ** 2 / int(row[7])
        (a, error_a), (b, error_b) = mean_and_error(first), mean_and_error(second)
        return abs(a - b) / ((error_a + error_b) ** 0.5 or 1)

    def assert_same_law(self, first, second, metrics):
        for metric in metrics:
            with self.subTest(metric=metric):
                distance = self.distance(first["all", metric], second["all", metric])
                self.assertLess(distance, self.FAR_APART)

    def test_a_group_split_in_two_identical_halves_is_the_same_in_all(self):
        for mode in ("none", "legacy", "standard"):
            common = {"rate": 4, "timeout": "200ms", "mode": mode}
            whole = self.CLIENT.format(name="c", count=8, **common)
            halves = "".join(self.CLIENT.format(name=name, count=4, **common) for name in "ab")
            first, second = self.figures(*(self.BASE.format(servers=2, clients=clients)
                                           for clients in (whole, halves)))
            with self.subTest(mode=mode):
                self.assert_same_law(first, second, (
                    "success_rate", "amplification", "latency_mean", "utilization", "goodput",
                    "queueing_time_mean", "attempts"))

    def test_four_times_the_servers_and_the_rate_is_the_same_load_with_shorter_waits(self):
        clients = {"count": 8, "timeout": "1h", "mode": "none", "name": "c"}
        small, large = self.figures(*(
            self.BASE.format(servers=2 * k, clients=self.CLIENT.format(rate=4 * k, **clients))
            for k in (1, 4)))
        self.assert_same_law(small, large, ("utilization",))
        # Erlang's formula: 89 ms and 14 ms, with standard errors of some 6 % and 4 %.
        waits = [float(found["all", "queueing_time_mean"][1]) for found in (small, large)]
        self.assertLess(3 * waits[1], waits[0])


def doubled(case):
    """A case in which all takes twice as long; None if not all of its times are keys."""
    scenario = scenario_of(case)
    text = str(case.keys)
    if any(word in text for word in ("'like'", "retry-after=", "'sdk')", "adaptive", "'precision'",
                                     "'budget'", "'base_after'")) or \
            "sdk" in case.keys.values() or case.keys.get(("warmup",)) == "auto" or any(
                file.startswith("timestamp") for file in case.files.values()):
        return None
    slow = edited(case, files={name: slower(text) for name, text in case.files.items()})
    for prefix, scope in scenario.tables() + [(("network",), ""), (("recovery",), "")]:
        for key in VOCABULARY.by_scope[scope].values():
            if prefix and not scope:
                continue
            unit = UNITS_BY_PATTERN[key.pattern]
            if key.name.endswith("*") or not scenario.applies(prefix, key.name):
                continue
            value = scenario.get(prefix, key.name)
            if value is None or isinstance(value, str) and not value[:1].isdigit():
                continue  # a word, such as "none" or "caller"
            if key.name in ("arrivals.rate", "arrivals.total_rate") and \
                    scenario.get(prefix, "arrivals.profile") is not None:
                continue  # a factor of the rates of the profile, which are halved in its file
            if key.kind == "distributions":
                put(slow, prefix, key.name, [twice(v) for v in value])
            elif key.kind in ("duration", "distribution"):
                put(slow, prefix, key.name, twice(value))
            elif unit in ("1/s", "tokens/s"):
                put(slow, prefix, key.name, value / 2)
    return slow


def twice(value):
    """A duration or distribution of twice the length."""
    if not isinstance(value, dict):
        return f"{round(rules.seconds(value) * 2e9)}ns"
    return {name: twice(v) if name in ("mean", "mean1", "mean2", "sd", "min", "max", "scale", "p50",
                                       "p99")
            else v for name, v in value.items()}


def slower(text):
    """A CSV input of a scenario in which all takes twice as long."""
    head, *lines = text.splitlines()
    rows = [list(map(float, line.split(","))) for line in lines]
    factors = {"time_s": 2, "rate": 0.5, "value_s": 2}
    scales = [factors.get(column, 1) for column in head.split(",")]
    return "\n".join([head, *(",".join(f"{x * f:.12g}" for x, f in zip(row, scales))
                              for row in rows)]) + "\n"


# What may fail an attempt, as tables or keys of any table.
FAILING = ("fault", "errors", "request_loss", "response_loss", "attempt_timeout", "deadline",
           "connect_timeout", "timeout", "throttle", "drop_expired", "max_age", "concurrency",
           "retry", "like", "model", "reconcile_read", "idempotency", "precision", "abandoned",
           "expect", "max_connections", "connection_wait", "connection_queue", "bulkhead",
           "send_rate", "answers", "unrepeatable", "long_poll", "health_check",
           "profile", "ejection", "accrual")


def without_failures(case):
    """A case in which every attempt succeeds, with no rules for retries."""
    sound = edited(case)
    drop(sound, *FAILING)
    for path in list(sound.keys):
        if path[-2:] == ("queue", "capacity") or sound.keys[path] in ("codel", "auto"):
            del sound.keys[path]
    for prefix in tables_of(sound, "client.*"):
        rules.Mender(sound, VOCABULARY).choose_arrivals(prefix)
    return sound


# Metrics that look at what comes after a disturbance, whatever it does.
DISTURBANCE = {"recovery_s", "recovered", "recovery_median_s", "recovery_censored_s",
               "metastable_probability", "disturbed_success_rate", "affected_share"}
# In a window as long as the longest timeout and backoff of any group.
WINDOWED = {"peak_amplification"}
# Of all clients, whether they send or not.
OF_ALL_CLIENTS = {"jain_index", *WINDOWED}
# Of all services, or of the quotas for each of them, whether they are called or not.
OF_ALL_SERVICES = {"utilization", "work_load", "wasted_share", "wasted_after_give_up_share",
                   "quota_mean"}
# Rounded to whole milliseconds.
NOT_SCALED = {"recovery_s", "recovery_median_s", "recovery_censored_s"}
# Words for what is no limit: with a number there is more than a bound.
NO_LIMITS = {"precision", "service.*.autoscaling.target", "service.*.throttle.window",
             "service.*.throttle.operation.*.window", "service.*.throttle.key.*.window",
             "client.*.reconcile_read", "service.*.calls.*.reconcile_read",
             "service.*.idempotency.window", "client.*.retry.retry_breaker.failure_share",
             "service.*.calls.*.retry.retry_breaker.failure_share",
             "client.*.retry.client_throttle.k", "service.*.calls.*.retry.client_throttle.k",
             "client.*.retry.guard.failure_share",
             "service.*.calls.*.retry.guard.failure_share",
             "client.*.breaker.failure_share", "service.*.calls.*.breaker.failure_share",
             "client.*.breaker.slow_share", "service.*.calls.*.breaker.slow_share",
             # Whatever answers the instances give, some may be left out.
             "service.*.ejection.interval", "service.*.ejection.consecutive_5xx",
             "service.*.ejection.consecutive_gateway_failure",
             "service.*.ejection.success_rate_stdev_factor",
             "service.*.ejection.failure_percentage_threshold",
             "service.*.accrual.max_failures", "service.*.balancing_subset",
             "service.*.balancing_first_latency",
             "client.*.retry.avoid_hosts", "service.*.calls.*.retry.avoid_hosts",
             # Places of one's own let in more, not fewer.
             "service.*.concurrency.partitions.*.share",
             # Without these there is no cache, and few caches forget by time.
             "service.*.calls.*.cache.capacity", "service.*.calls.*.cache.ttl",
             # A failure brings the next hedge at once, without a backoff.
             "client.*.retry.hedging.delay", "service.*.calls.*.retry.hedging.delay"}
# Any number of attempts may come at once, too: a bucket as large as the rate. The second is that of
# single operations and keys.
WITH_LIMIT = {"throttle.rate": {"throttle.burst": HUGE}, "rate": {"burst": HUGE},
              "send_rate.rate": {"send_rate.burst": HUGE}}


def main():
    global RUNNER, PROGRAM, VOCABULARY, TRIED
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=corpus.FOLDER)
    parser.add_argument("--tried", type=int, default=TRIED, metavar="N",
                        help="scenarios that each relation is tried on (default: %(default)s)")
    options, rest = parser.parse_known_args()
    RUNNER, PROGRAM = options.runner.resolve(), options.program.resolve()
    TRIED = options.tried
    VOCABULARY = load_vocabulary(PROGRAM)
    for row in rows_of(PROGRAM, "keys"):
        UNITS_BY_PATTERN[row["key"]] = row["unit"]
    ENTRIES.extend(corpus.Corpus(options.folder).entries)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
