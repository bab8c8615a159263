#!/usr/bin/python3
"""Does --max-memory hold, whatever piles up? The most memory of runs is compared with it.

  memory_test.py PROGRAM [NAME...]

SPDX-License-Identifier: MIT
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import by_clock  # noqa: E402
import small  # noqa: E402

NO_TIMEOUT_S = 600


class Memory(unittest.TestCase):
    def test_it_stays_within_the_limit(self):
        for kind in small.MEMORY:
            if NAMES and kind.__name__ not in NAMES:
                continue
            case = small.case(kind)
            with self.subTest(case.kind), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "a.toml").write_text(case.text())
                found = by_clock.measure(PROGRAM, "run", case.limit_mib, folder, NO_TIMEOUT_S)
                print(f"{case.kind:20} {found.mib:5.0f} of {case.limit_mib} MiB", flush=True)
                self.assertEqual(found.status, 5, found.said)
                # It has found out by itself, before anybody else did.
                self.assertIn("in progress take", found.said)
                self.assertLessEqual(found.mib, case.limit_mib + by_clock.ALLOWED_MIB)


if __name__ == "__main__":
    PROGRAM, NAMES = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
