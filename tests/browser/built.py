"""Whether scripts/page or scripts/npm has built what a test is about, and from these sources.

SPDX-License-Identifier: MIT
"""

import os
import sys

SOURCES = ("include", "scenarios", "scripts/browser", "scripts/cmake", "scripts/plotting", "sim")
SKIPPED = 77


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def need(built, root, script="scripts/page"):
    """Skips the test if a file is missing, or older than what it is made from."""
    if not built.exists():
        skip(f"there is no {built}; {script} makes it")
    made = built.stat().st_mtime
    for source in SOURCES:
        for folder, _, names in os.walk(root / source):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.getmtime(path) > made and not name.endswith((".md", ".png", ".pyc")):
                    skip(f"{built} is older than {path}; {script} makes it anew")
