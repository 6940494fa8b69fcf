// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/services_text.hpp"

#include "core/ctl/fields.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

std::string header(const json& family) {
  const std::string backend = text(family, "family") + ", backend " + text(family, "backend");
  if (text(family, "view") == "kernel") return backend + ", as the kernel has it";
  return backend + ", as delivered up to generation " + text(family, "generation") + "; the kernel was not read";
}

bool has_entries(const json& family) {
  for (const char* list : {"lines", "service_ports", "not_proxied", "unwanted"}) {
    const json& entries = member(family, list);
    if (entries.is_array() && !entries.empty()) return true;
  }
  return false;
}

}  // namespace

ServicesPage services_page(const json& reply, const std::string& query) {
  ServicesPage out;
  const json& families = member(reply, "families");
  bool replied = false;
  bool found = false;
  if (!families.is_array()) {
    out.errors = "the answer of sluiced is not understood; are daemon and sluicectl of the same version?\n";
    return out;
  }
  for (const json& family : families) {
    if (const std::string error = text(family, "error"); error != "-") {
      out.errors += text(family, "family") + ": " + error + "\n";
      continue;
    }
    replied = true;
    const bool entries = has_entries(family);
    found = found || entries;
    out.text += (out.text.empty() ? "" : "\n") + header(family) + ":\n";
    if (!entries) out.text += "nothing\n";
    for (const json& line : member(family, "lines")) out.text += text(line) + "\n";
  }
  if (replied && !found && !query.empty()) out.errors += "nothing matches " + sanitized(query) + "\n";
  return out;
}

}  // namespace sluice::ctl
