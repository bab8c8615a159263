// Results that are there already. A unit (a scenario, a replication, what is kept of it) always has
// the same result, so a search that was interrupted, a longer comparison and a second question
// about the same runs take from a store what they need and simulate only the rest.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim {

/// A hash of all that decides a unit's result: the scenario with the contents of its CSV files, the
/// replication, what is kept of it, and the sources of the simulator.
struct UnitKey {
  std::uint64_t high = 0, low = 0;

  friend auto operator<=>(const UnitKey&, const UnitKey&) = default;
};

/// Used by one thread at a time, the one that calls a search.
class Store {
 public:
  virtual ~Store() = default;

  /// The bytes of a unit, exactly as they were added; nothing if they are not there or damaged.
  virtual std::optional<std::string> find(const UnitKey& key) = 0;
  /// Whether they are now there to be found. A store that is full or cannot be written keeps
  /// nothing more; that is no error.
  virtual bool add(const UnitKey& key, std::string_view bytes) = 0;
  /// Whether all that was found or added outlasts the store: not if that is to be removed, because
  /// the store is larger than it may be.
  virtual bool keeps_all() const { return true; }
  /// Called about ten times a second while units are simulated.
  virtual void tick() {}

  /// Units that searches have asked for; how many were there already; and how many were simulated
  /// and are now there.
  std::size_t units_asked = 0, units_found = 0, units_kept = 0;
};

/// A store in the memory of this process, of at most `most_bytes`.
std::unique_ptr<Store> make_store(std::uint64_t most_bytes = std::uint64_t{1} << 30);

/// A store in `folder`, which need not exist: it is made for the first unit. Several processes may
/// use one at once, on one machine or many: each writes a file of its own, and finds what was there
/// when it opened the store. A death of the process loses nothing that was added; a crash of the
/// machine at most the last seconds. When the store goes away, its oldest files are removed until
/// it has at most `most_bytes`. A folder that cannot be used is no error: its reason, such as "Not
/// a directory", is told to `note`, once, and then nothing is found or kept. `note` may be empty,
/// and what it throws passes through. Otherwise nothing is thrown.
std::unique_ptr<Store> open_store(const std::filesystem::path& folder,
                                  std::uint64_t most_bytes = std::uint64_t{1} << 30,
                                  std::function<void(const std::string&)> note = {});

}  // namespace retrysim
