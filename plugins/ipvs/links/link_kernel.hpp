// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one seam between this backend and the kernel's links and addresses; tests replace it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/abi/types.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {

struct LinkState {
  int index = 0;
  std::string kind;  // "dummy"; empty: a device
};

// One that no link can have.
struct RefusedAddress {
  abi::Address address{};
  std::string why;  // a sentence that names it
};

class LinkKernel {
 public:
  virtual ~LinkKernel() = default;
  // All throw sdk::Failure: kUnsupported when the kernel cannot make such a link (naming the module dummy), kDenied, kRetry for
  // shortages, kKernel.

  virtual std::optional<LinkState> find(const std::string& name) = 0;
  // Of kind dummy, left down (BEH 6.2). One that appeared meanwhile is fine.
  virtual void create(const std::string& name) = 0;
  virtual void remove(int index) = 0;
  // Of one family on one link.
  virtual std::vector<abi::Address> addresses(int index, abi::Family family) = 0;
  // /32 or /128. What is there already (or gone already) is fine. Many in one system call. bind() returns those that
  // are refused for what they are, all others being in place.
  [[nodiscard]] virtual std::vector<RefusedAddress> bind(int index, abi::Family family,
                                                         const std::vector<abi::Address>& addresses) = 0;
  virtual void unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) = 0;
  // What programs of this node send to these IPv4 addresses of the link comes from `source`, another address of this node,
  // and no longer from the address itself, until unbind() or restore_source(). For IPv6 the kernel does that only on a
  // link that is up. Addresses that are gone are fine.
  virtual void set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) = 0;
  // It comes from the address itself again, whoever has changed that. Reads all routes; writes only what differs, so that
  // addresses the link does not have are fine.
  virtual void restore_source(int index, const std::vector<abi::Address>& addresses) = 0;
  // Messages that change something, since the object was made.
  virtual std::uint64_t messages() const = 0;
};

}  // namespace sluice::ipvs
