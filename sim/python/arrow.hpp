// Tables for other Python libraries, by Apache Arrow's C data interface (columnar format 1.0) and
// its PyCapsule protocol: pyarrow, polars, duckdb and pandas read them without a copy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/table.hpp>

#include <pybind11/pybind11.h>
#include <memory>

namespace retrysim::python {

/// A capsule "arrow_schema": a struct whose fields are the columns. Texts are dictionaries of
/// strings; the unit of a column is its metadata "unit".
pybind11::capsule arrow_schema(const Table& table);

/// A capsule "arrow_array_stream" of one batch with all rows, whose buffers are those of the table;
/// they keep it alive.
pybind11::capsule arrow_stream(std::shared_ptr<const Table> table);

}  // namespace retrysim::python
