// What comes of an attempt that a server has worked on: the models of a service, behind one
// interface. A model is a class of its own in a file of its own, with
//
//   Reply reply(Attempt& attempt, const ReplyContext& context);
//
// asked once for each time that a server finishes work on an attempt; it may keep state. To add
// one: its file, a line in `ServiceModel` and `make_service_model`, its name in the table of keys.
// The model "queue", in which what has been served has succeeded, is asked nothing.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "model/independent_model.hpp"
#include "model/occ_model.hpp"
#include "model/reply.hpp"

#include <type_traits>
#include <variant>

namespace retrysim::model {

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

}  // namespace retrysim::model
