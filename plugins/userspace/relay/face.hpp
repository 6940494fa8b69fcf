// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one listening place stands for: the service port it belongs to and the list of
// endpoints behind it. A service port has one face, or two when its traffic policies
// lead to different lists. Shared by the apply thread and the relays. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "plugins/userspace/relay/relayed_count.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// Which endpoints a face leads to.
enum class FaceKind : std::uint8_t {
  kCluster,  // all that serve
  kLocal,    // those of this node
};

class Face {
 public:
  // `relayed`: where what is relayed is counted, beside the statistics of the engine. `mark`: of sockets towards
  // endpoints. Both may be null.
  Face(std::string name, abi::Protocol protocol, abi::Family family, FaceKind kind, const BalancerSettings& settings,
       std::uint64_t seed, std::shared_ptr<RelayedCount> relayed = nullptr,
       std::shared_ptr<const RelayMark> mark = nullptr)
      : name_(std::move(name)),
        protocol_(protocol),
        family_(family),
        kind_(kind),
        balancer_(settings, seed),
        relayed_(std::move(relayed)),
        mark_(std::move(mark)) {}

  const std::string& name() const noexcept { return name_; }  // "shop/cart:http"
  abi::Protocol protocol() const noexcept { return protocol_; }
  abi::Family family() const noexcept { return family_; }
  FaceKind kind() const noexcept { return kind_; }
  Balancer& balancer() noexcept { return balancer_; }
  RelayedCount* relayed() const noexcept { return relayed_.get(); }
  std::uint32_t mark() const noexcept { return mark_ == nullptr ? 0 : mark_->load(std::memory_order_relaxed); }

  bool tells_client() const noexcept { return tells_client_.load(std::memory_order_relaxed); }
  void set_tells_client(bool on) noexcept { tells_client_.store(on, std::memory_order_relaxed); }

 private:
  const std::string name_;
  const abi::Protocol protocol_;
  const abi::Family family_;
  const FaceKind kind_;
  Balancer balancer_;
  const std::shared_ptr<RelayedCount> relayed_;
  const std::shared_ptr<const RelayMark> mark_;
  std::atomic<bool> tells_client_{false};  // PROXY protocol v2 towards the endpoint
};

using FacePtr = std::shared_ptr<Face>;

}  // namespace sluice::userspace
