"""retrysim: when a service gets into trouble, do the retries of its clients help it through, or
keep it down?

    import retrysim

    run = retrysim.run("deploy.toml", jobs=2)
    for verdict in run.verdicts:
        print(verdict)
    frame = run["summary"].to_pandas()

Every question has the name of its command, and gives the same figures, to the last byte. Besides
what each says, all take: `set`, changes to the scenario (a mapping of paths to values, or texts
"PATH=VALUE"); `jobs`, threads; `timeout`, real seconds, `max_events` and `max_memory` (bytes),
which end in `LimitExceeded`; `store`, a folder in which runs are kept and found again; and
`progress`, a callable that is told the share done about twenty times a second. Ctrl-C ends them.

SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import os as _os
from pathlib import Path as _Path
from typing import Any as _Any
from typing import Mapping as _Mapping
from typing import Optional as _Optional
from typing import Sequence as _Sequence
from typing import Union as _Union

from . import _engine
from .answers import (Advice, Choice, Comparison, Fit, Prediction, Risk, Run, SdkUpgrade, Size,
                      Sizes, Sweep, Tip, Uncertain, UncertainComparison, Verdict)
from .errors import InputError, LimitExceeded, OutputError, TokenMisuse, WarmupNotFound
from .scenario import Scenario
from .scenario import edits_of as _edits_of
from .scenario import source_of as _source_of
from .scenario import toml_of as _toml_of
from .strategy import RetryStrategy
from .tables import Table

_File = _Union[str, _os.PathLike]
_Source = _Union[str, _os.PathLike, Scenario]
_Changes = _Union[str, _Sequence[str], _Mapping[str, _Any], None]

__version__: str = _engine.version
__all__ = ["Advice", "Choice", "Comparison", "Fit", "Imported", "InputError", "LimitExceeded",
           "OutputError", "Prediction", "RetryStrategy", "Risk", "Run", "Scenario", "SdkUpgrade",
           "Size", "Sizes", "Sweep", "Table", "Tip", "TokenMisuse", "Uncertain",
           "UncertainComparison", "Verdict", "WarmupNotFound",
           "advise", "choose", "compare", "fit", "from_text", "import_config", "import_kinds",
           "load", "predict", "risk", "run", "sdk_upgrade", "size", "sweep", "tip"]


def load(file: _File, set: _Changes = None) -> Scenario:
    """The scenario in a TOML file."""
    return Scenario(file, set)


def from_text(text: str, name: str = "scenario", inputs: _Optional[_Mapping[str, str]] = None,
              set: _Changes = None) -> Scenario:
    """A scenario from TOML text; `inputs` are the CSV files that it names, as texts."""
    return Scenario.from_text(text, name, inputs, set)


def _engine_of(scenario, changes):
    """The engine's scenario of a path or a Scenario."""
    if isinstance(scenario, Scenario):
        return (scenario.set(changes) if changes else scenario)._engine
    return Scenario(scenario, changes)._engine


def _values(given):
    """The values to vary over: of a list, an array, a range; else the one that is given."""
    is_one = isinstance(given, _Mapping) or not hasattr(given, "__iter__")
    return [given] if is_one else given


def _choices(vary):
    """Variations as texts: "PATH=V1,V2", or a mapping of paths to lists of values."""
    if not vary:
        return []
    if isinstance(vary, str):
        return [vary]
    if isinstance(vary, _Mapping):
        return [f"{path}={values}" if isinstance(values, str) else
                f"{path}={','.join(_toml_of(value) for value in _values(values))}"
                for path, values in vary.items()]
    return [str(one) for one in vary]


def _list(texts):
    return [texts] if isinstance(texts, str) else [str(text) for text in texts]


def _files(variants):
    return [f"{name}={file}" for name, file in (variants or {}).items()]


def run(scenario: _Source, set: _Changes = None, uncertain: _Optional[int] = None,
        **how: _Any) -> _Union[Run, Uncertain]:
    """Simulates the replications of a scenario: a path or a Scenario. With `uncertain`, a number of
    draws, each run draws what [uncertain] of the scenario leaves open."""
    if uncertain is not None:
        file, edits, kept = _source_of(scenario, set)
        return Uncertain(_engine.uncertain(file, edits, int(uncertain), **how))
    return Run(_engine.run(_engine_of(scenario, set), **how))


def compare(scenario: _Source, vary: _Changes = None,
            variants: _Optional[_Mapping[str, _File]] = None, set: _Changes = None,
            baseline: str = "", metrics: _Union[str, _Sequence[str]] = (), twin: bool = False,
            uncertain: _Optional[int] = None,
            **how: _Any) -> _Union[Comparison, UncertainComparison]:
    """Compares variants on common random numbers: every combination of the values to `vary`, such
    as {"client.*.retry.backoff.jitter": ["full", "equal"]}, and `variants`, scenario files by name.
    `metrics` are names of metrics; empty: the usual ones. With `twin` each run that does not
    recover is repeated without retries. With `uncertain`, a number of draws, each run draws what
    [uncertain] of the scenario leaves open, the same for all variants."""
    file, edits, kept = _source_of(scenario, set)
    if uncertain is not None:
        if twin:
            raise TypeError("twin and uncertain do not go together: each draw is another scenario")
        return UncertainComparison(_engine.compare_uncertain(
            file, edits, _choices(vary), _files(variants), baseline, _list(metrics), int(uncertain),
            **how))
    return Comparison(_engine.compare(file, edits, _choices(vary), _files(variants), baseline,
                                      _list(metrics), twin, **how))


def choose(scenario: _Source, vary: _Changes = None, maximize: _Optional[str] = None,
           minimize: _Optional[str] = None, variants: _Optional[_Mapping[str, _File]] = None,
           set: _Changes = None, client: str = "all",
           subject_to: _Union[str, _Sequence[str]] = (), confidence: float = 0.95,
           indifference: _Optional[float] = None, max_replications: int = 1000,
           **how: _Any) -> Choice:
    """Finds the variant that is best in one metric, to `maximize` or `minimize`, among those that
    keep the limits `subject_to` ("success_rate>=0.99")."""
    if (maximize is None) == (minimize is None):
        raise TypeError("expected one of maximize and minimize, the name of a metric")
    file, edits, kept = _source_of(scenario, set)
    return Choice(_engine.choose(file, edits, _choices(vary), _files(variants),
                                 maximize or minimize, maximize is not None, client,
                                 _list(subject_to), confidence, indifference, max_replications,
                                 **how))


def sweep(scenario: _Source, vary: _Changes, set: _Changes = None, **how: _Any) -> Sweep:
    """Simulates every combination of the values to `vary`."""
    file, edits, kept = _source_of(scenario, set)
    return Sweep(_engine.sweep(file, edits, _choices(vary), **how))


def tip(scenario: _Source, trigger: str, vary: _Changes = None, set: _Changes = None,
        tolerance: float = 0.01, **how: _Any) -> Tip:
    """Searches for the size of a trigger from which half of the runs no longer recover:
    "fault.outage.duration=1s:60s"; with values to `vary`, for each of them."""
    file, edits, kept = _source_of(scenario, set)
    return Tip(_engine.tip(file, edits, trigger, _choices(vary), tolerance, **how))


def size(scenario: _Source, what: str, disturbances: _Union[str, _Sequence[str]] = (),
         slo: _Union[str, _Sequence[str]] = (), set: _Changes = None, client: str = "all",
         expectations: bool = False, largest: bool = False, uncertain: bool = False,
         vary: _Changes = None, share: float = 0.95, confidence: float = 0.95,
         max_replications: int = 1000, **how: _Any) -> _Union[Size, Sizes]:
    """Searches for the smallest (or largest) safe value of a key, "service.api.servers=4:40": one
    with which at least `share` of the runs recover from each of the `disturbances`
    ("fault.outage.duration=1s,10s") and keep the limits `slo` ("success_rate>=0.99"), with this
    `confidence`. If `uncertain`, each run draws what [uncertain] of the scenario leaves open. With
    values of other keys to `vary` there is a search for each combination."""
    file, edits, kept = _source_of(scenario, set)
    kind = Sizes if vary else Size
    return kind(_engine.size(file, edits, what, _list(disturbances), _list(slo), client,
                             expectations, largest, uncertain, _choices(vary), share, confidence,
                             max_replications, **how))


def risk(scenario: _Source, event: str = "collapse", per: str = "30d", vary: _Changes = None,
         set: _Changes = None, precision: float = 0.25, effort: float = 5e9, plain: bool = False,
         repair: str = "", **how: _Any) -> Risk:
    """How likely it is that something rare happens by itself within `per`: "collapse",
    "service.api.in_system>=100" or "client.web.success_rate<0.9/60s"; or that faults at random
    times use more of an error budget than there is: "slo.web.budget>1". `precision` is half the
    width of the 95 % interval that is aimed at, as a share; `effort` limits the events that are
    simulated for each combination of the values to `vary`. `repair` is the time after which
    somebody ends a collapse that stays, for an error budget."""
    file, edits, kept = _source_of(scenario, set)
    return Risk(_engine.risk(file, edits, event, per, _choices(vary), precision, effort, plain,
                             repair, **how))


def advise(scenario: _Source, set: _Changes = None, **how: _Any) -> Advice:
    """Tries the usual remedies one by one and ranks them."""
    file, edits, kept = _source_of(scenario, set)
    return Advice(_engine.advise(file, edits, **how))


def predict(scenario: _Source, set: _Changes = None, **how: _Any) -> Prediction:
    """What theory says without simulating anything."""
    return Prediction(_engine.predict(_engine_of(scenario, set), **how))


def sdk_upgrade(upgrade: str, scenario: _Source, set: _Changes = None,
                **how: _Any) -> SdkUpgrade:
    """What an upgrade of an SDK ("botocore@1.43.3..1.44.0") changes in the fleet of the scenario.
   """
    file, edits, kept = _source_of(scenario, set)
    return SdkUpgrade(_engine.sdk_upgrade(upgrade, file, edits, **how))


def fit(logs: _Union[_File, _Sequence[_File]], name: str = "fitted", format: str = "auto",
        columns: _Optional[_Mapping[str, str]] = None, duration_unit: _Optional[float] = None,
        time_is_start: _Optional[bool] = None, service: str = "",
        allow_bad_lines: float = 0.01, **how: _Any) -> Fit:
    """Makes a scenario of access logs: one path or several. `format` is told from the first lines,
    named, or described as servers do (with $ or %); `columns` names the columns of CSV and JSON
    ({"duration": "latency"}); `duration_unit` is in seconds."""
    paths = [logs] if isinstance(logs, (str, _os.PathLike)) else list(logs)
    return Fit(_engine.fit([_Path(path) for path in paths], name, format, dict(columns or {}),
                           duration_unit, time_is_start, service, allow_bad_lines, **how))


class Imported:
    """What a retry configuration of other software means here."""

    def __init__(self, kind, policies, remarks, toml):
        self.kind = kind  #: "envoy", "resilience4j", ...
        #: by name of the policy: {path below the client group: (value as TOML, source)}
        self.policies = {name: {path: (value, source) for path, value, source in keys}
                         for name, _, keys in policies}
        self.remarks = remarks  #: (field, why no key was made of it, whether it is unrelated)
        self.toml = toml  #: all policies as client groups

    def edits(self, client, policy=None):
        """Edits ("PATH=VALUE") that give a client group a policy, by default the first."""
        keys = self.policies[policy or next(iter(self.policies))]
        return [f"client.{client}.{path}={value}" for path, (value, _) in keys.items()]

    def __repr__(self):
        return f"<Imported {self.kind}: {', '.join(self.policies)}>"


def import_config(file: _Optional[_File] = None, kind: str = "",
                  text: _Optional[str] = None) -> Imported:
    """Reads a retry configuration: a file, or `text`. `kind` is told from its content; see
    `import_kinds`."""
    if (file is None) == (text is None):
        raise TypeError("expected a file or text=")
    name = str(file or "text")
    if text is None:
        text = _Path(file).read_text(encoding="utf-8")
    return Imported(*_engine.import_config(text, name, kind))


def import_kinds() -> dict[str, str]:
    """The kinds of configurations that `import_config` reads, and what of each."""
    return _engine.import_kinds()
