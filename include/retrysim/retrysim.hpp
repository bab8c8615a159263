// The entrance to the library: load a scenario, run it, ask a question about it, and read the
// answer as verdicts and tables. Each header says more; include only those that you need where
// compile time matters.
//
//     load ──> run ─────────> verdicts, tables
//       └────> compare, choose, advise, sweep, tip, hysteresis, map ──> structs, tables
//              predict (theory)     fit_log, import_configuration (into a scenario)
//
// SPDX-License-Identifier: MIT
#pragma once

// What is simulated.
#include <retrysim/scenario.hpp>
#include <retrysim/scenario_file.hpp>

// Simulating it.
#include <retrysim/run.hpp>

// Questions about it.
#include <retrysim/advise.hpp>
#include <retrysim/choose.hpp>
#include <retrysim/compare.hpp>
#include <retrysim/hysteresis.hpp>
#include <retrysim/phase_map.hpp>
#include <retrysim/prediction.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/tip.hpp>

// Scenarios from elsewhere.
#include <retrysim/fit.hpp>
#include <retrysim/import.hpp>

// Answers, and what may go wrong.
#include <retrysim/error.hpp>
#include <retrysim/table.hpp>
