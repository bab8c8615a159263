"""Whether predictions keep to the program's list of what theory models (`retrysim list theory`),
from which the documentation and the pages of results take it, too.

SPDX-License-Identifier: MIT
"""

import functools
import json

from soaking.vocabulary import rows_of


@functools.lru_cache
def listed(program):
    """The rows of the list by feature; a row about words of a key has one for each."""
    rows = {}
    for row in rows_of(program, "theory"):
        for feature in {row["feature"], *row["feature"].split(", ")}:
            rows.setdefault(feature, []).append(row)
    return rows


@functools.lru_cache
def key_names(program):
    """Names of keys within their table: "queue.target"."""
    return {row["key"].rpartition(".*.")[2] for row in rows_of(program, "keys")}


def theories(text):
    """"loads, waits: faults; chain" names three."""
    return {name.strip() for part in text.split(";") for name in part.split(":")[0].split(",")
            if name.strip()}


def features(run_):
    """What a prediction says that it does not model; empty for other results."""
    if "result.json" not in run_.files:
        return []
    return json.loads(run_.files["result.json"]).get("prediction", {}).get("not_modelled", [])


def contradiction(program, run_):
    """What a prediction says against the list, in words; None if nothing. What it does not model is
    in the list, for these theories, or a key that no theory has listed; and the chain has no figure
    for a service of which the list says so."""
    for found in features(run_):
        name = found["feature"]
        rows = listed(program).get(name)
        if rows is None:
            if name.partition(" (")[0] not in key_names(program):
                return f"{name}: neither in the list of theory nor a key"
            continue
        for column in ("left_out_by", "no_figure_from"):
            known = set().union(*(theories(row[column.replace("_", " ")]) for row in rows))
            if more := theories(found[column]) - known:
                return f"{name}: the list of theory does not name {', '.join(sorted(more))}"
        if "chain" not in theories(found["no_figure_from"]):
            continue
        services = {".".join(place.split(".")[:2]) for place in found["places"]
                    if place.startswith("service.") and ".calls." not in place}
        for figure in json.loads(run_.files["result.json"])["prediction"]["figures"]:
            if figure["part"] == "chain" and figure["subject"] in services:
                return f"{name}: the chain has {figure['name']} of {figure['subject']} all the same"
    return None
