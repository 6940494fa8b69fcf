// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/exec_credential.hpp"

#include <simdjson.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/kube/access/base64.hpp"
#include "core/kube/access/certificates.hpp"
#include "core/kube/decode/json_field.hpp"
#include "core/kube/decode/json_text.hpp"
#include "core/kube/decode/text.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

// Empty for an empty text, whose member is omitted.
std::string json_text(std::string_view text) {
  std::string out;
  if (!text.empty()) append_json_string(out, text);
  return out;
}

// The members are names and JSON values. Members with an empty value are omitted; at least one is not empty.
std::string json_object(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string out;
  for (const auto& [name, json] : members) {
    if (!json.empty()) out.append(out.empty() ? "{" : ",").append(json_text(name)).append(":").append(json);
  }
  return out + "}";
}

std::string cluster_json(const ConnectionConfig& config, const std::string& ca_pem) {
  return json_object({{"server", json_text(config.server.to_string())},
                      {"tls-server-name", json_text(config.tls_server_name)},
                      {"insecure-skip-tls-verify", config.insecure_skip_tls_verify ? "true" : ""},
                      {"certificate-authority-data", json_text(base64_encode(ca_pem))},
                      {"proxy-url", json_text(config.proxy ? config.proxy->to_string() : "")},
                      {"disable-compression", config.disable_compression ? "true" : ""},
                      {"config", config.exec->cluster_config}});
}

lib::Status check_answer(const ExecCredential& answer) {
  if (answer.token.empty() && answer.certificate_pem.empty() && answer.key_pem.empty()) {
    return lib::invalid("status holds neither a token nor a client certificate");
  }
  if (answer.certificate_pem.empty() != answer.key_pem.empty()) {
    return lib::invalid("status holds only one of clientCertificateData and clientKeyData");
  }
  if (!answer.certificate_pem.empty()) {
    return check_pair(answer.certificate_pem, "status.clientCertificateData", answer.key_pem, "status.clientKeyData");
  }
  for (const char c : answer.token) {
    if (c <= 0x20 || c >= 0x7f) return lib::invalid("status.token holds characters a token cannot have");
  }
  return {};
}

}  // namespace

std::string exec_info(const ConnectionConfig& config, const std::string& ca_pem) {
  return json_object(
      {{"kind", json_text("ExecCredential")},
       {"apiVersion", json_text(config.exec->api_version)},
       {"spec", json_object({{"cluster", config.exec->provide_cluster_info ? cluster_json(config, ca_pem) : ""},
                             {"interactive", "false"}})}});
}

lib::Result<ExecCredential> parse_exec_credential(const std::string& json, const std::string& api_version) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(json).get(root) != simdjson::SUCCESS) return lib::invalid("it is not JSON");
  FieldError error;
  const JsonField document(root, error);
  const JsonField kind = document.get("kind");
  const JsonField version = document.get("apiVersion");
  const JsonField status = document.get("status");
  const JsonField token = status.get("token");
  const JsonField certificate = status.get("clientCertificateData");
  const JsonField key = status.get("clientKeyData");
  const JsonField expires = status.get("expirationTimestamp");
  ExecCredential out;
  const std::string kind_text(kind.text());
  const std::string version_text(version.text());
  const std::string expires_text(expires.text());
  out.token = token.text();
  out.certificate_pem = certificate.text();
  out.key_pem = key.text();
  if (document.failed()) return lib::invalid(error.to_string());
  if (kind_text != "ExecCredential") return lib::invalid("its kind is " + in_quotes(kind_text));
  if (version_text != api_version) {
    return lib::invalid("its apiVersion is " + in_quotes(version_text) + ", but the kubeconfig says " + api_version);
  }
  if (!status.present()) return lib::invalid("status is missing");
  if (!expires_text.empty()) {
    out.expires = lib::parse_rfc3339(expires_text);
    if (!out.expires) return lib::invalid("status.expirationTimestamp is not a time");
  }
  if (auto wrong = check_answer(out); !wrong.ok()) return wrong;
  return out;
}

}  // namespace sluice::kube
