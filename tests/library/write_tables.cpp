// Asks the library the question of a command and writes every table of the answer into a folder,
// for tables_test.py to compare with the CSV files of that command. Only public headers are
// included.
//
//     write_tables QUESTION SCENARIO OUT ARGUMENT...
//
// SPDX-License-Identifier: MIT
#include <retrysim/retrysim.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace retrysim;

namespace {

using Texts = std::vector<std::string>;

/// What ColumnInfo and Column promise. Throws std::logic_error.
void check_promises(const std::string& name, const Table& table) {
  const auto expect = [&](bool holds, const Column& column, const char* what) {
    if (!holds) throw std::logic_error(name + "." + column.name() + ": " + what);
  };
  for (const Column& c : table.columns()) {
    expect(c.size() == table.rows(), c, "has another length");
    expect(&table[c.name()] == &c, c, "has the name of another column");
    const bool is_number = c.type() == ColumnType::kReal || c.type() == ColumnType::kInteger;
    expect(is_number || c.unit().empty(), c, "has a unit and no numbers");
    std::size_t missing = 0;
    for (std::size_t row = 0; row < c.size(); ++row) {
      missing += !c.has(row);
      if (c.type() == ColumnType::kReal) {
        expect(std::isnan(c.reals()[row]) == !c.has(row), c, "is NaN where it has a value");
      } else if (c.type() == ColumnType::kInteger) {
        expect(c.has(row) || c.integers()[row] == 0, c, "is not 0 where a value is missing");
      } else if (c.type() == ColumnType::kText) {
        expect(c.text(row).empty() == !c.has(row), c, "has an empty text");
      }
    }
    expect(missing == c.missing(), c, "counts its missing values wrongly");
    expect(c.validity().empty() == (missing == 0), c, "has validity bits for nothing, or none");
  }
  // Numbers without a unit have it in each row, or are values of a key, which is a path.
  for (const Column& c : table.columns()) {
    const bool is_number = c.type() == ColumnType::kReal || c.type() == ColumnType::kInteger;
    const bool is_key =
        c.name().find('.') != std::string::npos || name == "map" || name == "confirm";
    expect(!is_number || !c.unit().empty() || table.find("unit") != nullptr ||
               table.find("metric") != nullptr || is_key,
           c, "has numbers and no unit");
  }
}

void write(const Tables& tables, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const std::string& name : tables.names()) {
    const Table table = tables[name];
    check_promises(name, table);
    std::ofstream(folder / (name + ".csv"), std::ios::binary) << to_csv(table);
  }
}

/// The questions of the commands of the same names, with the replications that the scenario has.
int ask(const std::string& question, const std::string& file, const std::string& out,
        const Texts& arguments) {
  const Texts edits = {"replications=" + arguments.at(0)};
  const Texts rest(arguments.begin() + 1, arguments.end());
  if (question == "run") {
    const Run found = run(load(file, edits));
    write(tables(found), out);
  } else if (question == "compare") {
    const Comparison found = compare(load_variants(file, edits, rest).value());
    write(tables(found), out);
  } else if (question == "choose") {
    ChooseOptions options;
    options.aim = {find_metric("goodput"), true, "all"};
    options.max_replications = 20;
    options.limits = {parse_choice_limit("success_rate>=0.1")};
    const PolicyChoice found = choose(load_variants(file, edits, rest).value(), options);
    write(tables(found), out);
  } else if (question == "advise") {
    RemediesResult remedies = load_remedies(file, edits);
    check(remedies.errors);
    const Advice found = advise(*std::move(remedies.scenario), std::move(remedies.remedies));
    write(tables(found), out);
  } else if (question == "sweep") {
    Sweep sweep(plan_sweep({.scenario = file, .edits = edits, .varying = rest}).value());
    sweep.run();
    write(tables(sweep), out);
  } else if (question == "tip") {
    TipRequest request{.scenario = file, .edits = edits, .trigger = parse_trigger(rest.at(0))};
    request.varying.assign(rest.begin() + 1, rest.end());
    request.tolerance = 0.2;
    const TipPlan plan = plan_tip(request).value();
    const std::vector<TipPoint> found = find_tipping_points(plan);
    write(tables(plan, found), out);
  } else if (question == "size") {
    SizeRequest request{.scenario = file, .edits = edits, .what = rest.at(0)};
    request.limits = {parse_choice_limit("success_rate>=0.5", "slo")};
    const SizePlan plan = plan_size(request).value();
    write(tables(plan, find_size(plan)), out);
  } else if (question == "hysteresis") {
    const LoadKey key = parse_load(rest.at(0));
    const LoadedScenario steady = load_at(file, edits, key).value();
    const HysteresisLoop found = find_hysteresis(steady.scenario, key);
    write(tables(steady.scenario, key, found), out);
  } else if (question == "map") {
    PhaseMapRequest request{.scenario = file, .edits = edits};
    request.plane = parse_variations(rest).value();
    const PhaseMap found = map_phases(request).value();
    write(tables(found, confirm_map(request, found, 2, {})), out);
  } else if (question == "predict") {
    const LoadedScenario loaded = load(file);
    write(tables(predict(loaded.scenario), loaded.scenario), out);
  } else if (question == "fit") {
    const FittedLog found = fit_log({file});
    write(tables(found), out);
  } else {
    std::cerr << "write_tables: error: there is no question " << question << '\n';
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  try {
    return ask(argv[1], argv[2], argv[3], Texts(argv + 4, argv + argc));
  } catch (const std::exception& e) {
    std::cerr << "write_tables: error: " << e.what() << '\n';
    return 1;
  }
}
