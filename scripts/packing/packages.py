"""Makes the packages of a release and tries them; see scripts/packages.

SPDX-License-Identifier: MIT
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from packing import contents, versions  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("source", "deb", "python", "npm")
DESCRIPTION = """Makes the packages of a release: the source archive, the Debian packages, the
source distribution and the wheel for Python, and the npm package; all of them unless some are
named. They are made of what HEAD has, in build/packaging, so changes that are not committed are not
in them: then the script refuses, unless --dirty allows it. It looks for what does not belong into a
package, installs each into an empty folder, runs a shipped scenario there and compares the bytes of
the results with those of the program that was built. Only if all is well are the packages put into
a folder, with SHA256SUMS and CONTENTS, which lists what is in each. Takes a quarter of an hour on
two free processors, and downloads 300 MB for npm unless build/wasm has them."""
LISTS = ("SHA256SUMS", "CONTENTS")
# Without random calls of a network or a clock, with a fault, and of a second.
SCENARIO = "deploy"
RUN = ["--set", "replications=2"]
# What scripts/install_dependencies installs for each kind, and programs that must be there then.
PURPOSES = {"source": [], "deb": ["python"], "python": ["plot", "python", "wheel"],
            "npm": ["page"]}
TOOLS = {"source": ["cmake", "gzip", "tar"],
         "deb": ["cmake", "cpack", "dpkg", "dpkg-deb", "dpkg-shlibdeps", "gzip", "help2man", "tar"],
         "python": ["cmake", "gzip", "tar"],
         "npm": ["cmake", "gzip", "node", "npm", "npx", "tar"]}


class Failure(Exception):
    """Something that the user is told, and that ends the script with status 1."""


def note(text):
    print(f"packages: {text} ({time.monotonic() - STARTED:.0f} s)", file=sys.stderr)


def run(*command, cwd, **more):
    """What a command prints; if it fails, the end of that and of its errors is shown."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **more)
    if done.returncode != 0:
        shown = (done.stdout + done.stderr).splitlines()[-60:]
        words = " ".join(shlex.quote(str(word)) for word in command)
        raise Failure("\n".join([f"status {done.returncode} of {words}", *shown]))
    return done.stdout


def git(*arguments):
    return run("git", "-C", ROOT, *arguments, cwd=ROOT).rstrip("\n")


def read_options(arguments):
    parser = argparse.ArgumentParser(prog="packages", description=DESCRIPTION)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where they go (default: build/packages of the project); a folder "
                        "that has anything but what this script has put there is refused")
    parser.add_argument("--dirty", action="store_true",
                        help="pack HEAD although there are changes that are not committed")
    parser.add_argument("--check", action="store_true",
                        help="only look whether packages could be made: versions, changes, DIR")
    options = parser.parse_args(arguments)
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"'{kind}' is none of {', '.join(KINDS)}")
    options.kinds = [kind for kind in KINDS if kind in options.kinds or not options.kinds]
    options.out = (options.out or ROOT / "build" / "packages").absolute()
    return options


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made_earlier(out):
    """What an earlier run has left in a folder; anything else there is a Failure."""
    if not out.exists() and not out.is_symlink():
        return []
    if not out.is_dir():
        raise Failure(f"{out} is no folder")
    sums = out / LISTS[0]
    listed = dict(line.split("  ", 1)[::-1] for line in sums.read_text().splitlines()
                  if "  " in line) if sums.is_file() else {}
    for path in sorted(out.iterdir()):
        if path.name == LISTS[0] and listed:
            continue
        if path.name not in listed or not path.is_file() or sha256(path) != listed[path.name]:
            raise Failure(f"{out} has other things in it, such as {path.name}; name another "
                          "folder with --out")
    return sorted(out.iterdir())


def check_state(options):
    """Whether HEAD can be packed; prints what it is that is packed."""
    if shutil.which("git") is None:
        raise Failure("there is no git")
    try:
        top = git("rev-parse", "--show-toplevel")
    except Failure as failure:
        raise Failure("this is no clone of the repository, and packages are made from one") \
            from failure
    if Path(top).resolve() != ROOT:
        raise Failure(f"{ROOT} is not the top of a repository")
    made_earlier(options.out)
    changes = git("status", "--porcelain", "--untracked-files=normal").splitlines()
    if changes and not options.dirty:
        raise Failure("there are changes that are not committed, and would not be in the packages "
                      "(--dirty makes them all the same):\n" + "\n".join(changes[:10]))
    if changes:
        note(f"{len(changes)} changes are not committed, and not in the packages")


def check_versions(tree):
    """All places of the tree name the same version, which is returned."""
    if wrong := versions.mistakes(tree):
        raise Failure("versions that do not agree:\n" + "\n".join(wrong))
    version = versions.version_of(tree)
    if versions.has_unreleased_changes(tree):
        note(f"CHANGELOG.md has unreleased entries: what is made is called {version} and is no "
             "release")
    return version


def clear(folder):
    """Empties a folder, which may itself be a link to one elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".retrysim-runs" not in path.parts}


def compare(what, given, expected):
    """Fails unless two folders have the same files with the same bytes."""
    given, expected = files_of(given), files_of(expected)
    if not expected:
        raise Failure(f"{what}: the built program has left no results")
    differing = sorted(name for name in given.keys() | expected.keys()
                       if given.get(name) != expected.get(name))
    if differing:
        raise Failure(f"{what}: other bytes than those of the built program: "
                      + ", ".join(differing))


class Release:
    """One run of the script: the checkout, what is made of it, and how it is tried."""

    def __init__(self, kinds):
        self.kinds = kinds
        self.tree = (ROOT / "build" / "packaging").resolve()
        self.head = git("rev-parse", "HEAD")
        seconds = git("show", "--no-patch", "--format=%ct", self.head)
        # Dates in packages are that of the commit; nobody's settings change what is packed.
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith(("PYTHON", "RETRYSIM_", "npm_", "NPM_", "PIP_"))},
            "SOURCE_DATE_EPOCH": seconds, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1", "RETRYSIM_NO_REUSE": "1", "PIP_CONFIG_FILE": "/dev/null",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.packages = []  # (kind for contents.py, path)

    def run(self, *command, cwd=None, **environment):
        return run(*command, cwd=cwd or self.tree, env={**self.environment, **environment})

    @property
    def program(self):
        return self.tree / "build" / "release" / "retrysim"

    # The checkout is what the source archive has, so all that is built shows that it is complete.

    def check_out(self):
        clear(self.tree)
        names = git("ls-tree", "-r", "--name-only", "-z", self.head).strip("\0").split("\0")
        self.names = sorted(names)
        (self.tree / "CMakeLists.txt").write_text(git("show", f"{self.head}:CMakeLists.txt"))
        self.version = versions.version_of(self.tree)
        clear(self.tree)
        self.archive = self.tree / "build" / f"retrysim-{self.version}-source.tar.gz"
        self.archive.parent.mkdir()
        self.write_archive(self.archive)
        self.run("tar", "--extract", "--strip-components=1", "--file", self.archive)
        self.made = self.tree / "build" / "made"
        self.made.mkdir()
        check_versions(self.tree)

    def write_archive(self, path):
        with path.open("wb") as file:
            archive = subprocess.Popen(
                ["git", "-C", ROOT, "-c", "tar.umask=0022", "archive", "--format=tar",
                 f"--prefix=retrysim-{self.version}/", self.head], stdout=subprocess.PIPE)
            packed = subprocess.run(["gzip", "--no-name", "-9"], stdin=archive.stdout, stdout=file,
                                    check=False)
            archive.stdout.close()
            if archive.wait() != 0 or packed.returncode != 0:
                raise Failure("git archive failed")

    def need_tools(self):
        """Installs what is missing on Debian, and fails if something still is."""
        purposes = {"build", *(purpose for kind in self.kinds for purpose in PURPOSES[kind])}
        self.run("scripts/install_dependencies", *sorted(purposes))
        missing = sorted({tool for kind in self.kinds for tool in TOOLS[kind]
                          if shutil.which(tool) is None})
        if missing:
            raise Failure(f"these programs are missing: {', '.join(missing)}")

    def build_program(self):
        note("build the program")
        targets = ["installable", "retrysim_python"] if "deb" in self.kinds else ["retrysim-cli"]
        self.run("scripts/build", "release", *targets)
        self.same_version("the program", self.run(self.program, "--version").split()[-1])
        self.expected = self.made.parent / "expected"
        self.expected.mkdir()
        self.run(self.program, "run", self.scenario(), *RUN, "--out", "result", "--quiet",
                 cwd=self.expected)

    def scenario(self):
        return self.tree / "scenarios" / f"{SCENARIO}.toml"

    def same_version(self, what, version):
        if version != self.version:
            raise Failure(f"{what} has version {version}, CMakeLists.txt {self.version}")

    def only(self, folder, pattern):
        found = sorted(folder.glob(pattern))
        if len(found) != 1:
            raise Failure(f"{len(found)} files are called {pattern}: "
                          + ", ".join(path.name for path in found))
        return found[0]

    # One kind of package after the other: make_KIND adds it to the packages, try_KIND has an empty
    # folder to try it in.

    def make_source(self):
        again = self.archive.with_suffix(".again")
        self.write_archive(again)
        if again.read_bytes() != self.archive.read_bytes():
            raise Failure(f"{self.archive.name}: made twice, its bytes differ")
        again.unlink()
        shutil.copy(self.archive, self.made)
        self.packages.append(("source", self.made / self.archive.name))

    def try_source(self, folder):
        """It configures, and that leaves nothing in it."""
        self.run("tar", "--extract", "--file", self.made / self.archive.name, cwd=folder)
        source = folder / f"retrysim-{self.version}"
        before = sorted(files_of(source))
        self.run("cmake", "-S", source, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
                 cwd=folder)
        if sorted(files_of(source)) != before:
            raise Failure(f"{self.archive.name}: configuring leaves files in it")

    def make_deb(self):
        build = self.tree / "build" / "release"
        self.run("cpack", "-G", "DEB", cwd=build)
        for kind, name in (("program", "retrysim"), ("module", "python3-retrysim")):
            package = self.only(build / "package", f"{name}_*.deb")
            shutil.copy(package, self.made)
            self.packages.append((kind, self.made / package.name))
            fields = self.run("dpkg-deb", "--field", package, "Version").strip()
            self.same_version(package.name, fields.rpartition("-")[0])

    def try_deb(self, folder):
        """Installed by dpkg into a root that needs no rights; tests/package looks at the rest."""
        root = folder / "root"
        for name in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        packages = [self.only(self.made, f"{name}_*.deb")
                    for name in ("retrysim", "python3-retrysim")]
        # Where the rest of the system is not in the root, dependencies are missing.
        self.run("dpkg", "--root", root, "--force-not-root", "--force-depends",
                 f"--log={folder / 'dpkg.log'}", "--install", *packages, cwd=folder,
                 PATH=f"{self.environment['PATH']}:/usr/sbin:/sbin")
        shipped = root / "usr/share/retrysim/scenarios" / f"{SCENARIO}.toml"
        place = folder / "place"
        place.mkdir()
        self.run(root / "usr/bin/retrysim", "run", shipped, *RUN, "--out", "result", "--quiet",
                 cwd=place)
        compare("the Debian package", place, self.expected)
        self.run("/usr/bin/python3", self.tree / "tests/package/package_test.py", "--folder",
                 self.made, "--root", self.tree, "--version", self.version, cwd=folder)
        if shutil.which("apt-get"):
            self.run("apt-get", "--simulate", "--no-install-recommends", "install", *packages,
                     cwd=folder)

    def make_python(self):
        """The source distribution, and the wheel from what is in it."""
        self.run("/usr/bin/python3", "-c", "from setuptools import build_meta; "
                 f"build_meta.build_sdist({str(self.made)!r})")
        sdist = self.made / f"retrysim-{self.version}.tar.gz"
        folder = self.tree / "build" / "sdist"
        folder.mkdir()
        self.run("tar", "--extract", "--file", sdist, cwd=folder)
        source = self.only(folder, "*")
        self.run("/usr/bin/python3", "-m", "pip", "wheel", "--no-index", "--no-deps",
                 "--no-build-isolation", "--wheel-dir", self.made, source, cwd=folder,
                 RETRYSIM_BUILD_DIR=str(source / "build" / "release"))
        wheel = self.only(self.made, "retrysim-*.whl")
        self.packages += [("sdist", sdist), ("wheel", wheel)]
        for package in (sdist, wheel):
            for member in contents.members_of(package):
                if re.fullmatch(r"[^/]+/(PKG-INFO|METADATA)", member.name):
                    self.same_version(f"{package.name} ({member.name})", re.search(
                        r"^Version: (.*)$", member.data.decode(), re.MULTILINE)[1])

    def try_python(self, folder):
        """In a virtual environment with nothing but Debian's packages; tests/python does more."""
        self.run("/usr/bin/python3", "-m", "venv", "--system-site-packages", "venv", cwd=folder)
        python = folder / "venv/bin/python3"
        wheel = self.only(self.made, "retrysim-*.whl")
        self.run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel, cwd=folder)
        code = ("import json, retrysim, sys; "
                "answer = retrysim.run(sys.argv[1], {'replications': 2}); "
                "answer.save('place/result'); "
                "print(json.dumps([retrysim.__version__, retrysim.__file__]))")
        (folder / "place").mkdir()
        version, file = json.loads(self.run(python, "-c", code, self.scenario(), cwd=folder))
        self.same_version(wheel.name, version)
        if not Path(file).resolve().is_relative_to(folder.resolve()):
            raise Failure(f"{wheel.name}: what was imported is {file}")
        compare("the wheel", folder / "place", self.expected)
        self.run(python, self.tree / "tests/python/package_test.py", "--program", self.program,
                 "--root", self.tree, "--every", "12", cwd=folder, MPLBACKEND="Agg")

    def make_npm(self):
        # Compiler, library and sources are pinned: those of an earlier build save the download.
        have, tools = ROOT / "build" / "wasm", self.tree / "build" / "wasm"
        tools.mkdir()
        for name in ("sysroot", "sources"):
            if (have / name).is_dir():
                (tools / name).symlink_to((have / name).resolve())
        self.run("scripts/npm")
        packed = self.only(self.tree / "build" / "npm", "retrysim-*.tgz")
        shutil.copy(packed, self.made)
        self.packages.append(("npm", self.made / packed.name))
        told = json.loads((self.tree / "build/npm/package/package.json").read_text())
        self.same_version("package.json", told["version"])

    def try_npm(self, folder):
        """Installed without a network, in an empty folder; tests/npm does more."""
        packed = self.only(self.made, "retrysim-*.tgz")
        place = folder / "place"
        place.mkdir()
        offline = {"HOME": str(folder), "npm_config_offline": "true",
                   "npm_config_cache": str(folder / "cache")}
        self.run("npm", "install", "--offline", "--no-audit", "--no-fund", packed, cwd=folder,
                 **offline)
        npx = ["npx", "--no-install", "retrysim"]
        self.same_version(packed.name, self.run(*npx, "--version", cwd=folder,
                                                **offline).split()[-1])
        self.run(*npx, "run", self.scenario(), *RUN, "--out", "place/result", "--quiet",
                 cwd=folder, **offline)
        compare("the npm package", place, self.expected)
        self.run("/usr/bin/python3", self.tree / "tests/npm/npm_test.py", "--native",
                 self.program, "--package", self.tree / "build/npm/package", "--source", self.tree,
                 cwd=folder)

    def look_into(self):
        """Lists what is in each package, as lines, and fails if something should not be."""
        # Short ones could be words of the text: a container may have the project in /retrysim.
        paths = sorted({f"{self.tree}/", f"{ROOT}/build/", f"{Path.home()}/"} - {"//"})
        lines, wrong = [], []
        for kind, package in self.packages:
            members = contents.members_of(package)
            names = [f"retrysim-{self.version}/{name}" for name in self.names] \
                if kind == "source" else None
            wrong += [f"{package.name}: {fault}"
                      for fault in contents.faults(kind, members, paths, names)]
            lines += [*contents.described(package, members), ""]
        if wrong:
            raise Failure("\n".join([*lines, *wrong]))
        return lines

    def hand_out(self, out, lines):
        """Puts packages and lists into the folder, in place of those of an earlier run, which stay
        until the new ones are there."""
        earlier = made_earlier(out)
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".new-") as new:
            for _, package in self.packages:
                shutil.copy(package, new)
            for path in earlier:
                path.unlink()
            for path in Path(new).iterdir():
                path.rename(out / path.name)
        (out / LISTS[1]).write_text("\n".join([f"retrysim {self.version}, commit {self.head}", "",
                                               *lines[:-1]]) + "\n")
        names = sorted([package.name for _, package in self.packages] + [LISTS[1]])
        (out / LISTS[0]).write_text("".join(f"{sha256(out / name)}  {name}\n" for name in names))


@contextlib.contextmanager
def alone():
    """Nobody else builds in build/packaging meanwhile."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "packaging.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failure("another scripts/packages is at work here") from error
        yield


def main(arguments):
    options = read_options(arguments)
    check_state(options)
    if options.check:
        check_versions(ROOT)
        return
    os.umask(0o022)
    # A shell starts what is in the background with Ctrl-C ignored, and tests of it would wait.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with alone():
        release = Release(options.kinds)
        release.check_out()
        release.need_tools()
        if set(options.kinds) != {"source"}:
            release.build_program()
        for kind in options.kinds:
            note(f"make {kind}")
            getattr(release, f"make_{kind}")()
        lines = release.look_into()
        for kind in options.kinds:
            note(f"try {kind}")
            with tempfile.TemporaryDirectory(prefix="retrysim-packages-") as folder:
                getattr(release, f"try_{kind}")(Path(folder))
        release.hand_out(options.out, lines)
    note("done")
    print("\n".join(lines), end="")
    print(f"Packages: {options.out}")


STARTED = time.monotonic()
try:
    main(sys.argv[1:])
except (Failure, OSError) as failure:
    print(f"packages: error: {failure}", file=sys.stderr)
    sys.exit(1)
except KeyboardInterrupt:
    sys.exit(130)
