#!/usr/bin/python3
"""The JSON Schema of scenario files: every shipped scenario is valid, damaged ones are not.

  schema_test.py PROGRAM ROOT

A damage exchanges two letters of a key's name, leaves one out or doubles one (not in names of
services, clients and so on, which are free), or gives the key a value of a type that no key takes.

SPDX-License-Identifier: MIT
"""

import copy
import json
import pathlib
import random
import subprocess
import sys
import tomllib

import jsonschema

DAMAGES = 200
SEED = 4810
FREE = {"service", "client", "fault", "phase", "expect", "surge", "operation", "calls", "key",
        "errors"}


def schema_of(program):
    printed = subprocess.run([program, "list", "keys", "--format", "schema"], check=True,
                             capture_output=True, text=True).stdout
    return json.loads(printed)


def named_places(table, free=False, path=()):
    """Every member of the tables, with the path to its table: those whose name is a key's."""
    for name, value in table.items():
        if not free:
            yield path, name
        if isinstance(value, dict):
            yield from named_places(value, not free and name in FREE, (*path, name))


def at(scenario, path):
    for name in path:
        scenario = scenario[name]
    return scenario


def misspelt(name, draw):
    place = draw.randrange(len(name))
    kind = draw.randrange(3)
    if kind == 0 and place + 1 < len(name):
        return name[:place] + name[place + 1] + name[place] + name[place + 2:]
    if kind == 1 and len(name) > 1:
        return name[:place] + name[place + 1:]
    return name[:place] + name[place] + name[place:]


def is_known(schema, path, name):
    """Whether the schema has such a name in this table."""
    for step in path:
        schema = schema.get("properties", {}).get(step) or next(
            iter(schema.get("patternProperties", {}).values()), {})
    return name in schema.get("properties", {}) or "properties" not in schema


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = schema_of(program)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    shipped = {path.name: tomllib.loads(path.read_text())
               for path in sorted((root / "scenarios").rglob("*.toml"))}
    failures = [f"{name}: {error.json_path}: {error.message[:100]}"
                for name, scenario in shipped.items()
                for error in validator.iter_errors(scenario)]

    draw = random.Random(SEED)
    names = sorted(shipped)
    damaged = 0
    while damaged < DAMAGES:
        name = draw.choice(names)
        scenario = copy.deepcopy(shipped[name])
        path, key = draw.choice(list(named_places(scenario)))
        table = at(scenario, path)
        if draw.randrange(4) == 0 and not isinstance(table[key], dict):
            wrong = [["never", "a", "list"]] if isinstance(table[key], list) else {"wrong": True}
            what, table[key] = "value", wrong
        else:
            what = misspelt(key, draw)
            if what == key or is_known(schema, path, what):
                continue
            table[what] = table.pop(key)
        damaged += 1
        if validator.is_valid(scenario):
            failures.append(f"{name}: {'.'.join((*path, key))} -> {what} is valid")
    print("\n".join(failures))
    print(f"{len(shipped)} shipped scenarios and {damaged} damaged ones: {len(failures)} wrong")
    return 1 if failures or len(shipped) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
