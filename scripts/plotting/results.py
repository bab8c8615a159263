"""What a result folder holds, as the pictures need it: tables cut down to one variant, and in words
what happened to whom, and when.

SPDX-License-Identifier: MIT
"""

import json
import math
from pathlib import Path

import pandas as pd


TEXT_COLUMNS = ["scenario", "variant", "client", "service", "kind", "verdict", "metric"]
# What a replication has none of any more once it is over, while others still drain. A latency does
# not exist there, and the number of servers stays what it was.
LATENCIES = ["latency_p50_s", "latency_p99_s"]

# A picture of a steady state goes on for so much longer than what it takes to recover, and is cut
# if what is left is at most so much of the run.
AFTER_RECOVERY = 1.3
MOST_OF_A_RUN = 0.2


def title_of(info):
    """What a result is called, with what was changed in its scenario; older ones have only the
    scenario's name."""
    return literal(info.get("title", info["scenario"]))


def description_of(info):
    """What the scenario shows, which begins with what was changed in it; may be empty."""
    return literal(info.get("description", ""))


def literal(text):
    """A text that is drawn as it is: dollars are no formula."""
    return text.replace("$", "\\$")


class ResultError(Exception):
    """A result file is missing or does not hold what it should."""


class Results:
    """The files of one result folder, cut down to one variant."""

    def __init__(self, folder, variant):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ResultError(f"{folder}: no such folder; name one that `retrysim run` wrote")
        self.info = self._read_info()
        names = [v["variant"] for v in self.info["variants"]]
        self.variant = variant or names[0]
        if self.variant not in names:
            raise ResultError(f"{folder}: no variant {self.variant}; there are {', '.join(names)}")
        self.details = self.info["variants"][names.index(self.variant)]
        self.interval = float(self.details["interval_s"])
        self.series = self._read("timeseries.csv", ["replication", "client", "time_s", "requests",
                                                    "attempts", "successes", "failures",
                                                    "in_flight", "in_backoff"])
        self.service = self._read("service.csv", ["replication", "service", "time_s", "queue_mean"])
        self.storms = self._read("storms.csv", ["storm", "onset_s", "end_s"])
        self.latency = self._read("latency.csv", ["client", "kind", "quantile", "latency_s"])
        self.attempts = self._read("attempts.csv", ["client", "attempt", "sent"])
        self.values = self._read("replications.csv", ["replication", "client", "metric", "value"])
        if self.series.empty:
            raise ResultError(f"{self.folder / 'timeseries.csv'}: holds no rows to draw")

    def _read_info(self):
        path = self.folder / "result.json"
        try:
            info = json.loads(path.read_text(encoding="utf-8"))
            if not info["variants"]:
                raise KeyError("variants")
            info["scenario"], info["summary"]  # noqa: B018  (they must exist)
            return info
        except FileNotFoundError:
            raise ResultError(f"{path}: is missing; is this a result folder?") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: cannot be used: {error!r}") from None

    def _read(self, name, needed):
        path = self.folder / name
        try:
            # Names are text even where they look like numbers or like "NA"; an empty cell of a
            # number means that the value does not exist.
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
            for column in table.columns.difference(TEXT_COLUMNS):
                table[column] = pd.to_numeric(table[column]).astype(float)
        except FileNotFoundError:
            raise ResultError(f"{path}: is missing; run the scenario again") from None
        except (OSError, ValueError) as error:
            raise ResultError(f"{path}: cannot be read: {error}") from None
        missing = [c for c in ["variant"] + needed if c not in table.columns]
        if missing:
            raise ResultError(f"{path}: lacks the column {', '.join(missing)}")
        return table[table["variant"] == self.variant]

    def groups(self):
        """The client groups in file order, without "all"; ["all"] if there is none else."""
        return [c for c in self.series["client"].unique() if c != "all"] or ["all"]

    def key(self, path, default):
        """The value of a scenario key, which result.json keeps as TOML; plain values only."""
        text = self.details.get("keys", {}).get(path)
        try:
            return default if text is None else json.loads(text)
        except ValueError:
            return default

    def callers(self, service):
        """The client groups that call a service. Results of older programs do not list their calls:
        there "api.db" is how service api calls db."""
        groups = self.details.get("clients", []) + self.details.get("calls", [])
        calling = {group["name"] for group in groups if service in group["calls"]}
        if self.groups() == ["all"]:
            return ["all"]
        if not groups:
            if len(self.details["services"]) == 1:
                return self.groups()
            calling = {g for g in self.groups() if g.partition(".")[2] == service or
                       self.key(f"client.{g}.calls", None) == service}
        return [g for g in self.groups() if g in calling]

    def is_called(self, service):
        """Whether any attempt ever went there."""
        rows = self.service[self.service["service"] == service]
        return "arrivals" not in rows or bool((rows["arrivals"] > 0).any())

    def replications(self):
        return self.series["replication"].nunique()

    def last_activity(self):
        """End of the time worth drawing: a herd may be over long before the run is."""
        rows = self.series
        end = float(rows["time_s"].max()) + self.interval
        signs = ["requests", "attempts", "successes", "failures", "in_flight", "in_backoff"]
        busy = rows[(rows[signs] > 0).any(axis=1)]
        if busy.empty:
            return end
        return min(end, (float(busy["time_s"].max()) + self.interval) * 1.05)

    def last_shown(self):
        """End of the time axis: that of the activity, or soon after the last recovery where a
        steady load then goes on for so long that nothing could be seen of what came before."""
        last = self.last_activity()
        ends = [window["end_s"] for window in self.details["disturbances"]]
        varies = any(key.endswith((".arrivals.file", ".arrivals.profile", ".profile"))
                     for key in self.details.get("keys", {}))
        times = [self.recovery_times(name) for name in self.groups()]
        if not ends or varies or any(len(t) < self.replications() for t in times):
            return last
        over = [max(ends) + max(map(max, times))]
        over += list(self.storms["end_s"].fillna(last))
        over += [number_of(str(self.key(key, "0s"))) for key in self.details.get("keys", {})
                 if key.startswith("phase.") and key.endswith((".start", ".end"))]
        shown = AFTER_RECOVERY * max(over)
        return shown if shown < MOST_OF_A_RUN * last else last

    def pivot(self, client, column):
        """One column a replication, time as index. Replications drain for different times: counts
        and levels after the end of one are zero, as nothing is under way there any more."""
        rows = self.series[self.series["client"] == client]
        table = rows.pivot(index="time_s", columns="replication", values=column)
        return table if column in LATENCIES else table.fillna(0)

    def service_pivot(self, service, column):
        """The same for a service, whose servers stay."""
        rows = self.service[self.service["service"] == service]
        table = rows.pivot(index="time_s", columns="replication", values=column)
        return table.ffill() if column == "servers" else table.fillna(0)

    def mean_capacity(self, service):
        """Width and values of the bins of its capacity over time; no values in older results."""
        if not (self.folder / "mean_service.csv").is_file():
            return self.interval, []
        rows = self._read("mean_service.csv", ["service", "time_s", "width_s", "capacity"])
        rows = rows[(rows["service"] == service) & rows["capacity"].notna()]
        return (float(rows["width_s"].iloc[0]) if len(rows) else self.interval,
                list(rows["capacity"]))

    def waiting_at(self, service):
        """Attempts in the queue of a service; where they share the servers, those in service."""
        shares = self.key(f"service.{service}.queue.discipline", "") == "processor-sharing"
        column = "in_service_mean" if shares and "in_service_mean" in self.service else "queue_mean"
        return self.service_pivot(service, column), column != "queue_mean"

    def summary(self, metric, client="all"):
        for row in self.info["summary"]:
            if (row["variant"], row["client"], row["metric"]) == (self.variant, client, metric):
                return row
        return None

    def recovery_times(self, client):
        """Seconds of the replications of a group that recovered."""
        rows = self.values[(self.values["client"] == client) &
                           (self.values["metric"] == "recovery_s")]
        return list(rows["value"].dropna())


def number_of(text):
    """The value of a number with or without a unit of time; not a number for other texts."""
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("min", 60), ("s", 1),
                        ("h", 3600), ("", 1)):
        if text.endswith(unit):
            try:
                return float(text[:len(text) - len(unit)]) * scale
            except ValueError:
                continue
    return math.nan


def label_title(label):
    """A metric's label as the title of a panel: "Mean latency", but "p99 latency"."""
    return label if label[1:2].isdigit() else label[:1].upper() + label[1:]


def seconds_label(value, _position=None):
    for size, scale, unit in ((1, 1, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs"), (0, 1e9, "ns")):
        if value >= size * 0.999999:
            return f"{value * scale:.4g} {unit}"
    return ""


def fate(results, name):
    """What became of a group, in the few words that the program has concluded; nothing if nothing
    disturbed the run, or if an older program wrote the result."""
    rows = [row for row in results.info.get("verdicts", [])
            if row["variant"] == results.variant and row["client"] == name]
    return rows[0].get("fate", "") if rows and results.details["disturbances"] else ""


def concerns(results, window, service):
    if window["kind"] == "fault":
        return window.get("service", service) == service
    return window.get("client") in results.callers(service)


def window_label(results, kind, rows):
    """Name of faults, or of surges, at the same time."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    if len(rows) == 1:
        return f"{kind} {names[0]}"
    what = f"{kind} {names[0]}" if len(names) == 1 else f"{len(names)} {kind}s"
    field, all_names = ("client", results.groups())
    if kind == "fault":
        field, all_names = "service", [s["name"] for s in results.details["services"]]
    if len(all_names) > 1 and {row.get(field) for row in rows} == set(all_names):
        everybody = "all services" if kind == "fault" else "all groups"
        return f"{what if len(names) == 1 else kind} ({everybody})"
    return what


def disturbances(results, service=None):
    """Windows of faults and surges as (start, end, label); those of equal times are one."""
    windows = {}
    for window in results.details["disturbances"]:
        if service is None or concerns(results, window, service):
            key = (window["start_s"], window["end_s"], window["kind"])
            windows.setdefault(key, []).append(window)
    for (start, end, kind), rows in sorted(windows.items()):
        yield start, end, f"{window_label(results, kind, rows)}, {start:g} to {end:g} s"


def storms(results):
    """Median windows of the storms that at least half of the replications have, with a label.

    A storm is one of all services together; where there are several, it says nothing about any one.
    """
    runs, end = results.replications(), results.details["window_end_s"]
    for _, rows in results.storms.groupby(results.storms["storm"].astype(int)):
        if 2 * len(rows) >= runs:
            until = rows["end_s"].fillna(end).median()
            text = f"retry storm in {len(rows)} of {runs} runs" if runs > 1 else "retry storm"
            lasting = int(rows["end_s"].isna().sum())
            if lasting:
                text += ", end not seen" + (f" in {lasting}" if lasting < len(rows) else "")
            yield rows["onset_s"].median(), until, text


def outside(results):
    """The parts of the picture that the summary leaves out."""
    start, end = results.details["window_start_s"], results.details["window_end_s"]
    for low, high, text in ((0, start, "warm-up"),
                            (end, results.last_activity(), "drain (no new requests)")):
        if high - low > 0.01 * results.last_activity():  # a thinner strip cannot be seen
            yield low, high, text
