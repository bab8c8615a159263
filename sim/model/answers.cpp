// SPDX-License-Identifier: MIT
#include "model/answers.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace retrysim::model {

Answers::Answers() : all_(3) {
  all_[kConnectionRefused].status = all_[kNoAnswer].status = 0;
  all_[kConnectionRefused].transport = TransportError::kConnection;
  all_[kNoAnswer].transport = TransportError::kTimeout;
}

std::uint16_t Answers::number(const ErrorAnswer& error, std::optional<Duration> retry_after) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  const auto [known, is_new] = numbers_.try_emplace(scenario::identity_of(error, retry_after),
                                                    static_cast<std::uint16_t>(all_.size()));
  if (!is_new) return known->second;
  if (all_.size() > kMost) throw std::invalid_argument("more than 65536 different answers");
  Response r;
  r.status = error.status;
  r.code = error.code;
  r.traits = error.traits;
  r.retry_after = retry_after;
  all_.push_back(std::move(r));
  return known->second;
}

const Answers::OfService& Answers::add_service(const ServiceSpec& service) {
  const ServiceAnswers answers = answers_of(service);
  const auto number_of = [this](const ServiceAnswer& a) { return number(a.error, a.retry_after); };
  OfService a;
  a.call_failed = number_of(answers.call_failed);
  a.throttled = number_of(answers.throttled);
  a.refusals = {number_of(answers.overflow), number_of(answers.limit), number_of(answers.shed)};
  if (service.timeout != Duration::max()) a.timeout = number_of(answers.timeout);
  if (service.model == ServiceModelKind::kOcc) a.conflict = number_of(answers.conflict);
  services_.push_back(a);
  return services_.back();
}

}  // namespace retrysim::model
