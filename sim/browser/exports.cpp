// What the WebAssembly module offers: `answer` of engine.hpp over memory that both sides see. The
// page writes a request to `retrysim_request(bytes)`, calls `retrysim_answer`, and reads as many
// bytes as that says at `retrysim_answer_text`.
//
// SPDX-License-Identifier: MIT
#if defined(__wasm__)

#include "browser/engine.hpp"

#include <cstddef>
#include <string>

#define RETRYSIM_EXPORT(name) extern "C" [[clang::export_name(#name)]]

namespace {

std::string request_text, answer_text;

}  // namespace

/// Asks that an object be destroyed when its thread ends. There is one thread, which never does,
/// and the C++ library of the build lacks this function.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

RETRYSIM_EXPORT(retrysim_request) char* retrysim_request(std::size_t bytes) {
  request_text.assign(bytes, ' ');
  return request_text.data();
}

RETRYSIM_EXPORT(retrysim_answer) std::size_t retrysim_answer() {
  answer_text = retrysim::browser::answer(request_text);
  return answer_text.size();
}

RETRYSIM_EXPORT(retrysim_answer_text) const char* retrysim_answer_text() {
  return answer_text.data();
}

#endif
