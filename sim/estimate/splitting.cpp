// SPDX-License-Identifier: MIT
#include "estimate/splitting.hpp"

#include "estimate/paired.hpp"
#include "kernel/functions.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace retrysim::stats {
namespace {

struct Particle {
  std::uint32_t root = 0;
  std::vector<Branch> branches;
  SplittingPath path;

  NearnessScore nearest() const { return path.records.empty() ? 0 : path.records.back().score; }
};

class Splitting {
 public:
  Splitting(std::uint32_t particles, const RandomKey& key, const FollowPath& follow,
            const SplittingLimits& limits)
      : key_(key), follow_(follow), limits_(limits), particles_(particles) {
    assert(particles >= 2);
    result_.particles = particles;
    result_.probability = 1;
  }

  SplittingRun run() {
    for (std::uint32_t i = 0; i < particles_.size(); ++i) {
      particles_[i].root = i;
      follow(particles_[i]);
      result_.early += particles_[i].path.early;
    }
    while (raise_level()) {
      stop_point();
    }
    finish();
    return result_;
  }

 private:
  void follow(Particle& particle) {
    particle.path = follow_(particle.root, particle.branches);
    ++result_.paths;
    result_.events += particle.path.events;
    result_.nearest = std::max(result_.nearest, particle.nearest());
  }

  // Gives up the particles that have come least near; false if all have arrived, or none goes on.
  bool raise_level() {
    NearnessScore level = kHappened;
    for (const Particle& p : particles_) level = std::min(level, p.nearest());
    if (level == kHappened) return false;
    std::vector<std::size_t> given_up, others;
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      (particles_[i].nearest() <= level ? given_up : others).push_back(i);
    }
    if (others.empty()) {
      result_.probability = 0;
      return false;
    }
    if (result_.probability < limits_.least_probability || result_.events >= limits_.most_events) {
      result_.unfinished = true;
      return false;
    }
    ++result_.levels;
    result_.probability *=
        static_cast<double>(others.size()) / static_cast<double>(particles_.size());
    Draws draws(key_, {.entity = result_.levels, .purpose = Purpose::kBranch});
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < given_up.size(); ++i) {
      // One identity has 2,048 words.
      if (i > 0 && i % 1'024 == 0) {
        draws = Draws(key_, {.entity = result_.levels,
                             .attempt = static_cast<std::uint32_t>(i / 1'024),
                             .purpose = Purpose::kBranch});
      }
      chosen.push_back(others[draws.below(static_cast<std::uint32_t>(others.size()))]);
    }
    for (std::size_t i = 0; i < given_up.size(); ++i) {
      go_on(particles_[given_up[i]], particles_[chosen[i]], level);
    }
    return true;
  }

  // `particle` takes the place of another one: it does as `model` did until that first was beyond
  // the level, and then goes on by itself.
  void go_on(Particle& particle, const Particle& model, NearnessScore level) {
    const auto& records = model.path.records;
    const auto beyond = std::ranges::upper_bound(records, level, {}, &NearestSoFar::score);
    assert(beyond != records.end());
    particle.root = model.root;
    particle.branches.clear();
    for (const Branch& b : model.branches) {
      if (b.after_event <= beyond->after_event) particle.branches.push_back(b);
    }
    particle.branches.push_back({beyond->after_event, ++branches_});
    follow(particle);
    result_.repeated += beyond->after_event;
  }

  void finish() {
    if (result_.probability == 0 || result_.unfinished) return;
    Draws draws(key_, {.entity = ~std::uint64_t{0}, .purpose = Purpose::kBranch});
    const Particle& one = particles_[draws.below(static_cast<std::uint32_t>(particles_.size()))];
    result_.root = one.root;
    result_.branches = one.branches;
    result_.arrives = one.path.position;
    std::vector<std::uint32_t> roots;
    for (const Particle& p : particles_) {
      roots.push_back(p.root);
      result_.position += p.path.position / static_cast<double>(particles_.size());
    }
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    result_.ancestors = static_cast<std::uint32_t>(roots.size());
  }

  RandomKey key_;
  const FollowPath& follow_;
  const SplittingLimits limits_;
  std::vector<Particle> particles_;
  std::uint64_t branches_ = 0;
  SplittingRun result_;
};

}  // namespace

SplittingRun split(std::uint32_t particles, const RandomKey& key, const FollowPath& follow,
                   const SplittingLimits& limits) {
  return Splitting(particles, key, follow, limits).run();
}

SplittingRun follow_all(std::uint32_t particles, const FollowPath& follow) {
  SplittingRun result;
  result.particles = particles;
  result.paths = particles;
  double arrived = 0;
  for (std::uint32_t i = 0; i < particles; ++i) {
    stop_point();
    const SplittingPath path = follow(i, {});
    const NearnessScore nearest = path.records.empty() ? 0 : path.records.back().score;
    result.nearest = std::max(result.nearest, nearest);
    result.events += path.events;
    result.time_s += path.time_s;
    result.early += path.early;
    if (nearest != kHappened) continue;
    ++arrived;
    ++result.ancestors;
    result.position += path.position;
  }
  result.probability = arrived / particles;
  if (arrived > 0) result.position /= arrived;
  return result;
}

std::optional<PositiveEstimate> positive_mean(std::span<const double> values) {
  const std::vector<double> ones(values.size(), 1.0);
  return positive_ratio(values, ones);
}

std::optional<PositiveEstimate> positive_ratio(std::span<const double> numerators,
                                               std::span<const double> denominators) {
  assert(numerators.size() == denominators.size());
  if (std::ranges::count_if(numerators, [](double v) { return v > 0; }) < 2) return std::nullopt;
  const auto n = static_cast<double>(numerators.size());
  double above = 0, below = 0;
  for (const double v : numerators) above += v;
  for (const double v : denominators) below += v;
  // Logarithms of the ratios without one of the pairs. Where a single numerator outweighs all
  // others together, rounding must not leave nothing of them.
  const double least =
      *std::ranges::min_element(numerators, {}, [](double v) { return v > 0 ? v : HUGE_VAL; });
  std::vector<double> logs;
  double mean_log = 0;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    const double others = std::max(least, above - numerators[i]);
    logs.push_back(kernel::log(others / (below - denominators[i])));
    mean_log += logs.back() / n;
  }
  double squares = 0;
  for (const double log : logs) squares += (log - mean_log) * (log - mean_log);
  PositiveEstimate estimate;
  estimate.mean = above / below;
  estimate.relative_error = std::sqrt(squares * (n - 1) / n);
  const double factor =
      kernel::exp(student_quantile(numerators.size() - 1, 0.05) * estimate.relative_error);
  estimate.low = estimate.mean / factor;
  estimate.high = estimate.mean * factor;
  return estimate;
}

double bound_without_hits(double time_or_trials) {
  constexpr double kError = 0.05;
  return -kernel::log(kError) / time_or_trials;
}

}  // namespace retrysim::stats
