// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/services_text.hpp"

#include "core/ctl/fields.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

std::string header(const json& family) {
  const std::string name = text(family, "family") + ", ";
  if (text(family, "view") == "kernel") return name + "what the kernel has, read by backend " + text(family, "backend");
  return name + "what backend " + text(family, "backend") + " has been told up to generation " +
         text(family, "generation") + "; the kernel has not been read";
}

}  // namespace

ServicesPage services_page(const json& answer, const std::string& name) {
  ServicesPage out;
  const json& families = member(answer, "families");
  bool looked = false;
  bool found = false;
  if (!families.is_array()) {
    out.troubles = "the answer of sluiced is not understood; are daemon and sluicectl of the same version?\n";
    return out;
  }
  for (const json& family : families) {
    if (const std::string error = text(family, "error"); error != "-") {
      out.troubles += text(family, "family") + ": " + error + "\n";
      continue;
    }
    looked = true;
    out.text += (out.text.empty() ? "" : "\n") + header(family) + ":\n";
    const json& lines = member(family, "lines");
    if (!lines.is_array() || lines.empty()) {
      out.text += "nothing\n";
      continue;
    }
    found = true;
    for (const json& line : lines) out.text += text(line) + "\n";
  }
  if (looked && !found && !name.empty()) out.troubles += harmless(name) + " is not among them\n";
  return out;
}

}  // namespace sluice::ctl
