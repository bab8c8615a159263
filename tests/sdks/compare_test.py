#!/usr/bin/python3
"""The comparison itself: it notices every kind of difference, and sequences are as they should be.

No SDK takes part: what the program decides is turned into what an SDK would have reported, and then
changed.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import copy
import json
import subprocess
import sys
import unittest

import compare
import oracles
import sequences
import strategy

PROGRAM = None


def as_reported(rows):
    """The rows of a call as a driver would report the same decisions."""
    attempts = []
    for row in rows:
        attempts.append({"delay": row["delay_s"] if row["decision"] == "retry" else None,
                         "waited": row["send_wait_s"], "quota": row["quota"],
                         "measured_rate": row["measured_rate"], "fill_rate": row["fill_rate"]})
    return {"succeeded": rows[-1]["decision"] == "success", "attempts": attempts}


class Differences(unittest.TestCase):
    def setUp(self):
        oracle = oracles.named(["botocore-adaptive"])[0]
        for seed in range(1, 100):
            calls = strategy.play(PROGRAM, oracle, sequences.make(seed, oracle))
            for self.rows in calls:
                if len(self.rows) > 1 and any(row["send_wait_s"] for row in self.rows):
                    self.theirs = as_reported(self.rows)
                    return
        self.fail("no call with a retry and a wait")

    def found(self, change):
        theirs = copy.deepcopy(self.theirs)
        change(theirs)
        return compare.differences(theirs, self.rows)

    def test_the_same_is_no_difference(self):
        self.assertEqual([], self.found(lambda call: None))

    def test_each_value_counts(self):
        changes = {"delay": 2e-9, "quota": 1, "measured_rate": 1e-4, "fill_rate": 1e-4,
                   "waited": 1e-6}
        for name, amount in changes.items():
            def change(call, name=name, amount=amount):
                call["attempts"][0][name] += amount
            with self.subTest(name):
                self.assertEqual(1, len(self.found(change)))

    def test_a_missing_delay_an_attempt_more_and_another_end_count(self):
        def no_delay(call):
            call["attempts"][0]["delay"] = None

        def other_end(call):
            call["succeeded"] = not call["succeeded"]
        for change in (no_delay, other_end, lambda call: call["attempts"].pop()):
            self.assertEqual(1, len(self.found(change)))

    def test_another_preset_is_noticed(self):
        """What agrees with the preset of one SDK does not agree with that of another."""
        oracle = oracles.named(["ruby-standard"])[0]
        wrong = oracles.named(["go-v2-standard"])[0]
        sequence = sequences.make(2, oracle)
        theirs = [as_reported(rows) for rows in strategy.play(PROGRAM, oracle, sequence)]
        result = compare.Comparison(wrong, "0")
        result.add(sequence, theirs, strategy.play(PROGRAM, wrong, sequence))
        self.assertLess(result.agreements, result.calls)
        self.assertIn("--seed 2", result.differences[0])


class Sequences(unittest.TestCase):
    def test_the_same_seed_gives_the_same_sequence_and_another_seed_another(self):
        oracle = oracles.ORACLES[0]
        self.assertEqual(sequences.make(1, oracle), sequences.make(1, oracle))
        self.assertNotEqual(sequences.make(1, oracle), sequences.make(2, oracle))

    def test_a_hundred_sequences_hold_everything(self):
        oracle = oracles.ORACLES[0]
        seen = collections.Counter()
        for seed in range(100):
            sequence = sequences.make(seed, oracle)
            seen[sequence["service"]] += 1
            seen["limit", sequence["max_attempts"]] += 1
            for call in sequence["calls"]:
                for answer in call["answers"]:
                    seen.update([answer.get("transport"), answer.get("status"), answer.get("code")])
                    seen.update(list(answer.get("headers", {})))
        for expected in [*oracle.services, *sequences.TRANSPORTS, *sequences.STATUSES,
                         *sequences.CODES, "retry-after", "x-amz-retry-after", ("limit", 12)]:
            self.assertGreater(seen[expected], 0, expected)


class Releases(unittest.TestCase):
    def test_the_program_lists_the_release_of_each_oracle(self):
        words = [PROGRAM, "list", "sdks", "--format", "json"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        listed = json.loads(done.stdout)
        for oracle in oracles.ORACLES:
            rows = [row for row in listed
                    if (row["sdk"], row["mode"], row["revision"], row["api"])
                    == (oracle.sdk, oracle.mode, oracle.revision or "-", "default")]
            self.assertEqual([oracle.release], [row["compared_with"] for row in rows], oracle.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=[sys.argv[0], *rest])
