// The extension module behind `import retrysim`: the C++ library as Python sees it. Names for users
// stand in retrysim/__init__.py, which adds what is more easily said in Python.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retrysim.hpp>

#include "kernel/stop.hpp"
#include "python/answers.hpp"
#include "python/arrow.hpp"
#include "python/work.hpp"
#include "report/folder/output.hpp"
#include "report/own_strategy.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::python {
namespace {

namespace py = pybind11;
namespace fs = std::filesystem;
using namespace py::literals;
using Texts = std::vector<std::string>;

// --- Errors --------------------------------------------------------------------------------------

/// The classes of retrysim/errors.py, in which C++ exceptions arrive.
py::object error_class(const char* name) {
  return py::module_::import("retrysim.errors").attr(name);
}

py::dict dict_of(const Diagnostic& d) {
  return py::dict("file"_a = d.file, "line"_a = d.line, "column"_a = d.column,
                  "message"_a = d.message, "source_line"_a = d.source_line, "key"_a = d.key,
                  "nearest"_a = d.nearest);
}

void raise_input_error(const InputError& e) {
  py::list mistakes;
  std::string text;
  for (const Diagnostic& d : e.diagnostics()) {
    mistakes.append(dict_of(d));
    text += (text.empty() ? "" : "\n") + to_string(d);
  }
  const auto* request = dynamic_cast<const RequestError*>(&e);
  if (request != nullptr) text = request->text([](const std::string& part) { return part; });
  const py::object cls = error_class("InputError");
  PyErr_SetObject(cls.ptr(), cls(text, mistakes).ptr());
}

void translate(std::exception_ptr failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const InputError& e) {
    raise_input_error(e);
  } catch (const LimitExceeded& e) {
    PyErr_SetString(error_class("LimitExceeded").ptr(), e.what());
  } catch (const Interrupted& e) {
    PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
  } catch (const WarmupNotFound& e) {
    PyErr_SetString(error_class("WarmupNotFound").ptr(), e.what());
  } catch (const report::OutputError& e) {
    PyErr_SetString(error_class("OutputError").ptr(), e.what());
  } catch (const TokenMisuse& e) {
    PyErr_SetString(error_class("TokenMisuse").ptr(), e.what());
  } catch (const std::out_of_range& e) {
    PyErr_SetString(PyExc_KeyError, e.what());
  }
}

// --- Tables --------------------------------------------------------------------------------------

const Column& column_of(const Table& table, const std::string& name) {
  const Column* column = table.find(name);
  if (column == nullptr) throw py::key_error(name);
  return *column;
}

/// An array over memory of the table, which it keeps alive; read-only.
template <class T>
py::array view(std::span<const T> values, const py::object& owner) {
  py::array array(py::dtype::of<T>(), {values.size()}, {sizeof(T)}, values.data(), owner);
  array.attr("setflags")("write"_a = false);
  return array;
}

/// The values of a column: views of reals, of integers and of the codes of texts; truth values are
/// unpacked, since numpy has no bits.
py::array values_of(const py::object& self, const std::string& name) {
  const Column& column = column_of(self.cast<const Table&>(), name);
  switch (column.type()) {
    case ColumnType::kReal:
      return view(column.reals(), self);
    case ColumnType::kInteger:
      return view(column.integers(), self);
    case ColumnType::kText:
      return view(column.codes(), self);
    case ColumnType::kTruth:
      break;
  }
  py::array_t<bool> truths(static_cast<py::ssize_t>(column.size()));
  bool* to = truths.mutable_data();
  for (std::size_t row = 0; row < column.size(); ++row) to[row] = column.truth(row);
  return truths;
}

/// Whether each row has a value; None if all have.
py::object presence_of(const Table& table, const std::string& name) {
  const Column& column = column_of(table, name);
  if (column.missing() == 0) return py::none();
  py::array_t<bool> there(static_cast<py::ssize_t>(column.size()));
  bool* to = there.mutable_data();
  for (std::size_t row = 0; row < column.size(); ++row) to[row] = column.has(row);
  return there;
}

Texts categories_of(const Table& table, const std::string& name) {
  const Column& column = column_of(table, name);
  Texts categories;
  for (std::size_t code = 0; code < column.categories(); ++code) {
    categories.emplace_back(column.category(code));
  }
  return categories;
}

void bind_tables(py::module_& m) {
  py::class_<Table, std::shared_ptr<Table>>(m, "Table")
      .def_property_readonly("rows", &Table::rows)
      .def("names",
           [](const Table& t) {
             Texts names;
             for (const Column& c : t.columns()) names.push_back(c.name());
             return names;
           })
      .def("unit", [](const Table& t, const std::string& n) { return column_of(t, n).unit(); })
      .def("type", [](const Table& t,
                      const std::string& n) { return std::string(name(column_of(t, n).type())); })
      .def("values",
           [](const py::object& self, const std::string& n) { return values_of(self, n); })
      .def("presence", presence_of)
      .def("categories", categories_of)
      .def("to_csv", [](const Table& t) { return py::bytes(to_csv(t)); })
      .def("arrow_schema", [](const Table& t) { return arrow_schema(t); })
      .def("arrow_stream", [](std::shared_ptr<Table> t) { return arrow_stream(std::move(t)); });
}

// --- Strategies of the user's own ----------------------------------------------------------------

/// What a failed attempt was, for Python.
struct PyFailure {
  std::string kind;
  bool retryable = false, given_up = false;
  std::optional<double> retry_after;
};

PyFailure failure_for_python(const Failure& failure) {
  PyFailure told;
  told.kind = std::string(name(failure.error.response_class));
  told.retryable = failure.error.retryable() && failure.repeatable;
  told.given_up = failure.given_up;
  if (failure.retry_after) told.retry_after = failure.retry_after->in_seconds();
  return told;
}

/// The interpreter's lock, for a call from a thread of the simulation. Before it is taken, work
/// that has been asked to stop ends with `Interrupted`: where each call is slow, the simulation
/// itself looks too rarely.
class Call {
 public:
  Call() = default;

 private:
  struct Checked {
    Checked() { stop_point(); }
  };
  Checked checked_;
  Visit visit_;
  py::gil_scoped_acquire lock_;
};

/// Draws numbers for the time of one call of a strategy: Python may keep the function for longer.
class Lent {
 public:
  explicit Lent(Draws& draws) : draws_(std::make_shared<Draws*>(&draws)) {}
  ~Lent() { *draws_ = nullptr; }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  py::cpp_function uniform() const {
    return py::cpp_function([draws = draws_] {
      if (*draws == nullptr) {
        throw std::runtime_error(
            "uniform: the call of refresh_retry_token that it was given to has ended; it draws for "
            "that one only");
      }
      return (*draws)->uniform();
    });
  }

 private:
  std::shared_ptr<Draws*> draws_;  // read and written with the interpreter's lock
};

bool is_truth(const py::handle& value) {
  return PyBool_Check(value.ptr()) ||
         std::string_view(Py_TYPE(value.ptr())->tp_name) == "numpy.bool_";
}

/// Calls the methods of a Python object; each call takes the interpreter's lock.
class PythonStrategy final : public CustomStrategy {
 public:
  explicit PythonStrategy(py::object strategy) : strategy_(std::move(strategy)) {}
  ~PythonStrategy() override {
    const Visit visit;
    const py::gil_scoped_acquire acquire;
    strategy_ = {};
  }
  PythonStrategy(const PythonStrategy&) = delete;
  PythonStrategy& operator=(const PythonStrategy&) = delete;

  Duration acquire_initial_token(std::uint64_t request, Time now) override {
    const Call call;
    constexpr const char* kMethod = "acquire_initial_token";
    if (!py::hasattr(strategy_, kMethod)) return {};
    return delay_of(strategy_.attr(kMethod)(request, now.in_seconds()), kMethod, "None (no delay)");
  }

  RetryDecision refresh_retry_token(std::uint64_t request, std::uint32_t attempts,
                                    const Failure& failure, Time now, Draws& draws) override {
    const Call call;
    constexpr const char* kMethod = "refresh_retry_token";
    const Lent lent(draws);
    const py::object delay = strategy_.attr(kMethod)(request, attempts, failure_for_python(failure),
                                                     now.in_seconds(), lent.uniform());
    if (!delay.is_none()) {
      return {Outcome::kRetry, delay_of(delay, kMethod, "None (no retry)"), 0};
    }
    const bool retryable = failure.error.retryable() && failure.repeatable;
    return {retryable ? Outcome::kMaxAttemptsExceeded : Outcome::kNotRetryable, {}, 0};
  }

  void record_success(std::uint64_t request, std::uint32_t attempts, Time now) override {
    const Call call;
    if (!py::hasattr(strategy_, "record_success")) return;
    strategy_.attr("record_success")(request, attempts, now.in_seconds());
  }

 private:
  /// What a method has returned, as a delay. Throws py::type_error and py::value_error, which name
  /// the method and what it must return.
  Duration delay_of(const py::object& value, const char* method, const char* or_else) const {
    if (value.is_none()) return {};
    const double seconds = is_truth(value) ? -1 : PyFloat_AsDouble(value.ptr());
    const bool is_number = PyErr_Occurred() == nullptr && !is_truth(value);
    if (is_number && seconds >= 0 && seconds <= 1e9) return Duration::from_seconds(seconds);
    PyErr_Clear();
    const std::string expected = py::type::of(strategy_).attr("__qualname__").cast<std::string>() +
                                 "." + method + ": expected a delay in seconds from 0 to 1e9, or " +
                                 or_else + "; it returned " + py::repr(value).cast<std::string>();
    if (is_number) throw py::value_error(expected);
    throw py::type_error(expected);
  }

  py::object strategy_;
};

// --- Scenarios -----------------------------------------------------------------------------------

/// The name of a class, or of a function that makes strategies.
std::string name_of(const py::object& make) {
  const bool has_name = py::hasattr(make, "__qualname__");
  const py::object named = has_name ? make : py::object(py::type::of(make));
  return named.attr("__qualname__").cast<std::string>();
}

/// Of the rules of a file only those on errors apply to a group with a strategy. The others must
/// not explain its results: nothing is known of limits, and that there are retries.
void forget_rules(ClientSpec& spec) {
  RetryRules rules;
  rules.mode = RetryMode::kCustom;
  rules.errors = spec.retry.errors;
  rules.api = spec.retry.api;
  rules.max_attempts = 2;  // or more
  spec.retry = rules;
}

LoadedScenario with_strategy(LoadedScenario loaded, const std::string& client,
                             const py::object& make) {
  if (PyCallable_Check(make.ptr()) == 0) {
    throw py::type_error("strategy: expected a class, or a function that makes strategies");
  }
  bool found = false;
  // Shared by all threads of a run; destroyed with the interpreter's lock.
  const std::shared_ptr<py::object> factory(new py::object(make), [](py::object* held) {
    const Visit visit;
    const py::gil_scoped_acquire acquire;
    delete held;
  });
  for (const std::string& note : report::notes_on_strategies(loaded))
    std::erase(loaded.notes, note);
  for (ClientSpec& spec : loaded.scenario.clients) {
    if (spec.name != client && client != "*") continue;
    found = true;
    spec.strategy = [factory](std::uint32_t number) -> std::unique_ptr<CustomStrategy> {
      const Call call;
      return std::make_unique<PythonStrategy>((*factory)(number));
    };
    forget_rules(spec);
    report::name_strategy(loaded, spec, "Python class " + name_of(make));
  }
  if (!found) throw py::key_error("there is no client group \"" + client + "\"");
  for (const std::string& note : report::notes_on_strategies(loaded)) loaded.notes.push_back(note);
  return loaded;
}

bool has_strategy(const LoadedScenario& loaded) {
  return std::ranges::any_of(loaded.scenario.clients,
                             [](const ClientSpec& c) { return c.strategy != nullptr; });
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(file.string() + ": cannot be read");
  return std::move(text).str();
}

void bind_scenarios(py::module_& m) {
  py::class_<LoadedScenario, std::shared_ptr<LoadedScenario>>(m, "Scenario")
      .def_property_readonly("name", [](const LoadedScenario& s) { return s.scenario.name; })
      .def_property_readonly("description",
                             [](const LoadedScenario& s) { return s.scenario.description; })
      .def_property_readonly("notes", [](const LoadedScenario& s) { return distinct_notes(s); })
      .def_property_readonly("clients",
                             [](const LoadedScenario& s) {
                               Texts names;
                               for (const ClientSpec& c : s.scenario.clients) {
                                 if (c.arrivals.process != ArrivalProcess::kCalls)
                                   names.push_back(c.name);
                               }
                               return names;
                             })
      .def_property_readonly("services",
                             [](const LoadedScenario& s) {
                               Texts names;
                               for (const ServiceSpec& c : s.scenario.services) {
                                 names.push_back(c.name);
                               }
                               return names;
                             })
      .def_property_readonly("replications",
                             [](const LoadedScenario& s) { return s.scenario.replications; })
      .def_property_readonly("has_strategy", has_strategy)
      .def("keys",
           [](const LoadedScenario& s) {
             py::dict keys;
             for (const ResolvedKey& k : s.keys) keys[py::str(k.path)] = k.toml;
             return keys;
           })
      .def("toml", [](const LoadedScenario& s, bool origins) { return to_toml(s, origins); })
      .def("inputs",
           [](const LoadedScenario& s) {
             std::map<std::string, std::string> texts;
             for (const fs::path& f : s.input_files) texts[f.filename().string()] = content_of(f);
             return texts;
           })
      .def("with_strategy", with_strategy);

  m.def("load", [](const fs::path& file, const Texts& edits) { return load(file, edits); });
  m.def("load_text",
        [](const std::string& text, const std::string& name, const fs::path& folder,
           const Texts& edits) { return load_scenario_text(text, name, folder, edits).value(); });

  py::class_<PyFailure>(m, "Failure", "Why an attempt failed, for a strategy of your own.")
      .def_readonly("kind", &PyFailure::kind)
      .def_readonly("retryable", &PyFailure::retryable)
      .def_readonly("given_up", &PyFailure::given_up)
      .def_readonly("retry_after", &PyFailure::retry_after);
}

// --- Questions -----------------------------------------------------------------------------------

using Options = ReplicationOptions;

VariantsAsked variants_asked(const fs::path& file, const Texts& edits, const Texts& vary,
                             const Texts& files, const std::string& baseline) {
  return {{file, edits}, vary, files, baseline};
}

void bind_questions(py::module_& m) {
  py::class_<Answer, std::shared_ptr<Answer>>(m, "Answer")
      .def("names", &Answer::names)
      .def("table",
           [](Answer& a, const std::string& name) {
             return std::const_pointer_cast<Table>(a.table(name));
           })
      .def("text", &Answer::text)
      .def("json", &Answer::json)
      .def("save", &Answer::save)
      .def_property_readonly("facts", &Answer::facts)
      .def_property_readonly("scenario", [](const Answer& a) {
        return std::const_pointer_cast<LoadedScenario>(a.scenario());
      });

  m.def("run", [](const LoadedScenario& scenario, const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options& o) { return answer_run(scenario, o); });
  });
  m.def("uncertain",
        [](const fs::path& file, const Texts& edits, int draws, const py::kwargs& how) {
          return answer_of(settings_of(how), [&](const Options& o) {
            return answer_uncertain({file, edits}, draws, o);
          });
        });
  m.def("compare", [](const fs::path& file, const Texts& edits, const Texts& vary,
                      const Texts& files, const std::string& baseline, const Texts& metrics,
                      bool twin, const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options& o) {
      return answer_compare(variants_asked(file, edits, vary, files, baseline), metrics, twin, o);
    });
  });
  m.def("compare_uncertain",
        [](const fs::path& file, const Texts& edits, const Texts& vary, const Texts& files,
           const std::string& baseline, const Texts& metrics, int draws, const py::kwargs& how) {
          return answer_of(settings_of(how), [&](const Options& o) {
            return answer_compare_uncertain(variants_asked(file, edits, vary, files, baseline),
                                            draws, metrics, o);
          });
        });
  m.def("choose",
        [](const fs::path& file, const Texts& edits, const Texts& vary, const Texts& files,
           const std::string& metric, bool maximize, const std::string& client, const Texts& limits,
           double confidence, std::optional<double> indifference, std::size_t max_replications,
           const py::kwargs& how) {
          const AimAsked aim{metric,     maximize,     client,          limits,
                             confidence, indifference, max_replications};
          return answer_of(settings_of(how), [&](const Options& o) {
            return answer_choose(variants_asked(file, edits, vary, files, ""), aim, o);
          });
        });
  m.def("sweep",
        [](const fs::path& file, const Texts& edits, const Texts& vary, const py::kwargs& how) {
          const Settings settings = settings_of(how);
          return answer_of(settings, [&](const Options& o) {
            return answer_sweep({file, edits}, vary, settings.store, o);
          });
        });
  m.def("tip", [](const fs::path& file, const Texts& edits, const std::string& trigger,
                  const Texts& vary, double tolerance, const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options& o) {
      return answer_tip({file, edits}, trigger, vary, tolerance, o);
    });
  });
  m.def("size", [](const fs::path& file, const Texts& edits, const std::string& what,
                   const Texts& disturbances, const Texts& limits, const std::string& client,
                   bool expectations, bool largest, bool uncertain, const Texts& vary, double share,
                   double confidence, std::size_t max_replications, const py::kwargs& how) {
    SizeRequest request{.scenario = file, .edits = edits, .what = what};
    request.disturbances = disturbances;
    for (const std::string& limit : limits) {
      request.limits.push_back(parse_choice_limit(limit, "slo"));
    }
    request.client = client;
    request.with_expectations = expectations;
    request.wants_largest = largest;
    request.uncertain = uncertain;
    request.share = share;
    request.confidence = confidence;
    request.most_runs = max_replications;
    return answer_of(settings_of(how),
                     [&](const Options& o) { return answer_size(request, vary, o); });
  });
  m.def("risk", [](const fs::path& file, const Texts& edits, const std::string& event,
                   const std::string& per, const Texts& vary, double precision, double effort,
                   bool plain, const std::string& repair, const py::kwargs& how) {
    RiskRequest request{.scenario = file, .edits = edits, .event = event};
    request.varying = vary;
    request.precision = precision;
    constexpr double kMost = 1e18;
    request.effort =
        effort >= 0 && effort <= kMost ? static_cast<std::uint64_t>(effort) : std::uint64_t{0};
    request.plain = plain;
    return answer_of(settings_of(how),
                     [&](const Options& o) { return answer_risk(request, per, repair, o); });
  });
  m.def("advise", [](const fs::path& file, const Texts& edits, const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options& o) {
      return answer_advise({file, edits}, o);
    });
  });
  m.def("predict", [](const LoadedScenario& scenario, const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options&) { return answer_predict(scenario); });
  });
  m.def("sdk_upgrade", [](const std::string& upgrade, const fs::path& file, const Texts& edits,
                          const py::kwargs& how) {
    return answer_of(settings_of(how), [&](const Options& o) {
      return answer_sdk_upgrade(upgrade, {file, edits}, o);
    });
  });
}

// --- Logs and configurations ---------------------------------------------------------------------

struct PyFit {
  explicit PyFit(FittedLog found)
      : log(std::make_shared<const FittedLog>(std::move(found))), tables(retrysim::tables(*log)) {}

  std::shared_ptr<const FittedLog> log;
  Tables tables;
};

void bind_imports(py::module_& m) {
  py::class_<PyFit>(m, "Fit")
      .def("names", [](const PyFit& f) { return f.tables.names(); })
      .def("table", [](const PyFit& f,
                       const std::string& n) { return std::make_shared<Table>(f.tables[n]); })
      .def_property_readonly(
          "scenario",
          [](const PyFit& f) { return std::make_shared<LoadedScenario>(f.log->scenario); })
      .def_property_readonly("files", [](const PyFit& f) { return f.log->files; })
      .def_property_readonly("notes", [](const PyFit& f) { return f.log->notes; })
      .def_property_readonly("why_untested", [](const PyFit& f) { return f.log->why_untested; });
  m.def("fit", [](const std::vector<fs::path>& logs, const std::string& name,
                  const std::string& format, const std::map<std::string, std::string>& columns,
                  std::optional<double> duration_unit, std::optional<bool> time_is_start,
                  const std::string& service, double allow_bad_lines, const py::kwargs& how) {
    FitOptions options{name,          format,  columns,        duration_unit,
                       time_is_start, service, allow_bad_lines};
    return answer_of(settings_of(how),
                     [&](const Options&) { return PyFit(fit_log(logs, options)); });
  });
  m.def("import_kinds", [] {
    py::dict kinds;
    for (const ImportKind& kind : import_kinds()) {
      kinds[py::str(std::string(kind.name))] = std::string(kind.reads);
    }
    return kinds;
  });
  m.def("import_config", [](const std::string& text, const std::string& file, std::string kind) {
    if (kind.empty()) kind = import_kind_of(text, file);
    const ImportedConfiguration found = import_configuration(kind, text, file);
    py::list policies, remarks;
    for (const ImportedPolicy& p : found.policies) {
      py::list keys;
      for (const ImportedKey& k : p.keys) keys.append(py::make_tuple(k.path, k.value, k.source));
      policies.append(py::make_tuple(p.name, p.from, keys));
    }
    for (const ImportRemark& r : found.remarks) {
      remarks.append(py::make_tuple(r.field, r.why, r.is_unrelated));
    }
    return py::make_tuple(kind, policies, remarks, to_toml(found, ImportText{"", false, "", ""}));
  });
}

// --- Retry strategies without the simulator ------------------------------------------------------

/// A token may be used once; Python hands it over by taking what it holds.
struct PyToken {
  RetryToken token;
};

Time time_of(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) {
    throw py::value_error("now: expected seconds from 0 to 1e9");
  }
  return Time::zero() + Duration::from_seconds(seconds);
}

TransportError transport_of(const std::string& word) {
  if (word.empty()) return TransportError::kNone;
  if (word == "timeout") return TransportError::kTimeout;
  if (word == "connection") return TransportError::kConnection;
  throw py::value_error("transport: there is no \"" + word + "\"; expected timeout or connection");
}

const Preset& preset_of(const std::string& mode, const std::string& revision,
                        const std::string& sdk, const std::string& api) {
  const Preset* preset = find_preset(mode, revision, sdk, api);
  if (preset == nullptr) {
    throw py::value_error("there is no preset mode=\"" + mode + "\", revision=\"" + revision +
                          "\", sdk=\"" + sdk + "\", api=\"" + api +
                          "\"; `retrysim list presets` has them");
  }
  return *preset;
}

void bind_strategies(py::module_& m) {
  py::class_<PyToken>(m, "RetryToken")
      .def_property_readonly("may_send", [](const PyToken& t) { return t.token.may_send(); })
      .def_property_readonly("delay", [](const PyToken& t) { return t.token.delay().in_seconds(); })
      .def_property_readonly("attempt", [](const PyToken& t) { return t.token.attempt(); })
      .def_property_readonly("outcome",
                             [](const PyToken& t) { return std::string(name(t.token.outcome())); });

  py::class_<RetryStrategy>(m, "RetryStrategy")
      .def(py::init([](const std::string& mode, const std::string& revision, const std::string& sdk,
                       const std::string& api, std::uint64_t seed) {
        return std::make_unique<RetryStrategy>(preset_of(mode, revision, sdk, api).rules,
                                               RandomKey(seed, 0));
      }))
      .def(
          "acquire_initial_token",
          [](RetryStrategy& s, double now) {
            return PyToken{s.acquire_initial_token(time_of(now))};
          },
          py::keep_alive<0, 1>())
      .def("acquire_send_token",
           [](RetryStrategy& s, PyToken& token, double now) {
             return s.acquire_send_token(token.token, time_of(now)).in_seconds();
           })
      .def(
          "refresh_retry_token",
          [](RetryStrategy& s, PyToken& token, int status, const std::string& code,
             const std::string& transport, std::optional<double> retry_after, double now) {
            Response response{.status = status, .code = code};
            response.transport = transport_of(transport);
            Failure failure = s.failure_of(response);
            if (retry_after) failure.retry_after = Duration::from_seconds(*retry_after);
            return PyToken{s.refresh_retry_token(std::move(token.token), failure, time_of(now))};
          },
          py::keep_alive<0, 1>())
      .def("record_success",
           [](RetryStrategy& s, PyToken& token, double now) {
             s.record_success(std::move(token.token), time_of(now));
           })
      .def_property_readonly("quota", [](RetryStrategy& s) { return s.quota(); })
      .def_property_readonly("max_attempts", [](const RetryStrategy& s) -> std::optional<int> {
        if (s.rules().max_attempts == RetryRules::kUnlimited) return std::nullopt;
        return static_cast<int>(s.rules().max_attempts);
      });
}

}  // namespace
}  // namespace retrysim::python

PYBIND11_MODULE(_engine, m) {
  namespace python = retrysim::python;
  m.attr("version") = RETRYSIM_VERSION;
  pybind11::register_exception_translator(python::translate);
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function(python::end_visits));
  python::bind_tables(m);
  python::bind_scenarios(m);
  python::bind_questions(m);
  python::bind_imports(m);
  python::bind_strategies(m);
}
