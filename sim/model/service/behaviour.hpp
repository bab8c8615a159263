// What an attempt costs a server, and how it ends when the server has worked on it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "model/effects/effects.hpp"
#include "model/run/names.hpp"
#include "model/run/request.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace retrysim::model {

/// What a service model replies to an attempt, and what it may know for that.
struct Reply {
  std::uint16_t answer = 0;  ///< number of the answer; 0: success
  /// The client answers at once with a further message of the same attempt.
  bool goes_on = false;
};

struct ReplyContext {
  const RandomKey& key;  ///< of the client group
  /// Random errors at present: cumulative probability, answer.
  const std::vector<std::pair<double, std::uint16_t>>& errors;
};

/// The model "independent": no queue and no limits. Every attempt is worked on at once and then
/// fails or not, each with the same probability, whatever happens to the others.
class IndependentModel {
 public:
  Reply reply(const Attempt& a, const ReplyContext& context) const {
    if (context.errors.empty()) return {};
    Draws draws(context.key, {a.entity, a.number, 0, Purpose::kServiceError});
    if (a.is(Attempt::kSecondCall)) draws.next();  // decided what the read before came to
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : context.errors) {
      if (u < cumulative) return {answer};
    }
    return {};
  }
};

/// The model "occ": one row under optimistic concurrency control, as in the study "Exponential
/// backoff and jitter" (Brooker, AWS Architecture Blog, 2015). An attempt is two calls: it reads
/// the row with its version, and writes it back on condition that the version is still the same. Of
/// all that have read the same version the first write wins; the others conflict, and their clients
/// begin again with a read.
class OccModel {
 public:
  explicit OccModel(std::uint16_t conflict) : conflict_(conflict) {}

  Reply reply(Attempt& attempt, const ReplyContext&) {
    if (!attempt.is(Attempt::kSecondCall)) {
      attempt.version = version_;
      return {0, true};
    }
    if (attempt.version != version_) return {conflict_};
    ++version_;  // what matters is equality among the attempts under way: it may wrap around
    return {};
  }

 private:
  std::uint16_t conflict_;
  std::uint32_t version_ = 0;
};

/// How an attempt ends that a server has worked on: the models of a service, behind one
/// interface. A model is a class of its own, with
///
///   Reply reply(Attempt& attempt, const ReplyContext& context);
///
/// asked once for each time that a server finishes work on an attempt; it may keep state. To add
/// one: its class, a line in `ServiceModel` and `make_service_model`, its name in the table of
/// keys. The model "queue", in which what has been served has succeeded, is asked nothing.
using ServiceModel = std::variant<std::monostate, IndependentModel, OccModel>;

/// `conflict`: the number of the answer to a write that came too late.
inline ServiceModel make_service_model(const ServiceSpec& spec, std::uint16_t conflict) {
  switch (spec.model) {
    case ServiceModelKind::kIndependent:
      return IndependentModel();
    case ServiceModelKind::kOcc:
      return OccModel(conflict);
    case ServiceModelKind::kQueue:
      break;
  }
  return std::monostate();
}

inline Reply reply_of(ServiceModel& model, Attempt& attempt, const ReplyContext& context) {
  return std::visit(
      [&](auto& chosen) {
        if constexpr (std::is_same_v<std::decay_t<decltype(chosen)>, std::monostate>) {
          return Reply();
        } else {
          return chosen.reply(attempt, context);
        }
      },
      model);
}

/// The factor on a service time that begins while `others` attempts are in service; at most
/// 1e12, unless the curve is linear.
double slowdown_factor(const ServiceSpec& spec, std::int64_t others);

/// Requests of different cost: which operation of its client group a request is, and by how much
/// its work differs. A request is the same operation in every attempt, so this is a function of its
/// name and nothing needs to be remembered.
class OperationMix {
 public:
  /// Every request is like the others.
  OperationMix() = default;
  /// Of the client groups that call service `service`.
  OperationMix(std::size_t service, const std::vector<ClientSpec>& clients);

  /// Whether all requests are alike.
  bool empty() const { return groups_.empty(); }
  /// Factor on the service time of a request of client group `group`, whose key is `key`.
  double work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const;

 private:
  struct OfGroup {
    OperationChoice choice;
    std::vector<double> work;  // by operation
  };
  std::vector<OfGroup> groups_;
};

/// What an attempt takes of a server: drawn for it, more for some operations, and more the more
/// attempts are in service.
class ServiceDemand {
 public:
  ServiceDemand(const ServiceSpec& spec, const Streams* streams)
      : spec_(&spec), streams_(streams), varies_(spec.slowdown.enabled()) {}

  /// The operations of the groups that call service `index`, whose requests differ in work.
  void set_operations(std::size_t index, const std::vector<ClientSpec>& clients) {
    operations_ = OperationMix(index, clients);
    varies_ = spec_->slowdown.enabled() || !operations_.empty();
  }

  /// What a read before a retry takes of a server of speed 1, in nanoseconds.
  static double of_read(const Attempt& a);

  /// Draws for an attempt that has to queue what depends on nothing but the attempt: when its turn
  /// comes, everything waits for its service time.
  [[gnu::always_inline]] void draw(Attempt& a) const {
    a.demand_ns = drawn(a, Purpose::kServiceTime);
  }

  /// What the attempt takes of a server of speed 1 if it begins while `others` are in service; in
  /// nanoseconds.
  double of(const Attempt& a, std::int64_t others) const {
    if (a.is(Attempt::kRejection | Attempt::kReplay | Attempt::kSecondCall)) [[unlikely]]
      return of_other(a, others);
    const double own = a.demand_ns >= 0 ? a.demand_ns : drawn(a, Purpose::kServiceTime);
    return varies_ ? varied(own, a, others) : own;
  }

 private:
  [[gnu::always_inline]] double drawn(const Attempt& a, Purpose purpose) const {
    const DrawId id{a.entity, a.number, 0, purpose};
    return static_cast<double>(spec_->service_time.sample(streams_->of_group(a.group), id).count());
  }
  double of_other(const Attempt& a, std::int64_t others) const;
  double varied(double own_ns, const Attempt& a, std::int64_t others) const;

  const ServiceSpec* spec_;
  const Streams* streams_;
  OperationMix operations_;
  bool varies_;
};

}  // namespace retrysim::model
