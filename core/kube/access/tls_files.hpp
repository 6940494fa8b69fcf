// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// CA, client certificate and key. The files are checked on each read(), so that they can be replaced while the daemon
// runs. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/kept_value_log.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Content of the TLS files. Empty parts are not used.
struct TlsMaterial {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  std::string certificate_origin;  // for messages
  std::string key_origin;

  bool operator==(const TlsMaterial&) const = default;
  bool same_identity(const TlsMaterial& other) const {
    return certificate_pem == other.certificate_pem && key_pem == other.key_pem;
  }
};

class TlsFiles {
 public:
  // The observer may be null and must outlive this object.
  TlsFiles(Material ca, Material certificate, Material key, CredentialObserver* observer = nullptr)
      : ca_(std::move(ca)), certificate_(std::move(certificate)), key_(std::move(key)), observer_(observer) {}

  // Fails only until the files were usable once. Later, files that are unreadable or do not match (a new certificate
  // with the old key) leave the previous content active.
  lib::Result<TlsMaterial> read();
  // Whether the last read() kept previous content because of a problem: check again soon.
  bool inconsistent() const;

 private:
  lib::Status read_ca() SLUICE_REQUIRES(mutex_);
  void ca_reloaded(bool success, std::string_view reason) const SLUICE_REQUIRES(mutex_);
  lib::Status read_pair() SLUICE_REQUIRES(mutex_);
  void log_expiry() SLUICE_REQUIRES(mutex_);

  const Material ca_;
  const Material certificate_;
  const Material key_;
  CredentialObserver* const observer_;
  mutable lib::Mutex mutex_;
  TlsMaterial last_ SLUICE_GUARDED_BY(mutex_);
  bool inconsistent_ SLUICE_GUARDED_BY(mutex_) = false;
  bool expiry_logged_ SLUICE_GUARDED_BY(mutex_) = false;
  KeptValueLog ca_kept_ SLUICE_GUARDED_BY(mutex_);
  KeptValueLog pair_kept_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube
