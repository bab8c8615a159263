// SPDX-License-Identifier: MIT
#include "fit/incidents.hpp"

#include "fit/service_time.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <queue>

namespace retrysim::fit {
namespace {

constexpr std::size_t kMaxIncidentBins = 1000;
constexpr std::size_t kLinesInIncidentBin = 25;
constexpr std::size_t kMinIncidentBins = 16;
constexpr std::size_t kMaxIncidents = 10;
constexpr std::size_t kSeries = 3;

// The least changes that matter: errors more by a percentage point, and twice the usual share.
constexpr double kMoreErrors = 0.01;
constexpr double kLonger = 1.25;  // times the usual median

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// Counts of durations by their size, in steps of about 1 %.
class Durations {
 public:
  void add(std::int64_t ns) {
    ++counts_[place_of(std::max<std::int64_t>(ns, 0))];
    ++all_;
  }
  void add(const Durations& other) {
    for (std::size_t i = 0; i < kPlaces; ++i) counts_[i] += other.counts_[i];
    all_ += other.all_;
  }
  std::size_t all() const { return all_; }

  /// The p-quantile, rounded up to the end of a step.
  std::int64_t quantile(double p) const {
    const double wanted = p * static_cast<double>(all_);
    double sum = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      sum += static_cast<double>(counts_[i]);
      if (sum >= wanted && sum > 0) return end_of(i);
    }
    return end_of(kPlaces - 1);
  }

  /// The largest difference between the distribution functions of these values, each `factor` times
  /// as large, and of others. Values within a few steps of each other count as equal.
  double distance(const Durations& others, double factor) const {
    constexpr double kSame = 1.05;
    const std::vector<double> own = shares(), theirs = others.shares();
    double most = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const auto edge = static_cast<double>(end_of(i));
      most = std::max({most, theirs[i] - below(own, edge * kSame / factor),
                       below(own, edge / kSame / factor) - theirs[i]});
    }
    return most;
  }

 private:
  static constexpr int kBits = 6;  // 64 steps from one power of two to the next
  static constexpr std::size_t kPlaces = std::size_t{(64 - kBits)} << kBits;

  static std::size_t place_of(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns);
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kBits - 1);
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::int64_t end_of(std::size_t place) {
    constexpr std::size_t kExact = std::size_t{2} << kBits;
    if (place < kExact) return static_cast<std::int64_t>(place);
    const std::size_t shift = (place >> kBits) - 1;
    return static_cast<std::int64_t>(((place - (shift << kBits) + 1) << shift) - 1);
  }
  std::vector<double> shares() const {
    std::vector<double> shares(kPlaces);
    double sum = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      sum += static_cast<double>(counts_[i]);
      shares[i] = all_ == 0 ? 0 : sum / static_cast<double>(all_);
    }
    return shares;
  }
  static double below(const std::vector<double>& shares, double ns) {
    constexpr double kLargest = 9e18;
    return shares[std::min(place_of(static_cast<std::int64_t>(std::min(ns, kLargest))),
                           kPlaces - 1)];
  }

  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(kPlaces + 1);
  std::size_t all_ = 0;
};

// --- Intervals in which a share is raised.

struct Bin {
  double lines = 0, hits = 0;
};

struct Interval {
  std::size_t begin = 0, end = 0;  // indices of bins
};

/// n times the relative entropy between the shares k / n and p.
double information(double k, double n, double p) {
  double sum = 0;
  if (k > 0) sum += k * std::log(k / (n * p));
  if (k < n) sum += (n - k) * std::log((n - k) / (n * (1 - p)));
  return sum;
}

/// The dispersion of the counts in bins, or in groups of neighbouring bins: their variance relative
/// to that of independent lines with one share. Medians are used, so that unusual bins do not
/// count.
double dispersion_of(std::span<const Bin> bins) {
  constexpr double kMedianOfChiSquared = 0.4549;
  double most = 1;
  for (std::size_t length = 1; bins.size() / length >= kMinIncidentBins; length *= 2) {
    std::vector<Bin> blocks;
    std::vector<double> shares, squares;
    for (std::size_t i = 0; i + length <= bins.size(); i += length) {
      Bin block;
      for (const Bin& b : bins.subspan(i, length)) {
        block.lines += b.lines;
        block.hits += b.hits;
      }
      if (block.lines == 0) continue;
      blocks.push_back(block);
      shares.push_back(block.hits / block.lines);
    }
    if (blocks.size() < kMinIncidentBins) continue;
    const double p = median_of(shares);
    if (p <= 0 || p >= 1) continue;
    for (const Bin& b : blocks) {
      const double off = b.hits - b.lines * p;
      squares.push_back(off * off / (b.lines * p * (1 - p)));
    }
    most = std::max(most, median_of(squares) / kMedianOfChiSquared);
  }
  return most;
}

/// All intervals, at most one more than `kMaxIncidents`, in which the share is at least `times` the
/// usual one and `more` above it, beyond chance.
std::vector<Interval> raised(std::vector<Bin> bins, double times, double more) {
  std::vector<Interval> found;
  const std::size_t n = bins.size();
  const auto count = static_cast<double>(n);
  const double noise = dispersion_of(bins);
  const double limit =
      noise * std::log(static_cast<double>(kSeries) * count * count / 2 / kFalseAlarm);
  std::vector<Bin> sums(n + 1);
  StopCounter<> intervals;
  while (found.size() <= kMaxIncidents) {
    for (std::size_t i = 0; i < n; ++i) {
      sums[i + 1] = {sums[i].lines + bins[i].lines, sums[i].hits + bins[i].hits};
    }
    const Bin all = sums.back();
    if (all.hits == 0) break;
    double best = limit;
    std::optional<Interval> at;
    for (std::size_t begin = 0; begin < n; ++begin) {
      for (std::size_t end = begin + 1; end <= n; ++end) {
        intervals.count();
        const double lines = sums[end].lines - sums[begin].lines;
        const double hits = sums[end].hits - sums[begin].hits;
        if (2 * lines > all.lines) break;
        const double others = all.lines - lines, usual = (all.hits - hits) / others;
        if (hits < lines * std::max(times * usual, usual + more) || lines == 0) continue;
        const double p = all.hits / all.lines;
        const double gain = information(hits, lines, p) + information(all.hits - hits, others, p);
        if (gain > best) best = gain, at = {begin, end};
      }
    }
    if (!at) break;
    found.push_back(*at);
    for (std::size_t i = at->begin; i < at->end; ++i) bins[i] = {};
  }
  return found;
}

/// Joins intervals that overlap or have hardly a bin between them.
std::vector<Interval> joined(std::vector<Interval> intervals) {
  constexpr std::size_t kBetween = 2;
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> all;
  for (const Interval& i : intervals) {
    if (!all.empty() && i.begin <= all.back().end + kBetween) {
      all.back().end = std::max(all.back().end, i.end);
    } else {
      all.push_back(i);
    }
  }
  return all;
}

// --- Pauses.

bool meet(const Stretch& a, const Stretch& b) {
  return a.begin_ns < b.end_ns && b.begin_ns < a.end_ns;
}

/// Keeps the longest of many pauses between events of a log.
class Pauses {
 public:
  explicit Pauses(std::int64_t span_ns) : span_(span_ns) {}
  void add(const Stretch& pause) {
    pauses_.count();
    if (longest_.size() > kMaxIncidents && length(pause) <= length(longest_.back())) return;
    longest_.push_back(pause);
    std::ranges::stable_sort(longest_, std::greater<>{}, length);
    if (longest_.size() > kMaxIncidents + 1) longest_.pop_back();
  }

  /// The pauses that are much longer than the others, among `events` events.
  std::vector<Stretch> unusual(std::size_t events) const {
    constexpr double kMinMissing = 30;  // events, on average: by chance e^-30
    constexpr std::int64_t kTimes = 5;  // times the longest of the usual pauses
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < longest_.size(); ++i) {
      if (length(longest_[i]) >= kTimes * length(longest_[i + 1])) count = i + 1;
    }
    // A single pause can only be compared with the rate.
    if (longest_.size() == 1) count = 1;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < count; ++i) all += length(longest_[i]);
    if (2 * all > span_) return {};
    const double rate = static_cast<double>(events) / in_seconds(span_ - all);
    std::vector<Stretch> found;
    for (std::size_t i = 0; i < count; ++i) {
      if (in_seconds(length(longest_[i])) * rate >= kMinMissing) found.push_back(longest_[i]);
    }
    return found;
  }

 private:
  static std::int64_t length(const Stretch& s) { return s.end_ns - s.begin_ns; }

  std::vector<Stretch> longest_;
  std::int64_t span_;
  StopCounter<1024> pauses_;
};

// --- What they look like.

class Search {
 public:
  Search(const Watched& watched, std::size_t servers) : w_(watched), servers_(servers) {
    const std::vector<Observation>& rows = w_.log.rows;
    origin_ns_ = rows.front().start_ns;
    span_ns_ = rows.back().start_ns - origin_ns_ + 1;
    const std::int64_t span = span_ns_;
    const std::size_t wanted =
        std::clamp<std::size_t>(rows.size() / kLinesInIncidentBin, 1, kMaxIncidentBins);
    const std::int64_t least = 10 * w_.log.time_resolution_ns;
    width_ns_ =
        std::max((span + static_cast<std::int64_t>(wanted) - 1) / static_cast<std::int64_t>(wanted),
                 std::min(least, span));
    count_ = static_cast<std::size_t>((span + width_ns_ - 1) / width_ns_);
  }

  Incidents result() {
    Incidents all;
    all.bin_s = in_seconds(width_ns_);
    std::vector<Interval> errors, slow;
    if (count_ >= kMinIncidentBins) {
      errors = joined(raised(error_bins(), 2, kMoreErrors));
      slow = slow_intervals();
    }
    keep(errors, "errors", all);
    keep(slow, "slow answers", all);
    std::vector<Interval> both = errors;
    both.insert(both.end(), slow.begin(), slow.end());
    for (const Interval& i : joined(both)) {
      Incident incident;
      incident.when = stretch_of(i);
      incident.slow = std::ranges::any_of(
          slow, [&](const Interval& s) { return s.begin < i.end && i.begin < s.end; });
      all.found.push_back(incident);
    }
    add_silences(all);
    add_stalls(all);
    std::ranges::sort(all.found, {}, [](const Incident& i) { return i.when.begin_ns; });
    describe(all);
    return all;
  }

 private:
  std::size_t bin_of(std::int64_t t) const {
    return std::min(count_ - 1, static_cast<std::size_t>(
                                    std::max<std::int64_t>(0, (t - origin_ns_) / width_ns_)));
  }
  Stretch stretch_of(const Interval& i) const {
    return {origin_ns_ + static_cast<std::int64_t>(i.begin) * width_ns_,
            origin_ns_ + static_cast<std::int64_t>(i.end) * width_ns_};
  }
  bool counts_as_error(std::size_t row) const {
    return w_.log.rows[row].failed() && !(w_.full_queue && !w_.served[row]);
  }

  std::vector<Bin> error_bins() const {
    std::vector<Bin> bins(count_);
    StopCounter<> rows;
    for (std::size_t i = 0; i < w_.log.rows.size(); ++i) {
      rows.count();
      Bin& bin = bins[bin_of(w_.log.rows[i].start_ns)];
      bin.lines += 1;
      bin.hits += counts_as_error(i) ? 1 : 0;
    }
    return bins;
  }

  /// Calls `use` with beginning and length of the service of each success among those visits.
  template <class Use>
  void each_service(std::size_t servers, std::size_t from, std::size_t to, Use use) const {
    ServerClock clock(servers);
    for (std::size_t i = from; i < to; ++i) {
      const std::int64_t begin = clock.begin_of(w_.visits[i]);
      if (w_.succeeded[i]) use(begin, w_.visits[i].end_ns - begin);
    }
  }

  std::vector<Interval> slow_intervals() const {
    if (w_.visits.empty()) return {};
    Durations all;
    each_service(servers_, 0, w_.visits.size(),
                 [&](std::int64_t, std::int64_t took) { all.add(took); });
    constexpr std::array<double, 2> kQuantiles = {0.5, 0.9};
    std::array<std::int64_t, 2> limits{};
    for (std::size_t q = 0; q < 2; ++q) limits[q] = all.quantile(kQuantiles[q]);
    std::array<std::vector<Bin>, 2> bins = {std::vector<Bin>(count_), std::vector<Bin>(count_)};
    each_service(servers_, 0, w_.visits.size(), [&](std::int64_t begin, std::int64_t took) {
      for (std::size_t q = 0; q < 2; ++q) {
        Bin& bin = bins[q][bin_of(begin)];
        bin.lines += 1;
        bin.hits += took > limits[q] ? 1 : 0;
      }
    });
    // If the median rises by a quarter, many more than half of the values are above the usual
    // median.
    constexpr double kSomeMore = 1.1;
    std::vector<Interval> found = raised(bins[0], kSomeMore, 0);
    for (const Interval& i : raised(bins[1], 2, 0)) found.push_back(i);
    found = joined(std::move(found));
    std::erase_if(found, [&](const Interval& i) { return !matters(i); });
    return found;
  }

  /// Whether the median or the 90 % quantile of the service times is so much longer that it
  /// matters.
  bool matters(const Interval& i) const {
    Durations inside, outside;
    each_service(servers_, 0, w_.visits.size(), [&](std::int64_t begin, std::int64_t took) {
      const std::size_t bin = bin_of(begin);
      (bin >= i.begin && bin < i.end ? inside : outside).add(took);
    });
    return std::ranges::any_of(std::array{0.5, 0.9}, [&](double p) {
      return static_cast<double>(inside.quantile(p)) >
             kLonger * static_cast<double>(outside.quantile(p));
    });
  }

  /// Keeps the intervals that are incidents, and makes notes of the others.
  void keep(std::vector<Interval>& intervals, std::string_view what, Incidents& all) const {
    if (intervals.size() > kMaxIncidents) {
      all.notes.push_back(fmt::format(
          "There are more than {} stretches with {}: they are part of the whole, and no incidents.",
          kMaxIncidents, what));
      intervals.clear();
    }
    std::size_t bins = 0;
    for (const Interval& i : intervals) bins += i.end - i.begin;
    if (2 * bins > count_) {
      all.notes.push_back(fmt::format(
          "There are {} in more than half of the log: what is usual cannot be told.", what));
      intervals.clear();
    }
    std::erase_if(intervals, [&](const Interval& i) {
      const bool first = i.begin <= 1, last = i.end + 1 >= count_;
      if (!first && !last) return false;
      all.notes.push_back(
          first ? fmt::format("Until {} s after the log begins there are more {} than later: "
                              "how that began the log does not tell, so it is no incident.",
                              second_words(in_seconds(stretch_of(i).end_ns - origin_ns_)), what)
                : fmt::format("From {} s on, until the log ends, there are more {} than before: "
                              "whether that passes the log does not tell, so it is no incident.",
                              second_words(in_seconds(stretch_of(i).begin_ns - origin_ns_)), what));
      return true;
    });
  }

  void add_silences(Incidents& all) const {
    const std::vector<Observation>& rows = w_.log.rows;
    Pauses pauses(span_ns_);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      pauses.add({rows[i - 1].start_ns + 1, rows[i].start_ns});
    }
    for (const Stretch& when : pauses.unusual(rows.size())) {
      if (std::ranges::any_of(all.found, [&](const Incident& i) { return meet(i.when, when); })) {
        continue;
      }
      Incident incident;
      incident.silent = true;
      incident.when = when;
      all.found.push_back(incident);
    }
  }

  /// Adds stretches in which no request ends although many are under way, so that no server works.
  void add_stalls(Incidents& all) const {
    if (w_.visits.empty()) return;
    Pauses pauses(span_ns_);
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
    std::int64_t last = w_.visits.front().start_ns;
    std::size_t came = 0;  // since the last end
    const auto end_next = [&] {
      constexpr std::size_t kMany = 10;
      if (came >= kMany) pauses.add({last, ends.top()});
      last = ends.top();
      ends.pop();
      came = 0;
    };
    StopCounter<> visits;
    for (const Visit& v : w_.visits) {
      visits.count();
      while (!ends.empty() && ends.top() <= v.start_ns) end_next();
      ends.push(v.end_ns);
      ++came;
    }
    while (!ends.empty()) end_next();
    for (const Stretch& when : pauses.unusual(w_.visits.size())) {
      Incident incident;
      incident.capacity = 0;
      incident.when = when;
      // Incidents found within it, such as errors of a full queue, belong to it.
      std::erase_if(all.found, [&](const Incident& i) { return meet(i.when, when); });
      all.found.push_back(incident);
    }
  }

  void describe(Incidents& all) const {
    if (all.found.empty()) return;
    const std::vector<Observation>& rows = w_.log.rows;
    Durations usual;
    StatusCounter usual_statuses;
    std::size_t usual_lines = 0, usual_failed = 0;
    std::vector<Durations> own(all.found.size());
    std::vector<StatusCounter> statuses(all.found.size());
    std::vector<std::size_t> failed(all.found.size()), took_server(all.found.size());
    std::size_t at = 0;
    StopCounter<> looked_at;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      looked_at.count();
      const Observation& row = rows[i];
      while (at < all.found.size() && all.found[at].when.end_ns <= row.start_ns) ++at;
      const bool inside = at < all.found.size() && all.found[at].when.begin_ns <= row.start_ns;
      (inside ? statuses[at] : usual_statuses).add(row);
      if (!row.failed()) (inside ? own[at] : usual).add(row.duration_ns);
      if (inside) {
        ++all.found[at].lines;
        failed[at] += row.failed() ? 1 : 0;
        took_server[at] += row.failed() && w_.served[i] ? 1 : 0;
      } else {
        ++usual_lines;
        usual_failed += row.failed() ? 1 : 0;
      }
    }
    const auto share = [](std::size_t part, std::size_t whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const auto median = [&](const Durations& d) {
      return d.all() == 0 || !w_.log.has_durations ? std::nullopt
                                                   : std::optional(in_seconds(d.quantile(0.5)));
    };
    const std::vector<StatusCount> often = usual_statuses.counts();
    for (std::size_t i = 0; i < all.found.size(); ++i) {
      Incident& incident = all.found[i];
      incident.errors = share(failed[i], incident.lines);
      incident.usual_errors = share(usual_failed, usual_lines);
      incident.median_s = median(own[i]);
      incident.usual_median_s = median(usual);
      incident.statuses = statuses[i].counts();
      incident.errors_take_server = 2 * took_server[i] > failed[i];
      incident.full_queue = w_.full_queue && !incident.errors_take_server;
      const auto add_errors = [&](double least) {
        for (const StatusCount& s : incident.statuses) {
          if (!is_error(s.status) || incident.full_queue) continue;
          const auto before = std::ranges::find(often, s.status, &StatusCount::status);
          const double more = share(s.lines, incident.lines) -
                              (before == often.end() ? 0 : share(before->lines, usual_lines));
          if (more > least) incident.added_errors.emplace_back(s.status, more);
        }
      };
      add_errors(kMoreErrors / 2);
      // Errors may have many statuses, each of them rare.
      const bool more_errors = incident.errors > incident.usual_errors + kMoreErrors;
      if (more_errors && incident.added_errors.empty()) add_errors(0);
      if (incident.slow) explain(incident, all);
    }
  }

  /// Finds whether fewer servers or slower ones explain an incident.
  void explain(Incident& incident, const Incidents& all) const {
    const std::vector<Stretch> unusual = all.left_out();
    Durations usual;
    each_service(servers_, 0, w_.visits.size(), [&](std::int64_t begin, std::int64_t took) {
      const bool left_out = std::ranges::any_of(
          unusual, [&](const Stretch& s) { return s.begin_ns <= begin && begin < s.end_ns; });
      if (!left_out) usual.add(took);
    });
    // Bins at the edges are left out if the incident is long enough.
    Stretch when = incident.when;
    constexpr std::int64_t kLong = 8;
    if (when.end_ns - when.begin_ns >= kLong * width_ns_) {
      when.begin_ns += width_ns_;
      when.end_ns -= width_ns_;
    }
    const auto place = [&](std::int64_t t) {
      return static_cast<std::size_t>(std::ranges::lower_bound(w_.visits, t, {}, &Visit::start_ns) -
                                      w_.visits.begin());
    };
    const std::size_t end = place(when.end_ns), earlier = 1000 + 10 * servers_;
    const std::size_t begin = place(when.begin_ns) - std::min(place(when.begin_ns), earlier);
    const auto services = [&](std::size_t servers) {
      Durations d;
      each_service(servers, begin, end, [&](std::int64_t start, std::int64_t took) {
        if (when.begin_ns <= start && start < when.end_ns) d.add(took);
      });
      return d;
    };
    const Durations slower = services(servers_);
    if (slower.all() == 0 || usual.all() == 0) return;
    // Rounded times may be 0.
    const std::int64_t usual_median = std::max<std::int64_t>(1, usual.quantile(0.5));
    const double speed = static_cast<double>(usual_median) /
                         static_cast<double>(std::max<std::int64_t>(1, slower.quantile(0.5)));
    const double by_speed = slower.distance(usual, speed);
    // With fewer servers the wait that is taken out is longer.
    std::size_t least = 1, most = servers_;
    while (least < most) {
      const std::size_t middle = least + (most - least + 1) / 2;
      if (services(middle).quantile(0.5) > usual_median) {
        most = middle - 1;
      } else {
        least = middle;
      }
    }
    std::size_t left = least;
    double by_capacity = 1;
    for (std::size_t s = least - std::min<std::size_t>(least - 1, 1); s <= least + 1; ++s) {
      if (s >= servers_) break;
      const double distance = services(s).distance(usual, 1);
      if (distance < by_capacity) by_capacity = distance, left = s;
    }
    constexpr double kClose = 0.1, kAlike = 0.03;
    incident.explained = std::min(by_speed, by_capacity) <= kClose;
    incident.told_apart = std::abs(by_speed - by_capacity) > kAlike;
    if (incident.explained && incident.told_apart && by_capacity < by_speed) {
      incident.servers_left = left;
      incident.capacity = static_cast<double>(left) / static_cast<double>(servers_);
    } else {
      // If the median is as usual, only some requests are slow, and the mean is compared.
      incident.speed = speed < 1 / kLonger ? speed : std::min(1.0, tail_ratio(usual, slower));
    }
  }

  static double tail_ratio(const Durations& usual, const Durations& slower) {
    constexpr double kMost = 0.9;
    return static_cast<double>(std::max<std::int64_t>(1, usual.quantile(kMost))) /
           static_cast<double>(std::max<std::int64_t>(1, slower.quantile(kMost)));
  }

  const Watched& w_;
  std::size_t servers_;
  std::int64_t origin_ns_ = 0, span_ns_ = 1, width_ns_ = 1;
  std::size_t count_ = 1;
};

std::string share_words(double share) {
  return fmt::format("{} %", scenario::said_number(100 * share));
}

}  // namespace

std::vector<Stretch> Incidents::left_out() const {
  const auto bin = static_cast<std::int64_t>(bin_s * 1e9);
  std::vector<Stretch> all;
  for (const Incident& i : found) {
    if (!i.silent) all.push_back({i.when.begin_ns - bin, i.when.end_ns + bin});
  }
  return all;
}

Incidents find_incidents(const Watched& watched, std::size_t servers) {
  return Search(watched, servers).result();
}

std::string incident_words(const Incident& i, std::int64_t origin_ns) {
  const double begin = in_seconds(i.when.begin_ns - origin_ns);
  const double end = in_seconds(i.when.end_ns - origin_ns);
  if (i.silent) {
    return fmt::format(
        "From {} to {} s, no request came: the service was unreachable or nobody asked, the log "
        "does not tell which.",
        second_words(begin), second_words(end));
  }
  std::string text = fmt::format("From {} to {} s", second_words(begin), second_words(end));
  if (i.capacity == 0) {
    text += fmt::format(", {} requests came, and none that had was answered",
                        scenario::grouped(i.lines));
    if (i.errors > i.usual_errors + kMoreErrors) {
      text += fmt::format(" but with errors ({})", share_words(i.errors));
    }
    return text + ": no server worked.";
  }
  const bool more_errors = i.errors > i.usual_errors + kMoreErrors;
  if (more_errors) {
    text += fmt::format(", {} of the {} lines are errors, otherwise {}", share_words(i.errors),
                        scenario::grouped(i.lines), share_words(i.usual_errors));
  }
  if (i.slow && i.median_s && i.usual_median_s) {
    text += fmt::format(",{} the median duration is {}, otherwise {}", more_errors ? " and" : "",
                        time_words(*i.median_s), time_words(*i.usual_median_s));
  } else if (i.slow) {
    text += more_errors ? ", and answers are slow" : ", answers are slow";
  }
  text += ".";
  if (i.capacity) {
    text += fmt::format(
        " It looks as if {} had been left ({} of the usual number): with so many, "
        "service times are as usual.",
        i.servers_left == 1 ? "1 server" : fmt::format("{} servers", i.servers_left),
        share_words(*i.capacity));
  } else if (i.speed && !i.explained) {
    text += fmt::format(
        " Neither fewer servers nor slower ones give such durations: the cause cannot be told. The "
        "scenario has servers at {} of their speed instead.",
        share_words(*i.speed));
  } else if (i.speed && !i.told_apart) {
    text += fmt::format(
        " Slower servers ({} of their speed) and fewer ones explain it equally well: which it "
        "was cannot be told. The scenario has slower ones.",
        share_words(*i.speed));
  } else if (i.speed) {
    text += fmt::format(" It looks as if each server had worked at {} of its speed.",
                        share_words(*i.speed));
  }
  if (more_errors && i.full_queue) {
    text += " The errors are those of a full queue.";
  }
  return text;
}

std::string fault_text(const Incident& i, std::int64_t origin_ns) {
  const std::int64_t begin_ns = std::max(i.when.begin_ns, origin_ns);
  std::string text = fmt::format("start = \"{}\"\nduration = \"{}\"\n",
                                 duration_text(in_seconds(begin_ns - origin_ns)),
                                 duration_text(in_seconds(i.when.end_ns - begin_ns)));
  if (i.silent) text += "unreachable = true\n";
  if (i.capacity) text += fmt::format("capacity = {:.6g}\n", *i.capacity);
  if (i.speed) text += fmt::format("speed = {:.4g}\n", *i.speed);
  if (!i.added_errors.empty() && i.errors_take_server) text += "errors.at = 1.0\n";
  for (const auto& [status, share] : i.added_errors) {
    text += fmt::format("errors.\"{}\" = {:.4g}\n", status, share);
  }
  return text;
}

}  // namespace retrysim::fit
