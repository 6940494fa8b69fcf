// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Objects of a large cluster, and answers of an API server that hold them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/kube/decode/decode.hpp"
#include "core/model/event.hpp"

namespace corescale {

inline constexpr std::size_t kSliceSize = 100;  // endpoints, as the controller of EndpointSlices writes them
inline constexpr std::size_t kPodsOfNode = 100;

// Services 0, 1, … with endpoints that are spread evenly over them, in slices of at most kSliceSize.
struct Shape {
  std::size_t services = 1;
  std::size_t endpoints = 1;
  std::size_t of_namespace = 50;  // Services
  std::size_t ports = 1;          // of each Service and slice
  sluice::model::Protocol protocol = sluice::model::Protocol::tcp;
  bool health_check = false;   // load balancer with externalTrafficPolicy: Local
  bool same_external = false;  // all list one external IP
  bool details = false;        // a backend asks for all details, and each object has them
};

// What a backend asks for in a shape with details.
sluice::model::DetailsRequest details_request(const Shape& shape);

inline constexpr const char* kNodeName = "node-0";

class Objects {
 public:
  explicit Objects(const Shape& shape);

  const Shape& shape() const { return shape_; }
  sluice::model::ObjectName name(std::size_t service) const;
  sluice::model::Service service(std::size_t number) const;
  std::size_t slice_count(std::size_t service) const;
  // `changed`: the address of its first endpoint is another one.
  sluice::model::EndpointSlice slice(std::size_t service, std::size_t number, bool changed = false) const;
  sluice::model::ObjectName slice_name(std::size_t service, std::size_t number) const;
  // Calls `visit` with each Service and each of its slices.
  void each_slice(const std::function<void(std::size_t service, std::size_t slice)>& visit) const;

  // The body of a list of all slices, with the fields that a real API server writes.
  std::string slice_list(sluice::kube::Encoding encoding) const;

 private:
  std::size_t endpoints_of(std::size_t service) const;
  std::size_t first_endpoint_of(std::size_t service) const;

  Shape shape_;
  std::vector<sluice::base::Symbol> namespaces_;
  std::vector<sluice::base::Symbol> nodes_;
  std::vector<sluice::base::Symbol> ports_;
};

}  // namespace corescale
