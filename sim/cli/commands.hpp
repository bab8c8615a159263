// Common parts of the program's subcommands. Each subcommand is a file of its name, at whose end
// its row joins the table of commands (options.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include <string>
#include <vector>

namespace retrysim::cli {

enum ExitStatus : int {
  kDone = 0,  ///< done, all expectations hold
  kExpectationFailed = 1,
  kBadCommandLine = 2,
  kBadInput = 3,  ///< a scenario or input file is missing, unreadable or wrong
  kOutputFailed = 4,
  kLimitHit = 5,
  kStartAgain = 6,  ///< a task of an array has done its part of a round; more may follow
  kInternalError = 70,
  kInterrupted = 130,
  kOutputClosed = 141,  ///< the status of a program that SIGPIPE has ended
};

/// Thrown for a mistake on the command line; main prints it with a hint at --help and exits 2, as
/// for any request that makes no sense.
class UsageError : public RequestError {
 public:
  using RequestError::RequestError;
};

/// The library's message about a limit, with the option that sets it: "... may be used
/// (--max-memory)".
std::string limit_text(const LimitExceeded& error);

using Arguments = std::vector<std::string>;

/// Runs the program with its arguments, the name of the subcommand first: every failure becomes a
/// message and an ExitStatus. Throws nothing.
int program(const Arguments& arguments);

}  // namespace retrysim::cli
