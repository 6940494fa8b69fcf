// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The number a family of generic netlink has in the running kernel. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/common/netlink/socket.hpp"

namespace sluice::netlink {

class GenericFamily {
 public:
  // `name`: "IPVS"; `module`: what to load where it is missing, for failures.
  GenericFamily(std::string name, std::string module);

  // Asked once; the kernel loads the module itself where it may. Throws sdk::Failure: kUnsupported when there is no such family.
  std::uint16_t id(Socket& socket);
  // Asks again at the next id(): the module was unloaded and loaded meanwhile.
  void forget() noexcept { id_ = 0; }

 private:
  std::string name_;
  std::string module_;
  std::uint16_t id_ = 0;
};

}  // namespace sluice::netlink
