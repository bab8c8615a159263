#!/usr/bin/python3
"""scripts/install_dependencies waits for apt's locks and tries downloads again, and so does
scripts/with_retries for everything else. A stub stands in for apt-get.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# Fails with the text and status of the next line of `plan`, as long as there is one.
STUB = """#!/bin/bash
echo "${0##*/} $*" >>"$FOLDER/calls"
n=$(($(cat "$FOLDER/n") + 1)) && echo "$n" >"$FOLDER/n"
line=$(sed -n "${n}p" "$FOLDER/plan")
[[ -z $line ]] && exit 0
echo "$line" >&2
exit 100
"""
VERSIONS = """#!/bin/sh
printf 'Package: %s\\nVersion: 1:1.2-1\\n\\nPackage: %s\\nVersion: 1:1.2-1+deb12u1\\n' "$3" "$3"
"""
LOCK = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
NETWORK = "E: Failed to fetch http://example.org/Packages  Temporary failure resolving"


class Retries(unittest.TestCase):
    def run_with(self, plan, *command):
        """The status, the calls of apt-get and the errors."""
        with tempfile.TemporaryDirectory(prefix="retrysim-apt-") as name:
            folder = pathlib.Path(name)
            for stub, text in (("apt-get", STUB), ("dpkg-query", "#!/bin/sh\nexit 1\n"),
                               ("apt-cache", VERSIONS),
                               ("sudo", '#!/bin/sh\nexec "$@"\n')):
                (folder / stub).write_text(text)
                (folder / stub).chmod(0o755)
            (folder / "plan").write_text("".join(f"{line}\n" for line in plan))
            (folder / "n").write_text("0")
            done = subprocess.run(
                command, env={**os.environ, "FOLDER": name, "RETRYSIM_RETRY_PAUSE": "0",
                              "PATH": f"{name}:{os.environ['PATH']}"},
                capture_output=True, text=True, check=False, timeout=60)
            calls = folder / "calls"
            return (done.returncode, calls.read_text().splitlines() if calls.exists() else [],
                    done.stderr)

    def install(self, plan):
        return self.run_with(plan, SCRIPTS / "install_dependencies", "coverage")

    def test_apt_waits_for_locks(self):
        status, calls, _ = self.install([])
        self.assertEqual(status, 0)
        self.assertEqual(len(calls), 2)
        for call in calls:
            self.assertRegex(call, r"-o DPkg::Lock::Timeout=[1-9]\d\d+\b")

    def test_a_lock_that_apt_does_not_wait_for_is_waited_for(self):
        status, calls, _ = self.install([LOCK] * 9)
        self.assertEqual(status, 0)
        self.assertEqual(len(calls), 11)

    def test_a_download_is_tried_again(self):
        status, calls, _ = self.install([NETWORK, NETWORK])
        self.assertEqual(status, 0)
        self.assertEqual(["update" in c for c in calls], [True, True, True, False])

    def test_but_not_for_ever(self):
        status, calls, errors = self.install([NETWORK] * 99)
        self.assertEqual((status, len(calls)), (1, 4))
        self.assertIn("Temporary failure resolving", errors)
        self.assertTrue(errors.endswith("install_dependencies: error: apt-get failed\n"), errors)

    def test_other_commands(self):
        retries = SCRIPTS / "with_retries"
        status, calls, _ = self.run_with([NETWORK], retries, "apt-get", "source", "a b")
        self.assertEqual((status, calls), (0, ["apt-get source a b"] * 2))
        status, calls, errors = self.run_with([NETWORK] * 9, retries, "apt-get")
        self.assertEqual((status, len(calls)), (100, 4))
        self.assertEqual(errors.splitlines()[-1],
                         "with_retries: error: tried four times in vain: apt-get")

    def test_a_source_that_a_mirror_does_not_have_is_taken_from_an_older_version(self):
        with tempfile.TemporaryDirectory(prefix="retrysim-apt-") as name:
            (pathlib.Path(name) / "scripts").symlink_to(SCRIPTS)
            script = (f"cd {name}; name=test; log=log; . scripts/browser/tools.sh; "
                      "download_source zlib")
            newest = "apt-get --quiet source --download-only zlib"
            for failures, expected in ((0, [newest]), (4, [newest] * 4 + [f"{newest}=1:1.2-1"])):
                status, calls, _ = self.run_with([NETWORK] * failures, "bash", "-c", script)
                self.assertEqual((status, calls), (0, expected))
            status, calls, _ = self.run_with([NETWORK] * 99, "bash", "-c", script)
            self.assertEqual((status, len(calls)), (1, 8))

    def test_whatever_downloads_is_tried_again(self):
        downloads = re.compile(r"\b(npm ci|npm install|debootstrap --|go mod download|"
                               r"apt-get (--\S+ )*(update|install|source)|curl |wget )")
        found = 0
        for place in ("scripts", "scripts/browser", "tests/sdks", ".ci"):
            for path in (SCRIPTS.parent / place).iterdir():
                text = path.read_bytes()[:1_000_000] if path.is_file() else b""
                if not text.startswith(b"#!/bin/bash") and path.suffix != ".sh":
                    continue
                for line in text.decode().splitlines():
                    if line.lstrip().startswith("#") or not downloads.search(line):
                        continue
                    found += 1
                    with self.subTest(f"{path.name}: {line}"):
                        self.assertRegex(line, r"with_retries|\$retries")
        self.assertGreaterEqual(found, 5)


if __name__ == "__main__":
    unittest.main()
