// The answer before the simulation: everything that facts, fluid and Markov chain say about a
// scenario, each figure with the assumptions of the scenario that it leaves out; and, where one of
// them does not apply, why.
//
//     const Prediction p = predict(*load_scenario_file("dip.toml").loaded);
//     if (const Figure* f = p.find("fluid", "client.web", "goodput")) ... f->value ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/facts.hpp>
#include <retrysim/markov_chain.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace retrysim {

struct Prediction {
  std::vector<Figure> figures;  ///< facts, then fluid, then chain
  std::vector<Warning> warnings;
  std::vector<Remark> refusals;  ///< what does not apply to which service, and why
  std::vector<Remark> doubts;    ///< why figures that are there may be off

  /// Null if there is none.
  const Figure* find(std::string_view part, std::string_view subject, std::string_view name) const;
};

struct PredictionOptions {
  bool fluid = true, chain = true;
  int orbit = 0;  ///< largest number of requests in the chain's orbit; 0: found
};

/// Takes a valid scenario. Facts cost microseconds, the fluid about a millisecond for ten thousand
/// steps and twenty times that for each trigger, the chain up to a second.
Prediction predict(const Scenario& scenario, const PredictionOptions& options = {});

/// The chain of queue and orbit for a service, or why there is none. An orbit of 0 has to be found:
/// `solve_with_orbit` does.
using ChainOrReason = std::variant<RetrialQueue, std::string>;
ChainOrReason chain_of(const Scenario& scenario, std::size_t service);

/// Solves the chain with an orbit so large that its edge is occupied for less than 1e-10 of the
/// time, or as large as 40,000 states allow; sets `queue.orbit` to it.
RetrialQueueLaw solve_with_orbit(RetrialQueue& queue);

}  // namespace retrysim
