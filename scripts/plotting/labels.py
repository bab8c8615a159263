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


def parts_of(name):
    """The edits of a variant's name, "a=1 b={ c = 2 }", as (key, value): apart at spaces outside of
    brackets and quotes. A part without a key has the key ""."""
    parts, depth, quote = [""], 0, ""
    for letter in name:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "{[") - (letter in "}]")
        if letter == " " and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    split = [part.partition("=") for part in parts]
    return [(key, value) if equals and value else ("", key + equals + value)
            for key, equals, value in split]


def variant_labels(names):
    """What variants are called in a picture, as {name: label}, all different and none longer than
    LONGEST; and the keys that all of them name, which the labels go without: full and equal for
    jitter=full and jitter=equal. Of tables only what differs."""
    parts = [parts_of(name) for name in names]
    keys = {tuple(key for key, _ in own) for own in parts}
    if len(keys) != 1 or not all(key for own in parts for key, _ in own):
        return dict(zip(names, short_labels(names))), ()
    columns = [short_labels([value for _, value in column])
               if any(table_of(value) for _, value in column) else [value for _, value in column]
               for column in zip(*parts)]
    # Equal values of one key are one and the same, and keep one label.
    columns = [[column[[v for _, v in own].index(value)] for (_, value) in own]
               for column, own in zip(columns, zip(*parts))]
    return dict(zip(names, short_labels([" ".join(row) for row in zip(*columns)]))), keys.pop()
