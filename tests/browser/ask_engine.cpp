// The same engine compiled for this machine: one JSON text a line in, one a line out.
//
// SPDX-License-Identifier: MIT
#include "browser/engine.hpp"

#include <iostream>
#include <string>

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << retrysim::browser::answer(line) << std::endl;
  }
}
