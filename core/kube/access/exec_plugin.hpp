// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Credentials from a program: run when there are none, they are about to expire, or the
// server refused them; kept otherwise. One run at a time, and who waits for it takes its
// result. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/program.hpp"
#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/exec_credential.hpp"

namespace sluice::kube {

class ExecPlugin {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  // `config` has an exec; it, the clock and the observer, which may be null, outlive this.
  ExecPlugin(const ConnectionConfig& config, const base::Clock& clock, WallClock wall_clock,
             CredentialObserver* observer = nullptr);
  ~ExecPlugin();
  ExecPlugin(const ExecPlugin&) = delete;
  ExecPlugin& operator=(const ExecPlugin&) = delete;

  // Where the program is; fails with the hint how to install it.
  base::Result<std::string> find() const;

  // May take as long as the program does; ends early when `stopped` says so.
  base::Result<ExecCredential> credential(const std::string& ca_pem, const std::function<bool()>& stopped);
  // The server did not accept these: unless they are old ones, the next call runs the
  // program. Empty: it was not ours that was sent.
  void refused(const std::string& token, const std::string& certificate_pem);

 private:
  base::Result<ExecCredential> run(const std::string& ca_pem, const std::function<bool()>& stopped) const;
  base::Program program(const std::string& path, const std::string& ca_pem) const;
  void keep(const ExecCredential& credential);
  void called(int code, std::string_view status) const;
  void note_certificate(const std::string& pem);

  const ConnectionConfig& config_;
  const base::Clock& clock_;
  const WallClock wall_clock_;
  CredentialObserver* const observer_;
  std::mutex mutex_;
  std::optional<ExecCredential> last_;
  std::string certificate_;  // PEM; of the last credential, also of one that was refused
  std::chrono::system_clock::time_point renew_at_;
  base::Status failure_;
  std::optional<base::Clock::Time> failed_at_;
};

}  // namespace sluice::kube
