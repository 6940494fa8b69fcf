// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/claims_ledger.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/files.hpp"

namespace sluice::app {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kFileLimit = 64u << 20;

std::optional<base::Family> family_of(const json& text) {
  for (const base::Family family : base::kFamilies) {
    if (text == std::string(family_name(family))) return family;
  }
  return std::nullopt;
}

void tidy(ClaimsLedger::Artifacts& artifacts) {
  std::sort(artifacts.begin(), artifacts.end());
  artifacts.erase(std::unique(artifacts.begin(), artifacts.end()), artifacts.end());
}

// The artifacts of one entry; nothing when any part of it is not as save() writes it:
// half a list would look like the whole one.
std::optional<std::pair<ClaimsLedger::Owner, ClaimsLedger::Artifacts>> read_entry(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const json backend = entry.value("backend", json());
  const auto family = family_of(entry.value("family", json()));
  const json list = entry.value("artifacts", json());
  if (!backend.is_string() || backend.get_ref<const std::string&>().empty() || !family || !list.is_array()) {
    return std::nullopt;
  }
  ClaimsLedger::Artifacts artifacts;
  for (const json& artifact : list) {
    if (!artifact.is_string() || artifact.get_ref<const std::string&>().empty()) return std::nullopt;
    artifacts.push_back(artifact.get<std::string>());
  }
  tidy(artifacts);
  return {{{backend.get<std::string>(), *family}, std::move(artifacts)}};
}

}  // namespace

base::Status ClaimsLedger::load() {
  claims_.clear();
  rewrite_ = false;
  const base::Result<std::string> text = base::read_file(path_, kFileLimit);
  if (!text && text.status().code() == base::StatusCode::not_found) return {};
  rewrite_ = true;
  if (!text) return text.status();
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("claims") || !document["claims"].is_array()) {
    return base::invalid(path_ + " is damaged; it is built anew");
  }
  std::size_t damaged = 0;
  for (const json& entry : document["claims"]) {
    if (auto read = read_entry(entry)) {
      claims_[std::move(read->first)] = std::move(read->second);
    } else {
      ++damaged;
    }
  }
  if (damaged != 0) {
    return base::invalid(path_ + " is damaged: " + std::to_string(damaged) + " of " +
                         std::to_string(document["claims"].size()) + " entries are unreadable and built anew");
  }
  rewrite_ = false;
  return {};
}

base::Status ClaimsLedger::set(const Owner& owner, Artifacts artifacts) {
  tidy(artifacts);
  const auto found = claims_.find(owner);
  const bool same = artifacts.empty() ? found == claims_.end() : found != claims_.end() && found->second == artifacts;
  if (same && !rewrite_) return {};
  if (artifacts.empty()) {
    claims_.erase(owner);
  } else {
    claims_[owner] = std::move(artifacts);
  }
  base::Status saved = save();
  // A failed write is made good by the next call, whatever that changes.
  rewrite_ = !saved.ok();
  return saved;
}

base::Status ClaimsLedger::save() const {
  json entries = json::array();
  for (const auto& [owner, artifacts] : claims_) {
    entries.push_back(
        {{"backend", owner.first}, {"family", std::string(family_name(owner.second))}, {"artifacts", artifacts}});
  }
  const json document = {{"format", kFormat}, {"claims", entries}};
  return base::write_file_atomically(path_, document.dump(1, ' ', false, json::error_handler_t::replace) + "\n", 0600);
}

}  // namespace sluice::app
