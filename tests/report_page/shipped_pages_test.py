#!/usr/bin/python3
"""Pages of all shipped scenarios in a headless Chromium: what a reader sees of their pictures.

Usage: shipped_pages_test.py --program RETRYSIM --scenarios FOLDER. Exit status 77 if there is no
Chromium.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

OPTIONS = None  # set by main
# What of a drawing lies on something else: texts on texts, texts across the edge of a box or of the
# drawing, arrows in boxes. Arrows may touch a box where they begin and end.
OVERLAPS = """[...document.querySelectorAll('.diagram .drawing svg')].flatMap(svg => {
    const found = [], inside = (r, x, y, by) => x > r.left + by && x < r.right - by &&
        y > r.top + by && y < r.bottom - by;
    const rect = e => e.getBoundingClientRect(), whole = rect(svg);
    const texts = [...svg.querySelectorAll('text')].map(e => [e.textContent, rect(e)]);
    const boxes = [...svg.querySelectorAll('.box rect')].map(e => [
        e.parentNode.querySelector('.name').textContent, rect(e)]);
    const name = ([text]) => JSON.stringify(text);
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
        // Lines of one box may touch; letters do not fill the height of their line.
        const wide = Math.min(a[1].right, b[1].right) - Math.max(a[1].left, b[1].left);
        const high = Math.min(a[1].bottom, b[1].bottom) - Math.max(a[1].top, b[1].top);
        if (wide > 1 && high > 3) found.push(`${name(a)} on ${name(b)}`);
    }));
    for (const t of texts) {
        if (t[1].left < whole.left - 1 || t[1].right > whole.right + 1 ||
            t[1].top < whole.top - 2 || t[1].bottom > whole.bottom + 2) {
            found.push(`${name(t)} leaves the drawing`);
        }
        for (const b of boxes) {
            const apart = t[1].right <= b[1].left || t[1].left >= b[1].right ||
                t[1].bottom <= b[1].top || t[1].top >= b[1].bottom;
            const within = t[1].left >= b[1].left && t[1].right <= b[1].right + 1 &&
                t[1].top >= b[1].top && t[1].bottom <= b[1].bottom + 1;
            if (!apart && !within) found.push(`${name(t)} across the edge of ${name(b)}`);
        }
    }
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
        if (a[1].left < b[1].right && b[1].left < a[1].right &&
            a[1].top < b[1].bottom && b[1].top < a[1].bottom) {
            found.push(`box ${name(a)} on ${name(b)}`);
        }
    }));
    for (const path of svg.querySelectorAll('.arrow path')) {
        const length = path.getTotalLength(), to = path.getScreenCTM();
        for (let s = 0; s <= length; s += 2) {
            const p = path.getPointAtLength(s).matrixTransform(to);
            const hit = boxes.find(b => inside(b[1], p.x, p.y, 1.5)) ||
                texts.find(t => inside(t[1], p.x, p.y, 0));
            if (hit) { found.push(`an arrow behind ${name(hit)}`); break; }
        }
    }
    return found;
})"""


class ShippedPagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-pages-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.results = {}
        # The graph of cascade is looked at more closely.
        files = sorted(OPTIONS.scenarios.glob("*.toml"), key=lambda file: file.stem != "cascade")
        assert len(files) > 30, files
        for file in files[::OPTIONS.every]:
            name = file.stem
            cls.retrysim("run", file, "--set", "replications=2", "--out", name)
            cls.retrysim("report", name, "--out", f"{name}.html")
            cls.results[name] = json.loads((cls.folder / name / "result.json").read_text())
        cls.browser = cls.enterClassContext(Browser(find_chromium()))

    @classmethod
    def retrysim(cls, *arguments):
        done = subprocess.run([OPTIONS.program, *arguments, "--quiet"], cwd=cls.folder,
                              capture_output=True, text=True, check=False)
        # With so few replications expectations may fail.
        assert done.returncode in (0, 1), done.stderr

    def open(self, name):
        self.browser.open((self.folder / f"{name}.html").as_uri())
        self.browser.run("document.querySelector('#services').open = true")
        self.browser.settle()

    def test_first_screen_and_drawings(self):
        """The first screen has the answer and its picture; the graph has every service and call; in
        no drawing anything lies on something else."""
        for name in self.results:
            for width, height in ((1280, 800), (390, 844)):
                with self.subTest(name, width=width):
                    self.browser.problems.clear()
                    self.browser.resize(width, height)
                    self.open(name)
                    low = self.browser.run(
                        "Math.max(...[...document.querySelectorAll('.picture figure')]"
                        ".map(figure => figure.getBoundingClientRect().bottom))")
                    self.assertLessEqual(low, height)
                    self.assertEqual(self.browser.run(OVERLAPS), [])
                    variant = self.results[name]["variants"][0]
                    names = [part["name"] for kind in ("clients", "services")
                             for part in variant[kind]]
                    shown = self.browser.run(
                        "[...document.querySelectorAll('.graph:not(.now) .box')].map(box => "
                        "[...box.querySelectorAll('.name')].map(t => t.textContent).join(''))")
                    self.assertEqual(sorted(shown), sorted(names))
                    arrows = sum(len(group["calls"])
                                 for group in variant["clients"] + variant["calls"])
                    self.assertEqual(
                        self.browser.run("document.querySelectorAll("
                                         "'.graph:not(.now) .arrow').length"),
                        arrows)
                    # A graph leads with its services.
                    leads = self.browser.run("[...document.querySelectorAll('.now .box .name')]"
                                             ".map(t => t.textContent).join('')")
                    services = "".join(sorted(part["name"] for part in variant["services"]))
                    self.assertEqual(sorted(leads), sorted(services if variant["calls"] else ""))
                    self.assertEqual(self.browser.problems, [])

    def test_the_graph_shows_the_moment_that_is_pointed_at(self):
        """By the slider, by the pointer in a chart, and in play."""
        self.browser.resize(1280, 800)
        self.open("cascade")
        shown = lambda: dict(self.browser.run(  # noqa: E731
            "[...document.querySelectorAll('.graph:not(.now) .box')].map(box => ["
            "box.className.baseVal + ' ' + box.querySelector('.name').textContent, "
            "[...box.querySelectorAll('.moment')].map(t => t.textContent)])"))
        scrub = ("(time => { const input = document.querySelector('.scrub input');"
                 "input.value = time; input.dispatchEvent(new Event('input')); })(TIME)")
        with open(self.folder / "cascade" / "mean_timeseries.csv", encoding="utf-8") as file:
            rows = {(row["client"], float(row["time_s"])): row for row in csv.DictReader(file)}
        with open(self.folder / "cascade" / "mean_service.csv", encoding="utf-8") as file:
            services = {(row["service"], float(row["time_s"])): row for row in csv.DictReader(file)}
        number = lambda text: float(text.replace(",", ""))  # noqa: E731
        for time in (15, 60):
            self.browser.run(scrub.replace("TIME", str(time + 0.3)))
            moments = shown()
            for client in ("search-shared", "report-limit"):
                row = max((at, row) for (name, at), row in rows.items()
                          if name == client and at <= time + 0.3)[1]
                text = moments[f"box client {client}"][0]
                self.assertAlmostEqual(number(text.split()[1]), float(row["offered_load"]),
                                       delta=0.006 * float(row["offered_load"]))
                self.assertAlmostEqual(float(text.split(", ")[1].split()[0]),
                                       100 * float(row["success_rate"]), delta=0.06)
            row = max((at, row) for (name, at), row in services.items()
                      if name == "shared" and at <= time + 0.3)[1]
            load, queue = moments["box service shared"][:2]
            found = [*re.findall(r"\d[\d.,]*", load), *re.findall(r"\d[\d.,]*", queue)]
            for text, column in zip(found, ("arrival_rate", "capacity", "queue_mean",
                                            "in_service_mean")):
                self.assertAlmostEqual(number(text), float(row[column]),
                                       delta=0.006 * float(row[column]) + 1e-6)
            # The drawing that leads shows the same of each service.
            leads = dict(self.browser.run(
                "[...document.querySelectorAll('.now .box')].map(box => [box.querySelector('.name')"
                ".textContent, [...box.querySelectorAll('.moment')].map(t => t.textContent)])"))
            for name in ("shared", "warehouse", "index"):
                whole = next(lines for box, lines in moments.items()
                             if "service" in box and box.endswith(f" {name}"))
                self.assertEqual(leads[name], whole[:2])
            # What the fault leaves of the capacity, in red; index has no limit.
            self.assertEqual("only 5 /s" in leads["warehouse"][0], time == 60)
            self.assertEqual(" of " in leads["warehouse"][0], True)
            self.assertNotIn(" of ", leads["index"][0])
            self.assertEqual(self.browser.run("document.querySelectorAll('.now .less').length"),
                             4 if time == 60 else 0)
        before = shown()
        box = self.browser.run("(b => [b.x, b.y, b.width, b.height])(document.querySelector("
                               "'.picture .drawing svg').getBoundingClientRect())")
        self.browser.move(box[0] + box[2] * 0.2, box[1] + box[3] / 2)
        self.assertNotEqual(shown(), before)
        # In play with reduced motion: a step each second, not ten.
        self.browser.run("window.steps = 0; new MutationObserver(() => ++steps).observe("
                         "document.querySelector('.scrub output'), { childList: true });"
                         "window.intervals = []; const set = setInterval;"
                         "setInterval = (step, every) => {"
                         "    intervals.push(every); return set(step, 1); }")
        self.browser.run("document.querySelector('.scrub button').click()")
        self.browser.run("new Promise(done => setTimeout(done, 100))")
        self.assertEqual(self.browser.run("intervals"), [1000])
        self.assertGreater(self.browser.run("steps"), 0)
        self.assertEqual(self.browser.problems, [])

    def test_what_lies_on_something_else_is_found(self):
        self.browser.resize(1280, 800)
        self.open("cascade")
        # The second box upon the first, and the last one upon the middle of the first arrow.
        self.browser.run("""(() => {
            const boxes = [...document.querySelectorAll('#graph .box')];
            boxes[1].setAttribute('transform', boxes[0].getAttribute('transform'));
            const path = document.querySelector('#graph .arrow path');
            const middle = path.getPointAtLength(path.getTotalLength() / 2);
            boxes.pop().setAttribute('transform', `translate(${middle.x - 9} ${middle.y - 9})`);
        })()""")
        found = " ".join(self.browser.run(OVERLAPS))
        for what in ("box", '" on "', "an arrow behind"):
            self.assertIn(what, found)

    def test_arrows_say_what_fails_where(self):
        self.browser.resize(1280, 800)
        self.open("cascade")
        flows = self.browser.run("""[...document.querySelectorAll('.box.client')].map(box =>
            [box.querySelector('.name').textContent,
             [...box.querySelectorAll('.flow')].map(t => t.textContent)])""")
        edges = {edge["client"]: edge for edge in self.results["cascade"]["variants"][0]["edges"]}
        self.assertEqual(len(flows), 8)
        for client, lines in flows:
            edge = edges[client]
            for word, moment in (("before", "before"), ("during", "during"),
                                 ("after" if edge["is_back"] else "recovering", "after")):
                line = next(line for line in lines if line.startswith(word))
                rate, attempts = line.split()[1], line.split()[4].rstrip(",")
                share = float(line.split(", ")[1].split()[0])
                flow = edge[moment]
                self.assertAlmostEqual(float(rate) / flow["requests_per_s"], 1, delta=0.006)
                self.assertAlmostEqual(float(attempts) / flow["attempts_per_request"], 1,
                                       delta=0.006)
                self.assertAlmostEqual(share, 100 * flow["success_share"], delta=0.51)
        fails = self.browser.run("[...document.querySelectorAll('.fails')].length")
        self.assertGreater(fails, 0)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    path = lambda text: pathlib.Path(text).resolve()  # noqa: E731
    parser.add_argument("--program", type=path, required=True)
    parser.add_argument("--scenarios", type=path, required=True)
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th")
    OPTIONS, rest = parser.parse_known_args()
    if find_chromium() is None:
        print("shipped_pages_test: there is no Chromium; skipped")
        return 77
    unittest.main(argv=[sys.argv[0], *rest])
    return 0


if __name__ == "__main__":
    sys.exit(main())
