// Plays calls through a circuit breaker. Standard input has breakers: a line with the keys of one
// as a TOML table, a line with a number of calls, and a line for each, "AT LENGTH FAILS" in
// milliseconds, in the order of time. Each is answered with lines "go|refused|end STATE", in the
// order of time, and an empty line.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>

using namespace retrysim;

namespace {

BreakerRules rules_of(const std::string& table) {
  const LoadResult result = load_scenario_text(
      "name = \"one\"\nduration = 1\n[service.api]\nservice_time = 0.1\n[client.web]\n"
      "arrivals = { process = \"poisson\", rate = 1 }\nretry.mode = \"none\"\nbreaker = " +
          table + "\n",
      "breaker.toml", ".", {});
  for (const Diagnostic& d : result.errors) std::cerr << d.message << "\n";
  if (!result.loaded) std::exit(1);
  return result.loaded->scenario.clients[0].breaker;
}

void play(const BreakerRules& rules, std::size_t calls) {
  Breaker breaker(rules);
  const auto time = [](std::int64_t ms) { return Time::zero() + Duration::milliseconds(ms); };
  std::multimap<std::int64_t, std::pair<std::uint32_t, std::pair<bool, std::int64_t>>> ends;
  const auto end_before = [&](std::int64_t ms) {
    while (!ends.empty() && ends.begin()->first < ms) {
      const auto [at, call] = *ends.begin();
      ends.erase(ends.begin());
      breaker.record(rules, call.first,
                     call.second.first ? ResponseClass::kTransient : ResponseClass::kSuccess,
                     Duration::milliseconds(call.second.second), time(at));
      std::cout << "end " << name(breaker.state()) << "\n";
    }
  };
  for (std::size_t i = 0; i < calls; ++i) {
    std::int64_t at = 0, length = 0;
    bool fails = false;
    std::cin >> at >> length >> fails;
    end_before(at);
    const bool goes = breaker.ask(rules, time(at));
    std::cout << (goes ? "go " : "refused ") << name(breaker.state()) << "\n";
    if (goes) ends.insert({at + length, {breaker.era(), {fails, length}}});
  }
  end_before(std::int64_t{1} << 60);
  std::cout << "\n" << std::flush;
}

}  // namespace

int main() {
  for (std::string table; std::getline(std::cin >> std::ws, table);) {
    std::size_t calls = 0;
    std::cin >> calls;
    play(rules_of(table), calls);
  }
}
