// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/scan.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sluice::conntrack {
namespace {

constexpr std::size_t kBatch = 512;

bool is_stale(const Flow& flow, const ConntrackState& state, const ConntrackWork& work,
              OldBackendFlows* old_backend_flows, const LateReplies* late) {
  switch (state.judge(flow, work)) {
    case ConntrackState::Verdict::kValid:
      return late != nullptr && late->created(flow);
    case ConntrackState::Verdict::kThroughIpvs:
      return old_backend_flows != nullptr && !old_backend_flows->keep_ipvs_flow(flow);
    case ConntrackState::Verdict::kStale:
      return true;
    case ConntrackState::Verdict::kStaleLocal:
      return old_backend_flows == nullptr || !old_backend_flows->keep_relayed_flow(flow);
  }
  return false;
}

// The supported queries of the scan, unique, or one for all flows if that costs less.
std::vector<FlowQuery> queries_of_scan(lib::Family family, const ConntrackWork& work, const ConntrackTable& table) {
  std::vector<FlowQuery> queries;
  for (const FlowQuery& wanted : work.queries()) {
    const FlowQuery query = table.supported_query(family, wanted);
    if (std::find(queries.begin(), queries.end(), query) == queries.end()) queries.push_back(query);
  }
  if (queries.size() > 1 && table.is_full_dump_cheaper(family, queries.size())) return {FlowQuery{}};
  return queries;
}

}  // namespace

lib::Result<ConntrackScan> reconcile_conntrack(lib::Family family, const ConntrackState& state,
                                               const ConntrackWork& work, ConntrackTable& table,
                                               const std::atomic<bool>& stop, OldBackendFlows* old_backend_flows,
                                               LateReplies* late, lib::Clock::Time now,
                                               const UpdateState& update_state) {
  ConntrackScan scan;
  lib::Status failed;
  std::vector<Flow> batch;
  const auto flush = [&] {
    if (batch.empty()) return true;
    if (update_state) {
      if (!update_state()) {
        batch.clear();
        scan.aborted = true;
        return false;
      }
      std::erase_if(batch, [&](const Flow& flow) { return !is_stale(flow, state, work, old_backend_flows, late); });
      if (batch.empty()) return true;
    }
    for (const Flow& flow : batch) {
      // An entry that a late reply created is not noted: its client is tracked already.
      if (late != nullptr && !flow.translated() && !late->created(flow)) late->note(flow, now);
    }
    const auto removed = table.remove(family, batch);
    batch.clear();
    if (removed)
      scan.deleted += *removed;
    else
      failed = removed.status();
    return removed.ok();
  };
  const auto visitor = [&](const Flow& flow) {
    ++scan.scanned;
    if (is_stale(flow, state, work, old_backend_flows, late)) batch.push_back(flow);
    return !stop && (batch.size() < kBatch || flush());
  };
  std::vector<FlowQuery> done;
  for (const FlowQuery& wanted : queries_of_scan(family, work, table)) {
    // Call again: the last dump may have shown that the kernel ignores filters, and the table may have grown.
    const FlowQuery query = table.supported_query(family, wanted);
    if (std::find(done.begin(), done.end(), query) != done.end()) continue;
    done.push_back(query);
    lib::Status status;
    for (int attempt = 0; attempt < kConntrackAttempts; ++attempt) {
      status = table.dump(family, query, visitor);
      if (status.os_errno() != EINTR) break;
    }
    if (!scan.aborted) flush();
    if (scan.aborted) return scan;
    if (!failed.ok()) return failed;
    if (status.os_errno() == EINTR) {
      scan.partial = true;
    } else if (!status.ok()) {
      return status;
    }
    if (stop || query.all_flows()) break;
  }
  return scan;
}

}  // namespace sluice::conntrack
