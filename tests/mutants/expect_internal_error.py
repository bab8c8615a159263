"""A program with a mistake must end with exit status 70 and say what is wrong, where and when.

  expect_internal_error.py PROGRAM MUTANT SCENARIO MESSAGE

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import subprocess
import sys
import tempfile

program, mutant, scenario, message = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / "result"
    done = subprocess.run(
        [program, "run", scenario, "--replications", "1", "--no-progress", "--out", str(out)],
        env={**os.environ, "RETRYSIM_MUTANT": mutant},
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 70, f"exit status {done.returncode}, not 70:\n{done.stderr}"
    for part in (message, "seed 1", "replication ", "simulated time "):
        assert part in done.stderr, f"'{part}' is not in the message:\n{done.stderr}"
    assert done.stdout == "", f"results in spite of it:\n{done.stdout}"
    assert not out.exists(), "a result folder in spite of it"
