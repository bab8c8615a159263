"""The picture `overview`: load against capacity, and what follows from it, over time.

SPDX-License-Identifier: MIT
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, PercentFormatter

from plotting.drawing import (BLUE, FAULT, GREEN, GREY, LIMIT_STYLE, ORANGE, OUTSIDE, PURPLE, RED,
                              STORM, draw, draw_groups, entries_above, group_styles, lay_out,
                              put_headline, ratio, scale_latencies, shade, top_of)
from plotting.legend import fitting_legend
from plotting.results import disturbances, fate, outside, storms


def limit_name(service):
    """What limits a service, in words; nothing if nothing does."""
    capacity, throttle = service["capacity_per_s"], service.get("throttle_per_s")
    if not capacity:
        return "throttle rate" if throttle else ""
    return "capacity, at most the throttle rate" if throttle and throttle < capacity else "capacity"


def limit_of(results, service):
    """What limits a service, and the attempts per second that it can take, as two lists: the times
    at which they change and what they are from then on; the last time is the end. None if nothing
    limits it."""
    name, end = limit_name(service), results.series["time_s"].max() + results.interval
    steps = service.get("capacity_steps")
    if not name or (steps is None and "capacity_steps" in service):
        return None
    if steps is None or service.get("autoscaled"):
        steps = steps_of_bins(*results.mean_capacity(service["name"]), steps)
    steps = [[start, rate] for start, rate in steps if start < end]
    if not steps:
        return None
    return name, [start for start, _ in steps] + [end], [rate for _, rate in [*steps, steps[-1]]]


def steps_of_bins(width, means, own):
    """The steps of a service whose servers follow its load, or that has too many of its own: the
    means of the bins. Where a fault or a profile changes the capacity, at the moments in `own`, the
    bin around that moment would blur the step: on either side of it stands what the next whole bin
    there has. A step without a whole bin changes what was before as `own` does."""
    if not own:
        return [[i * width, mean] for i, mean in enumerate(means)]
    steps, ends = [], [start for start, _ in own[1:]] + [len(means) * width]
    for i, ((start, rate), end) in enumerate(zip(own, ends)):
        first, last = math.ceil(start / width - 1e-9), math.floor(end / width + 1e-9)
        inside = range(first, min(last, len(means)))
        if inside:
            steps.append([start, means[first]])
            steps += [[k * width, means[k]] for k in inside[1:]]
        else:
            before = own[i - 1][1] if steps else 0
            steps.append([start, steps[-1][1] * rate / before if before else rate])
    return steps


def draw_load(axis, results, service):
    """Attempts and requests of the groups that call one service, against what it can serve."""
    names, styles = results.callers(service["name"]), dict(group_styles(results))

    def rate(column, name):
        return results.pivot(name, column) / results.interval

    alone = len(names) == 1  # its gaps would show what is below: a mixture of colours
    if names and (len(names) == 1 or len(results.details["services"]) > 1):
        draw(axis, sum(rate("requests", n) for n in names), "requests", GREY, band=False,
             step=results.interval)
    if results.groups() == names and len(names) == 1:
        draw(axis, rate("attempts", names[0]), "attempts", RED, step=results.interval)
        draw(axis, rate("successes", names[0]), "goodput", GREEN, step=results.interval)
    else:
        if len(names) > 1:
            draw(axis, sum(rate("attempts", n) for n in names), "all groups", "black",
                 step=results.interval)
        for name in names:
            draw(axis, rate("attempts", name), name,
                 **{**styles[name], **({"style": "-"} if alone else {})})
    limit = limit_of(results, service)
    if limit:
        axis.step(*limit[1:], color="black", linestyle=LIMIT_STYLE, where="post", linewidth=1.5,
                  label="_limit")
    shade(axis, results, service["name"])
    if not results.is_called(service["name"]):
        axis.text(0.5, 0.5, "no calls", transform=axis.transAxes, ha="center", va="center",
                  color=GREY, backgroundcolor="white")
    return max(limit[2]) if limit else 0.0


MOST_APART = 4  # tops of services that share a scale


def scale_loads(axes, limits):
    """One scale for all that show anything, unless it would flatten one of them; logarithmic above
    the limit where a herd would flatten all the rest."""
    panels = [(axis, limit, max(top_of(axis), limit)) for axis, limit in zip(axes, limits)]
    for axis, _, top in panels:
        axis.set_ylabel("per second")
        if top == 0:
            axis.set_ylim(0, 1)
            axis.set_yticks([0])
    panels = [panel for panel in panels if panel[2] > 0]
    if not panels:
        return
    top, limit = (max(panel[i] for panel in panels) for i in (2, 1))
    if min(panel[2] for panel in panels) < top / MOST_APART:
        for axis, own, _ in panels:
            scale_loads([axis], [own])
        return
    for axis, _, _ in panels:
        if limit > 0 and top > 12 * limit:
            axis.set_yscale("symlog", linthresh=limit)
            axis.set_yticks([0, limit] + [10.0 ** n for n in range(1, 10) if
                                          2 * limit < 10.0 ** n <= top * 1.5])
            axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            axis.set_ylabel("per second (log)")
        axis.set_ylim(0, top * (1.5 if top > 12 * limit > 0 else 1.08))


def draw_goodput(axis, results):
    draw_groups(axis, results, lambda name: results.pivot(name, "successes") / results.interval)
    axis.set_ylim(bottom=0)
    axis.set_title("Goodput: requests that succeed")
    axis.set_ylabel("per second")


def draw_success(axis, results):
    def table(name):
        ok, failed = results.pivot(name, "successes"), results.pivot(name, "failures")
        return ratio(ok, ok + failed)

    draw_groups(axis, results, table)
    axis.set_ylim(-0.03, 1.05)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=""))
    axis.set_title("Success rate of the requests that end")
    axis.set_ylabel("successes, %")


def draw_amplification(axis, results):
    everyone = results.pivot("all", "requests").mean(axis=1)
    everyone = everyone[everyone.index < results.last_activity()]
    # Retries follow their request: sums over 10 bins compare like with like, and where hardly any
    # request was new, as in the drain, the quotient says nothing. After a herd that is everywhere.
    herd = (everyone > 0).mean() < 0.5
    end = np.inf if herd else results.details["window_end_s"] - 1e-9

    def table(name):
        both = [results.pivot(name, column) for column in ("attempts", "requests")]
        both = [t.cumsum() if herd else t.rolling(10, min_periods=1).sum() for t in both]
        return ratio(*[t[t.index < end] for t in both])

    draw_groups(axis, results, table)
    axis.axhline(1, color="black", linewidth=0.9, linestyle=":")
    axis.set_ylim(0, max(top_of(axis) * 1.15, 1.6))
    axis.set_title("Amplification (since the start)" if herd else
                   f"Amplification (over {10 * results.interval:g} s)")
    axis.set_ylabel("attempts / request")


def draw_queues(axis, results):
    styles = dict(group_styles(results))
    for service in results.details["services"]:
        names = results.callers(service["name"])
        style = styles[names[0]] if len(names) == 1 else {
            "colour": "black", "step": results.interval}
        waiting, in_service = results.waiting_at(service["name"])
        draw(axis, waiting, service["name"] + (" (in service)" if in_service else ""), **style)
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title("In the queue of each service" if len(results.details["services"]) > 1 else
                   "In the queue")
    axis.set_ylabel("attempts")


def draw_clients(axis, results):
    """Backoff, and waiting for send tokens where there is any."""
    tokens = results.series["limiter_waiting"].max() > 0
    for name, style in group_styles(results):
        own = {**style, "style": "-"} if tokens else style  # then dashes have a meaning
        draw(axis, results.pivot(name, "in_backoff"), name, **own)
    title = "In backoff at the clients"
    if tokens:
        for name, style in group_styles(results):
            waiting = results.pivot(name, "limiter_waiting")
            if (waiting > 0).any(axis=None):
                draw(axis, waiting, None, **{**style, "style": (0, (2, 1)), "band": False})
        title = "In backoff; dashed: waiting for a send token"
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title(title)
    axis.set_ylabel("requests")


def draw_waiting(axis, results):
    """Who waits where, for a single group and service."""
    step = results.interval
    waiting, in_service = results.waiting_at(results.details["services"][0]["name"])
    for table, label, colour in (
            (waiting, "in service" if in_service else "in the queue", BLUE),
            (results.pivot("all", "in_backoff"), "in backoff", ORANGE),
            (results.pivot("all", "limiter_waiting"), "for a send token", PURPLE)):
        if (table > 0).any(axis=None):
            draw(axis, table, label, colour, step=step)
    axis.set_ylim(0, max(1, axis.get_ylim()[1]))
    axis.set_title("Waiting")
    axis.set_ylabel("number waiting")
    entries_above(axis)


def draw_latency(axis, results):
    """p99 of each group; for a single group also the median."""
    if len(results.groups()) > 1:
        draw_groups(axis, results, lambda name: results.pivot(name, "latency_p99_s"))
        axis.set_title("p99 latency of the requests that end")
    else:
        for column, label, colour in (("latency_p50_s", "median", BLUE),
                                      ("latency_p99_s", "p99", ORANGE)):
            draw(axis, results.pivot("all", column), label, colour, step=results.interval)
        axis.set_title("Latency of requests that end")
        entries_above(axis)
    scale_latencies(axis)
    axis.set_ylabel("latency (log scale)")


def line_entries(results):
    """What the colours mean: groups and what became of them, or the rates of a single group."""
    groups = list(group_styles(results))
    if len(groups) == 1:
        return [(Line2D([], [], color=RED), "attempts sent"),
                (Line2D([], [], color=GREY), "requests submitted"),
                (Line2D([], [], color=GREEN), "goodput: requests that succeed")]
    return [(Line2D([], [], color=style["colour"], linestyle=style["style"]),
             f"{name}: {fate(results, name)}" if fate(results, name) else name)
            for name, style in groups]


def common_entries(results):
    """Legend entries of lines that belong to no group, and of shaded times, each once."""
    services = results.details["services"]
    if len(services) > 1:
        yield Line2D([], [], color=GREY), "requests submitted"
    if any(len(results.callers(s["name"])) > 1 for s in services):
        yield Line2D([], [], color="black"), "attempts of all groups together"
    kinds = dict.fromkeys(limit[0] for limit in (limit_of(results, s) for s in services) if limit)
    if kinds:
        text = " or ".join(kinds) + (" of each service" if len(services) > 1 else "")
        yield Line2D([], [], color="black", linestyle=LIMIT_STYLE, linewidth=1.5), text
    windows = list(disturbances(results))
    if len(windows) > 4:
        windows = [(0, 0, f"{len(windows)} faults and surges")]
    for _, _, text in windows:
        yield Patch(**FAULT), text
    storm = list(storms(results)) if len(services) == 1 else []
    if storm:
        yield Patch(**STORM), storm[0][2] if len(storm) == 1 else f"{len(storm)} retry storms"
    left_out = [text for _, _, text in outside(results)]
    if left_out:  # one pattern, one entry
        yield Patch(**OUTSIDE), "not in the summary: " + ", ".join(left_out)


def put_legends(figure, results):
    """Two blocks side by side, or stacked where long names leave no room, outside all panels.

    Returns them as (legend, left edge as a share of the width, inches below the top), to be placed
    once the height of the figure is known, and the inches that they need.
    """
    blocks = [line_entries(results), list(common_entries(results))]
    placed, left, below, height = [], 0.02, 0.0, 0.0
    for entries in filter(None, blocks):
        def make(columns, entries=entries):
            return figure.legend(*zip(*entries), loc="upper left", fontsize=10, ncol=columns,
                                 borderaxespad=0, borderpad=0, columnspacing=1.5)

        most = 3 if placed or len(entries) > 8 else 1
        legend = fitting_legend(make, (0.99 - left) * figure.bbox.width, most, whole=bool(placed))
        if legend is None:  # below the other
            left, below = 0.02, height + 0.05
            legend = fitting_legend(make, 0.97 * figure.bbox.width, most)
        size = legend.get_window_extent(figure.canvas.get_renderer())
        placed.append((legend, left, below))
        left += size.width / figure.bbox.width + 0.04
        height = max(height, below + size.height / figure.dpi)
    return placed, height + 0.15


def draw_loads(figure, grid, results, abreast):
    """One panel for each service; with one scale, if that suits all."""
    services, axes, limits = results.details["services"], [], []
    for i, service in enumerate(services):
        row, column = divmod(i, abreast)
        span = 6 // abreast
        axis = figure.add_subplot(grid[row, column * span:(column + 1) * span])
        limits.append(draw_load(axis, results, service))
        axes.append(axis)
        callers = results.callers(service["name"])
        if len(services) == 1:
            became = fate(results, callers[0]) if len(callers) == 1 else ""
            what = f"Load against {limit_of(results, service)[0]}" if limits[-1] else "Load"
            axis.set_title(what + (f": {became}" if became else ""))
        elif callers == [service["name"]]:
            axis.set_title(f"Load of {service['name']}")
        else:
            axis.set_title(f"Load of {service['name']} by {', '.join(callers) or 'no client'}")
    scale_loads(axes, limits)


def totals(results):
    """Counts of the whole run, all groups and replications."""
    rows = results.series
    sums = rows[["requests", "attempts", "successes", "failures"]].sum()
    sums["retries"] = rows["retries"].sum() if "retries" in rows else \
        (rows["attempts"] > rows["requests"]).sum()
    return sums


def anybody(results, drawer):
    """Whether a panel has anything to show but zeros, or a line at 100 % or 1 from end to end."""
    sums = totals(results)
    clients = bool((results.series[["in_backoff", "limiter_waiting"]] > 0).any(axis=None))
    queues = any((results.waiting_at(s["name"])[0] > 0).any(axis=None)
                 for s in results.details["services"])
    there = {draw_clients: clients, draw_queues: queues, draw_waiting: clients or queues,
             draw_latency: bool(results.series["latency_p99_s"].notna().any()),
             draw_success: sums["failures"] > 0, draw_amplification: sums["retries"] > 0}
    return bool(there.get(drawer, True))


def what_never_happens(results):
    """In words what a panel would show as a flat line."""
    sums = totals(results)
    words = ["no request fails"] if sums["successes"] > 0 and not sums["failures"] else []
    return ", ".join(words + ([] if sums["retries"] else ["nothing is retried"]))


def overview(results):
    drawers = [draw_goodput, draw_success, draw_amplification, draw_latency, draw_queues,
               draw_clients]
    if len(results.groups()) == 1 and len(results.details["services"]) == 1:
        drawers = [draw_success, draw_amplification, draw_waiting, draw_latency]
    drawers = [drawer for drawer in drawers if anybody(results, drawer)]
    services = len(results.details["services"])
    abreast = {1: 1, 2: 2, 4: 2}.get(services, 3)
    loads = -(-services // abreast)
    heights = [3.2 if services == 1 else 2.4] * loads + [2.4] * (-(-len(drawers) // 2))
    figure = plt.figure(figsize=(16 / 1.5, 10))
    legends, legend_inches = put_legends(figure, results)
    figure.set_figheight(round(sum(heights) + 1.0 + legend_inches, 2))
    grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
    draw_loads(figure, grid, results, abreast)
    for i, drawer in enumerate(drawers):
        row, column = divmod(i, 2)
        alone = i + 1 == len(drawers) and column == 0
        axis = figure.add_subplot(grid[loads + row, :] if alone else
                                  grid[loads + row, column * 3:column * 3 + 3])
        drawer(axis, results)
        shade(axis, results)
    note = "lines: means" + ("" if len(results.groups()) > 3 else
                             ", bands: 10 % to 90 % of the replications")
    top = put_headline(figure, results, note, what_never_happens(results))
    inch = 1 / figure.get_figheight()
    for legend, left, below in legends:
        legend.set_bbox_to_anchor((left, top - below * inch), transform=figure.transFigure)
    room = (0, 0, 1, top - legend_inches * inch)
    lay_out(figure, rect=room, h_pad=1.0)
    return figure
