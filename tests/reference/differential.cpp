// Compares the engine with the reference, step by step, in random scenarios.
//
//   differential [--scenarios N] [--first SEED]   so many, from this seed on; counts by feature
//   differential --seed SEED                      one, with all of its steps
//
// SPDX-License-Identifier: MIT
#include <retrysim/retry_strategy.hpp>
#include <retrysim/simulation.hpp>

#include "model/trace.hpp"
#include "reference/random_scenario.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace retrysim;
using model::Step;
using model::TraceStep;
using reference::Feature;
using reference::Features;
using reference::kFeatures;

constexpr std::size_t kMostSteps = 200'000;

std::vector<TraceStep> steps_of_engine(const Scenario& scenario) {
  std::vector<TraceStep> steps;
  model::trace = &steps;
  SimulationOptions options;
  options.max_events = kMostSteps;
  try {
    simulate(scenario, 0, options);
  } catch (const LimitExceeded&) {
    // The steps so far are compared.
  }
  model::trace = nullptr;
  return steps;
}

struct Comparison {
  std::vector<TraceStep> engine, reference;
  std::size_t agree = 0;  ///< so many first steps
  std::string failure;    ///< of the engine, by exception

  bool same() const {
    const std::size_t all = std::min(engine.size(), reference.size());
    const bool cut = std::max(engine.size(), reference.size()) > kMostSteps / 10;
    return failure.empty() && agree == all && (cut || engine.size() == reference.size());
  }
};

Comparison compare(const Scenario& scenario) {
  Comparison c;
  try {
    c.engine = steps_of_engine(scenario);
  } catch (const std::exception& e) {
    c.failure = e.what();
    model::trace = nullptr;
  }
  c.reference = reference::simulate(scenario, 0, c.engine.size() + 1);
  const auto [e, r] =
      std::mismatch(c.engine.begin(), c.engine.end(), c.reference.begin(), c.reference.end());
  c.agree = static_cast<std::size_t>(e - c.engine.begin());
  return c;
}

std::string text_of(const TraceStep& s) {
  std::string what =
      fmt::format("{:>14} ns  group {} request {:x} attempt {} {}: {} {}", s.time.count(), s.group,
                  s.entity, s.attempt, name(s.step), s.first, s.second);
  if (s.step == Step::kEnded) what += fmt::format(" ({})", name(static_cast<Outcome>(s.first)));
  if (s.step == Step::kDecided) {
    what += fmt::format(" ({})", name(static_cast<Outcome>(s.second % 256)));
  }
  return what;
}

std::string text_of(const Features& features) {
  std::string text;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (!features[i]) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name(static_cast<Feature>(i)));
  }
  return text;
}

/// Leaves out features as long as engine and reference still disagree.
Features shrunk(std::uint64_t seed) {
  Features allowed;
  allowed.set();
  allowed = reference::random_scenario(seed, allowed).features;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i < kFeatures; ++i) {
      if (!allowed[i]) continue;
      Features fewer = allowed;
      fewer.reset(i);
      if (compare(reference::random_scenario(seed, fewer).scenario).same()) continue;
      allowed = reference::random_scenario(seed, fewer).features;
      smaller = true;
    }
  }
  return allowed;
}

void report(std::uint64_t seed) {
  const Features features = shrunk(seed);
  const Comparison c = compare(reference::random_scenario(seed, features).scenario);
  fmt::print("seed {}: engine and reference disagree, also with nothing but: {}\n", seed,
             text_of(features));
  if (!c.failure.empty()) fmt::print("  the engine says: {}\n", c.failure);
  constexpr std::size_t kBefore = 12;
  for (std::size_t i = c.agree < kBefore ? 0 : c.agree - kBefore; i < c.agree; ++i) {
    fmt::print("  both       {}\n", text_of(c.engine[i]));
  }
  constexpr std::size_t kAfter = 3;
  const auto print = [&](std::string_view who, const std::vector<TraceStep>& steps) {
    if (steps.size() <= c.agree) fmt::print("  {:<9}  no more steps\n", who);
    for (std::size_t i = c.agree; i < std::min(c.agree + kAfter, steps.size()); ++i) {
      fmt::print("  {:<9}  {}\n", who, text_of(steps[i]));
    }
  };
  print("engine", c.engine);
  print("reference", c.reference);
}

int compare_many(std::uint64_t first, std::uint64_t count, bool show_all) {
  Features all;
  all.set();
  std::array<std::uint64_t, kFeatures> used{};
  std::uint64_t steps = 0, disagreements = 0, cut = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const reference::RandomScenario random = reference::random_scenario(seed, all);
    if (const std::string what = reference::not_covered(random.scenario); !what.empty()) {
      fmt::print("seed {}: the reference does not know {}\n", seed, what);
      return 1;
    }
    const Comparison c = compare(random.scenario);
    steps += c.engine.size();
    cut += c.engine.size() != c.reference.size() && c.same();
    for (std::size_t i = 0; i < kFeatures; ++i) used[i] += random.features[i];
    if (c.same()) continue;
    ++disagreements;
    constexpr std::uint64_t kMostReports = 5;
    if (show_all) {
      fmt::print("seed {} disagrees after {} of {} steps\n", seed, c.agree, c.engine.size());
    } else if (disagreements <= kMostReports) {
      report(seed);
    }
  }
  fmt::print("{} scenarios, {} steps, {} cut short, {} disagreements\n", count, steps, cut,
             disagreements);
  for (std::size_t i = 0; i < kFeatures; ++i) {
    fmt::print("  {:>7}  {}\n", used[i], name(static_cast<Feature>(i)));
  }
  return disagreements == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, count = 800;
  bool show_all = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto number = [&] { return std::strtoull(++i < argc ? argv[i] : "0", nullptr, 10); };
    if (option == "--scenarios") {
      count = number();
    } else if (option == "--first") {
      first = number();
    } else if (option == "--seed") {
      report(number());
      return 0;
    } else if (option == "--list") {
      show_all = true;
    } else {
      fmt::print(stderr,
                 "usage: differential [--scenarios N] [--first SEED] [--list]\n"
                 "       differential --seed SEED\n");
      return 2;
    }
  }
  return compare_many(first, count, show_all);
}
