#!/usr/bin/python3
"""Tests of the pages that `retrysim report` writes, in a headless Chromium.

Usage: report_page_test.py --program RETRYSIM [--all]. Exit status 77 if there is no Chromium.
With --all, what must hold on every kind of page is looked at on each of them.

SPDX-License-Identifier: MIT
"""

import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

ALL = False
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
# Faults that begin and end within a bin: two at once, one of them to the end of the run; one of the
# network only; one of a service whose servers follow its load.
STEPS = """
name = "steps"
duration = "24s"
interval = "400ms"
replications = 2
[service.api]
servers = 4
service_time = "20ms"
[service.scaled]
servers = 4
service_time = "20ms"
autoscaling = { target = 0.5, max = 9, interval = "2s", delay = "0.6s", cooldown = "1s" }
[fault.half]
service = "api"
start = "6.3s"
duration = "2.35s"
capacity = 0.5
[fault.slow]
service = "api"
start = "7.15s"
duration = "60s"
speed = 0.5
[fault.lossy]
service = "api"
start = "3.1s"
duration = "1s"
request_loss = 0.2
[fault.fewer]
service = "scaled"
start = "14.1s"
duration = "2.5s"
capacity = 0.5
""" + "".join(f"""
[client.{name}]
calls = "{name}"
arrivals = {{ process = "poisson", total_rate = {rate} }}
attempt_timeout = "1s"
retry = {{ mode = "none" }}
""" for name, rate in (("api", 40), ("scaled", 300)))
# The database fails, and everybody above it with it.
GRAPH = """
name = "graph"
duration = "24s"
replications = 2
[fault.errors]
service = "db"
start = "8s"
duration = "6s"
errors.unavailable = 0.9
[client.web]
calls = "front"
arrivals = { process = "poisson", total_rate = 40 }
attempt_timeout = "1s"
retry = { mode = "standard", max_attempts = 2 }
""" + "".join(f"""
[service.{name}]
servers = 8
service_time = "5ms"
{calls}""" for name, calls in (("front", 'calls.back.retry.mode = "none"'),
                               ("back", 'calls.db.retry.mode = "none"'), ("db", "")))
# Services of very different loads: two and two have about the same.
APART = "name = 'apart'\nduration = '12s'\nreplications = 2\n" + "".join(f"""
[service.{name}]
servers = {2 * rate // 20}
service_time = "50ms"
[client.{name}]
calls = "{name}"
arrivals = {{ process = "constant", total_rate = {rate} }}
retry = {{ mode = "none" }}
""" for name, rate in (("big", 1000), ("small", 20), ("large", 600), ("tiny", 10)))
# More groups than lines can be told apart.
GROUPS = """
name = "groups"
duration = "12s"
replications = 2
[service.api]
servers = 8
service_time = "20ms"
[fault.outage]
start = "4s"
duration = "2s"
capacity = 0
""" + "".join(f"""
[client.team-{i}]
calls = "api"
attempt_timeout = "{100 + 50 * i}ms"
arrivals = {{ process = "poisson", total_rate = {10 + 2 * i} }}
retry = {{ mode = "standard" }}
""" for i in range(12))
# What is too faint to see: texts and lines with too little contrast.
FAINT = """(() => {
    const parts = colour => {
        const found = colour.match(/[\\d.]+/g).map(Number);
        return [...found.slice(0, 3), found.length > 3 ? found[3] : 1];
    };
    const over = ([r, g, b, a], ground) => [r, g, b].map((x, i) => a * x + (1 - a) * ground[i]);
    const groundOf = element => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) {
            const box = e.matches('.box text, .box line') ? e.closest('.box').firstChild : null;
            const style = getComputedStyle(box || e);
            layers.push(parts(box ? style.fill : style.backgroundColor));
        }
        return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255]);
    };
    const light = colour => colour.map(x => x / 255).map(x =>
        x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (colour, ground) => {
        const [a, b] = [light(over(parts(colour), ground)), light(ground)].sort((p, q) => q - p);
        return (a + 0.05) / (b + 0.05);
    };
    const found = new Set();
    const judge = (colour, element, least, what) => {
        const ratio = contrast(colour, groundOf(element));
        if (ratio < least) found.add(`${what} ${colour} ${ratio.toFixed(2)}`);
    };
    const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    let texts = 0, lines = 0;
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        const style = getComputedStyle(element), drawn = element.ownerSVGElement;
        judge(drawn ? style.fill : style.color, element, 4.5, walker.currentNode.data.slice(0, 20));
        ++texts;
    }
    for (const line of document.querySelectorAll(
            'path.line, .arrow path, .whisker, .axis, .sample line')) {
        judge(getComputedStyle(line).stroke, line, 3, line.getAttribute('class') || 'sample');
        ++lines;
    }
    if (texts < 20 || lines < 1) found.add('nothing was judged');
    return [...found];
})()"""
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
        self.run("size", "service.api.servers=1:8", "outage.toml", "--share", "0.5",
                 "--confidence", "0.6", "--out", "size", status=(0, 1))
        (self.folder / "limits.toml").write_text(LIMITS)
        self.run("run", "limits.toml", "--out", "limits")
        (self.folder / "apart.toml").write_text(APART)
        self.run("run", "apart.toml", "--out", "apart")
        self.run("choose", "outage.toml", "--vary", "client.web.retry.max_attempts=1,3",
                 "--maximize", "success_rate", "--out", "choose")
        self.run("advise", "zombie.toml", "--set", "replications=10",
                 "--set", "client.*.arrivals.total_rate=60", "--out", "advise")
        self.run("map", "zombie.toml", "--vary", "fault.outage.duration=1s,2s",
                 "--vary", "client.web.arrivals.total_rate=10,200", "--out", "map")
        self.run("sweep", "outage.toml", "--vary", "service.api.servers=2,4", "--out", "servers")
        self.run("predict", "zombie.toml", "--out", "predict", quiet=())
        (self.folder / "steps.toml").write_text(STEPS)
        self.run("run", "steps.toml", "--out", "steps")
        (self.folder / "graph.toml").write_text(GRAPH)
        self.run("run", "graph.toml", "--out", "graph")
        for name in ("steps", "graph"):
            self.report(name, name)
        # A verdict that names another service.
        page = self.path("graph").read_text(encoding="utf-8")
        assert '"culprits":["db"]' in page
        self.path("blamed").write_text(page.replace('"culprits":["db"]', '"culprits":["back"]'),
                                       encoding="utf-8")
        (self.folder / "groups.toml").write_text(GROUPS)
        self.run("run", "groups.toml", "--out", "groups")
        self.run("run", "outage.toml", "--set", "duration=240s", "--set", "fault.down.start=180s",
                 "--set", "replications=1", "--access-log", "log.csv", "--out", "logged")
        self.run("fit", "log.csv", "--service", "api", "--out", "fit")
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
                                if line.startswith("note: ")
                                and not line.startswith("note: runs of ")]  # of the search
        for name in ("run", "compare", "sweep", "tip", "curve", "hysteresis", "limits", "apart",
                     "choose", "once", "advise", "map", "servers", "predict", "groups", "fit",
                     "size", *self.notes):
            self.report(name, name)
        (self.folder / "calm.toml").write_text(re.sub(r"\[fault.outage\].*?(?=\[)", "", ZOMBIE,
                                                      flags=re.DOTALL))
        self.run("run", "calm.toml", "--out", "calm")
        self.run("run", "zombie.toml", "--set", "duration=240s", "--set", "replications=2",
                 "--out", "long")
        self.run("compare", "zombie.toml", "--vary", "client.web.retry.max_attempts=1,3",
                 "--set", 'slo.good={share=0.99,latency="500ms"}', "--out", "budgets")
        for name in ("calm", "long", "budgets"):
            self.report(name, name)
        self.report("two", "run", "once")

    def run(self, *arguments, status=(0,), quiet=("--quiet",)):
        """What it prints to standard error."""
        done = subprocess.run([PROGRAM, *arguments, *quiet], cwd=self.folder,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "RETRYSIM_NO_REUSE": "1"})
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


def some(pages):
    """The pages that a test looks at: the first, or all."""
    return pages if ALL else pages[:1]


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="retrysim-report-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.pages = Pages(cls.temporary.name)
        cls.browser = cls.enterClassContext(Browser(find_chromium()))

    def open(self, page, width=1280, height=900, folded=False, scheme="light"):
        self.browser.problems.clear()
        self.browser.resize(width, height, scheme)
        self.browser.open(self.pages.path(page).as_uri())
        if not folded:
            self.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            self.browser.settle()

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
            "compare": ["Attempts that the clients send", "Requests that succeed", "Load of api",
                        "Latency", "Queue of api", "Retries"],
            "sweep": ["Load of api", "Success rate", "Latency", "Queues"],
            "tip": ["Who calls whom", "Where does it tip?"],
            "curve": ["Who calls whom", "Tipping point: half do not recover"],
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
                    "'path[d], circle, polygon, rect.fault, rect[fill], td'))"
                    ".map(f => f.dataset.title)")
                self.assertEqual(empty, [])
                self.assertEqual(self.browser.problems, [])
                self.assertLess(self.pages.path(page).stat().st_size, 3 * MEGABYTE)

    def test_the_answer_and_its_picture_are_on_the_first_screen(self):
        """One sentence, and under it attempts and successes, or what stands for them."""
        pages = {".picture figure": ("run", "compare", "calm", "two", "sweep", "limits"),
                 "#range .drawing": ("tip", "curve", "hysteresis", "map"),
                 "#range table": ("choose",)}
        for page, picture in ((page, picture) for picture, shown in pages.items()
                              for page in some(shown)):
            for width, height in ((1280, 800), (390, 844)):
                if (page, width) == ("two", 390):
                    continue  # one below the other
                with self.subTest(page, width=width):
                    self.open(page, width, height, folded=True)
                    self.assertEqual(self.count("#answer .verdict"), 2 if page == "two" else 1)
                    bottoms = self.browser.run(
                        f"['#answer .verdict', {picture!r}].map(s => Math.max(...[...document"
                        ".querySelectorAll(s)].map(e => e.getBoundingClientRect().bottom)))")
                    self.assertLess(bottoms[0], bottoms[1])
                    self.assertLessEqual(bottoms[1], height)
                    self.assertGreater(self.browser.run(
                        f"document.querySelector({picture!r}).getBoundingClientRect().height"), 80)

    def test_lines_of_the_picture_have_their_names_beside_them(self):
        for page, names in {"run": {"web", "batch"}, "compare": {"1", "3, 5"},
                            "calm": {"attempts", "successes"}}.items():
            with self.subTest(page):
                self.open(page, folded=True)
                words = " ".join(self.texts(".picture .at-line"))
                for name in names:
                    self.assertIn(name, words)
                found = self.browser.run("""(() => {
                    const boxes = [...document.querySelectorAll('.picture .drawing')].map(d =>
                        [...d.querySelectorAll('.at-line')].map(t => t.getBoundingClientRect()));
                    return boxes.flatMap(all => all.flatMap((a, i) => all.slice(i + 1).filter(b =>
                        a.left < b.right && b.left < a.right && a.top + 3 < b.bottom &&
                        b.top + 3 < a.bottom))).length; })()""")
                self.assertEqual(found, 0)
        self.open("run", folded=True)
        self.assertIn("back at once", " ".join(self.texts(".picture .at-line")))

    def test_the_answer_says_first_what_users_lost(self):
        """As the verdict and the pictures of plot.py do."""
        evidence = {}
        for name in ("run", "sweep"):
            with open(self.pages.folder / name / "result.json", encoding="utf-8") as file:
                evidence[name] = json.load(file).get("verdicts", [])
        lost = next(row for row in evidence["run"] if row["client"] == "web")["evidence"]
        share = 100 * lost["success_during_share"]
        self.open("run", folded=True)
        said, = self.texts("#answer .verdict")
        found = re.search(r"web: ([\d.]+) % succeed during the fault, back ", said)
        self.assertIsNotNone(found, said)
        self.assertAlmostEqual(float(found[1]), share, delta=0.06 * share + 0.06)
        self.assertIn("batch: all is well", said)  # the fault is elsewhere
        for page in ("sweep", "compare", "groups"):
            self.open(page, folded=True)
            said = " ".join(self.texts("#answer .verdict"))
            if "back" in said:
                self.assertRegex(said, r"% succeed during the fault, (not |never )?back|"
                                       r"no request succeeds\) and is not back")
            self.assertNotRegex(said, "undefined|NaN|#")

    def test_a_graph_leads_with_its_drawing_and_the_culprit(self):
        bad = "getComputedStyle(document.documentElement).getPropertyValue('--bad').trim()"
        for page, culprit in {"graph": ["db"], "blamed": ["back"], "run": []}.items():
            with self.subTest(page):
                self.open(page, folded=culprit != [])
                self.assertEqual(self.texts("#graph .box.culprit .name"), culprit)
                self.assertEqual(self.texts(".now .box.culprit .name"), culprit)
                words = "".join(self.texts("#graph .box.culprit text:not(.name)"))
                self.assertEqual("the cause" in words.replace("\u00a0", " "), bool(culprit))
                ids = self.browser.run("[...document.querySelectorAll('#page > [id]')]"
                                       ".map(e => e.id)")
                self.assertEqual(ids[:2] == ["answer", "graph"], bool(culprit), ids)
                if culprit:
                    colours = self.browser.run(f"""(() => {{
                        const rect = document.querySelector('.box.culprit rect');
                        const other = document.createElement('i');
                        other.style.color = {bad};
                        document.body.append(other);
                        return [getComputedStyle(rect).stroke, getComputedStyle(other).color];
                    }})()""")
                    self.assertEqual(colours[0], colours[1])
                    self.assertIn(f"{culprit[0]} is the cause", self.browser.run(
                        "document.querySelector('#graph .drawing svg').getAttribute('aria-label')"))
                self.assertEqual(self.browser.problems, [])

    def test_the_picture_is_of_the_time_around_the_disturbance(self):
        self.open("long", folded=True)
        times = [float(text) for text in self.texts(".picture figure:first-child .axes text")
                 if re.fullmatch(r"[\d.]+", text)]
        self.assertNotIn(200, times)  # of 240 s; the fault ends at 9 s
        self.open("calm", folded=True)
        shown = self.browser.run("document.querySelectorAll('.picture rect.fault').length")
        self.assertEqual(shown, 0)

    # Scales of a chart `drawing`, as its axes have them: from pixels to values, and back.
    SCALES = """const scale = (lines, side) => {
            const [[p, a], [q, b]] = [lines[0], lines[lines.length - 1]].map(line =>
                [+line.getAttribute(side), parseFloat(line.nextElementSibling.textContent)]);
            return { of: pixel => a + (pixel - p) / (q - p) * (b - a),
                     at: value => p + (value - a) / (b - a) * (q - p) };
        }, x = scale([...drawing.querySelectorAll('.axes line.tick')], 'x1'),
        y = scale([...drawing.querySelectorAll('.axes line.grid')], 'y1');"""

    def in_chart(self, title, code):
        """The value of code that has the `drawing` of a chart and its scales."""
        return self.browser.run(
            f"(() => {{ const drawing = document.querySelector("
            f"'figure[data-title={json.dumps(title)}] .drawing'); {self.SCALES} {code} }})()")

    def capacity(self, title):
        """The corners of the line of the capacity in a chart, as (time, attempts per second)."""
        return [tuple(corner) for corner in self.in_chart(title, """
            const path = drawing.querySelector('path.line.ink').getAttribute('d');
            return [...path.matchAll(/[ML]([\\d.]+) ([\\d.]+)/g)].map(m =>
                [x.of(+m[1]), y.of(+m[2])]);
            """)]

    def pointed_at(self, title, time):
        """What stands beside the pointer at a time of a chart."""
        return self.in_chart(title, f"""
            const box = drawing.firstChild.getBoundingClientRect();
            const wide = box.width / +drawing.firstChild.getAttribute('viewBox').split(' ')[2];
            drawing.firstChild.dispatchEvent(new PointerEvent('pointermove',
                {{ clientX: box.left + wide * x.at({time}), clientY: box.top + 50 }}));
            return drawing.closest('figure').querySelector('.tip').textContent;""")

    def test_capacity_steps_at_the_exact_moment_to_the_exact_level(self):
        self.open("steps")
        corners = self.capacity("Load of api")
        expected = [(0, 200), (6.3, 200), (6.3, 100), (7.15, 100), (7.15, 50), (8.65, 50),
                    (8.65, 100)]
        self.assertEqual(len(corners), len(expected) + 1, corners)
        for (time, rate), (when, level) in zip(corners, expected):
            self.assertAlmostEqual(time, when, delta=0.05)  # of a pixel and its rounding
            self.assertAlmostEqual(rate, level, delta=2)
        self.assertGreaterEqual(corners[-1][0], 24)  # the second fault goes on
        self.assertAlmostEqual(corners[-1][1], 100, delta=2)
        self.assertIn("capacity from 50 /s to 200 /s", self.in_chart(
            "Load of api", "return drawing.firstChild.getAttribute('aria-label');"))
        self.assertIn("capacity: 100 /s", self.pointed_at("Load of api", 7.0))
        self.assertIn("capacity: 50 /s", self.pointed_at("Load of api", 7.3))
        # Servers come one after the other, and half of them go for a while.
        corners = self.capacity("Load of scaled")
        self.assertGreater(len({round(rate) for time, rate in corners if time < 14}), 1)
        for moment, drops in ((14.1, True), (16.6, False)):
            before, after = [rate for time, rate in corners if abs(time - moment) < 0.05]
            self.assertEqual(before > after, drops)
            self.assertAlmostEqual(min(before, after) / max(before, after), 0.5, delta=0.08)

    def test_what_is_folded_is_drawn_when_it_is_opened(self):
        self.open("run", folded=True)
        self.assertEqual(self.count("#latency figure"), 0)
        self.browser.run("document.querySelector('#latency summary').click()")
        self.browser.settle()
        self.assertGreater(self.count("#latency figure path.line"), 0)

    def test_no_cause_is_said_twice_and_boxes_are_whole(self):
        self.open("run")
        said = self.texts("#causes .verdict")
        self.assertEqual(len(said), len(set(said)), said)
        # Two groups with one answer share a paragraph; all other paragraphs name another group.
        names = [name.strip() for text in self.texts("#causes .verdict b")
                 for name in text.rstrip(": ").split(",")]
        self.assertIn("web", names)
        lines = [line for line in self.texts("svg text")
                 if "retries:" in line or "requests/s" in line]
        self.assertTrue(lines)
        self.assertFalse([line for line in lines if line.endswith("…")], lines)

    def test_what_a_scenario_limits_is_on_the_page(self):
        self.open("limits")
        words = " ".join(self.texts("svg .box text:not(.name)"))
        for fact in ("throttle 50 /s", "throttle of put: 1200 per 2 s", "20 requests/s"):
            self.assertEqual(words.count(fact), 3, words)
        self.assertTrue(any("3 faults (3 services): answers errors only" in text
                            for text in self.texts("#services svg .what")))
        self.assertIn("3 faults success", self.texts("#phases thead th"))
        self.assertNotIn("surges", " ".join(self.texts("#phases, #latency, #retries")))

    def test_there_is_no_picture_of_a_queue_that_cannot_form(self):
        titles = "[...document.querySelectorAll('#services figure')].map(f => f.dataset.title)"
        self.open("limits")
        self.assertNotIn("Queues", self.browser.run(titles))
        self.open("run")
        self.assertIn("Queues", self.browser.run(titles))

    def test_lines_at_100_percent_are_drawn_whole(self):
        self.open("limits")
        above = self.browser.run("""(() => {
            const figure = [...document.querySelectorAll('#latency figure')]
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

    def test_numbers_lie_between_the_ends_of_their_intervals(self):
        seen = 0
        for page in ("run", "compare"):
            self.open(page)
            found = self.browser.run("[...document.querySelectorAll('#figures .interval')].map("
                                     "e => [e.previousSibling.data, e.textContent])")
            for texts in found:
                number, *ends = re.findall(r"[\d,.]*\d", " ".join(texts))
                low, value, high = (float(x.replace(",", "")) for x in (ends[0], number, ends[1]))
                units = [re.findall(r" (?!to)[^\d ]+", text) for text in texts]
                if units[0] == units[1]:
                    seen += 1
                    self.assertTrue(low <= value <= high, texts)
        self.assertGreater(seen, 5)

    def test_a_choice_names_the_best_policy_and_why_the_others_left(self):
        with open(self.pages.folder / "choose" / "choose.csv", encoding="utf-8") as file:
            rows = {row["variant"]: row["outcome"] for row in csv.DictReader(file)}
        best = next(name for name, outcome in rows.items() if outcome == "chosen")
        self.open("choose")
        said = self.texts("#answer .verdict")[0]
        self.assertRegex(said, f"{best} (has the highest success rate|is the best)")
        self.assertEqual(self.texts("#range tbody td:first-child"), list(rows))
        self.assertEqual(self.browser.problems, [])

    def test_advice_ranks_the_remedies_and_names_those_not_tried(self):
        with open(self.pages.folder / "advise" / "advice.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        tried = [row["remedy"] for row in rows if row["state"] in ("", "tried")]
        others = [f"{row['remedy']}: {row['reason']}" for row in rows
                  if row["state"] not in ("", "tried")]
        self.open("advise")
        self.assertIn("Best single change: ", self.texts("#answer .verdict")[0])
        self.assertEqual(self.texts("#range tbody td:first-child"), tried)
        self.assertEqual(self.texts("#range details li"), others)
        effects = dict(zip(tried, self.texts("#range tbody td:nth-child(2)")))
        self.assertEqual(effects["as-it-stands"], "")
        self.assertEqual(effects[tried[1]], "helps")
        self.assertEqual(self.browser.problems, [])

    def test_error_budgets_are_those_of_the_file(self):
        with open(self.pages.folder / "budgets" / "slo.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.open("budgets")
        self.assertEqual(self.texts("#budgets tbody td:nth-child(1)"),
                         [row["variant"] for row in rows])
        self.assertEqual(self.texts("#budgets tbody td:nth-child(2)"), ["good", "good"])
        for shown, row in zip(self.texts("#budgets tbody td:nth-child(5)"), rows):
            said = float(shown.replace(",", ""))
            self.assertLess(abs(said - float(row["bad"])), 0.001 * float(row["bad"]) + 1e-9)
        self.assertEqual(self.browser.problems, [])

    def test_a_map_shows_the_phase_of_every_point(self):
        with open(self.pages.folder / "map" / "map.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.open("map")
        # "200, 1: dead: down without any disturbance"
        titles = [title.split(": ") for title in self.texts("#range .cell title")]
        found = {tuple(place.split(", ")): phase for place, phase, *_ in titles}
        self.assertEqual(len(titles), len(rows))
        first, second = [key for key in rows[0] if key in ("duration", "total_rate")]
        for row in rows:
            place = tuple(row[key].removesuffix("s") for key in (first, second))
            self.assertEqual(found[place], row["phase"])
        self.assertGreater(len(set(found.values())), 1)
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
        self.assertEqual(self.texts("#prediction li:not(figure li)"), [
            row["meaning"] if name == "does_not_apply"
            else f"{row['part']} of {row['subject']}: {row['meaning']}"
            for name in ("does_not_apply", "doubt") for row in rows if row["name"] == name])
        self.assertGreater(len(remarks), 0)
        self.assertEqual(len(self.texts("#causes .verdict")),
                         max(1, sum(row["name"] == "phase" for row in rows))
                         + sum(row["name"] == "warning" for row in rows))
        self.assertIn("nothing was simulated", self.texts("header .facts")[0])
        self.assertEqual(self.browser.problems, [])

    def test_notes_on_the_scenario_are_those_of_the_terminal(self):
        for name, notes in self.pages.notes.items():
            with self.subTest(name):
                self.assertGreater(len(notes), 0)
                self.open(name)
                self.assertEqual(sorted(self.texts("#causes details.of-scenario li")),
                                 sorted(set(notes)))
                self.assertEqual(self.browser.problems, [])

    def test_a_sweep_of_servers_shows_the_capacity_of_each_point(self):
        self.open("servers")
        boxes = lambda: " ".join(self.texts("#services svg text"))  # noqa: E731
        self.assertIn("capacity 100 /s", boxes())
        self.slide(0, 1)
        self.assertIn("4 servers", boxes())
        self.assertIn("capacity 200 /s", boxes())

    def test_what_stands_can_be_replaced(self):
        """`renderPage`, and what is called when the page stands: the contract with live pages."""
        page = self.pages.path("run").read_text()
        at = page.rindex("<script>") + len("<script>")
        script = page[at:page.rindex("</script>")]
        live = script.replace("(() => {", """(() => { function startLive() {
            window.again = change => {
                const data = embedded();
                change(data[0]);
                renderPage(data);
            };
        }""", 1)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                  for text in (script, live)]
        self.assertEqual(page.count(hashes[0]), 1)
        (self.pages.folder / "live.html").write_text(page.replace(*hashes).replace(script, live))
        self.open("live", folded=True)
        self.browser.run("document.querySelector('#latency summary').click()")
        self.browser.settle()
        lines = lambda: self.browser.run(  # noqa: E731
            "[...document.querySelectorAll('path.line')].map(line => line.getAttribute('d'))")
        before = lines()
        self.browser.run("again(() => {})")
        self.browser.settle()
        self.assertEqual(lines(), before)  # and what was open is open
        self.browser.run("again(result => { result.answers[0].headline.fates"
                         ".find(({who}) => who === 'web').text = 'never back'; "
                         "result.series[0].c.web.goodput[0].fill(1); })")
        self.browser.settle()
        self.assertNotEqual(lines(), before)
        self.assertIn("web: never back",
                      self.texts("#answer .verdict")[0])
        self.assertEqual(self.count("h1"), 1)
        self.assertEqual(self.browser.problems, [])

    def test_texts_of_users_are_texts(self):
        self.open("run")
        self.assertEqual(self.texts("p.question"), [HOSTILE])
        self.assertEqual(self.count("img"), 0)
        self.assertEqual(self.count("main b"), self.count("main figcaption b, main .verdict b"))

    def test_the_figures_are_those_of_the_files(self):
        self.open("run")
        shown = self.texts("#figures tbody tr td:nth-child(2)")
        for client, text in zip(("web", "batch", "all"), shown):
            value = 100 * self.pages.summary("run", "base", client, "success_rate")
            self.assertAlmostEqual(float(re.match(r"[\d.]+", text).group()), value, delta=0.06)

    def test_sliders_move_everything(self):
        self.open("sweep")
        self.assertEqual(self.count(".slider input"), 2)
        state = lambda: (self.texts("#figures tbody tr")[0],  # noqa: E731
                         self.texts("#phases table")[0],
                         # Of the first chart: requests, attempts, goodput.
                         self.browser.run("document.querySelectorAll('#services path.line')[2]"
                                          ".getAttribute('d')"),
                         self.texts("#services .diagram svg title")[-1])
        before = state()
        self.slide(0, 2)
        after = state()
        for what, one, other in zip(("figures", "phases", "line", "fault"), before, after):
            self.assertNotEqual(one, other, what)
        self.slide(1, 1)
        self.assertEqual(self.texts(".slider output"), ["4s", "4"])
        value = 100 * self.pages.summary("sweep", "duration=4s max_attempts=4", "web",
                                         "success_rate")
        text = self.texts("#figures tbody tr td:nth-child(2)")[0]
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
                            for text in self.texts("#causes .verdict")]
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
        text = " ".join(self.texts("#causes .verdict"))
        self.assertIn("max_attempts=3", text)
        self.assertEqual(self.texts("#reproduce pre")[0],
                         "retrysim tip scenario.toml --trigger "
                         "fault.outage.duration=0.05s:3s "
                         "--vary client.web.arrivals.total_rate=10,20 "
                         "--vary client.web.retry.max_attempts=1,3 --tolerance 0.3")

    def test_a_click_chooses_a_point(self):
        self.open("sweep")
        self.browser.run("[...document.querySelectorAll('#range figure')][0].querySelectorAll("
                         "'.cell')[5].dispatchEvent(new Event('click'))")
        point = self.texts("#points tr.chosen td")[:2]
        self.assertEqual(self.texts(".slider output"), point)
        self.assertNotEqual(point, ["1s", "1"])
        self.browser.run("document.querySelector('#points tbody tr').click()")
        self.assertEqual(self.texts(".slider output"), ["1s", "1"])

    def test_phones(self):
        """Each kind of result under its name."""
        for page, name in (("run", "run"), ("compare", "comparison"), ("sweep", "sweep"),
                           ("tip", "search for the tipping point"),
                           ("curve", "search for tipping points"),
                           ("hysteresis", "load up and down"), ("choose", "choice of a policy"),
                           ("advise", "advice"), ("map", "map"), ("predict", "prediction"),
                           ("fit", "fit of a log"), ("two", "run"), ("limits", "run"),
                           ("groups", "run")):
            with self.subTest(page):
                self.open(page, width=360)
                self.assertEqual(self.texts("header .facts")[0].split(" · ")[0], name)
                boxes = self.texts("svg .box text:not(.name), svg .what")
                self.assertEqual([line for line in boxes if line.endswith("…")], [])
                self.assertLessEqual(
                    self.browser.run("document.documentElement.scrollWidth"), 360)
                self.assertEqual(self.browser.problems, [])

    def test_a_wide_screen_is_used(self):
        """Pictures side by side, three charts in a row; text no wider than can be read."""
        for page in some(("run", "sweep", "compare")):
            with self.subTest(page):
                self.open(page, width=2560, height=1300)
                row = "new Set([...document.querySelectorAll({!r})].slice(0, {})" \
                    ".map(e => e.getBoundingClientRect().top)).size"
                self.assertEqual(self.browser.run(row.format(".picture figure", 2)), 1)
                self.assertEqual(self.browser.run(row.format("#latency .charts figure", 3)), 1)
                self.assertGreater(self.browser.run(
                    "document.querySelector('main').getBoundingClientRect().width"), 1700)
                self.assertLess(self.browser.run("Math.max(...[...document.querySelectorAll("
                                                 "'.verdict')].map(e => e.clientWidth))"), 1300)
                self.assertEqual(self.browser.problems, [])

    def test_words_in_tables_have_room(self):
        """On phones a table scrolls; it is not made of columns of single words."""
        for page in ("predict", "advise", "choose", "fit"):
            with self.subTest(page):
                self.open(page, width=390)
                narrow = self.browser.run(
                    "[...document.querySelectorAll('table td:not(.number)')].filter(td => "
                    "td.textContent.length > 24 && td.checkVisibility() && td.clientWidth < 120)"
                    ".map(td => td.textContent)")
                self.assertEqual(narrow, [])

    def test_many_groups_are_drawn_as_their_sum(self):
        self.open("groups", folded=True)
        named = self.texts(".picture figure:nth-child(1) .at-line")
        self.assertIn("attempts, 12 groups", named)
        self.assertLessEqual(self.count(".picture figure:nth-child(1) path.line"), 3)
        self.assertIn("all together", " ".join(self.texts("#figures td")))

    def test_a_fit_says_what_the_program_says(self):
        self.open("fit")
        with open(self.pages.folder / "fit" / "result.json", encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual(self.texts("#answer .verdict span:last-child"),
                         result["backtest"]["verdict"][:1])
        self.assertEqual(self.texts("#causes .verdict span:last-child"), result["sentences"])
        figures = [f for f in result["figures"] if f["value"] is not None or f["low"] is not None]
        self.assertGreater(len(figures), 5)
        self.assertEqual(self.texts("#fit tr > td:first-child")[:len(figures)],
                         [f["figure"].replace("_", " ") for f in figures])
        tested = result["backtest"]
        self.assertEqual(self.texts("#backtest p")[:len(tested["verdict"])], tested["verdict"])
        self.assertEqual(len(result["incidents"]), 1)
        self.assertIn("no server works", self.texts("#fit td"))
        self.assertEqual(self.texts("#backtest td:first-child"), [
            "rate", "median", "90 % quantile", "99 % quantile", "share of errors"])
        drawn = {f["figure"] for f in tested["figures"]
                 if f["part"] == "bin" and (f["logged"] or f["simulated"])}
        self.assertGreater(len(drawn), 3)
        self.assertEqual(self.count("#backtest figure"), len(drawn))
        self.assertEqual(self.texts("#reproduce pre")[0],
                         "retrysim fit --service api log.csv --out fit")
        self.assertEqual(self.count("#services"), 0)
        self.assertEqual(self.browser.problems, [])

    def test_print(self):
        for page in some(("run", "sweep", "compare")):
            with self.subTest(page):
                self.open(page, folded=True)
                self.browser.run("addEventListener('beforeprint', () => { window.empty = ["
                                 "...document.querySelectorAll('.drawing')].filter("
                                 "drawing => !drawing.firstChild).length; })")
                pdf = self.browser.pdf()
                self.assertEqual(self.browser.run("empty"), 0)  # what was folded is drawn, too
                self.assertTrue(pdf.startswith(b"%PDF"))
                boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
                self.assertTrue(boxes)
                for width, height in boxes:  # A4 in points
                    self.assertAlmostEqual(float(width), 595.3, delta=1)
                    self.assertAlmostEqual(float(height), 841.9, delta=1)
                self.assertEqual(self.browser.problems, [])

    def test_zoom_and_pointer(self):
        self.open("run")
        labels = lambda: self.texts("#latency figure:first-child .axes text")  # noqa: E731
        self.browser.run("document.querySelector('#latency svg[role]').scrollIntoView()")
        box = self.browser.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector("
                               "'#latency svg[role]').getBoundingClientRect())")
        whole, middle = labels(), box[1] + box[3] / 2
        self.browser.move(box[0] + box[2] / 2, middle)
        self.assertRegex(self.texts("#latency .tip")[0], r"^at \d+(\.\d+)? sweb: [\d.]+ /s")
        self.browser.drag(box[0] + box[2] * 0.4, middle, box[0] + box[2] * 0.6)
        self.assertNotEqual(labels(), whole)
        self.browser.run("document.querySelector('.unzoom').click()")
        self.browser.settle()
        self.assertEqual(labels(), whole)

    def test_the_page_stays_as_it_is_under_the_pointer(self):
        height = "document.documentElement.scrollHeight"
        for page in some(("run", "compare", "limits")):
            for width in (1280, 390):
                with self.subTest(page, width=width):
                    self.open(page, width)
                    before = self.browser.run(height)
                    for chart in (".picture", "#latency", "#services .charts"):
                        box = self.browser.run(
                            "(e => { e.scrollIntoView(); const b = e.getBoundingClientRect();"
                            "return [b.x, b.y, b.width, b.height]; })(document.querySelector("
                            f"'{chart} svg[role]'))")
                        for share in (0.3, 0.8):
                            self.browser.move(box[0] + box[2] * share, box[1] + box[3] / 2)
                            self.assertEqual(self.browser.run(height), before)
                            tips = self.texts(f"{chart} .tip:not([hidden])")
                            self.assertTrue(tips)
                            self.assertTrue(all(tip.startswith("at ") for tip in tips), tips)
                    self.assertLessEqual(
                        self.browser.run("document.documentElement.scrollWidth"), width)

    def test_a_click_on_the_legend_hides_a_line(self):
        self.open("run")
        figure = "#latency .charts:not(.of-picture) figure:first-child"
        lines = lambda: self.browser.run(  # noqa: E731
            f"[...document.querySelectorAll('{figure} path.line')].map(p => "
            "p.getAttribute('stroke'))")
        before = lines()
        self.assertEqual(len(before), 2)
        click = f"document.querySelector('{figure} .legend button').click()"
        self.browser.run(click)
        self.assertEqual(lines(), before[1:])
        self.browser.run(click)
        self.assertEqual(lines(), before)

    def test_lines_on_each_other_are_both_seen(self):
        """Three and five attempts do the same here, and one attempt before and after the fault."""
        self.open("compare")
        dashes = self.browser.run(
            "[...document.querySelector('.picture').querySelectorAll('figure')].map(f => [..."
            "f.querySelectorAll('path.line:not(.ink)')].map(p => "
            "p.getAttribute('stroke-dasharray')))")
        for found in dashes:
            self.assertEqual(len(found), 3)
            self.assertEqual(len(set(found)), 3, found)

    def test_wide_tables_say_that_they_scroll(self):
        notes = ("[...document.querySelectorAll('.scroll')].filter(area => "
                 "area.checkVisibility()).map(area => [area.scrollWidth > "
                 "area.clientWidth + 1, area.previousSibling.checkVisibility()])")
        seen = set()
        for page in some(("run", "compare", "sweep", "curve", "predict")):
            for width in (360, 1280):
                self.open(page, width)
                for wide, said in self.browser.run(notes):
                    self.assertEqual(wide, said)
                    seen.add(wide)
        self.assertEqual(seen, {True, False})

    def key(self, *keys):
        for key in keys:
            codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37}
            text = {"Enter": "\r", "+": "+", "-": "-"}.get(key, "")
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=text,
                                  windowsVirtualKeyCode=codes.get(key, 0))
        self.browser.settle()

    def test_the_keyboard_is_enough(self):
        """Tab reaches all that can be used; Enter opens; arrows, + and - go through time."""
        self.open("run", folded=True)
        focused = "document.activeElement.textContent"
        for _ in range(60):
            self.key("Tab")
            if self.browser.run(focused) == "Success and latency":
                break
        self.key("Enter")
        self.assertTrue(self.browser.run("document.querySelector('#latency').open"))
        self.key("Tab")
        reached = set()
        for _ in range(300):
            self.key("Tab")
            reached.add(self.browser.run("(e => e.closest('#latency') ? e.tagName + (e.className "
                                         ".baseVal ?? e.className) : '')(document.activeElement)"))
            if self.browser.run("document.activeElement.matches('#latency svg')"):
                break
        self.assertIn("svg", reached)
        labels = lambda: self.texts("#latency figure:first-child .axes text")  # noqa: E731
        whole = labels()
        self.key("ArrowRight")
        first = self.texts("#latency .tip")[0]
        self.key("ArrowRight")
        self.assertTrue(first.startswith("at "))
        self.assertNotEqual(self.texts("#latency .tip")[0], first)
        self.key("+")
        self.assertNotEqual(labels(), whole)
        self.assertTrue(self.browser.run("document.activeElement.matches('#latency svg')"))
        self.key("-")
        self.assertEqual(labels(), whole)
        self.open("sweep")
        self.browser.run("document.querySelector('#points tbody tr:last-child').focus()")
        self.key("Enter")
        self.assertEqual(self.texts(".slider output"), ["4s", "4"])

    def test_pictures_are_told_and_have_tables(self):
        """For screen readers: each picture has a name with its figures, and a table behind it."""
        for page in some(("run", "compare", "tip", "curve", "hysteresis")):
            with self.subTest(page):
                self.open(page)
                nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
                pictures = [node for node in nodes if not node.get("ignored")
                            and node["role"]["value"] in ("image", "img")]
                names = [node["name"]["value"] for node in pictures
                         if len(node["name"]["value"]) > 6]  # without the signs of verdicts
                figures = self.count("figure:has(svg[role])")
                self.assertEqual(len(names), figures)
                self.assertTrue(all(re.search(r": .*(\d| calls )", name) for name in names),
                                names)
                self.assertEqual(self.count(".as-table"), figures)
                self.browser.run("document.querySelectorAll('.as-table').forEach(b => b.click())")
                self.assertEqual(self.count(".behind table"), figures)
                self.assertEqual(self.browser.run(
                    "[...document.querySelectorAll('.behind table')].filter(t => "
                    "t.rows.length < 2).length"), 0)
        self.open("sweep")
        self.slide(0, 2)
        self.assertEqual(self.texts("#said[role=status]"), self.texts("#answer .verdict"))

    def test_contrast(self):
        """Texts 4.5 to 1 and lines 3 to 1 against what is behind them, as WCAG 2 has them."""
        for scheme in ("light", "dark"):
            for page in some(("run", "compare", "sweep", "curve", "hysteresis", "map", "predict")):
                with self.subTest(page, scheme=scheme):
                    self.open(page, scheme=scheme)
                    self.assertEqual(self.browser.run(FAINT), [])

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
                "[...document.querySelectorAll('#services .cell .charts')].map(c => "
                f"[...c.querySelectorAll('figure')[{n}].querySelectorAll('.axes text')]"
                ".map(t => t.textContent).join(' '))")
            self.assertEqual(scales[0], scales[1])

    def test_services_of_very_different_loads_have_scales_of_their_own(self):
        self.open("apart")
        self.browser.run("document.querySelector('#services').open = true")
        self.browser.settle()
        scales = {}
        for name in ("big", "small", "large", "tiny"):
            scales[name] = self.browser.run(
                "[...[...document.querySelectorAll('#services figure')].find(f => "
                f"f.textContent.includes('Load of {name}')).querySelectorAll('.axes text')]"
                ".map(t => t.textContent)")
        self.assertEqual(scales["big"], scales["large"])
        self.assertEqual(scales["small"], scales["tiny"])
        numbers = [float(label) for label in scales["small"] if re.fullmatch(r"[\d.]+", label)]
        self.assertGreater(len(numbers), 3)
        self.assertLess(max(numbers), 100)

    def test_a_changed_scenario_is_called_so(self):
        changed = "outage, with client.web.retry.max_attempts = 1"
        self.open("once")
        self.assertEqual(self.texts("h1"), [changed])
        self.assertEqual(self.browser.run("document.title"), f"{changed} - retrysim")
        self.assertEqual(self.texts(".question"), [
            "Changed from the file: client.web.retry.max_attempts = 1. Description of the "
            f"unchanged file: {HOSTILE}"])
        self.open("two")
        self.assertEqual(self.texts("h1"), ["outage", changed])
        self.open("compare")
        self.assertEqual(self.texts("h1"), ["outage"])

    def test_the_command_repeats_the_result(self):
        self.open("sweep")
        command = self.texts("#reproduce pre")[0]
        self.assertEqual(command, "retrysim sweep scenario.toml "
                                  "--vary fault.down.duration=1s,2s,4s "
                                  "--vary client.web.retry.max_attempts=1,4")
        self.open("size")
        self.assertEqual(self.texts("#reproduce pre")[0], "retrysim size scenario.toml "
                         "service.api.servers=1:8 --share 0.5 --confidence 0.6")
        self.open("hysteresis")
        self.assertEqual(self.texts("#reproduce pre")[0], "retrysim tip scenario.toml --hysteresis "
                         "client.web.arrivals.total_rate=40:160:40 --dwell 4s")
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
    global PROGRAM, ALL
    if "--all" in sys.argv:
        ALL = True
        sys.argv.remove("--all")
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
