// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports to be shown to a plugin, many of them alike: each has a cluster IP and three endpoints, every tenth a node
// port. Stays where it is: transactions point into it.
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

  // Endpoints of these get another port: what a delta is about.
  void change(std::uint32_t first, std::uint32_t count);

  // As from a newer daemon: everything that may grow is longer, and what is behind has no meaning here.
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
