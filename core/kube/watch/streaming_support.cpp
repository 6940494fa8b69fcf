// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/streaming_support.hpp"

#include <array>
#include <string_view>

#include "core/base/log_messages.hpp"
#include "core/kube/decode/text.hpp"
#include "lib/text.hpp"

namespace sluice::kube {
namespace {

constexpr const char* kSwitch = "KUBE_FEATURE_WatchListClient";
constexpr auto kRetryInterval = std::chrono::hours(1);

}  // namespace

bool streaming_lists_wanted(const std::function<std::string(const std::string& name)>& environment) {
  // The values that client-go accepts.
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "false", "FALSE", "False"};
  const std::string value = environment(kSwitch);
  if (lib::contains(kFalse, value)) return false;
  if (!value.empty() && !lib::contains(kTrue, value)) {
    base::log(
        base::message::kStreamingSwitchInvalid,
        std::string(kSwitch) + " is " + in_quotes(value) + ", which is neither true nor false; lists are streamed",
        {{"value", value}});
  }
  return true;
}

bool StreamingSupport::may_be_supported() const {
  const lib::Lock lock(mutex_);
  return wanted_ && !(unsupported_since_ && clock_.now() - *unsupported_since_ < kRetryInterval);
}

void StreamingSupport::mark_unsupported(const std::string& reason) {
  {
    const lib::Lock lock(mutex_);
    unsupported_since_ = clock_.now();
    if (logged_) return;
    logged_ = true;
  }
  base::log(base::message::kStreamingUnavailable,
            "the server does not offer streaming lists: " + reason + "; listing instead", {{"reason", reason}});
}

void StreamingSupport::unreachable() {
  const lib::Lock lock(mutex_);
  unsupported_since_.reset();
}

}  // namespace sluice::kube
