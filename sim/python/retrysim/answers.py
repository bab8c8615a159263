"""The answers to questions: tables, sentences, pictures, folders.

SPDX-License-Identifier: MIT
"""

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .scenario import Scenario, TemporaryFolder
from .tables import Table

COLOURS = {"good": "#1a7f37", "info": "#57606a", "bad": "#b42318"}


@dataclass(frozen=True)
class Verdict:
    """One sentence on how a client group fared or why, with the figures behind it."""

    client: str  #: name of the group; "all": several together
    rule: str  #: id of the rule, as in sim/explain
    severity: str  #: "good", "info" or "bad"
    sentence: str
    evidence: dict = field(default_factory=dict)  #: by name, which ends in the unit
    figures: list = field(default_factory=list)  #: as in result.json, with their sources

    def __str__(self):
        return f"{self.client}: {self.sentence}"


class Answer(Mapping):
    """What a question found: a mapping of its tables by name, as the command calls its CSV files.

    `print(answer)` shows what the command prints. Nothing is written unless `save` or
    `save_pictures` is called.
    """

    def __init__(self, engine):
        self._engine = engine
        self._tables = {}
        self._json = self._folder = None

    def __getitem__(self, name):
        if name not in self._tables:
            self._tables[name] = Table(self._engine.table(name))
        return self._tables[name]

    def __iter__(self):
        return iter(self._engine.names())

    def __len__(self):
        return len(self._engine.names())

    @property
    def scenario(self):
        """The resolved scenario; of several variants that of the first."""
        return Scenario._of_engine(self._engine.scenario)

    @property
    def json(self):
        """What result.json has, as dictionaries and lists, but for checksums and pictures."""
        if self._json is None:
            text = self._engine.json()
            if text is None:
                text = (self._saved() / "result.json").read_text(encoding="utf-8")
            self._json = json.loads(text)
        return self._json

    @property
    def verdicts(self):
        """The verdicts on all variants, in their order."""
        return [Verdict(one["client"], one["rule"], one["severity"], one["sentence"],
                        one.get("evidence", {}), one.get("figures", []))
                for one in self.json.get("verdicts", [])]

    def save(self, folder, force=False):
        """Writes the result folder that the command writes, for `retrysim report` and
        `retrysim-plot`, and returns its path. An earlier result of another question there is an
        `OutputError`, unless `force` is true."""
        path = Path(folder)
        self._engine.save(os.fspath(folder), force)
        return path

    def _saved(self):
        """The result folder of the command, in a temporary place."""
        if self._folder is None:
            self._folder = TemporaryFolder()
            self.save(self._folder.path / "result")
        return self._folder.path / "result"

    def _drawn(self):
        from .plotting.results import Results

        results = Results(self._saved())
        return results, results.pictures()

    def pictures(self):
        """The names of the pictures that `plot` draws and `save_pictures` writes."""
        return [picture["name"] for picture in self._drawn()[1]]

    def _figures(self, pictures, size, title):
        """Picture and figures of each, while Matplotlib has the style of their size."""
        import matplotlib.pyplot as plt

        from .plotting.layout import draw_picture

        results, _ = self._drawn()
        with plt.rc_context(size.style()):
            for picture in pictures:
                yield picture, draw_picture(picture, results, size, title)

    def _wanted(self, picture, size):
        """The pictures of a name, and the size of one."""
        from .plotting.sizes import DEFAULT, SIZES

        found = self._drawn()[1]
        if not found:
            raise ValueError("this answer has nothing to draw")
        wanted = [one for one in found if picture in (None, one["name"])]
        if not wanted:
            names = ", ".join(one["name"] for one in found)
            raise ValueError(f"there is no picture {picture!r}; there are {names}")
        if size is not None and size not in SIZES:
            raise ValueError(f"there is no size {size!r}; there are {', '.join(SIZES)}")
        return wanted, SIZES.get(size, DEFAULT)

    def plot(self, picture=None, *, size=None, title=True):
        """Draws a picture of the result, by default the first one, by Matplotlib. Returns its
        axes; `axes[0].figure` is the figure.

        `size` may be "column", for a column of a paper, or "slide". In these a picture with many
        panels has several figures; the axes are those of all, in their order. With `title=False`
        titles are left to a caption.
        """
        wanted, size = self._wanted(picture, size)
        return [axis for _, figures in self._figures(wanted[:1], size, title)
                for figure in figures for axis in figure.get_axes()]

    def save_pictures(self, folder, picture=None, *, size=None, title=True, format="png"):
        """Writes what `retrysim-plot` draws, all pictures or one, and returns the paths: NAME.png,
        and with a size perhaps NAME-2.png and so on. `format` is "png", "svg" or "pdf"; in the
        last two text stays text. Earlier pictures are replaced."""
        from .plotting.file import save_all

        wanted, size = self._wanted(picture, size)
        if format not in ("png", "svg", "pdf"):
            raise ValueError(f"there is no format {format!r}; there are png, svg, pdf")
        return [path for one, figures in self._figures(wanted, size, title)
                for path in save_all(figures, Path(folder), one["name"], format,
                                     size.dots_per_inch)]

    def __str__(self):
        return self._engine.text(80)

    def __repr__(self):
        return f"<{type(self).__name__} of {self.scenario.name}: {', '.join(self)}>"

    def _repr_html_(self):
        parts = [f"<h3>{html.escape(self.scenario.name)}</h3>"]
        said = set()
        for verdict in self.verdicts:
            if (verdict.client, verdict.sentence) in said:
                continue
            said.add((verdict.client, verdict.sentence))
            colour = COLOURS.get(verdict.severity, "#57606a")
            parts.append(f'<p style="margin:2px 0;border-left:4px solid {colour};padding-left:8px">'
                         f"<b>{html.escape(verdict.client)}</b>: "
                         f"{html.escape(verdict.sentence)}</p>")
        parts.append("<details><summary>as on the terminal</summary>"
                     f"<pre>{html.escape(str(self))}</pre></details>")
        return "".join(parts)


class Run(Answer):
    """The answer of `run`: all replications of one scenario."""


class Uncertain(Answer):
    """The answer of `run(uncertain=...)`: runs with values drawn from [uncertain]."""


class Comparison(Answer):
    """The answer of `compare`."""

    @property
    def baseline(self):
        """The name of the variant that the others are compared with."""
        return self._engine.facts["baseline"]

    @property
    def variants(self):
        """The names of all variants, the baseline first."""
        return [one["variant"] for one in self.json["variants"]]

    @property
    def sentences(self):
        """How the variants differ from the baseline, as the command says it."""
        return list(self.json["comparison"]["sentences"])


class UncertainComparison(Answer):
    """The answer of `compare(uncertain=...)`: a row of the table `variants` for each variant, of
    `uncertain` for each variant and draw, and of `compare` for each difference."""

    @property
    def baseline(self):
        """The name of the variant that the others are compared with."""
        return self._engine.facts["baseline"]

    @property
    def variants(self):
        """The names of all variants, the baseline first."""
        return [one["variant"] for one in self.json["uncertain_variants"]["variants"]]

    @property
    def sentences(self):
        """Which variant is good in more draws, as the command says it."""
        return list(self.json["sentences"])


class Choice(Answer):
    """The answer of `choose`."""

    @property
    def outcome(self):
        """"chosen", "none_keeps_limits", "none_has_values" or "undecided"."""
        return self._engine.facts["outcome"]

    @property
    def best(self):
        """The name of the best policy; None if none was chosen."""
        return self._engine.facts.get("best")


class Sweep(Answer):
    """The answer of `sweep`: a row of the table `points` for each combination of values."""


class Tip(Answer):
    """The answer of `tip`."""

    @property
    def outcome(self):
        """"found", or why not; None for a curve (the table `curve` has it for each case)."""
        return self._engine.facts.get("outcome")

    @property
    def d50(self):
        """The size from which half of the replications no longer recover, in the unit of the
        trigger (durations: seconds); None if it was not found."""
        found = self._engine.facts.get("d50")
        return None if found is None else float(found)


class Sizes(Answer):
    """The answer of `size(vary=...)`: a row of the table `frontier` for each combination of values,
    of `size` for each value that was tried."""


class Size(Answer):
    """The answer of `size`: a row of the table `size` for each value that was tried."""

    @property
    def outcome(self):
        """"found", "bracket", "all_safe", "none_safe", "window", "not_monotone" or "open"."""
        return self._engine.facts["outcome"]

    @property
    def value(self):
        """The safe value nearest to those that are not: of a window the smallest, of "all_safe" the
        end that is asked for. None if there is none."""
        return self._number("at")

    @property
    def beyond(self):
        """The nearest value on the other side that is known not to be safe; None if there is
        none."""
        return self._number("beyond")

    def _number(self, fact):
        found = self._engine.facts.get(fact)
        return None if found is None else float(found)


class Risk(Answer):
    """The answer of `risk`: a row of the table `risk` for each combination of values."""

    @property
    def mean_time(self):
        """Mean time in seconds until it happens, with its 95 % interval (mean, low, high). The mean
        and `high` are None if it was not seen. None if values were varied."""
        facts = self._engine.facts
        if "per_s_high" not in facts:
            return None
        seen = "per_s" in facts
        return (1 / float(facts["per_s"]) if seen else None, 1 / float(facts["per_s_high"]),
                1 / float(facts["per_s_low"]) if seen else None)


class Advice(Answer):
    """The answer of `advise`: a row of the table `advice` for each remedy, the best first."""


class Prediction(Answer):
    """The answer of `predict`, for which nothing is simulated."""


class SdkUpgrade(Answer):
    """The answer of `sdk_upgrade`."""


class Fit(Mapping):
    """The answer of `fit`: a scenario made of access logs, with tables of its estimates."""

    def __init__(self, engine):
        self._engine = engine
        self._folder = None

    def __getitem__(self, name):
        return Table(self._engine.table(name))

    def __iter__(self):
        return iter(self._engine.names())

    def __len__(self):
        return len(self._engine.names())

    @property
    def files(self):
        """scenario.toml and the CSV files that it names, as a dictionary of texts."""
        return dict(self._engine.files)

    @property
    def notes(self):
        """What to be careful about, as sentences."""
        return list(self._engine.notes)

    @property
    def why_untested(self):
        """Why there is no backtest; "": there is one, in the table `backtest`."""
        return self._engine.why_untested

    @property
    def scenario(self):
        """The scenario, to go on with."""
        files = self.files
        text = next(text for name, text in files.items() if name.endswith(".toml"))
        inputs = {name: text for name, text in files.items() if not name.endswith(".toml")}
        return Scenario.from_text(text, name=self._engine.scenario.name, inputs=inputs)

    def save(self, folder):
        """Writes the files into a new or empty folder, and returns the path of the scenario."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = {folder / name: text for name, text in self.files.items()}
        for path in paths:
            if path.exists():
                raise FileExistsError(f"{path} is there already")
        for path, text in paths.items():
            path.write_text(text, encoding="utf-8")
        return next(path for path in paths if path.suffix == ".toml")

    def __repr__(self):
        return f"<Fit of {self._engine.scenario.name}: {', '.join(self)}>"
