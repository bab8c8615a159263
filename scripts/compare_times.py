#!/usr/bin/python3 -B
"""How often does `retrysim choose` find the smaller mean latency where one request in 2,000 takes
4 s and the others 1 ms (3 ms on average), against a steady 2.6 ms? 60 races, seeds 1 to 60 unless
told otherwise.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

SCENARIO = """name = "times"
duration = "5s"
replications = 20
[service.api]
servers = "unlimited"
service_time = "1ms"
[client.app]
count = 1
arrivals = { process = "poisson", total_rate = 20 }
retry = { mode = "none" }
"""
RARE = '{distribution="empirical", file="rare.csv"}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--races", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first race; default 1")
    arguments = parser.parse_args()
    program = Path(arguments.program).resolve()
    found = {"right": 0, "wrong": 0, "undecided": 0}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "times.toml").write_text(SCENARIO, encoding="utf-8")
        (Path(folder) / "rare.csv").write_text("value_s,weight\n0.001,1999\n4,1\n", "utf-8")
        for seed in range(arguments.seed, arguments.seed + arguments.races):
            subprocess.run([program, "choose", "times.toml", "--vary",
                            f'service.api.service_time="2600us",{RARE}', "--minimize",
                            "latency_mean", "--set", f"seed={seed}", "--out", "out", "--force",
                            "--quiet"], cwd=folder, check=False)
            result = json.loads((Path(folder) / "out" / "result.json").read_text("utf-8"))
            best = result["choice"]["best"]
            fate = "undecided" if best is None else "right" if "2600us" in best else "wrong"
            found[fate] += 1
            if fate == "wrong":
                print(f"{seed}: wrong after {result['choice']['replications']} replications",
                      flush=True)
    print(f"{arguments.races} races: " + ", ".join(f"{n} {word}" for word, n in found.items()))


if __name__ == "__main__":
    main()
