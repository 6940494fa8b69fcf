// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// CA, client certificate and key, looked at again whenever somebody asks, so that files
// can be replaced under a running daemon. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/access/kept_value_log.hpp"

namespace sluice::kube {

// What TLS needs, read. Empty parts are not used.
struct TlsMaterial {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  std::string certificate_origin;  // for people
  std::string key_origin;

  bool operator==(const TlsMaterial&) const = default;
  bool same_identity(const TlsMaterial& other) const {
    return certificate_pem == other.certificate_pem && key_pem == other.key_pem;
  }
};

class TlsFiles {
 public:
  // The observer may be null, and outlives it.
  TlsFiles(Material ca, Material certificate, Material key, CredentialObserver* observer = nullptr)
      : ca_(std::move(ca)), certificate_(std::move(certificate)), key_(std::move(key)), observer_(observer) {}

  // Fails only while there is nothing usable yet. Later, what cannot be read or does not
  // fit together (a new certificate beside the old key) leaves the last in force.
  base::Result<TlsMaterial> read();
  // The last read left something old in force: worth another look soon.
  bool unsettled() const;

 private:
  base::Status read_ca();
  void ca_reloaded(bool success, std::string_view reason) const;
  base::Status read_pair();
  void tell_expiry();

  const Material ca_;
  const Material certificate_;
  const Material key_;
  CredentialObserver* const observer_;
  mutable std::mutex mutex_;
  TlsMaterial last_;
  bool unsettled_ = false;
  bool expiry_told_ = false;
  KeptValueLog ca_kept_;
  KeptValueLog pair_kept_;
};

}  // namespace sluice::kube
