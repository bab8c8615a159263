// The program as a module: its start, what POSIX has beyond WASI, stop points, mathematics, memory.
//
// SPDX-License-Identifier: MIT
#include "npm/posix.hpp"

#include "npm/host.hpp"

#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <new>

#define RETRYSIM_EXPORT(name) extern "C" [[clang::export_name(#name)]]

using retrysim::host::look_outside;

// --- The start -----------------------------------------------------------------------------------

/// The C library's start: reads the arguments and calls `main`.
extern "C" int __main_void();

/// Runs the command of the arguments; returns its exit status.
RETRYSIM_EXPORT(retrysim_program) int retrysim_program() {
  // The C library begins in the root.
  if (const char* const here = std::getenv("PWD")) (void)::chdir(here);
  return __main_void();
}

/// Asks that an object be destroyed when its thread ends. There is one thread, which never does,
/// and the C++ library of the build lacks this function.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

// --- POSIX ---------------------------------------------------------------------------------------

namespace {

void (*at_stop)(int) = SIG_DFL;

}  // namespace

void retrysim::host::interrupt() {
  constexpr int kInterrupted = 130;
  if (at_stop == SIG_DFL) std::_Exit(kInterrupted);
  at_stop(SIGINT);
}

extern "C" {

// There is one signal: the host says that the user has asked the program to stop.

int sigemptyset(sigset_t*) { return 0; }

int sigaction(int number, const struct sigaction* action, struct sigaction*) {
  if (number == SIGINT) at_stop = action->sa_handler;
  return 0;
}

int getrlimit(int, struct rlimit* limit) {
  limit->rlim_cur = limit->rlim_max = retrysim::host::most_memory();
  return 0;
}

// WASI tells nobody whose a file is: all are of the user 0, and so is the program.
uid_t geteuid() { return 0; }

pid_t getpid() { return retrysim::host::process_id(); }

long sysconf(int name) {
  constexpr long kPage = 65536;
  if (name == _SC_NPROCESSORS_ONLN) return retrysim::host::processors();
  if (name == _SC_PAGESIZE) return kPage;
  errno = EINVAL;
  return -1;
}

int ioctl(int descriptor, int request, ...) {
  const int size = request == TIOCGWINSZ ? retrysim::host::terminal_size(descriptor) : 0;
  if (size == 0) {
    errno = ENOTTY;
    return -1;
  }
  va_list arguments;
  va_start(arguments, request);
  auto* const window = va_arg(arguments, winsize*);
  va_end(arguments);
  window->ws_col = static_cast<unsigned short>(size >> 16);
  window->ws_row = static_cast<unsigned short>(size);
  return 0;
}

int flock(int descriptor, int operation) {
  errno = retrysim::host::lock(descriptor, operation);
  return errno == 0 ? 0 : -1;
}

// Two folders cannot change places, so files are replaced one by one.
int renameat2(int, const char*, int, const char*, unsigned) {
  errno = ENOSYS;
  return -1;
}

int sync_file_range(int, off_t, off_t, unsigned) { return 0; }

int statx(int, const char*, int, unsigned, struct statx*) {
  errno = ENOSYS;
  return -1;
}

}  // extern "C"

// --- Stop points ---------------------------------------------------------------------------------

// The linker has every stop point outside of the kernel's file go through this.
extern "C" void __real__ZN8retrysim10stop_pointEv();
extern "C" void __wrap__ZN8retrysim10stop_pointEv() {
  look_outside();
  __real__ZN8retrysim10stop_pointEv();
}

// --- Mathematics ---------------------------------------------------------------------------------

/// The root of x * x + y * y, for numbers that are far from the ends of their range: Borges' "An
/// Improved Algorithm for hypot(a,b)" (2019), algorithm 4 without fused multiply-add, which glibc
/// has. That of the build's C library differs in last digits, and so would intervals.
extern "C" double hypot(double x, double y) {
  x = std::fabs(x), y = std::fabs(y);
  const double a = std::max(x, y), b = std::min(x, y);
  constexpr double kNegligible = 0x1p-53, kLarge = 0x1p+500, kSmall = 0x1p-500;
  if (!std::isfinite(a) || !std::isfinite(b))
    return std::isinf(x) || std::isinf(y) ? INFINITY : NAN;
  if (b <= a * kNegligible) return a + b;
  if (a > kLarge || b < kSmall) {
    const double scale = a > kLarge ? 0x1p-600 : 0x1p+600;
    return hypot(a * scale, b * scale) / scale;
  }
  const double h = std::sqrt(a * a + b * b);
  double first = 0, second = 0;
  if (h <= 2 * b) {
    const double delta = h - b;
    first = a * (2 * delta - a);
    second = (delta - 2 * (a - b)) * delta;
  } else {
    const double delta = h - a;
    first = 2 * delta * (a - 2 * b);
    second = (4 * delta - b) * b + delta * delta;
  }
  return h - (first + second) / (2 * h);
}

// --- Memory --------------------------------------------------------------------------------------

// The C++ library of the build, compiled without exceptions, would end the program instead.

void* operator new(std::size_t size) {
  while (true) {
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
