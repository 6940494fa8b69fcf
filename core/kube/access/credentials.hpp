// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The credentials for a request: files, tokens and the output of a credential program, each renewed by its own rules.
// Inline content and files take precedence over the program. Thread-safe.
//
// Credentials are never printed; messages name the file or the field instead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/exec_plugin.hpp"
#include "core/kube/access/tls_files.hpp"
#include "core/kube/access/token_file.hpp"
#include "lib/clock.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct ConnectionSecrets {
  TlsMaterial tls;
  std::string authorization;  // value of the Authorization header; empty = none

  bool operator==(const ConnectionSecrets&) const = default;
};

class Credentials {
 public:
  // The clock and the observer (may be null) must outlive this object.
  explicit Credentials(ConnectionConfig config, const lib::Clock& clock = steady_clock(),
                       CredentialObserver* observer = nullptr);
  static const lib::Clock& steady_clock();

  const ConnectionConfig& config() const { return config_; }

  // Checks that all configured credentials are usable. Finds the credential program, but does not run it.
  lib::Status check();
  // Returns the credentials for the next request. May run the program; returns early if `stopped` returns true.
  lib::Result<ConnectionSecrets> load(const std::function<bool()>& stopped = {});
  // Only the TLS files, to compare with those of an open connection.
  lib::Result<TlsMaterial> tls_files() { return tls_files_.read(); }
  // The files were inconsistent or unreadable, probably because they are being replaced: check again soon.
  bool inconsistent() const { return tls_files_.inconsistent(); }

  // Whether new credentials can be obtained after a 401.
  bool renewable() const { return config_.server.tls && (!config_.token.file.empty() || exec_ != nullptr); }
  // The server answered 401 to `secrets`: load() renews them.
  void refused(const ConnectionSecrets& secrets);

 private:
  const ConnectionConfig config_;
  TlsFiles tls_files_;
  TokenFile token_;
  std::unique_ptr<ExecPlugin> exec_;
};

}  // namespace sluice::kube
