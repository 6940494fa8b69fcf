// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether the server supports streaming lists, shared by the reflectors, because support does not depend on the
// resource. Forgotten when the server is unreachable, because the next one may be another, and after an hour, because
// servers are upgraded behind one address. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

// The value of client-go's feature gate KUBE_FEATURE_WatchListClient; true if it is not set.
bool streaming_lists_wanted(const std::function<std::string(const std::string& name)>& environment);

class StreamingSupport {
 public:
  // If `wanted` is false, streaming lists are never used. The clock must outlive this object.
  StreamingSupport(bool wanted, const lib::Clock& clock) : wanted_(wanted), clock_(clock) {}

  bool may_be_supported() const;
  // The server does not support streaming lists. Logs `reason` the first time.
  void mark_unsupported(const std::string& reason);
  void unreachable();

 private:
  const bool wanted_;
  const lib::Clock& clock_;
  mutable lib::Mutex mutex_;
  std::optional<lib::Clock::Time> unsupported_since_ SLUICE_GUARDED_BY(mutex_);
  bool logged_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::kube
