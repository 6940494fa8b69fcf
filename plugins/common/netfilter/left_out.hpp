// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports that are not served, or not at all their addresses: who is told of them. Not what becomes of them in the
// kernel. The apply thread only; one for each backend.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::netfilter {

// What of one transaction is not served, and why, by printed name.
using Problems = std::map<std::string, std::string>;

// Several reasons become one text.
void add_problem(Problems& problems, const std::string& name, const std::string& why);

// The keys of what a transaction names. Looks only when it is asked.
class NamedKeys {
 public:
  // `transaction` outlives this.
  explicit NamedKeys(const abi::Transaction& transaction) : transaction_(transaction) {}
  // None where it does not name it. Shows the transaction.
  std::optional<abi::ServicePortKey> find(const std::string& name);

 private:
  const abi::Transaction& transaction_;
  bool looked_ = false;
  std::unordered_map<std::string, abi::ServicePortKey> keys_;
};

// Tells the daemon.
void report_left_out(abi::Host& host, const abi::ServicePortKey& key, const std::string& name, const std::string& why);

class LeftOut {
 public:
  // `host` outlives this.
  explicit LeftOut(abi::Host& host) : host_(host) {}

  // During apply(), for a transaction that was carried out. A full one has tried all service ports, a delta those it names.
  void note(const abi::Transaction& transaction, const Problems& problems);

  // One that no transaction has named has got something. The daemon has it among those that are left out until it is named
  // again, so that a full transaction is asked for; not for those that were not left out.
  void gained(const std::string& name, const std::string& what);

  // The same where nothing of it is missing any more, which the daemon believes. During apply(), after note().
  void served(const std::string& name);

 private:
  abi::Host& host_;
  std::map<std::string, abi::Protocol> names_;
};

}  // namespace sluice::netfilter
