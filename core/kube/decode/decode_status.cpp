// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// meta/v1 Status (BEH 1.7).

#include <algorithm>

#include "core/kube/decode/decode_object.hpp"

namespace sluice::kube {

ApiStatus decode_status(const JsonField& root) {
  constexpr std::int64_t kLongestWait = 3600;
  ApiStatus out;
  const JsonField code = root.get("code");
  const JsonField reason = root.get("reason");
  const JsonField message = root.get("message");
  out.code = static_cast<int>(std::clamp<std::int64_t>(code.integer().value_or(0), 0, 999));
  out.reason = reason.text();
  out.message = message.text();

  const JsonField details = root.get("details");
  const JsonField retry_after = details.get("retryAfterSeconds");
  if (const auto seconds = retry_after.integer(); seconds && *seconds > 0) {
    out.retry_after = std::chrono::seconds(std::min(*seconds, kLongestWait));
  }
  const JsonField causes = details.get("causes");
  causes.each([&](const JsonField& cause) {
    const JsonField cause_reason = cause.get("reason");
    if (cause_reason.text() == "ResourceVersionTooLarge") out.too_large_resource_version = true;
  });
  // Servers before 1.20 send no cause.
  if (out.message.find("Too large resource version") != std::string::npos) out.too_large_resource_version = true;
  return out;
}

}  // namespace sluice::kube
