#!/usr/bin/python3
"""Reference tables of the documentation, from the program's own tables.

A block between `<!-- table: WHAT -->` and `<!-- end -->` holds what `retrysim list WHAT` prints;
after `<!-- table: WHAT without PREFIX -->` without the rows whose names begin with PREFIX. The JSON
Schema of scenario files is what `retrysim list keys --format schema` prints.

  reference_tables.py --program build/release/retrysim            rewrites the blocks
  reference_tables.py --program build/release/retrysim --check    exit 1 if one is out of date

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import io
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "scenarios" / "KEYS.md", ROOT / "sim" / "retry" / "presets.md",
         ROOT / "sim" / "measure" / "README.md", ROOT / "sim" / "explain" / "README.md",
         ROOT / "sim" / "prediction" / "README.md"]
SCHEMA = ROOT / "scenarios" / "scenario.schema.json"
BLOCK = re.compile(r"(<!-- table: (\w+)(?: without (\S+))? -->\n).*?(<!-- end -->)", re.DOTALL)
CODE_COLUMNS = {"key", "default", "metric", "distribution", "parameters", "defect", "verdict",
                "keys"}


def markdown(program, what, left_out):
    """`retrysim list WHAT` as a Markdown table, without the names that begin with `left_out`."""
    listed = subprocess.run([program, "list", what, "--format", "csv"], check=True,
                            capture_output=True, text=True).stdout
    header, *rows = csv.reader(io.StringIO(listed))
    rows = [row for row in rows if not (left_out and row[0].startswith(left_out))]

    def cell(column, text):
        text = text.replace("|", r"\|")
        return f"`{text}`" if column in CODE_COLUMNS and text not in ("", "required") else text

    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(cell, header, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def schema(program):
    return subprocess.run([program, "list", "keys", "--format", "schema"], check=True,
                          capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="the program whose tables are shown")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args()
    for page in PAGES:
        old = page.read_text()
        new = BLOCK.sub(lambda m: m[1] + markdown(options.program, m[2], m[3]) + m[4], old)
        if not BLOCK.search(old):
            sys.exit(f"{page.relative_to(ROOT)}: error: no reference table; has its mark changed?")
        if options.check and new != old:
            sys.exit(f"{page.relative_to(ROOT)}: error: reference tables are out of date; run "
                     "scripts/reference_tables.py --program build/release/retrysim")
        if not options.check:
            page.write_text(new)
    if not options.check:
        SCHEMA.write_text(schema(options.program))
    elif SCHEMA.read_text() != schema(options.program):
        sys.exit(f"{SCHEMA.relative_to(ROOT)}: error: the schema is out of date; run "
                 "scripts/reference_tables.py --program build/release/retrysim")


if __name__ == "__main__":
    main()
