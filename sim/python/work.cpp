// SPDX-License-Identifier: MIT
#include "python/work.hpp"

#include <pybind11/stl.h>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace retrysim::python {
namespace {

namespace py = pybind11;

constexpr int kMaxJobs = 1024;  // as the command line has it

template <class T>
T value_of(const py::handle& value, const std::string& name, const char* expected) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(name + ": expected " + expected);
  }
}

}  // namespace

Settings settings_of(const py::kwargs& given) {
  Settings settings;
  settings.progress = py::none();
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (name == "progress") {
      if (!value.is_none() && !py::isinstance<py::function>(value) &&
          PyCallable_Check(value.ptr()) == 0) {
        throw py::type_error("progress: expected a callable");
      }
      settings.progress = py::reinterpret_borrow<py::object>(value);
      continue;
    }
    if (value.is_none()) continue;
    if (name == "jobs") {
      settings.jobs = value_of<int>(value, name, "a whole number");
      if (settings.jobs < 1 || settings.jobs > kMaxJobs) {
        throw py::value_error("jobs: expected 1 to " + std::to_string(kMaxJobs));
      }
    } else if (name == "timeout") {
      settings.timeout_s = value_of<double>(value, name, "seconds");
      if (!(*settings.timeout_s > 0)) throw py::value_error("timeout: expected more than 0 s");
    } else if (name == "max_events") {
      settings.max_events = value_of<std::uint64_t>(value, name, "a whole number");
    } else if (name == "max_memory") {
      settings.max_memory = value_of<std::uint64_t>(value, name, "a number of bytes");
    } else if (name == "store") {
      const std::string folder = py::str(value);
      settings.store = open_store(folder);
    } else {
      throw py::type_error("there is no argument \"" + name +
                           "\"; expected jobs, timeout, max_events, max_memory, store or progress");
    }
  }
  return settings;
}

}  // namespace retrysim::python
