// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "corescale_objects.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace corescale {
namespace {

namespace kube = sluice::kube;
namespace lib = sluice::lib;
namespace model = sluice::model;
using sluice::base::Symbol;

lib::IpAddress address(std::uint8_t first, std::uint32_t rest) {
  const std::array<std::uint8_t, 16> bytes{first, static_cast<std::uint8_t>(rest >> 16),
                                           static_cast<std::uint8_t>(rest >> 8), static_cast<std::uint8_t>(rest)};
  return lib::IpAddress::from_bytes(lib::Family::ipv4, bytes.data());
}

// Every number below 2^24 once, without an order: the addresses of the pods of a Service have none.
lib::IpAddress pod_address(std::size_t number) {
  return address(10, static_cast<std::uint32_t>(number * 2'654'435'761U) & 0xff'ffffU);
}

// As the API server writes it, with the parts that the daemon does not need.
std::string json_slice(const model::EndpointSlice& slice) {
  std::string out = R"({"metadata":{"name":")" + slice.name.name + R"(","namespace":")" +
                    std::string(slice.name.name_space.text()) +
                    R"(","uid":"aba632f7-21e6-4435-ae92-4e593a424fe5","resourceVersion":"208","generation":1,)"
                    R"("creationTimestamp":"2026-11-27T10:07:16Z","labels":{"endpointslice.kubernetes.io/managed-by":)"
                    R"("endpointslice-controller.k8s.io","kubernetes.io/service-name":")" +
                    slice.service.name + R"("}},"addressType":"IPv4","endpoints":[)";
  bool first = true;
  for (const auto& endpoint : slice.endpoints) {
    if (!first) out += ',';
    first = false;
    out += R"({"addresses":[")" + lib::IpAddress::from_bytes(slice.family, endpoint.address.data()).to_string() +
           R"("],"conditions":{"ready":true,"serving":true,"terminating":false},)"
           R"("targetRef":{"kind":"Pod","namespace":")" +
           std::string(slice.name.name_space.text()) +
           R"(","name":"web-7d5b9c6f4-abcde","uid":"0b0c8a9e-2a59-4a2e-8f0c-6a7d0f3f6f10"},"nodeName":")" +
           std::string(endpoint.node.text()) + R"("})";
  }
  out += R"(],"ports":[)";
  first = true;
  for (const auto& port : slice.ports) {
    if (!first) out += ',';
    first = false;
    out += R"({"name":")" + std::string(port.name.text()) + R"(","protocol":"TCP","port":)" +
           std::to_string(port.port) + "}";
  }
  return out + "]}";
}

// As long as a UID of Kubernetes.
std::string uid(char kind, std::size_t number) {
  std::string out = std::to_string(number);
  out.insert(0, 12 - std::min<std::size_t>(12, out.size()), '0');
  return std::string(1, kind) + "b0c8a9e-2a59-4a2e-8f0c-" + out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(std::uint32_t field, std::string_view content) {
  return varint(field << 3 | 2) + varint(content.size()) + std::string(content);
}
std::string entry(std::string_view key, std::string_view value) { return bytes(1, key) + bytes(2, value); }

std::string protobuf_slice(const model::EndpointSlice& slice) {
  const std::string name_space(slice.name.name_space.text());
  const std::string metadata =
      bytes(1, slice.name.name) + bytes(2, "") + bytes(3, name_space) + bytes(4, "") +
      bytes(5, "aba632f7-21e6-4435-ae92-4e593a424fe5") + bytes(6, "208") + number(7, 1) +
      bytes(8, number(1, 1'796'000'000) + number(2, 0)) +
      bytes(11, entry("endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io")) +
      bytes(11, entry("kubernetes.io/service-name", slice.service.name));
  std::string out = bytes(1, metadata);
  for (const auto& endpoint : slice.endpoints) {
    out += bytes(2, bytes(1, lib::IpAddress::from_bytes(slice.family, endpoint.address.data()).to_string()) +
                        bytes(2, number(1, 1) + number(2, 1) + number(3, 0)) +
                        bytes(4, bytes(1, "Pod") + bytes(2, name_space) + bytes(3, "web-7d5b9c6f4-abcde") +
                                     bytes(4, "0b0c8a9e-2a59-4a2e-8f0c-6a7d0f3f6f10")) +
                        bytes(6, endpoint.node.text()));
  }
  for (const auto& port : slice.ports) {
    out += bytes(3, bytes(1, port.name.text()) + bytes(2, "TCP") + number(3, port.port));
  }
  return out + bytes(4, "IPv4");
}

}  // namespace

model::DetailsRequest details_request(const Shape& shape) {
  if (!shape.details) return {};
  return {.services = true, .endpoints = true, .annotation_prefixes = Symbol("example.com/")};
}

Objects::Objects(const Shape& shape) : shape_(shape) {
  for (std::size_t i = 0; i * shape.of_namespace < shape.services; ++i) {
    namespaces_.emplace_back("namespace-" + std::to_string(i));
  }
  for (std::size_t i = 0; i * kPodsOfNode < shape.endpoints; ++i) nodes_.emplace_back("node-" + std::to_string(i));
  for (std::size_t i = 0; i < shape.ports; ++i) ports_.emplace_back("port-" + std::to_string(i));
}

model::ObjectName Objects::name(std::size_t service) const {
  return {namespaces_[service / shape_.of_namespace], "service-" + std::to_string(service)};
}

model::Service Objects::service(std::size_t number) const {
  model::Service out;
  out.name = name(number);
  out.cluster_ips = {address(100, static_cast<std::uint32_t>(number) + 1)};
  out.ports.reserve(shape_.ports);
  for (std::size_t i = 0; i < shape_.ports; ++i) {
    out.ports.push_back({ports_[i], shape_.protocol, static_cast<std::uint16_t>(1 + i), 0});
  }
  if (shape_.health_check) {
    out.type = model::ServiceType::load_balancer;
    out.external_local = true;
    out.health_check_node_port = 30'000;
    out.load_balancer_ips = {address(101, static_cast<std::uint32_t>(number) + 1)};
  }
  if (shape_.same_external) out.external_ips = {address(102, 1)};
  out.created = static_cast<std::int64_t>(1'700'000'000 + number);
  if (shape_.details) {
    model::ServiceDetails details;
    details.uid = model::Shared(uid('5', number));
    details.app_protocols.assign(shape_.ports, Symbol("http"));
    details.annotations.push_back({details_request(shape_).annotation_prefixes,
                                   model::Shared(model::Annotations{{"example.com/pool", "pool-" + std::to_string(number)}})});
    out.details = model::Shared(std::move(details));
  }
  return out;
}

std::size_t Objects::first_endpoint_of(std::size_t service) const {
  return service * shape_.endpoints / shape_.services;
}

std::size_t Objects::endpoints_of(std::size_t service) const {
  return first_endpoint_of(service + 1) - first_endpoint_of(service);
}

std::size_t Objects::slice_count(std::size_t service) const {
  return (endpoints_of(service) + kSliceSize - 1) / kSliceSize;
}

model::ObjectName Objects::slice_name(std::size_t service, std::size_t number) const {
  model::ObjectName out = name(service);
  out.name += "-" + std::to_string(10'000 + number);
  return out;
}

model::EndpointSlice Objects::slice(std::size_t service, std::size_t number, bool changed) const {
  model::EndpointSlice out;
  out.name = slice_name(service, number);
  out.service = name(service);
  out.ports.reserve(shape_.ports);
  for (std::size_t i = 0; i < shape_.ports; ++i) {
    out.ports.push_back({ports_[i], shape_.protocol, static_cast<std::uint16_t>(8080 + i)});
  }
  const std::size_t count = std::min(kSliceSize, endpoints_of(service) - number * kSliceSize);
  out.endpoints.reserve(count);
  std::vector<model::EndpointDetails> details;
  details.reserve(shape_.details ? count : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = first_endpoint_of(service) + number * kSliceSize + i;
    model::SliceEndpoint endpoint;
    endpoint.address = pod_address(changed && i == 0 ? at + (1U << 23) : at).bytes();
    // Pods of a Service run on all nodes.
    endpoint.node = nodes_[at % nodes_.size()];
    out.endpoints.push_back(endpoint);
    if (!shape_.details) continue;
    details.push_back({Symbol("zone-" + std::to_string(at % 3)),
                       model::Shared(model::Pod{"web-7d5b9c6f4-" + std::to_string(100'000 + at), uid('0', at)})});
  }
  if (shape_.details) out.details = model::Shared(std::move(details));
  return out;
}

void Objects::each_slice(const std::function<void(std::size_t, std::size_t)>& visit) const {
  for (std::size_t service = 0; service < shape_.services; ++service) {
    for (std::size_t slice = 0; slice < slice_count(service); ++slice) visit(service, slice);
  }
}

std::string Objects::slice_list(kube::Encoding encoding) const {
  std::string out;
  if (encoding == kube::Encoding::json) {
    out = R"({"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1",)"
          R"("metadata":{"resourceVersion":"249"},"items":[)";
    bool first = true;
    each_slice([&](std::size_t service, std::size_t number) {
      if (!first) out += ',';
      first = false;
      out += json_slice(slice(service, number));
    });
    return out + "]}";
  }
  std::string list = bytes(1, bytes(1, "") + bytes(2, "249") + bytes(3, ""));
  each_slice(
      [&](std::size_t service, std::size_t number) { list += bytes(2, protobuf_slice(slice(service, number))); });
  return std::string(kube::kProtobufMagic) + bytes(1, bytes(1, "discovery.k8s.io/v1") + bytes(2, "EndpointSliceList")) +
         bytes(2, list) + bytes(3, "") + bytes(4, "");
}

}  // namespace corescale
