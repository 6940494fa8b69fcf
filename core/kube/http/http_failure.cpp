// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/http_failure.hpp"

#include <cerrno>
#include <string>

#include "core/kube/access/certificates.hpp"

namespace sluice::kube {
namespace {

std::string named(const ConnectionConfig& config) { return "the API server " + config.server.to_string(); }

std::string named_proxy(const Proxy& proxy) { return "the proxy " + proxy.to_string() + " of " + proxy.origin; }

lib::Status denied(std::string sentence) { return {lib::StatusCode::denied, std::move(sentence)}; }

std::string tls_sentence(unsigned code, const std::string& words, const FailedConnection& connection,
                         std::chrono::system_clock::time_point now) {
  const std::string reason = connection.report.sentence(connection.config);
  if (!reason.empty()) return reason;
  if (!refuses_client_certificate(code)) return words;
  const TlsMaterial& material = connection.material;
  if (material.certificate_pem.empty())
    return "it wants a client certificate (" + words + "); name one in the user's entry";
  return "it rejects the client certificate " +
         describe_certificate(material.certificate_origin, material.certificate_pem, now) + ": " + words + "; renew it";
}

// A server that rejects a certificate may close the connection before its alert is read.
std::string expiry_hint(const FailedConnection& connection, std::chrono::system_clock::time_point now) {
  const TlsMaterial& material = connection.material;
  if (connection.answered || !has_expired(material.certificate_pem, now)) return {};
  return "; it may be for the client certificate " +
         describe_certificate(material.certificate_origin, material.certificate_pem, now) + ": renew it";
}

// The library reports the status code of a proxy only at the end of its error text.
lib::Status proxy_refusal(const std::string& words, const ConnectionConfig& config) {
  const auto behind = words.find_last_not_of("0123456789");
  const std::string number = behind == std::string::npos ? std::string() : words.substr(behind + 1);
  const std::string proxy = named_proxy(*config.proxy);
  if (number.size() != 3) return lib::unavailable(proxy + " sent a broken HTTP answer");
  const std::string refused = proxy + " answers " + number + " when asked for " + named(config);
  if (number == "407") return denied(refused + "; give it a user name and password as http://user:password@host:port");
  return lib::unavailable(refused);
}

}  // namespace

lib::Status unreachable(const ConnectionConfig& config, const std::string& reason) {
  const std::string through = config.proxy ? " through " + named_proxy(*config.proxy) : std::string();
  return lib::unavailable("cannot reach " + named(config) + through + ": " + reason);
}

lib::Status explain_failure(const HttpFailure& failure, const FailedConnection& connection,
                            std::chrono::system_clock::time_point now) {
  const ConnectionConfig& config = connection.config;
  const HttpRoute& route = connection.route;
  const std::string server = named(config);
  if (failure.code < 0) return unreachable(config, failure.text);
  const auto code = static_cast<unsigned>(failure.code);
  if (const auto words = tls_error_text(code); !words.empty()) {
    return denied("no TLS connection with " + server + ": " + tls_sentence(code, words, connection, now));
  }
  switch (failure.code) {
    case ETIME:
    case ETIMEDOUT:
      return {lib::StatusCode::unavailable,
              server + " has sent nothing for " + std::to_string(failure.silence.count()) + " seconds", failure.code};
    case EHOSTUNREACH: {
      // The library also reports a refused connection with this code.
      const auto port = route.proxy ? route.proxy->port : route.server.port;
      const lib::Status error = connection.connect_reason.find(route.address, port);
      return unreachable(config, error.ok() ? "the connection failed; it works again" : error.message());
    }
    case 0:
      if (route.proxy && !connection.answered) return proxy_refusal(failure.text, config);
      return lib::unavailable(server + " sent a broken HTTP answer" +
                              (failure.text.empty() ? "" : " (" + failure.text + ")"));
    case 1:
    case 2:
    case ECONNABORTED:
      return {lib::StatusCode::unavailable, server + " has closed the connection" + expiry_hint(connection, now),
              ECONNRESET};
    default:
      return {lib::StatusCode::unavailable,
              lib::errno_status("the connection with " + server + " failed", failure.code).message() +
                  expiry_hint(connection, now),
              failure.code};
  }
}

}  // namespace sluice::kube
