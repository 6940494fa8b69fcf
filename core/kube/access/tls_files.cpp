// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/tls_files.hpp"

#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/access/certificates.hpp"
#include "lib/files.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;

lib::Result<std::string> content_of(const Material& material, const char* what) {
  if (material.file.empty()) return material.inline_content;
  auto content = lib::read_file(material.file, kMaxFileBytes);
  if (!content) return content.status().prefixed(std::string("the ") + what);
  return content;
}

}  // namespace

lib::Status TlsFiles::read_ca() {
  if (!ca_.given()) return {};
  auto pem = content_of(ca_, "CA certificate");
  if (!pem) {
    ca_reloaded(false, "read_error");
    return pem.status();
  }
  if (*pem == last_.ca_pem) {
    ca_reloaded(true, "unchanged");
    return {};
  }
  if (auto status = check_authorities(*pem, ca_.origin); !status.ok()) {
    ca_reloaded(false, pem->empty() ? "empty" : "ca_parse_error");
    return status;
  }
  if (!last_.ca_pem.empty())
    base::log(base::message::kCaChanged, "the CA certificate " + ca_.origin + " has changed", {{"file", ca_.origin}});
  ca_reloaded(true, "updated");
  last_.ca_pem = std::move(*pem);
  return {};
}

// Reports reloads only: not inline content, and not the first read.
void TlsFiles::ca_reloaded(bool success, std::string_view reason) const {
  if (observer_ != nullptr && !ca_.file.empty() && !last_.ca_pem.empty()) observer_->ca_reloaded(success, reason);
}

lib::Status TlsFiles::read_pair() {
  if (!certificate_.given()) return {};
  auto certificate = content_of(certificate_, "client certificate");
  if (!certificate) return certificate.status();
  auto key = content_of(key_, "client key");
  if (!key) return key.status();
  if (*certificate == last_.certificate_pem && *key == last_.key_pem) return {};
  if (auto status = check_pair(*certificate, certificate_.origin, *key, key_.origin); !status.ok()) return status;
  if (!last_.certificate_pem.empty()) {
    base::log(base::message::kClientCertificateChanged,
              "the client certificate has changed: " +
                  describe_certificate(certificate_.origin, *certificate, std::chrono::system_clock::now()),
              {{"file", certificate_.origin}});
  }
  expiry_logged_ = false;
  last_.certificate_pem = std::move(*certificate);
  last_.key_pem = std::move(*key);
  last_.certificate_origin = certificate_.origin;
  last_.key_origin = key_.origin;
  return {};
}

// Logged because the server only answers 401 to an expired certificate, or closes the connection.
void TlsFiles::log_expiry() {
  const auto now = std::chrono::system_clock::now();
  if (expiry_logged_ || !has_expired(last_.certificate_pem, now)) return;
  expiry_logged_ = true;
  base::log(base::message::kClientCertificateExpired,
            "the client certificate " + describe_certificate(certificate_.origin, last_.certificate_pem, now) +
                " cannot be used; renew it, or correct this node's clock",
            {{"file", last_.certificate_origin}});
}

lib::Result<TlsMaterial> TlsFiles::read() {
  const lib::Lock lock(mutex_);
  const lib::Status ca = read_ca();
  if (!ca.ok() && last_.ca_pem.empty()) return ca;
  const lib::Status pair = read_pair();
  if (!pair.ok() && last_.certificate_pem.empty()) return pair;
  if (ca.ok())
    ca_kept_.renewed("the CA certificate " + ca_.origin);
  else
    ca_kept_.kept(ca.message());
  if (pair.ok())
    pair_kept_.renewed("the client certificate " + certificate_.origin);
  else
    pair_kept_.kept(pair.message());
  log_expiry();
  inconsistent_ = !ca.ok() || !pair.ok();
  return last_;
}

bool TlsFiles::inconsistent() const {
  const lib::Lock lock(mutex_);
  return inconsistent_;
}

}  // namespace sluice::kube
