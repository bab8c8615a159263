// What attempts have to go through at a service. Most services need few of these steps, and a look
// here tells which ones to skip.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/service_power.hpp"

namespace retrysim::model {

struct ServiceTraits {
  explicit ServiceTraits(const ServiceSpec& spec);
  /// The faults have changed; until this is called for the first time there are none.
  void follow(const ServiceSpec& spec, const Impairment& impairment);

  bool always_succeeds = true;    ///< what has been served has succeeded, without more ado
  bool calls_others = false;      ///< attempts make calls to other services before they are done
  bool screens_arrivals = false;  ///< they may be answered before they are admitted: by random
                                  ///< errors, by a throttle
  bool loses_messages = false;    ///< on the way to it, or back
  bool obstructs_way = false;     ///< those to it: some get lost, or none comes through
  bool screens_queue = false;     ///< not every attempt that is taken from the queue is served
  bool limits_concurrency = false;
  bool watches_attempts = false;  ///< it wants to be told, by `leave`, when an attempt is gone that
                                  ///< it had admitted
  bool takes_no_time = false;     ///< whoever finds nobody there is served within the instant
  bool times_waits = false;       ///< attempts that wait no longer than `wait_within` are counted
};

}  // namespace retrysim::model
