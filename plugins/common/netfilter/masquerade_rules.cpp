// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/masquerade_rules.hpp"

#include <cstdio>

#include "plugins/common/netfilter/rule_text.hpp"

namespace sluice::netfilter {

std::string mark_text(std::uint32_t mark) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", mark);
  return text;
}

std::vector<std::string> forward_rules(std::uint32_t mark) {
  const std::string text = mark_text(mark);
  return {
      quoted_comment("kubernetes forwarding rules") + " -m mark --mark " + text + "/" + text + " -j ACCEPT",
      quoted_comment("kubernetes forwarding conntrack rule") + " -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"};
}

std::vector<std::string> postrouting_rules(std::uint32_t mark, bool random_fully) {
  const std::string text = mark_text(mark);
  return {"-m mark ! --mark " + text + "/" + text + " -j RETURN", "-j MARK --xor-mark " + text,
          quoted_comment("kubernetes service traffic requiring SNAT") + " -j MASQUERADE" +
              (random_fully ? " --random-fully" : "")};
}

std::vector<std::string> mark_masquerade_rules(std::uint32_t mark) { return {"-j MARK --or-mark " + mark_text(mark)}; }

}  // namespace sluice::netfilter
