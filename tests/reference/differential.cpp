// Compares the engine with the reference, step by step, in random scenarios.
//
//   differential [--scenarios N] [--first SEED]   so many, from this seed on; counts by feature
//   differential --seed SEED                      one: where it disagrees, shrunk
//   differential --files FILE...                  these scenarios, as far as they are covered
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>
#include <retrysim/retry_strategy.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "model/run/trace.hpp"
#include "reference/random_faults.hpp"
#include "reference/random_scenario.hpp"
#include "reference/recount.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <span>
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

constexpr std::size_t kMaxEvents = 200'000;  // of one scenario

struct Comparison {
  std::vector<TraceStep> engine, reference;
  std::size_t agree = 0;  ///< so many first steps
  bool cut = false;       ///< the run was too long: only what there is of it is compared
  std::string failure;    ///< of the engine, by exception; or what its recorders counted wrong

  bool same() const {
    return failure.empty() && agree == engine.size() && (cut || agree == reference.size());
  }
};

Comparison compare(const Scenario& scenario) {
  Comparison c;
  model::trace = &c.engine;
  SimulationOptions options;
  options.max_events = kMaxEvents;
  RunResult result;
  try {
    result = simulate(scenario, 0, options);
  } catch (const LimitExceeded&) {
    c.cut = true;
  } catch (const std::exception& e) {
    c.failure = e.what();
  }
  model::trace = nullptr;
  c.reference = reference::simulate(reference::with_own_draw(scenario), 0, c.engine.size() + 1);
  const auto [e, r] =
      std::mismatch(c.engine.begin(), c.engine.end(), c.reference.begin(), c.reference.end());
  c.agree = static_cast<std::size_t>(e - c.engine.begin());
  if (c.failure.empty() && !c.cut) c.failure = reference::recount(scenario, c.engine, result);
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

/// The first step that differs, with some before it.
void print_difference(const Comparison& c) {
  if (!c.failure.empty()) fmt::print("  {}\n", c.failure);
  constexpr std::size_t kBefore = 12, kAfter = 3;
  for (std::size_t i = c.agree < kBefore ? 0 : c.agree - kBefore; i < c.agree; ++i) {
    fmt::print("  both       {}\n", text_of(c.engine[i]));
  }
  const auto print = [&](std::string_view who, const std::vector<TraceStep>& steps) {
    if (steps.size() <= c.agree) fmt::print("  {:<9}  no more steps\n", who);
    for (std::size_t i = c.agree; i < std::min(c.agree + kAfter, steps.size()); ++i) {
      fmt::print("  {:<9}  {}\n", who, text_of(steps[i]));
    }
  };
  print("engine", c.engine);
  print("reference", c.reference);
}

int compare_seed(std::uint64_t seed) {
  Features features;
  features.set();
  Comparison c = compare(reference::random_scenario(seed, features).scenario);
  if (c.same()) {
    fmt::print("seed {}: engine and reference agree in {} steps\n", seed, c.agree);
    return 0;
  }
  features = shrunk(seed);
  c = compare(reference::random_scenario(seed, features).scenario);
  fmt::print("seed {}: engine and reference disagree, also with nothing but: {}\n", seed,
             text_of(features));
  print_difference(c);
  return 1;
}

/// Scenario files; those that the reference does not cover are named.
int compare_files(std::span<char*> paths) {
  int status = 0;
  for (const char* path : paths) {
    const LoadResult read = load_scenario_file(path);
    const std::string unknown =
        read.loaded ? reference::not_covered(read.loaded->scenario) : "its mistakes";
    if (!unknown.empty()) {
      fmt::print("{}: the reference does not know {}\n", path, unknown);
      continue;
    }
    const Comparison c = compare(read.loaded->scenario);
    fmt::print("{}: {} steps{}, {}\n", path, c.engine.size(),
               c.cut ? " before it is cut short" : "", c.same() ? "agree" : "disagree");
    if (c.same()) continue;
    print_difference(c);
    status = 1;
  }
  return status;
}

int compare_many(std::uint64_t first, std::uint64_t count, bool show_all) {
  Features all;
  all.set();
  std::array<std::uint64_t, kFeatures> used{};
  std::uint64_t steps = 0, disagreements = 0, cut = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const reference::RandomScenario random = reference::random_scenario(seed, all);
    const Comparison c = compare(random.scenario);
    steps += c.engine.size();
    cut += c.cut;
    for (std::size_t i = 0; i < kFeatures; ++i) used[i] += random.features[i];
    if (c.same()) continue;
    ++disagreements;
    constexpr std::uint64_t kMaxReports = 5;
    if (show_all) {
      fmt::print("seed {} disagrees after {} of {} steps\n", seed, c.agree, c.engine.size());
    } else if (disagreements <= kMaxReports) {
      compare_seed(seed);
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
      return compare_seed(number());
    } else if (option == "--files") {
      return compare_files(std::span(argv + i + 1, argv + argc));
    } else if (option == "--list") {
      show_all = true;
    } else {
      fmt::print(stderr,
                 "usage: differential [--scenarios N] [--first SEED] [--list]\n"
                 "       differential --seed SEED\n"
                 "       differential --files FILE...\n");
      return 2;
    }
  }
  return compare_many(first, count, show_all);
}
