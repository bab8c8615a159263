#!/usr/bin/env python3
"""Recomputes every figure in the sentences of verdicts from the CSV files of the result alone, by
the source that result.json gives for it. Claims ("every", "at once") are conditions there; they
must hold. What a sentence has besides its figures and names may have no digit.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from first_line import Graph, draw

# Rules with figures that no file of the result has, and what these are counted from. The list may
# only shrink: `--all` names the entries that nothing needs any more.
NOT_IN_FILES = {
    "worked out from the scenario": {
        "sent-nothing", "culprit", "stuck", "down-between",
        "overload-without-retries", "no-capacity", "unreachable", "silent", "answers-errors",
        "queue-outlasts-timeout", "slow-queue-outlasts-timeout",
        "timeout-below-service-time", "slow-or-far", "cause-in-graph", "overload-below",
        "layers-multiply"},
    "attempts times the server time that the scenario gives them": {
        "overload-without-retries", "overload-by-disturbance", "profile-takes-capacity",
        "retries-keep-it-down", "retries-above-capacity", "hedging-loads", "bursts",
        "cause-in-graph", "herd-is-too-much"},
    "what attempts met at an adaptive limit": {"limit-refuses"},
    "queue_max times the server time that the scenario gives": {"queue-outlasts-timeout"},
    "requests under way, in the bins in which they are counted": {
        "overloaded-before", "falls-behind", "stuck", "unaffected", "only-slower", "degraded",
        "back-at-once", "recovers", "recovers-late", "too-few-to-tell", "still-on", "culprit"},
    "rules of a circuit breaker, which its preset has": {"breaker-never-opened"},
    "successes over time": {
        "culprit", "failing", "down-before", "overloaded-before", "falls-behind", "never-recovers",
        "too-short-to-tell", "sometimes-recovers", "down-between", "degraded", "back-at-once",
        "recovers",
        "recovers-late"},
    "effects of requests that change something": {
        "unaffected", "only-slower", "not-all-well"},
    "retry storms, which are found in the bins of a run": {"not-all-well"},
    "sums of latencies over time": {"falls-behind", "slow", "only-slower"},
    "waits in the queue beyond the least time that an attempt takes": {"slow"},
    "which unconfirmed recoveries count": {
        "quota-ran-dry", "quota-ran-dry-in-vain", "culprit", "sometimes-recovers",
        "queue-outlasts-timeout", "wasted-work", "degraded", "back-at-once", "recovers",
        "recovers-late", "could-have-been-missed", "throttle-is-bottleneck"},
    "replications in which requests are enough to tell": {
        "culprit", "sometimes-recovers", "could-have-been-missed"},
    "failures of calls over time": {"unaffected", "all-well", "only-slower", "not-all-well"},
    "failures of calls per attempt at their caller": {"degraded-answers"},
    "the scenario's faults that do the same": {
        "overload-by-disturbance", "no-capacity", "unreachable", "silent", "answers-errors",
        "lost-on-the-way"},
    "errors at the service without those of calls": {"cause-in-graph"},
    "the capacity profile, an input of the scenario": {"profile-takes-capacity"},
    "the draw of a fault at random": {
        "slow-or-far", "overload-by-disturbance", "slow-queue-outlasts-timeout",
        "queue-outlasts-timeout", "lost-on-the-way",
        "timeout-below-service-time"},
    "the twins without retries": {"metastable"},
    "the twins' results": {"twin"},
    "the most servers that autoscaling permits": {"throttle-is-bottleneck"},
    "requests by how they ended, of which there is no metric": {"not-retryable"},
    "requests with side effects, of which there is no number by replication": {"duplicates"},
    "keys of the services": {"duplicates"},
    "stretches that end with the recovery": {"cause-in-graph", "layers-multiply"},
    "calls of several groups together": {"layers-multiply"},
    "servers' busy time without that of calls": {"cause-in-graph"},
    "servers' busy time beyond the service's own work": {"cause-in-graph"},
    "replications with the scenario's own values, of which there is no file": {"uncertain"},
    "goodput of the draws before anything goes wrong": {"uncertain"},
}

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
         "d": 86400.0}
FORMULAS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
            "/": lambda a, b: a / b if b else 0.0, "^": lambda a, b: a ** b,
            "//": lambda a, b: float(math.floor(a / b * (1 + 1e-9))),
            "<=": lambda a, b: a <= b + 1e-9 * abs(b), ">=": lambda a, b: a >= b - 1e-9 * abs(b),
            "==": lambda a, b: a == b}


class Unknown(Exception):
    """A figure that no file has."""


def toml_number(text):
    """The number in a key of result.json: a number, a duration, or the mean of a distribution."""
    mean = re.search(r'mean\s*=\s*("[^"]*"|[0-9.e+-]+)', text)
    text = (mean[1] if mean else text).strip().strip('"')
    duration = re.fullmatch(r"([0-9.e+-]+)\s*(ns|us|µs|ms|s|min|h|d)", text)
    return float(duration[1]) * UNITS[duration[2]] if duration else float(text)


SAID_UNITS = {"%": 0.01, "times": 1.0, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "minutes": 60.0,
              "hours": 3600.0, "days": 86400.0, "years": 365.25 * 86400.0, "": 1.0}
SAID_THOUSANDS = {"": 1.0, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def says(text, value, whole_percent=False):
    """Whether the words give the value, to two digits at least, or as a whole percentage; claims,
    such as "below 0.001", have none."""
    number = re.fullmatch(r"(less than |more than |)([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9.]+)"
                          r"(?: (million|billion|trillion))? ?([a-zµ%]*)", text)
    if not number:
        return text.startswith("below ") or not re.search(r"[0-9]", text)
    said = (float(number[2].replace(",", "")) * SAID_THOUSANDS[number[3] or ""]
            * SAID_UNITS[number[4]])
    if number[1]:
        return value < said if number[1].startswith("less") else value > said
    rounding = 0.005 if whole_percent and number[4] == "%" else 0.0
    return abs(said - value) <= max(0.06 * abs(value), rounding) + 1e-12


class Files:
    """The CSV files of a result, read when they are needed."""

    def __init__(self, folder):
        self.folder, self.known, self.found = Path(folder), {}, {}

    def rows(self, file, name):
        """The rows of a client or service."""
        if file not in self.known:
            by_name = {}
            with open(self.folder / file, newline="", encoding="utf-8") as opened:
                for row in csv.DictReader(opened):
                    by_name.setdefault(row.get("client") or row.get("service"), []).append(row)
            self.known[file] = by_name
        return self.known[file].get(name, [])

    def metric(self, client, name):
        """By replication; absent where it does not exist."""
        if (client, name) not in self.found:
            self.found[client, name] = {
                row["replication"]: float(row["value"])
                for row in self.rows("replications.csv", client) if row["metric"] == name}
        return self.found[client, name]


class Recomputed:
    """The figures of one variant of a result, or of the draws of an uncertain one."""

    def __init__(self, folder):
        self.result = json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
        self.variant = self.result["variants"][0] if "variants" in self.result else self.result
        self.files = Files(folder)
        self.all_disturbances = [d for d in self.variant["disturbances"]
                                 if d["start_s"] < self.variant["window_end_s"]]
        self.parts = self.find_parts()

    def find_parts(self):
        """A number of each service and client group, equal where they have to do with each other:
        what happens in one part does nothing in another."""
        parts = {}
        keys = self.variant["keys"]

        def join(names):
            known = {parts[name] for name in names if name in parts}
            number = max(parts.values(), default=0) + 1
            for name, other in list(parts.items()):
                if other in known:
                    parts[name] = number
            for name in names:
                parts[name] = number

        for client in self.variant["clients"] + self.variant["calls"]:
            name = client["name"]
            services = [("service", called) for called in client["calls"]]
            if "caller" in client:
                services.append(("service", client["caller"]))
            retryer = keys.get(f"client.{name}.retryer", "").strip('"')
            join([("client", name)] + services + ([("retryer", retryer)] if retryer else []))
        return parts

    def disturbances_of(self, client):
        """Those that may reach the group and are not over before the window; where none does, all.
        """
        part = self.parts[("client", client)]
        reach = [d for d in self.all_disturbances
                 if self.parts.get(("service", d["service"]) if "service" in d
                                   else ("client", d["client"])) == part]
        return [d for d in reach or self.all_disturbances
                if d["end_s"] > self.variant["window_start_s"]]

    def end_of_trouble(self, client, replication, unconfirmed):
        recovered = self.files.metric(client, "recovery_s").get(replication)
        if recovered is None and unconfirmed:
            recovered = self.files.metric(client, "recovery_censored_s").get(replication)
        if recovered is None:
            return math.inf
        return max(d["end_s"] for d in self.disturbances_of(client)) + recovered

    def is_in_window(self, row, window, client):
        """Whether a bin belongs to it, as sim/explain/README.md has it."""
        small = 1e-9
        start = float(row["time_s"])
        end = start + self.variant["interval_s"]
        if (start < self.variant["window_start_s"] - small
                or end > self.variant["window_end_s"] + small):
            return False
        disturbances = self.disturbances_of(client)
        first = min((d["start_s"] for d in disturbances), default=math.inf)
        if window == "window":
            return True
        if window == "before" or end <= first + small:
            return window == "before" and end <= first + small
        if window == "during":
            return self.is_disturbed(disturbances, start, end)
        until = self.end_of_trouble(client, row["replication"], window.endswith("unconfirmed"))
        if window.startswith("after"):
            last = max(d["end_s"] for d in disturbances)
            return (last - small <= start < until - small
                    and not self.is_disturbed(disturbances, start, end))
        return start < until - small

    @staticmethod
    def is_disturbed(disturbances, start, end):
        small = 1e-9
        return any(d["start_s"] < end - small and d["end_s"] > start + small
                   for d in disturbances)

    def cells(self, source):
        """The values, each with its replication if it has one."""
        file, column = source["file"], source["column"]
        if file == "uncertain.csv":
            rows = self.files.rows(file, None)
            others = {(row.get("variant"), row["replication"]): row["outcome"] for row in rows}
            return [(row["replication"], row[column])
                    for row in rows if self.is_drawn(source, row, others)]
        if file == "compare.csv":
            return [("", float(row[column])) for row in self.files.rows(file, "all")
                    if row["variant"] == source["variant"] and row["metric"] == source["metric"]]
        name = source.get("client", source.get("service"))
        if file == "replications.csv":
            values = {}
            for metric in reversed(column.split("|")):
                values.update(self.files.metric(name, metric))
            if "weight" in source:
                weights = self.files.metric(name, source["weight"])
                values = {r: value * weights.get(r, 0.0) for r, value in values.items()}
            return list(values.items())
        if file == "phases.csv":
            if "phases" in source:
                names = source["phases"].split(", ")
                return [("", float(row["mean"] or 0) * int(row["replications"]))
                        for row in self.files.rows(file, name)
                        if row["metric"] == column and row["phase"] in names]
            kinds = source["window"].split("+")
            return [("", float(row["mean"] or 0) * int(row["replications"]))
                    for row in self.files.rows(file, name)
                    if row["metric"] == column and row["kind"] in kinds]
        if file == "slo.csv":
            return [("", float(row[column])) for row in self.files.rows(file, None)
                    if row["slo"] == source["slo"] and row["event"] == source["event"]]
        if file == "attempts.csv":
            return [("", float(row[column])) for row in self.files.rows(file, name)
                    if row["attempt"] == "1"]
        if file == "quota":
            return list(self.quota(name, column, source["window"]))
        rows = list(self.work(name, column)) if file == "work" else self.files.rows(file, name)
        if "window" in source:
            client = source.get("window_of", name)
            rows = [row for row in rows if self.is_in_window(row, source["window"], client)]
        else:
            width = self.variant["interval_s"]
            rows = [row for row in rows if float(row["time_s"]) >= source["from_s"] - 1e-9
                    and float(row["time_s"]) + width <= source["to_s"] + 1e-9]
        return [(row["replication"], float(row[column])) for row in rows]

    @staticmethod
    def is_drawn(source, row, outcomes):
        """Whether a draw has such an outcome, and such a value of the key; and that of another
        variant another outcome."""
        if "variant" in source and row["variant"] != source["variant"]:
            return False
        other = source.get("while")
        if other and outcomes[other["variant"], row["replication"]] != other["is"]:
            return False
        if row[source["column"]] != source.get("is", row[source["column"]]):
            return False
        value = float(row[source["where"]]) if "where" in source else 0.0
        return source.get("at_least", -math.inf) <= value <= source.get("at_most", math.inf)

    # --- Work, by the keys of the scenario

    def number(self, path, default=0.0):
        text = self.variant["keys"].get(path)
        return default if text is None else toml_number(text)

    def is_true(self, path):
        return self.variant["keys"].get(path) == "true"

    def error_share(self, path):
        """The share of attempts that meet an error at the service or in a fault."""
        found = [toml_number(text) for key, text in self.variant["keys"].items()
                 if key.startswith(f"{path}.errors.") and key != f"{path}.errors.at"]
        return min(1.0, sum(found))

    def errors_cost_nothing(self, path):
        at = self.variant["keys"].get(f"{path}.errors.at", "arrival").strip('"')
        return 1.0 if at == "arrival" else 1.0 - float(at)

    def faults_at(self, service):
        return [d for d in self.variant["disturbances"] if d.get("service") == service]

    def asking(self, service, start, end):
        """What share of the attempts that are sent may ask for a server, on average."""
        faults = self.faults_at(service)
        edges = {start, end} | {t for f in faults for t in (f["start_s"], f["end_s"])
                                if start < t < end}
        edges, total = sorted(edges), 0.0
        instances = self.number(f"service.{service}.instances", 1)
        for a, b in zip(edges, edges[1:]):
            share = 1 - self.number("network.request_loss")
            for f in faults:
                if not f["start_s"] <= (a + b) / 2 < f["end_s"]:
                    continue
                path = f"fault.{f['name']}"
                gone = self.is_true(f"{path}.unreachable") or self.is_true(f"{path}.black_hole")
                lost = 1.0 if gone else self.number(f"{path}.request_loss")
                its = (1 - lost) * (1 - self.error_share(path) * self.errors_cost_nothing(path))
                share *= 1 - (1 - its) * f.get("instances", instances) / instances
            total += share * (b - a)
        return total / (end - start)

    def calls_s(self, service):
        """How long an attempt waits for the calls of its service, at idle services below."""
        parallel = self.is_true(f"service.{service}.parallel_calls")
        times = []
        for call in self.variant["calls"]:
            if call["caller"] == service:
                below, = call["calls"]
                times.append(2 * self.number("network.latency") + self.calls_s(below)
                             + self.number(f"service.{below}.service_time"))
        return max(times, default=0.0) if parallel else sum(times)

    def held_s(self, service):
        """The part of that for which it holds a server."""
        shared = self.variant["keys"][f"service.{service}.queue.discipline"]
        return 0.0 if shared == '"processor-sharing"' else self.calls_s(service)

    def callers(self, service):
        return [each["name"] for each in self.variant["clients"] + self.variant["calls"]
                if service in each["calls"]]

    def bins_of(self, service):
        """Rows of service.csv, each with those of timeseries.csv of all that call it."""
        by_bin = {}
        for client in self.callers(service):
            for row in self.files.rows("timeseries.csv", client):
                by_bin.setdefault((row["replication"], row["time_s"]), []).append(row)
        for row in self.files.rows("service.csv", service):
            yield row, by_bin.get((row["replication"], row["time_s"]), [])

    def work(self, service, column):
        """Rows of what attempts ask of a service, in seconds of a server."""
        mean_s = self.number(f"service.{service}.service_time")
        path = f"service.{service}"
        asked_s = (mean_s + self.held_s(service)) * (
            1 - self.error_share(path) * self.errors_cost_nothing(path))
        width = self.variant["interval_s"]
        for row, groups in self.bins_of(service):
            start = float(row["time_s"])
            value = 0.0
            if column.startswith("needed"):
                value = self.needed(service, row, groups, mean_s, column == "needed at first")
            else:
                refused = float(row["throttled"])
                met = float(row["arrivals"]) - (
                    float(row["errors"]) if self.errors_cost_nothing(path) == 1 else 0)
                passing = (1 - refused / met if met > refused else 0.0 if refused else 1.0)
                for group in groups:
                    retries = float(group["retries"])
                    number = {"first": float(group["attempts"]) - retries, "retries": retries,
                              "all": float(group["attempts"])}[column]
                    value += number * asked_s
                value *= self.asking(service, start, start + width) * passing
            yield {"replication": row["replication"], "time_s": row["time_s"], column: value}

    def needed(self, service, row, groups, mean_s, first_only):
        """Of those that came to its servers or its queue, at the speed that it has then."""
        middle = float(row["time_s"]) + self.variant["interval_s"] / 2
        speed = 1.0
        for f in self.faults_at(service):
            if f["start_s"] <= middle < f["end_s"]:
                speed *= self.number(f"fault.{f['name']}.speed", 1)
                if any(self.is_true(f"fault.{f['name']}.{how}")
                       for how in ("unreachable", "black_hole")) and "instances" not in f:
                    return 0.0
        sent = sum(float(group["attempts"]) for group in groups)
        if sent == 0 or speed == 0 or float(row["servers"] or 0) == 0:
            return 0.0
        asked = min(float(row["arrivals"]), float(row["admitted"]) + float(row["rejected"]))
        first = 1 - sum(float(group["retries"]) for group in groups) / sent
        own_s = mean_s / speed + self.held_s(service)
        return own_s * asked * (first if first_only else 1.0)

    def quota(self, client, column, window):
        """By replication: from when on the retry quota refuses so much until the group is back."""
        by_run = {}
        for row in self.files.rows("timeseries.csv", client):
            by_run.setdefault(row["replication"], []).append(row)
        ends = max(d["end_s"] for d in self.disturbances_of(client))
        for replication, rows in by_run.items():
            until = self.end_of_trouble(client, replication, window.endswith("unconfirmed"))
            rows = [row for row in rows if self.is_in_window(row, "window", client)
                    and float(row["time_s"]) < max(until, ends) - 1e-9]

            def dry_from(least, rows=rows):
                denied = retries = 0.0
                found = None
                for row in reversed(rows):
                    own = float(row["quota_denied"]), float(row["retries"])
                    denied, retries = denied + own[0], retries + own[1]
                    if own[0] > 0 and own[0] >= least * sum(own) and (
                            denied >= least * (denied + retries)):
                        found = float(row["time_s"]), denied, denied / (denied + retries)
                return found

            some, most = dry_from(0.1), dry_from(0.5)
            if some is None:
                continue
            dry = most if most and 2 * most[1] >= some[1] else some
            yield replication, dry[0] if column == "from_s" else dry[2]

    def value(self, source):
        if "not_in_files" in source:
            raise Unknown(source["not_in_files"])
        if "number" in source:
            return source["number"]
        if "text" in source:
            return source["text"]
        if "key" in source:
            return self.key(source["key"], source.get("client"))
        if "formula" in source:
            return FORMULAS[source["formula"]](*[self.value(part) for part in source["of"]])
        cells = self.cells(source)
        if "above" in source:
            cells = [cell for cell in cells if cell[1] > source["above"]]
        values = [value for _, value in cells]
        if source["file"] == "uncertain.csv" and source["over"] != "count":
            values = [float(value) for value in values]
        if source["over"] in ("mean of means", "mean count"):
            by_run = {}
            for replication, value in cells:
                by_run.setdefault(replication, []).append(value)
            each = len if source["over"] == "mean count" else statistics.fmean
            return statistics.fmean(each(of_run) for of_run in by_run.values())
        if source["over"] == "lower median":
            return sorted(values)[(len(values) - 1) // 2]
        if source["over"] == "count":
            return len(values)
        if source["over"] == "sum":
            return math.fsum(values)
        return {"mean": statistics.fmean, "median": statistics.median, "min": min,
                "max": max}[source["over"]](values)

    def key(self, path, client=None):
        if path == "disturbances.start_s":
            return min(d["start_s"] for d in self.disturbances_of(client))
        if path == "disturbances.end_s":
            return max(d["end_s"] for d in self.disturbances_of(client))
        if path in self.variant:
            return self.variant[path]
        if path.endswith(".arrivals.total_rate") and path not in self.variant["keys"]:
            group = path.removesuffix(".arrivals.total_rate")  # its rate is that of each client
            return self.key(f"{group}.arrivals.rate") * self.key(f"{group}.count")
        text = self.variant["keys"][path]
        try:
            return toml_number(text)
        except ValueError:
            return text.strip('"')

    def names(self):
        """What may have digits without being a figure: names that the scenario gives, HTTP 503."""
        names = {"503"}
        names |= {key["words"] for key in self.result.get("uncertain", {}).get("keys", [])}
        for each in self.result.get("uncertain_variants", {}).get("variants", []):
            names |= {key["words"] for key in each["keys"]}
        for kind in ("services", "clients", "disturbances", "calls"):
            for each in self.variant[kind]:
                names |= {str(each[key]) for key in ("name", "callee", "caller") if key in each}
        for row in self.result.get("phases", []):
            names.add(row["phase"])
        for row in self.result.get("slos", []):
            names |= {row["slo"], row["event"]}
        return sorted(names, key=len, reverse=True)

    def without_variants(self, sentence):
        """The sentence without the names of variants, such as max_attempts=1."""
        variants = self.result.get("uncertain_variants", {}).get("variants", [])
        for name in sorted((each["variant"] for each in variants), key=len, reverse=True):
            sentence = sentence.replace(name, "a variant")
        return sentence

    def budget_problems(self):
        """What slo.csv has of the requests of each event that phases.csv does not have of them, all
        groups together; and the budget by its definition."""
        rows = [row for row in self.files.rows("slo.csv", None)] if self.result.get("slos") else []
        for row in rows:
            if row["event"] == "run" or f"slo.{row['slo']}.clients" in self.variant["keys"]:
                continue
            later = [float(other["start_s"]) for other in rows if other["slo"] == row["slo"]
                     and float(other["start_s"]) > float(row["start_s"])]
            end = min(later, default=math.inf)
            phases = [phase for phase in self.files.rows("phases.csv", "all")
                      if phase["kind"] in ("during", "between", "recovering")
                      and float(row["start_s"]) <= float(phase["start_s"]) < end]

            def made(metric, phases=phases):
                return sum(float(phase["mean"]) for phase in phases if phase["metric"] == metric)

            expected = {"requests": made("requests"),
                        "failed": made("requests") - made("successes"),
                        "retries": made("retries"),
                        "bad": float(row["failed"]) + float(row["slow"]),
                        "budget": (1 - float(row["share"])) * float(row["requests_per_window"])}
            if int(row["replications"]) == 1:
                expected["budget_used"] = float(row["bad"]) / float(row["budget"])
                expected["outage_s"] = (float(row["bad"]) * float(row["window_s"])
                                        / float(row["requests_per_window"]))
            for column, value in expected.items():
                if not math.isclose(float(row[column]), value, rel_tol=1e-6, abs_tol=1e-6):
                    yield ({"client": "all", "rule": "slo.csv", "sentence": row["event"]},
                           f"{column} is {row[column]}, but {value:.9g} by phases.csv")

    def problems(self):
        """What is wrong with the sentences; and the figures, and those that no file has."""
        found, figures, unknown = list(self.budget_problems()), 0, []
        told = [{"client": "all", "rule": "uncertain"} | each
                for each in self.result.get("told", [])]
        for verdict in self.result.get("verdicts", []) + told:
            rest, at = self.without_variants(verdict["sentence"]), 0
            for figure in verdict["figures"]:
                figures += 1
                place = rest.find(figure["said"], at)
                if place < 0:
                    found.append((verdict, f"{figure['said']!r} is not in the sentence"))
                    continue
                rest = rest[:place] + "\x00" + rest[place + len(figure["said"]):]
                at = place + 1
                try:
                    value = self.value(figure["source"])
                except Unknown as reason:
                    unknown.append((verdict["rule"], str(reason)))
                    continue
                except (ValueError, KeyError, statistics.StatisticsError) as error:
                    found.append((verdict, f"{figure['said']!r}: {type(error).__name__} {error}"))
                    continue
                if not says(figure["said"], value, verdict["rule"] == "uncertain"):
                    found.append((verdict, f"{figure['said']!r} is said of {value:.9g}"))
                if not math.isclose(value, figure["value"], rel_tol=1e-6, abs_tol=1e-9):
                    found.append((verdict, f"{figure['said']!r} is {figure['value']:.9g}, but the "
                                           f"files have {value:.9g}: {figure['source']}"))
            for name in self.names():
                rest = rest.replace(name, "")
            if re.search(r"[0-9]", rest):
                found.append((verdict, f"a figure without a source: {rest!r}"))
        return found, figures, unknown


def mixed(rng):
    """Two client groups of all kinds at one service or two, with anything that can go wrong."""
    servers, mean_ms = rng.choice([1, 2, 5, 10]), rng.choice([5, 20, 50])
    capacity = servers * 1000 / mean_ms
    duration = rng.choice([60, 100])
    lines = ['name = "mixed"', f'duration = "{duration}s"', f"replications = {rng.choice([1, 3])}",
             f"seed = {rng.randrange(1000)}", f"drain = {rng.choice(['true', 'false'])}",
             f'warmup = "{rng.choice([0, 5, 7.5])}s"', f'interval = "{rng.choice([0.5, 1, 2])}s"',
             f'recovery = {{ hold = "{rng.choice([5, 30])}s" }}']
    if rng.random() < 0.3:
        lines.append(f"network = {{ request_loss = {rng.choice([0, 0.05])}, "
                     f"response_loss = {rng.choice([0.02, 0.3])} }}")
    for service in ("api", "side"):
        lines += [f"[service.{service}]", f"servers = {servers}",
                  f'service_time = {{ distribution = "exponential", mean = "{mean_ms}ms" }}']
        if rng.random() < 0.3:
            lines.append(f"queue = {{ capacity = {rng.choice([10, 100, 1000])} }}")
        if rng.random() < 0.25:
            lines.append(f"throttle = {{ rate = {rng.uniform(0.4, 1.5) * capacity:.3g}, "
                         f"burst = {rng.choice([1, 20])} }}")
        if rng.random() < 0.3:
            lines.append(f"errors = {{ unavailable = {rng.choice([0.002, 0.05, 0.3])} }}")
        if rng.random() < 0.2:
            lines.append(f"instances = {rng.choice([2, 5])}")
    for client in ("web", "batch"):
        rate = rng.uniform(0.05, 1.1) * capacity
        lines += [f"[client.{client}]", f'calls = "{rng.choice(["api", "api", "side"])}"',
                  f"count = {rng.choice([1, 10, 40])}",
                  rng.choice([f'arrivals = {{ process = "poisson", total_rate = {rate:.3g} }}',
                              f'arrivals = {{ process = "poisson", total_rate = {rate:.3g} }}',
                              f'arrivals = {{ process = "constant", total_rate = {rate:.3g} }}',
                              'arrivals = { process = "closed", think_time = "200ms" }',
                              'arrivals = { process = "once", start = "8s" }']),
                  rng.choice(['attempt_timeout = "0.5s"', 'attempt_timeout = "2s"', ""]),
                  rng.choice(['deadline = "3s"', "", ""]),
                  rng.choice(["mutating = 0.5", "", ""]),
                  rng.choice(["max_connections = 1", "", ""])]
        lines.append(rng.choice([
            'retry = { mode = "none" }', 'retry = { mode = "standard" }',
            'retry = { mode = "adaptive" }', 'retry = { mode = "legacy" }',
            'retry = { mode = "custom", max_attempts = 4, backoff = { base = "50ms" } }',
            'retry = { mode = "custom", max_attempts = 2, delays = [0], '
            f'hedging = {{ delay = "{rng.choice([0, 50])}ms" }} }}']))
    for number in range(rng.choice([0, 1, 1, 2, 3])):
        start = rng.choice([0, 10, 20.5]) + 12 * number
        lines += [f"[fault.f{number}]", f'service = "{rng.choice(["api", "side"])}"',
                  f'start = "{start}s"', f'duration = "{rng.choice([1, 4, 10, 60])}s"',
                  rng.choice(["capacity = 0", "capacity = 0.4", "speed = 0.3",
                              "unreachable = true", "black_hole = true",
                              "errors = { internal = 1.0 }", "errors = { internal = 0.4 }",
                              "request_loss = 0.5", "response_loss = 0.2", 'latency = "100ms"'])]
    shedding = random.Random("\n".join(lines))  # so that all other draws stay as they are
    if shedding.random() < 0.5:
        lines = [line[:-2] + ', when_full = "evict-lowest" }' if line.startswith("queue = ")
                 else line for line in lines]
        lines.insert(lines.index("[client.web]") + 1, "priority = 1")
    budgets = random.Random("budgets " + "\n".join(lines))
    for number in range(budgets.choice([0, 1, 1, 2])):
        lines += [f"[slo.o{number}]", f"share = {budgets.choice([0.9, 0.99, 0.9995])}",
                  f"requests_per_window = {budgets.choice([1e5, 3e8])}",
                  budgets.choice(['latency = "200ms"', 'latency = "1s"', ""]),
                  budgets.choice(['window = "24h"', 'window = "1000s"', ""]),
                  budgets.choice(['clients = "web"', 'clients = ["web", "batch"]', "", ""]),
                  "events_per_year = { f0 = 12 }" if "[fault.f0]" in lines else ""]
    return "\n".join(lines) + "\n"


def uncertain(rng):
    """A service near its limit, some of whose values are known by an interval only."""
    servers, mean_ms = rng.choice([2, 5, 10]), rng.choice([10, 50])
    rate = rng.uniform(0.6, 0.95) * servers * 1000 / mean_ms
    lines = ['name = "uncertain"', f'duration = "{rng.choice([30, 60])}s"',
             f"seed = {rng.randrange(1000)}", f"replications = {rng.choice([20, 40])}",
             'recovery = { hold = "10s" }', "[service.api]", f"servers = {servers}",
             f'service_time = {{ distribution = "exponential", mean = "{mean_ms}ms" }}',
             "[client.web]", f'arrivals = {{ process = "poisson", total_rate = {rate:.4g} }}',
             'attempt_timeout = "1s"',
             'retry = { mode = "custom", max_attempts = 3, backoff.base = "100ms" }']
    if rng.random() < 0.8:
        lines += ["[fault.outage]", 'start = "15s"', f'duration = "{rng.choice([0.5, 1, 3])}s"',
                  "capacity = 0"]
    lines += ['[uncertain."service.api.servers"]', f"low = {max(1, round(0.7 * servers))}",
              f"high = {round(1.3 * servers) + 1}"]
    if rng.random() < 0.7:
        lines += ['[uncertain."service.api.service_time.mean"]', f'low = "{0.9 * mean_ms:g}ms"',
                  f'high = "{1.1 * mean_ms:g}ms"']
    if rng.random() < 0.5:
        lines += ['[uncertain."client.web.arrivals.total_rate"]', f"low = {0.8 * rate:.4g}",
                  f"high = {1.2 * rate:.4g}"]
    return "\n".join(lines) + "\n"


def texts(scenarios, seed, everything):
    """Scenarios as text, or where they are: drawn ones of four kinds, and shipped ones."""
    rng = random.Random(seed)
    for _ in range(scenarios):
        yield "drawn", draw(rng)[0], None
        yield "graph", Graph(rng).text(), None
        yield "mixed", mixed(rng), None
    rng = random.Random(f"uncertain {seed}")
    for _ in range((scenarios + 2) // 3):
        text = uncertain(rng)
        yield "uncertain", text, None
        yield "variants", text, None
    shipped = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
    for path in shipped if everything else []:
        yield path.stem, None, path


DRAWS = ["--uncertain", "--replications", "40"]
COMMANDS = {"uncertain": ["run", *DRAWS],
            "variants": ["compare", *DRAWS, "--vary", "client.web.retry.max_attempts=3,1,5"]}


def check(program, scenarios, seed, everything):
    wrong = figures = runs = 0
    unknown = {}
    for name, text, path in texts(scenarios, seed, everything):
        with tempfile.TemporaryDirectory() as folder:
            if path is None:
                path = Path(folder) / "drawn.toml"
                path.write_text(text, encoding="utf-8")
            out = Path(folder) / "out"
            done = subprocess.run([program, *COMMANDS.get(name, ["run"]), path, "--quiet", "--out",
                                   out], capture_output=True, text=True, check=False)
            if done.returncode == 3 and name == "mixed":
                continue  # messages may be lost where nothing ends the wait for them
            if done.returncode not in (0, 1):
                sys.exit(f"{path}\n{text}\n{done.stderr}")
            problems, count, not_known = Recomputed(out).problems()
        figures += count
        runs += 1
        for verdict, problem in problems:
            wrong += 1
            print(f"{name} {verdict['client']} [{verdict['rule']}] {verdict['sentence']}\n"
                  f"    {problem}")
        if problems and text is not None:
            print(text)
        for rule, why in not_known:
            unknown[rule, why] = unknown.get((rule, why), 0) + 1
    listed = {(rule, why) for why, rules in NOT_IN_FILES.items() for rule in rules}
    for rule, why in sorted(set(unknown) - listed):
        wrong += 1
        print(f"{rule}: a figure that no file has, which is not on the list: {why}")
    if everything:
        for (rule, why), times in sorted(unknown.items(), key=lambda each: -each[1]):
            print(f"{times:5} {rule}: {why}")
        for rule, why in sorted(listed - set(unknown)):
            print(f"{rule}: nothing needs it on the list here: {why}")
    print(f"{runs} results, {figures} figures: {wrong} disagree; {sum(unknown.values())} are in no "
          f"file, of {len({rule for rule, _ in unknown})} rules")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--scenarios", type=int, default=100, help="of each of three kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="all shipped scenarios, too")
    arguments = parser.parse_args()
    sys.exit(1 if check(arguments.program, arguments.scenarios, arguments.seed,
                        arguments.all) else 0)


if __name__ == "__main__":
    main()
