// Limits on concurrency as other software finds them: decision by decision against a second, plain
// writing of their sources' arithmetic (tests/reference/limits.hpp), and the limits at which they
// come to rest.
//
// SPDX-License-Identifier: MIT
#include "model/service/adaptive_limits.hpp"

#include <catch2/catch.hpp>

#include "reference/limits.hpp"
#include "unit/model/small_world.hpp"

#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace retrysim {
namespace {

using model::LimitLaw;
using model::make_limit_law;
using reference::plain_limit;
using test::ms;
using enum ConcurrencyControl;

const RandomKey kKey(1, 2);

Time at_ns(std::int64_t ns) { return Time::from_nanoseconds(ns); }

/// A queue in front of servers whose load changes every few seconds, with both limits before it.
struct TwoLimits {
  std::int64_t decisions = 0, refusals = 0, differences = 0;

  void run(const ConcurrencySpec& spec, std::uint64_t seed, std::int64_t wanted) {
    constexpr std::int64_t kServers = 8;
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53); };
    const auto exponential = [&](double mean_s) {
      return static_cast<std::int64_t>(-std::log(1 - uniform()) * mean_s * 1e9);
    };
    const auto law = make_limit_law(spec, kKey, kServers, at_ns(0));
    const auto plain = plain_limit(spec, kKey, kServers, 0);
    REQUIRE(law != nullptr);

    struct One {
      std::int64_t came, found;
    };
    using Done = std::pair<std::int64_t, std::size_t>;  // when, which
    std::vector<One> all;
    std::deque<std::size_t> waiting;
    std::priority_queue<Done, std::vector<Done>, std::greater<>> served;
    std::int64_t now = 0, inside = 0, servers = kServers, phase_ends = 0;
    double rate = 0, work_s = 0.02;
    std::int64_t next = 0;
    const auto begin = [&] {
      while (static_cast<std::int64_t>(served.size()) < servers && !waiting.empty()) {
        served.emplace(now + exponential(work_s), waiting.front());
        waiting.pop_front();
      }
    };
    while (decisions < wanted) {
      if (!served.empty() && served.top().first <= next) {
        now = served.top().first;
        const One& one = all[served.top().second];
        served.pop();
        --inside;
        const bool ok = uniform() < 0.97;
        law->left({at_ns(now), Duration::nanoseconds(now - one.came), one.found, inside, ok});
        plain->went_out({now, now - one.came, one.found, inside, ok});
        begin();
        continue;
      }
      now = next;
      if (now >= phase_ends) {  // calm, busy, overloaded, or nearly nothing; or half of the servers
        const double rates[] = {200, 380, 600, 1500, 0.05};
        rate = rates[random() % 5];
        work_s = random() % 4 == 0 ? 0.0004 : 0.02;
        phase_ends = now + exponential(5);
        servers = random() % 4 == 0 ? kServers / 2 : kServers;
        law->set_working(servers, at_ns(now));
        plain->set_servers(servers, now);
        begin();
      }
      next = now + exponential(1 / rate);
      ++decisions;
      const bool lets_in = inside < law->limit(inside, at_ns(now));
      if (!lets_in) law->refused(at_ns(now));
      refusals += !lets_in;
      const bool plain_lets_in = inside < plain->limit(inside, now);
      if (!plain_lets_in) plain->refused(now);
      if (lets_in != plain_lets_in) {
        ++differences;
        return;  // from here on they see different things
      }
      if (!lets_in) continue;
      ++inside;
      law->entered(inside, at_ns(now));
      plain->went_in(inside, now);
      all.push_back({now, inside});
      waiting.push_back(all.size() - 1);
      begin();
    }
  }
};

constexpr std::int64_t kDecisions = 100'000;

TwoLimits compared(const ConcurrencySpec& spec, std::uint64_t seed = 1,
                   std::int64_t wanted = kDecisions) {
  TwoLimits both;
  both.run(spec, seed, wanted);
  return both;
}

TEST_CASE("As their sources have them, the limits decide as the plain ones do") {
  const ConcurrencyControl control = GENERATE(kVegas, kEnvoy, kGoZero, kKratos, kSentinel);
  CAPTURE(name(control));
  const TwoLimits both = compared(ConcurrencySpec::of(control));
  CHECK(both.decisions == kDecisions);
  CHECK(both.differences == 0);
  CHECK(both.refusals > kDecisions / 50);
  CHECK(both.refusals < kDecisions);
}

TEST_CASE("With other numbers, too") {
  std::mt19937_64 random(7);
  const auto pick = [&](auto... of) {
    const std::common_type_t<decltype(of)...> all[] = {of...};
    return all[random() % sizeof...(of)];
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ConcurrencySpec c =
        ConcurrencySpec::of(pick(kVegas, kVegas, kEnvoy, kEnvoy, kGoZero, kKratos, kSentinel));
    c.min = pick(1, 2, 5);
    c.initial = c.min + pick(0, 10);
    c.max = c.initial + pick(0, 20, 1000);
    c.smoothing = pick(1.0, 0.3);
    c.alpha = pick(1, 2, 5);
    c.beta = c.alpha + pick(0, 2, 10);
    c.probe_multiplier = pick(1, 30, 1000);
    c.percentile = pick(0.0, 0.5, 0.9, 1.0);
    c.interval = pick(ms(3), ms(100), ms(2500));
    c.min_rtt = pick(Duration::max(), Duration::max(), ms(1), ms(30));
    c.min_rtt_interval = pick(ms(200), ms(5000));
    c.min_rtt_jitter = pick(0.0, 0.15, 1.0);
    c.min_rtt_requests = pick(1, 10, 50);
    c.measure_at_min = pick(true, true, false);
    c.min_rtt_buffer = pick(0.0, 0.25, 1.0);
    c.cpu = pick(0.3, 0.6, 0.9);
    c.load = pick(0.5, 1.0, 2.5);
    c.window = pick(ms(1000), ms(500), ms(10'000));
    c.buckets = pick(1, 2, 7, 50);
    CAPTURE(seed, name(c.control));
    CHECK(compared(c, seed, 10'000).differences == 0);
  }
}

/// Attempts one after another, each of which has met `found` and taken the time that this is in;
/// `step` apart.
class Feeder {
 public:
  Feeder(const ConcurrencySpec& spec, std::int64_t servers)
      : law_(make_limit_law(spec, kKey, servers, at_ns(0))) {}

  std::int64_t limit(std::int64_t present = 0) { return law_->limit(present, at_ns(now_)); }
  void feed(Duration time, std::int64_t found, Duration step) {
    now_ += step.count();
    law_->left({at_ns(now_), time, found, found - 1, true});
    law_->entered(found, at_ns(now_));
  }
  void refuse() { law_->refused(at_ns(now_)); }

 private:
  std::unique_ptr<LimitLaw> law_;
  std::int64_t now_ = 0;
};

// At a saturated service of c servers an attempt among n takes n / c times the least time, so that
// n - c seem to queue: Vegas rests as soon as that is between alpha and beta times the logarithm.
TEST_CASE("Vegas rests where between alpha and beta attempts queue") {
  ConcurrencySpec spec = ConcurrencySpec::of(kVegas);
  spec.probe_multiplier = 1'000'000;
  const auto [servers, least, most] =
      GENERATE(std::tuple(10, 13, 16), std::tuple(40, 43, 46), std::tuple(200, 206, 212));
  Feeder vegas(spec, servers);
  vegas.feed(ms(1), 1, ms(1));
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t limit = vegas.limit();
    if (i > 2000) {
      CHECK(limit >= least);
      CHECK(limit <= most);
    }
    const double slower = std::max(1.0, static_cast<double>(limit) / servers);
    vegas.feed(Duration::from_seconds(0.001 * slower), limit, ms(1));
  }
}

TEST_CASE("Vegas takes a queue for normal when it measures under load") {
  ConcurrencySpec spec = ConcurrencySpec::of(kVegas);
  spec.probe_multiplier = 1;
  Feeder vegas(spec, 10);
  vegas.feed(ms(1), 1, ms(1));
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t limit = vegas.limit();
    vegas.feed(Duration::from_seconds(0.001 * std::max(1.0, static_cast<double>(limit) / 10)),
               limit, ms(1));
  }
  CHECK(vegas.limit() > 20);
}

// There the gradient is (1 + buffer) c / n, so that n times it is (1 + buffer) c, whatever n was;
// with its root added that is 136 for 100 servers. Times are kept in bins of two digits, and all of
// a bin stand for its middle, 4 % off at most.
TEST_CASE("Envoy's gradient rests at the buffered capacity and its root") {
  ConcurrencySpec spec = ConcurrencySpec::of(kEnvoy);
  spec.min_rtt = ms(10);
  Feeder envoy(spec, 100);
  double sum = 0;
  for (int window = 0; window < 400; ++window) {
    const std::int64_t limit = envoy.limit();
    if (window >= 200) {
      CHECK(std::abs(static_cast<double>(limit) - 136) < 0.05 * 136);
      sum += static_cast<double>(limit);
    }
    for (int i = 0; i < 10; ++i) {
      const double slower = std::max(1.0, static_cast<double>(limit) / 100);
      envoy.feed(Duration::from_seconds(0.01 * slower), limit, ms(10));
    }
  }
  CHECK(std::abs(sum / 200 - 136) < 0.02 * 136);
}

TEST_CASE("Envoy lets in the fewest while it measures, and goes on where it was") {
  ConcurrencySpec spec = ConcurrencySpec::of(kEnvoy);
  spec.min_rtt_jitter = 0;
  spec.min_rtt_interval = ms(1000);
  Feeder envoy(spec, 100);
  for (int i = 0; i < 49; ++i) envoy.feed(ms(10), 3, ms(10));
  CHECK(envoy.limit() == 3);
  envoy.feed(ms(10), 3, ms(10));  // the fiftieth, at 500 ms
  CHECK(envoy.limit() == 3);
  for (int i = 0; i < 95; ++i) envoy.feed(ms(10), 3, ms(10));
  const std::int64_t grown = envoy.limit();
  CHECK(grown > 10);  // 3 x 1.25 + root = 5, 8, 13, ...
  for (int i = 0; i < 10; ++i) envoy.feed(ms(10), 3, ms(10));
  CHECK(envoy.limit() == 3);
  for (int i = 0; i < 60; ++i) envoy.feed(ms(10), 3, ms(10));
  CHECK(envoy.limit() >= grown);
}

// A thousand attempts a second of 8 ms each: 8 at once (Little's law).
TEST_CASE("kratos and Sentinel refuse more attempts than best throughput times best time") {
  const ConcurrencyControl control = GENERATE(kKratos, kSentinel);
  ConcurrencySpec spec = ConcurrencySpec::of(control);
  spec.load = 0.001;
  Feeder limit(spec, 8);
  for (int i = 0; i < 30'000; ++i) limit.feed(ms(8), 8, ms(1));
  CHECK(limit.limit(8) == 9);  // eight others are not too many
  CHECK(limit.limit(1) == LimitLaw::kUnlimited);
}

// The average of go-zero and kratos is cut to whole thousandths at each look, so that at full use
// it stays at 981 of 1000; and go-zero refuses the more, the less of the processor is left.
TEST_CASE("The average use of the processor ends below the full one") {
  const ConcurrencyControl control = GENERATE(kGoZero, kKratos);
  const bool reached = GENERATE(true, false);
  ConcurrencySpec spec = ConcurrencySpec::of(control);
  spec.cpu = reached ? 0.981 : 0.982;
  Feeder limit(spec, 8);
  for (int i = 0; i < 120'000; ++i) limit.feed(ms(8), 20, ms(1));
  CHECK((limit.limit(50) != LimitLaw::kUnlimited) == reached);
}

TEST_CASE("go-zero lets in a tenth at least, and less the busier the processor is") {
  ConcurrencySpec spec = ConcurrencySpec::of(kGoZero);
  Feeder limit(spec, 80);
  // 80 at once; the average of those left behind is 79.
  for (int i = 0; i < 60'000; ++i) limit.feed(ms(80), 80, ms(1));
  // (1000 - 981) / (1000 - 900) of 80
  CHECK(limit.limit(50) == 16);  // 15.2, and one
  spec.cpu = 0.5;
  Feeder early(spec, 80);
  for (int i = 0; i < 60'000; ++i) early.feed(ms(80), 80, ms(1));
  CHECK(early.limit(50) == 9);  // 0.038 of 80 would be 3: a tenth are 8, and one
}

TEST_CASE("A service at twice its capacity refuses half of the attempts") {
  Scenario s = test::small_world();
  s.services[0].service_time = Distribution::constant(ms(10));
  s.services[0].servers = 10;
  s.clients[0].arrivals.process = ArrivalProcess::kPoisson;
  s.clients[0].arrivals.rate = 2000;  // of 1000 that it can serve
  s.clients[0].retry.max_attempts = 1;
  s.warmup = Duration::seconds(20);
  const ConcurrencyControl control = GENERATE(kVegas, kEnvoy, kGoZero, kKratos, kSentinel);
  CAPTURE(name(control));
  s.services[0].concurrency = ConcurrencySpec::of(control);
  s.services[0].concurrency.probe_multiplier = 1'000'000;
  const RunResult r = simulate(s, 0);
  const LimitCounts& met = r.services[0].limit;
  const double limit = met.sum / static_cast<double>(met.limited);
  CHECK(met.arrivals == r.services[0].window.arrivals);
  CHECK(met.refused == r.services[0].window.rejected);
  const double in_system = r.services[0].window.in_system_ns / 80e9;
  if (control == kVegas || control == kEnvoy) CHECK(in_system <= limit + 1);
  if (control == kVegas) {  // now and then fewer than the limit are there, which lets it grow
    CHECK(limit >= 13);
    CHECK(limit <= 20);
  }
  // Half of the attempts are too many.
  const double refused = static_cast<double>(met.refused) / static_cast<double>(met.arrivals);
  CHECK(refused > 0.45);
  CHECK(refused < 0.75);
}

TEST_CASE("A law that looks at the servers needs a number of them") {
  Scenario s = test::small_world();
  s.services[0].servers = ServiceSpec::kUnlimited;
  s.services[0].concurrency = ConcurrencySpec::of(kKratos);
  CHECK_THROWS_WITH(simulate(s, 0), Catch::Contains("needs a number"));
}

}  // namespace
}  // namespace retrysim
