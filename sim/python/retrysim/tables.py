"""Tables of results: named columns with units, as numpy arrays, pandas frames and Arrow streams.

SPDX-License-Identifier: MIT
"""


class Table:
    """One table of a result, with the columns and rows of the CSV file of that name.

    `table["mean"]` is a column: numbers as a read-only numpy array that shares the table's memory,
    texts as an array of `str`. What is missing is NaN among reals, 0 among integers, "" among texts
    and False among truth values; `table.present(name)` tells it apart.

    pyarrow, polars and duckdb read a table without a copy (`__arrow_c_stream__`).
    """

    def __init__(self, engine):
        self._engine = engine
        self._names = engine.names()

    @property
    def columns(self):
        """The names of the columns, in order."""
        return list(self._names)

    @property
    def units(self):
        """The unit of each column: "s", "1/s", "1" (shares, ratios), what is counted, or ""."""
        return {name: self._engine.unit(name) for name in self._names}

    def __len__(self):
        return self._engine.rows

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        """The rows, as dictionaries; None for what is missing."""
        columns = [(name, self[name].tolist(), self.present(name)) for name in self._names]
        for row in range(len(self)):
            yield {name: values[row] if present[row] else None
                   for name, values, present in columns}

    def __getitem__(self, name):
        import numpy as np  # not at the top: it takes longer than the whole package

        values = self._engine.values(name)
        if self._engine.type(name) != "text":
            return values
        categories = np.array(self._engine.categories(name) or [""], dtype=object)
        texts = categories[values]
        present = self._engine.presence(name)
        if present is not None:
            texts[~present] = ""
        return texts

    def present(self, name):
        """For each row of a column, whether it has a value."""
        import numpy as np

        present = self._engine.presence(name)
        return np.ones(len(self), dtype=bool) if present is None else present

    def where(self, **values):
        """The rows whose columns have these values, as a list of dictionaries."""
        for name in values:
            if name not in self._names:
                raise KeyError(name)
        return [row for row in self if all(row[name] == value for name, value in values.items())]

    def to_pandas(self):
        """A pandas.DataFrame: reals share the table's memory, texts are categories, and what is
        missing is NaN or <NA>. `frame.attrs["units"]` has the units."""
        import numpy as np
        import pandas as pd

        columns = {}
        for name in self._names:
            kind, values = self._engine.type(name), self._engine.values(name)
            present = self._engine.presence(name)
            if kind == "text":
                codes = values if present is None else np.where(present, values, -1)
                columns[name] = pd.Categorical.from_codes(codes, self._engine.categories(name))
            elif kind == "integer" and present is not None:
                columns[name] = pd.arrays.IntegerArray(values.copy(), ~present)
            elif kind == "truth" and present is not None:
                columns[name] = pd.arrays.BooleanArray(values, ~present)
            else:
                columns[name] = values
        frame = pd.DataFrame(columns, copy=False)
        frame.attrs["units"] = self.units
        return frame

    def to_csv(self):
        """The bytes of the CSV file that the program writes."""
        return self._engine.to_csv()

    def __arrow_c_schema__(self):
        return self._engine.arrow_schema()

    def __arrow_c_stream__(self, requested_schema=None):
        """An Arrow stream of one batch; another schema than its own is not made."""
        return self._engine.arrow_stream()

    def __repr__(self):
        return f"<Table of {len(self)} rows: {', '.join(self._names)}>"

    def _repr_html_(self):
        return self.to_pandas()._repr_html_()
