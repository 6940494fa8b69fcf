// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/request_headers.hpp"

#include <algorithm>
#include <string_view>

#include "lib/text.hpp"

namespace sluice::kube {
namespace {

#if defined(__x86_64__)
constexpr const char* kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr const char* kPlatform = "linux/arm64";
#else
constexpr const char* kPlatform = "linux";
#endif

// A key may be any text; characters that a header name cannot contain are percent-encoded, which the API server
// decodes.
std::string header_name_part(std::string_view key) {
  constexpr std::string_view kToken = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~";
  return lib::percent_encoded(key, kToken);
}

void impersonate(HttpHeaders& out, const Impersonation& impersonation) {
  if (impersonation.user.empty()) return;
  out.emplace_back("Impersonate-User", impersonation.user);
  if (!impersonation.uid.empty()) out.emplace_back("Impersonate-Uid", impersonation.uid);
  for (const auto& group : impersonation.groups) out.emplace_back("Impersonate-Group", group);
  for (const auto& [key, texts] : impersonation.extra) {
    for (const auto& value : texts) out.emplace_back("Impersonate-Extra-" + header_name_part(key), value);
  }
}

bool fits_header(const std::string& value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

}  // namespace

HttpHeaders request_headers(const Request& request, const ConnectionConfig& config, const std::string& version,
                            const std::string& authorization) {
  HttpHeaders out{{"Accept", request.accept}, {"User-Agent", "sluiced/" + version + " (" + kPlatform + ")"}};
  if (!authorization.empty()) out.emplace_back("Authorization", authorization);
  if (config.server.tls) impersonate(out, config.impersonate);
  return out;
}

lib::Status check_impersonation(const Impersonation& impersonation) {
  const auto wrong = [](const std::string& field) {
    return lib::invalid(field + " holds control characters, which no HTTP header can carry; remove them");
  };
  if (!fits_header(impersonation.user)) return wrong("as");
  if (!fits_header(impersonation.uid)) return wrong("as-uid");
  if (!std::all_of(impersonation.groups.begin(), impersonation.groups.end(), fits_header)) return wrong("as-groups");
  for (const auto& [key, texts] : impersonation.extra) {
    if (!std::all_of(texts.begin(), texts.end(), fits_header)) return wrong("as-user-extra." + key);
  }
  return {};
}

}  // namespace sluice::kube
