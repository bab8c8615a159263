#!/usr/bin/python3
"""Tests of scripts/corpus: does it keep scenarios as they are, and say what has changed and why?

Usage: corpus_test.py --program build/ci/retrysim

SPDX-License-Identifier: MIT
"""

import argparse
import contextlib
import dataclasses
import io
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from soaking import commands, corpus, scenarios
from soaking.vocabulary import Vocabulary, load as load_vocabulary

PROGRAM = None
VOCABULARY = None

# Gives checksums that change where a text stands in the scenario. Knows two metrics.
RUNNER = """#!/usr/bin/python3
import sys, zlib
text = open(sys.argv[1]).read()
print("shown\\tmetric load")
print("shown\\tmetric success")
for block in text.split("=== ")[1:]:
    number, _, body = block.partition("\\n")
    number = number.split()[0]
    sums = [f"{{zlib.crc32(f'{{part}}{{body}}'.encode()):08x}}" for part in range(5)]
    {body}
    print(number, 100, "11", *sums, sep="\\t")
"""


class Corpora(unittest.TestCase):
    """A small corpus in a folder of its own, and programs that run it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="corpus-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Small enough for what is found to be read by eye; not all that the tables have.
        for name, value in (("SIZE", 60), ("FEWEST_USES", 0), ("BATCH", 20)):
            before = getattr(corpus, name)
            setattr(corpus, name, value)
            self.addCleanup(setattr, corpus, name, before)

    def runner(self, body="pass"):
        path = self.folder / f"runner{len(list(self.folder.iterdir()))}"
        path.write_text(RUNNER.format(body=body), encoding="utf-8")
        path.chmod(0o755)
        return path

    def call(self, runner, *arguments):
        """(exit status, what is printed)"""
        options = corpus.read_options(["--runner", str(runner), "--program", str(PROGRAM),
                                       "--folder", str(self.folder), *arguments])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = corpus.check(options, corpus.Corpus(self.folder), VOCABULARY)
        return status, output.getvalue()

    def texts(self):
        return {e.number: e.written() for e in corpus.Corpus(self.folder).entries}


class Texts(unittest.TestCase):
    def test_scenarios_are_read_as_they_were_written(self):
        entries = []
        for seed in range(1, 120):
            case = scenarios.generate(seed, VOCABULARY, seed % 2 == 0)
            case.edits = ()
            entries.append(corpus.Entry(seed, case.environment, commands.scenario_text(case),
                                        case.files))
            self.assertEqual(case.keys, entries[-1].case().keys)
        self.assertTrue(any(e.files for e in entries) and any(e.environment for e in entries))
        self.assertEqual(entries, corpus.read_entries("".join(e.written() for e in entries)))


class Changes(Corpora):
    def setUp(self):
        super().setUp()
        self.sound = self.runner()
        self.assertEqual(0, self.call(self.sound, "--record")[0])

    def test_nothing_has_changed(self):
        status, output = self.call(self.sound)
        self.assertEqual((0, "0 of 60 scenarios changed\n"), (status, output))

    def test_the_key_that_explains_a_change_comes_first(self):
        changed = self.runner("if 'discipline = \"lifo\"' in body: sums[0] = sums[1] = '0'")
        status, output = self.call(changed)
        self.assertEqual(1, status)
        count = sum('discipline = "lifo"' in text for text in self.texts().values())
        self.assertGreater(count, 0)
        self.assertIn(f"{count} of 60 scenarios changed\n{count} have other events: ", output)
        self.assertIn(f'\n  service.*.queue.discipline = "lifo": {count} of {count} with it '
                      f"changed, 0 of {60 - count} without\n", output)

    def test_words_and_figures_are_told_apart(self):
        words = self.runner("if int(number) % 2: sums[3] = '0'")
        self.assertRegex(self.call(words)[1], r"have the same figures and other words: ")
        figures = self.runner("if int(number) % 2: sums[1] = sums[3] = '0'")
        output = self.call(figures)[1]
        self.assertIn("have the same events and other figures: ", output)
        self.assertNotIn("other words", output)

    def test_a_scenario_that_is_no_longer_valid_is_reported_and_replaced(self):
        before = self.texts()
        gone = min(before)
        refusing = self.runner(f"if number == '{gone}':\n"
                               "        print(number, 'error', 'x is gone', sep='\\t'); continue")
        status, output = self.call(refusing)
        self.assertEqual(1, status)
        self.assertIn(f"1 no longer run: {gone}\n    x is gone\n", output)
        self.assertEqual(0, self.call(refusing, "--record")[0])
        after = self.texts()
        self.assertNotIn(gone, after)
        self.assertEqual(60, len(after))
        del before[gone]
        self.assertEqual(before, {n: text for n, text in after.items() if n in before})
        self.assertEqual(0, self.call(refusing)[0])

    def test_the_corpus_grows_and_keeps_what_there_is(self):
        before = self.texts()
        self.assertEqual(0, self.call(self.sound, "--record", "--extend", "90")[0])
        after = self.texts()
        self.assertEqual(90, len(after))
        self.assertEqual(before, {n: text for n, text in after.items() if n in before})

    def test_a_new_key_is_missed_and_then_takes_part(self):
        key = dataclasses.replace(VOCABULARY.by_scope["service.*"]["slowdown"], name="new", when="")
        more = Vocabulary(VOCABULARY.keys + [key], VOCABULARY.presets, VOCABULARY.distributions,
                          VOCABULARY.metrics)
        known = corpus.Corpus(self.folder)
        rare = corpus.Coverage.uses
        coverage = corpus.coverage_of(known.entries, more)
        self.assertIn(("service.*.new", "service.*.new", 0), list(rare(coverage)))
        corpus.FEWEST_USES = 1
        extension = corpus.Extension(known, self.sound, more, 60)
        extension.rare = {"service.*.new": ("service.*.new", 0)}
        self.assertGreater(extension.add_batch(), 0)
        self.assertNotIn("service.*.new", corpus.rare_uses(extension.coverage))

    def test_a_new_metric_changes_nothing_that_is_recorded_and_is_missed(self):
        text = self.sound.read_text().replace('print("shown\\tmetric load")', 'print("shown\\t'
                                              'metric load")\nprint("shown\\tmetric new")')
        self.assertIn("metric new", text)
        newer = self.runner()
        newer.write_text(text.replace('"11"', '"111"'))
        status, output = self.call(newer)
        self.assertEqual(1, status)
        self.assertIn("0 of 60 scenarios changed\nmetric new is new and not recorded\n", output)

    def test_a_program_that_crashes_is_said_to(self):
        crashing = self.runner("if int(number) >= 3: raise SystemExit('out')")
        with self.assertRaisesRegex(SystemExit, "status 1 at scenario .*out"):
            self.call(crashing)


class Options(unittest.TestCase):
    def test_options_that_make_no_sense_together(self):
        for words in (["--extend", "5"], ["--record", "--every", "2"]):
            with contextlib.redirect_stderr(io.StringIO()), \
                    self.assertRaises(SystemExit) as ended:
                corpus.read_options(["--runner", "a", "--program", "b", *words])
            self.assertEqual(2, ended.exception.code)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program.resolve()
    VOCABULARY = load_vocabulary(PROGRAM)
    unittest.main(argv=[sys.argv[0], *rest])
