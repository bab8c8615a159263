// The case of a group as figures of each replication: a sweep keeps those of every replication of
// its points, of which it does not keep the results.
//
// SPDX-License-Identifier: MIT
#include "explain/group_case.hpp"

#include <algorithm>
#include <concepts>
#include <stdexcept>
#include <type_traits>

namespace retrysim::explain {
namespace {

/// Calls `use` with every number in `of` that comes from the runs: what `CaseBuilder` adds up.
template <typename Use>
class FigureWalk {
 public:
  explicit FigureWalk(Use use) : use_(use) {}

  void operator()(FieldsOf<GroupCase> auto& c) {
    visit(c.runs, c.bin_s);
    for (auto& volume : c.volumes) visit(volume.requests, volume.attempts);
    add_counts(c.total);
    for (auto* stretch : {&c.all, &c.before, &c.during, &c.trouble, &c.after})
      add_stretch(*stretch);
    auto& r = c.recoveries;
    visit(r.back, r.brief, r.few, r.gone, r.unknown, r.metastable, r.mean_s, r.least_s, r.most_s,
          r.watched_s);
    auto& m = c.made;
    for (auto* part : {&m.before, &m.during, &m.between, &m.recovering, &m.after}) {
      visit(part->made, part->succeeded, part->ended, part->latency_s);
    }
    for (auto& d : c.disturbed_stretches) visit(d.seconds, d.first_work_s);
    auto& b = c.backlog;
    visit(b.start, b.middle, b.end, b.made, b.work_s, b.seconds, b.first_latency_s, b.first_ended,
          b.last_latency_s, b.last_ended);
    visit(c.capacity.largest_queue_s);
    for (auto* o : {&c.retries_above_capacity, &c.quota_dry}) visit(o->runs, o->seconds, o->ratio);
  }

 private:
  void visit(auto&... values) { (visit_one(values), ...); }
  template <typename T>
  void visit_one(T& value) {
    if constexpr (requires { value.begin(); }) {
      for (auto& each : value) visit_one(each);
    } else {
      use_(value);
    }
  }

  void add_counts(FieldsOf<ClientResult> auto& t) {
    visit(t.requests, t.successes_within, t.ended_within, t.attempts, t.rejected, t.late,
          t.mutating, t.duplicated, t.latency_m.count, t.latency_m.sum_ns, t.send_wait_ns,
          t.connection_wait_ns, t.attempt_total_ns, t.token_races, t.outcomes, t.results);
    // Of attempts by their number only the first, which may not exist.
    AttemptNumberCounts none;
    auto& first = first_of(t, none);
    visit(first.sent, first.results);
  }
  static AttemptNumberCounts& first_of(ClientResult& t, AttemptNumberCounts&) {
    t.by_attempt.resize(1);
    return t.by_attempt.front();
  }
  static const AttemptNumberCounts& first_of(const ClientResult& t,
                                             const AttemptNumberCounts& none) {
    return t.by_attempt.empty() ? none : t.by_attempt.front();
  }

  void add_stretch(FieldsOf<Stretch> auto& s) {
    const auto each = [this](auto&... values) { this->visit(values...); };
    fields(each, s.group);
    fields(each, s.service);
    visit(s.seconds, s.first_work_s, s.retry_work_s);
  }

  Use use_;
};

void merge(Stretch& to, const Stretch& s) {
  to.group.merge(s.group);
  to.service.merge(s.service);
  to.seconds += s.seconds;
  to.first_work_s += s.first_work_s;
  to.retry_work_s += s.retry_work_s;
}

void merge(ClientResult& to, const ClientResult& r) {
  to.requests += r.requests;
  to.successes_within += r.successes_within;
  to.ended_within += r.ended_within;
  to.attempts += r.attempts;
  to.rejected += r.rejected;
  to.late += r.late;
  to.mutating += r.mutating;
  to.duplicated += r.duplicated;
  to.latency_m.count += r.latency_m.count;
  to.latency_m.sum_ns += r.latency_m.sum_ns;
  to.send_wait_ns += r.send_wait_ns;
  to.connection_wait_ns += r.connection_wait_ns;
  to.attempt_total_ns += r.attempt_total_ns;
  to.token_races += r.token_races;
  for (std::size_t i = 0; i < r.outcomes.size(); ++i) to.outcomes[i] += r.outcomes[i];
  to.by_attempt.resize(1);
  to.by_attempt[0].sent += r.by_attempt[0].sent;
  for (std::size_t i = 0; i < r.results.size(); ++i) {
    to.results[i] += r.results[i];
    to.by_attempt[0].results[i] += r.by_attempt[0].results[i];
  }
}

void merge(Recoveries& to, const Recoveries& r) {
  if (r.back > 0) {
    to.least_s = to.back == 0 ? r.least_s : std::min(to.least_s, r.least_s);
    to.most_s = std::max(to.most_s, r.most_s);
    const auto all = static_cast<double>(to.back + r.back);
    to.mean_s += (r.mean_s - to.mean_s) * static_cast<double>(r.back) / all;
  }
  to.late_s.insert(to.late_s.end(), r.late_s.begin(), r.late_s.end());
  to.back += r.back;
  to.brief += r.brief;
  to.few += r.few;
  to.gone += r.gone;
  to.unknown += r.unknown;
  to.metastable += r.metastable;
  to.watched_s = r.watched_s;
}

void merge(Occurrence& to, const Occurrence& o) {
  if (o.runs == 0) return;
  const double part = static_cast<double>(o.runs) / static_cast<double>(to.runs + o.runs);
  to.runs += o.runs;
  to.seconds += (o.seconds - to.seconds) * part;
  to.ratio += (o.ratio - to.ratio) * part;
  to.times.insert(to.times.end(), o.times.begin(), o.times.end());
}

void merge(Backlog& to, const Backlog& b) {
  to.start += b.start;
  to.middle += b.middle;
  to.end += b.end;
  to.made += b.made;
  to.work_s += b.work_s;
  to.seconds += b.seconds;
  to.first_latency_s += b.first_latency_s;
  to.first_ended += b.first_ended;
  to.last_latency_s += b.last_latency_s;
  to.last_ended += b.last_ended;
}

void merge(GroupCase& to, const GroupCase& c) {
  to.runs += c.runs;
  to.bin_s = c.bin_s;
  for (std::size_t g = 0; g < c.volumes.size(); ++g) {
    to.volumes[g].requests += c.volumes[g].requests;
    to.volumes[g].attempts += c.volumes[g].attempts;
  }
  merge(to.total, c.total);
  merge(to.all, c.all);
  merge(to.before, c.before);
  merge(to.during, c.during);
  merge(to.trouble, c.trouble);
  merge(to.after, c.after);
  merge(to.recoveries, c.recoveries);
  to.made.before.merge(c.made.before);
  to.made.during.merge(c.made.during);
  to.made.between.merge(c.made.between);
  to.made.recovering.merge(c.made.recovering);
  to.made.after.merge(c.made.after);
  for (std::size_t i = 0; i < c.disturbed_stretches.size(); ++i) {
    to.disturbed_stretches[i].seconds += c.disturbed_stretches[i].seconds;
    to.disturbed_stretches[i].first_work_s += c.disturbed_stretches[i].first_work_s;
  }
  merge(to.backlog, c.backlog);
  to.capacity.largest_queue_s = std::max(to.capacity.largest_queue_s, c.capacity.largest_queue_s);
  merge(to.retries_above_capacity, c.retries_above_capacity);
  merge(to.quota_dry, c.quota_dry);
}

std::vector<double> figures_of(const GroupCase& c) {
  std::vector<double> figures;
  const auto add = [&](const auto& value) { figures.push_back(static_cast<double>(value)); };
  FigureWalk walk(add);
  walk(c);
  return figures;
}

}  // namespace

std::vector<double> figures_of(CaseFacts& facts, const RunResult& run, std::size_t group) {
  return figures_of(group_case(facts, std::span(&run, 1), group));
}

std::size_t figure_count(CaseFacts& facts) {
  if (facts.scenario.clients.empty()) return 0;
  return figures_of(group_case(facts, std::span<const RunResult>(), 0)).size();
}

GroupCase group_case(CaseFacts& facts, std::span<const std::span<const double>> figures_by_run,
                     std::size_t group) {
  const GroupCase frame = group_case(facts, std::span<const RunResult>(), group);
  GroupCase all = frame;
  for (const std::span<const double> figures : figures_by_run) {
    GroupCase one = frame;
    std::size_t next = 0;
    const auto take = [&]<typename T>(T& value) {
      if (next < figures.size()) value = static_cast<T>(figures[next]);
      ++next;
    };
    FigureWalk walk(take);
    walk(one);
    if (next != figures.size()) {
      throw std::invalid_argument("these are not the figures of a replication of the scenario");
    }
    if (one.recoveries.back > 0) one.recoveries.add_late(one.recoveries.mean_s, facts.scenario);
    for (Occurrence* o : {&one.retries_above_capacity, &one.quota_dry}) {
      if (o->runs > 0) o->times.push_back(o->seconds);
    }
    merge(all, one);
  }
  std::sort(all.recoveries.late_s.begin(), all.recoveries.late_s.end());
  std::sort(all.quota_dry.times.begin(), all.quota_dry.times.end());
  return all;
}

}  // namespace retrysim::explain
