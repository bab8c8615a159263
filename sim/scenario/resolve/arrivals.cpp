// Turns arrival keys and CSV files into rate functions and request times.
//
// SPDX-License-Identifier: MIT
#include "scenario/resolve/clients.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

namespace retrysim::scenario {
namespace {

Time time_at(double seconds) { return Time::zero() + Duration::from_seconds(seconds); }

class Arrivals {
 public:
  Arrivals(const ArrivalInputs& inputs, const std::string& path, Place place, ClientSpec& client,
           CsvFiles& files, std::vector<std::string>& notes)
      : inputs_(inputs),
        path_(path),
        place_(place),
        client_(client),
        spec_(client.arrivals),
        files_(files),
        problems_(files.problems()),
        notes_(notes) {}

  std::vector<Withdrawn> resolve() {
    check_bursts();
    switch (spec_.process) {
      case ArrivalProcess::kPoisson:
      case ArrivalProcess::kConstant:
      case ArrivalProcess::kOnOff:
      case ArrivalProcess::kPoll:
        resolve_rate();
        resolve_profile();
        break;
      case ArrivalProcess::kTrace:
        resolve_trace();
        break;
      case ArrivalProcess::kOnce:
      case ArrivalProcess::kClosed:
      case ArrivalProcess::kCalls:
        refuse_surges("this arrival process has no rate");
        break;
    }
    return std::move(withdrawn_);
  }

 private:
  // Bursts of no length have no rate.
  void check_bursts() {
    if (spec_.process != ArrivalProcess::kOnOff || !inputs_.has_on) return;
    if (spec_.on.mean_seconds() > 0) return;
    problems_.add(place_, path_ + ".arrivals.on has a mean of 0; expected bursts of some length");
  }

  void resolve_rate() {
    const auto& [rate, total] = std::pair(inputs_.rate, inputs_.total_rate);
    if (rate && total) {
      problems_.add(std::max(rate->place, total->place),
                    path_ + ".arrivals has both rate and total_rate; keep one of them");
    } else if (rate) {
      spec_.rate = rate->number;
    } else if (total) {
      spec_.rate = total->number / client_.count;
    } else if (inputs_.profile) {
      // The factor of the profile is then the rate of the whole group.
      spec_.rate = 1.0 / client_.count;
    } else if (!inputs_.rate_is_wrong) {
      problems_.add(place_, path_ +
                                ".arrivals.rate is missing; expected rate (of each client), "
                                "total_rate (of the group) or a profile");
    }
  }

  void resolve_profile() {
    if (!inputs_.profile) {
      withdraw("arrivals.interpolate", "there is no profile");
      return;
    }
    const CsvFile* file = files_.open(inputs_.profile->text, inputs_.profile->place);
    if (file == nullptr) return;
    if (!is_rate_profile(*file)) {
      fail_header(*file, "a profile needs the columns time_s,rate");
      return;
    }
    if (const auto rows = read_rate_profile(*file, files_)) take_rates(*rows, 1, 1, *file);
  }

  void resolve_trace() {
    if (!inputs_.file) return;  // a missing or wrong file has been reported
    const CsvFile* file = files_.open(inputs_.file->text, inputs_.file->place);
    if (file == nullptr) return;
    if (is_monitoring_export(*file)) {
      withdraw("arrivals.interpolate", "a monitoring export has counts, not a curve");
      if (const auto rows = read_monitoring_export(*file, files_)) take_counts(*rows, *file);
    } else if (is_rate_profile(*file)) {
      withdraw("arrivals.bucket", "a file of rates has no buckets");
      if (const auto rows = read_rate_profile(*file, files_)) {
        take_rates(*rows, inputs_.speed_up.number, inputs_.scale.number, *file);
      }
    } else if (is_request_times(*file)) {
      take_request_times(*file);
    } else {
      fail_header(*file,
                  "a trace needs the columns timestamp,value or time_s,rate or time_s alone");
    }
  }

  void take_counts(const MonitoringExport& rows, const CsvFile& file) {
    std::int64_t bucket_ns = 0;
    if (inputs_.bucket) {
      bucket_ns = inputs_.bucket->duration.count();
    } else if (rows.counts.size() > 1) {
      bucket_ns = most_common_spacing(rows.offsets_ns);
    } else {
      problems_.add(inputs_.file->place, in_quotes(file.name) +
                                             " has a single row, so the width of a "
                                             "bucket is unknown; give arrivals.bucket");
      return;
    }
    const double bucket_s = static_cast<double>(bucket_ns) / 1e9;
    const double speed_up = inputs_.speed_up.number;
    RateProfile profile;
    for (std::size_t i = 0; i < rows.counts.size(); ++i) {
      const double offset_s = static_cast<double>(rows.offsets_ns[i]) / 1e9;
      profile.times.push_back(time_at(offset_s / speed_up));
      profile.rates.push_back(rows.counts[i] / bucket_s * inputs_.scale.number);
    }
    // The last count covers a whole bucket; after it, nothing is known.
    const double end_s = static_cast<double>(rows.offsets_ns.back()) / 1e9 + bucket_s;
    profile.times.push_back(time_at(end_s / speed_up));
    profile.rates.push_back(0);
    note_gaps(rows, bucket_ns, file);
    take_profile(std::move(profile), file);
  }

  void note_gaps(const MonitoringExport& rows, std::int64_t bucket_ns, const CsvFile& file) {
    std::size_t gaps = 0;
    int first_line = 0;
    for (std::size_t i = 1; i < rows.offsets_ns.size(); ++i) {
      if (rows.offsets_ns[i] - rows.offsets_ns[i - 1] <= bucket_ns) continue;
      if (gaps++ == 0) first_line = rows.lines[i - 1];
    }
    if (gaps == 0) return;
    std::string note = std::filesystem::path(file.name).filename().string() + ": " +
                       std::to_string(gaps) + (gaps == 1 ? " gap" : " gaps") +
                       " wider than the bucket of " + to_text(Duration::nanoseconds(bucket_ns)) +
                       ", the first after line " + std::to_string(first_line) +
                       "; the last value before a gap holds in it";
    // Several groups may follow the same trace.
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) {
      notes_.push_back(std::move(note));
    }
  }

  void take_rates(const TimedRates& rows, double speed_up, double scale, const CsvFile& file) {
    RateProfile profile;
    profile.linear = !inputs_.step;
    for (const double t : rows.times_s) profile.times.push_back(time_at(t / speed_up));
    for (const double r : rows.rates) profile.rates.push_back(r * scale);
    take_profile(std::move(profile), file);
  }

  void take_profile(RateProfile profile, const CsvFile& file) {
    const auto same = std::adjacent_find(profile.times.begin(), profile.times.end(),
                                         [](Time a, Time b) { return a >= b; });
    if (same != profile.times.end()) {
      problems_.add(place_, in_quotes(file.name) + " as used by " + path_ +
                                " has rows in the same nanosecond; expected a smaller speed_up");
      return;
    }
    spec_.profile = std::move(profile);
  }

  void take_request_times(const CsvFile& file) {
    const std::string reason = "a file of request times has no rates";
    for (const std::string_view key :
         {"arrivals.interpolate", "arrivals.bucket", "arrivals.scale", "arrivals.spacing"}) {
      withdraw(key, reason);
    }
    refuse_surges(reason);
    const auto times = read_request_times(file, files_);
    if (!times) return;
    for (const double t : *times) spec_.rows.push_back(time_at(t / inputs_.speed_up.number));
  }

  void withdraw(std::string_view key, std::string reason) {
    withdrawn_.push_back({key, std::move(reason)});
  }

  void refuse_surges(const std::string& reason) {
    if (spec_.surges.empty()) return;
    problems_.add(place_,
                  path_ + ".surge." + spec_.surges.front().name + " cannot apply: " + reason +
                      "; surges need the process poisson, constant, on-off, poll or a trace "
                      "with rates");
  }

  void fail_header(const CsvFile& file, const std::string& what) {
    problems_.add({file.source, 1, 1}, what + "; see the header line");
  }

  const ArrivalInputs& inputs_;
  const std::string& path_;
  Place place_;
  ClientSpec& client_;
  ArrivalSpec& spec_;
  CsvFiles& files_;
  Problems& problems_;
  std::vector<std::string>& notes_;
  std::vector<Withdrawn> withdrawn_;
};

}  // namespace

std::vector<Withdrawn> resolve_arrivals(const ArrivalInputs& inputs, const std::string& path,
                                        Place place, ClientSpec& client, CsvFiles& files,
                                        std::vector<std::string>& notes) {
  return Arrivals(inputs, path, place, client, files, notes).resolve();
}

}  // namespace retrysim::scenario
