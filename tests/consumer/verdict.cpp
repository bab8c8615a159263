// The first example of include/retrysim/README.md, which shows these lines from the includes on.
//
// SPDX-License-Identifier: MIT
#include <retrysim/retrysim.hpp>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto run = retrysim::run(retrysim::load(argv[1], {"client.*.retry.max_attempts=1"}));
    for (const auto& verdict : retrysim::verdicts(run)) {
      std::cout << verdict.client << ": " << verdict.sentence << '\n';
    }
  } catch (const retrysim::InputError& error) {  // file, line, key, and the nearest key
    std::cerr << error.what() << '\n';
    return 3;
  }
}
