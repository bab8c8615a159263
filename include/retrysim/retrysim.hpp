// The entrance to the library: load a scenario, run it, ask a question about it, and read the
// answer as verdicts and tables. Each header says more; include only those that you need where
// compile time matters.
//
//     load ──> run ─────────> verdicts, tables
//       └────> compare, choose, advise, sweep, tip, size, hysteresis, map, uncertain ──> structs,
//       tables
//              predict (theory)     fit_log, import_configuration (into a scenario)
//
// SPDX-License-Identifier: MIT
#pragma once

// What is simulated: written, or made from what there is already.
#include <retrysim/import.hpp>
#include <retrysim/risk.hpp>
#include <retrysim/scenario.hpp>

// Simulating it.
#include <retrysim/run.hpp>

// Questions about it.
#include <retrysim/compare.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/sdk_upgrade.hpp>
#include <retrysim/size.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/uncertain.hpp>

// Answers, and what may go wrong.
#include <retrysim/error.hpp>
#include <retrysim/table.hpp>
