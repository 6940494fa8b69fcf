// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of a service port, for planning its rules again when no transaction contains it: another
// service port has released a port that it waits for. A value.
#pragma once

#include <string>
#include <vector>

#include "sluice/abi/service.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {

class KeptServicePort {
 public:
  explicit KeptServicePort(const abi::ServicePort& port)
      : port_(port),
        namespace_name_(sdk::text(port.key.service_namespace)),
        service_name_(sdk::text(port.key.service_name)),
        port_name_(sdk::text(port.key.port_name)),
        frontends_(copy<abi::Frontend>(port.frontends)),
        source_ranges_(copy<abi::Prefix>(port.source_ranges)),
        endpoints_(copy<abi::Endpoint>(port.endpoints)) {}

  // Points into this object: valid until it is moved or destroyed.
  abi::ServicePort view() const {
    abi::ServicePort shown = port_;
    shown.key.service_namespace = sdk::view(namespace_name_);
    shown.key.service_name = sdk::view(service_name_);
    shown.key.port_name = sdk::view(port_name_);
    shown.frontends = sdk::array(frontends_.data(), frontends_.size());
    shown.source_ranges = sdk::array(source_ranges_.data(), source_ranges_.size());
    shown.endpoints = sdk::array(endpoints_.data(), endpoints_.size());
    return shown;
  }

 private:
  template <class T>
  static std::vector<T> copy(const abi::ArrayView& array) {
    const auto range = sdk::range<T>(array);
    return {range.begin(), range.end()};
  }

  abi::ServicePort port_;
  std::string namespace_name_;
  std::string service_name_;
  std::string port_name_;
  std::vector<abi::Frontend> frontends_;
  std::vector<abi::Prefix> source_ranges_;
  std::vector<abi::Endpoint> endpoints_;
};

}  // namespace sluice::userspace
