#!/usr/bin/python3
"""The Debian packages: what they say of themselves, what is in them, and whether they work from a
folder.

    package_test.py --folder FOLDER --root FOLDER --version VERSION

FOLDER is where cpack has left the packages.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import terminal

OPTIONS = None

SCENARIO = """name = "small"
duration = "20s"
replications = 2
[service.api]
servers = 2
service_time = "10ms"
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 50 }
attempt_timeout = "1s"
retry.mode = "standard"
"""


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def package_file(name="retrysim"):
    """The newest package of that name in the folder."""
    found = sorted(OPTIONS.folder.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
    return found[-1]


class Control(unittest.TestCase):
    def field(self, name):
        return output_of("dpkg-deb", "--field", package_file(), name).strip()

    def test_fields(self):
        self.assertEqual(self.field("Package"), "retrysim")
        self.assertEqual(self.field("Version"), OPTIONS.version + "-1")
        self.assertEqual(self.field("Architecture"),
                         output_of("dpkg", "--print-architecture").strip())
        self.assertEqual(self.field("Section"), "science")
        self.assertEqual(self.field("Priority"), "optional")
        self.assertRegex(self.field("Maintainer"), r"^[\w ]+ <[\w.+-]+@[\w.-]+>$")
        self.assertGreater(len(self.field("Description").splitlines()), 5)

    def test_dependencies(self):
        # Those of the program are found, not written down: the package was made by dpkg-shlibdeps.
        needed = self.field("Depends")
        for library in ("libc6", "libstdc++6", "libboost-program-options", "libfmt"):
            self.assertRegex(needed, rf"(^|, ){re.escape(library)}[\w.-]* \(>= ")
        self.assertIn("python3:any", needed)
        recommended = self.field("Recommends")
        for module in ("matplotlib", "numpy"):
            self.assertIn(f"python3-{module}", recommended)
        # What find_package(retrysim) looks for.
        config = (OPTIONS.root / "scripts" / "cmake" / "retrysimConfig.cmake.in").read_text()
        suggested = self.field("Suggests")
        for name in re.findall(r"find_dependency\((\w+)|pkg_check_modules\((\w+)", config):
            name = (name[0] or name[1]).lower().replace("pkgconfig", "pkg-config")
            if name != "threads":  # of the C library
                self.assertIn(name, suggested)
        self.assertIn("librandom123-dev", suggested)
        # Ranks load it; everybody else does without, and starts faster.
        self.assertNotIn("openmpi", needed)
        self.assertIn("openmpi-bin", suggested)


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.root = cls.folder / "root"
        subprocess.run(["dpkg-deb", "--extract", package_file(), cls.root], check=True)
        cls.bin = cls.root / "usr" / "bin"
        cls.environment = {"PATH": f"{cls.bin}:/usr/bin:/bin", "HOME": str(cls.folder),
                           "LC_ALL": "C.UTF-8"}
        (cls.folder / "small.toml").write_text(SCENARIO)

    def run_in_folder(self, *command):
        return output_of(*command, cwd=self.folder, env=self.environment)

    def below_usr(self, pattern):
        return sorted(path.relative_to(self.root / "usr").as_posix()
                      for path in (self.root / "usr").glob(pattern))

    def test_owners_and_permissions(self):
        for line in output_of("dpkg-deb", "--contents", package_file()).splitlines():
            mode, owner, *_, name = line.split(" -> ")[0].split()
            self.assertEqual(owner, "root/root", name)
            expected = {"d": "drwxr-xr-x", "l": "lrwxrwxrwx"}
            executable = "bin/" in name or name.endswith("/plot.py")
            plain = "-rwxr-xr-x" if executable else "-rw-r--r--"
            self.assertEqual(mode, expected.get(mode[0], plain), name)

    def test_nothing_but_what_belongs_there(self):
        places = {"/".join(name.split("/")[:2]) for name in self.below_usr("**/*")
                  if "/" in name}
        self.assertEqual(places, {"bin/retrysim", "bin/retrysim-plot", "include/retrysim",
                                  "share/bash-completion", "share/doc", "share/man",
                                  "share/retrysim", *self.below_usr("lib*/*")})

    def test_scenarios_headers_and_documentation(self):
        def shipped(pattern):
            return {path.name for path in OPTIONS.root.glob(pattern)}

        def packed(pattern):
            return {path.name for path in (self.root / "usr").glob(pattern)}

        self.assertEqual(packed("share/retrysim/scenarios/*"),
                         shipped("scenarios/*.toml") | shipped("scenarios/*.csv") |
                         shipped("scenarios/*.json"))
        self.assertEqual(packed("include/retrysim/*"), shipped("include/retrysim/*.hpp"))
        self.assertEqual(packed("share/retrysim/plotting/*"),
                         shipped("scripts/plotting/*.py") | {"looks.json"})
        self.assertEqual(packed("share/doc/retrysim/*"), {
            "copyright", "changelog.gz", "changelog.Debian.gz", "tutorial.md"})
        pages = self.root / "usr/share/doc/retrysim"
        tutorial = (pages / "tutorial.md").read_text(encoding="utf-8")
        self.assertIn("retrysim run payments.toml --twin\n", tutorial)
        for text in (tutorial, output_of("zcat", pages / "changelog.gz")):
            self.assertEqual(re.findall(r"\]\((?!https?:)[^)]*\)", text), [], "dead links")
        self.assertLessEqual({"retrysim.1.gz", "retrysim-run.1.gz", "retrysim-plot.1.gz"},
                             packed("share/man/man1/*"))
        self.assertEqual(packed("share/man/man5/*"), {"retrysim-scenario.5.gz"})

    def test_program_and_pictures(self):
        self.assertEqual(self.run_in_folder("retrysim", "--version"),
                         f"retrysim {OPTIONS.version}\n")
        self.run_in_folder("retrysim", "run", "small.toml", "--quiet")
        scenario = self.root / "usr" / "share" / "retrysim" / "scenarios" / "traffic-trace.toml"
        self.run_in_folder("retrysim", "check", scenario)  # with the CSV file beside it
        pictures = self.run_in_folder("retrysim-plot", "results/small").split()
        self.assertIn("results/small/overview.png", pictures)
        for picture in pictures:
            self.assertEqual((self.folder / picture).read_bytes()[:4], b"\x89PNG")
        self.assertEqual(self.below_usr("**/__pycache__"), [])

    def test_manual_of_the_pictures(self):
        usage = self.run_in_folder("retrysim-plot", "--help")
        self.assertIn("usage: retrysim-plot", usage)
        options = set(re.findall(r"--[\w-]+", usage))
        self.assertLessEqual({"--format", "--out"}, options)
        page = self.root / "usr" / "share" / "man" / "man1" / "retrysim-plot.1.gz"
        text = output_of("zcat", page).replace("\\-", "-")
        for option in options:
            self.assertIn(option, text)
        if shutil.which("man"):
            shown = subprocess.run(["man", "--warnings", "--local-file", page], text=True,
                                   capture_output=True, env={**os.environ, "MANPAGER": "cat"})
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))

    def test_completion(self):
        scripts = self.root / "usr" / "share" / "bash-completion" / "completions"
        script = scripts / "retrysim"
        with terminal.Bash(self.folder, self.environment["PATH"]) as bash:
            bash.run(f"source {script}")
            self.assertEqual(bash.completions("retrysim run sm"), "retrysim|run|small.toml|")
            self.assertEqual(bash.completions("retrysim run small.toml --set client.w"),
                             "retrysim|run|small.toml|--set|client.web.|")
        with terminal.Bash(self.folder, self.environment["PATH"]) as bash:
            bash.run(f"source {scripts / 'retrysim-plot'}")
            self.assertEqual(bash.completions("retrysim-plot --form"), "retrysim-plot|--format|")

    def test_cmake_finds_the_library(self):
        found = subprocess.run(
            ["cmake", "-S", OPTIONS.root / "tests" / "consumer", "-B", self.folder / "consumer",
             f"-DCMAKE_PREFIX_PATH={self.root / 'usr'}"], capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stderr)
        cache = (self.folder / "consumer" / "CMakeCache.txt").read_text()
        self.assertIn(f"retrysim_DIR:PATH={self.root}", cache)


class PythonPackage(unittest.TestCase):
    """python3-retrysim, without the other package."""

    @classmethod
    def setUpClass(cls):
        if not list(OPTIONS.folder.glob("python3-retrysim_*.deb")):
            raise unittest.SkipTest("the build tree has no Python module")
        cls.package = package_file("python3-retrysim")
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run(["dpkg-deb", "--extract", cls.package, cls.folder / "root"], check=True)
        (cls.folder / "small.toml").write_text(SCENARIO)

    def test_fields(self):
        def field(name):
            return output_of("dpkg-deb", "--field", self.package, name).strip()

        self.assertEqual(field("Version"), OPTIONS.version + "-1")
        self.assertEqual(field("Section"), "python")
        self.assertRegex(field("Depends"), r"(^|, )libc6 \(>= ")
        self.assertRegex(field("Depends"), r"python3 \(>= 3\.\d+\), python3 \(<< 3\.\d+\)")
        self.assertIn("python3-numpy", field("Depends"))
        self.assertNotIn("openmpi", field("Depends"))
        self.assertGreater(len(field("Description").splitlines()), 3)

    def test_contents(self):
        modules = self.folder / "root" / "usr" / "lib" / "python3" / "dist-packages"
        packed = {path.name for path in (modules / "retrysim").iterdir()}
        shipped = {path.name for path in (OPTIONS.root / "sim" / "python" / "retrysim").iterdir()
                   if path.suffix in (".py", ".pyi", ".typed")}
        engine = {name for name in packed if name.startswith("_engine.cpython-")}
        self.assertEqual(len(engine), 1)
        self.assertEqual(packed - engine, shipped | {"plotting"})
        for line in output_of("dpkg-deb", "--contents", self.package).splitlines():
            mode, owner, *_, name = line.split()
            self.assertEqual((mode, owner), ("drwxr-xr-x" if mode[0] == "d" else "-rw-r--r--",
                                             "root/root"), name)
        places = {path.relative_to(self.folder / "root").as_posix()
                  for path in (self.folder / "root").rglob("*") if path.is_file()}
        self.assertEqual({name for name in places if "/doc/" not in name
                          and not name.startswith("usr/lib/python3/dist-packages/retrysim/")},
                         set())

    def test_it_works(self):
        code = ("import retrysim; r = retrysim.run('small.toml'); print(len(r['replications']) > 0,"
                " retrysim.__version__); r.plot(); print(len(r['summary'].to_pandas()) > 0)")
        told = output_of("/usr/bin/python3", "-B", "-c", code, cwd=self.folder, env={
            "PYTHONPATH": str(self.folder / "root/usr/lib/python3/dist-packages"),
            "HOME": str(self.folder), "PATH": "/usr/bin:/bin", "MPLBACKEND": "agg"})
        self.assertEqual(told.split(), ["True", OPTIONS.version, "True"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.root = OPTIONS.root.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
