"""Every place that names the version: that of project() in CMakeLists.txt is the one to change.

SPDX-License-Identifier: MIT
"""

import re
from pathlib import Path

PROJECT = ("CMakeLists.txt", r"^project\(retrysim VERSION ([\d.]+)")
# The whole version, and the first two numbers of it: (file, pattern).
WHOLE = [
    ("CITATION.cff", r"^version: (\S+)$"),
    ("pyproject.toml", r'^version = "([^"]*)"$'),
    ("tests/cli/run.txt", r"^retrysim (\d\S*)$"),
]
MINOR = [
    ("include/retrysim/README.md", r"find_package\(retrysim (\S+?)[ )]"),
    ("sim/cli/stability.md", r"find_package\(retrysim (\S+?)[ )]"),
    ("tests/consumer/CMakeLists.txt", r"^set\(RETRYSIM_WANTED ([^\s)]+)"),
]
CITED_DATE = ("CITATION.cff", r'^date-released: "?([\d-]+)"?$')
HEADING = r"^## (?!Unreleased$)(.*)$"
RELEASE = r"(\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)"


class Missing(Exception):
    """A place that does not name a version at all."""


def found(root, path, pattern):
    """(path:line, what the pattern's group matches) of each match in a file."""
    text = (Path(root) / path).read_text(encoding="utf-8")
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise Missing(f"{path}: nothing matches {pattern}")
    return [(f"{path}:{text.count(chr(10), 0, match.start()) + 1}", match[1]) for match in matches]


def version_of(root):
    (_, version), = found(root, *PROJECT)
    return version


def mistakes(root):
    """`path:line: what it says, and what it should` for each place that does not agree."""
    version = version_of(root)
    told = []

    def compare(path, pattern, expected, meaning):
        try:
            told.extend(f"{place}: {meaning} {value} is not {expected}"
                        for place, value in found(root, path, pattern) if value != expected)
        except (Missing, OSError) as error:
            told.append(str(error))

    for places, expected in ((WHOLE, version), (MINOR, version.rpartition(".")[0])):
        for path, pattern in places:
            compare(path, pattern, expected, "version")
    try:
        place, heading = found(root, "CHANGELOG.md", HEADING)[0]
    except (Missing, OSError) as error:
        return [*told, str(error)]
    release = re.fullmatch(RELEASE, heading)
    if not release:
        return [*told, f'{place}: "{heading}" is not of the form 0.MINOR.PATCH, YYYY-MM-DD']
    if release[1] != version:
        told.append(f"{place}: version {release[1]} is not {version}")
    compare(*CITED_DATE, release[2], "date")
    return told


def has_unreleased_changes(root):
    """Whether CHANGELOG.md has entries above its newest release: then HEAD is not that release."""
    text = (Path(root) / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return bool(top and re.search(r"^[-*] ", top[1], re.MULTILINE))
