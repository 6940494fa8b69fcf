// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/credentials.hpp"

#include <utility>

#include "core/kube/access/base64.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

const base::Clock& Credentials::steady_clock() {
  static const base::SteadyClock clock;
  return clock;
}

Credentials::Credentials(ConnectionConfig config, const base::Clock& clock, CredentialObserver* observer)
    : config_(std::move(config)),
      tls_files_(config_.ca, config_.client_certificate, config_.client_key, observer),
      token_(config_.token, clock) {
  if (config_.exec)
    exec_ = std::make_unique<ExecPlugin>(
        config_, clock, [] { return std::chrono::system_clock::now(); }, observer);
}

base::Status Credentials::check() {
  if (!config_.server.tls) return {};
  if (const auto tls = tls_files_.read(); !tls) return tls.status();
  if (config_.token.given()) {
    if (const auto token = token_.token(); !token) return token.status();
  }
  return exec_ == nullptr ? base::Status() : exec_->find().status();
}

base::Result<ConnectionSecrets> Credentials::load(const std::function<bool()>& stopped) {
  ConnectionSecrets out;
  // Credentials go over TLS only; over plain http they would be readable by anybody.
  if (!config_.server.tls) return out;
  auto tls = tls_files_.read();
  if (!tls) return tls.status();
  out.tls = std::move(*tls);
  if (config_.token.given()) {
    auto token = token_.token();
    if (!token) return token.status();
    out.authorization = std::string(kBearer) + *token;
  } else if (!config_.username.empty() || !config_.password.empty()) {
    out.authorization = "Basic " + base64_encode(config_.username + ":" + config_.password);
  }
  if (exec_ == nullptr) return out;
  auto handed_out = exec_->credential(out.tls.ca_pem, stopped);
  if (!handed_out) return handed_out.status();
  if (out.authorization.empty() && !handed_out->token.empty())
    out.authorization = std::string(kBearer) + handed_out->token;
  if (out.tls.certificate_pem.empty() && !handed_out->certificate_pem.empty()) {
    out.tls.certificate_pem = std::move(handed_out->certificate_pem);
    out.tls.key_pem = std::move(handed_out->key_pem);
    out.tls.certificate_origin = "the client certificate of " + config_.exec->origin;
    out.tls.key_origin = "the client key of " + config_.exec->origin;
  }
  return out;
}

void Credentials::refused(const ConnectionSecrets& secrets) {
  const bool bearer = secrets.authorization.starts_with(kBearer);
  const std::string token = bearer ? secrets.authorization.substr(kBearer.size()) : std::string();
  if (config_.token.given()) token_.refused(token);
  if (exec_ == nullptr) return;
  // What was given otherwise says nothing about the program.
  exec_->refused(config_.token.given() ? std::string() : token,
                 config_.client_certificate.given() ? std::string() : secrets.tls.certificate_pem);
}

}  // namespace sluice::kube
