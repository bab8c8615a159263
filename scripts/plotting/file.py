"""Writing a picture so that it is whole or absent.

SPDX-License-Identifier: MIT
"""

import os

import matplotlib.pyplot as plt


def save(figure, path):
    """Writes beside the target and renames; without dates, so that equal figures give equal
    files. Closes the figure."""
    kind = path.suffix[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None},
                "pdf": {"CreationDate": None}}[kind]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(beside, format=kind, dpi=150, metadata=metadata)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
        plt.close(figure)
