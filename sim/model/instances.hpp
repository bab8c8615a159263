// The instances of all services. Each is a `Service` of its own, with servers, queue and limits;
// those of one service follow each other, in the order of the services. So where every service is a
// single instance, an instance and its service have the same number.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/ids.hpp"
#include "model/service.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

class Instances {
 public:
  /// The first instance of the next service; `add` gives it further ones. Their addresses are
  /// fixed when all have been added.
  void begin_service() { first_.emplace_back(all_.size()); }
  Service& add(Service instance) {
    const ServiceId service(first_.size() - 1);
    instance.place.instance = InstanceId(all_.size());
    instance.place.service = service;
    service_of_.push_back(service);
    return all_.emplace_back(std::move(instance));
  }

  Service& operator[](InstanceId id) { return all_[id]; }
  const Service& operator[](InstanceId id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }
  std::size_t services() const { return first_.size(); }

  Ids<InstanceId> ids() const { return Ids<InstanceId>(all_.size()); }
  Ids<InstanceId> of(ServiceId service) const {
    const bool last = service + std::size_t{1} == first_.size();
    return {first_[service], last ? all_.size() : first_[ServiceId(service + 1)]};
  }
  InstanceId first(ServiceId service) const { return first_[service]; }
  ServiceId service_of(InstanceId id) const { return service_of_[id]; }
  /// Its place among those of its service, counted from 0.
  std::uint32_t number_of(InstanceId id) const {
    return std::uint32_t{id} - std::uint32_t{first_[service_of_[id]]};
  }
  /// Whether some service has more than one.
  bool several() const { return all_.size() > first_.size(); }

 private:
  IndexedBy<InstanceId, std::vector<Service>> all_;
  ByService<InstanceId> first_;
  IndexedBy<InstanceId, std::vector<ServiceId>> service_of_;
};

}  // namespace retrysim::model
