// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports that are not served, or not at all their addresses: who is told of them, and when they are tried again. Not
// what becomes of them in the kernel. The apply thread only; one for each backend.
#pragma once

#include <map>
#include <set>
#include <string>

#include "plugins/common/netfilter/retry_clock.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::netfilter {

// What of one transaction is not served, and why, by printed name.
using Problems = std::map<std::string, std::string>;

// Several reasons become one text.
void add_problem(Problems& problems, const std::string& name, const std::string& why);

class LeftOut {
 public:
  // `host` outlives this.
  explicit LeftOut(abi::Host& host) : host_(host) {}

  // During apply(), for a transaction that was carried out. A full one has tried all service ports, a delta those it names.
  void note(const abi::Transaction& transaction, const Problems& problems);

  // One that no transaction has named has got something. The daemon has it among those that are left out until it is named
  // again, so that a full transaction is asked for; not for those that were not left out.
  void gained(const std::string& name, const std::string& what);

  // Asks for a full transaction when it is time to try them again.
  void retry_when_due();

 private:
  abi::Host& host_;
  std::set<std::string> names_;
  RetryClock clock_;
};

}  // namespace sluice::netfilter
