// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Receives what happens to credentials: calls of a credential program, its client certificates, and CA files that are
// read again. Any thread; every method must return at once.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::kube {

class CredentialObserver {
 public:
  virtual ~CredentialObserver() = default;
  // A credential program was called. `code` is its exit status, -1 when a signal ended it, 1 when it did not start.
  // `status` is a word of client-go: "no_error", "plugin_execution_error", "plugin_not_found_error".
  virtual void exec_plugin_called(int code, std::string_view status) = 0;
  // The client certificate that `plugin` uses expires then; nothing: it has none, or `plugin` ends.
  virtual void exec_certificate_expires(const void* plugin,
                                        std::optional<std::chrono::system_clock::time_point> when) = 0;
  // Another certificate of a credential program replaces one that became valid `age_seconds` ago.
  virtual void exec_certificate_rotated(double age_seconds) = 0;
  // The CA file was read again. `reason` is a word of client-go: "unchanged" and "updated" of a success, "read_error",
  // "empty" and "ca_parse_error" of a failure.
  virtual void ca_reloaded(bool success, std::string_view reason) = 0;
};

}  // namespace sluice::kube
