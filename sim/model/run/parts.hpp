// The parts of a world that call each other, each with one reason to change, in the order in which
// a request meets them; the last one counts what all of them do. They call each other through this
// struct: the path of a request runs back and forth.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/client/clients.hpp"
#include "model/client/gates.hpp"
#include "model/client/timeouts.hpp"
#include "model/client/workload.hpp"
#include "model/effects/effects.hpp"
#include "model/network/balancer.hpp"
#include "model/network/network.hpp"
#include "model/run/agenda.hpp"
#include "model/run/limits.hpp"
#include "model/run/state.hpp"
#include "model/service/calls.hpp"
#include "model/service/outside.hpp"
#include "model/service/services.hpp"

namespace retrysim::model {

struct Parts {
  explicit Parts(RunState& state)
      : closed_loop(state, *this),
        jobs(state, *this),
        client_requests(state, *this),
        mutations(state),
        send_gate(state, *this),
        connections(state, *this),
        hedging(state, *this),
        transport(state, *this),
        balancer(state),
        timeouts(state, *this),
        entrance(state, *this),
        watch(state, *this),
        serving(state, *this),
        call_tree(state, *this),
        token_waits(state, *this),
        service_events(state, *this),
        delivery(state, *this),
        retry_decisions(state, *this),
        settlement(state, *this),
        limits(state, *this) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  ClosedLoop closed_loop;
  Jobs jobs;
  ClientRequests client_requests;
  Mutations mutations;
  SendGate send_gate;
  Connections connections;
  Hedging hedging;
  Transport transport;
  Balancer balancer;
  Timeouts timeouts;
  ServiceEntrance entrance;
  AttemptWatch watch;
  Serving serving;
  CallTree call_tree;
  TokenWaits token_waits;
  ServiceEvents service_events;
  Delivery delivery;
  RetryDecisions retry_decisions;
  Settlement settlement;
  RunLimits limits;
};

}  // namespace retrysim::model
