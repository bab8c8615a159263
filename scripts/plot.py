#!/usr/bin/python3
"""Draws what a person would look at first in the results of one run.

    plot.py RESULTS_DIR [--picture NAME] [--size column|slide] [--no-title]
            [--format png|svg|pdf] [--out DIR] [--variant NAME]

What the pictures are, and every word and colour in them, stands in result.json as `pictures`;
this program draws it, and the page of `retrysim report` draws the same. Of a run they are glance
(attempts and successes around the disturbance), overview (load against capacity and what follows
from it, over time) and latency (quantiles, and what became of the attempts); a comparison has
compare as well, and other commands a picture of their own. With --variant one variant of a
comparison is drawn alone.

With --size the same picture is drawn for print or a slide: in a palette for the colour-blind, and
so that a grey print can be read. What does not fit goes on in further files: NAME-2, NAME-3 ...

Reads only the files of the result folder; the same files give the same picture, byte for byte.
Exit status: 0 done, 2 bad command line, 3 a result file is missing or wrong, 4 cannot write.

SPDX-License-Identifier: MIT
"""

import sys

try:
    import matplotlib
except ImportError as missing:
    sys.exit(f"{sys.argv[0]}: error: {missing}; install python3-matplotlib")

matplotlib.use("Agg")  # before anything is drawn: no window, no display
sys.dont_write_bytecode = True  # an installation has no folder for it

from plotting.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
