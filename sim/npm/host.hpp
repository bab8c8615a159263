// What the program asks of JavaScript, beside what WASI has: functions that system.mjs imports into
// the module.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace retrysim::host {

#define RETRYSIM_HOST(name) [[clang::import_module("retrysim"), clang::import_name(#name)]]

extern "C" {

/// Whether the user has asked the program to stop.
RETRYSIM_HOST(stop_asked) bool stop_asked();
RETRYSIM_HOST(process_id) int process_id();
RETRYSIM_HOST(processors) int processors();
/// The most bytes that this module should take.
RETRYSIM_HOST(most_memory) std::uint64_t most_memory();
/// Columns, times 2^16, and lines of the terminal behind a descriptor; 0 if it is none.
RETRYSIM_HOST(terminal_size) int terminal_size(int descriptor);
/// As flock; returns an error.
RETRYSIM_HOST(lock) int lock(int descriptor, int operation);

// Workers run the same module with a memory of their own, and messages go to and fro. For a worker
// the owner is number 0; for the owner the workers are 0, 1, ...

/// Makes sure that there are at least so many workers; returns how many of them may be used, -1
/// where there can be none.
RETRYSIM_HOST(workers) int workers(int wanted);
/// Ends all workers, whatever they do.
RETRYSIM_HOST(dismiss) void dismiss();
RETRYSIM_HOST(send_message) void send_message(int to, const char* bytes, std::size_t size);
/// Waits for a message, at most so long: returns who has sent it, and its size; -1 if none came.
/// Size 0 is the last message of a worker that has broken down.
RETRYSIM_HOST(await_message) int await_message(double milliseconds, std::size_t* size);
/// Takes the message that was waited for.
RETRYSIM_HOST(take_message) void take_message(char* bytes);

}  // extern "C"

#undef RETRYSIM_HOST

/// Asks the host whether to stop, and looks at time limits: without threads and signals, the
/// program does this itself, at stop points and while it waits.
void look_outside();

/// Does what SIGINT would do.
void interrupt();

}  // namespace retrysim::host
