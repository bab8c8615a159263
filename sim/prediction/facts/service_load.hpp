// The numbers behind facts and warnings: the work asked of a service, and how long a client's
// requests take. The warnings are declared here, too.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/prediction.hpp>
#include <retrysim/scenario.hpp>

#include "flow/demand.hpp"
#include "scenario/text/names.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::prediction {

using scenario::path_of;

struct ServiceLoad {
  const ServiceSpec* spec = nullptr;
  std::vector<std::size_t> clients;  ///< indices of the groups that call it
  double rate = 0;                   ///< new requests per second
  bool varies = false;               ///< the load varies by a profile, a trace or a herd
  bool from_services = false;        ///< other services call it
  bool is_closed = false;            ///< only closed loops call it: waiting clients ask for less
  bool has_closed = false;           ///< a closed loop calls it
  double capacity = 0;               ///< number of servers; infinite: no limit
  double calls_time = 0;    ///< time that an attempt waits for the services that this one calls, s
  double service_time = 0;  ///< mean time that an attempt keeps a server, with its calls, s
  double utilization = 0;   ///< utilization by first attempts
  double with_errors = 0;   ///< utilization including the attempts after random and network errors
  double last_attempt = 0;  ///< utilization if every request needs its last attempt
  double full_queue = 0;    ///< time to serve a full queue, s; infinite: no bound
  double wait = 0;          ///< mean wait while all is well, s; infinite: overloaded, or not known
  /// Share of attempts that wait at most the key `wait_within`; infinite: not known.
  double wait_within = 0;
  double granted = 0;  ///< attempts per second that the throttle lets pass; infinite: all
  /// Servers kept busy by first attempts of those groups whose load never pauses; 0 with a throttle
  /// or a capacity profile.
  double steady_work = 0;
};
/// The demand of a scenario on its services: with first attempts only, with the attempts that
/// errors cause, and with as many attempts as there may be.
struct Demands {
  explicit Demands(const Scenario& scenario);
  flow::Demand first, needed, most;
  std::vector<std::vector<std::size_t>> callers;  ///< for each service, the groups that call it
  /// For each group: whether its requests vary by more than chance, and whether no answer is waited
  /// for before the next request. Groups of calls inherit both from the groups that make the
  /// service call.
  std::vector<bool> varies, open;
};

ServiceLoad load_of_service(const Scenario& scenario, std::size_t service);
ServiceLoad load_of_service(const Scenario& scenario, std::size_t service, const Demands& demands);

/// What first attempts ask of a service for as long as the load lasts.
struct SteadyNeed {
  double load = 0;  ///< load of the servers; with autoscaling of their maximum number
  double servers_enough = 0;
  /// At a load of exactly 1 nobody waits: requests and their work are as regular as a clock.
  bool regular = false;
};
/// The need of first attempts; empty if the load varies, depends on answers (closed loops), or
/// nothing limits the servers.
std::optional<SteadyNeed> steady_need(const Scenario& scenario, const ServiceLoad& load);

/// The least number of servers that can carry this work (in servers) without being busy all the
/// time.
double servers_that_carry(double work);

/// What the load of a service leaves out because services call each other, in words; empty:
/// nothing.
std::string calls_left_out(const Scenario& scenario, std::size_t service);

/// The `full_queue` of a service's load, without the formulas of waiting, s; infinite for a service
/// that no client group calls.
double full_queue_time(const Scenario& scenario, std::size_t service);
double full_queue_time(const Scenario& scenario, std::size_t service, const flow::Demand& first);

/// Whether a quota belongs to one client or its whole group, and to no other.
bool has_plain_quota(const ClientSpec& client);

/// Whether a client group or another service calls the service.
bool is_called(const Scenario& scenario, std::size_t service);

/// The time of a request all of whose attempts last for `attempt` (s, may be infinite) and fail;
/// hedged ones overlap. All in seconds, may be infinite.
struct RequestTimes {
  double longest = 0;    ///< time with every backoff at its longest, or until the deadline
  double mean = 0;       ///< mean time, without the deadline
  double backoff = 0;    ///< the part of `longest` spent in backoffs, or in delays before hedges
  double connected = 0;  ///< sum over the attempts of the times that they are under way
};
RequestTimes request_times(const ClientSpec& client, double attempt);

struct ClientTimes {
  const ClientSpec* spec = nullptr;
  double timeout = 0;  ///< attempt timeout, s; infinite: none
  double attempt = 0;  ///< time of an attempt: network and service, s
  double request = 0;  ///< time of a request with the wait, s; infinite: not known
  /// Time of a request at worst, and if all attempts time out, s; may be infinite.
  double worst = 0, all_time_out = 0;
  double rate = 0;     ///< rate of requests of one client, per second
  double buckets = 1;  ///< number of retry quotas
  double drain_rate = 0, time_to_dry = 0, outage_retries = 0;
  /// Connections that one client needs, usually and at worst.
  double connections = 0, connections_worst = 0;
};
ClientTimes times_of_client(const Scenario& scenario, std::size_t client);
ClientTimes times_of_client(const Scenario& scenario, std::size_t client, const Demands& demands);

// --- Warnings ------------------------------------------------------------------------------------

// Each warning gives the user, before a run, the keys, the figure and a remedy.

// Trouble that exists while all is well.
/// A pool of connections that is too small for the first attempts; `open`: whether they keep
/// coming.
void warn_of_pool(const ClientTimes& times, bool open, std::vector<Warning>& warnings);
/// A limit on the send rate below the rate of first attempts.
void warn_of_send_rate(const ClientTimes& times, bool open, std::vector<Warning>& warnings);
void warn_of_overload(const Scenario& scenario, const ServiceLoad& load,
                      std::vector<Warning>& warnings);
/// Attempts that take longer than their service allows them, without any queue.
void warn_of_time_limit(const ServiceLoad& load, std::vector<Warning>& warnings);
/// Attempts that take longer than their client waits, by timeout or deadline, without any queue.
void warn_of_short_timeout(const Scenario& scenario, const ClientTimes& times,
                           std::vector<Warning>& warnings);

// Settings that make trouble worse.
void warn_of_service(const Scenario& scenario, const ServiceLoad& load,
                     std::vector<Warning>& warnings);
void warn_of_client(const Scenario& scenario, const ClientTimes& times,
                    std::vector<Warning>& warnings);
/// Requests, and calls between services, that end before all of their attempts could time out.
void warn_of_deadline(const ClientTimes& times, std::vector<Warning>& warnings);
/// Callers that give up before what they call has tried all that it may try.
void warn_of_impatience(const Scenario& scenario, std::vector<Warning>& warnings);
/// Hedges that are sent together with the first attempt.
void warn_of_hedging(const Scenario& scenario, std::vector<Warning>& warnings);
/// A sick instance that a balancer prefers, because it answers quickly.
void warn_of_attraction(const Scenario& scenario, std::vector<Warning>& warnings);
/// A recovery that is confirmed before the retries come.
void warn_of_hold(const Scenario& scenario, std::vector<Warning>& warnings);

}  // namespace retrysim::prediction
