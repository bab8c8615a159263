"""The SDKs that decisions are compared with: how each is run, and whose preset it stands for.

SPDX-License-Identifier: MIT
"""

import dataclasses
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"

# Weights of the services whose clients are used, by the names that the presets give them.
BOTOCORE_SERVICES = {
    "kinesis": 6, "dynamodb": 6, "sqs": 3, "organizations": 2, "sts": 2, "s3": 2, "route53": 2,
    "cloudsearch": 1, "glacier": 1, "dynamodb-streams": 1, "ec2": 1}


@dataclasses.dataclass(frozen=True)
class Oracle:
    """One mode of one SDK."""

    name: str
    title: str  # of the SDK, for the table
    driver: str
    sdk: str  # of the preset
    mode: str
    services: dict
    revision: str = ""
    headers: tuple = ()  # those whose delay the SDK takes; of several the first in the answer
    settings: tuple = ()  # keys of [client.X.retry] in which this version differs
    unknown: tuple = ()  # (service, status, code): errors that this version does not know

    def as_known(self, answer, service):
        """An answer as this version takes it: a code that it does not know says nothing."""
        if (service, answer.get("status"), answer.get("code")) in self.unknown:
            return answer | {"code": None}
        return answer


def botocore(mode, **differences):
    return Oracle(f"botocore-{mode}", "botocore", "botocore", "botocore", mode, BOTOCORE_SERVICES,
                  **differences)


ORACLES = [
    # 1.29.27 does not know a code that later versions retry in legacy mode, and takes the jitter
    # before the cap in the other modes.
    botocore("legacy", unknown=(("dynamodb", 409, "ReplicatedWriteConflictException"),)),
    botocore("standard", settings=("backoff.jitter_before_cap=true",)),
    botocore("adaptive", settings=("backoff.jitter_before_cap=true",)),
]


def named(names):
    """The oracles of these names, or whose names begin with one of them; None if one fits none."""
    if not names:
        return ORACLES
    fits = {name: [o for o in ORACLES if o.name == name or o.name.startswith(name + "-")]
            for name in names}
    if not all(fits.values()):
        return None
    return [o for o in ORACLES if any(o in chosen for chosen in fits.values())]


def _has_module(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def driver_command(oracle, build):
    """(command, None), or (None, why the SDK cannot be used). `build`: where --install puts SDKs."""
    if oracle.driver == "botocore":
        if shutil.which(PYTHON) is None or not _has_module(PYTHON, "botocore"):
            return None, "the package python3-botocore is not installed"
        return [PYTHON, "-B", str(HERE / "botocore_driver.py")], None
    raise ValueError(oracle.driver)
