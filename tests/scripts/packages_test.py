#!/usr/bin/python3
"""scripts/packages packs nothing but a commit that calls itself one version everywhere, overwrites
nothing of the user's, and finds what does not belong into a package. The packages themselves are
made and tried by nightly/packages.

SPDX-License-Identifier: MIT
"""

import gzip
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from packing import contents, versions  # noqa: E402

NAMING = sorted({path for path, _ in [versions.PROJECT, *versions.WHOLE, *versions.MINOR]} |
                {"CHANGELOG.md"})
MEMBER = contents.Member
COMPLETE = [MEMBER(f"package/{name}", b"text") for name in (
    "LICENSE", "LICENSES.txt", "README.md", "browser.mjs", "browser_thread.mjs", "collect.mjs",
    "disk.mjs", "index.d.ts", "memory.mjs", "node.mjs", "package.json", "retrysim.mjs",
    "retrysim.wasm", "system.mjs", "thread.mjs")]


class InClone(unittest.TestCase):
    """A small repository with the script and all files that name the version."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="retrysim-packages-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.clone = self.folder / "clone"
        for name in [*NAMING, "scripts/packages", ".gitignore"]:
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.clone / name)
        shutil.copytree(ROOT / "scripts/packing", self.clone / "scripts/packing",
                        ignore=shutil.ignore_patterns("__pycache__"))
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.clone, "-c", "user.name=Nobody",
                        "-c", "user.email=nobody@example.org", *arguments], check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "State")

    def edit(self, name, before, after, count=-1):
        text = (self.clone / name).read_text(encoding="utf-8")
        self.assertIn(before, text)
        (self.clone / name).write_text(text.replace(before, after, count), encoding="utf-8")

    def call(self, *arguments):
        return subprocess.run([self.clone / "scripts/packages", *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def assert_fine(self, *arguments):
        done = self.call("--check", *arguments)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return done.stderr

    def assert_refused(self, *arguments, status=1):
        done = self.call(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn("packages: error: ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr


class Versions(InClone):
    def test_every_place_counts(self):
        version = versions.version_of(ROOT)
        minor = version.rpartition(".")[0]
        self.assert_fine()
        for path in NAMING:
            if path == versions.PROJECT[0]:
                continue
            with self.subTest(path):
                text = (self.clone / path).read_text(encoding="utf-8")
                patterns = [p for where, p in [*versions.WHOLE, *versions.MINOR] if where == path]
                place, _ = versions.found(ROOT, path, (patterns or [versions.HEADING])[0])[0]
                line = int(place.rpartition(":")[2]) - 1
                lines = text.split("\n")
                named = version if version in lines[line] else minor
                lines[line] = lines[line].replace(named, "0.1.7")
                (self.clone / path).write_text("\n".join(lines), encoding="utf-8")
                told = self.assert_refused("--check", "--dirty")
                self.assertIn(f"\n{place}: version 0.1.7 is not {named}", told)
                (self.clone / path).write_text(text, encoding="utf-8")

    def test_the_project_alone_is_changed(self):
        self.edit("CMakeLists.txt", versions.version_of(ROOT), "0.9.4", 1)
        told = self.assert_refused("--check", "--dirty")
        for path in NAMING:
            self.assertEqual(path != "CMakeLists.txt", f"\n{path}:" in told, told)

    def test_a_place_that_has_gone(self):
        self.edit("pyproject.toml", "\nversion = ", "\nedition = ")
        self.assertIn("\npyproject.toml: nothing matches",
                      self.assert_refused("--check", "--dirty"))

    def test_dates(self):
        self.edit("CITATION.cff", 'date-released: "20', 'date-released: "19')
        self.assertRegex(self.assert_refused("--check", "--dirty"),
                         r"\nCITATION.cff:\d+: date 19[\d-]+ is not 20[\d-]+\n")
        self.edit("CHANGELOG.md", f"## {versions.version_of(ROOT)}, ", "## Version ")
        self.assertRegex(self.assert_refused("--check", "--dirty"),
                         r'\nCHANGELOG.md:\d+: "Version [\d-]+" is not of the form')

    def test_what_is_no_release_is_called_so(self):
        changelog = self.clone / "CHANGELOG.md"
        released = changelog.read_text(encoding="utf-8").split("## Unreleased\n")[1]
        released = released[released.index("\n## "):]
        for top, is_release in (("## Unreleased\n\n### Added\n\n- One.\n", False),
                                ("## Unreleased\n", True), ("", True)):
            changelog.write_text(f"# Changelog\n\n{top}{released}", encoding="utf-8")
            self.assertEqual("is no release" not in self.assert_fine("--dirty"), is_release, top)


class State(InClone):
    def test_changes_are_refused_unless_allowed(self):
        (self.clone / "build").mkdir()
        (self.clone / "build/log").touch()
        self.assertNotIn("not committed", self.assert_fine())
        (self.clone / "new.txt").touch()
        self.edit("CHANGELOG.md", "# Changelog", "# Changes", 1)
        told = self.assert_refused("--check")
        self.assertIn("\n M CHANGELOG.md\n?? new.txt\n", told)
        self.assertIn("2 changes are not committed, and not in the packages",
                      self.assert_fine("--dirty"))
        self.commit()
        self.assertNotIn("not committed", self.assert_fine())

    def test_without_a_clone(self):
        shutil.rmtree(self.clone / ".git")
        self.assertIn("no clone of the repository", self.assert_refused("--check"))

    def test_arguments(self):
        for arguments in (["rpm"], ["--fast"], ["--out"], ["deb", "--out"]):
            told = self.assert_refused(*arguments, status=2)
            self.assertTrue(told.startswith("usage: packages "), told)
        self.assert_fine("npm", "deb")


class Out(InClone):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def put(self, **files):
        self.out.mkdir(exist_ok=True)
        sums = ""
        for name, text in files.items():
            (self.out / name).write_text(text)
            sums += f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
        (self.out / "SHA256SUMS").write_text(sums)

    def test_what_may_be_there(self):
        self.assert_fine("--out", "out")
        self.assertFalse(self.out.exists())
        self.out.mkdir()
        self.assert_fine("--out", "out")
        self.put(package="bytes", CONTENTS="1 file")
        self.assert_fine("--out", "out")

    def test_what_is_refused(self):
        self.put(package="bytes")
        for name, text in (("notes.txt", "mine"), ("package", "other bytes")):
            before = (self.out / name).read_text() if (self.out / name).exists() else None
            (self.out / name).write_text(text)
            told = self.assert_refused("--check", "--out", "out")
            self.assertIn(f"has other things in it, such as {name}", told)
            # Not only when asked beforehand.
            self.assertEqual(told, self.assert_refused("source", "--out", "out"))
            self.assertEqual((self.out / name).read_text(), text)
            (self.out / name).unlink() if before is None else (self.out / name).write_text(before)
        (self.out / "folder").mkdir()
        self.assertIn("such as folder", self.assert_refused("--check", "--out", "out"))

    def test_sums_of_somebody_else(self):
        self.out.mkdir()
        (self.out / "SHA256SUMS").write_text("my own\n")
        self.assertIn("such as SHA256SUMS", self.assert_refused("--check", "--out", "out"))

    def test_a_file(self):
        self.out.write_text("mine")
        self.assertIn("is no folder", self.assert_refused("--check", "--out", "out"))


class Made(InClone):
    """A source archive, of a project that has nothing to compile."""

    def setUp(self):
        super().setUp()
        self.version = versions.version_of(ROOT)
        (self.clone / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\n"
            f"project(retrysim VERSION {self.version} LANGUAGES NONE)\n")
        (self.clone / "scripts/install_dependencies").write_text("#!/bin/sh\n")
        (self.clone / "scripts/install_dependencies").chmod(0o755)
        self.commit()
        self.out = self.clone / "build/packages"

    def bytes_of_out(self):
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def test_source(self):
        done = self.call("source")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.bytes_of_out()
        name = f"retrysim-{self.version}-source.tar.gz"
        self.assertEqual(sorted(made), ["CONTENTS", "SHA256SUMS", name])
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=self.out, check=True)
        listed = subprocess.run(["git", "-C", self.clone, "ls-files"], check=True, text=True,
                                capture_output=True).stdout.split()
        self.assertEqual([member.name for member in contents.members_of(self.out / name)],
                         sorted(f"retrysim-{self.version}/{path}" for path in listed))
        head = subprocess.run(["git", "-C", self.clone, "rev-parse", "HEAD"], check=True, text=True,
                              capture_output=True).stdout.strip()
        told = made["CONTENTS"].decode()
        title = f"retrysim {self.version}, commit {head}\n\n{name}: "
        self.assertTrue(told.startswith(title), told)
        self.assertIn(f", {len(listed)} files of ", told)
        self.assertIn(told.partition("\n\n")[2], done.stdout)
        # The same commit gives the same bytes, whatever else is in the tree.
        (self.clone / "notes.txt").write_text("mine")
        again = self.call("source", "--dirty")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.bytes_of_out(), made)

    def test_nothing_is_handed_out_if_one_is_wrong(self):
        (self.clone / "program").write_bytes(b"\x7fELF...")
        self.commit()
        self.assertIn(f"retrysim-{self.version}/program is generated",
                      self.assert_refused("source"))
        self.assertFalse(self.out.exists())
        (self.clone / "program").unlink()
        with (self.clone / "CMakeLists.txt").open("a") as cmake:
            cmake.write("message(FATAL_ERROR broken)\n")
        self.commit()
        self.assertIn("broken", self.assert_refused("source"))
        self.assertFalse(self.out.exists())

    def test_programs_that_are_missing(self):
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("bash", "dirname", "git", "gzip", "sh", "tar"):
            (programs / name).symlink_to(shutil.which(name))
        done = subprocess.run([self.clone / "scripts/packages", "source"], text=True, check=False,
                              capture_output=True, env={**os.environ, "PATH": str(programs)})
        self.assertEqual(done.returncode, 1)
        self.assertIn("packages: error: these programs are missing: cmake\n", done.stderr)


class Contents(unittest.TestCase):
    def faults(self, *more, without=(), kind="npm", names=None):
        members = [member for member in COMPLETE if member.name not in without]
        return list(contents.faults(kind, [*members, *more], ["/home/me/tree"], names))

    def test_what_belongs_there(self):
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.faults(kind="source", names=[m.name for m in COMPLETE],
                                     without=["package/retrysim.wasm"]),
                         ["package/retrysim.wasm is missing"])

    def test_more_and_less(self):
        self.assertEqual(self.faults(MEMBER("package/tests/x.mjs", b"text")),
                         ["package/tests/x.mjs does not belong there"])
        self.assertEqual([fault for fault in self.faults(
            *(MEMBER(f"retrysim/{name}.py", b"text") for name in ("x", "tests/x")), kind="wheel")
            if fault.startswith("retrysim/")], ["retrysim/tests/x.py does not belong there"])
        self.assertEqual(self.faults(without=["package/LICENSE"]),
                         ["nothing is called package/LICENSE"])
        self.assertEqual(self.faults(COMPLETE[0]), ["package/LICENSE is there twice"])

    def test_what_a_file_must_not_be(self):
        name = "package/LICENSE"
        for member, fault in (
                (MEMBER(name, b"at /home/me/tree/x.cpp"), "contains the path /home/me/tree"),
                (MEMBER(name, gzip.compress(b"/home/me/tree")), "contains the path /home/me/tree"),
                (MEMBER(name, b""), "is empty"),
                (MEMBER(name, b"text", owner="me"), "belongs to me"),
                (MEMBER(name, b"text", mode=0o666), "can be written by others (666)")):
            self.assertEqual(self.faults(member, without=[name]), [f"{name} {fault}"])
        name = "package/node.mjs"
        self.assertEqual(self.faults(MEMBER(name, b"// SPDX-License-Identifier: " + b"GPL-2.0"),
                                     without=[name]), [f"{name} has the licence GPL-2.0"])

    def test_links(self):
        name = "package/README.md"
        for text, expected in (
                ("[page](https://example.org) and `f(x)[]`", []),
                ("[a\npage](../x.md#y)", [f"{name} has a dead link, [a\npage](../x.md#y)"])):
            self.assertEqual(self.faults(MEMBER(name, text.encode()), without=[name]), expected)

    def test_sources_are_written_by_people(self):
        names = [member.name for member in COMPLETE]
        self.assertEqual(self.faults(kind="source", names=names),
                         ["package/retrysim.wasm is generated"])
        program = MEMBER("package/LICENSE", b"\x7fELF...")
        self.assertIn("package/LICENSE is generated", self.faults(
            program, without=["package/LICENSE"], kind="source", names=names))

    def test_members_and_their_description(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "x.tgz"
            with tarfile.open(package, "w:gz") as tar:
                for name, size in (("x/README.md", 1500), ("x/bin/run", 7), ("x/lib/a.py", 3)):
                    info = tarfile.TarInfo(name)
                    info.size = size
                    tar.addfile(info, io.BytesIO(b"x" * size))
            members = contents.members_of(package)
            self.assertEqual([member.name for member in members],
                             ["x/README.md", "x/bin/run", "x/lib/a.py"])
            lines = list(contents.described(package, members))
        self.assertRegex(lines[0], r"^x\.tgz: \d+ bytes, 3 files of 1\.5 kB$")
        self.assertEqual(lines[1:], [
            "  programs:", "    x/bin/run (7 bytes)", "  documents:", "    x/README.md (1.5 kB)",
            "  others, by folder:", "    x/lib: 1 (a.py)"])


if __name__ == "__main__":
    unittest.main()
