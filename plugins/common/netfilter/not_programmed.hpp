// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports service ports that are not programmed, or not on all their addresses, to the daemon. Does not write to the
// kernel. The apply thread only; one object per backend.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::netfilter {

// The service ports of one transaction that are not fully programmed: printed name to reason.
using Problems = std::map<std::string, std::string>;

// Appends to the reasons of `name`.
void add_problem(Problems& problems, const std::string& name, const std::string& why);

// The keys of the service ports in a transaction. Builds its index on first use.
class NamedKeys {
 public:
  // `transaction` outlives this.
  explicit NamedKeys(const abi::Transaction& transaction) : transaction_(transaction) {}
  // Empty if the transaction does not contain `name`. The key points into the transaction.
  std::optional<abi::ServicePortKey> find(const std::string& name);

 private:
  const abi::Transaction& transaction_;
  bool indexed_ = false;
  std::unordered_map<std::string, abi::ServicePortKey> keys_;
};

// Reports one service port to the daemon.
void report_not_programmed(abi::Host& host, const abi::ServicePortKey& key, const std::string& name, const std::string& why);

class NotProgrammed {
 public:
  // `host` outlives this.
  explicit NotProgrammed(abi::Host& host) : host_(host) {}

  // During apply(), for a transaction that was applied. A full one has tried all service ports, a delta those it
  // contains.
  void note(const abi::Transaction& transaction, const Problems& problems);

  // `name` has got `what` without being part of the transaction. Requests a full resync if it is recorded as not
  // programmed, because the daemon keeps it so until a transaction contains it again.
  void request_retry(const std::string& name, const std::string& what);

  // `name` is now fully programmed without being part of the transaction. Clears its failure in the daemon. During
  // apply(), after note().
  void mark_programmed(const std::string& name);

 private:
  abi::Host& host_;
  std::map<std::string, abi::Protocol> names_;
};

}  // namespace sluice::netfilter
