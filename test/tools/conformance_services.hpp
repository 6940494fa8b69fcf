// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Many similar service ports for transactions: each has a cluster IP and three endpoints, every tenth a node port. It
// must not move, because transactions point into it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance_subject.hpp"

namespace conformance {

class Services {
 public:
  Services(abi::Family family, std::uint32_t count);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // Changes the port of the endpoints of these Services, for a delta.
  void change(std::uint32_t first, std::uint32_t count);

  // Makes growing structs longer, as from a newer daemon, with garbage in the additional bytes.
  void set_longer(bool longer) { longer_ = longer; }

  abi::Transaction full(std::uint64_t generation);
  abi::Transaction delta(std::uint64_t base, std::uint32_t first, std::uint32_t count);

 private:
  struct One {
    std::string name;
    abi::Frontend frontends[2];
    abi::Endpoint endpoints[3];
    abi::ServicePort shown{};
  };
  abi::Transaction transaction(abi::TransactionKind kind, std::uint64_t base, std::uint64_t generation, std::uint32_t first,
                               std::uint32_t count);

  const abi::Family family_;
  bool longer_ = false;
  std::vector<std::unique_ptr<One>> all_;
  std::vector<abi::Address> local_;
  abi::NodeFacts node_{};
  std::vector<unsigned char> node_bytes_;
  std::vector<unsigned char> port_bytes_;
};

}  // namespace conformance
