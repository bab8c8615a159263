// From a scenario to answers: verdicts, a table, a comparison, and a scenario fitted to a log. The
// second example of include/retrysim/README.md, which shows these lines from the includes on.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retrysim.hpp>

#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

using namespace retrysim;

// What became of each group, and its goodput in the mean of the replications.
void show_run(const LoadedScenario& scenario) {
  const Run r = run(scenario, {.jobs = 2, .progress = [](double share) {
                                 std::cerr << "\r" << static_cast<int>(100 * share) << " %";
                               }});
  std::cerr << '\n';
  for (const Verdict& v : verdicts(r)) std::cout << v.client << ": " << v.sentence << '\n';
  const Table summary = tables(r)["summary"];
  const std::span<const double> means = summary["mean"].reals();
  for (std::size_t row = 0; row < summary.rows(); ++row) {
    if (summary["metric"].text(row) != "goodput") continue;
    std::cout << summary["client"].text(row) << ": goodput " << means[row] << " "
              << summary["unit"].text(row) << '\n';
  }
}

// Whether fewer attempts serve more requests.
void show_comparison(const std::string& file) {
  const std::vector<std::string> vary = {"client.*.retry.max_attempts=3,1"};
  const Comparison c = compare(load_variants(file, {"replications=5"}, vary).value());
  const ComparisonRow* row = c.find(1, "all", *find_metric("success_rate"));
  std::cout << c.variants[1].name << ": success rate changes by " << row->difference.difference
            << (row->difference.significant ? " (significant)" : "") << '\n';
  std::ofstream("compare.csv") << to_csv(tables(c)["compare"]);
}

// A scenario made of an access log, and how sure its figures are.
void show_fit(const std::string& log) {
  const FittedLog fitted = fit_log({log}, {.name = "mine"});
  const Table figures = tables(fitted)["fit"];
  for (std::size_t row = 0; row < figures.rows(); ++row) {
    std::cout << figures["figure"].text(row) << " " << figures["value"].number(row) << '\n';
  }
  for (const auto& [name, content] : fitted.files) std::ofstream(name) << content;
}

int main(int argc, char** argv) {
  try {
    if (argc > 1) show_run(load(argv[1], {"replications=5"}));
    if (argc > 1) show_comparison(argv[1]);
    if (argc > 2) show_fit(argv[2]);
  } catch (const InputError& e) {
    std::cerr << e.what() << '\n';
    if (!e.nearest().empty()) std::cerr << "nearest to " << e.key() << ": " << e.nearest() << '\n';
    return 3;
  }
}
