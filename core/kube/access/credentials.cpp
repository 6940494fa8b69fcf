// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/credentials.hpp"

#include <utility>

#include "core/kube/access/base64.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

const lib::Clock& Credentials::steady_clock() {
  static const lib::SteadyClock clock;
  return clock;
}

Credentials::Credentials(ConnectionConfig config, const lib::Clock& clock, CredentialObserver* observer)
    : config_(std::move(config)),
      tls_files_(config_.ca, config_.client_certificate, config_.client_key, observer),
      token_(config_.token, clock) {
  if (config_.exec)
    exec_ = std::make_unique<ExecPlugin>(
        config_, clock, [] { return std::chrono::system_clock::now(); }, observer);
}

lib::Status Credentials::check() {
  if (!config_.server.tls) return {};
  if (const auto tls = tls_files_.read(); !tls) return tls.status();
  if (config_.token.given()) {
    if (const auto token = token_.token(); !token) return token.status();
  }
  return exec_ == nullptr ? lib::Status() : exec_->find().status();
}

lib::Result<ConnectionSecrets> Credentials::load(const std::function<bool()>& stopped) {
  ConnectionSecrets out;
  // Credentials are sent over TLS only; plain HTTP would expose them.
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
  auto from_program = exec_->credential(out.tls.ca_pem, stopped);
  if (!from_program) return from_program.status();
  if (out.authorization.empty() && !from_program->token.empty())
    out.authorization = std::string(kBearer) + from_program->token;
  if (out.tls.certificate_pem.empty() && !from_program->certificate_pem.empty()) {
    out.tls.certificate_pem = std::move(from_program->certificate_pem);
    out.tls.key_pem = std::move(from_program->key_pem);
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
  // Credentials from other sources say nothing about the program.
  exec_->refused(config_.token.given() ? std::string() : token,
                 config_.client_certificate.given() ? std::string() : secrets.tls.certificate_pem);
}

}  // namespace sluice::kube
