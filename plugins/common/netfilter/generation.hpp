// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The generation number of nf_tables in this network namespace. It grows by one with
// every transaction anybody commits, so equal numbers mean that nothing was changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

struct nl_sock;

namespace sluice::netfilter {

// Keeps its socket; one thread at a time. Belongs to the namespace it was made in.
class GenerationReader {
 public:
  GenerationReader();
  ~GenerationReader();
  GenerationReader(const GenerationReader&) = delete;
  GenerationReader& operator=(const GenerationReader&) = delete;

  // Empty when the kernel does not tell (no nf_tables, no privilege).
  std::optional<std::uint32_t> read();

 private:
  nl_sock* open_socket();

  struct Close {
    void operator()(nl_sock* socket) const noexcept;
  };
  std::unique_ptr<nl_sock, Close> socket_;
};

}  // namespace sluice::netfilter
