#!/usr/bin/python3
"""Does the simulator predict reality? Runs scenarios both ways: with real SDK clients against a
real HTTP server on loopback, and simulated. Prints, for each phase, what the real run counted
beside the 95 % prediction interval of the simulation, and draws the same by second; exit status 1
if fewer than 95 % of the figures of the phases lie in their interval or within 2 % of its mean.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import case as cases
import lateness
import picture
import prediction
import processes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCENARIOS = ("dip-standard", "throttling-adaptive", "herd", "dip-botocore")
# Later than this in one case of a hundred: the machine, not the clients, shapes the figures.
TOO_LATE_MS = 20


def fail(message, status):
    print(f"reality: error: {message}", file=sys.stderr)
    sys.exit(status)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/reality", description=__doc__.split("\n\n")[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO",
                        help="scenario files; default: those beside the script")
    parser.add_argument("--program", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "retrysim", help="the simulator")
    parser.add_argument("--modules", type=pathlib.Path, default=ROOT / "build" / "reality",
                        help="folder with the node_modules of package.json")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "reality",
                        help="folder of phases.csv, seconds.csv, reality.png and, for each "
                             "scenario, the server's access log, which retrysim fit reads")
    parser.add_argument("--replications", type=int, default=999,
                        help="simulated runs (default 999, at least "
                             f"{prediction.FEWEST_REPLICATIONS})")
    parser.add_argument("--seed", type=int, default=1,
                        help="of the real run's arrivals and service times; its backoff is the "
                             "SDK's")
    parser.add_argument("--nice", type=int, metavar="N",
                        help="priority of server and clients, such as -19 on a machine that does "
                             "other things; below 0 for root only")
    options = parser.parse_args()
    if options.replications < prediction.FEWEST_REPLICATIONS:
        parser.error(f"--replications must be at least {prediction.FEWEST_REPLICATIONS}")
    if options.nice is not None and not -20 <= options.nice <= 19:
        parser.error("--nice must be from -20 to 19")
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no program {options.program}; build it, or use --program")
    options.scenarios = ([pathlib.Path(s) for s in options.scenarios]
                         or [HERE / f"{name}.toml" for name in SCENARIOS])
    return options


def simulate(options, resolved, case, arrivals):
    """metric -> counts of each bin of each replication. The simulated requests come when the real
    ones do: chance in their number, which the harness draws, would say nothing about either."""
    with tempfile.TemporaryDirectory(prefix="reality-") as folder:
        scenario, trace = pathlib.Path(folder, "scenario.toml"), pathlib.Path(folder, "trace.csv")
        if case.clients.process == "poisson":
            trace.write_text("time_s\n" + "".join(f"{t / cases.SECOND:.9f}\n"
                                                  for t, _ in arrivals), encoding="utf-8")
            resolved = cases.with_arrivals(resolved, case.clients.name, trace)
        scenario.write_text(resolved, encoding="utf-8")
        command = [str(options.program), "run", str(scenario), "--quiet", "--no-progress",
                   "--replications", str(options.replications), "--out", f"{folder}/result"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1):  # 1: an expectation of the scenario is not met
            fail(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}", 3)
        return prediction.read_replications(f"{folder}/result/timeseries.csv", case.clients.name,
                                            bins_of(case))


def bins_of(case):
    return -(-case.duration_ns // case.interval_ns)


def measure(case, run):
    """metric -> counts of each bin, of the real run."""
    times = {"requests": run.submitted, "attempts": run.arrivals, "successes": run.successes,
             "failures": run.failures}
    return {metric: prediction.count_bins(times[metric], case.interval_ns, bins_of(case))
            for metric in prediction.METRICS}


def milliseconds(ns):
    return f"{ns / 1e6:.1f} ms"


def machine_report(run):
    """(text, whether the machine was too busy)"""
    lines, busy = [], False
    for what, late in (("requests submitted", run.submitted_late_ns),
                       ("answers sent", run.answered_late_ns)):
        typical = processes.quantile(late, 0.99)
        busy |= typical > TOO_LATE_MS * 1e6
        lines.append(f"{what} late by at most {milliseconds(typical)} in 99 of 100 cases, by "
                     f"{milliseconds(max(late, default=0))} at worst")
    if run.loop_delay_max_ns is not None:
        lines.append(f"event loop of the clients held up by {milliseconds(run.loop_delay_max_ns)} "
                     "at worst")
    lines.append(f"round trip without load {milliseconds(run.round_trip_ns)}")
    lines.append(f"server and clients took {run.cpu_s:.1f} s of processor time, other programs "
                 f"{run.others_share:.0%} of all processors")
    return "; ".join(lines) + ".", busy


def lateness_report(options, resolved, case, run):
    """What clients as late as these make by the simulation; of closed loops, which lateness slows
    down."""
    late_ns = lateness.per_attempt_ns(run, 0, case.duration_ns)
    if case.clients.process != "closed" or late_ns is None:
        return None
    by_part = ", ".join("none" if ns is None else milliseconds(ns)
                        for ns in lateness.by_part_ns(run, case.duration_ns))
    says = (f"Attempts took {milliseconds(late_ns)} longer on average than the scenario says ("
            f"{by_part} in the thirds of the run).")
    if not lateness.can_be_latency(late_ns, case.clients.timeout_ns):
        return f"{says} That is too near the attempt timeout to be simulated as latency."
    attempts = simulate(options, lateness.with_lateness(resolved, late_ns), case, [])["attempts"]
    sums = [sum(bins) for bins in attempts]
    low, high = prediction.interval(sums)
    return (f"{says} Simulated with that: {low} to {high} attempts, mean "
            f"{statistics.fmean(sums):.0f}; real: {sum(measure(case, run)['attempts'])}.")


def write_access_log(path, entries):
    """What the real server logged, in the form of `retrysim run --access-log`."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["time", "duration", "status", "request"])
        for answered_ns, duration_ns, status, request in entries:
            rows.writerow([f"{answered_ns / 1e9:.9f}", f"{duration_ns / 1e9:.9f}", status, request])


def compare(options, scenario):
    """(case, figures of phases, figures of intervals) of one scenario, run both ways."""
    try:
        resolved = cases.resolve(options.program, scenario)
        case = cases.case_of(resolved)
        arrivals = cases.arrivals_of(case, random.Random(f"arrivals {options.seed}"))
        replications = simulate(options, resolved, case, arrivals)
        run = processes.run(case, arrivals, options.modules.resolve(), options.seed, options.nice)
    except cases.Unsupported as e:
        fail(f"{scenario}: {e}", 3)
    except (processes.ProcessFailed, PermissionError) as e:
        fail(f"{scenario}: {e}", 4)
    write_access_log(options.out / f"{case.name}-access.csv", run.access_log)
    real = measure(case, run)
    phases = prediction.by_phase(case, real, replications)
    intervals = prediction.by_interval(case, real, replications)
    print(f"{prediction.table(case, phases)}\n")
    print(f"{run.clients}. Of {len(phases)} figures of phases "
          f"{prediction.share(phases, 'inside'):.0%} lie inside their interval, "
          f"{prediction.share(phases, 'agrees'):.0%} inside or within 2 % of the mean; of "
          f"{len(intervals)} figures of intervals "
          f"{prediction.share(intervals, 'inside'):.1%} and "
          f"{prediction.share(intervals, 'agrees'):.1%} do.")
    text, busy = machine_report(run)
    print(f"The machine: {text}")
    if late := lateness_report(options, resolved, case, run):
        print(late)
    if busy:
        print(f"note: {case.name}: the machine was late by more than {TOO_LATE_MS} ms too often "
              "for a fair test; repeat it on an idle one, or with --nice")
    print(flush=True)
    return case, phases, intervals


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    results = [compare(options, scenario) for scenario in options.scenarios]
    for name, part in (("phases.csv", 1), ("seconds.csv", 2)):
        prediction.write(options.out / name,
                         [(result[0].name, f) for result in results for f in result[part]])
    picture.draw(options.out / "reality.png", [(case, f) for case, _, f in results])
    everything = [f for _, phases, _ in results for f in phases]
    agreeing = prediction.share(everything, "agrees")
    reached = agreeing >= prediction.GOAL
    print(f"{agreeing:.1%} of {len(everything)} figures of phases agree with the prediction "
          f"({prediction.share(everything, 'inside'):.1%} inside the interval): "
          f"{'as' if reached else 'NOT as'} it must be, at least {prediction.GOAL:.0%}.")
    print(f"Files: {options.out}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
