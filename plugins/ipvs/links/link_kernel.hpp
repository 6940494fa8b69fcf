// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Access to the kernel's links and addresses; tests replace it.
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
  std::string kind;  // "dummy"; empty: a physical device
};

// An address that no link can have.
struct RefusedAddress {
  abi::Address address{};
  std::string why;  // a sentence that names the address
};

class LinkKernel {
 public:
  virtual ~LinkKernel() = default;
  // All throw sdk::Failure: kUnsupported if the kernel cannot create dummy links (names the module), kDenied, kRetry
  // for shortages, kKernel.

  virtual std::optional<LinkState> find(const std::string& name) = 0;
  // Creates a dummy link, left down (BEH 6.2). A link that exists by now is accepted.
  virtual void create(const std::string& name) = 0;
  virtual void remove(int index) = 0;
  // Addresses of one family on one link.
  virtual std::vector<abi::Address> addresses(int index, abi::Family family) = 0;
  // /32 or /128. Addresses that exist already (or are gone already) are accepted. Many per system call. bind()
  // returns the addresses that the kernel rejects as such; all others are in place.
  [[nodiscard]] virtual std::vector<RefusedAddress> bind(int index, abi::Family family,
                                                         const std::vector<abi::Address>& addresses) = 0;
  virtual void unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) = 0;
  // Makes `source`, another address of this node, the source of what this node sends to these IPv4 addresses, until
  // unbind() or restore_source(). (For IPv6 the kernel uses the address itself only on a link that is up.) Addresses
  // that are gone are ignored.
  virtual void set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) = 0;
  // Makes each address its own source again. Reads all routes and writes only differences, so addresses that the link
  // does not have are ignored.
  virtual void restore_source(int index, const std::vector<abi::Address>& addresses) = 0;
  // Messages that change something, since construction.
  virtual std::uint64_t messages() const = 0;
};

}  // namespace sluice::ipvs
