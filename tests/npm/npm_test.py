#!/usr/bin/python3
"""The npm package does what the native program does, to the last byte: files, both outputs and
exit statuses.

Usage: npm_test.py --native RETRYSIM --package FOLDER --source ROOT [--full] [--node NODE]
[TEST...]. Without --full a few scenarios and commands stand for all. Exit status 77 if
there is no Node.js, or scripts/npm has not built the package from these sources.

SPDX-License-Identifier: MIT
"""

import argparse
import http.server
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
from built import need, skip  # noqa: E402

MOST_BYTES = 3_000_000
# Short ones, each with something that others lack: CSV inputs, a search for a warm-up, calls.
BRIEF = ("deploy", "steady-load", "traffic-trace", "cache-stampede")
COMMANDS = [
    "list sdks",
    "predict scenarios/steady-load.toml",
    "strategy --mode standard --responses 503,503,200",
    "init --rate 200 --service-time 50ms --client botocore --out mine.toml",
    "compare scenarios/deploy.toml --vary client.web.retry.mode=standard,legacy --replications 2"
    " --out compared",
    "report compared --out compared.html",
    "verify compared",
    "run scenarios/steady-load.toml --replications 1 --access-log access.csv --quiet --out logged",
    "fit access.csv --out fitted",
    "import gateway-api retries.yaml",
    "run no-such.toml",
    "run",
    "run scenarios/deploy.toml --max-events 1000",
]
# All searches, small.
MORE_COMMANDS = [
    "help",
    "help run",
    "list metrics",
    "tip scenarios/fifo-zombie.toml --trigger fault.outage.duration=0.9s:1.6s --replications 6"
    " --out tip",
    "choose scenarios/deploy.toml --vary client.web.retry.mode=standard,legacy"
    " --minimize amplification --indifference 0.1 --out choice",
    "sweep scenarios/deploy.toml --vary client.web.retry.mode=standard,legacy --replications 2"
    " --out sweep",
    "advise scenarios/deploy.toml --replications 5 --out advice",
    "sdk-upgrade botocore --rate 50 --service-time 20ms --attempt-timeout 1s --replications 1"
    " --out upgrade",
    "risk scenarios/spontaneous-collapse.toml --per 30d --precision 1 --out risk",
    "size service.api.servers=20:40 scenarios/steady-load.toml --out size",
    "run scenarios/deploy.toml --replications 4 --uncertain --out drawn",
]
RETRIES = """apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: web
spec:
  rules:
    - backendRefs:
        - name: web
      retry:
        codes: [500, 503]
        attempts: 2
        backoff: 100ms
"""


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".retrysim-runs" not in path.parts}


class Outcome:
    def __init__(self, command, folder, environment=None):
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, env={**os.environ, "RETRYSIM_NO_REUSE": "1",
                                                **(environment or {})})
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.files = files_of(folder)


class PackageTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-npm-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def place(self, name):
        place = self.folder / name
        place.mkdir()
        (place / "scenarios").symlink_to(OPTIONS.source / "scenarios")
        return place

    def assert_same(self, here, there):
        """Native and package."""
        self.assertEqual((here.status, here.stdout, here.stderr),
                         (there.status, there.stdout, there.stderr))
        self.assertEqual(list(here.files), list(there.files))
        self.assertEqual([], [name for name in here.files if here.files[name] != there.files[name]])


class Same(PackageTest):
    def test_scenarios(self):
        names = [path.stem for path in sorted((OPTIONS.source / "scenarios").glob("*.toml"))]
        equal = 0
        for name in names if OPTIONS.full else BRIEF:
            with self.subTest(name):
                command = ["run", f"scenarios/{name}.toml", "--replications", "2", "--jobs", "2",
                           "--out", "out", "--fingerprint", "--no-progress", "--format", "csv"]
                outcomes = [Outcome([*program, *command], self.place(f"{name}-{kind}"))
                            for kind, program in PROGRAMS.items()]
                self.assert_same(*outcomes)
                self.assertIn(outcomes[0].status, (0, 1))
                self.assertIn("out/result.json", outcomes[0].files)
                equal += 1
        print(f"scenarios that are the same to the last byte: {equal}", file=sys.stderr)

    def test_commands(self):
        places = {kind: self.place(kind) for kind in PROGRAMS}
        for place in places.values():
            (place / "retries.yaml").write_text(RETRIES)
        for command in COMMANDS + (MORE_COMMANDS if OPTIONS.full else []):
            with self.subTest(command):
                self.assert_same(*(Outcome([*program, *command.split()], places[kind])
                                   for kind, program in PROGRAMS.items()))

    def test_check(self):
        """But for the memory of a run, which is less where addresses have half the bytes."""
        place = self.place("check")
        outcomes = [Outcome([*program, "check", "scenarios/deploy.toml"], place)
                    for program in PROGRAMS.values()]
        keys = [[line for line in outcome.stdout.splitlines() if not line.startswith(b"#")]
                for outcome in outcomes]
        self.assertEqual(*keys)
        self.assertGreater(len(keys[0]), 100)
        self.assertEqual(*((outcome.status, outcome.stderr) for outcome in outcomes))

    def test_jobs(self):
        command = "run scenarios/deploy.toml --replications 8 --out out --no-progress --quiet"
        one, four = (Outcome([*PROGRAMS["package"], *command.split(), "--jobs", jobs],
                             self.place(jobs)) for jobs in ("1", "4"))
        self.assert_same(one, four)
        self.assertEqual(one.status, 0)

    def test_each_finds_what_the_other_has_simulated(self):
        place = self.place("both")
        command = ["run", "scenarios/deploy.toml", "--replications", "3", "--store", "store",
                   "--quiet", "--force", "--out", "out", "--no-progress"]
        first = Outcome([*PROGRAMS["package"], *command], place, {"RETRYSIM_NO_REUSE": ""})
        self.assertEqual((first.status, first.stderr), (0, b""))
        second = Outcome([*PROGRAMS["native"], *command], place, {"RETRYSIM_NO_REUSE": ""})
        self.assertEqual((second.status, second.stderr),
                         (0, b"note: 3 of 3 runs were there already\n"))
        self.assertEqual({name: content for name, content in first.files.items()
                          if name.startswith("out/")},
                         {name: content for name, content in second.files.items()
                          if name.startswith("out/")})


class Process(PackageTest):
    def start(self, command, **more):
        process = subprocess.Popen([*PROGRAMS["package"], *command.split()], **more)
        self.addCleanup(process.kill)
        return process

    def test_ctrl_c_keeps_what_is_finished(self):
        place = self.place("interrupted")
        command = ("run scenarios/deploy.toml --replications 400 --jobs 2 --store store --out out"
                   " --no-progress")
        process = self.start(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "TMPDIR": str(self.folder)})
        deadline = time.monotonic() + 120
        while sum(f.stat().st_size for f in place.glob("store/*.units")) < 50_000:
            self.assertLess(time.monotonic(), deadline, "nothing is simulated")
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertRegex(errors.decode(), r"^note: (1 run is|\d+ runs are) kept; .*\n"
                         r"retrysim: error: interrupted; unfinished work is not written\n$")
        self.assertEqual(list(place.glob("out*")), [])
        self.assertEqual(list(self.folder.glob("retrysim-lock-*")), [])

    def test_ctrl_c_ends_what_does_not_look_up(self):
        ours, theirs = pty.openpty()
        process = self.start("init", cwd=self.place("stubborn"), stdin=theirs, stderr=theirs)
        os.close(theirs)
        asked = b""
        while not asked.endswith(b": "):
            asked += os.read(ours, 1024)
        process.send_signal(signal.SIGINT)
        # 130 if it has looked up just before it waits for the answer.
        self.assertIn(process.wait(timeout=60), (-signal.SIGINT, 130))
        os.close(ours)

    def test_pipes(self):
        """One into which nobody writes is waited for, but not for ever; one that is written is
        read as a file, however late and in however many parts it comes."""
        place = self.place("pipes")
        os.mkfifo(place / "pipe")
        done = Outcome([*PROGRAMS["package"], "check", "pipe", "--timeout", "0.2"], place)
        self.assertEqual((done.status, done.stderr),
                         (5, b"retrysim: error: the command took longer than --timeout allows; "
                             b"nothing was written\n"))
        process = self.start("check pipe", cwd=place, stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"interrupted", errors)
        process = self.start("check pipe", cwd=place, stdout=subprocess.PIPE)
        text = (OPTIONS.source / "scenarios" / "deploy.toml").read_bytes()
        with (place / "pipe").open("wb", buffering=0) as pipe:
            for begin in range(0, len(text), 1000):
                time.sleep(0.05)
                pipe.write(text[begin:begin + 1000])
        printed, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertIn(b'name = "deploy"', printed)

    def test_memory_grows_in_large_steps(self):
        """Engines look for garbage when a memory grows: 61 times in these runs, as long as it grew
        by no more than what was needed, and 3 times since."""
        node, package = PROGRAMS["package"]
        done = Outcome([node, "--trace-gc", package, *(
            "run scenarios/capacity-dip.toml --replications 20 --jobs 1 --quiet --no-progress"
            ).split()], self.place("memory"))
        self.assertEqual(done.status, 0, done.stderr)
        self.assertLess(done.stdout.count(b"Mark-Compact"), 20)

    def test_mpi_is_refused(self):
        done = Outcome([*PROGRAMS["package"], "run", "scenarios/deploy.toml", "--mpi", "on"],
                       self.place("mpi"))
        self.assertEqual(done.status, 2)
        self.assertIn(b"MPI", done.stderr)

    def test_time_limits(self):
        place = self.place("limited")
        done = Outcome([*PROGRAMS["package"], *(
            "run scenarios/deploy.toml --replications 1000 --timeout 1s --no-progress"
            ).split()], place)
        self.assertEqual(done.status, 5, done.stderr)
        self.assertIn(b"took longer than --timeout allows", done.stderr)

    def test_a_reader_that_has_seen_enough(self):
        process = self.start("list metrics", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        process.wait(timeout=60)
        self.assertEqual((process.returncode, process.stderr.read()), (141, b""))
        process.stderr.close()

    def shown(self, **environment):
        """What a terminal shows of `run`."""
        ours, theirs = pty.openpty()
        place = self.place(f"terminal-{len(environment)}")
        process = self.start("run scenarios/deploy.toml --replications 1 --no-progress", cwd=place,
                             stdout=theirs, env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            shown += more
            if not more:
                break
        os.close(ours)
        self.assertIn(process.wait(timeout=60), (0, 1))
        return shown

    def test_colours(self):
        self.assertIn(b"\x1b[", self.shown())
        self.assertNotIn(b"\x1b[", self.shown(NO_COLOR="1"))


class Package(PackageTest):
    def test_units(self):
        subprocess.run([NODE, HERE / "units.mjs", OPTIONS.package], check=True,
                       stdout=subprocess.DEVNULL)

    def test_installed(self):
        """As its users do, in an empty folder and without a network."""
        packed = sorted(OPTIONS.package.parent.glob("retrysim-*.tgz"))
        self.assertEqual(len(packed), 1)
        self.assertLess(packed[0].stat().st_size, MOST_BYTES)
        if shutil.which("npm") is None:
            self.skipTest("there is no npm")
        environment = {**os.environ, "npm_config_offline": "true", "HOME": str(self.folder),
                       "PATH": f"{pathlib.Path(NODE).parent}:{os.environ['PATH']}"}
        place = self.place("installed")
        for command in (["npm", "install", "--no-audit", "--no-fund", packed[0]],
                        ["npx", "--no-install", "retrysim", "--version"]):
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        native = subprocess.run([OPTIONS.native, "--version"], check=True, capture_output=True,
                                text=True)
        self.assertEqual(done.stdout, native.stdout)
        version = json.loads((OPTIONS.package / "package.json").read_text())["version"]
        self.assertEqual(done.stdout.split()[1], version)

    def test_library(self):
        scenario = OPTIONS.source / "scenarios/deploy.toml"
        with scenario.open("rb") as text:
            done = subprocess.run([NODE, HERE / "library.mjs", OPTIONS.package], stdin=text,
                                  stdout=subprocess.PIPE, check=True)
        place = self.place("native")
        (place / "in").mkdir()
        shutil.copy(scenario, place / "in/x.toml")
        here = Outcome([OPTIONS.native, "run", "in/x.toml", "--replications", "2", "--out", "out"],
                       place)
        self.assertEqual({name: content.decode() for name, content in here.files.items()
                          if name.startswith("out/")}, json.loads(done.stdout))

    def test_windows(self):
        """Drives, backslashes and line ends of Windows, on files that stand in for its own."""
        root = self.folder / "windows"
        work = root / "C/work"
        for folder in (work / "in", root / "D/data", root / "UNC/server/share"):
            folder.mkdir(parents=True)
        (root / "tmp").mkdir()
        for name in ("traffic-trace.toml", *(path.name for path in
                                             (OPTIONS.source / "scenarios").glob("*.csv"))):
            text = (OPTIONS.source / "scenarios" / name).read_bytes()
            for place in (work / "in", root / "UNC/server/share"):
                (place / name).write_bytes(text.replace(b"\n", b"\r\n"))
        native = self.place("native")
        shutil.copytree(work / "in", native / "in")
        options = ["--replications", "1", "--no-progress"]
        here = Outcome([OPTIONS.native, "run", "in/traffic-trace.toml", "--out", "out", *options],
                       native)
        self.assertIn(here.status, (0, 1), here.stderr)

        def run(*arguments):
            return Outcome([NODE, HERE / "as_windows.mjs", OPTIONS.package, root, *arguments], work)

        results = {}
        for scenario, out, place in (
                ("in\\traffic-trace.toml", "out", work / "out"),
                ("C:\\work\\in\\traffic-trace.toml", "--out=D:\\data\\out", root / "D/data/out"),
                ("\\\\server\\share\\traffic-trace.toml", "..\\other\\out", root / "C/other/out")):
            (root / "C/other").mkdir(exist_ok=True)
            given = [out] if out.startswith("--") else ["--out", out]
            there = run("run", scenario, *given, *options)
            self.assertEqual((there.status, there.stderr), (here.status, here.stderr), scenario)
            results[scenario] = files_of(place)
        expected = {name.removeprefix("out/"): content for name, content in here.files.items()
                    if name.startswith("out/")}
        self.assertEqual(results["in\\traffic-trace.toml"], expected)
        for scenario, files in results.items():
            self.assertEqual(sorted(files), sorted(expected), scenario)
            self.assertEqual(files["summary.csv"], expected["summary.csv"], scenario)
        # A result is replaced, and one of another question is kept.
        again = run("run", "in\\traffic-trace.toml", "--out", "out", *options)
        self.assertEqual((again.status, again.stderr), (here.status, here.stderr))
        missing = run("run", "C:\\work\\no.toml")
        self.assertEqual(missing.status, 3)
        self.assertIn(b"C:/work/no.toml", missing.stderr)

    def test_browser(self):
        chromium = shutil.which("chromium")
        if chromium is None or not OPTIONS.full:
            self.skipTest("no browser, or not asked for")
        answers = []
        done = threading.Event()
        scenario = (OPTIONS.source / "scenarios/deploy.toml").read_text()
        page = ("<!doctype html><script type=module>import { run } from '/browser.mjs';\n"
                f"const text = {json.dumps(scenario)};\n"
                "const { status, files } = await run(['run', 'x.toml', '--replications', '1', "
                "'--out', 'out'], { 'x.toml': text });\n"
                "await fetch('/done', { method: 'POST', body: JSON.stringify({ status, summary: "
                "new TextDecoder().decode(files['out/summary.csv']) }) });</script>")

        class Handler(http.server.SimpleHTTPRequestHandler):
            extensions_map = {".mjs": "text/javascript", ".wasm": "application/wasm", "": ""}

            def __init__(self, *given):
                super().__init__(*given, directory=str(OPTIONS.package))

            def do_GET(self):
                if self.path != "/":
                    super().do_GET()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

            def do_POST(self):
                answers.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()
                done.set()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={self.folder / 'profile'}",
             "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(done.wait(120), "the page has not answered")
        finally:
            browser.terminate()
            browser.wait(timeout=60)
            server.shutdown()
            server.server_close()
        place = self.place("native")
        here = Outcome([OPTIONS.native, "run", "scenarios/deploy.toml", "--replications", "1",
                        "--out", "out"], place)
        self.assertEqual(answers, [{"status": here.status,
                                    "summary": here.files["out/summary.csv"].decode()}])


parser = argparse.ArgumentParser()
parser.add_argument("--native", required=True, type=pathlib.Path)
parser.add_argument("--package", required=True, type=pathlib.Path)
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--node", default=shutil.which("node"))
parser.add_argument("--full", action="store_true")
OPTIONS, REST = parser.parse_known_args()
NODE = OPTIONS.node
if NODE is None:
    skip("there is no Node.js")
need(OPTIONS.package / "retrysim.wasm", OPTIONS.source, "scripts/npm")
PROGRAMS = {"native": [OPTIONS.native], "package": [NODE, OPTIONS.package / "retrysim.mjs"]}
unittest.main(argv=[sys.argv[0], *REST])
