#!/usr/bin/python3
"""`import retrysim`: the same bytes as the command line, and what Python users expect of a package.

  package_test.py --program PATH --root DIR --every N

Every N-th shipped scenario is compared with the command line.

SPDX-License-Identifier: MIT
"""

import argparse
import ast
import concurrent.futures
import contextlib
import gc
import io
import json
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import arrow_consumer  # noqa: E402
import retrysim  # noqa: E402

SMALL = """
name = "small"
duration = "20s"
replications = 4
interval = "500ms"

[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "10ms" }
queue.capacity = 100

[fault.dip]
service = "api"
start = "5s"
duration = "3s"
capacity = 0.2

[client.web]
count = 50
arrivals = { process = "poisson", total_rate = 200 }
attempt_timeout = "250ms"
retry.mode = "standard"
"""
LONG = SMALL.replace('"20s"', '"10h"').replace("replications = 4", "replications = 20")


def command(*arguments, folder=None):
    """Runs the program; what it prints."""
    done = subprocess.run([OPTIONS.program, *map(str, arguments)], cwd=folder, text=True,
                          capture_output=True, env={**os.environ, "COLUMNS": "80"}, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{arguments}: {done.stderr}")
    return done.stdout


def successes_of(seed):
    summary = retrysim.run(retrysim.from_text(SMALL, set=[f"seed={seed}"]))["summary"]
    return float(summary["mean"][list(summary["metric"]).index("successes")])


class WithFolder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        self.small = self.folder / "small.toml"
        self.small.write_text(SMALL)

    def assert_same_files(self, answer, folder):
        """Each table has the bytes of the file of its name."""
        files = {path.stem: path.read_bytes() for path in Path(folder).glob("*.csv")}
        for name in answer:
            self.assertEqual(answer[name].to_csv(), files[name], name)
        self.assertTrue(len(answer) > 0)


class SameBytes(WithFolder):
    def test_shipped_scenarios(self):
        scenarios = sorted(Path(OPTIONS.root, "scenarios").glob("*.toml"))
        self.assertGreater(len(scenarios), 30)
        for scenario in scenarios[::OPTIONS.every]:
            with self.subTest(scenario.name):
                out = self.folder / scenario.stem
                edits = ["replications=2", "precision=none"]
                command("run", scenario, "--set", edits[0], "--set", edits[1], "--out", out,
                        "--quiet", "--no-reuse")
                self.assert_same_files(retrysim.run(scenario, edits), out)

    def test_threads(self):
        one, two = retrysim.run(self.small), retrysim.run(self.small, jobs=2)
        for name in one:
            self.assertEqual(one[name].to_csv(), two[name].to_csv())

    def test_compare(self):
        vary = "client.web.retry.max_attempts=1,3"
        command("compare", self.small, "--vary", vary, "--out", self.folder / "c", "--quiet")
        found = retrysim.compare(self.small, vary)
        self.assert_same_files(found, self.folder / "c")
        self.assertEqual(found.variants, ["max_attempts=1", "max_attempts=3"])
        self.assertEqual(found.baseline, "max_attempts=1")
        self.assertTrue(found.sentences)
        same = retrysim.compare(self.small, {"client.web.retry.max_attempts": [1, 3]})
        self.assertEqual(same["compare"].to_csv(), found["compare"].to_csv())

    def test_compare_files(self):
        other = self.folder / "other.toml"
        other.write_text("client.web.retry.max_attempts = 1\n")
        command("compare", self.small, "--variant", f"other={other}", "--out", self.folder / "c",
                "--quiet")
        found = retrysim.compare(self.small, variants={"other": other})
        self.assert_same_files(found, self.folder / "c")

    def test_choose(self):
        vary = "client.web.retry.max_attempts=1,2,3"
        command("choose", self.small, "--vary", vary, "--maximize", "success_rate", "--out",
                self.folder / "c", "--quiet", "--set", "replications=20")
        found = retrysim.choose(self.small, vary, maximize="success_rate",
                                set={"replications": 20})
        self.assert_same_files(found, self.folder / "c")
        told = json.loads((self.folder / "c" / "result.json").read_text())
        self.assertEqual(found.outcome, told["choice"]["outcome"])

    def test_sweep(self):
        vary = ["fault.dip.duration=1s:3s:1s", "client.web.retry.max_attempts=1,3"]
        command("sweep", self.small, "--vary", vary[0], "--vary", vary[1], "--out",
                self.folder / "s", "--quiet")
        found = retrysim.sweep(self.small, vary)
        self.assert_same_files(found, self.folder / "s")
        self.assertEqual(len(found["points"]), 6)
        self.assertEqual(found.json["sweep"]["points"], 6)

    def test_tip(self):
        asked = "fault.dip.duration=1s:10s"
        command("tip", self.small, "--trigger", asked, "--out", self.folder / "t", "--quiet",
                "--tolerance", "0.1")
        found = retrysim.tip(self.small, asked, tolerance=0.1)
        self.assert_same_files(found, self.folder / "t")
        self.assertIn(found.outcome, ("found", "recovers_at_last_value", "tips_at_first_value",
                                      "not_judged"))

    def test_size(self):
        asked = "service.api.servers=1:8"
        command("size", asked, self.small, "--slo", "success_rate>=0.5", "--out",
                self.folder / "z", "--quiet")
        found = retrysim.size(self.small, asked, slo="success_rate>=0.5")
        self.assert_same_files(found, self.folder / "z")
        told = json.loads((self.folder / "z" / "result.json").read_text())
        self.assertEqual(found.outcome, told["size"]["outcome"])

    def test_size_at_several_values(self):
        asked = "service.api.servers=1:8"
        vary = "client.web.retry.max_attempts=1,3"
        command("size", asked, self.small, "--vary", vary, "--out", self.folder / "z", "--quiet")
        found = retrysim.size(self.small, asked, vary=vary)
        self.assert_same_files(found, self.folder / "z")
        self.assertEqual(len(found["frontier"]), 2)

    def test_budget(self):
        path = self.folder / "months.toml"
        path.write_text(SMALL.replace('start = "5s"', "per_year = 2000") +
                        "[slo.web]\nshare = 0.99\n")
        event = "slo.web.budget>0.001"
        command("risk", path, "--event", event, "--per", "1d", "--precision", "1", "--repair", "1h",
                "--effort", "3e7", "--set", "client.web.arrivals.total_rate=40",
                "--out", self.folder / "m", "--quiet")
        found = retrysim.risk(path, event, per="1d", precision=1, repair="1h", effort=3e7,
                              set={"client.web.arrivals.total_rate": 40})
        self.assert_same_files(found, self.folder / "m")
        self.assertGreaterEqual(len(found["periods"]["budget_used"]), 32)
        with self.assertRaisesRegex(ValueError, "no time"):
            retrysim.risk(path, event, repair="soon")
        with self.assertRaisesRegex(ValueError, "left to chance"):
            retrysim.run(path)

    def test_risk(self):
        event, vary = "service.api.in_system>=20", "client.web.arrivals.total_rate=250,280"
        command("risk", self.small, "--event", event, "--vary", vary, "--effort", "1e8", "--out",
                self.folder / "r", "--quiet")
        found = retrysim.risk(self.small, event, vary=vary, effort=1e8)
        self.assert_same_files(found, self.folder / "r")
        self.assertIsNone(found.mean_time)
        first, second = (row["mean_time_s"] for row in found["risk"])
        self.assertGreater(first, second)
        low = retrysim.risk(self.small, event, set={"client.web.arrivals.total_rate": 250},
                            effort=1e8)
        mean, least, most = low.mean_time
        self.assertAlmostEqual(mean, first)
        self.assertTrue(least < mean < most)
        with self.assertRaisesRegex(ValueError, "there is no service 'x'"):
            retrysim.risk(self.small, "service.x.in_system>=20")
        with self.assertRaisesRegex(ValueError, "no time"):
            retrysim.risk(self.small, per="soon")

    def unsure(self):
        """The scenario with an interval for its servers."""
        path = self.folder / "unsure.toml"
        path.write_text(Path(self.small).read_text(encoding="utf-8")
                        + '[uncertain."service.api.servers"]\nlow = 2\nhigh = 6\n',
                        encoding="utf-8")
        return path

    def test_variants_of_what_is_uncertain(self):
        unsure, vary = self.unsure(), "client.web.retry.max_attempts=1,3"
        command("compare", unsure, "--uncertain", "--replications", "10", "--vary", vary,
                "--out", self.folder / "c", "--quiet")
        found = retrysim.compare(unsure, vary, uncertain=10, set={"replications": 10})
        self.assert_same_files(found, self.folder / "c")
        self.assertEqual(found.variants, ["max_attempts=1", "max_attempts=3"])
        self.assertEqual(found.baseline, "max_attempts=1")
        self.assertEqual(len(found["uncertain"]), 20)
        with self.assertRaises(TypeError):
            retrysim.compare(unsure, vary, uncertain=10, twin=True)

    def test_size_of_what_is_uncertain(self):
        unsure, asked = self.unsure(), "client.web.arrivals.total_rate=10:200"
        command("size", asked, unsure, "--uncertain", "--out", self.folder / "z", "--quiet")
        found = retrysim.size(unsure, asked, uncertain=True)
        self.assert_same_files(found, self.folder / "z")

    def test_advise(self):
        command("advise", self.small, "--out", self.folder / "a", "--quiet")
        self.assert_same_files(retrysim.advise(self.small, jobs=2), self.folder / "a")

    def test_predict(self):
        command("predict", self.small, "--out", self.folder / "p")
        found = retrysim.predict(self.small)
        self.assert_same_files(found, self.folder / "p")

    def test_sdk_upgrade(self):
        scenario = Path(OPTIONS.root, "scenarios", "sdk-upgrade.toml")
        edits = ["replications=2"]
        command("sdk-upgrade", "botocore@1.43.3..1.44.0", scenario, "--set", edits[0], "--out",
                self.folder / "u", "--quiet")
        found = retrysim.sdk_upgrade("botocore@1.43.3..1.44.0", scenario, edits, jobs=2)
        told = (self.folder / "u" / "summary.csv").read_bytes()
        self.assertEqual(found["summary"].to_csv(), told)

    def test_text_is_that_of_the_command(self):
        said = command("run", self.small, "--out", self.folder / "r", "--no-reuse")
        text = str(retrysim.run(self.small))
        self.assertTrue(said.startswith(text.rstrip()), text)

    def test_saved_folder_is_that_of_the_command(self):
        command("run", self.small, "--out", self.folder / "r", "--quiet")
        saved = retrysim.run(self.small).save(self.folder / "s")
        for path in sorted((self.folder / "r").iterdir()):
            self.assertEqual((saved / path.name).read_bytes(), path.read_bytes(), path.name)
        command("verify", saved)


class Tables(WithFolder):
    def test_numbers_share_memory(self):
        table = retrysim.run(self.small)["summary"]
        means = table["mean"]
        self.assertEqual(means.dtype, np.float64)
        self.assertTrue(np.shares_memory(means, table["mean"]))
        self.assertFalse(means.flags.writeable)

    def test_columns_outlive_their_answer(self):
        means = retrysim.run(self.small)["summary"]["mean"]
        before = means.copy()
        gc.collect()
        np.testing.assert_array_equal(means, before)

    def test_units(self):
        run = retrysim.run(self.small)
        self.assertEqual(run["timeseries"].units["time_s"], "s")

    def test_pandas(self):
        table = retrysim.run(self.small)["summary"]
        frame = table.to_pandas()
        self.assertEqual(list(frame.columns), table.columns)
        self.assertEqual(len(frame), len(table))
        self.assertEqual(frame["metric"].dtype.name, "category")
        self.assertEqual(frame.attrs["units"], table.units)
        goodput = frame[(frame.client == "web") & (frame.metric == "goodput")]["mean"].iloc[0]
        (row,) = table.where(client="web", metric="goodput")
        self.assertEqual(row["mean"], goodput)
        self.assertTrue(100 < goodput < 200)

    def test_arrow(self):
        run = retrysim.run(self.small)
        for name in run:
            table = run[name]
            columns, rows = arrow_consumer.read(table)
            self.assertEqual(rows, len(table))
            self.assertEqual(list(columns), table.columns)
            self.assertEqual(arrow_consumer.schema_names(table), table.columns)
            for column, (unit, values) in columns.items():
                self.assertEqual(unit, table.units[column])
                present = table.present(column)
                for row, (told, value) in enumerate(zip(values, table[column])):
                    if not present[row]:
                        self.assertIsNone(told)
                    else:
                        self.assertEqual(told, value, (name, column, row))

    def test_arrow_outlives_its_table(self):
        columns, rows = arrow_consumer.read(retrysim.run(self.small)["summary"])
        self.assertGreater(rows, 0)
        self.assertIn("goodput", columns["metric"][1])

    def test_unused_capsules(self):
        table = retrysim.run(self.small)["summary"]
        for _ in range(1000):
            table.__arrow_c_stream__()
            table.__arrow_c_schema__()
        gc.collect()

    def test_missing_column_and_table(self):
        run = retrysim.run(self.small)
        with self.assertRaises(KeyError):
            run["summary"]["mena"]
        with self.assertRaises(KeyError):
            run["sumary"]


class Answers(WithFolder):
    def test_verdicts(self):
        run = retrysim.run(self.small)
        self.assertTrue(run.verdicts)
        verdict = run.verdicts[0]
        self.assertEqual(verdict.client, "web")
        self.assertIn(verdict.severity, ("good", "info", "bad"))
        self.assertTrue(verdict.sentence)

    def test_html(self):
        text = SMALL.replace('name = "small"', 'name = "small"\ndescription = "<script>"')
        page = retrysim.run(retrysim.from_text(text, "small"))._repr_html_()
        self.assertIn("web", page)
        self.assertNotIn("<script>", page)

    def test_plot(self):
        import matplotlib.pyplot as plt
        run = retrysim.run(self.small)
        self.assertIn("overview", run.pictures())
        axes = run.plot()
        self.assertTrue(axes)
        axes[0].figure.savefig(self.folder / "main.png")
        self.assertGreater((self.folder / "main.png").stat().st_size, 10_000)
        with self.assertRaises(ValueError):
            run.plot("overveiw")
        plt.close("all")

    def test_pictures_for_papers_and_slides(self):
        import matplotlib.pyplot as plt
        run = retrysim.run(self.small)
        axes = run.plot("glance", size="column", title=False)
        self.assertEqual(axes[0].figure.get_size_inches()[0], 3.5)
        figures = {id(axis.figure): axis.figure for axis in run.plot(size="slide")}
        for figure in figures.values():
            self.assertAlmostEqual(figure.get_size_inches()[1], 7.5)
        plt.close("all")
        paths = run.save_pictures(self.folder / "paper", "glance", size="column", format="svg")
        self.assertEqual(paths, [self.folder / "paper" / "glance.svg"])
        self.assertIn("</text>", paths[0].read_text(encoding="utf-8"))
        every = run.save_pictures(self.folder / "talk", size="slide")
        self.assertEqual({path.stem.partition("-")[0] for path in every}, set(run.pictures()))
        self.assertEqual(plt.get_fignums(), [])
        for wrong in ({"picture": "overveiw"}, {"size": "poster"}, {"format": "gif"}):
            with self.assertRaisesRegex(ValueError, "there are"):
                run.save_pictures(self.folder / "none", **wrong)
        self.assertFalse((self.folder / "none").exists())

    def test_nothing_is_written_unasked(self):
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        before = sorted(path.name for path in self.folder.iterdir())
        retrysim.run(self.small)
        retrysim.compare(self.small, "client.web.retry.max_attempts=1,3")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_another_result_is_not_replaced(self):
        retrysim.run(self.small).save(self.folder / "r")
        other = retrysim.run(self.small, set={"client.web.retry.max_attempts": 1})
        with self.assertRaises(retrysim.OutputError):
            other.save(self.folder / "r")
        other.save(self.folder / "r", force=True)

    def test_folder_has_a_path(self):
        run = retrysim.run(self.small)
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        for no_path in (None, 3):
            with self.assertRaises(TypeError):
                run.save(no_path)
            self.assertFalse(Path(str(no_path)).exists())
        with self.assertRaises(TypeError):
            retrysim.run(self.small, store=3)
        self.assertTrue((run.save(Path("there")) / "result.json").exists())

    def test_question_is_recorded_as_by_the_command(self):
        """What changes the answer is in result.json as the command leaves it there."""
        vary = "client.web.retry.max_attempts=1,2"
        size = ("service.api.servers=4:8", "--disturbance", "fault.dip.duration=1s")
        limits = ["success_rate>=0.5", "latency_p99<=2+-0.1"]
        expected = ['expect.fine.metric="success_rate"', "expect.fine.at_least=0.1"]
        asked = {
            "compare": (lambda: retrysim.compare(self.small, vary, twin=True),
                        ["--vary", vary, "--twin"]),
            "choose": (lambda: retrysim.choose(
                self.small, vary, maximize="success_rate", client="web", subject_to=limits,
                indifference=0.05, confidence=0.9),
                ["--vary", vary, "--maximize", "success_rate", "--client", "web", "--subject-to",
                 limits[0], "--subject-to", limits[1], "--indifference", "0.05", "--confidence",
                 "0.9"]),
            "size": (lambda: retrysim.size(
                self.small, size[0], size[2], ["success_rate>=0.5"], client="web", largest=True,
                expectations=True, share=0.8, confidence=0.9, set=expected),
                [*size, "--slo", "success_rate>=0.5", "--client", "web", "--largest",
                 "--expectations", "--share", "0.8", "--confidence", "0.9", "--set", expected[0],
                 "--set", expected[1]]),
        }
        for name, (ask, options) in asked.items():
            with self.subTest(name):
                folder = self.folder / name
                command(name, self.small, *options, "--out", folder, "--quiet")
                there = json.loads((folder / "result.json").read_text())["options"]
                found = ask()
                found.save(folder)  # the same question: its answer may be replaced
                self.assertEqual(json.loads((folder / "result.json").read_text())["options"],
                                 there)
        open_to = ['uncertain."service.api.servers"={low=3,high=5}']
        retrysim.run(self.small, open_to, uncertain=4).save(self.folder / "draws")
        with self.assertRaisesRegex(retrysim.OutputError, "--replications 5"):
            retrysim.run(self.small, open_to, uncertain=5).save(self.folder / "draws")
        plain = retrysim.compare(self.small, vary)
        with self.assertRaisesRegex(retrysim.OutputError, "--twin"):
            plain.save(self.folder / "compare")
        other = retrysim.size(self.small, size[0], size[2], share=0.7, set=expected)
        with self.assertRaisesRegex(retrysim.OutputError, "--share 0.7"):
            other.save(self.folder / "size")

    def test_store(self):
        for _ in range(2):
            retrysim.run(self.small, store=self.folder / "store")
        self.assertTrue(list((self.folder / "store").iterdir()))


class Scenarios(WithFolder):
    def test_set(self):
        scenario = retrysim.load(self.small)
        other = scenario.set({"client.web.retry.max_attempts": 1}, duration="10s")
        self.assertEqual(other["client.web.retry.max_attempts"], "1")
        self.assertEqual(other["duration"], '"10s"')
        self.assertNotEqual(scenario, other)
        self.assertEqual(scenario, retrysim.load(self.small))

    def test_text(self):
        made = retrysim.from_text(SMALL, "small")
        folder = made._folder.path
        self.assertTrue(folder.is_dir())
        self.assertEqual(retrysim.run(made)["summary"].to_csv(),
                         retrysim.run(self.small)["summary"].to_csv())
        compared = retrysim.compare(made, "client.web.retry.max_attempts=1,3")
        self.assertEqual(len(compared.variants), 2)
        del made
        gc.collect()
        self.assertFalse(folder.exists())

    def test_pickle(self):
        (self.folder / "rates.csv").write_text("time_s,rate\n0,100\n10,50\n")
        scenario = retrysim.load(self.small, {"client.web.arrivals.profile": "rates.csv"})
        again = pickle.loads(pickle.dumps(scenario))
        self.assertEqual(again.toml(), scenario.toml())
        self.assertEqual(retrysim.run(again)["summary"].to_csv(),
                         retrysim.run(scenario)["summary"].to_csv())

    def test_values(self):
        scenario = retrysim.load(self.small, set={
            "service.api.service_time": {"p50": "5ms", "p99": "40ms"}})
        self.assertIn("p50", scenario["service.api.service_time"])
        with self.assertRaises(TypeError):
            scenario.set({"duration": object()})

    def test_answer_goes_on(self):
        run = retrysim.run(self.small, set={"replications": 2})
        again = retrysim.run(run.scenario)
        self.assertEqual(run["summary"].to_csv(), again["summary"].to_csv())


    def test_numbers_of_all_kinds(self):
        """Those of numpy and of the standard library mean what they say."""
        attempts = "client.web.retry.max_attempts"
        for two in (np.int64(2), np.uint8(2), np.array(2), Decimal(2), Fraction(2)):
            self.assertEqual(retrysim.load(self.small, {attempts: two})[attempts], "2", repr(two))
        for half in (np.float32(0.5), np.float64(0.5), Decimal("0.5"), Fraction(1, 2)):
            found = retrysim.load(self.small, {"fault.dip.capacity": half})
            self.assertEqual(found["fault.dip.capacity"], "0.5", repr(half))
        key = "client.web.retry.quota.partial"
        for truth in (np.bool_(True), True):
            self.assertEqual(retrysim.load(self.small, {key: truth})[key], "true")
        swept = retrysim.sweep(self.small, {attempts: np.arange(1, 3)})
        self.assertEqual(len(swept["points"]), 2)
        one = retrysim.sweep(self.small, {attempts: np.int64(2)})
        self.assertEqual(len(one["points"]), 1)
        for no_value in (None, 1j, object(), np.complex64(1), {1}):
            with self.assertRaises(TypeError):
                retrysim.load(self.small, {attempts: no_value})

    def test_texts_with_control_characters(self):
        text = "a\nb\t\x01\x7f\"\\ é"
        self.assertEqual(retrysim.load(self.small, {"description": text}).description, text)

    def test_one_metric(self):
        vary = "client.web.retry.max_attempts=1,2"
        one, listed = (retrysim.compare(self.small, vary, metrics=metrics)
                       for metrics in ("goodput", ["goodput"]))
        self.assertEqual(one["compare"].to_csv(), listed["compare"].to_csv())

    def test_name_is_no_path(self):
        victim = self.folder / "victim.toml"
        victim.write_text("mine")
        for name in (str(self.folder / "victim"), "../victim", "a/b", "", ".", "..", "a\nb",
                     "a\0b", "a\x7f"):
            with self.assertRaisesRegex(ValueError, "name: .*plain name"):
                retrysim.from_text(SMALL, name=name)
            with self.assertRaises(ValueError):
                retrysim.from_text(SMALL, inputs={name: ""})
        with self.assertRaises(TypeError):
            retrysim.from_text(SMALL, name=None)
        with self.assertRaises(ValueError):
            retrysim.from_text(SMALL, name="here", inputs={"here.toml": "other"})
        self.assertEqual(victim.read_text(), "mine")

    def test_child_leaves_the_folder_of_its_parent(self):
        code = ("import os, retrysim, sys\n"
                "scenario = retrysim.from_text(sys.stdin.read())\n"
                "child = os.fork()\n"
                "if child == 0: sys.exit(0)\n"
                "os.waitpid(child, 0)\n"
                "print(scenario.set({'seed': 5})['seed'], scenario._folder.path)\n")
        done = subprocess.run([sys.executable, "-c", code], input=SMALL, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.stderr, "")
        seed, folder = done.stdout.split()
        self.assertEqual(seed, "5")
        self.assertFalse(Path(folder).exists(), "nor does the parent")


class Errors(WithFolder):
    def test_key(self):
        self.small.write_text(SMALL + "retry.max_atempts = 3\n")
        with self.assertRaises(retrysim.InputError) as caught:
            retrysim.load(self.small)
        error = caught.exception
        self.assertEqual(error.file, str(self.small))
        self.assertEqual(error.line, SMALL.count("\n") + 1)
        self.assertEqual(error.nearest, "max_attempts")
        self.assertIn("small.toml", str(error))
        self.assertIsInstance(error, ValueError)

    def test_every_mistake(self):
        with self.assertRaises(retrysim.InputError) as caught:
            retrysim.run(self.small, set=["duration=-1", "seed=x"])
        self.assertEqual(len(caught.exception.mistakes), 2)

    def test_no_file(self):
        with self.assertRaises(retrysim.InputError):
            retrysim.run(self.folder / "none.toml")

    def test_requests(self):
        with self.assertRaises(retrysim.InputError):
            retrysim.compare(self.small)
        with self.assertRaises(retrysim.InputError):
            retrysim.compare(self.small, "client.web.retry.max_attempts=1,2", metrics=["goodputt"])
        with self.assertRaises(TypeError):
            retrysim.choose(self.small, "client.web.retry.max_attempts=1,2")
        with self.assertRaises(TypeError):
            retrysim.run(self.small, job=2)
        with self.assertRaises(ValueError):
            retrysim.run(self.small, jobs=0)

    def test_limits(self):
        with self.assertRaises(retrysim.LimitExceeded):
            retrysim.run(self.small, max_events=1000)
        with self.assertRaises(retrysim.LimitExceeded):
            retrysim.run(retrysim.from_text(LONG), timeout=0.2)


class Working(WithFolder):
    def test_progress(self):
        shares = []
        retrysim.run(retrysim.from_text(LONG, set={"duration": "10min"}), progress=shares.append)
        self.assertEqual(shares[-1], 1.0)
        self.assertEqual(shares, sorted(shares))

    def test_progress_that_raises(self):
        def stop(share):
            raise RuntimeError("enough")
        with self.assertRaisesRegex(RuntimeError, "enough"):
            retrysim.run(retrysim.from_text(LONG), progress=stop)

    def test_other_threads_go_on(self):
        """The interpreter's lock is not held: another thread counts meanwhile."""
        counted, done = 0, threading.Event()
        scenario = retrysim.from_text(LONG, set={"duration": "20min"})
        worker = threading.Thread(target=lambda: (retrysim.run(scenario), done.set()))
        worker.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        worker.join()
        self.assertGreater(counted, 5)

    def test_questions_of_several_threads(self):
        """Threads that ask at the same time, again and again, have their own answers."""
        expected = {seed: successes_of(seed) for seed in range(1, 5)}
        self.assertEqual(len(set(expected.values())), 4)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(successes_of, [1, 2, 3, 4] * 5))
        self.assertEqual(found, [expected[seed] for seed in [1, 2, 3, 4] * 5])

    def test_child_of_a_process_that_has_asked(self):
        """After fork() there are no threads of the parent, who goes on, too."""
        expected = successes_of(1)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map_async(successes_of, [1, 2, 1, 2]).get(timeout=300)
        self.assertEqual(found[0::2], [expected] * 2)
        self.assertEqual(successes_of(2), found[1])

    def test_interrupt(self):
        code = ("import retrysim, sys\n"
                "scenario = retrysim.from_text(sys.stdin.read())\n"
                "print('ready', flush=True)\n"
                "try:\n"
                "    retrysim.run(scenario)\n"
                "except KeyboardInterrupt:\n"
                "    print('stopped', flush=True)\n")
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        process.stdin.write(LONG)
        process.stdin.close()
        self.assertEqual(process.stdout.readline().strip(), "ready")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline().strip(), "stopped")
        self.assertEqual(process.wait(), 0)
        process.stdout.close()


class OnceBitten:
    """Retries once, after 1 ms, for the first two failures of a client."""

    def __init__(self, client):
        self.failures = 0

    def refresh_retry_token(self, request, attempts, failure, now, uniform):
        if not failure.retryable or attempts > 1:
            return None
        self.failures += 1
        return 0.001 if self.failures <= 2 else None


class FullJitter:
    """Full jitter: base 50 ms, at most 3 attempts."""

    def __init__(self, client):
        self.client = client

    def refresh_retry_token(self, request, attempts, failure, now, uniform):
        if not failure.retryable or attempts >= 3:
            return None
        return uniform() * min(20, 0.05 * 2 ** (attempts - 1))


class Strategies(WithFolder):
    def test_own_strategy(self):
        scenario = retrysim.load(self.small).with_strategy("web", OnceBitten)
        run = retrysim.run(scenario)
        (row,) = run["summary"].where(client="web", metric="amplification")
        plain = retrysim.run(self.small, set={"client.web.retry.mode": "none"})
        (none,) = plain["summary"].where(client="web", metric="amplification")
        self.assertGreater(row["mean"], none["mean"])
        self.assertLess(row["mean"], 1 + 50 * 2 / 4000 + 0.01)

    def test_repeats_and_threads(self):
        scenario = retrysim.load(self.small).with_strategy("*", FullJitter)
        one, two = retrysim.run(scenario), retrysim.run(scenario, jobs=2)
        self.assertEqual(one["replications"].to_csv(), two["replications"].to_csv())

    def test_like_the_built_in_one(self):
        """Full jitter in Python and in keys: means agree within five standard errors (a false
        alarm: below 1e-5; the seed is fixed)."""
        custom = {"client.web.retry.mode": "custom", "client.web.retry.max_attempts": 3,
                  "client.web.retry.backoff.base": "50ms",
                  "client.web.retry.backoff.cap": "20s",
                  "client.web.retry.backoff.jitter": "full", "replications": 8}
        built_in = retrysim.run(self.small, set=custom)
        own = retrysim.run(retrysim.load(self.small, {"replications": 8})
                           .with_strategy("web", FullJitter))
        for metric in ("success_rate", "amplification"):
            (a,) = built_in["summary"].where(client="web", metric=metric)
            (b,) = own["summary"].where(client="web", metric=metric)
            wide = math.hypot(a["stddev"], b["stddev"]) / math.sqrt(8)
            self.assertLess(abs(a["mean"] - b["mean"]), 5 * wide, metric)

    def test_that_raises(self):
        class Broken(FullJitter):
            def refresh_retry_token(self, request, attempts, failure, now, uniform):
                raise ZeroDivisionError("oh")
        scenario = retrysim.load(self.small).with_strategy("web", Broken)
        for jobs in (1, 2):
            with self.assertRaises(ZeroDivisionError):
                retrysim.run(scenario, jobs=jobs)

    def test_bad_delay(self):
        class Backwards(FullJitter):
            def refresh_retry_token(self, request, attempts, failure, now, uniform):
                return -1.0
        with self.assertRaises(ValueError):
            retrysim.run(retrysim.load(self.small).with_strategy("web", Backwards))

    def test_results_that_are_no_delays(self):
        def found(method, value):
            class Own(FullJitter):
                pass
            setattr(Own, method, lambda *told: value)
            return retrysim.run(retrysim.load(self.small).with_strategy("web", Own))
        for method in ("refresh_retry_token", "acquire_initial_token"):
            for value in ("1", b"1", [], object(), True, np.bool_(True), 1j):
                with self.assertRaisesRegex(TypeError, f"Own.{method}: expected a delay in sec"):
                    found(method, value)
            for value in (-1, math.nan, math.inf, 1e10):
                with self.assertRaisesRegex(ValueError, f"Own.{method}: expected a delay in sec"):
                    found(method, value)
        refresh = "refresh_retry_token"
        for value in (np.float32(0.5), np.int64(1), Decimal("0.5"), 1):
            self.assertGreater(len(found("acquire_initial_token", value)), 0)
        with self.assertRaises(TypeError):
            retrysim.load(self.small).with_strategy("web", 3)
        self.assertGreater(len(found(refresh, None)), 0)

    def test_draws_only_during_its_call(self):
        kept = []
        class Keeper(FullJitter):
            def refresh_retry_token(self, request, attempts, failure, now, uniform):
                if kept:
                    try:
                        kept[-1]()
                    except RuntimeError as error:
                        refused.append(str(error))
                kept.append(uniform)
                return None
        class Raises(FullJitter):
            def refresh_retry_token(self, request, attempts, failure, now, uniform):
                kept.append(uniform)
                raise ZeroDivisionError
        refused = []
        retrysim.run(retrysim.load(self.small).with_strategy("web", Keeper))
        self.assertEqual(len(refused), len(kept) - 1)
        self.assertIn("has ended", refused[0])
        with self.assertRaises(ZeroDivisionError):
            retrysim.run(retrysim.load(self.small).with_strategy("web", Raises))
        for uniform in (kept[0], kept[-1]):
            with self.assertRaises(RuntimeError):
                uniform()

    def test_named_in_results(self):
        """Nothing is said of the rules of the file, and no result of these is replaced."""
        scenario = retrysim.load(self.small)
        plain, own = retrysim.run(scenario), retrysim.run(scenario.with_strategy("*", FullJitter))
        self.assertNotIn("quota", "".join(map(str, own.verdicts)))
        self.assertIn("client.web retries as the Python class FullJitter says",
                      " ".join(str(own).split()))
        self.assertEqual(len(own.scenario.notes), len(plain.scenario.notes) + 1)
        folder = plain.save(self.folder / "plain")
        with self.assertRaisesRegex(retrysim.OutputError, "retry.strategy .*FullJitter"):
            own.save(folder)
        saved = own.save(self.folder / "own")
        own.save(saved)
        other = retrysim.run(scenario.with_strategy("web", FullJitter)
                             .with_strategy("web", OnceBitten))
        self.assertEqual(len(other.scenario.notes), len(own.scenario.notes))
        with self.assertRaisesRegex(retrysim.OutputError, "FullJitter.*, now .*OnceBitten"):
            other.save(saved)
        with self.assertRaisesRegex(retrysim.InputError, "retry.strategy"):
            retrysim.load(saved / "scenario.toml")
        told = command("run", self.small, "--against", saved, "--out", self.folder / "now")
        self.assertIn("Python class FullJitter", told)

    def test_without_retries_in_the_file(self):
        """A strategy retries although the file has no retries."""
        scenario = retrysim.load(self.small, {"client.web.retry.mode": "none"})
        own = retrysim.run(scenario.with_strategy("web", OnceBitten))
        (row,) = own["summary"].where(client="web", metric="amplification")
        self.assertGreater(row["mean"], 1)

    def test_slow_one_is_ended(self):
        class Slow(FullJitter):
            def refresh_retry_token(self, request, attempts, failure, now, uniform):
                time.sleep(0.02)
                return 0.1
        scenario = retrysim.load(self.small).with_strategy("web", Slow)
        began = time.monotonic()
        with self.assertRaises(retrysim.LimitExceeded):
            retrysim.run(scenario, timeout=0.5)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            retrysim.run(scenario)
        timer.join()
        self.assertLess(time.monotonic() - began, 10)

    def test_other_questions_refuse(self):
        scenario = retrysim.load(self.small).with_strategy("web", FullJitter)
        with self.assertRaises(ValueError):
            retrysim.compare(scenario, "seed=1,2")
        with self.assertRaises(TypeError):
            pickle.dumps(scenario)
        with self.assertRaises(KeyError):
            retrysim.load(self.small).with_strategy("wbe", FullJitter)

    def test_without_simulator(self):
        strategy = retrysim.RetryStrategy("standard", "2.1")
        token, attempts = strategy.acquire_initial_token(0), 0
        while token.may_send:
            attempts += 1
            used, token = token, strategy.refresh_retry_token(token, status=503, now=attempts)
        self.assertEqual(attempts, strategy.max_attempts)
        self.assertEqual(token.outcome, "max_attempts_exceeded")
        with self.assertRaises(retrysim.TokenMisuse):
            strategy.refresh_retry_token(used, status=503, now=10)
        with self.assertRaises(ValueError):
            retrysim.RetryStrategy("standrad")


class Imports(WithFolder):
    def test_fit(self):
        log = self.folder / "access.csv"
        command("run", self.small, "--access-log", log, "--quiet", "--out", self.folder / "r",
                "--set", "fault.dip.capacity=1", "--set", "duration=100s")
        fitted = retrysim.fit(log, name="mine")
        figures = {row["figure"]: row["value"] for row in fitted["fit"]}
        rates = [value for name, value in figures.items() if "rate" in name and value]
        self.assertTrue(any(150 < rate < 250 for rate in rates), figures)
        self.assertEqual(fitted.scenario.name, "mine")
        path = fitted.save(self.folder / "fitted")
        self.assertEqual(retrysim.load(path).name, "mine")
        with self.assertRaises(FileExistsError):
            fitted.save(self.folder / "fitted")

    def test_import(self):
        text = """
resilience4j.retry:
  instances:
    backend:
      maxAttempts: 4
      waitDuration: 200ms
"""
        found = retrysim.import_config(text=text)
        self.assertEqual(found.kind, "resilience4j")
        scenario = retrysim.load(self.small, set=found.edits("web"))
        self.assertEqual(scenario["client.web.retry.max_attempts"], "4")
        self.assertIn("resilience4j", retrysim.import_kinds())
        with self.assertRaises(retrysim.InputError):
            retrysim.import_config(text="a: [", kind="resilience4j")


class Documents(WithFolder):
    """What the documents show works as it stands, in a folder with the shipped scenarios."""

    def setUp(self):
        super().setUp()
        (self.folder / "scenarios").symlink_to(Path(OPTIONS.root, "scenarios"))
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")

    def run_blocks(self, blocks):
        import matplotlib.pyplot as plt
        names = {}
        for block in blocks:
            exec(compile(block, "block", "exec"), names)  # noqa: S102
        plt.close("all")

    def test_readme(self):
        text = Path(OPTIONS.root, "sim", "python", "README.md").read_text(encoding="utf-8")
        blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
        self.assertGreater(len(blocks), 3)
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.run_blocks(blocks)
        self.assertIn("\nmax_attempts\n", told.getvalue())

    def test_notebooks(self):
        folder = Path(OPTIONS.root, "sim", "python", "notebooks")
        notebooks = sorted(folder.glob("*.ipynb"))
        self.assertEqual(len(notebooks), 3)
        for notebook in notebooks:
            with self.subTest(notebook.name), contextlib.redirect_stdout(io.StringIO()):
                cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
                code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
                self.assertTrue(all(not c.get("outputs") for c in cells), "outputs are kept out")
                self.run_blocks(code)


class Package(unittest.TestCase):
    def test_version(self):
        self.assertIn(retrysim.__version__, subprocess.run(
            [OPTIONS.program, "--version"], capture_output=True, text=True, check=True).stdout)

    def test_documented(self):
        """Every public name has a docstring."""
        for name in retrysim.__all__:
            value = getattr(retrysim, name)
            self.assertTrue(value.__doc__, name)

    def test_stub_has_the_names_of_the_engine(self):
        """Also those of the members of its classes."""
        engine = retrysim._engine
        stub = Path(engine.__file__).with_name("_engine.pyi").read_text(encoding="utf-8")
        told = {}
        for node in ast.parse(stub).body:
            if isinstance(node, ast.ClassDef):
                members = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                told[node.name] = set(members) - {"__init__"}
            elif isinstance(node, ast.FunctionDef):
                told[node.name] = set()
            elif isinstance(node, ast.AnnAssign):
                told[node.target.id] = set()
        there = {name: {one for one in dir(value) if not one.startswith("__")}
                 if isinstance(value, type) else set()
                 for name, value in vars(engine).items() if not name.startswith("__")}
        self.assertEqual(told, there)

    def test_import_loads_nothing_large(self):
        """Each of these takes longer to import than the package itself."""
        large = ("numpy", "pandas", "matplotlib")
        code = f"import retrysim, sys; print([name for name in {large} if name in sys.modules])"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              check=True).stdout
        self.assertEqual(told.strip(), "[]")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--every", type=int, default=1)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.program, OPTIONS.root = map(os.path.abspath, (OPTIONS.program, OPTIONS.root))
    unittest.main(argv=[sys.argv[0], *rest])
