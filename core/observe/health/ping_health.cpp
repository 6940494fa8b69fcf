// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/ping_health.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "lib/text.hpp"

namespace sluice::observe {
namespace {

// Decodes "+" and "%41".
std::string decoded(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  std::string out;
  lib::decode_percent(blanks, out);
  return out;
}

std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    std::string_view pair = lib::take_part(query, '&');
    const std::string_view name = lib::take_part(pair, '=');
    out.emplace_back(decoded(name), decoded(pair));
  }
  return out;
}

// Like Go's %q, but non-ASCII bytes are escaped.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += "\\x" + lib::hex_byte(c);
    }
  }
  return out + "\"";
}

}  // namespace

HttpResponse PingHealth::answer(std::string_view query) {
  std::set<std::string> excluded;
  bool verbose = false;
  for (auto& [name, value] : pairs_of(query)) {
    if (name == "verbose") verbose = true;
    if (name == "exclude") excluded.insert(std::move(value));
  }
  std::string checks = "[+]ping excluded: ok\n";
  if (excluded.erase("ping") == 0) {
    ++passed_;
    checks = "[+]ping ok\n";
  }
  if (!excluded.empty()) {
    checks +=
        "warn: some health checks cannot be excluded: no matches for " + lib::joined(excluded, ",", quoted) + "\n";
  }
  return {200,
          "text/plain; charset=utf-8",
          verbose ? checks + "healthz check passed\n" : "ok",
          {{"X-Content-Type-Options", "nosniff"}}};
}

std::string PingHealth::slis(std::chrono::system_clock::time_point started) const {
  std::string out;
  if (const std::uint64_t passed = passed_; passed > 0) {
    out =
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
        "# TYPE kubernetes_healthcheck gauge\n"
        "kubernetes_healthcheck{name=\"ping\",type=\"healthz\"} 1\n"
        "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
        "# TYPE kubernetes_healthchecks_total counter\n"
        "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} " +
        std::to_string(passed) + "\n";
  }
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.15g",
                std::chrono::duration<double>(started.time_since_epoch()).count());
  return out +
         "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n"
         "# TYPE process_start_time_seconds gauge\n"
         "process_start_time_seconds " +
         seconds.data() + "\n";
}

}  // namespace sluice::observe
