// SPDX-License-Identifier: MIT
#include "model/answers.hpp"

namespace retrysim::model {

Answers::Answers() : all_(3) {
  all_[kConnectionRefused].status = all_[kNoAnswer].status = 0;
  all_[kConnectionRefused].transport = TransportError::kConnection;
  all_[kNoAnswer].transport = TransportError::kTimeout;
}

std::uint16_t Answers::number(const ErrorAnswer& error, Duration retry_after) {
  Response r;
  r.status = error.status;
  r.code = error.code;
  r.traits = error.traits;
  if (retry_after > Duration::zero()) r.retry_after = retry_after;
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

void Answers::add_service(const ServiceSpec& service) {
  const ErrorAnswer unavailable{503, "ServiceUnavailable"}, invalid{400, "ValidationException"},
      throttling{400, "ThrottlingException"}, timeout{504, "GatewayTimeout"};
  OfService a;
  a.call_failed = number(unavailable);
  a.throttled = number(throttling, service.throttle.retry_after);
  a.overflow_is_throttling = service.overflow == Overflow::kThrottled;
  a.overflow = service.overflow == Overflow::kThrottled ? a.throttled
               : service.overflow == Overflow::kInvalid ? number(invalid)
                                                        : number(unavailable);
  if (service.timeout != Duration::max()) a.timeout = number(timeout);
  services_.push_back(a);
}

}  // namespace retrysim::model
