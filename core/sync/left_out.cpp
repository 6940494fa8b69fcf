// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/left_out.hpp"

namespace sluice::sync {
namespace {

plugin::ServicePortName name_of(const store::ServicePortKey& key) {
  return {std::string(key.service.name_space.text()), key.service.name, std::string(key.port_name.text()),
          static_cast<abi::Protocol>(key.protocol)};
}

}  // namespace

void LeftOut::note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports) {
  if (transaction.full) {
    reasons_.clear();
  } else if (!reasons_.empty()) {
    for (const auto& port : transaction.service_ports) reasons_.erase(name_of(port->key));
    for (const auto& key : transaction.removed) reasons_.erase(name_of(key));
  }
  for (const auto& one : reports.served) reasons_.erase(one);
  for (const auto& one : reports.failed) reasons_[one.port] = one.message;
}

}  // namespace sluice::sync
