// A record of the journal: number of the policy (64 bits), number of the replication (32 bits), and
// the bytes of its `UnitResult`, in the order in which they were finished: which replications there
// will be is not known before.
//
// SPDX-License-Identifier: MIT
#include <retrysim/choose.hpp>

#include "execution/byte_order.hpp"
#include "execution/identity.hpp"
#include "execution/journal.hpp"

#include <fmt/format.h>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace retrysim {
namespace {

// How often what is finished is made to survive a crash of the machine, too.
constexpr auto kSyncRaceEvery = std::chrono::seconds(5);

std::string aim_text(const ChoiceAim& aim) {
  return fmt::format("{} {} of {}", aim.maximize ? "maximize" : "minimize", aim.metric->name,
                     aim.client);
}

execution::Identity identity_of(const std::vector<NamedScenario>& policies,
                                const ChooseOptions& options) {
  std::string names, limits, hash;
  std::set<std::filesystem::path> inputs;
  for (const NamedScenario& p : policies) {
    names += p.name + "\n";
    hash = fmt::format("{:016x}", execution::id_of({{hash, to_toml(p.loaded, false)}}));
    inputs.insert(p.loaded.input_files.begin(), p.loaded.input_files.end());
  }
  for (const ChoiceLimit& limit : options.limits) {
    limits += limit.text() + (limit.tolerance ? fmt::format("+-{}", *limit.tolerance) : "") + "\n";
  }
  return {
      {"the version of retrysim", RETRYSIM_VERSION},
      {"--vary", names},
      {"the resolved scenarios", hash},
      {"--maximize, --minimize or --client", aim_text(options.aim)},
      {"--subject-to", limits},
      {"--indifference", options.indifference ? fmt::format("{}", *options.indifference) : ""},
      {"--procedure", std::string(options.procedure ? name(*options.procedure) : "")},
      {"--confidence", fmt::format("{}", options.confidence)},
      {"--batch", fmt::format("{}", options.batch)},
      {"the CSV inputs", execution::describe_files({inputs.begin(), inputs.end()})},
  };
}

}  // namespace

std::uint64_t id_of_choice(const std::vector<NamedScenario>& policies,
                           const ChooseOptions& options) {
  execution::Identity identity = identity_of(policies, options);
  identity.emplace_back("--max-replications", fmt::format("{}", options.max_replications));
  return execution::id_of(identity);
}

struct ChoiceJournal::File {
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // policy, replication

  static execution::Journal open(const std::filesystem::path& path,
                                 const execution::Identity& identity, bool resume) {
    constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
    return resume ? execution::Journal::resume(path, identity, kAnyNumber)
                  : execution::Journal::begin(path, identity, kAnyNumber);
  }

  execution::Journal journal;
  std::map<Key, std::size_t> places;  // in the journal
  std::size_t found = 0;
  std::chrono::steady_clock::time_point last_sync = std::chrono::steady_clock::now();
};

ChoiceJournal::ChoiceJournal(const std::filesystem::path& file,
                             const std::vector<NamedScenario>& policies,
                             const ChooseOptions& options, bool resume)
    : file_(new File{File::open(file, identity_of(policies, options), resume), {}}) {
  for (std::size_t unit = 0; file_->journal.has(unit); ++unit) {
    const std::string bytes = file_->journal.read(unit);
    std::string_view rest = bytes;
    const auto policy = execution::take<std::uint64_t>(rest);
    const auto replication = execution::take<std::uint32_t>(rest);
    if (!replication || *policy >= policies.size()) {
      throw execution::JournalError(file.string() + " does not contain the results of a race");
    }
    file_->places[{*policy, *replication}] = unit;
  }
  file_->found = file_->places.size();
}

ChoiceJournal::~ChoiceJournal() = default;

std::size_t ChoiceJournal::kept() const { return file_->places.size(); }
std::size_t ChoiceJournal::found() const { return file_->found; }
std::uint64_t ChoiceJournal::dropped_bytes() const { return file_->journal.dropped_bytes(); }
void ChoiceJournal::remove() { file_->journal.remove(); }

std::optional<std::string> ChoiceJournal::find(std::size_t policy, std::uint32_t replication) {
  const auto place = file_->places.find({policy, replication});
  if (place == file_->places.end()) return std::nullopt;
  constexpr std::size_t kHead = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  return file_->journal.read(place->second).substr(kHead);
}

void ChoiceJournal::add(std::size_t policy, std::uint32_t replication, const std::string& bytes) {
  std::string record;
  execution::put(record, static_cast<std::uint64_t>(policy));
  execution::put(record, replication);
  const std::size_t place = file_->journal.count();
  file_->journal.append(place, record + bytes);
  // What is finished survives whatever happens to this process.
  file_->journal.flush();
  file_->places[{policy, replication}] = place;
}

void ChoiceJournal::sync() { file_->journal.sync(); }

void ChoiceJournal::tick() {
  const auto now = std::chrono::steady_clock::now();
  if (now - file_->last_sync < kSyncRaceEvery) return;
  sync();
  file_->last_sync = now;
}

}  // namespace retrysim
