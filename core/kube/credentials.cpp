// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/credentials.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/files.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kMaxSecretBytes = 1u << 20;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

base::Result<std::string> read(const Material& material, const char* what) {
  if (material.file.empty()) return material.inline_content;
  auto content = base::read_file(material.file, kMaxSecretBytes);
  if (!content) return content.status().prefixed(std::string("the ") + what);
  return content;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string trimmed(const std::string& text) {
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (begin < end && is_space(text[begin])) ++begin;
  while (end > begin && is_space(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string ServerUrl::to_string() const {
  const bool bracket = host.find(':') != std::string::npos;
  return std::string(tls ? "https://" : "http://") + (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port) +
         base_path;
}

base::Result<ServerUrl> parse_server_url(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return base::invalid("\"" + text + "\" is not the address of a server: " + why + "; write it as https://host:port");
  };
  ServerUrl out;
  std::string_view rest = text;
  if (const auto scheme_end = rest.find("://"); scheme_end != std::string_view::npos) {
    const std::string_view scheme = rest.substr(0, scheme_end);
    if (scheme != "https" && scheme != "http") return wrong("the scheme is neither https nor http");
    out.tls = scheme == "https";
    rest.remove_prefix(scheme_end + 3);
  } else {
    out.tls = false;
  }
  out.port = out.tls ? 443 : 80;

  const auto path_begin = rest.find('/');
  std::string_view authority = rest.substr(0, path_begin);
  if (path_begin != std::string_view::npos) {
    std::string_view path = rest.substr(path_begin);
    while (path.ends_with('/')) path.remove_suffix(1);
    out.base_path = path;
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong("it has a query");
  if (authority.find('@') != std::string_view::npos)
    return base::invalid("the address of the server holds credentials; put them into the user's entry");

  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return wrong("a bracket is not closed");
    out.host = authority.substr(1, close - 1);
    std::string_view behind = authority.substr(close + 1);
    if (!behind.empty() && behind.front() != ':') return wrong("there is text behind the bracket");
    if (!behind.empty()) port = behind.substr(1);
    if (!behind.empty() && port.empty()) return wrong("the port is missing");
  } else if (const auto colon = authority.rfind(':'); colon != std::string_view::npos) {
    out.host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    if (out.host.find(':') != std::string::npos) return wrong("an IPv6 address needs brackets");
    if (port.empty()) return wrong("the port is missing");
  } else {
    out.host = authority;
  }
  constexpr std::string_view kHost = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  if (out.host.empty()) return wrong("the host is missing");
  if (out.host.find_first_not_of(kHost) != std::string::npos) return wrong("the host has characters no host has");
  if (!port.empty()) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
      return wrong("the port is not a number from 1 to 65535");
    }
    out.port = static_cast<std::uint16_t>(number);
  }
  return out;
}

base::Result<ConnectionSecrets> Credentials::load() {
  ConnectionSecrets out;
  // Credentials go over TLS only; over plain http they would be readable by anybody.
  if (!config_.server.tls) return out;
  auto ca = read(config_.ca, "CA certificate");
  if (!ca) return ca.status();
  auto certificate = read(config_.client_certificate, "client certificate");
  if (!certificate) return certificate.status();
  auto key = read(config_.client_key, "client key");
  if (!key) return key.status();
  out.ca_pem = std::move(*ca);
  out.certificate_pem = std::move(*certificate);
  out.key_pem = std::move(*key);

  if (config_.token.given()) {
    const std::lock_guard lock(mutex_);
    auto token = read(config_.token, "token");
    const std::string text = token ? trimmed(*token) : std::string();
    if (!text.empty()) {
      last_token_ = text;
    } else if (last_token_.empty()) {
      return token ? base::invalid("the token " + config_.token.origin + " is empty") : token.status();
    }
    const auto printable = [](char c) { return c > 0x20 && c < 0x7f; };
    if (!std::all_of(last_token_.begin(), last_token_.end(), printable)) {
      return base::invalid("the token " + config_.token.origin + " holds characters a token cannot have");
    }
    out.authorization = "Bearer " + last_token_;
  } else if (!config_.username.empty()) {
    out.authorization = "Basic " + base64_encode(config_.username + ":" + config_.password);
  }
  return out;
}

std::string base64_encode(const std::string& bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

base::Result<std::string> base64_decode(const std::string& text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  bool padded = false;
  std::size_t characters = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    ++characters;
    if (c == '=') {
      padded = true;
      continue;
    }
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos || padded) return base::invalid("is not base64");
    group = (group << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (characters % 4 != 0) return base::invalid("is not base64");
  return out;
}

}  // namespace sluice::kube
