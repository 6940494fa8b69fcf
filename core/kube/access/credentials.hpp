// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What proves who we are, put together for a request: files, tokens and the credentials
// of a program, each renewed by its own rules. What is given in place or in files goes
// before what the program hands out. Any thread.
//
// Nothing here is ever printed; sentences name the file or the field instead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/exec_plugin.hpp"
#include "core/kube/access/tls_files.hpp"
#include "core/kube/access/token_file.hpp"

namespace sluice::kube {

struct ConnectionSecrets {
  TlsMaterial tls;            // what a connection is made with
  std::string authorization;  // value of the header of a request; empty = none

  bool operator==(const ConnectionSecrets&) const = default;
};

class Credentials {
 public:
  // The clock and the observer, which may be null, outlive it.
  explicit Credentials(ConnectionConfig config, const base::Clock& clock = steady_clock(),
                       CredentialObserver* observer = nullptr);
  static const base::Clock& steady_clock();

  const ConnectionConfig& config() const { return config_; }

  // Whether all that is named can be used; the program is looked for and not run.
  base::Status check();
  // For the next request. May run the program; ends early when `stopped` says so.
  base::Result<ConnectionSecrets> load(const std::function<bool()>& stopped = {});
  // Files alone: what a running connection is compared with.
  base::Result<TlsMaterial> tls_files() { return tls_files_.read(); }
  // A file is being replaced, it seems: worth another look soon.
  bool unsettled() const { return tls_files_.unsettled(); }

  // Whether a refusal can be answered with other credentials than those refused.
  bool renewable() const { return config_.server.tls && (!config_.token.file.empty() || exec_ != nullptr); }
  // The server answered 401 to these: load() gets them anew.
  void refused(const ConnectionSecrets& secrets);

 private:
  const ConnectionConfig config_;
  TlsFiles tls_files_;
  TokenFile token_;
  std::unique_ptr<ExecPlugin> exec_;
};

}  // namespace sluice::kube
