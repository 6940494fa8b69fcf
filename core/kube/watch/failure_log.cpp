// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/failure_log.hpp"

#include "core/base/log_messages.hpp"

namespace sluice::kube {
namespace {

bool is_power_of_four(std::uint64_t number) {
  while (number % 4 == 0 && number != 0) number /= 4;
  return number == 1;
}

}  // namespace

void FailureLog::failed(const std::string& topic, const std::string& reason) {
  std::uint64_t same = 0;
  {
    const lib::Lock lock(mutex_);
    Entry& entry = entries_[topic];
    ++entry.total;
    if (entry.reason != reason) {
      entry.reason = reason;
      entry.same = 0;
    }
    same = ++entry.same;
  }
  if (!is_power_of_four(same)) return;
  const std::string again = same == 1 ? "; retrying" : "; failed " + std::to_string(same) + " times, retrying";
  base::log(base::message::kRequestFailed, topic + ": " + reason + again,
            {{"request", topic}, {"error", reason}, {"count", same}});
}

void FailureLog::succeeded(const std::string& topic) {
  std::uint64_t total = 0;
  {
    const lib::Lock lock(mutex_);
    const auto entry = entries_.find(topic);
    if (entry == entries_.end()) return;
    total = entry->second.total;
    entries_.erase(entry);
  }
  base::log(base::message::kRequestRecovered, topic + ": works again after " + std::to_string(total) + " failures",
            {{"request", topic}, {"count", total}});
}

}  // namespace sluice::kube
