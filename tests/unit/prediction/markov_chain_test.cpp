// Chains against closed forms, another solver, and stored values of the companion chain.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>

#include "prediction/chain/markov_chain.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

MarkovChain birth_death(double up, double down, int states) {
  MarkovChain chain(static_cast<std::size_t>(states));
  for (int i = 0; i + 1 < states; ++i) {
    chain.add(static_cast<std::size_t>(i), static_cast<std::size_t>(i + 1), up);
    chain.add(static_cast<std::size_t>(i + 1), static_cast<std::size_t>(i), down);
  }
  return chain;
}

TEST_CASE("A birth-death chain has a geometric law, to the last of its tiny probabilities") {
  const double rho = 1e-6;
  const std::vector<double> law = birth_death(rho, 1, 50).stationary();
  for (std::size_t i = 0; i < law.size(); ++i) {
    CHECK(law[i] == Approx((1 - rho) * std::pow(rho, i)).epsilon(1e-12));
  }
}

TEST_CASE("The time up a birth-death chain is that of the recursion") {
  const double up = 0.5, down = 1;
  const int states = 60;
  double step = 1 / up, total = step;  // from i to i + 1: (1 + down x step before) / up
  for (int i = 1; i + 1 < states; ++i) {
    step = (1 + down * step) / up;
    total += step;
  }
  const auto times =
      birth_death(up, down, states).mean_time_to([&](std::size_t i) { return i == states - 1; });
  CHECK(times[0] == Approx(total).epsilon(1e-12));
  CHECK(times[states - 1] == 0);
}

TEST_CASE("A time beyond all numbers is infinite, and one below them is not") {
  // Up by luck alone, a thousand times in a row: 10^3000 steps.
  MarkovChain chain(1003);
  for (std::size_t i = 0; i + 2 < chain.states(); ++i) {
    chain.add(i, i + 1, 1e-3);
    chain.add(i + 1, i, 1);
  }
  const auto is_top = [](std::size_t i) { return i == 1001; };
  chain.add(1001, 1002, 1);
  chain.add(1002, 1001, 0.25);  // a state that does not come by the others
  const std::vector<double> mean = chain.mean_time_to(is_top);
  const auto both = chain.time_to(is_top);
  for (std::size_t i = 0; i <= 1000; ++i) {
    INFO(i);
    CHECK(mean[i] == std::numeric_limits<double>::infinity());
    CHECK(both[i].mean == std::numeric_limits<double>::infinity());
  }
  CHECK(mean[1001] == 0);
  CHECK(both[1001].mean == 0);
  CHECK(mean[1002] == Approx(4));
  CHECK_THROWS_AS(chain.committor(is_top, [](std::size_t i) { return i == 1002; }),
                  std::domain_error);
}

TEST_CASE("A queue that never fills by chance has no time to collapse") {
  // Theory's scenario 9100 without its breaker: a load of 0.47 and 1,180 places.
  CHECK(collapse_time({.arrival_rate = 75.3,
                       .service_rate = 20,
                       .servers = 8,
                       .timeout = 1.844,
                       .places = 1188}) == std::numeric_limits<double>::infinity());
}

TEST_CASE("The time of a single step is exponential: its variance is its mean squared") {
  MarkovChain chain(2);
  chain.add(0, 1, 0.25);
  const auto time = chain.time_to([](std::size_t i) { return i == 1; });
  CHECK(time[0].mean == Approx(4));
  CHECK(time[0].variance == Approx(16));
}

TEST_CASE("The gambler's ruin: the committor of a birth-death chain") {
  const double r = 3;  // down / up
  const auto chance = birth_death(1, r, 21).committor([](std::size_t i) { return i == 20; },
                                                      [](std::size_t i) { return i == 0; });
  for (int i = 0; i <= 20; ++i) {
    CHECK(chance[static_cast<std::size_t>(i)] ==
          Approx((std::pow(r, i) - 1) / (std::pow(r, 20) - 1)).epsilon(1e-12));
  }
}

TEST_CASE("A target out of reach takes for ever, and so does one that may be missed") {
  MarkovChain chain(4);
  chain.add(0, 1, 1);
  chain.add(0, 2, 1);
  chain.add(3, 1, 2);
  const auto times = chain.mean_time_to([](std::size_t i) { return i == 1; });
  CHECK(times[0] == std::numeric_limits<double>::infinity());
  CHECK(times[2] == std::numeric_limits<double>::infinity());
  CHECK(times[3] == Approx(0.5));
  CHECK_THROWS_AS(chain.stationary(), std::domain_error);
}

TEST_CASE("Chains refuse what is no chain") {
  CHECK_THROWS_AS(MarkovChain(0), std::invalid_argument);
  MarkovChain chain(2);
  CHECK_THROWS_AS(chain.add(0, 2, 1), std::invalid_argument);
  CHECK_THROWS_AS(chain.add(0, 1, -1), std::invalid_argument);
  CHECK_THROWS_AS(chain.add(0, 1, std::nan("")), std::invalid_argument);
  CHECK_THROWS_AS(chain.mean_time_to([](std::size_t) { return false; }), std::invalid_argument);
}

Eigen::MatrixXd generator(const RetrialQueue& queue) {
  // The same rules written down a second time, as a dense matrix.
  const int k = queue.places, o = queue.orbit, n = (k + 1) * (o + 1);
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(n, n);
  const auto at = [&](int q, int orbit) { return q * (o + 1) + std::min(orbit, o); };
  const double again = (queue.attempts - 1) / queue.attempts,
               pace = 1 / (queue.timeout + queue.backoff);
  for (int q = 0; q <= k; ++q) {
    const double late = timeout_probability(queue, q);
    for (int r = 0; r <= o; ++r) {
      const int here = at(q, r);
      if (q > 0) m(here, at(q - 1, r)) += std::min(q, queue.servers) * queue.service_rate;
      if (q < k) {
        m(here, at(q + 1, r)) += queue.arrival_rate * (1 - late);
        m(here, at(q + 1, r + 1)) += queue.arrival_rate * late;
      }
      if (r == 0) continue;
      m(here, at(q, r - 1)) += r * pace * (1 - again);
      if (q == k) m(here, at(q, r - 1)) += r * pace * again;
      if (q < k) {
        m(here, at(q + 1, r - 1)) += r * pace * again * (1 - late);
        m(here, at(q + 1, r)) += r * pace * again * late;
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    m(i, i) = 0;
    m(i, i) = -m.row(i).sum();
  }
  return m;
}

TEST_CASE("Elimination agrees with another solver where the range is small") {
  const RetrialQueue queue{
      .arrival_rate = 4, .service_rate = 5, .timeout = 1, .attempts = 3, .places = 12, .orbit = 10};
  const Eigen::MatrixXd m = generator(queue);
  const Eigen::Index n = m.rows();
  // Stationary: transposed equations, the first replaced by pi_0 = 1.
  Eigen::MatrixXd balance = m.transpose();
  balance.row(0).setZero();
  balance(0, 0) = 1;
  Eigen::VectorXd law = balance.partialPivLu().solve(Eigen::VectorXd::Unit(n, 0));
  law /= law.sum();

  const RetrialQueueChain chain(queue);
  const std::vector<double> ours = chain.chain.stationary();
  for (int q = 0; q <= queue.places; ++q) {
    for (int o = 0; o <= queue.orbit; ++o) {
      CHECK(ours[chain.index(q, o)] == Approx(law(q * (queue.orbit + 1) + o)).epsilon(1e-6));
    }
  }

  // The slowest mode by inverse iteration, after the eigenvalue 0 of the law has been moved to
  // -1000 (Wielandt's deflation), where it is no longer the smallest.
  const Eigen::MatrixXd deflated = m - 1000 * Eigen::VectorXd::Ones(n) * law.transpose();
  const Eigen::PartialPivLU<Eigen::MatrixXd> inverse(deflated);
  Eigen::VectorXd mode = Eigen::VectorXd::LinSpaced(n, -1, 1);
  double slowest = 0;
  for (int i = 0; i < 1000; ++i) {
    const Eigen::VectorXd next = inverse.solve(mode);
    slowest = mode.dot(mode) / mode.dot(next);
    mode = next / next.norm();
  }
  const auto time = chain.chain.relaxation_time();
  REQUIRE(time);
  CHECK(*time == Approx(-1 / slowest).epsilon(1e-6));
}

TEST_CASE(
    "Times to recover are the same from the elimination for the law and from one of their own") {
  for (const auto& [places, orbit] : {std::pair{30, 12}, {12, 30}, {4, 2}}) {
    const RetrialQueue queue{.arrival_rate = 4,
                             .service_rate = 5,
                             .timeout = 1,
                             .attempts = 3,
                             .places = places,
                             .orbit = orbit};
    const RetrialQueueChain c(queue);
    const auto low = [&](std::size_t i) { return c.queue_of(i) <= 5.0 / 3; };
    const double time = c.chain.mean_time_to(low)[c.index(places, orbit)];
    const RetrialQueueLaw law = solve(queue);
    CHECK(law.recovery_time == Approx(time).epsilon(1e-12));
    CHECK(law.empty == Approx(c.chain.stationary()[c.index(0, 0)]).epsilon(1e-12));
    CHECK(law.collapse_time == Approx(collapse_time(queue)).epsilon(1e-12));
  }
  const MarkovChain chain = birth_death(1, 2, 5);
  CHECK_THROWS_AS(chain.law_and_return(0), std::invalid_argument);
  CHECK(chain.law_and_return(1).time[1] ==
        Approx(chain.mean_time_to([](std::size_t i) { return i == 0; })[1]).epsilon(1e-12));
}

TEST_CASE("The law after a time follows from the start, and becomes the stationary one") {
  const MarkovChain two = [] {
    MarkovChain chain(2);
    chain.add(0, 1, 1);
    chain.add(1, 0, 2);
    return chain;
  }();
  for (const double t : {0.0, 0.1, 1.0, 100.0}) {
    const auto law = two.law_after(t, {1, 0});
    CHECK(law[0] == Approx(2.0 / 3 + std::exp(-3 * t) / 3).epsilon(1e-10));
    CHECK(law[0] + law[1] == Approx(1).epsilon(1e-10));
  }
}

TEST_CASE("The chance of a timeout is the tail of what lies ahead") {
  RetrialQueue queue{.service_rate = 2, .timeout = 1.5, .places = 100};
  CHECK(timeout_probability(queue, 0) == Approx(std::exp(-3.0)));
  CHECK(timeout_probability(queue, 1) == Approx(std::exp(-3.0) * 4));  // Poisson(3) <= 1
  queue.servers = 3;
  CHECK(timeout_probability(queue, 2) == Approx(std::exp(-3.0)));
  // One service of rate 6 ahead, then one of rate 2: a sum of two exponentials.
  CHECK(timeout_probability(queue, 3) ==
        Approx((6 * std::exp(-3.0) - 2 * std::exp(-9.0)) / 4).epsilon(1e-12));
  double before = 0;
  for (int q = 0; q <= 100; ++q) {
    const double p = timeout_probability(queue, q);
    CHECK(p >= before * (1 - 1e-12));
    CHECK(p <= 1);
    before = p;
  }
}

struct CompanionCase {
  const char* id;
  double arrival_rate, backoff, attempts;
  int places, orbit;
  double queue, in_orbit, beyond, empty, collapse, recovery;
};

TEST_CASE("The chain of queue and orbit has its known values") {
  const CompanionCase cases[] = {
      {"P163", 8, 0, 4, 100, 60, 98.1818178318, 29.999990168, 0.999999999993, 1.40177727167e-12,
       2289.42629979, 3.18005340283e+14},
      {"P164", 7.5, 0, 3, 100, 60, 97.5999938508, 29.9999886751, 0.999999940223, 1.49026190434e-08,
       14895.1966828, 248125950874},
      {"P165", 7, 0, 4, 100, 100, 97.7777700424, 29.9999975681, 0.999999918981, 2.42887716145e-08,
       93949.3424664, 1.15764657855e+12},
      {"P166", 7, 0, 4, 50, 50, 6.61844949892, 2.81436940938, 0.0942437302185, 0.2715378378,
       93872.5091557, 9775.6016041},
      {"P167", 7, 0, 4, 150, 100, 147.777777778, 30, 1, 2.074939674e-16, 93953.4954485,
       1.35511484922e+20},
      {"P168", 6, 1, 3, 100, 60, 61.7826902832, 25.4383295122, 0.63624215763, 0.145494962851,
       34483707.0901, 60308836.0026},
  };
  for (const CompanionCase& c : cases) {
    INFO(c.id);
    const RetrialQueueLaw law = solve(RetrialQueue{.arrival_rate = c.arrival_rate,
                                                   .service_rate = 10,
                                                   .timeout = 3,
                                                   .backoff = c.backoff,
                                                   .attempts = c.attempts,
                                                   .places = c.places,
                                                   .orbit = c.orbit});
    CHECK(law.mean_queue == Approx(c.queue).epsilon(1e-8));
    CHECK(law.mean_orbit == Approx(c.in_orbit).epsilon(1e-8));
    CHECK(law.beyond_timeout == Approx(c.beyond).epsilon(1e-8));
    CHECK(law.empty == Approx(c.empty).epsilon(1e-8));
    CHECK(law.collapse_time == Approx(c.collapse).epsilon(1e-8));
    CHECK(law.recovery_time == Approx(c.recovery).epsilon(1e-8));
  }
}

struct ZombieCase {
  const char* id;
  double rate, patience, again;
  int places, low;
  double goodput, utilization, live, zombies, full, timeouts, fill, recovery;
};

TEST_CASE("The chain of live attempts and zombies has its known values") {
  const ZombieCase cases[] = {
      {"P058", 0.7, 0.05, 1, 40, 5, 0.357886341265, 0.997455755806, 12.7913882908, 23.5655381218,
       0.249205763272, 0.63956941454, 289.488881778, 17457.0362243},
      {"P060", 0.7, 0.05, 0.5, 40, 5, 0.59405982, 0.79209872, 3.9607779, 3.2604925, 0.006628065,
       0.19803889, 3407.0864, 335.16745},
      {"P061", 0.5, 0.05, 1, 60, 7, 0.3235542, 0.89713761, 11.471668, 30.817945, 0.14055584,
       0.57358341, 5681.3486, 16945.213},
  };
  for (const ZombieCase& c : cases) {
    INFO(c.id);
    const ZombieServiceLaw law = solve(ZombieService{.arrival_rate = c.rate,
                                                     .patience_rate = c.patience,
                                                     .retry_probability = c.again,
                                                     .places = c.places},
                                       c.low);
    CHECK(law.goodput == Approx(c.goodput).epsilon(1e-7));
    CHECK(law.utilization == Approx(c.utilization).epsilon(1e-7));
    CHECK(law.live == Approx(c.live).epsilon(1e-7));
    CHECK(law.zombies == Approx(c.zombies).epsilon(1e-7));
    CHECK(law.full == Approx(c.full).epsilon(1e-7));
    CHECK(law.timeout_rate == Approx(c.timeouts).epsilon(1e-7));
    CHECK(law.fill_time == Approx(c.fill).epsilon(1e-7));
    CHECK(law.recovery_time == Approx(c.recovery).epsilon(1e-7));
  }
}

TEST_CASE("The saddle between a healthy and a dead shared server has its known values") {
  const ZombieSaddle a = zombie_saddle({.arrival_rate = 0.7, .patience_rate = 0.05});
  CHECK(a.live == Approx(6).epsilon(1e-9));
  CHECK(a.zombies == Approx(2.57142857143).epsilon(1e-9));
  const ZombieSaddle b = zombie_saddle({.arrival_rate = 0.5, .patience_rate = 0.05});
  CHECK(b.live == Approx(10).epsilon(1e-9));
  CHECK(b.zombies == Approx(10).epsilon(1e-9));
  CHECK_THROWS_AS(zombie_saddle({.arrival_rate = 1.5}), std::invalid_argument);
}

TEST_CASE(
    "Chains end when they are asked to stop, whether states are taken out one by one or not") {
  const MarkovChain narrow = birth_death(1, 2, 50);
  MarkovChain wide(200);
  for (std::size_t i = 0; i + 1 < 200; ++i) {
    wide.add(i, std::min<std::size_t>(199, i + 20), 1);
    wide.add(i + 1, i, 2);
  }
  std::atomic<bool> stop{true};
  const StopScope scope(&stop);
  CHECK_THROWS_AS(narrow.stationary(), Interrupted);
  CHECK_THROWS_AS(wide.stationary(), Interrupted);
  CHECK_THROWS_AS(RetrialQueueChain(RetrialQueue{}), Interrupted);
  stop = false;
  CHECK_NOTHROW(wide.stationary());
}

TEST_CASE("Queues with retries and shared servers refuse figures that none can have") {
  const double infinite = std::numeric_limits<double>::infinity(), none = std::nan("");
  const auto refuses = [](auto change) {
    RetrialQueue queue{.arrival_rate = 0.5, .places = 3, .orbit = 2};
    change(queue);
    CHECK_THROWS_AS(solve(queue), std::invalid_argument);
    CHECK_THROWS_AS(collapse_time_by_work(queue), std::invalid_argument);
  };
  for (const double bad : {-1.0, infinite, none}) {
    CAPTURE(bad);
    refuses([&](RetrialQueue& q) { q.arrival_rate = bad; });
    refuses([&](RetrialQueue& q) { q.service_rate = bad; });
    refuses([&](RetrialQueue& q) { q.timeout = bad; });
    refuses([&](RetrialQueue& q) { q.backoff = bad; });
  }
  for (const double bad : {-0.1, 1.1, none}) {
    CAPTURE(bad);
    refuses([&](RetrialQueue& q) { q.retry_probability = bad; });
    refuses([&](RetrialQueue& q) { q.retrying_share = bad; });
  }
  refuses([](RetrialQueue& q) { q.attempts = 0.9; });
  refuses([](RetrialQueue& q) { q.servers = 0; });
  refuses([](RetrialQueue& q) { q.servers = 4; });  // more than places
  refuses([](RetrialQueue& q) { q.orbit = 0; });

  const ZombieService shared{.arrival_rate = 0.5, .places = 3};
  const auto shared_refuses = [&](auto change) {
    ZombieService s = shared;
    change(s);
    CHECK_THROWS_AS(solve(s, 1), std::invalid_argument);
    CHECK_THROWS_AS(zombie_saddle(s), std::invalid_argument);
  };
  CHECK(solve(shared, 1).utilization > 0);
  CHECK_THROWS_AS(solve(shared, -1), std::invalid_argument);
  CHECK_THROWS_AS(solve(shared, 3), std::invalid_argument);
  for (const double bad : {-1.0, infinite, none}) {
    CAPTURE(bad);
    shared_refuses([&](ZombieService& s) { s.arrival_rate = bad; });
    shared_refuses([&](ZombieService& s) { s.service_rate = bad; });
    shared_refuses([&](ZombieService& s) { s.patience_rate = bad; });
    shared_refuses([&](ZombieService& s) { s.retry_probability = bad; });
  }
  shared_refuses([](ZombieService& s) { s.places = 0; });
}

TEST_CASE("Where a full queue's rejections are retried the orbit holds them, too") {
  // Nobody is late: a timeout is as long as 50 services.
  RetrialQueue queue{
      .arrival_rate = 2, .timeout = 50, .backoff = 1, .attempts = 1e9, .places = 1, .orbit = 400};
  const double without = solve(queue, {.collapse_time = false}).mean_orbit;
  queue.retries_rejected = true;
  const double with = solve(queue, {.collapse_time = false}).mean_orbit;
  CHECK(without < 1e-9);
  CHECK(with > 100);  // 2/s for a server of 1/s: the orbit fills
}

TEST_CASE("The chain of work foresees collapses that the chain of numbers does not") {
  // Mean times of simulations of at least a hundred collapses each, to 10 %, where neighbours that
  // come too late together matter: the chain of numbers says 2.4 to 5 times as much.
  const struct {
    double rate;
    int servers, places;
    double timeout, backoff, attempts, simulated;
  } cases[] = {{5.47, 1, 25, 0.8, 0.24, 2, 203},
               {4.65, 1, 17, 0.8, 0.24, 5, 328},
               {8.48, 2, 18, 0.4, 0, 4, 141},
               {23.64, 4, 40, 0.3, 0.09, 2, 61.5}};
  for (const auto& c : cases) {
    RetrialQueue queue;
    queue.arrival_rate = c.rate;
    queue.service_rate = 10;
    queue.servers = c.servers;
    queue.timeout = c.timeout;
    queue.backoff = c.backoff;
    queue.attempts = c.attempts;
    queue.places = c.places;
    queue.orbit = 60;
    const auto by_work = collapse_time_by_work(queue);
    REQUIRE(by_work);
    INFO("rate " << c.rate << ": " << *by_work << " s, by numbers " << collapse_time(queue)
                 << " s, simulated " << c.simulated << " s");
    CHECK(*by_work < 2 * c.simulated);
    CHECK(*by_work > c.simulated / 2);
    CHECK(collapse_time(queue) > 2 * c.simulated);
  }
}

TEST_CASE("The chain of work knows when it is too large") {
  RetrialQueue queue;
  queue.arrival_rate = 7;
  queue.service_rate = 10;
  queue.timeout = 3;
  queue.attempts = 3;
  queue.places = 100;
  queue.orbit = 50;
  CHECK_FALSE(collapse_time_by_work(queue, 1e6));
  queue.attempts = 1;  // nobody tries again
  CHECK_FALSE(collapse_time_by_work(queue));
}

}  // namespace
}  // namespace retrysim
