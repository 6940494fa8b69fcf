// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ownership/ownership_ledger.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "lib/files.hpp"
#include "lib/rfc3339.hpp"
#include "lib/text.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::ownership {
namespace {

using nlohmann::json;
using Time = std::chrono::system_clock::time_point;

// Format 1 had neither states nor plugins.
constexpr int kFormat = 2;
constexpr std::size_t kFileLimit = 64u << 20;

constexpr std::array kStates = {ClaimState::serving, ClaimState::arriving, ClaimState::retiring};

std::optional<lib::Family> family_of(const json& text) {
  for (const lib::Family family : lib::kFamilies) {
    if (text == std::string(family_name(family))) return family;
  }
  return std::nullopt;
}

std::optional<ClaimState> state_of(const json& text) {
  for (const ClaimState state : kStates) {
    if (text == claim_state_name(state)) return state;
  }
  return std::nullopt;
}

void add(Artifacts& into, const Artifacts& more) {
  into.insert(into.end(), more.begin(), more.end());
  lib::sort_unique(into);
}

// Nothing if any part of the entry is invalid, because a partial list of artifacts would pass
// for a complete one. An entry of format 1 has no state.
std::optional<Claim> read_entry(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const json backend = entry.value("backend", json());
  const auto family = family_of(entry.value("family", json()));
  const auto state = state_of(entry.value("state", json(claim_state_name(ClaimState::serving))));
  const json plugin = entry.value("plugin", json(""));
  const json until = entry.value("until", json());
  const json list = entry.value("artifacts", json());
  if (!backend.is_string() || backend.get_ref<const std::string&>().empty() || !family || !state ||
      !plugin.is_string() || !list.is_array()) {
    return std::nullopt;
  }
  Claim out{backend.get<std::string>(), *family, *state, plugin.get<std::string>(), {}, {}};
  if (!until.is_null()) {
    if (until.is_string()) out.until = lib::parse_rfc3339(until.get_ref<const std::string&>());
    if (!out.until) return std::nullopt;
  }
  for (const json& artifact : list) {
    if (!artifact.is_string() || artifact.get_ref<const std::string&>().empty()) return std::nullopt;
    out.artifacts.push_back(artifact.get<std::string>());
  }
  lib::sort_unique(out.artifacts);
  return out;
}

json write_entry(const Claim& claim) {
  json out = {{"backend", claim.backend},
              {"family", std::string(family_name(claim.family))},
              {"state", claim_state_name(claim.state)},
              {"artifacts", claim.artifacts}};
  if (!claim.plugin.empty()) out["plugin"] = claim.plugin;
  if (claim.until) out["until"] = lib::rfc3339(*claim.until, lib::Fraction::none);
  return out;
}

bool is_newer(const json& document) {
  if (!document.is_object()) return false;
  const json format = document.value("format", json());
  return format.is_number_integer() && format.get<std::int64_t>() > kFormat;
}

bool equal(const Claim& one, const Claim& other) {
  return one.plugin == other.plugin && one.until == other.until && one.artifacts == other.artifacts;
}

}  // namespace

const char* claim_state_name(ClaimState state) {
  switch (state) {
    case ClaimState::serving:
      return "serving";
    case ClaimState::arriving:
      return "arriving";
    case ClaimState::retiring:
      return "retiring";
  }
  return "";
}

lib::Status OwnershipLedger::load() {
  claims_.clear();
  rewrite_ = false;
  const lib::Result<std::string> text = lib::read_file(path_, kFileLimit);
  if (!text && text.status().code() == lib::StatusCode::not_found) return {};
  rewrite_ = true;
  if (!text) return text.status();
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (is_newer(document)) return put_aside();
  if (!document.is_object() || !document.contains("claims") || !document["claims"].is_array()) {
    return lib::invalid(path_ + " is corrupt; creating a new ownership ledger");
  }
  std::size_t unreadable = 0;
  for (const json& entry : document["claims"]) {
    if (auto read = read_entry(entry)) {
      const Key key{read->backend, read->family, read->state};
      claims_.insert_or_assign(key, std::move(*read));
    } else {
      ++unreadable;
    }
  }
  if (unreadable != 0) {
    return lib::invalid(path_ + " is corrupt: " + std::to_string(unreadable) + " of " +
                        std::to_string(document["claims"].size()) + " entries are unreadable; they will be recreated");
  }
  rewrite_ = false;
  return {};
}

// Keeps a file that a newer sluiced wrote, and may need again.
lib::Status OwnershipLedger::put_aside() {
  const std::string aside = path_ + ".newer";
  std::error_code failed;
  std::filesystem::rename(path_, aside, failed);
  const std::string found = path_ + " is of a newer format than this sluiced knows (" + std::to_string(kFormat) + "); ";
  if (failed)
    return lib::invalid(found + "creating a new ownership ledger; cannot keep the old one as " + aside + ": " +
                        failed.message());
  return lib::invalid(found + "keeping it as " + aside +
                      " and creating a new ownership ledger; leftover state of other backends is unknown");
}

lib::Status OwnershipLedger::record(Claim claim) {
  lib::sort_unique(claim.artifacts);
  if (claim.state != ClaimState::retiring) claim.until.reset();
  if (claim.until) claim.until = std::chrono::floor<std::chrono::seconds>(*claim.until);  // as it is read back
  bool different = false;
  if (claim.state == ClaimState::serving) {
    different = claims_.erase({claim.backend, claim.family, ClaimState::arriving}) != 0;
    std::vector<Key> before;
    for (const auto& [key, other] : claims_) {
      if (other.state == ClaimState::serving && other.family == claim.family) before.push_back(key);
    }
    for (const Key& key : before) {
      retire(claims_.at(key), claim);
      if (std::get<0>(key) == claim.backend) continue;  // is replaced below
      claims_.erase(key);
      different = true;
    }
  }
  const Key key{claim.backend, claim.family, claim.state};
  const auto found = claims_.find(key);
  // An earlier run with the same id may still be retiring.
  if (found != claims_.end() && claim.state == ClaimState::retiring) add(claim.artifacts, found->second.artifacts);
  if (found == claims_.end() || !equal(found->second, claim)) {
    claims_.insert_or_assign(key, std::move(claim));
    different = true;
  }
  return changed(different);
}

void OwnershipLedger::retire(const Claim& serving, const Claim& successor) {
  Artifacts left = serving.artifacts;
  if (serving.backend == successor.backend) {
    std::erase_if(left, [&](const std::string& artifact) {
      return std::any_of(successor.artifacts.begin(), successor.artifacts.end(),
                         [&](const std::string& claim) { return sdk::covers(claim, artifact); });
    });
    if (left.empty()) return;
  }
  Claim& retiring = claims_[{serving.backend, serving.family, ClaimState::retiring}];
  retiring.backend = serving.backend;
  retiring.family = serving.family;
  retiring.state = ClaimState::retiring;
  if (!serving.plugin.empty()) retiring.plugin = serving.plugin;
  add(retiring.artifacts, left);
}

lib::Status OwnershipLedger::forget(const std::string& backend, lib::Family family, ClaimState state) {
  return changed(claims_.erase({backend, family, state}) != 0);
}

std::vector<Claim> OwnershipLedger::claims() const {
  std::vector<Claim> out;
  out.reserve(claims_.size());
  for (const auto& [key, claim] : claims_) out.push_back(claim);
  return out;
}

lib::Status OwnershipLedger::changed(bool different) {
  if (!different && !rewrite_) return {};
  lib::Status saved = save();
  // After a failed write, the next call writes the file, even without a change.
  rewrite_ = !saved.ok();
  return saved;
}

lib::Status OwnershipLedger::save() const {
  json entries = json::array();
  for (const auto& [key, claim] : claims_) entries.push_back(write_entry(claim));
  const json document = {{"format", kFormat}, {"claims", entries}};
  return lib::write_file_atomically(path_, document.dump(1, ' ', false, json::error_handler_t::replace) + "\n", 0600);
}

}  // namespace sluice::ownership
