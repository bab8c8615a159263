// The program `retrysim`.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "report/document/text.hpp"

#include <algorithm>

int main(int argc, char** argv) {
  retrysim::report::prepare_standard_streams();
  return retrysim::cli::program({argv + std::min(argc, 1), argv + argc});
}
