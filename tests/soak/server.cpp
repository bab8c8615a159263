// The program retrysim for scripts/soak, which starts it a hundred thousand times: under the
// address sanitizer a start, and the first use of memory, take longer than most random scenarios.
// Without arguments it reads commands from standard input, one JSON object on a line, and runs one
// after the other:
//
//   {"arguments": ["run", "x.toml"], "environment": {"NAME": "value"}, "stdout": "file",
//    "stderr": "file"}
//
// It answers each with a line, its exit status. A report of a sanitizer ends the server, and so
// does a leak, for which it looks after each command; with "leaks": true there is one, for the test
// of that. With arguments it is retrysim.
//
// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The function main of retrysim (sim/cli/main.cpp).
int retrysim_main(int argc, char** argv);

/// Of the leak sanitizer, if there is one.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace {

/// A standard stream that is a file until the end.
class Redirected {
 public:
  Redirected(int stream, const std::string& path, int how) : stream_(stream), own_(dup(stream)) {
    const int file = open(path.c_str(), how | O_CLOEXEC, 0644);
    if (own_ < 0 || file < 0 || dup2(file, stream) < 0) {
      std::perror(path.c_str());
      std::abort();
    }
    close(file);
  }
  ~Redirected() {
    dup2(own_, stream_);
    close(own_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int stream_;
  int own_;
};

/// Variables of the environment that have other values until the end.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const auto& [name, value] : values) {
      const char* before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// Several blocks, because the stack may still have the address of the last one.
[[gnu::noinline]] void leak() {
  constexpr int kBlocks = 8, kBytes = 100;
  for (int i = 0; i < kBlocks; ++i) {
    void* volatile block = std::malloc(kBytes);
    (void)block;
  }
}

int run(const nlohmann::json& request) {
  const Redirected in(STDIN_FILENO, "/dev/null", O_RDONLY);
  const Redirected out(STDOUT_FILENO, request.at("stdout"), O_WRONLY | O_CREAT | O_TRUNC);
  const Redirected err(STDERR_FILENO, request.at("stderr"), O_WRONLY | O_CREAT | O_TRUNC);
  const Environment environment(request.at("environment"));
  std::vector<std::string> words = request.at("arguments");
  words.insert(words.begin(), "retrysim");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int status = retrysim_main(static_cast<int>(words.size()), pointers.data());
  if (request.value("leaks", false)) leak();
  std::cout.flush();
  std::fflush(nullptr);
  if (__lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0) {
    std::abort();  // with its report on the standard error of this command
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return retrysim_main(argc, argv);
  std::string line;
  while (std::getline(std::cin, line)) {
    const int status = run(nlohmann::json::parse(line));
    std::cout << status << std::endl;
  }
  return EXIT_SUCCESS;
}
