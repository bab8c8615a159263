"""Small CSV inputs of random scenarios.

SPDX-License-Identifier: MIT
"""

HEADERS = {"export": "timestamp,value", "rates": "time_s,rate", "times": "time_s",
           "capacities": "time_s,capacity", "values": "value_s,weight",
           "slowdowns": "in_service,factor"}
TRACES = ("export", "rates", "times")


def kind_for(key, draw):
    """Which kind of file a key names."""
    if key == "arrivals.file":
        return draw.choice(TRACES)
    return {"arrivals.profile": "rates", "slowdown_table": "slowdowns"}.get(key, "capacities")


def kind_of(text):
    """The kind of a file by its header."""
    header = text.split("\n", 1)[0]
    return next(kind for kind, columns in HEADERS.items() if columns == header)


def text_of(kind, draw, usual):
    """A file of a kind; `usual` chooses among steps."""
    rows = draw.choice([1, 2, 5, 20])
    if kind == "export":  # one count a minute, at times with a gap
        minutes = sorted(draw.sample(range(30), rows))
        lines = [f"2024-02-29 23:{minute:02}:00,{draw.choice([0, 1, 5, 60])}" for minute in minutes]
    elif kind == "times":
        step = draw.choice(usual([0, 1e-9, 0.01, 0.1]))
        start = draw.choice([0, 0.5])
        lines = [f"{start + step * i:.9f}" for i in range(rows)]
    elif kind == "values":
        lines = [f"{draw.choice([0, 1e-9, 0.001, 0.05, 0.5])},{draw.choice([0, 1, 2])}"
                 for _ in range(rows)] + ["0.01,1"]
    elif kind == "slowdowns":
        lines = [f"{2 * i},{draw.choice([0, 1, 1.5, 10])}" for i in range(rows)]
    else:
        step = draw.choice(usual([1e-9, 0.01, 0.1, 1]))
        values = [0, 0.5, 1, 5, 20] if kind == "rates" else [0, 0, 0.5, 1, 1, 2]
        lines = [f"{step * i:.9f},{draw.choice(values)}" for i in range(rows)]
    return "\n".join([HEADERS[kind], *lines]) + "\n"
