// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink notifications of address changes, except those of the link that carries service addresses: a backend binds
// thousands of addresses there, and none of them is an address of the node. Not thread-safe.
#pragma once

#include <functional>
#include <string>

#include "lib/fd.hpp"
#include "lib/status.hpp"
#include "names/objects.hpp"

namespace sluice::node {

// BEH 6.2.
inline constexpr const char* kServiceLink = names::kServiceLink.name.data();

class AddressEvents {
 public:
  // Returns the index of the link of service addresses, 0 if it does not exist. Tests replace it.
  using FindLink = std::function<unsigned()>;

  explicit AddressEvents(FindLink find = {});

  // Subscribes. drain() reports all changes from here on.
  lib::Status open();
  void close() { socket_.reset(); }
  // For poll(); -1 while closed.
  int descriptor() const { return socket_.get(); }

  enum class Outcome {
    kNothing,  // no change of an address of the node
    kChanged,  // an address of the node may have changed
    kBroken,   // the subscription has ended, and the socket is closed
  };
  // Reads all queued notifications without blocking.
  Outcome drain();

 private:
  void exclude_link(unsigned link);

  FindLink find_;
  lib::Fd socket_;
  unsigned excluded_link_ = 0;  // the link whose notifications the kernel drops
};

}  // namespace sluice::node
