// SPDX-License-Identifier: MIT
#include "model/run/state.hpp"

namespace retrysim::model {

Answers::Answers() : all_(3) {
  all_[kConnectionRefused].status = all_[kNoAnswer].status = 0;
  all_[kConnectionRefused].transport = TransportError::kConnection;
  all_[kNoAnswer].transport = TransportError::kTimeout;
}

std::uint16_t Answers::number(const ErrorAnswer& error, std::optional<Duration> retry_after) {
  Response r;
  r.status = error.status;
  r.code = error.code;
  r.traits = error.traits;
  r.retry_after = retry_after;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Response& a = all_[i];
    if (a.status == r.status && a.code == r.code && a.retry_after == r.retry_after &&
        a.traits == r.traits) {
      return static_cast<std::uint16_t>(i);
    }
  }
  all_.push_back(r);
  return static_cast<std::uint16_t>(all_.size() - 1);
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
