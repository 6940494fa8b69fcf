// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift of virtual servers, sets, addresses and rules as rows that name the service port.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"
#include "plugins/ipvs/servers/server_drift.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/wanted.hpp"

namespace sluice::ipvs {

class DriftReport {
 public:
  // `wanted` supplies the service ports. All outlive this.
  DriftReport(const Wanted& wanted, abi::Family family, inspection::DriftRows& rows)
      : wanted_(wanted), family_(family), rows_(rows) {}

  bool wants(const ServerKey& key) const;
  void add(const ServerDrift& drift);
  void add(const SetDrift& drift);
  // `ours`: the next full transaction removes an added address.
  void add(const AddressDrift& drift, bool ours);
  void add(const RuleDrift& drift);

 private:
  using Row = inspection::DriftRows::Row;

  // The only service port that wants the entry or address; null for several or none.
  const PortId* owner_of(const SetItem& item);
  void add(Row row, const PortId* owner);

  const Wanted& wanted_;
  const abi::Family family_;
  inspection::DriftRows& rows_;
  // Made when it is needed; null for several.
  std::optional<std::map<SetItem, const PortId*>> owners_;
  std::vector<PortId> ids_;
};

}  // namespace sluice::ipvs
