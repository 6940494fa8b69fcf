// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Receives events of credentials: calls of a credential program, its client certificates, and reloads of CA files.
// Methods may be called by any thread and must not block.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::kube {

class CredentialObserver {
 public:
  virtual ~CredentialObserver() = default;
  // A credential program was called. `code` is its exit status, -1 if a signal killed it, 1 if it did not start.
  // `status` is a label value of client-go: "no_error", "plugin_execution_error", "plugin_not_found_error".
  virtual void exec_plugin_called(int code, std::string_view status) = 0;
  // The client certificate that `plugin` uses expires at `when`; absent if it has none, or when `plugin` is destroyed.
  virtual void exec_certificate_expires(const void* plugin,
                                        std::optional<std::chrono::system_clock::time_point> when) = 0;
  // A new certificate of a credential program replaces one that became valid `age_seconds` ago.
  virtual void exec_certificate_rotated(double age_seconds) = 0;
  // The CA file was reloaded. `reason` is a label value of client-go: "unchanged" or "updated" on success;
  // "read_error", "empty" or "ca_parse_error" on failure.
  virtual void ca_reloaded(bool success, std::string_view reason) = 0;
};

}  // namespace sluice::kube
