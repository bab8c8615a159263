#!/usr/bin/python3
"""Tests of the pages that `retrysim report` writes, in a headless Chromium.

Usage: report_page_test.py --program RETRYSIM. Exit status 77 if there is no Chromium.

SPDX-License-Identifier: MIT
"""

import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

HOSTILE = "</script><img src=x onerror=alert(1)> & <b>does it recover?</b>"
SCENARIO = f"""
name = "outage"
description = '{HOSTILE}'
duration = "24s"
warmup = "2s"
replications = 3
[service.api]
servers = 2
service_time = {{ distribution = "exponential", mean = "20ms" }}
queue.capacity = 60
[service.other]
servers = 2
service_time = "10ms"
[fault.down]
service = "api"
start = "6s"
duration = "3s"
capacity = 0
[client.web]
calls = "api"
arrivals = {{ process = "poisson", total_rate = 40 }}
attempt_timeout = "400ms"
retry = {{ mode = "standard", max_attempts = 3 }}
[client.batch]
calls = "other"
arrivals = {{ process = "poisson", total_rate = 20 }}
retry = {{ mode = "none" }}
[expect.works]
metric = "success_rate"
at_least = 0.2
"""
# A queue that three attempts at once keep down after an outage, if there is enough load.
ZOMBIE = """
name = "zombie"
duration = "60s"
replications = 6
interval = "100ms"
drain = false
recovery = { share = 0.8, hold = "3s", window = "2s" }
[service.api]
service_time = { distribution = "exponential", mean = "20ms" }
[fault.outage]
start = "8s"
duration = "1s"
capacity = 0
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 30 }
attempt_timeout = "1s"
retry = { mode = "custom", max_attempts = 3, backoff.base = "0ms", backoff.cap = "0ms" }
"""
# Three services that are never full but limit what they let in, and that fail together.
LIMITS = "name = 'limits'\nduration = '12s'\nreplications = 2\n" + "".join(f"""
[service.{name}]
servers = "unlimited"
service_time = "10ms"
throttle.rate = 50
[service.{name}.throttle.operation.put]
rate = 600
window = "2s"
[fault.{name}]
service = "{name}"
start = "4s"
duration = "2s"
errors.unavailable = 1
[client.{name}]
calls = "{name}"
count = 5
arrivals = {{ process = "poisson", rate = 4 }}
retry = {{ mode = "standard" }}
operation.put = {{ share = 0.5 }}
operation.get = {{ share = 0.5 }}
""" for name in ("one", "two", "three"))
MEGABYTE = 1_000_000
PROGRAM = None  # set by main


class Pages:
    """Results of each command and their pages, made once."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "outage.toml").write_text(SCENARIO)
        self.run("run", "outage.toml", "--out", "run")
        self.run("run", "outage.toml", "--set", "client.web.retry.max_attempts=1", "--out", "once")
        self.run("compare", "outage.toml", "--vary", "client.web.retry.max_attempts=1,3,5",
                 "--out", "compare")
        self.run("sweep", "outage.toml", "--vary", "fault.down.duration=1s,2s,4s",
                 "--vary", "client.web.retry.max_attempts=1,4", "--out", "sweep")
        self.run("tip", "outage.toml", "--trigger", "client.web.arrivals.total_rate=20:400",
                 "--tolerance", "0.2", "--set", "duration=40s", "--out", "tip", status=(0, 1))
        (self.folder / "zombie.toml").write_text(ZOMBIE)
        self.run("tip", "zombie.toml", "--trigger", "fault.outage.duration=0.05s:3s",
                 "--tolerance", "0.3", "--vary", "client.web.arrivals.total_rate=10,20", "--vary",
                 "client.web.retry.max_attempts=1,3", "--out", "curve")
        self.run("tip", "outage.toml", "--hysteresis", "client.web.arrivals.total_rate=40:160:40",
                 "--dwell", "4s", "--out", "hysteresis", status=(0, 1))
        (self.folder / "limits.toml").write_text(LIMITS)
        self.run("run", "limits.toml", "--out", "limits")
        self.run("choose", "outage.toml", "--vary", "client.web.retry.max_attempts=1,3",
                 "--maximize", "success_rate", "--out", "choose")
        self.run("advise", "zombie.toml", "--set", "replications=10", "--out", "advise")
        self.run("map", "zombie.toml", "--vary", "fault.outage.duration=1s,2s",
                 "--vary", "client.web.arrivals.total_rate=10,200", "--out", "map")
        self.run("sweep", "outage.toml", "--vary", "service.api.servers=2,4", "--out", "servers")
        self.run("predict", "zombie.toml", "--out", "predict", quiet=())
        # A key without effect is noted when the scenario is read; the notes of each result.
        self.notes = {}
        for name, command in {
                "noted-run": ("run",), "noted-predict": ("predict",),
                "noted-compare": ("compare", "--vary", "client.web.retry.max_attempts=3,4"),
                "noted-tip": ("tip", "--trigger", "fault.down.duration=1s:2s",
                              "--tolerance", "0.5"),
                "noted-choose": ("choose", "--vary", "client.web.retry.max_attempts=1,3",
                                 "--minimize", "success_rate"),
                "noted-map": ("map", "--vary", "client.web.arrivals.total_rate=10,200",
                              "--vary", "fault.down.duration=1s,2s", "--service", "api")}.items():
            printed = self.run(command[0], "outage.toml", *command[1:], "--set",
                               "client.batch.retry.max_attempts=3", "--out", name, status=(0, 1),
                               quiet=() if command[0] == "predict" else ("--quiet",))
            self.notes[name] = [line[len("note: "):] for line in printed.splitlines()
                                if line.startswith("note: ")]
        for name in ("run", "compare", "sweep", "tip", "curve", "hysteresis", "limits", "choose",
                     "advise", "map", "servers", "predict", *self.notes):
            self.report(name, name)
        self.report("two", "run", "once")

    def run(self, *arguments, status=(0,), quiet=("--quiet",)):
        """What it prints to standard error."""
        done = subprocess.run([PROGRAM, *arguments, *quiet], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        assert done.returncode in status, done.stderr
        return done.stderr

    def report(self, page, *results):
        self.run("report", *results, "--out", f"{page}.html")

    def path(self, page):
        return self.folder / f"{page}.html"

    def summary(self, result, variant, client, metric):
        with open(self.folder / result / "summary.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if (row["variant"], row["client"], row["metric"]) == (variant, client, metric):
                    return float(row["mean"])
        raise KeyError(metric)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="retrysim-report-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.pages = Pages(cls.temporary.name)
        cls.browser = cls.enterClassContext(Browser(find_chromium()))

    def open(self, page, width=1280):
        self.browser.problems.clear()
        self.browser.resize(width, 900)
        self.browser.open(self.pages.path(page).as_uri())

    def texts(self, selector):
        return self.browser.run(f"[...document.querySelectorAll({selector!r})]"
                                ".map(e => e.textContent)")

    def count(self, selector):
        return self.browser.run(f"document.querySelectorAll({selector!r}).length")

    def slide(self, number, value):
        self.browser.run("(slider => {"
                         f"slider.value = {value}; slider.dispatchEvent(new Event('input'));"
                         f"}})(document.querySelectorAll('.slider input')[{number}])")
        self.browser.settle()

    def test_pages_are_whole(self):
        """No errors, every picture has something in it, small enough to share."""
        titles = {
            "run": ["Who calls whom", "What happens when", "Load of api", "Load of other",
                    "Goodput: requests that succeed", "Success rate of the requests that end",
                    "Amplification: attempts per request", "Latency", "Queues", "Retries",
                    "Waiting to retry (in backoff)", "Attempts that failed, by reason"],
            "compare": ["Load of api", "Latency", "Queue of api", "Retries"],
            "sweep": ["Load of api", "success rate", "Latency", "Queues"],
            "tip": ["Who calls whom", "Where does it tip?"],
            "curve": ["Who calls whom", "Tipping point of fault.outage.duration"],
            "hysteresis": ["Who calls whom", "Does it go back the way it came?"],
            "two": ["Load of api", "Latency"],
        }
        for page, expected in titles.items():
            with self.subTest(page):
                self.open(page)
                found = self.browser.run("[...document.querySelectorAll('figure')].map("
                                         "f => f.dataset.title)")
                for title in expected:
                    self.assertIn(title, found)
                empty = self.browser.run(
                    "[...document.querySelectorAll('figure')].filter(f => !f.querySelector("
                    "'path[d], circle, polygon, rect.fault, td')).map(f => f.dataset.title)")
                self.assertEqual(empty, [])
                self.assertEqual(self.browser.problems, [])
                self.assertLess(self.pages.path(page).stat().st_size, 3 * MEGABYTE)

    def test_the_answer_is_on_the_first_screen(self):
        for page in ("run", "compare", "sweep", "tip", "curve", "hysteresis", "choose", "advise",
                     "map"):
            with self.subTest(page):
                self.open(page)
                bottom = self.browser.run(
                    "document.querySelector('#answer .verdict').getBoundingClientRect().bottom")
                self.assertLess(bottom, 450)
                self.assertTrue(self.texts("#answer .verdict")[0].strip())

    def test_no_cause_is_said_twice_and_boxes_are_whole(self):
        self.open("run")
        said = self.texts("#answer .verdict")
        self.assertEqual(len(said), len(set(said)), said)
        # Two groups with one answer share a paragraph; all other paragraphs name another group.
        names = [name.strip() for text in self.texts("#answer .verdict b")
                 for name in text.rstrip(": ").split(",")]
        self.assertIn("web", names)
        lines = [line for line in self.texts("svg text")
                 if line.startswith("retries") or "requests/s" in line]
        self.assertTrue(lines)
        self.assertFalse([line for line in lines if line.endswith("…")], lines)

    def test_what_a_scenario_limits_is_on_the_page(self):
        self.open("limits")
        lines = self.texts("svg .box text:not(.name)")
        self.assertEqual(lines.count("throttle 50 /s"), 3, lines)
        self.assertEqual(lines.count("throttle of put: 1200 per 2 s"), 3, lines)
        self.assertEqual(sum("20 requests/s" in line for line in lines), 3, lines)
        self.assertTrue(any("3 faults (3 services): answers errors only" in text
                            for text in self.texts("#scenario svg .what")))
        self.assertIn("3 faults success", self.texts("#phases thead th"))
        self.assertNotIn("surges", " ".join(self.texts("#phases, #time")))

    def test_there_is_no_picture_of_a_queue_that_cannot_form(self):
        titles = "[...document.querySelectorAll('#time figure')].map(f => f.dataset.title)"
        self.open("limits")
        self.assertNotIn("Queues", self.browser.run(titles))
        self.open("run")
        self.assertIn("Queues", self.browser.run(titles))

    def test_lines_at_100_percent_are_drawn_whole(self):
        self.open("limits")
        above = self.browser.run("""(() => {
            const figure = [...document.querySelectorAll('#time figure')]
                .find(f => f.dataset.title.startsWith('Success rate'));
            const clip = figure.querySelector('clipPath rect');
            const ys = [...figure.querySelectorAll('path.line')].flatMap(line =>
                [...line.getAttribute('d').matchAll(/[ML][\\d.]+ ([\\d.]+)/g)].map(m => +m[1]));
            return Math.min(...ys) - clip.getAttribute('y');
        })()""")
        self.assertGreater(above, 1)  # lines are 1.8 wide

    def test_intervals_have_two_ends(self):
        for page in ("run", "compare", "limits"):
            self.open(page)
            for text in self.texts(".interval"):
                ends = text.rsplit(" ", 1)[0].split(" to ") if " to " in text else ()
                self.assertEqual(len(ends), len(set(ends)), text)

    def test_a_choice_names_the_best_policy_and_why_the_others_left(self):
        with open(self.pages.folder / "choose" / "choose.csv", encoding="utf-8") as file:
            rows = {row["variant"]: row["outcome"] for row in csv.DictReader(file)}
        best = next(name for name, outcome in rows.items() if outcome == "chosen")
        self.open("choose")
        self.assertIn(f"{best} has the highest success rate", self.texts("#answer .verdict")[0])
        self.assertEqual(self.texts("#range tbody td:first-child"), list(rows))
        self.assertEqual(self.browser.problems, [])

    def test_advice_ranks_the_remedies_and_names_those_not_tried(self):
        with open(self.pages.folder / "advise" / "advice.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        tried = [row["remedy"] for row in rows if row["state"] in ("", "tried")]
        others = [f"{row['remedy']}: {row['reason']}" for row in rows
                  if row["state"] not in ("", "tried")]
        self.open("advise")
        self.assertIn("Most help comes from", self.texts("#answer .verdict")[0])
        self.assertEqual(self.texts("#range tbody td:first-child"), tried)
        self.assertEqual(self.texts("#range details li"), others)
        effects = dict(zip(tried, self.texts("#range tbody td:nth-child(2)")))
        self.assertEqual(effects["as-it-stands"], "")
        self.assertEqual(effects[tried[1]], "helps")
        self.assertEqual(self.browser.problems, [])

    def test_a_map_shows_the_phase_of_every_point(self):
        with open(self.pages.folder / "map" / "map.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.open("map")
        shown = self.texts("#range table.heat td")
        self.assertEqual(sorted(shown), sorted(row["phase"] for row in rows))
        # From the upper left to the lower right: the second key falls, the first one rises.
        self.assertEqual(shown[0], next(row["phase"] for row in rows
                                        if (row["duration"], row["total_rate"]) == ("1s", "200")))
        self.assertGreater(len(set(shown)), 1)
        self.assertEqual(self.browser.problems, [])

    def test_a_prediction_says_all_that_the_program_prints(self):
        with open(self.pages.folder / "predict" / "prediction.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.open("predict")
        figures = [row for row in rows if row["name"] not in (
            "warning", "doubt", "does_not_apply", "not_modelled")]
        unmodelled = [row for row in rows if row["name"] == "not_modelled"]
        self.assertGreater(len(unmodelled), 0)
        shown = self.texts("#prediction tbody td:nth-child(2)")
        self.assertEqual(shown, [row["name"] for row in figures] +
                         [row["subject"].replace(" ", ", ") for row in unmodelled])
        remarks = [row["meaning"] for row in rows if row["name"] in ("doubt", "does_not_apply")]
        self.assertEqual([text.split(": ", 1)[1] for text in self.texts("#prediction li")], [
            row["meaning"] for name in ("does_not_apply", "doubt") for row in rows
            if row["name"] == name])
        self.assertGreater(len(remarks), 0)
        self.assertEqual(len(self.texts("#answer .verdict")),
                         max(1, sum(row["name"] == "phase" for row in rows))
                         + sum(row["name"] == "warning" for row in rows))
        self.assertIn("nothing was simulated", self.texts("header .facts")[0])
        self.assertEqual(self.browser.problems, [])

    def test_notes_on_the_scenario_are_those_of_the_terminal(self):
        for name, notes in self.pages.notes.items():
            with self.subTest(name):
                self.assertGreater(len(notes), 0)
                self.open(name)
                self.assertEqual(sorted(self.texts("#answer details.of-scenario li")),
                                 sorted(set(notes)))
                self.assertEqual(self.browser.problems, [])

    def test_a_sweep_of_servers_shows_the_capacity_of_each_point(self):
        self.open("servers")
        boxes = lambda: " ".join(self.texts("#scenario svg text"))  # noqa: E731
        self.assertIn("capacity 100 /s", boxes())
        self.slide(0, 1)
        self.assertIn("4 servers", boxes())
        self.assertIn("capacity 200 /s", boxes())

    def test_texts_of_users_are_texts(self):
        self.open("run")
        self.assertEqual(self.texts("p.question"), [HOSTILE])
        self.assertEqual(self.count("img"), 0)
        self.assertEqual(self.count("main b"), self.count("main figcaption b, main .verdict b"))

    def test_the_figures_are_those_of_the_files(self):
        self.open("run")
        shown = self.texts("#answer .headlines tbody tr td:nth-child(2)")
        for client, text in zip(("web", "batch", "all"), shown):
            value = 100 * self.pages.summary("run", "base", client, "success_rate")
            self.assertAlmostEqual(float(re.match(r"[\d.]+", text).group()), value, delta=0.06)

    def test_sliders_move_everything(self):
        self.open("sweep")
        self.assertEqual(self.count(".slider input"), 2)
        state = lambda: (self.texts("#answer .headlines tbody tr")[0],  # noqa: E731
                         self.texts("#phases table")[0],
                         # Of the first chart: requests, attempts, goodput.
                         self.browser.run("document.querySelectorAll('#time path.line')[2]"
                                          ".getAttribute('d')"),
                         self.texts("#scenario svg title")[-1])
        before = state()
        self.slide(0, 2)
        after = state()
        for what, one, other in zip(("figures", "phases", "line", "fault"), before, after):
            self.assertNotEqual(one, other, what)
        self.slide(1, 1)
        self.assertEqual(self.texts(".slider output"), ["4s", "4"])
        value = 100 * self.pages.summary("sweep", "duration=4s max_attempts=4", "web",
                                         "success_rate")
        text = self.texts("#answer .headlines tbody tr td:nth-child(2)")[0]
        self.assertAlmostEqual(float(re.match(r"[\d.]+", text).group()), value, delta=0.06)
        self.slide(0, 0)
        self.slide(1, 0)
        self.assertEqual(state(), before)
        self.assertEqual(self.browser.problems, [])

    def test_the_verdict_is_that_of_the_point(self):
        with open(self.pages.folder / "sweep" / "verdicts.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.open("sweep")
        seen = set()
        for s, duration in enumerate(("1s", "2s", "4s")):
            for k, attempts in enumerate(("1", "4")):
                self.slide(0, s)
                self.slide(1, k)
                name = f"duration={duration} max_attempts={attempts}"
                for client in ("web", "batch"):
                    sentence = next(row["sentence"] for row in rows
                                    if (row["variant"], row["client"]) == (name, client))
                    # Causes of all groups have no names before them.
                    said = [text.lstrip("✓✗•").partition(": ")[::2]
                            for text in self.texts("#answer .verdict")]
                    self.assertTrue(any(client in names.split(", ") and text == sentence + "."
                                        for names, text in said), said)
                    seen.add(sentence)
        self.assertGreater(len(seen), 2)  # they are not all the same
        # A point of a sweep is judged as a run of it is.
        self.pages.run("run", "outage.toml", "--set", "fault.down.duration=4s", "--set",
                       "client.web.retry.max_attempts=4", "--out", "alone")
        alone = json.loads((self.pages.folder / "alone" / "result.json").read_text())["verdicts"]
        self.assertEqual([(v["client"], v["rule"], v["sentence"]) for v in alone],
                         [(row["client"], row["rule"], row["sentence"]) for row in rows
                          if row["variant"] == "duration=4s max_attempts=4"])

    def test_a_tipping_curve_has_a_line_for_each_policy(self):
        with open(self.pages.folder / "curve" / "curve.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 4)
        self.open("curve")
        found = sum(row["outcome"] == "found" for row in rows)
        others = sum(row["outcome"] in ("recovers_at_last_value", "tips_at_first_value")
                     for row in rows)
        self.assertGreater(found, 0)
        self.assertEqual(self.count("#range svg circle[r='3.8']"), found)
        self.assertEqual(self.count("#range svg[role] circle[r='6.5']"), others)
        self.assertEqual(self.count("#range tbody tr"), len(rows))
        text = " ".join(self.texts("#answer .verdict"))
        self.assertIn("max_attempts=3", text)
        self.assertEqual(self.texts("#reproduce pre")[0],
                         "retrysim tip scenario.toml --trigger "
                         "fault.outage.duration=0.05s:3s "
                         "--vary client.web.arrivals.total_rate=10,20 "
                         "--vary client.web.retry.max_attempts=1,3 --tolerance 0.3")

    def test_a_click_chooses_a_point(self):
        self.open("sweep")
        self.browser.run("document.querySelectorAll('table.heat td')[5].click()")
        self.assertEqual(self.texts(".slider output"), ["4s", "4"])
        self.browser.run("document.querySelector('#points tbody tr').click()")
        self.assertEqual(self.texts(".slider output"), ["1s", "1"])

    def test_phones(self):
        for page in ("run", "compare", "sweep", "tip", "curve", "hysteresis", "two", "limits",
                     "choose", "advise", "map"):
            with self.subTest(page):
                self.open(page, width=360)
                boxes = self.texts("svg .box text:not(.name), svg .what")
                self.assertEqual([line for line in boxes if line.endswith("…")], [])
                self.assertLessEqual(
                    self.browser.run("document.documentElement.scrollWidth"), 360)
                self.assertEqual(self.browser.problems, [])

    def test_print(self):
        for page in ("run", "sweep", "compare"):
            with self.subTest(page):
                self.open(page)
                pdf = self.browser.pdf()
                self.assertTrue(pdf.startswith(b"%PDF"))
                boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
                self.assertTrue(boxes)
                for width, height in boxes:  # A4 in points
                    self.assertAlmostEqual(float(width), 595.3, delta=1)
                    self.assertAlmostEqual(float(height), 841.9, delta=1)
                self.assertEqual(self.browser.problems, [])

    def test_zoom_and_pointer(self):
        self.open("run")
        labels = lambda: self.texts("#time figure:first-child .axes text")  # noqa: E731
        self.browser.run("document.querySelector('#time svg[role]').scrollIntoView()")
        box = self.browser.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector("
                               "'#time svg[role]').getBoundingClientRect())")
        whole, middle = labels(), box[1] + box[3] / 2
        self.browser.move(box[0] + box[2] / 2, middle)
        self.assertRegex(self.texts("#time .readout")[0], r"\d")
        self.browser.drag(box[0] + box[2] * 0.4, middle, box[0] + box[2] * 0.6)
        self.assertNotEqual(labels(), whole)
        self.browser.run("document.querySelector('.unzoom').click()")
        self.browser.settle()
        self.assertEqual(labels(), whole)

    def test_tables_sort(self):
        self.open("run")
        self.browser.run("document.querySelector('#metrics').open = true")
        names = self.texts("#metrics tbody td:first-child")
        self.browser.run("document.querySelector('#metrics thead button').click()")
        self.assertEqual(self.texts("#metrics tbody td:first-child"), sorted(names))

    def test_side_by_side_has_one_scale(self):
        self.open("two")
        self.assertEqual(self.count("h1"), 2)
        for n in range(3):  # of the first pictures
            scales = self.browser.run(
                "[...document.querySelectorAll('#time .cell')].map(c => "
                f"[...c.querySelectorAll('figure')[{n}].querySelectorAll('.axes text')]"
                ".map(t => t.textContent).join(' '))")
            self.assertEqual(scales[0], scales[1])

    def test_the_command_repeats_the_result(self):
        self.open("sweep")
        command = self.texts("#reproduce pre")[0]
        self.assertEqual(command, "retrysim sweep scenario.toml "
                                  "--vary fault.down.duration=1s,2s,4s "
                                  "--vary client.web.retry.max_attempts=1,4")
        self.open("run")
        toml = self.texts("#reproduce pre.toml")[0]
        self.assertEqual(toml, (self.pages.folder / "run" / "scenario.toml").read_text())

    def test_nothing_comes_from_outside(self):
        self.open("run")
        policy = self.browser.run(
            "document.querySelector('meta[http-equiv]').getAttribute('content')")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        refused = self.browser.run("fetch('http://127.0.0.1:9/').then(() => false, () => true)")
        self.assertTrue(refused)
        added = self.browser.run("(() => { const s = document.createElement('script');"
                                 "s.textContent = 'window.added = 1'; document.body.append(s);"
                                 "return window.added === undefined; })()")
        self.assertTrue(added)

    def test_a_sweep_of_a_hundred_points_can_be_shared(self):
        self.pages.run("sweep", "outage.toml", "--vary", "fault.down.duration=1s:5s:1s",
                       "--vary", "client.web.retry.max_attempts=1:20:1", "--set", "replications=2",
                       "--out", "large")
        self.pages.report("large", "large")
        self.assertLess(self.pages.path("large").stat().st_size, 6 * MEGABYTE)


def main():
    global PROGRAM
    if "--program" in sys.argv:
        at = sys.argv.index("--program")
        PROGRAM = str(pathlib.Path(sys.argv[at + 1]).resolve())
        del sys.argv[at:at + 2]
    if find_chromium() is None:
        print("report_page_test: there is no Chromium; skipped")
        return 77
    unittest.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
