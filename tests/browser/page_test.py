#!/usr/bin/python3
"""The page that computes, in a headless browser: it opens from disk, answers, follows its sliders,
asks the network for nothing, and hostile texts neither run nor stop it.

Usage: page_test.py --native ASK_ENGINE --program RETRYSIM --page PAGE.html --source ROOT
    [--firefox].
Screenshots of the page at three sizes, light and dark, are kept beside it in screens/. In Firefox
only what needs no other protocol than Firefox's is tested. Exit status 77 if there is no such
browser, or scripts/page has not made the page from these sources.

SPDX-License-Identifier: MIT
"""

import argparse
import base64
import concurrent.futures
import functools
import http.server
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report_page"))
from browser import Browser, Firefox, find_chromium, find_firefox  # noqa: E402
from built import need, skip  # noqa: E402

MARKUP = "<img src=x onerror=hacked=1></script><script>hacked=1</script>"
HOSTILE = f"""
name = "outage"
description = '{MARKUP}'
duration = "20s"
[service.api]
servers = 2
service_time = "20ms"
[client.web]
calls = "api"
arrivals = {{ process = "poisson", total_rate = 40 }}
retry = {{ mode = "standard" }}
[expect.works]
metric = "success_rate"
at_least = 0.2
"""
# Ten million requests a second for a day, more than the servers can do; and as many as they can,
# which nothing bounds but the page.
HUGE = HOSTILE.replace('"20s"', '"86400s"').replace("total_rate = 40", "total_rate = 10000000")
ENDLESS = HOSTILE.replace('"20s"', '"86400s"').replace("total_rate = 40", "total_rate = 4000") \
    .replace("servers = 2", "servers = 200")
GROUPS = HOSTILE.split("[client.web]")[0].replace("outage", "groups") + """
[fault.outage]
start = "8s"
duration = "2s"
capacity = 0
""" + "".join(f"""
[client.team-{i}]
calls = "api"
arrivals = {{ process = "poisson", total_rate = {3 + i} }}
retry = {{ mode = "standard", max_attempts = {2 + i} }}
""" for i in range(12))
HEADING = "document.querySelector('#page h1')?.textContent === '{}'"
OFFERED = "document.getElementById('live').dataset.offers === 'known'"
# Names of lines and of what is shaded that lie on a line, on the bar of a storm or on each other.
NAMES_ON_LINES = """[...document.querySelectorAll('.picture .drawing svg')].flatMap(svg => {
    const rect = e => e.getBoundingClientRect(), found = [];
    const names = [...svg.querySelectorAll('.at-line, .span-name')].map(e =>
        [e.textContent, rect(e)]);
    const apart = (a, b) => a.right <= b.left || b.right <= a.left ||
        a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
    names.forEach(([name, a], i) => {
        for (const [other, b] of names.slice(i + 1)) if (!apart(a, b)) found.push([name, other]);
        for (const bar of svg.querySelectorAll('rect.storm')) {
            if (!apart(a, rect(bar))) found.push([name, 'storm']);
        }
    });
    for (const path of svg.querySelectorAll('path.line')) {
        const length = path.getTotalLength(), to = path.getScreenCTM();
        for (let s = 0; s <= length; s += 2) {
            const p = path.getPointAtLength(s).matrixTransform(to);
            const hit = names.find(([, r]) => p.x > r.left + 1 && p.x < r.right - 1 &&
                p.y > r.top + 3 && p.y < r.bottom - 3);
            if (hit) { found.push([hit[0], 'line']); break; }
        }
    }
    return found;
})"""
SLIDER = "document.querySelector('[data-key=\"{key}\"]')"


class Page:
    """The page, whatever the browser."""

    urls = []  # that the network is asked for, as far as the browser tells

    def shown(self, name="shown"):
        return self.run(f"document.getElementById('page').dataset.{name}")

    def wait(self, condition, seconds=600):
        """Until a JavaScript expression is true; lets the page go on meanwhile."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                state = self.run("document.getElementById('live').innerText")
                raise AssertionError(f"never: {condition}; the page says: {state[:400]}")
            time.sleep(0.05)

    def wait_for_replications(self, count):
        data = "document.getElementById('page').dataset"
        self.wait(f"{data}.replications === '{count}' && "
                  f"(window.found = {data}.fingerprint || '-')")

    def fingerprint(self):
        """Of the result that was waited for last, even if a more precise one has followed."""
        return self.run("window.found")

    def write_scenario(self, text):
        """As someone who types it."""
        self.run("(() => { const area = document.querySelector('#live textarea');"
                 f"area.value = {json.dumps(text)}; area.dispatchEvent(new Event('input')); }})()")

    def move(self, key, value):
        """Moves a slider; all pictures from now on are of the new value."""
        element = SLIDER.format(key=key)
        self.run(f"(() => {{ const s = {element}; s.value = {value};"
                 "delete document.getElementById('page').dataset.replications;"
                 "s.dispatchEvent(new Event('input')); })()")


    def type(self, key, text):
        """As someone who types into the field beside a slider; pictures as those of move."""
        self.run("(() => { const field = document.querySelector(" + json.dumps(
            f'[data-exact="{key}"]') + f"); field.value = {json.dumps(text)};"
            "delete document.getElementById('page').dataset.replications;"
            "field.dispatchEvent(new Event('change')); })()")

    def press(self, key, name):
        field = json.dumps(f'[data-exact="{key}"]')
        self.run(f"document.querySelector({field}).dispatchEvent(new KeyboardEvent('keydown', "
                 f"{{ key: '{name}', bubbles: true }}))")


class PageInChromium(Page, Browser):
    """Also notes what the network is asked for."""

    def __init__(self, program):
        super().__init__(program)
        self.urls = []
        self.call("Network.enable")
        # A busy machine may be slow; how long the page waits for its engine is one test's business.
        self.call("Page.addScriptToEvaluateOnNewDocument", source="{ const own = setTimeout;"
                  "window.setTimeout = (then, ms, ...more) => own(then, "
                  "ms === 20000 && !window.isImpatient ? 600000 : ms, ...more); }")

    def move_pointer(self, x, y):
        Browser.move(self, x, y)

    def note(self, message):
        super().note(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.urls.append(message["params"]["request"]["url"])


class PageInFirefox(Page, Firefox):
    pass


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and notes what is asked for."""

    def __init__(self, asked, *arguments, **more):
        self.asked = asked
        super().__init__(*arguments, **more)

    def log_request(self, *_):
        self.asked.append(self.path)

    def log_message(self, *_):
        pass


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = PageInFirefox(PROGRAM) if OPTIONS.firefox else PageInChromium(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def setUp(self):
        self.browser.problems.clear()
        self.browser.urls.clear()
        self.browser.resize(1280, 800)
        self.browser.open(OPTIONS.page.resolve().as_uri())
        self.browser.wait_for_replications(5)

    def only_in_chromium(self):
        if OPTIONS.firefox:
            self.skipTest("needs the protocol of Chromium")

    def native(self, scenario, *edits):
        path = OPTIONS.source / "scenarios" / f"{scenario}.toml"
        text = path.read_text(encoding="utf-8")
        files = {name: (path.parent / name).read_text(encoding="utf-8")
                 for name in set(re.findall(r'"([\w.-]+\.csv)"', text))}
        return self.ask_native({"ask": "run", "toml": text, "files": files, "edits": edits})

    def ask_native(self, request):
        done = subprocess.run([OPTIONS.native], input=json.dumps(request) + "\n", text=True,
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def test_opens_from_disk_with_an_answer_and_asks_nobody(self):
        page = self.browser
        self.assertEqual(page.run("document.querySelector('#page h1').textContent"), "deploy")
        self.assertGreater(len(page.run("document.getElementById('answer').innerText")), 80)
        self.assertGreater(page.run("document.querySelectorAll('#page svg path.line').length"), 2)
        self.assertEqual(page.problems, [])
        foreign = [url for url in page.urls if not url.startswith(("file:", "blob:", "data:"))]
        self.assertEqual(foreign, [])
        self.assertNotIn("://", page.run(
            "[...document.querySelectorAll('[src],link[href]')].map(e => e.outerHTML).join()"))
        fetched = page.run("fetch('data:,x').then(() => 'came', () => 'refused')")
        self.assertEqual(fetched, "refused")
        page.settle()
        page.problems.clear()

    def test_a_folder_can_be_hosted(self):
        page, folder = self.browser, OPTIONS.page.parent / "site"
        need(folder / "index.html", OPTIONS.source)
        asked = []
        served = functools.partial(Quiet, asked, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            page.urls.clear()
            page.open(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_replications(5)
            self.assertEqual(page.fingerprint(),
                             self.native("deploy", "replications=5")["fingerprint"])
            footer = page.run("document.querySelector('footer').innerText")
            self.assertIn("Made by retrysim", footer)
            version = re.search(r"[\d.]+\d", footer).group()
            paths = [path for path in asked if path != "/favicon.ico"]
            self.assertEqual([path.split("?")[0] for path in paths],
                             ["/", f"/retrysim-{version}.wasm"])
            server.shutdown()
        self.assertEqual(page.problems, [])

    def test_the_events_are_those_of_the_command_line(self):
        page = self.browser
        page.wait_for_replications(20)
        here = self.native("deploy", "replications=20")
        self.assertEqual(page.fingerprint(), here["fingerprint"])
        self.assertIn("--replications 20",
                      page.run("document.querySelector('#live pre').textContent"))

    def test_other_scenarios_have_the_events_of_the_command_line(self):
        page = self.browser
        for name in ("scatter-gather", "surge", "cascade"):
            page.open("about:blank")
            page.open(f"{OPTIONS.page.resolve().as_uri()}#{name}")
            page.wait_for_replications(5)
            self.assertEqual(page.fingerprint(),
                             self.native(name, "replications=5")["fingerprint"], name)

    def test_a_slider_changes_the_picture_and_back(self):
        page = self.browser
        key = page.run("document.querySelector('#live input[type=range][data-key$=\".duration\"]')"
                       ".dataset.key")
        before, start = page.shown("fingerprint"), page.run(SLIDER.format(key=key) + ".value")
        lines = "[...document.querySelectorAll('#page svg path.line')].map(p => p.outerHTML).join()"
        page.move(key, 900)
        page.wait_for_replications(5)
        changed, drawn = page.shown("fingerprint"), page.run(lines)
        self.assertNotEqual(changed, before)
        page.move(key, 100)
        page.wait_for_replications(5)
        self.assertNotEqual(page.run(lines), drawn)
        self.assertNotEqual(page.shown("fingerprint"), changed)
        page.move(key, 900)
        page.wait_for_replications(5)
        self.assertEqual(page.shown("fingerprint"), changed)
        self.assertTrue(start)
        self.assertEqual(page.problems, [])

    def test_exact_values_are_typed_beside_the_sliders(self):
        page, key = self.browser, "fault.deploy.duration"
        found = f"""(key => {{
            const field = document.querySelector(`[data-exact="${{key}}"]`);
            const slider = document.querySelector(`[data-key="${{key}}"]`);
            const refused = document.getElementById(field.getAttribute('aria-describedby'));
            return {{ text: field.value, place: Number(slider.value),
                said: slider.getAttribute('aria-valuetext'),
                label: slider.labels[0].textContent, own: field.getAttribute('aria-label'),
                refused: refused && refused.textContent }};
        }})"""
        state = lambda key=key: page.run(f"{found}({json.dumps(key)})")  # noqa: E731
        self.assertEqual(state(), {"text": "45 s", "place": state()["place"], "said": "45 s",
                                   "label": "length of the fault", "refused": None,
                                   "own": "length of the fault, exact value"})
        start = state()["place"]
        page.type(key, "60.5")
        page.wait_for_replications(5)
        self.assertEqual((state()["text"], state()["said"]), ("60.5 s", "60.5 s"))
        self.assertGreater(state()["place"], start)
        self.assertEqual(page.fingerprint(), self.native(
            "deploy", f'{key}="60.5s"', "replications=5")["fingerprint"])
        self.assertEqual(page.run("document.querySelector('#answer .changed').textContent"),
                         "Changed: length of the fault: 45 s → 60.5 s.")
        # The slider moves the field; a value beyond its end can be typed.
        page.move(key, 300)
        self.assertEqual(state()["text"], state()["said"])
        page.type(key, "297 ms")
        page.wait_for_replications(5)
        self.assertEqual((state()["text"], state()["place"]), ("297 ms", 0))
        heading = page.run("document.querySelector('#page h1').textContent")
        self.assertEqual(heading, "deploy, with fault.deploy.duration = 0.297s")
        # What cannot be is refused, with the range beside it, and changes nothing.
        for of, text, why in ((key, "soon", "no duration"), (key, "", "no duration"),
                              (key, "-1 s", "at least 0 s"), (key, "1e999 s", "no duration"),
                              (key, MARKUP, "no duration"), (key, "3 furlongs", "no duration"),
                              ("client.web.retry.max_attempts", "2.5", "no whole number"),
                              ("client.web.retry.max_attempts", "0", "at least 1"),
                              ("client.web.arrivals.total_rate", "0", "above 0"),
                              ("client.web.arrivals.total_rate", "1e15", "at most")):
            with self.subTest(text=text):
                page.type(of, text)
                page.wait(f"{found}({json.dumps(of)}).refused !== null")
                self.assertRegex(state(of)["refused"], f"{why}.* – the slider goes from .* to ")
                self.assertEqual(page.run("document.querySelector('#page h1').textContent"),
                                 heading)
                page.press(of, "Escape")
                self.assertIsNone(state(of)["refused"])
        # With the keyboard alone: an arrow is a step, and a word is as good as a number.
        page.press(key, "ArrowUp")
        self.assertEqual(state()["place"], 1)
        page.type("client.web.retry.max_attempts", "Unlimited")
        page.wait("document.querySelector('#page h1').textContent.includes('unlimited')")
        self.assertEqual(state("client.web.retry.max_attempts")["said"], "unlimited")
        self.assertEqual(page.run("[...document.querySelectorAll('#live .knob :is(input, select)')]"
                                  ".filter(e => e.labels.length === 0 && !e.ariaLabel).length"), 0)
        self.assertEqual(page.problems, [])

    def test_events_and_fingerprints_are_behind_a_fold(self):
        page = self.browser
        seen = page.run("document.body.innerText")
        self.assertIn("5 replications in", seen)
        for word in ("fingerprint", "events"):
            self.assertNotIn(word, seen)
        page.run("[...document.querySelectorAll('#live summary')].find("
                 "s => s.textContent.includes('command line')).click()")
        self.assertIn(f"fingerprint {page.shown('fingerprint')}", page.run(
            "document.querySelector('#live .events').innerText"))

    def test_what_the_stories_promise_is_what_the_verdict_says(self):
        self.only_in_chromium()
        page = self.browser
        verdict = "document.querySelector('#answer .verdict').textContent"
        press = ("(() => {{ delete document.getElementById('page').dataset.replications;"
                 "{}[{}].click(); }})()")
        stories = page.run("[...document.querySelectorAll('#tour li button')].map(b => "
                           "b.textContent)")
        tour = (OPTIONS.source / "scenarios/tour.md").read_text(encoding="utf-8")
        self.assertEqual(stories, re.findall("^## (.*)$", tour, re.MULTILINE))
        # With more replications the same is true, as the command line says meanwhile.
        native, asked = concurrent.futures.ThreadPoolExecutor(1), []
        self.addCleanup(native.shutdown)
        for number, story in enumerate(stories):
            page.run(press.format("document.querySelectorAll('#tour li button')", number))
            page.wait_for_replications(5)
            self.assertIn(page.run("document.querySelector('#tour .story').dataset.promise"),
                          page.run(verdict).lower())
            self.assertEqual(page.run("document.querySelectorAll('#tour .story > p').length"), 5)
            tries = "document.querySelectorAll('#tour .try')"
            for i in range(page.run(f"{tries}.length")):
                with self.subTest(story, number=i):
                    page.run(press.format(tries, i))
                    page.wait_for_replications(5)
                    promise = page.run(f"{tries}[{i}].dataset.promise")
                    self.assertIn(promise, page.run(verdict).lower())
                    pressed = page.run(f"[...{tries}].map(b => b.ariaPressed)")
                    self.assertEqual(pressed.index("true"), i)
                    asked.append((promise, native.submit(self.ask_native,
                                                         self.asked_of_the_page(20))))
        self.assertEqual(len(asked), 12)
        for promise, answer in asked:
            self.assertIn(promise, self.headline(answer.result()["result"]).lower())
        self.assertEqual(page.problems, [])

    def asked_of_the_page(self, replications):
        """What the page shows, as a question to the native engine."""
        words = shlex.split(self.browser.run("document.querySelector('#live pre').textContent"))
        options = list(zip(words, words[1:]))
        edits, vary = ([value for name, value in options if name == option]
                       for option in ("--set", "--vary"))
        text = (OPTIONS.source / words[2]).read_text(encoding="utf-8")
        return {"ask": words[1], "toml": text, "vary": vary,
                "edits": [*edits, f"replications={replications}"]}

    @staticmethod
    def headline(result):
        said = (result["said"] if "comparison" in result else result["answers"][0])["headline"]
        return said.get("text") or "; ".join(f"{fate['who']}: {fate['text']}"
                                             for fate in said["fates"])

    def test_no_name_lies_on_a_line(self):
        self.only_in_chromium()
        page = self.browser
        page.open("about:blank")
        page.open(f"{OPTIONS.page.resolve().as_uri()}#capacity-dip")
        page.wait_for_replications(5)
        for width, height in ((1280, 800), (390, 844), (2560, 1300)):
            with self.subTest(width=width):
                page.resize(width, height)
                page.settle()
                self.assertEqual(page.run(NAMES_ON_LINES), [])
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                beside, below, lines = page.run(
                    "['.at-line', '.legend.needed li:not([hidden])', 'path.line'].map(s => "
                    "document.querySelectorAll(`.picture figure:first-child ${s}`).length)")
                self.assertGreater(lines, 4)
                self.assertGreater(beside + below, 1)
        # No axis of shares goes beyond all of it.
        page.run("document.querySelectorAll('#page details').forEach(d => { d.open = true; })")
        page.settle()
        axes = page.run("[...document.querySelectorAll('.axes text')].map(t => t.textContent)")
        self.assertIn("100 %", axes)
        self.assertEqual([text for text in axes if re.match(r"(1\d\d+|[2-9]\d\d+) %$", text)
                          and text != "100 %"], [])
        self.assertEqual(page.problems, [])

    def test_a_graph_leads_with_its_services_at_the_moment(self):
        self.only_in_chromium()
        page = self.browser
        page.open("about:blank")
        page.open(f"{OPTIONS.page.resolve().as_uri()}#cascade")
        page.wait_for_replications(5)
        self.assertTrue(page.run("document.querySelector('.now').compareDocumentPosition("
                                 "document.querySelector('.picture')) & 4") > 0)
        point = ("(() => {{ const input = document.querySelector('.services-now input');"
                 "input.value = {}; input.dispatchEvent(new Event('input')); }})()")
        shown = ("Object.fromEntries([...document.querySelectorAll('.now .box')].map(box => ["
                 "box.querySelector('.name').textContent, [...box.querySelectorAll('.moment')]"
                 ".map(t => t.textContent).join(', ')]))")
        for time_s, capacity, less in ((15, "of 100 /s", 0), (60, "of only 5 /s", 4),
                                       (100, "of 100 /s", 0)):
            page.run(point.format(time_s))
            now = page.run(shown)
            self.assertRegex(now["warehouse"],
                             rf"^▸ load [\d.]+ {capacity}, ▸ queue [\d.]+, in service [\d.]+$")
            self.assertRegex(now["index"], r"^▸ load [\d.]+ /s, ▸ queue")
            self.assertEqual(page.run("document.querySelectorAll('.now .less').length"), less)
        self.assertEqual(page.run("[...document.querySelectorAll('.now .culprit .name')]"
                                  ".every(name => name.textContent.startsWith('warehouse'))"), True)
        # The moment stays when a more precise answer comes, and follows the pointer in any chart.
        page.wait("document.getElementById('page').dataset.replications === '20'")
        page.settle()
        self.assertEqual(page.run("document.querySelector('.services-now output').textContent"),
                         "100.1 s")  # a step of the slider
        left, top, width, height = page.run(
            "(b => [b.x, b.y, b.width, b.height])(document.querySelector('.picture .drawing svg')"
            ".getBoundingClientRect())")
        page.run("document.querySelector('.picture').scrollIntoView()")
        top = page.run("document.querySelector('.picture .drawing svg').getBoundingClientRect().y")
        page.move_pointer(left + width / 2, top + height / 2)
        self.assertRegex(page.run(shown)["warehouse"], "of only 5 /s")
        # On paper nothing is cut off, and only the answer is there.
        page.call("Emulation.setDeviceMetricsOverride", width=703, height=1000,
                  deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", media="print")
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        page.settle()
        self.assertEqual(page.run("document.documentElement.scrollWidth"), 703)
        self.assertEqual(page.run("['live', 'tour'].map(id => "
                                  "document.getElementById(id).offsetHeight)"), [0, 0])
        self.assertEqual(page.problems, [])

    def test_moved_quickly_only_the_last_value_counts(self):
        page = self.browser
        key = "client.web.retry.max_attempts"
        for value in range(100, 1000, 30):
            page.move(key, value)
        page.move(key, 500)
        page.wait_for_replications(5)
        command = page.run("document.querySelector('#live pre').textContent")
        edit = command.split(f"--set '{key}=")[1].split("'")[0]
        here = self.native("deploy", f"{key}={edit}", "replications=5")
        self.assertEqual(page.fingerprint(), here["fingerprint"])
        self.assertEqual(page.problems, [])

    def test_two_policies_are_compared_on_the_same_random_numbers(self):
        page = self.browser
        page.wait(OFFERED)
        page.run("(() => { const s = document.querySelector('[aria-label=\"compare with\"]');"
                 "s.value = JSON.stringify(['client.web.retry.mode', '\"legacy\"']);"
                 "delete document.getElementById('page').dataset.replications;"
                 "s.dispatchEvent(new Event('change')); })()")
        page.wait_for_replications(5)
        path = OPTIONS.source / "scenarios/deploy.toml"
        here = self.ask_native({"ask": "compare", "toml": path.read_text(encoding="utf-8"),
                                "edits": ["replications=5"],
                                "vary": ['client.web.retry.mode="standard","legacy"']})
        self.assertEqual(page.fingerprint(), here["fingerprint"])
        self.assertIn("mode=legacy", page.run("document.getElementById('page').innerText"))
        self.assertIn("retrysim compare scenarios/deploy.toml --vary",
                      page.run("document.querySelector('#live pre').textContent"))
        # Columns are called by what differs.
        self.assertEqual(page.run("document.querySelector('#answer .changed').textContent"),
                         "Compared: retry mode: standard against legacy.")
        page.run("document.getElementById('differences').open = true")
        page.wait("document.querySelectorAll('#differences th').length > 4")
        heads = page.run("[...document.querySelectorAll(':is(#differences, #figures) thead th')]"
                         ".map(head => head.textContent)")
        self.assertLess({"mode", "mode=standard", "mode=legacy"}, set(heads))
        self.assertFalse({"variant", "variant's"} & set(heads))
        # A value that has been moved can be compared with what it was.
        key = "fault.deploy.duration"
        page.move(key, 700)
        page.wait_for_replications(5)
        options = page.run("[...document.querySelector('[aria-label=\"compare with\"]').options]"
                           ".map(o => o.text)")
        self.assertIn("length of the fault: 45s, as it was", options)
        self.assertEqual(page.problems, [])

    def test_any_key_can_be_found(self):
        page = self.browser
        for key, value in (("client.web.deadline", None), ("service.api.service_time", '"60ms"')):
            page.run("(() => { const f = document.querySelector('#live input[type=search]');"
                     f"f.value = '{key}'; f.dispatchEvent(new Event('change')); }})()")
            found = page.run(f"document.querySelectorAll('[data-key=\"{key}\"]').length")
            self.assertEqual(found, 1)
            if value:
                page.run(f"(() => {{ const f = {SLIDER.format(key=key)}; f.value = '{value}';"
                         "delete document.getElementById('page').dataset.replications;"
                         "f.dispatchEvent(new Event('change')); })()")
                page.wait_for_replications(5)
                here = self.native("deploy", f"{key}={value}", "replications=5")
                self.assertEqual(page.fingerprint(), here["fingerprint"])
        sdk = SLIDER.format(key="client.web.retry.sdk")
        words = page.run(f"[...{sdk}.options].map(o => o.text)")
        self.assertLess({"botocore", "java-v2", "js-v3"}, set(words))
        self.assertEqual(page.problems, [])

    def test_what_all_groups_have_in_common_has_one_slider(self):
        page = self.browser
        page.open("about:blank")
        page.open(OPTIONS.page.resolve().as_uri() + "#surge")
        page.wait_for_replications(5)
        keys = page.run("[...document.querySelectorAll('#live [data-key]')]"
                        ".map(k => k.dataset.key)")
        self.assertIn("client.*.arrivals.total_rate", keys)
        self.assertIn("service.long.queue.capacity", keys)  # of the other it is another
        page.move("client.*.arrivals.total_rate", 450)
        page.wait_for_replications(5)
        edit = page.run("document.querySelector('#live pre').textContent").split("'")[1]
        self.assertTrue(edit.startswith("client.*.arrivals.total_rate="), edit)
        here = self.native("surge", edit, "replications=5")
        self.assertEqual(page.fingerprint(), here["fingerprint"])
        self.assertEqual(page.problems, [])

    def test_what_many_groups_differ_in_is_folded_by_group(self):
        page = self.browser
        page.write_scenario(GROUPS)
        page.wait(HEADING.format("groups"))
        page.wait("document.querySelector('#live details[data-of=each] > summary') !== null")
        sliders = "[...document.querySelectorAll('#live .knobs > .knob [data-key]')]" \
            ".map(k => k.dataset.key)"
        self.assertIn("fault.outage.duration", page.run(sliders))
        self.assertIn("client.*.retry.mode", page.run(sliders))
        self.assertEqual([key for key in page.run(sliders) if "team-" in key], [])
        self.assertEqual(page.run("document.querySelector('#live details[data-of=each] > summary')"
                                  ".textContent"), "each of 12")
        key = "client.team-7.arrivals.total_rate"
        page.run(f"{SLIDER.format(key=key)}.closest('details').open = true")
        page.move(key, 900)
        page.wait_for_replications(5)
        self.assertIn(f"--set '{key}=", page.run("document.querySelector('#live pre').textContent"))
        self.assertEqual(page.problems, [])

    def test_pictures_and_files_can_be_saved(self):
        self.only_in_chromium()
        page = self.browser
        with tempfile.TemporaryDirectory(prefix="retrysim-saved-") as name:
            folder = pathlib.Path(name)
            page.call("Browser.setDownloadBehavior", session=None, behavior="allow",
                      downloadPath=name)

            def saved(file):
                end = time.monotonic() + 60
                while not (folder / file).exists() and time.monotonic() < end:
                    time.sleep(0.05)
                    page.run("0")
                return (folder / file).read_bytes()

            page.run("[...document.querySelectorAll('.picture .as-file')].slice(0, 2)"
                     ".forEach(b => b.click())")
            picture = xml.etree.ElementTree.fromstring(saved("Attempts-that-the-clients-send.svg"))
            texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
            self.assertLess({"Attempts that the clients send", "attempts", "capacity"}, set(texts))
            self.assertNotIn(b"var(", saved("Attempts-that-the-clients-send.svg"))
            self.assertTrue(saved("Attempts-that-the-clients-send.png").startswith(b"\x89PNG"))
            page.wait_for_replications(20)
            press = ("[...document.querySelectorAll('#live button')].find(b => "
                     "b.textContent === '{}').click()")
            page.run(press.format("scenario.toml"))
            here = self.native("deploy", "replications=20")
            self.assertEqual(saved("scenario.toml").decode(), here["result"]["toml"])
            page.run(press.format("results as CSV"))
            page.wait("document.querySelectorAll('#live .files button').length > 5")
            page.run(press.format("attempts.csv"))
            path = OPTIONS.source / "scenarios/deploy.toml"
            files = self.ask_native({"ask": "files", "toml": path.read_text(encoding="utf-8"),
                                     "edits": ["replications=20"]})["files"]
            self.assertEqual(saved("attempts.csv").decode().count("\n"),
                             files["attempts.csv"].count("\n"))
        self.assertEqual(page.problems, [])

    def test_the_answer_is_on_the_first_screen(self):
        self.only_in_chromium()
        page = self.browser
        screens = OPTIONS.page.parent / "screens"
        screens.mkdir(exist_ok=True)
        for width, height in ((1280, 800), (390, 844), (2560, 1300)):
            for scheme in ("light", "dark"):
                with self.subTest(width=width, scheme=scheme):
                    page.resize(width, height, scheme)
                    page.open("about:blank")
                    page.open(OPTIONS.page.resolve().as_uri())
                    page.wait_for_replications(5)
                    bottom = ("document.querySelectorAll('{}')[{}].getBoundingClientRect().bottom")
                    self.assertLess(page.run(bottom.format("#answer .verdict", 0)), height)
                    self.assertLess(page.run(bottom.format(".picture figure", int(width > 390))),
                                    height)
                    self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.run(NAMES_ON_LINES), [])
                    image = page.call("Page.captureScreenshot", format="png")["data"]
                    (screens / f"{width}-{scheme}.png").write_bytes(base64.b64decode(image))
        self.assertEqual(page.problems, [])

    def test_mistakes_show_their_places_and_the_page_goes_on(self):
        page = self.browser
        page.write_scenario(HOSTILE.replace('"20s"', '"soon"'))
        page.wait("document.querySelectorAll('#live .mistakes button').length === 1")
        self.assertIn("line 4, column 12: duration", page.run(
            "document.querySelector('#live .mistakes').innerText"))
        page.run("document.querySelector('#live .mistakes button').click()")
        self.assertEqual(page.run("(() => { const a = document.querySelector('#live textarea');"
                                  "return a.value.slice(a.selectionStart, a.selectionEnd); })()"),
                         '"soon"')
        page.write_scenario(HOSTILE)
        page.wait(HEADING.format("outage"))
        self.assertEqual(page.run("document.querySelectorAll('#live .mistakes button').length"), 0)

    def test_markup_stays_text(self):
        page = self.browser
        for text in (HOSTILE, HOSTILE.replace("outage", MARKUP.replace('"', "")),
                     HOSTILE.replace("[client.web]", f"[client.'{MARKUP}']"), MARKUP,
                     MARKUP + "\n" + HOSTILE):
            number = int(page.shown() or 0)
            page.write_scenario(text)
            page.wait("document.querySelectorAll('#live .mistakes button').length > 0 || "
                      f"Number(document.getElementById('page').dataset.shown) > {number}")
            self.assertEqual(page.run("typeof hacked"), "undefined")
            self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        self.assertEqual(page.problems, [])

    def test_what_never_ends_is_stopped_and_the_page_answers_meanwhile(self):
        self.only_in_chromium()
        page = self.browser
        page.run("window.isImpatient = true")
        page.write_scenario(ENDLESS)
        page.wait("document.querySelector('#live .state.bad') !== null")
        said = page.run("document.querySelector('#live .state').textContent")
        self.assertIn("One replication takes more than 20 s here and was stopped", said)
        page.write_scenario(HUGE)
        page.wait("document.querySelector('#live .state').textContent.includes('of memory, but')")
        page.write_scenario("[" * 2_000_000)
        page.wait("document.querySelectorAll('#live .mistakes button').length > 0")
        page.write_scenario(HOSTILE)
        page.wait(HEADING.format("outage"))
        self.assertEqual(page.problems, [])

    def test_a_link_opens_the_same(self):
        page = self.browser
        key = "client.web.retry.max_attempts"
        page.move(key, 700)
        page.wait_for_replications(5)
        there = page.shown("fingerprint")
        page.run("[...document.querySelectorAll('#live button')].find("
                 "b => b.textContent === 'link to this').click()")
        page.wait("document.querySelector('#live input[readonly]').value.includes('#state=')")
        link = page.run("document.querySelector('#live input[readonly]').value")
        self.assertLess(len(link) - len(OPTIONS.page.resolve().as_uri()), 2000)
        page.open("about:blank")
        page.open(link)
        page.wait_for_replications(5)
        self.assertEqual(page.shown("fingerprint"), there)
        self.assertIn(f"--set '{key}=", page.run("document.querySelector('#live pre').textContent"))
        self.assertEqual(page.problems, [])

    def test_a_damaged_link_opens_the_page_and_says_what_was_not_used(self):
        page = self.browser
        pack = ("Promise.resolve().then(async () => {{ const s = new Blob([{text}]).stream()"
                ".pipeThrough(new CompressionStream('deflate-raw')); const b = new Uint8Array("
                "await new Response(s).arrayBuffer()); return btoa(String.fromCharCode(...b))"
                ".replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=+$/, ''); }})")

        def link_of(state):
            text = state if isinstance(state, str) else json.dumps(state)
            script = text if text.startswith("'[") else json.dumps(text)
            return "#state=" + page.run(pack.format(text=script))

        duration, mode = ["fault.deploy.duration", '"90s"'], "client.web.retry.mode"
        # What a link says, the name of the scenario that opens, and words of the notice.
        damaged = [
            ("#state=", "deploy", "damaged"), ("#state=%3Cscript%3E", "deploy", "damaged"),
            ("#state=AAAA", "deploy", "cannot be unpacked"),
            (f"#{MARKUP}", "deploy", "no scenario"),
            ("#no-such-scenario", "deploy", "no scenario “no-such-scenario”"),
            (link_of({"name": "deploy", "edits": [duration]})[:-9], "deploy", "damaged"),
            (link_of("null"), "deploy", "does not say what to open"),
            (link_of("{}"), "deploy", "names no scenario"),
            (link_of([1, 2]), "deploy", "does not say what to open"),
            (link_of("'[\"' + 'x'.repeat(3e7)"), "deploy", "cannot be unpacked"),
            (link_of({"name": 1, "edits": []}), "deploy", "names no scenario"),
            (link_of({"name": "no-such", "edits": [duration]}), "deploy",
             "names the scenario “no-such”"),
            (link_of({"name": "deploy", "toml": 5, "edits": [duration]}),
             "deploy, with fault.deploy.duration = 90s", "The text of the scenario"),
            (link_of({"name": "deploy", "edits": "ab"}), "deploy", "The changes of the link"),
            (link_of({"name": "deploy", "edits": ["ab"]}), "deploy", "1 change of the link"),
            (link_of({"name": "deploy", "edits": [["a"], duration, ["b", 2]]}),
             "deploy, with fault.deploy.duration = 90s", "2 changes of the link"),
            (link_of({"name": "deploy", "edits": [["client.web.cuont", "3"], duration]}),
             "deploy, with fault.deploy.duration = 90s", 'did you mean "count"?'),
            (link_of({"name": "deploy", "edits": [duration, ["service.api.servers", "-1"]]}),
             "deploy, with fault.deploy.duration = 90s", "service.api.servers=-1"),
            (link_of({"name": "deploy", "edits": [["x", MARKUP]]}), "deploy", "unknown key"),
            (link_of({"name": "deploy", "edits": [], "other": "ab"}), "deploy", "The comparison"),
            (link_of({"name": "deploy", "edits": [], "other": ["client.web.cuont", "3"]}), "deploy",
             "comparison of the link was left out"),
            (link_of({"name": "deploy", "edits": [], "other": [mode, '"no-such-mode"']}), "deploy",
             "comparison of the link was left out"),
            (link_of({"name": "deploy", "edits": [], "other": ["service", "{}"]}), "deploy",
             "left out"),
            (link_of({"name": "deploy", "edits": [], "vary": ["x"]}), "deploy",
             "does not know: vary"),
        ]
        notice = "document.querySelector('#live .notice').innerText"
        for link, heading, words in damaged:
            with self.subTest(link=link[:80], words=words):
                page.write_scenario(HOSTILE)
                page.wait(HEADING.format("outage"))
                page.run(f"location.hash = {json.dumps(link)}")
                page.wait(HEADING.format(heading))
                self.assertIn(words, page.run(notice))
                self.assertEqual(page.run("typeof hacked"), "undefined")
                self.assertEqual(page.run("document.querySelectorAll('#live img').length"), 0)
                # The same when the page opens with it.
                page.open("about:blank")
                page.open(OPTIONS.page.resolve().as_uri() + link)
                page.wait(HEADING.format(heading))
                self.assertIn(words, page.run(notice))
        page.open("about:blank")
        page.open(OPTIONS.page.resolve().as_uri() + link_of(
            {"name": "deploy", "edits": [duration], "other": [mode, '"legacy"']}))
        page.wait(HEADING.format("deploy, with fault.deploy.duration = 90s"))
        self.assertTrue(page.run("document.querySelector('#live .notice').hidden"))
        self.assertIn("--vary", page.run("document.querySelector('#live pre').textContent"))
        # A text with mistakes of its own is shown with them, and the page waits.
        page.open("about:blank")
        page.open(OPTIONS.page.resolve().as_uri() + link_of(
            {"name": "deploy", "toml": MARKUP, "edits": [["x", MARKUP]]}))
        page.wait("document.querySelectorAll('#live .mistakes button').length > 0")
        self.assertEqual(page.run("typeof hacked"), "undefined")
        self.assertEqual(page.problems, [])

    def test_a_changed_scenario_is_called_so(self):
        page = self.browser
        description = "document.querySelector('#page .question').textContent"
        self.assertEqual(page.run("document.title"), "deploy - retrysim")
        own = page.run(description)
        start = page.run(SLIDER.format(key="fault.deploy.duration") + ".value")
        page.move("fault.deploy.duration", 700)
        page.wait_for_replications(5)
        self.assertRegex(page.run("document.querySelector('#page h1').textContent"),
                         "^deploy, with fault.deploy.duration = .*s$")
        self.assertRegex(page.run("document.title"), "^deploy, with .* - retrysim$")
        self.assertEqual(page.run(description), "Changed from the file: " + page.run(
            "document.querySelector('#page h1').textContent").split("with ")[1] +
            f". Description of the unchanged file: {own}")
        # Of a comparison what both have.
        page.wait(OFFERED)
        page.run("(() => { const s = document.querySelector('[aria-label=\"compare with\"]');"
                 "s.value = JSON.stringify(['client.web.retry.mode', '\"legacy\"']);"
                 "delete document.getElementById('page').dataset.replications;"
                 "s.dispatchEvent(new Event('change')); })()")
        page.wait_for_replications(5)
        self.assertRegex(page.run("document.querySelector('#page h1').textContent"),
                         "^deploy, with fault.deploy.duration = [^,]*s$")
        page.run("[...document.querySelectorAll('#live button')].find("
                 "b => b.textContent === 'reset').click()")
        page.wait(HEADING.format("deploy"))
        page.move("fault.deploy.duration", 700)
        page.wait_for_replications(5)
        page.move("fault.deploy.duration", start)
        page.wait(HEADING.format("deploy"))
        self.assertEqual(page.problems, [])

    def test_every_offer_of_every_shipped_scenario_is_one_that_the_engine_takes(self):
        self.only_in_chromium()
        page, taken, refused = self.browser, 0, 0
        names = page.run("[...document.querySelector('#live select').options].map(o => o.text)")
        self.assertIn("fifo-zombie", names)
        for number, name in enumerate(names):
            page.run("(() => { const s = document.querySelector('#live select');"
                     "delete document.getElementById('live').dataset.offers;"
                     f"s.selectedIndex = {number};"
                     "s.dispatchEvent(new Event('change')); })()")
            page.wait(OFFERED)
            page.run("document.querySelectorAll('#live .knobs details').forEach("
                     "d => { d.open = true; })")
            page.run("new Promise(r => setTimeout(r, 50))")
            page.wait(OFFERED)
            offers = page.run("""[
                [...document.querySelectorAll('#live .knobs select')].flatMap(s => [...s.options]
                  .map(o => [s.dataset.key, ['true', 'false'].includes(o.value) ? o.value
                    : JSON.stringify(o.value), !o.disabled, o.textContent])),
                [...document.querySelectorAll('#live .knobs input[type=range]:enabled')].flatMap(
                  s => [[s.dataset.key, s.dataset.from, true, ''],
                        [s.dataset.key, s.dataset.to, true, '']]),
                [...document.querySelector('[aria-label="compare with"]').options]
                  .filter(o => o.value).map(o => [...JSON.parse(o.value), !o.disabled, o.text])
              ].flat()""")
            self.assertGreater(len(offers), 4, name)
            path = OPTIONS.source / "scenarios" / f"{name}.toml"
            text = path.read_text(encoding="utf-8")
            files = {file: (path.parent / file).read_text(encoding="utf-8")
                     for file in set(re.findall(r'"([\w.-]+\.csv)"', text))}
            reasons = self.ask_native({"ask": "offers", "toml": text, "files": files, "offers": [
                [f"{key}={value}"] for key, value, _, _ in offers]})["refusals"]
            for (key, value, is_offered, words), reason in zip(offers, reasons):
                with self.subTest(name, key=key, value=value):
                    self.assertEqual(is_offered, reason is None, reason)
                    if reason is not None and "not here" in words:
                        self.assertIn(reason[:40], words)
                taken, refused = taken + is_offered, refused + (not is_offered)
        print(f"offers: {taken} taken, {refused} switched off", file=sys.stderr)
        self.assertGreater(taken, 1000)
        self.assertGreater(refused, 10)
        self.assertEqual(page.problems, [])

    def test_a_report_computes_on(self):
        page = self.browser
        with tempfile.TemporaryDirectory(prefix="retrysim-live-") as folder:
            result, report = f"{folder}/scatter-gather", f"{folder}/live.html"
            scenario = OPTIONS.source / "scenarios/scatter-gather.toml"  # with a CSV input
            for words in (["run", scenario, "--replications", "20", "--out", result, "--quiet"],
                          ["report", result, "--live", OPTIONS.page, "--out", report, "--quiet"]):
                subprocess.run([OPTIONS.program, *words], check=True)
            page.open(pathlib.Path(report).as_uri())
            page.wait("document.querySelector('#live .state').textContent.startsWith('Move')")
            self.assertEqual(page.run("document.querySelector('#page h1').textContent"),
                             "scatter-gather")
            self.assertIsNone(page.shown())
            key = page.run("document.querySelector('#live input[type=range]').dataset.key")
            page.move(key, page.run(SLIDER.format(key=key) + ".value"))
            page.wait("Number(document.getElementById('page').dataset.shown) > 0")
        self.assertEqual(page.problems, [])
        self.assertEqual([url for url in page.urls if not url.startswith(("file:", "blob:"))], [])

    def test_other_scenarios_come_with_their_files(self):
        page = self.browser
        names = page.run("[...document.querySelector('#live select').options].map(o => o.text)")
        shipped = {path.stem for path in (OPTIONS.source / "scenarios").glob("*.toml")}
        self.assertEqual(set(names), shipped)
        for name in ("scatter-gather", "study-collapse-ramp"):
            page.run("(() => { const s = document.querySelector('#live select');"
                     f"s.selectedIndex = {names.index(name)};"
                     "s.dispatchEvent(new Event('change')); })()")
            page.wait(HEADING.format(name))
        self.assertEqual(page.problems, [])


parser = argparse.ArgumentParser()
parser.add_argument("--native", required=True)
parser.add_argument("--program", required=True)
parser.add_argument("--page", required=True, type=pathlib.Path)
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--firefox", action="store_true", help="in Firefox instead of Chromium")
OPTIONS, rest = parser.parse_known_args()
PROGRAM = find_firefox() if OPTIONS.firefox else find_chromium()
if PROGRAM is None:
    skip("there is no such browser")
need(OPTIONS.page, OPTIONS.source)
unittest.main(argv=[sys.argv[0], *rest])
