// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Credentials from a program. The program runs if there are no credentials, they are about to expire, or the server
// rejected them; otherwise they are cached. One run at a time; concurrent callers share its result. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/exec_credential.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/program.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

class ExecPlugin {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  // `config.exec` must be set. `config`, the clock and the observer (may be null) must outlive this object.
  ExecPlugin(const ConnectionConfig& config, const lib::Clock& clock, WallClock wall_clock,
             CredentialObserver* observer = nullptr);
  ~ExecPlugin();
  ExecPlugin(const ExecPlugin&) = delete;
  ExecPlugin& operator=(const ExecPlugin&) = delete;

  // The path of the program. The error has the hint how to install it.
  lib::Result<std::string> find() const;

  // Blocks while the program runs. Returns early if `stopped` returns true.
  lib::Result<ExecCredential> credential(const std::string& ca_pem, const std::function<bool()>& stopped);
  // The server rejected these credentials: the next call of credential() runs the program, unless it has newer ones
  // already. Empty: not from this program.
  void refused(const std::string& token, const std::string& certificate_pem);

 private:
  lib::Result<ExecCredential> run(const std::string& ca_pem, const std::function<bool()>& stopped) const;
  lib::Program program(const std::string& path, const std::string& ca_pem) const;
  void keep(const ExecCredential& credential) SLUICE_REQUIRES(mutex_);
  void called(int code, std::string_view status) const;
  void note_certificate(const std::string& pem) SLUICE_REQUIRES(mutex_);

  const ConnectionConfig& config_;
  const lib::Clock& clock_;
  const WallClock wall_clock_;
  CredentialObserver* const observer_;
  lib::Mutex mutex_;
  std::optional<ExecCredential> last_ SLUICE_GUARDED_BY(mutex_);
  std::string certificate_ SLUICE_GUARDED_BY(mutex_);  // PEM; of the last credential, even if it was rejected
  std::chrono::system_clock::time_point renew_at_ SLUICE_GUARDED_BY(mutex_);
  lib::Status failure_ SLUICE_GUARDED_BY(mutex_);
  std::optional<lib::Clock::Time> failed_at_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube
