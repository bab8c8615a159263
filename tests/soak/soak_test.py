#!/usr/bin/python3
"""Tests of scripts/soak: are its scenarios valid and varied, does it find and shrink what is wrong?

Usage: soak_test.py --program build/ci/retrysim --server build/ci/tests/soak_server

SPDX-License-Identifier: MIT
"""

import contextlib
import dataclasses
import io
import json
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from soaking import checks, commands, program, rules, runs, scenarios
from soaking.coverage import Coverage
from soaking.shrinking import shrink
from soaking.vocabulary import Vocabulary, load as load_vocabulary

PROGRAM = None
SERVER = None
VOCABULARY = None

# A program that has just the defect that a test is about; what it needs is in the lines before.
FAKE = """#!/usr/bin/python3
import os, pathlib, shutil, signal, sys
words = sys.argv[1:]
if words[0] in ("list", "check"):
    os.execv({program!r}, [{program!r}, *words])
if words[0] == "verify":
    sys.exit((pathlib.Path(words[1]) / "damaged").exists())
out = pathlib.Path(words[words.index("--out") + 1])
if words[0] == "merge":
    shutil.copytree(words[1], out)
    sys.exit()
text = pathlib.Path(words[1]).read_text()
jobs = words[words.index("--jobs") + 1] if "--jobs" in words else "1"
out.mkdir()
def write(value):
    rows = "client,metric,value\\nall,attempts," + str(value) + "\\n"
    (out / "replications.csv").write_text(rows)
{body}
"""


class Fakes(unittest.TestCase):
    """Makes programs with a defect."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="soak-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fake(self, body):
        path = self.folder / "fake"
        path.write_text(FAKE.format(program=str(PROGRAM), body=body), encoding="utf-8")
        path.chmod(0o755)
        return path

    def kind_of(self, body, seed=1):
        """What checks.examine says about a program."""
        case = dataclasses.replace(scenarios.generate(seed, VOCABULARY), command=("run",))
        failure = checks.examine(self.fake(body), case).failure
        return failure.kind if failure else None


class Generator(unittest.TestCase):
    def test_the_same_seed_gives_the_same_scenario(self):
        for seed in range(1, 20):
            first = scenarios.generate(seed, VOCABULARY)
            self.assertEqual(first, scenarios.generate(seed, VOCABULARY))
        self.assertNotEqual(commands.scenario_text(first),
                            commands.scenario_text(scenarios.generate(1, VOCABULARY)))

    def test_scenarios_are_valid(self):
        with tempfile.TemporaryDirectory(prefix="soak-test-") as temporary:
            paths = []
            for seed in range(1, 201):
                case = scenarios.generate(seed, VOCABULARY)
                folder = Path(temporary) / str(seed)
                folder.mkdir()
                paths.append(checks.write(dataclasses.replace(case, edits=()), folder))
            done = subprocess.run([str(PROGRAM), "check", *map(str, paths)], text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = [line for line in done.stderr.splitlines() if ": error: " in line]
        self.assertEqual(([], 0), (errors, done.returncode))

    def test_calls_for_an_operation_suit_the_services_that_are_like_the_caller(self):
        keys = {("duration",): "1s", ("service", "s0", "calls", "s1", "operation"): "o0",
                ("service", "s1", "service_time"): "1ms",
                ("client", "c0", "calls"): "s0", ("client", "c0", "retry", "mode"): "none",
                ("client", "c0", "operation", "o0", "share"): 0.5}
        call = ("service", "s0", "calls", "s1", "operation")

        def kept(more):
            case = scenarios.Case(1, {**keys, **more})
            rules.mend(case, VOCABULARY)
            return call in case.keys

        self.assertTrue(kept({}))
        # Nobody calls it, and its call is the same.
        self.assertFalse(kept({("service", "s0like", "like"): "s0"}))

    def test_every_key_and_every_value_is_used(self):
        coverage = Coverage(VOCABULARY)
        seed = 0
        while seed < 500 or (seed < 10_000 and coverage.never()):
            seed += 1
            coverage.add(scenarios.generate(seed, VOCABULARY))
        self.assertEqual([], coverage.never())

    def test_releases_of_sdks_are_named_with_and_without_their_mode(self):
        named = set()
        for seed in range(1, 300):
            keys = scenarios.generate(seed, VOCABULARY).keys
            named |= {(value in VOCABULARY.releases, (*path[:-1], "mode") in keys)
                      for path, value in keys.items() if path[-2:] == ("retry", "sdk")}
        self.assertEqual({(False, True), (True, True), (True, False)}, named)

    def test_a_release_has_its_own_mode_revision_and_defaults(self):
        def defaults(sdk):
            keys = {("client", "c0", "retry", "sdk"): sdk}
            scenario = rules.Scenario(keys, VOCABULARY)
            return [scenario.get(("client", "c0"), f"retry.{name}")
                    for name in ("mode", "revision", "quota.on_empty")]

        self.assertEqual(["standard", "2.0", "wait"], defaults("kotlin@0.17.7"))
        self.assertEqual(["standard", "2.0", "fail"], defaults("smithy-kotlin@0.22.0"))
        self.assertEqual(["standard", "2.1"], defaults("boto3@1.44.0")[:2])

    def test_a_command_that_is_never_used_is_reported(self):
        coverage = Coverage(VOCABULARY)
        case = scenarios.generate(1, VOCABULARY)
        coverage.add(dataclasses.replace(case, command=("tip", "--trigger", "a.b=1:2")))
        never = [line for line in coverage.never() if line.startswith("command tip")]
        self.assertEqual(["command tip --vary", "command tip --hysteresis"], never)

    def test_a_key_that_is_never_used_is_reported(self):
        key = dataclasses.replace(VOCABULARY.by_scope["service.*"]["slowdown"], name="new")
        vocabulary = Vocabulary(VOCABULARY.keys + [key], VOCABULARY.presets,
                                                VOCABULARY.distributions, VOCABULARY.metrics)
        coverage = Coverage(vocabulary)
        for seed in range(1, 4):
            coverage.add(scenarios.generate(seed, VOCABULARY))
        self.assertIn("service.*.new", coverage.never())

    def test_a_new_key_is_used_without_being_taught(self):
        key = dataclasses.replace(VOCABULARY.by_scope["service.*"]["slowdown"], name="new", when="")
        vocabulary = Vocabulary(VOCABULARY.keys + [key], VOCABULARY.presets,
                                                VOCABULARY.distributions, VOCABULARY.metrics)
        used = [path for seed in range(1, 60)
                for path in scenarios.generate(seed, vocabulary).keys if path[-1] == "new"]
        self.assertGreater(len(used), 0)


class Checks(Fakes):
    def test_a_sound_program_passes(self):
        self.assertIsNone(self.kind_of("write(1)"))

    def test_a_crash(self):
        self.assertEqual("signal 11: ", self.kind_of("os.kill(os.getpid(), signal.SIGSEGV)"))

    def test_a_report_of_a_sanitizer(self):
        body = ("print('ERROR: AddressSanitizer: heap-use-after-free on address 0x12', "
                "file=sys.stderr)\n"
                "print('  #0 0x12 in memcpy x', file=sys.stderr)\n"
                "print('  #1 0x12 in retrysim::model::World::end() x', file=sys.stderr)\n"
                "sys.exit(86)")
        self.assertEqual("sanitizer: heap-use-after-free in retrysim::model::World::end",
                         self.kind_of(body))

    def test_a_failed_internal_check(self):
        body = "print('error: 3 attempts are lost at 1.5s', file=sys.stderr); sys.exit(70)"
        self.assertEqual("exit 70: N attempts are lost at N", self.kind_of(body))

    def test_a_valid_scenario_that_is_refused(self):
        body = ("print(words[1] + ':3:1: error: service.s0.x = 5 is wrong', file=sys.stderr)\n"
                "sys.exit(3)")
        self.assertEqual("exit 3: service.X.x = N is wrong", self.kind_of(body))

    def test_a_system_that_does_not_settle_is_refused_where_a_warmup_is_looked_for(self):
        keys = {("name",): "x", ("duration",): "3s", ("warmup",): "auto",
                ("service", "s0", "service_time"): "1s",
                ("client", "c0", "retry", "mode"): "none"}
        case = scenarios.Case(1, keys)
        never = ("retrysim: error: MSER-5 finds no end of the warm-up of \"x\" in the first half "
                 "of its 3 s: in_system_mean of service s0 keeps changing; expected a longer "
                 "duration, a system that settles, or an explicit warmup\n")
        late = ("retrysim: error: the warm-up of 1.5 s that goodput of c0 needs is half of the "
                "shortest duration, or more; expected a longer duration\n")

        def accepts(stderr, files=None, stdout=b"", **changes):
            refused = checks.Run(checks.BAD_INPUT, stdout, stderr, files or {})
            return checks.judge_status(dataclasses.replace(case, **changes), refused) is None

        self.assertTrue(accepts(never))
        self.assertTrue(accepts(late))
        # In a wrong place it is a failure.
        self.assertFalse(accepts(never, keys={**keys, ("warmup",): "1s"}))
        self.assertFalse(accepts(never, command=("sweep",)))
        self.assertFalse(accepts(never + "retrysim: error: and more\n"))
        self.assertFalse(accepts(never, files={"result.json": b"{}"}))
        self.assertFalse(accepts(never.replace("service s0", "service s1")))
        self.assertFalse(accepts(never.replace("3 s", "4 s")))
        self.assertFalse(accepts(never.replace('"x"', '"y"')))
        self.assertFalse(accepts(never.replace("explicit", "")))
        self.assertFalse(accepts(late.replace("1.5 s", "0.5 s")))
        self.assertFalse(accepts(late.replace("c0", "c1")))

    def test_no_loop_is_searched_by_a_rate_that_has_a_profile(self):
        keys = {("duration",): "1s", ("service", "s0", "service_time"): "1ms",
                ("client", "c0", "retry", "mode"): "none",
                ("client", "c0", "arrivals", "process"): "poisson",
                ("client", "c0", "arrivals", "rate"): 1}

        def loops(more):
            found = 0
            for seed in range(1, 100):
                generator = scenarios.Generator(seed, VOCABULARY)
                generator.case.keys.update({**keys, **more})
                commands.choose_search(generator)
                found += "--hysteresis" in generator.case.command
            return found

        self.assertGreater(loops({}), 0)
        self.assertEqual(0, loops({("client", "c0", "arrivals", "profile"): "rates0.csv"}))

    def test_results_that_change_from_run_to_run(self):
        self.assertEqual("difference: replications.csv, twice the same",
                         self.kind_of("write(os.getpid())"))

    def test_results_that_depend_on_the_number_of_jobs(self):
        self.assertEqual("difference: replications.csv, one job and three",
                         self.kind_of("write(jobs)"))

    def test_shards_that_are_not_the_whole(self):
        case = scenarios.generate(1, VOCABULARY)
        command = ("sweep", "--vary", "duration=1,2")
        failure = checks.examine(self.fake("write(int('--shard' in words))"),
                                      dataclasses.replace(case, command=command)).failure
        self.assertEqual("difference: replications.csv, whole and merged", failure.kind)

    def test_a_result_that_does_not_verify(self):
        self.assertEqual("verify: exit 1", self.kind_of("(out / 'damaged').touch()"))

    def test_figures_that_cannot_be(self):
        self.assertEqual("implausible: attempts", self.kind_of("write(-1)"))
        self.assertEqual("implausible: attempts", self.kind_of("write('nan')"))
        body = "(out / 'summary.csv').write_text('client,metric,mean,min,max\\nall,x,3,1,2\\n')"
        self.assertEqual("implausible: mean of x outside of its range", self.kind_of(body))

    def test_a_junit_file_that_does_not_fail_as_the_run_does(self):
        case = dataclasses.replace(scenarios.generate(1, VOCABULARY),
                                   command=("run", "--junit", "{out}/junit.xml"))

        def kind(text):
            body = f"(out / 'junit.xml').write_text({text!r})"
            failure = checks.examine(self.fake(body), case).failure
            return failure and failure.kind

        none = '<testsuites failures="0"/>'
        one = ('<testsuites failures="1"><testsuite><testcase><failure/></testcase></testsuite>'
               '</testsuites>')
        self.assertIsNone(kind(none))
        self.assertEqual("junit: another number of failures", kind(one))
        self.assertEqual("junit: another number of failures", kind(one.replace('"1"', '"2"')))
        self.assertEqual("junit: no XML", kind("<testsuites"))

    def test_a_prediction_that_does_not_keep_to_the_list_of_theory(self):
        def said(feature, no_figure_from, figures=()):
            entry = {"feature": feature, "places": ["service.s0.throttle.rate"],
                     "left_out_by": "", "no_figure_from": no_figure_from}
            text = json.dumps({"prediction": {"not_modelled": [entry], "figures": list(figures)}})
            case = dataclasses.replace(scenarios.generate(1, VOCABULARY), command=("predict",))
            failure = checks.examine(self.fake(f"(out / 'result.json').write_text({text!r})"),
                                     case).failure
            return failure.detail if failure else None

        time = {"part": "chain", "subject": "service.s0", "name": "collapse_time"}
        self.assertIsNone(said("a throttle", "chain"))
        self.assertIsNone(said("a throttle", "chain", [{**time, "subject": "service.s1"}]))
        self.assertIn("all the same", said("a throttle", "chain", [time]))
        self.assertIn("does not name loads", said("a throttle", "loads, chain"))
        self.assertIn("neither in the list", said("a moon", "chain"))

    def test_a_hang(self):
        case = dataclasses.replace(scenarios.generate(1, VOCABULARY), command=("run",))
        failure = checks.examine(self.fake("while True: pass"), case, cpu_s=1).failure
        self.assertEqual(checks.HANG, failure.kind)

    def test_failed_expectations_are_for_scenarios_that_have_some(self):
        seeds = {bool([p for p in scenarios.generate(seed, VOCABULARY).keys
                       if p[0] == "expect"]): seed for seed in range(1, 60)}
        self.assertIsNone(self.kind_of("sys.exit(1)", seeds[True]))
        self.assertEqual("exit 1: nothing on standard error",
                         self.kind_of("sys.exit(1)", seeds[False]))


class Server(unittest.TestCase):
    """The server does what the program does."""

    # From the environment, and so long that it has to be stopped.
    SCENARIO = """
        name = "long"
        duration = "100000 s"
        [service.s]
        service_time = "1 ms"
        [client.c]
        arrivals = { process = "poisson", rate = 900 }
        retry = { mode = "standard", from_environment = true }
        """

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="soak-test-")
        self.addCleanup(folder.cleanup)
        self.scenario = Path(folder.name) / "scenario.toml"
        self.scenario.write_text(self.SCENARIO, encoding="utf-8")

    def test_commands_give_what_they_give_as_processes(self):
        for seed in range(1, 12):
            case = scenarios.generate(seed, VOCABULARY)
            with tempfile.TemporaryDirectory(prefix="soak-test-") as temporary:
                scenario = checks.write(case, Path(temporary))
                runs_ = [checks.run(path, case, scenario, Path(temporary) / "out", 1)
                         for path in (PROGRAM, SERVER, SERVER)]
            self.assertEqual(runs_[0], runs_[1], seed)
            self.assertEqual(runs_[0], runs_[2], seed)

    def test_a_variable_of_the_environment_is_for_one_command(self):
        for _ in range(program.SERVERS):
            for value, status in (("x", checks.BAD_INPUT), (None, checks.DONE)):
                environment = {} if value is None else {"AWS_MAX_ATTEMPTS": value}
                words = ["check", self.scenario]
                self.assertEqual(status, program.start(SERVER, words, environment, 20)[0])

    def test_a_command_is_stopped_by_its_limit_of_processor_time(self):
        ended = program.start(SERVER, ["run", self.scenario], {}, 1)
        self.assertEqual((-signal.SIGXCPU, b""), ended[:2])

    def test_a_command_is_stopped_by_its_limit_of_memory(self):
        with unittest.mock.patch.object(program, "MOST_MEMORY_MB", 1):
            status, _, stderr = program.start(SERVER, ["run", self.scenario], {}, 20)
        self.assertEqual(-signal.SIGABRT, status)
        self.assertIn(b"uses more than 1 MB", stderr)
        self.assertEqual(checks.DONE, program.start(SERVER, ["--version"], {}, 20)[0])

    def test_a_command_is_stopped_after_too_long_a_time(self):
        with unittest.mock.patch.object(program, "MOST_WALL_S", 0.1):
            self.assertIsNone(program.start(SERVER, ["run", self.scenario], {}, 20)[0])
        self.assertEqual(checks.DONE, program.start(SERVER, ["--version"], {}, 20)[0])

    def test_two_processes_take_turns(self):
        program.start(SERVER, ["--version"], {}, 20)
        servers = [next(program.mine.servers[SERVER]) for _ in range(2 * program.SERVERS)]
        self.assertEqual(servers[:2], servers[2:])
        self.assertNotEqual(servers[0].process.pid, servers[1].process.pid)


class Shrinking(Fakes):
    CAUSE = {("service", "s0", "slowdown"), ("client", "c0", "retry", "mode")}

    def test_only_the_cause_is_left(self):
        case = next(case for case in (scenarios.generate(seed, VOCABULARY)
                                      for seed in range(1, 500)) if self.CAUSE <= set(case.keys))
        small = shrink(case, lambda c: self.CAUSE <= set(c.keys))
        self.assertEqual(self.CAUSE, set(small.keys))
        self.assertEqual(({}, (), ("run",)), (small.files, small.edits, small.command))

    def test_the_key_that_a_search_varies_goes_if_it_is_not_the_cause(self):
        case = dataclasses.replace(scenarios.generate(1, VOCABULARY), command=(
            "tip", "--trigger", "a.b=1:2", "--vary", "c.d=1,2", "--format", "csv"))
        small = shrink(case, lambda c: "--trigger" in c.command)
        self.assertEqual(("tip", "--trigger", "a.b=1:2", "--format", "csv"), small.command)

    def test_the_number_of_trials_is_limited(self):
        trials = []
        case = scenarios.generate(1, VOCABULARY)
        shrink(case, lambda c: trials.append(c), 7)
        self.assertEqual(7, len(trials))

    def test_a_planted_failure_is_found_saved_and_shrunk(self):
        fake = self.fake("if 'discipline = \"lifo\"' in text: os.abort()\nwrite(1)")
        options = runs.read_options(["--program", str(fake), "--scenarios", "60", "--seed",
                                          "1", "--out", str(self.folder / "found")])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = runs.soak(options)
        self.assertEqual(1, status, output.getvalue())
        self.assertRegex(output.getvalue(), r"\n\d+ failures of 1 kinds\n$")
        (saved,) = (self.folder / "found").glob("*/scenario.toml")
        lines = [line for line in saved.read_text("utf-8").splitlines()
                 if line and not line.startswith(("#", "["))]
        self.assertEqual(['queue.discipline = "lifo"'], lines)
        seed = saved.parent.name.split("-")[1]
        self.assertIn(f"seed {seed}: signal 6", output.getvalue())
        # The seed alone repeats it.
        again = runs.read_options(["--program", str(fake), "--seed-only", seed, "--out",
                                        str(self.folder / "again")])
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(1, runs.soak(again))

    def test_a_long_soak_tells_how_far_it_is(self):
        options = runs.read_options(["--program", str(self.fake("write(1)")), "--scenarios",
                                          "5", "--seed", "1", "--brief"])
        output = io.StringIO()
        with contextlib.redirect_stdout(output), \
                unittest.mock.patch.object(runs, "SCENARIOS_PER_LINE", 2):
            runs.soak(options)
        self.assertRegex(output.getvalue(), r"\n2 scenarios in \d+ s\n4 scenarios in \d+ s\n")

    def test_a_clean_soak_ends_with_status_0(self):
        options = runs.read_options(["--program", str(self.fake("write(1)")), "--scenarios",
                                          "5", "--seed", "1"])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(0, runs.soak(options))
        self.assertIn("\n5 scenarios, ", output.getvalue())
        self.assertNotIn("5 scenarios in ", output.getvalue())
        self.assertIn("Never generated: ", output.getvalue())


if __name__ == "__main__":
    PROGRAM, SERVER = (Path(sys.argv[sys.argv.index(name) + 1]).resolve()
                       for name in ("--program", "--server"))
    VOCABULARY = load_vocabulary(PROGRAM)
    unittest.main(argv=[sys.argv[0]])
