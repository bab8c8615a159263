#!/usr/bin/python3
"""Runs scripts/plot.py on small result folders made here: two client groups, a capacity fault, a
storm, a drain.

SPDX-License-Identifier: MIT
"""

import contextlib
import csv
import hashlib
import importlib.util
import io
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PLOT = ROOT / "scripts" / "plot.py"
SPEC = importlib.util.spec_from_file_location("plot", PLOT)
SCRIPT = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
SPEC.loader.exec_module(SCRIPT)

SERIES = ("scenario,variant,replication,client,time_s,requests,attempts,retries,successes,failures,"
          "throttled,errors,timeouts,quota_denied,limiter_waiting,in_backoff,in_flight,"
          "latency_p50_s,latency_p99_s").split(",")
SERVICE = ("scenario,variant,replication,service,time_s,arrivals,admitted,rejected,throttled,"
           "completions,wasted,queue_mean,queue_max,busy_mean,servers").split(",")


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def series_rows(draw, groups, replication, length):
    rows = []
    for t in range(length + 5):
        storm = math.exp(-max(0, t - 90) / 40) if t >= 62 else 0.0
        total = [0.0] * 14
        for share in range(groups):
            new = 0 if t >= length else round(400 / groups + draw.gauss(0, 8))
            attempts = round(new * (1 + (1.2 + 0.4 * share) * storm)) if t < length else 3
            ok = round(new * (1 - 0.7 * storm))
            latency = (0.02 + 2 * storm, 0.08 + 6 * storm) if new else ("", "")
            counts = [new, attempts, attempts - new, ok, new - ok, 0, attempts - new, 0, 0, 0,
                      20 * storm, attempts * 0.02]
            rows.append(["dip", "base", replication, f"g{share}", t, *counts, *latency])
            total = [a + b for a, b in zip(total, counts)]
        rows.append(["dip", "base", replication, "all", t, *total, *latency])
    return rows


def service_rows(replication, length):
    rows = []
    for t in range(length + 5):
        servers = 3 if 60 <= t < 90 else 10
        queue = 0.3 + (900 * math.exp(-max(0, t - 90) / 40) if t >= 62 else 0)
        rows.append(["dip", "base", replication, "api", t, 400, 400, 0, 0, 400, 0, queue, queue * 2,
                     min(servers, 8), servers])
    return rows


def make_results(folder, groups=2, replications=4, length=150):
    draw = random.Random(1)
    folder.mkdir(parents=True)
    series, service, storms = [], [], []
    for r in range(replications):
        series += series_rows(draw, groups, r, length)
        service += service_rows(r, length)
        storms.append(["dip", "base", r, 1, 63 + r, "" if r == 3 else 140 + r, 900, 2.6, 4000, 90,
                       "" if r == 3 else 95.5, "sustained" if r == 3 else "transient"])
    write(folder / "timeseries.csv", SERIES, series)
    write(folder / "service.csv", SERVICE, service)
    write(folder / "storms.csv", "scenario,variant,replication,storm,onset_s,end_s,"
          "peak_attempt_rate,peak_amplification,extra_attempts,trigger_end_s,recovery_s,"
          "verdict".split(","), storms)
    quantiles = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
    write(folder / "latency.csv", "scenario,variant,client,kind,quantile,latency_s,ci_low_s,"
          "ci_high_s".split(","),
          [["dip", "base", "all", kind, q, size / (1.0005 - q), *(
              ("", "") if q == 0.999 else (0.9 * size / (1.0005 - q), 1.1 * size / (1.0005 - q)))]
           for kind, size in (("request", 0.02), ("request_ok", 0.018), ("attempt", 0.01),
                              ("service", 0.008)) for q in quantiles])
    write(folder / "attempts.csv", "scenario,variant,client,attempt,sent,successes,throttled,"
          "errors,timeouts,peak_sends_100ms,in_backoff_mean".split(","),
          [["dip", "base", "all", n, 100000 / 3 ** n, 60000 / 3 ** n, 1e4 / 3 ** n, 1e4 / 3 ** n,
            15000 / 3 ** n, "", 3.5] for n in (1, 2, 3)])
    info = {"program": "retrysim", "scenario": "capacity-dip", "description":
            "A 30 s capacity dip at 80 % load", "summary": [], "variants": [{
                "variant": "base", "seed": 1, "window_start_s": 30, "window_end_s": length,
                "interval_s": 1, "services": [{"name": "api", "servers": 10,
                                               "mean_service_time_s": 0.02,
                                               "capacity_per_s": 500}],
                "disturbances": [{"kind": "fault", "name": "dip", "start_s": 60, "end_s": 90}]}]}
    (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


def plot(*arguments):
    """Runs the script's main in this process, which is much faster than a new interpreter."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = SCRIPT.main([str(a) for a in arguments])
        except SystemExit as end:  # a bad command line
            status = end.code
    return types.SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=errors.getvalue())


def plot_in_new_process(*arguments):
    return subprocess.run([sys.executable, str(PLOT), *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class PlotTest(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.root = Path(self._temporary.name)

    def test_pictures_have_a_readable_size(self):
        folder = make_results(self.root / "r")
        done = plot(folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split(), [str(folder / "overview.png"),
                                               str(folder / "latency.png")])
        header = (folder / "overview.png").read_bytes()[:24]
        self.assertEqual(struct.unpack(">II", header[16:24]), (1600, 2000))

    def test_same_results_same_bytes(self):
        folder = make_results(self.root / "r")
        for kind in ("png", "svg", "pdf"):
            for out, run in (("a", plot), ("b", plot_in_new_process)):
                done = run(folder, "--format", kind, "--out", self.root / out)
                self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("overview", "latency"):
                self.assertEqual(digest(self.root / "a" / f"{name}.{kind}"),
                                 digest(self.root / "b" / f"{name}.{kind}"), (name, kind))

    def test_labels_name_units_faults_storms_and_groups(self):
        folder = make_results(self.root / "r")
        self.assertEqual(plot(folder, "--format", "svg").returncode, 0)
        # Matplotlib draws text as outlines and keeps the words in comments.
        svg = (folder / "overview.svg").read_text(encoding="utf-8")
        for words in ("simulated time [s]", "rate [1/s]", "successes [%]", "attempts / request",
                      "fault dip", "retry storm 1 (median; in 4 of 4)", "capacity",
                      "warm-up, not in the summary", "no new requests (drain)", "g0", "g1",
                      "capacity-dip", "4 replications, seed 1"):
            self.assertIn(words, svg)

    def test_several_services_are_drawn_by_group(self):
        folder = make_results(self.root / "r")
        info = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        variant = info["variants"][0]
        variant["services"].append({**variant["services"][0], "name": "b"})
        variant["disturbances"] += [{**variant["disturbances"][0], "name": "b", "speed": 0.5}]
        (folder / "result.json").write_text(json.dumps(info), encoding="utf-8")
        with open(folder / "service.csv", "a", encoding="utf-8") as file:
            file.writelines(
                ",".join(map(str, [*row[:3], "b", *row[4:]])) + "\n"
                for r in range(4) for row in service_rows(r, 150))
        done = plot(folder, "--format", "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        svg = (folder / "overview.svg").read_text(encoding="utf-8")
        for words in ("attempts of g0", "attempts of g1", "capacity of each service",
                      "2 faults at once", "waiting at api", "waiting at b"):
            self.assertIn(words, svg)

    def test_one_group_and_one_replication(self):
        folder = make_results(self.root / "r", groups=1, replications=1)
        done = plot(folder, "--format", "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        svg = (folder / "overview.svg").read_text(encoding="utf-8")
        self.assertIn("1 replication, seed 1", svg)
        self.assertNotIn("bands", svg)

    def test_a_run_without_storm_or_requests(self):
        folder = make_results(self.root / "r", replications=2)
        for name in ("storms.csv", "latency.csv", "attempts.csv"):
            header = (folder / name).read_text(encoding="utf-8").splitlines()[0]
            (folder / name).write_text(header + "\n", encoding="utf-8")
        write(folder / "timeseries.csv", SERIES,
              [["dip", "base", r, c, t] + [0] * 12 + ["", ""]
               for r in (0, 1) for c in ("web", "all") for t in range(20)])
        done = plot(folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_missing_files_and_wrong_ones_are_named(self):
        done = plot(self.root / "nowhere")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nowhere: no such folder", done.stderr)
        for name in ("result.json", "timeseries.csv", "service.csv", "storms.csv"):
            folder = make_results(self.root / name)
            (folder / name).unlink()
            done = plot(folder)
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"{folder / name}: is missing", done.stderr)
            self.assertEqual(list(folder.glob("*.png")), [])
        folder = make_results(self.root / "broken")
        (folder / "result.json").write_text("{", encoding="utf-8")
        self.assertEqual(plot(folder).returncode, 3)
        folder = make_results(self.root / "column")
        (folder / "service.csv").write_text("scenario,variant\n", encoding="utf-8")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("service.csv: lacks the column replication, service", done.stderr)
        folder = make_results(self.root / "number")
        with open(folder / "storms.csv", "a", encoding="utf-8") as file:
            file.write("dip,base,0,2,soon,,1,1,1,1,1,transient\n")
        done = plot(folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("storms.csv: cannot be read", done.stderr)
        done = plot(make_results(self.root / "variant"), "--variant", "none")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no variant none; there are base", done.stderr)

    def test_what_cannot_be_written_is_an_error(self):
        folder = make_results(self.root / "r")
        (self.root / "file").write_text("", encoding="utf-8")
        done = plot(folder, "--out", self.root / "file" / "pictures")
        self.assertEqual(done.returncode, 4)
        self.assertIn("cannot write", done.stderr)
        self.assertEqual(plot(folder, "--format", "bmp").returncode, 2)


if __name__ == "__main__":
    unittest.main()
