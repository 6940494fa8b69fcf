// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Links and addresses of the kernel, by rtnetlink. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/ipvs/links/link_kernel.hpp"

namespace sluice::ipvs {

class NetlinkLinks final : public LinkKernel {
 public:
  NetlinkLinks();
  explicit NetlinkLinks(netlink::OpenRawSocket open);

  std::optional<LinkState> find(const std::string& name) override;
  void create(const std::string& name) override;
  void remove(int index) override;
  std::vector<abi::Address> addresses(int index, abi::Family family) override;
  std::vector<RefusedAddress> bind(int index, abi::Family family, const std::vector<abi::Address>& addresses) override;
  void unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) override;
  void set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) override;
  void restore_source(int index, const std::vector<abi::Address>& addresses) override;
  std::uint64_t messages() const override { return messages_; }

 private:
  std::vector<int> change(std::uint16_t type, std::uint16_t flags, int index, abi::Family family,
                          const std::vector<abi::Address>& addresses);
  void remove_routes(int index, const std::vector<abi::Address>& addresses);

  netlink::Socket socket_;
  std::uint64_t messages_ = 0;
};

}  // namespace sluice::ipvs
