"""What is in a package, and what does not belong there.

SPDX-License-Identifier: MIT
"""

import gzip
import io
import re
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass

# What each kind of package consists of: patterns, each of which has to match, and together all. A *
# stands for anything in a name, ** for folders, too.
_MODULES = ["retrysim/__init__.py", "retrysim/*.py", "retrysim/_engine.pyi", "retrysim/py.typed",
            "retrysim/plotting/*.py", "retrysim/plotting/looks.json"]
_DEBIAN_DOCUMENTS = ["copyright", "changelog.gz", "changelog.Debian.gz"]
EXPECTED = {
    "program": [
        "usr/bin/retrysim", "usr/bin/retrysim-plot", "usr/include/retrysim/*.hpp",
        "usr/lib**/libretrysim.a", "usr/lib**/cmake/retrysim/retrysimConfig.cmake",
        "usr/lib**/cmake/retrysim/retrysimConfigVersion.cmake",
        "usr/lib**/cmake/retrysim/retrysimTargets.cmake",
        "usr/lib**/cmake/retrysim/retrysimTargets-release.cmake",
        "usr/share/bash-completion/completions/retrysim",
        "usr/share/bash-completion/completions/retrysim-plot",
        *(f"usr/share/doc/retrysim/{name}" for name in [*_DEBIAN_DOCUMENTS, "tutorial.md"]),
        "usr/share/man/man1/retrysim.1.gz", "usr/share/man/man1/retrysim-*.1.gz",
        "usr/share/man/man5/retrysim-scenario.5.gz", "usr/share/man/man7/retrysim-metrics.7.gz",
        "usr/share/retrysim/plot.py", "usr/share/retrysim/plotting/*.py",
        "usr/share/retrysim/plotting/looks.json", "usr/share/retrysim/scenarios/*.toml",
        "usr/share/retrysim/scenarios/*.csv", "usr/share/retrysim/scenarios/*.schema.json"],
    "module": [
        *(f"usr/lib/python3/dist-packages/{name}" for name in _MODULES),
        "usr/lib/python3/dist-packages/retrysim/_engine.cpython-*.so",
        *(f"usr/share/doc/python3-retrysim/{name}" for name in _DEBIAN_DOCUMENTS)],
    "wheel": [
        *_MODULES, "retrysim/_engine.cpython-*.so", "retrysim/LICENSES.txt",
        *(f"retrysim-*.dist-info/{name}" for name in
          ("METADATA", "WHEEL", "RECORD", "top_level.txt", "LICENSE"))],
    "sdist": [
        *(f"retrysim-*/{name}" for name in (
            "PKG-INFO", "setup.cfg", "pyproject.toml", "MANIFEST.in", "LICENSE", "CHANGELOG.md",
            "README.md", "CMakeLists.txt", "include/**.hpp", "sim/**.cpp", "sim/**.hpp",
            "sim/python/README.md", "sim/python/build_engine.py", "sim/python/retrysim/*.py",
            "sim/python/retrysim/*.pyi", "sim/python/retrysim/py.typed",
            "sim/python/retrysim.egg-info/*", "sim/report/page/*", "scripts/cmake/**",
            "scripts/licences", "scripts/plotting/*.py", "scripts/plotting/looks.json",
            "scenarios/tutorial.md"))],
    "npm": [
        *(f"package/{name}" for name in (
            "package.json", "index.d.ts", "README.md", "LICENSE", "LICENSES.txt", "retrysim.wasm",
            "retrysim.mjs", "node.mjs", "browser.mjs", "browser_thread.mjs", "collect.mjs",
            "disk.mjs", "memory.mjs", "system.mjs", "thread.mjs"))],
}
# Beginnings of what compilers and interpreters make: ELF, WebAssembly, archives, gzip, bytecode.
MADE_BY_PROGRAMS = (b"\x7fELF", b"\0asm", b"!<arch>", b"\x1f\x8b")
MADE_SUFFIXES = (".pyc", ".o", ".a", ".so", ".wasm")
# What the list of contents names one by one.
PROGRAM_NAMES = re.compile(r"(^|/)bin/|\.(a|so|wasm)$|/(plot\.py|retrysim\.mjs)$")
DOCUMENT_NAMES = re.compile(r"(?i)readme|licen[cs]e|copyright|changelog|changes|/man/|metadata|"
                            r"pkg-info|tutorial|citation|security|contributing")
# Pages that are read without those they could link to.
SHOWN_ALONE = re.compile(r"(\.md|changelog\.gz|/METADATA)$")


@dataclass
class Member:
    """A file in a package; `link` is where a symbolic link leads."""
    name: str
    data: bytes
    mode: int = 0o644
    owner: str = ""
    link: str = ""

    def text(self):
        """Its bytes, unpacked if they are compressed."""
        return gzip.decompress(self.data) if self.data[:2] == b"\x1f\x8b" else self.data


def _of_tar(stream):
    with tarfile.open(fileobj=stream) as tar:
        for info in tar:
            if not info.isdir():
                data = tar.extractfile(info).read() if info.isfile() else b""
                yield Member(info.name.removeprefix("./"), data, info.mode,
                             info.uname or str(info.uid), info.linkname)


def members_of(package):
    """The files in a .deb, a wheel or an archive, in order of their names."""
    if package.suffix == ".deb":
        done = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True,
                              capture_output=True)
        found = list(_of_tar(io.BytesIO(done.stdout)))
    elif package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            found = [Member(info.filename, archive.read(info), info.external_attr >> 16 & 0o777)
                     for info in archive.infolist() if not info.is_dir()]
    else:
        with package.open("rb") as stream:
            found = list(_of_tar(stream))
    return sorted(found, key=lambda member: member.name)


def _called(pattern):
    stars = {"*": "[^/]*", "**": ".*"}
    return re.compile("".join(stars.get(piece, re.escape(piece))
                              for piece in re.split(r"(\*+)", pattern)))


def faults(kind, members, machine_paths, expected_names=None):
    """What does not belong into a package of this kind, or is missing; `expected_names` instead of
    the patterns, if given. No member may contain one of `machine_paths`."""
    names = [member.name for member in members]
    if expected_names is not None:
        yield from (f"{name} is missing" for name in sorted(set(expected_names) - set(names)))
        yield from (f"{name} does not belong there"
                    for name in sorted(set(names) - set(expected_names)))
    else:
        known = set()
        for pattern in EXPECTED[kind]:
            called = _called(pattern)
            matching = {name for name in names if called.fullmatch(name)}
            if not matching:
                yield f"nothing is called {pattern}"
            known |= matching
        yield from (f"{name} does not belong there" for name in sorted(set(names) - known))
    yield from (f"{name} is there twice" for name in sorted({n for n in names
                                                             if names.count(n) > 1}))
    for member in members:
        yield from _faults_of_member(kind, member, machine_paths)


def _faults_of_member(kind, member, machine_paths):
    text = member.text()
    for path in machine_paths:
        if path.encode() in text:
            yield f"{member.name} contains the path {path}"
    if not member.data and not member.link and kind != "source" and \
            not member.name.endswith((".typed", "__init__.py")):
        yield f"{member.name} is empty"
    if member.owner not in ("", "0", "root"):
        yield f"{member.name} belongs to {member.owner}"
    # Those in a wheel mean nothing: pip sets them.
    if member.mode & 0o022 and not member.link and kind != "wheel":
        yield f"{member.name} can be written by others ({member.mode:o})"
    if SHOWN_ALONE.search(member.name) and kind not in ("source", "sdist"):
        yield from (f"{member.name} has a dead link, {link.decode()}"
                    for link in re.findall(rb"\[[^]]+\]\((?!https?:)[^)]*\)", text))
    licence = re.search(rb"SPDX-License-Identifier: (?!MIT\b)([\w.-]+)", text)
    if licence and not re.search("LICENSE|copyright", member.name):
        yield f"{member.name} has the licence {licence[1].decode()}"
    if kind in ("source", "sdist") and (member.data.startswith(MADE_BY_PROGRAMS)
                                        or member.name.endswith(MADE_SUFFIXES)):
        yield f"{member.name} is generated"


def as_size(size):
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def described(package, members):
    """Lines: number of files and size, then programs, documents, and the rest by folder."""
    programs = [member for member in members if PROGRAM_NAMES.search(member.name)]
    documents = [member for member in members
                 if member not in programs and DOCUMENT_NAMES.search(member.name)]
    size = sum(len(member.data) for member in members)
    yield (f"{package.name}: {as_size(package.stat().st_size)}, {len(members)} files of "
           f"{as_size(size)}")
    is_long = len(members) > 500  # sources, of which folders say enough
    if is_long:
        programs, documents = [], [m for m in documents if m.name.count("/") == 1]
    for title, group in (("programs", programs), ("documents", documents)):
        if group:
            yield f"  {title}:"
            for member in group:
                more = f"-> {member.link}" if member.link else as_size(len(member.data))
                yield f"    {member.name} ({more})"
    others = {}
    for member in members:
        if member not in programs and member not in documents:
            folder = member.name.rpartition("/")[0]
            if is_long:
                folder = "/".join(folder.split("/")[:2])
            others.setdefault(folder or ".", []).append(member.name)
    if others:
        yield "  others, by folder:"
        for folder, names in sorted(others.items()):
            shown = [name.rpartition("/")[2] for name in names]
            few = ", ".join(shown) if len(shown) <= 6 else f"{shown[0]} ... {shown[-1]}"
            yield f"    {folder}: {len(names)} ({few})"
