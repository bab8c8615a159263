"""The figures of a benchmark as the table of scripts/README.md, between its two marks.

SPDX-License-Identifier: MIT
"""

import datetime
import os
import pathlib
import re
import statistics

PAGE = pathlib.Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"(<!-- benchmarks -->\n).*?(<!-- end -->)", re.DOTALL)
SCALING_SIZES = (10**3, 10**6, 10**7)


def spread(values, number="{:.2f}".format):
    """Median, smallest and largest, as `number` writes them."""
    return f"{number(statistics.median(values))} ({number(min(values))} to {number(max(values))})"


def short(value):
    """Three digits, or all of a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "an unknown processor"


def per_event(rounds):
    """ns of CPU time."""
    return [r["cpu_s"] * 1e9 / r["events"] for r in rounds]


def rows_of_time(summary):
    """What is compared, ns per event of the other and of ours, and the ratio of CPU times."""
    for name, rounds in (("healthy", summary["rounds"]), ("overload", summary["overload_rounds"])):
        ours, loop = ([r[who] for r in rounds] for who in ("retrysim", "reference"))
        ratios = [o["cpu_s"] / r["cpu_s"] for o, r in zip(ours, loop)]
        counts = summary["instructions_per_event"].get(name, {})
        instructions = [f"{counts[who]:.0f}" if counts else "" for who in ("reference", "retrysim")]
        yield (f"hand-written loop, {name}", *(spread(per_event(r), short) for r in (loop, ours)),
               *instructions, f"retrysim takes {spread(ratios)} times as long")
    others = {**summary["callbacks"], **({"SimPy": summary["simpy"]} if summary["simpy"] else {})}
    for name, figures in others.items():
        yield (f"{name}, healthy", spread(per_event(figures["rounds"]), short), "", "", "",
               f"takes {short(figures['ratio_median'])} times as long as retrysim")


def queue_sentence(queue):
    ours = [r["retrysim"] for r in queue["rounds"]]
    text = ("A million customers of M/M/1 by `retrysim run`, its start and files included: "
            f"{spread(ours)} s of CPU time")
    if "cimba" not in queue["rounds"][0]:
        return text + "."
    theirs = [r["cimba"] for r in queue["rounds"]]
    ratios = [o / t for o, t in zip(ours, theirs)]
    return f"{text}; cimba's benchmark {spread(theirs)} s, so {spread(ratios)} of its time."


def lines_of(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def scaling_rows(points):
    for p in points:
        if p["clients"] in SCALING_SIZES:
            yield (p["system"], f"{p['clients']:,}", f"{p['ns_per_event']:.0f}",
                   f"{p['growth']:.2f}", f"{p['peak_mib']:,.0f}")


def markdown(summary):
    """The block: how it was measured, the comparisons, M/M/1, and the numbers of clients."""
    rounds = len(summary["rounds"])
    lines = [f"Measured on {datetime.date.today():%-d %B %Y}, {processor()}, {os.cpu_count()} "
             f"processors, {rounds} rounds; median (smallest to largest).", ""]
    lines += lines_of(("compared with", "its ns an event", "ours", "its instructions an event",
                       "ours", "CPU time"), rows_of_time(summary))
    lines += ["", queue_sentence(summary["queue"])]
    if summary["scaling"]:
        lines.append("")
        lines += lines_of(("clients are", "number", "ns an event", "growth", "peak MiB"),
                          scaling_rows(summary["scaling"]))
    return "\n".join(lines) + "\n"


def rewrite(page, summary):
    """`page`, a text that has the marks, with the block of these figures."""
    return BLOCK.sub(lambda m: m[1] + markdown(summary) + m[2], page)
