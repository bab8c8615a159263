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


def save_all(figures, folder, name, kind, dots_per_inch):
    """Writes NAME.KIND, and NAME-2.KIND and so on for further figures, into a folder, which is
    made. Yields each path once its file is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, figure in enumerate(figures, start=1):
        path = folder / f"{name}{f'-{i}' if i > 1 else ''}.{kind}"
        save(figure, path, dots_per_inch)
        yield path
