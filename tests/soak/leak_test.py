#!/usr/bin/python3
"""Does the server of the soak end when a command leaks memory? Only with the address sanitizer.

Usage: leak_test.py --server build/asan/tests/soak_server

SPDX-License-Identifier: MIT
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from soaking import program

SERVER = None


class Leaks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="leak-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def serve(self, *leaks):
        """Has a server do a command for each of `leaks`, which leaks or not; returns its exit
        status, what it answers, and the standard error of each command."""
        errors = [self.folder / str(number) for number in range(len(leaks))]
        requests = [json.dumps({"arguments": ["--version"], "environment": {}, "leaks": leak,
                                "stdout": str(self.folder / "out"), "stderr": str(error)}) + "\n"
                    for leak, error in zip(leaks, errors)]
        done = subprocess.run([SERVER], input="".join(requests), capture_output=True, text=True,
                              env=program.clean_environment(), timeout=300)
        return done.returncode, done.stdout, [e.read_text() for e in errors if e.exists()]

    def test_commands_that_leak_nothing_follow_one_another(self):
        self.assertEqual((0, "0\n0\n", ["", ""]), self.serve(False, False))

    def test_a_leak_ends_the_server_with_a_report(self):
        status, answers, errors = self.serve(False, True, False)
        if program.has_address_sanitizer(SERVER):
            self.assertNotEqual(0, status)
            self.assertEqual("0\n", answers)
            self.assertIn("LeakSanitizer", errors[1])
            self.assertEqual(2, len(errors))
        else:
            self.assertEqual((0, "0\n0\n0\n"), (status, answers))


if __name__ == "__main__":
    SERVER = Path(sys.argv[sys.argv.index("--server") + 1]).resolve()
    unittest.main(argv=[sys.argv[0]])
