// A folder for one test. The tests of a program are processes that run side by side: a file of a
// fixed name in the machine's folder for temporary files is another test's too.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace retrysim::test {

/// What `file` holds, byte for byte; empty if there is no such file.
inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A new folder, nobody else's, that goes away with the object and all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "retrysim-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), name);
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes `text` as the whole file `name` of the folder; the file's path.
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace retrysim::test
