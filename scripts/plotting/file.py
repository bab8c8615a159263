"""Writing a picture so that it is whole or absent.

SPDX-License-Identifier: MIT
"""

import errno
import os

import matplotlib.pyplot as plt


def save(figure, path, dots_per_inch=150):
    """Writes beside the target and renames; without dates, so that equal figures give equal
    files. Only regular files are replaced. Closes the figure."""
    kind = path.suffix[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None},
                "pdf": {"CreationDate": None}}[kind]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OSError(errno.EEXIST, f"{path.name} is not a regular file")
        figure.savefig(beside, format=kind, dpi=dots_per_inch, metadata=metadata)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
        plt.close(figure)
