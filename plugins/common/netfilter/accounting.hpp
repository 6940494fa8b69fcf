// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Named counters of the kernel (nfacct), which rules count packets with: one name space
// per network namespace, shared by both IP families. They outlive rules and processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct nl_msg;
struct nl_sock;

namespace sluice::netfilter {

struct FreeMessage {
  void operator()(nl_msg* message) const noexcept;
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

// The requests as they go to the kernel. Throw std::bad_alloc.
Message ask_for_counter(const std::string& name);
Message make_counter(const std::string& name);
// What goes over the socket, for tests.
std::string_view bytes(const Message& message) noexcept;

// Keeps its socket; one thread at a time. Belongs to the namespace it was made in.
class Accounting {
 public:
  Accounting();
  ~Accounting();
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;

  // Makes the counter unless it is there. 0, or the errno that tells why it cannot be:
  // EINVAL and EOPNOTSUPP come from a kernel without nfacct.
  [[nodiscard]] int ensure(const std::string& name);

  // Packets counted; empty when there is no such counter.
  std::optional<std::uint64_t> packets(const std::string& name);

 private:
  nl_sock* open_socket();
  // 0 or an errno; what the kernel says of a counter goes into `packets`.
  int talk(const Message& request, std::optional<std::uint64_t>& packets);

  struct Close {
    void operator()(nl_sock* socket) const noexcept;
  };
  std::unique_ptr<nl_sock, Close> socket_;
};

}  // namespace sluice::netfilter
