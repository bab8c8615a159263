// The section `resilience4j` of a Spring file, for all that read such files.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "import/policy.hpp"

#include <memory>
#include <string>
#include <vector>

namespace retrysim::imports {

/// The section in one document, where it may be absent.
class Resilience4j {
 public:
  explicit Resilience4j(const Field& document);
  ~Resilience4j();

  /// Adds the breaker `name` to a policy, with defaults if the section does not have it, as the
  /// filter CircuitBreaker of Spring Cloud's Gateway does. `is_outside`: its calls are whole
  /// requests. `is_limited`: they have the time limit of that name, 1 s by default, unless the
  /// policy has a shorter one.
  void read_filter(ImportedPolicy& p, const std::string& name, bool is_outside, bool is_limited);

  /// Adds a policy for each name, but not for breakers of filters, with `profile` behind its name
  /// if that is not empty, and says what is left out. At the end, once.
  void add_policies(const std::string& profile, std::vector<ImportedPolicy>& policies);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace retrysim::imports
