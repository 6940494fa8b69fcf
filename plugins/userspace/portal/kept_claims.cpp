// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/kept_claims.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "lib/number.hpp"

namespace sluice::userspace {
namespace {

constexpr std::size_t kTagDigits = 8;

std::string random_tag() {
  std::random_device device;
  std::string tag;
  for (std::size_t i = 0; i < kTagDigits; ++i) tag.push_back("0123456789abcdef"[device() % 16]);
  return tag;
}

bool is_before(const ClaimName& one, const ClaimName& other) { return one.claimed < other.claimed; }

}  // namespace

std::string print_claim_name(const ClaimName& name) {
  std::string text = kept_claim_name(name.claimed.protocol, name.claimed.port, name.claimed.address);
  return name.tag.empty() ? text : text.append("_").append(name.tag);
}

std::optional<ClaimName> parse_claim_name(std::string_view text) {
  constexpr std::string_view kTcp = "claim_tcp_", kUdp = "claim_udp_";
  constexpr std::size_t kDigits = 2 * sizeof(abi::Address::bytes);
  ClaimName name{{{}, 0, abi::Protocol::kTcp}, {}};
  if (text.substr(0, kUdp.size()) == kUdp) {
    name.claimed.protocol = abi::Protocol::kUdp;
  } else if (text.substr(0, kTcp.size()) != kTcp) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(kTcp.size());
  const auto port = lib::take_number<std::uint16_t>(rest);
  if (!port || rest.size() < 1 + kDigits) return std::nullopt;
  name.claimed.port = *port;
  rest.remove_prefix(1);
  for (std::size_t i = 0; i < kDigits / 2; ++i) {
    if (!lib::read_number(rest.substr(2 * i, 2), name.claimed.address.bytes[i], 16)) return std::nullopt;
  }
  rest.remove_prefix(kDigits);
  if (rest.size() == 1 + kTagDigits) name.tag = rest.substr(1);
  // Rejects leading zeros, capital letters and wrong separators.
  if (print_claim_name(name) != text) return std::nullopt;
  return name;
}

KeptClaims::KeptClaims(abi::Family family, KeptSockets* kept) : family_(family), kept_(kept), tag_(random_tag()) {}

template <class Visit>
void KeptClaims::each_at(const ClaimedAddress& claimed, const Visit& visit) {
  const std::vector<ClaimName>& all = listed();
  for (auto at =
           std::lower_bound(all.begin(), all.end(), ClaimName{{{}, claimed.port, claimed.protocol}, {}}, is_before);
       at != all.end() && at->claimed.port == claimed.port && at->claimed.protocol == claimed.protocol; ++at) {
    visit(*at);
  }
}

lib::Fd KeptClaims::find(const ClaimedAddress& claimed) {
  lib::Fd found;
  if (kept_ == nullptr) return found;
  each_at(claimed, [&](const ClaimName& name) {
    if (found || !overlap(claimed, name.claimed)) return;
    // Another backend may have dropped it since the names were listed.
    const ClaimedAddress& bound = name.claimed;
    found = kept_->take(print_claim_name(name), {family_, bound.protocol, bound.address, bound.port, false});
  });
  return found;
}

bool KeptClaims::is_shared(const ClaimedAddress& bound, int socket, const std::string& own) {
  bool shared = false;
  if (kept_ == nullptr) return shared;
  each_at(bound, [&](const ClaimName& name) {
    const std::string text = print_claim_name(name);
    shared = shared || (text != own && name.claimed == bound && kept_->holds(text, socket));
  });
  return shared;
}

void KeptClaims::add_names_of_other_backends(const std::set<std::string>& own, std::set<std::string>& names) {
  if (kept_ == nullptr) return;
  forget_listing();
  for (const ClaimName& name : listed()) {
    std::string text = print_claim_name(name);
    if (name.tag != tag_ && !own.contains(text)) names.insert(std::move(text));
  }
}

const std::vector<ClaimName>& KeptClaims::listed() {
  if (listed_) return *listed_;
  std::vector<ClaimName> all;
  for (const std::string& text : kept_->names()) {
    if (auto name = parse_claim_name(text)) all.push_back(*std::move(name));
  }
  std::sort(all.begin(), all.end(), is_before);
  return listed_.emplace(std::move(all));
}

}  // namespace sluice::userspace
