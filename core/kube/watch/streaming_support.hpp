// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether the server is worth asking for a list as a stream, shared by the reflectors: one
// that refuses it once refuses it for every resource. Forgotten when the server cannot be
// reached, for what answers next may be another one, and after an hour, for servers are
// upgraded behind one address. Any thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/clock.hpp"

namespace sluice::kube {

// What client-go's switch of the same meaning says, KUBE_FEATURE_WatchListClient; true
// when it is not set.
bool streaming_lists_wanted(const std::function<std::string(const std::string& name)>& environment);

class StreamingSupport {
 public:
  // The clock outlives this. Not `wanted`: never.
  StreamingSupport(bool wanted, const base::Clock& clock) : wanted_(wanted), clock_(clock) {}

  bool worth_trying() const;
  // The server does not offer it; `reason` goes to the log when this is news.
  void missing(const std::string& reason);
  void unreachable();

 private:
  const bool wanted_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::optional<base::Clock::Time> missing_since_;
  bool told_ = false;
};

}  // namespace sluice::kube
