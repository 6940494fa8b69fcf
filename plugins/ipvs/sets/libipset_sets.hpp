// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's ipsets through libipset, in process. Any thread; the library lock serialises both families.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/sets/ipset_session.hpp"
#include "plugins/ipvs/sets/set_kernel.hpp"

namespace sluice::ipvs {

struct Listing;

class LibipsetSets final : public SetKernel {
 public:
  // Uses the network namespace of the thread that makes the first request. Sends nothing yet.
  explicit LibipsetSets(abi::Family family) noexcept : family_(family) {}

  std::optional<SetHeader> header(const std::string& name) override;
  bool has_counts() override;
  std::vector<SetEntry> entries(const std::string& name, SetType type) override;
  void create(const std::string& name, SetType type, std::uint32_t maxelem) override;
  std::vector<RefusedEntry> add(const std::string& name, SetType type, const std::vector<SetEntry>& entries) override;
  void remove(const std::string& name, SetType type, const std::vector<SetEntry>& entries) override;
  void swap(const std::string& one, const std::string& other) override;
  bool destroy(const std::string& name) override;
  std::uint64_t messages() const override { return messages_; }
  std::uint64_t waited() const override { return waited_; }

 private:
  // An operation on a set, for error messages.
  struct Operation {
    std::string what;  // "cannot add 10.0.0.1,tcp:80 to set KUBE-CLUSTER-IP"
    const std::string& set;
    std::optional<SetType> type;
  };
  // Throws Failure for an unsuccessful reply.
  [[noreturn]] void fail(const IpsetReply& reply, const Operation& operation) const;
  // Retries `body` when its answer was lost or resources were short. `body` must be idempotent.
  IpsetReply repeated(const std::function<IpsetReply(IpsetCommands&)>& body);
  bool list(const std::string& name, bool header_only, Listing& listing);
  std::vector<RefusedEntry> change(IpsetCommand command, const std::string& name, SetType type,
                                   const std::vector<SetEntry>& entries);
  IpsetReply send(IpsetCommands& commands, IpsetCommand command, const std::string& name, SetType type,
                  const std::vector<SetEntry>& entries, std::vector<RefusedEntry>& refused)
      SLUICE_REQUIRES(session_mutex);

  abi::Family family_;
  IpsetUser user_;
  std::atomic<std::uint64_t> messages_{0};
  std::atomic<std::uint64_t> waited_{0};
  std::atomic<bool> counts_{true};  // until the kernel sends a header without a count
};

}  // namespace sluice::ipvs
