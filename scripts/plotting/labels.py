"""What the values of a varied key are called in a picture: of tables only what tells them apart.

SPDX-License-Identifier: MIT
"""

import tomllib

LONGEST = 32  # characters of a label


def table_of(text):
    """The members of an inline table as TOML has it; None of any other value."""
    if not text.startswith("{"):
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None


def words_of(members):
    """"lognormal, cv 2": the kind of a distribution by its name alone."""
    return ", ".join(str(value) if name == "distribution" else f"{name} {value}"
                     for name, value in members.items())


def clipped(text, most=LONGEST):
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def short_labels(values):
    """A label for each of the values, all different and none longer than LONGEST. Members that
    all tables share are left out."""
    tables = [table_of(value) for value in values]
    known = [table for table in tables if table is not None]
    first = known[0] if len(known) > 1 else {}
    shared = {name for name, value in first.items()
              if all(name in table and table[name] == value for table in known)}
    labels = []
    for value, table in zip(values, tables):
        differs = {n: v for n, v in (table or {}).items() if n not in shared}
        labels.append(clipped(words_of(differs or table) if table else value))
    for i, label in enumerate(labels):
        if label in labels[:i]:
            number = f" ({i + 1})"
            labels[i] = clipped(label, LONGEST - len(number)) + number
    return labels
