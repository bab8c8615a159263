"""One result of each kind of search over shipped scenarios, as command lines without --out.

SPDX-License-Identifier: MIT
"""

import subprocess

from plot_call import ROOT

DEPLOY, ZOMBIE = "scenarios/deploy.toml", "scenarios/fifo-zombie.toml"
RATE, MODE = "client.web.arrivals.total_rate", "client.web.retry.mode"
# Values that are tables: labels say what differs.
TABLES = ('service.*.service_time={distribution="constant",mean="50ms"},'
          '{distribution="exponential",mean="50ms"}')
SHORT = ["--set", "duration=150s"]
QUIET = ["--quiet"]

SEARCHES = {
    "compare": ["compare", DEPLOY, "--vary", f"{MODE}=none,legacy,standard", "--replications", "2",
                *SHORT, *QUIET],
    "compare-tables": ["compare", DEPLOY, "--vary", TABLES, "--replications", "2", *SHORT, *QUIET],
    "sweep": ["sweep", DEPLOY, "--vary", f"{RATE}=500:700:100", "--replications", "2", *SHORT,
              *QUIET],
    "sweep-map": ["sweep", DEPLOY, "--vary", f"{RATE}=500:700:100", "--vary",
                  "fault.deploy.duration=20s,40s", "--replications", "2", *SHORT, *QUIET],
    "sweep-tables": ["sweep", DEPLOY, "--vary", TABLES, "--replications", "2", *SHORT, *QUIET],
    "sweep-words": ["sweep", DEPLOY, "--vary", f"{RATE}=500:700:100", "--vary",
                    f"{MODE}=none,legacy", "--replications", "2", *SHORT, *QUIET],
    "sweep-groups": ["sweep", "scenarios/capacity-dip.toml", "--vary",
                     "fault.*.duration=10s,20s", "--replications", "2", *SHORT, *QUIET],
    "tip": ["tip", ZOMBIE, "--trigger", "fault.outage.duration=0.9s:1.6s", "--replications", "6",
            *QUIET],
    "tip-curve": ["tip", ZOMBIE, "--trigger", "fault.outage.duration=0.9s:1.6s", "--vary",
                  f"{RATE}=300,350", "--replications", "6", "--tolerance", "0.1", *QUIET],
    "tip-tables": ["tip", ZOMBIE, "--trigger", "fault.outage.duration=0.9s:1.6s", "--vary",
                   TABLES.replace("50ms", "2ms"), "--replications", "6", "--tolerance", "0.1",
                   *QUIET],
    "hysteresis": ["tip", ZOMBIE, "--hysteresis", f"{RATE}=300:600:100", "--dwell", "10s",
                   "--replications", "2", *QUIET],
    "choose": ["choose", DEPLOY, "--vary", f"{MODE}=none,legacy,standard", "--maximize",
               "success_rate", "--max-replications", "20", *SHORT, *QUIET],
    "advise": ["advise", DEPLOY, "--replications", "3", *SHORT, *QUIET],
    "map": ["map", ZOMBIE, "--vary", f"{RATE}=100:500:100", "--vary", "service.*.servers=1,2,3"],
    "map-confirm": ["map", ZOMBIE, "--vary", f"{RATE}=200:500:100", "--vary",
                    "service.*.servers=1,2", "--confirm", "2", "--set", "replications=2"],
    "predict": ["predict", ZOMBIE],
}


def searches(program, folder):
    """Name and command line of each, with a fit of a log that is made in the folder."""
    log = folder / "access.csv"
    done = subprocess.run([program, "run", ZOMBIE, "--quiet", "--replications", "1", "--set",
                           f"{RATE}=60", "--access-log", log, "--out", folder / "logged"],
                          cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr  # expectations may fail
    return {**SEARCHES, "fit": ["fit", log, *QUIET]}
