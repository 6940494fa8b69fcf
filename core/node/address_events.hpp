// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's notifications of addresses, those of the link that carries service addresses left out: a backend binds
// thousands there, and none of them is an address of the node. Not thread-safe.
#pragma once

#include <functional>
#include <string>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::node {

// BEH 6.2.
inline constexpr const char* kServiceLink = "kube-ipvs0";

class AddressEvents {
 public:
  // The number of the link of service addresses, 0 when there is none; tests say it.
  using FindLink = std::function<unsigned()>;

  explicit AddressEvents(FindLink find = {});

  // Subscribes. What comes from here on is told by drain().
  base::Status open();
  void close() { socket_.reset(); }
  // For poll(); -1 while closed.
  int descriptor() const { return socket_.get(); }

  enum class Outcome {
    kNothing,  // of interest
    kChanged,  // an address of the node came, went, or may have
    kBroken,   // the subscription has ended; closed
  };
  // Reads all there is, without waiting.
  Outcome drain();

 private:
  void leave_out(unsigned link);

  FindLink find_;
  base::Fd socket_;
  unsigned left_out_ = 0;  // what the kernel does not even tell of
};

}  // namespace sluice::node
