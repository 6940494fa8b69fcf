// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The number of a generic netlink family in the running kernel. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/common/netlink/socket.hpp"

namespace sluice::netlink {

class GenericFamily {
 public:
  // `name`: "IPVS"; `module`: the kernel module that error messages suggest to load.
  GenericFamily(std::string name, std::string module);

  // Requested once; the kernel loads the module automatically if it can. Throws sdk::Failure: kUnsupported for an
  // unknown family.
  std::uint16_t id(Socket& socket);
  // The next id() requests the number again, in case the module was reloaded.
  void forget() noexcept { id_ = 0; }

 private:
  std::string name_;
  std::string module_;
  std::uint16_t id_ = 0;
};

}  // namespace sluice::netlink
