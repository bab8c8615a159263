#!/usr/bin/python3
"""Draws what a person would look at first in the results of one run.

    plot.py RESULTS_DIR [--format png|svg|pdf] [--out DIR] [--variant NAME]

overview: load against capacity for each service, then goodput, success rate, amplification, latency
and who waits where, over the time in which anything happens; faults, surges and retry storms are
shaded. latency: quantiles of the whole window and what became of the attempts. A client group has
one colour everywhere. Lines are means over replications; bands reach from the 10 % to the 90 %
quantile of the replications, because a storm in some of them is no normal distribution.

Results of `retrysim compare` have a third picture, compare: the differences from the baseline.
Those of `retrysim sweep` have one, sweep: metrics over the varied keys, as lines with their
intervals (one key) or heat maps (two); those of `retrysim tip` tip or hysteresis; those of
`retrysim choose` choose, with the first stage of all policies and the race; those of
`retrysim advise` advise, with what each remedy changes; those of `retrysim map` map, with the
points confirmed; those of `retrysim predict --out` phase_plane.

Reads only the files of the result folder; the same files give the same picture, byte for byte.
Exit status: 0 done, 2 bad command line, 3 a result file is missing or wrong, 4 cannot write.

SPDX-License-Identifier: MIT
"""

import sys

try:
    import matplotlib
    import pandas  # noqa: F401
except ImportError as missing:
    sys.exit(f"{sys.argv[0]}: error: {missing}; install python3-matplotlib and python3-pandas")

matplotlib.use("Agg")  # before anything is drawn: no window, no display
sys.dont_write_bytecode = True  # an installation has no folder for it

from plotting.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
