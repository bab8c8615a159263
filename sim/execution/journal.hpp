// The journal of an experiment: every finished unit is appended to a file, from which an
// interrupted experiment continues. An identity names the experiment, so that no other one
// continues from its journal, joins its shards or shares its work.
//
// The file begins with a line of text that says what it is. Records follow: length (32 bits) and
// CRC-32 of the rest, number of the unit (64 bits), bytes. The first record has a number that no
// unit has and holds the identity.
//
// Appended records reach the file with the next `flush`, after which the death of the process loses
// nothing; `sync` makes them survive a crash of the machine, too. A record that was cut off or
// fails its checksum is dropped together with all after it; their units are computed again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// Names ("scenario", "--vary") and texts. Two experiments that differ in any of them are
/// unrelated.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// The identity as bytes: names and texts with their lengths.
std::string encode(const Identity& identity);

/// A 64-bit hash of an identity, to compare experiments by.
std::uint64_t id_of(const Identity& identity);

/// A text that stands for the contents of input files: a line each with name, hash and size. A file
/// that cannot be read counts as empty.
std::string describe_files(const std::vector<std::filesystem::path>& files);

/// Makes sure that all processes have read the same scenario and CSV inputs. Throws what
/// `Executor::agree` throws.
void agree_on(const LoadedScenario& loaded, Executor& executor);

/// The journal cannot be used: not ours, of another experiment, or in use. The message says why.
class JournalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not for use by several threads at once. Failures of the system are std::system_error.
class Journal {
 public:
  /// Begins a new one; an earlier one is removed. Throws JournalError if it is in use.
  static Journal begin(const std::filesystem::path& path, const Identity& identity,
                       std::size_t units);
  /// Continues an existing one; begins a new one if there is none, or if only a part of its head
  /// was ever written. Throws JournalError if it is another experiment's or in use.
  static Journal resume(const std::filesystem::path& path, const Identity& identity,
                        std::size_t units);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  std::size_t units() const { return units_; }
  bool has(std::size_t unit) const { return unit < offsets_.size() && offsets_[unit] != 0; }
  /// Units that it has.
  std::size_t count() const { return count_; }
  /// Damaged bytes at the end of a resumed journal.
  std::uint64_t dropped_bytes() const { return dropped_; }

  /// Adds a unit; one that it already has is left as it is.
  void append(std::size_t unit, std::string_view bytes);
  void flush();
  void sync();
  /// The bytes of a unit that it has. Throws JournalError if they are not where they were.
  std::string read(std::size_t unit);
  /// Removes the file: the experiment is complete and its results are in place.
  void remove();

 private:
  Journal(std::filesystem::path path, std::size_t units);
  bool open_and_lock();
  void write_head(const Identity& identity);
  bool read_head(const Identity& identity);
  void read_records();
  void note_place(std::size_t unit);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;  // of the file, and what waits to be written
  std::string waiting_;
  std::size_t units_;
  std::vector<std::uint64_t> offsets_;  // of the record of each unit up to the last; 0: none
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace retrysim::execution
