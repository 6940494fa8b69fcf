// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/rule_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::netfilter {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::string_view resolve(const std::array<Alias, N>& aliases, std::string_view name) {
  for (const auto& [from, to] : aliases) {
    if (from == name) return to;
  }
  return name;
}

constexpr std::array<Alias, 16> kOptionNames{{{"--source", "-s"},
                                              {"--src", "-s"},
                                              {"--destination", "-d"},
                                              {"--dst", "-d"},
                                              {"--in-interface", "-i"},
                                              {"--out-interface", "-o"},
                                              {"--protocol", "-p"},
                                              {"--proto", "-p"},
                                              {"--fragment", "-f"},
                                              {"--match", "-m"},
                                              {"--jump", "-j"},
                                              {"--goto", "-g"},
                                              {"--set-counters", "-c"},
                                              {"--destination-port", "--dport"},
                                              {"--source-port", "--sport"},
                                              {"--to", "--to-destination"}}};
constexpr std::array<Alias, 7> kProtocolNames{{{"6", "tcp"},
                                               {"17", "udp"},
                                               {"132", "sctp"},
                                               {"1", "icmp"},
                                               {"58", "icmpv6"},
                                               {"ipv6-icmp", "icmpv6"},
                                               {"0", "all"}}};

}  // namespace

std::string_view canonical_option(std::string_view name) noexcept { return resolve(kOptionNames, name); }
std::string_view canonical_protocol(std::string_view name) noexcept { return resolve(kProtocolNames, name); }

void split_rule(std::string_view rule, std::vector<RuleWord>& words, std::string& unquoted) {
  words.clear();
  unquoted.clear();
  unquoted.reserve(rule.size());
  std::size_t at = 0;
  while (at < rule.size()) {
    const char c = rule[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(rule.find_first_of(" \t\n\r\"", at), rule.size());
    if (end > at && (end == rule.size() || rule[end] != '"')) {
      words.push_back({rule.substr(at, end - at), false});
      at = end;
      continue;
    }
    const std::size_t begin = unquoted.size();
    bool inside = false;
    for (; at < rule.size(); ++at) {
      const char here = rule[at];
      if (here == '"') {
        inside = !inside;
      } else if (inside && here == '\\' && at + 1 < rule.size()) {
        unquoted.push_back(rule[++at]);
      } else if (!inside && (here == ' ' || here == '\t' || here == '\n' || here == '\r')) {
        break;
      } else {
        unquoted.push_back(here);
      }
    }
    words.push_back({std::string_view(unquoted).substr(begin), true});
  }
}

}  // namespace sluice::netfilter
