"""The list of faults that change nothing, tests/mutants/equivalent.txt: read and checked.

SPDX-License-Identifier: MIT
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Entry:
    file: str    # from the root of the project
    before: str  # the line as it is, without indentation
    after: str   # the line with the fault

    def __str__(self):
        return f"{self.file}: {self.before} -> {self.after}"


def parse(text):
    """{entry: why it changes nothing} of the list's text. Throws ValueError with the line."""
    found = {}
    block, first = [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            first = first if block else number
            block.append(line)
            continue
        if block:
            if len(block) < 4 or not block[1].startswith("  - ") or \
                    not block[2].startswith("  + ") or block[0] != block[0].strip():
                raise ValueError(f"line {first}: not a file, '  - ' before, '  + ' after and why")
            why = re.sub(r"\s+", " ", " ".join(block[3:])).strip()
            found[Entry(block[0], block[1][4:], block[2][4:])] = why
        block = []
    return found


def read(path):
    try:
        return parse(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
