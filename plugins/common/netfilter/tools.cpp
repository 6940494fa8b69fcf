// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/tools.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

std::string read_legacy_tables(abi::Family family) {
  std::ifstream file(family == abi::Family::kIpv6 ? "/proc/self/net/ip6_tables_names"
                                                  : "/proc/self/net/ip_tables_names");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<VersionLine> version_of(const std::string& program, const Surroundings& node) {
  if (program.empty()) return std::nullopt;
  try {
    process::Command command;
    command.arguments = {program, "--version"};
    const process::Outcome outcome = node.run(command);
    return outcome.ok() ? parse_version(outcome.output) : std::nullopt;
  } catch (const std::system_error&) {
    return std::nullopt;  // there but not for us: as good as missing
  }
}

bool has_hint(const std::string& save, const Surroundings& node) {
  if (save.empty()) return false;
  try {
    process::Command command;
    command.arguments = {save, "-t", "mangle"};
    const process::Outcome outcome = node.run(command);
    return outcome.output.find(":KUBE-IPTABLES-HINT ") != std::string::npos ||
           outcome.output.find(":KUBE-KUBELET-CANARY ") != std::string::npos;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

std::optional<VersionLine> parse_version(std::string_view text) {
  const std::size_t at = text.find(" v");
  if (at == std::string_view::npos) return std::nullopt;
  const char* next = text.data() + at + 2;
  const char* const end = text.data() + text.size();
  VersionLine line{{}, text.find("(nf_tables)") != std::string_view::npos ? Variant::kNft : Variant::kLegacy};
  unsigned read = 0;
  for (unsigned* part : {&line.version.major, &line.version.minor, &line.version.patch}) {
    const auto [stopped, error] = std::from_chars(next, end, *part);
    if (error != std::errc()) break;
    ++read;
    if (stopped == end || *stopped != '.') break;
    next = stopped + 1;
  }
  return read < 2 ? std::nullopt : std::optional(line);
}

Surroundings Surroundings::of_this_node() { return {&process::find_program, &process::run, &read_legacy_tables}; }

Tools find_tools(abi::Family family, const Surroundings& node) {
  const std::string plain = family == abi::Family::kIpv6 ? "ip6tables" : "iptables";
  const auto find = [&](const std::string& name) -> std::optional<Tools> {
    Tools tools{node.find_program(name + "-restore"), node.find_program(name + "-save"), {}, {}};
    const auto version = version_of(node.find_program(name), node);
    if (tools.restore.empty() || tools.save.empty() || !version) return std::nullopt;
    tools.variant = version->variant;
    tools.version = version->version;
    return tools;
  };
  const auto common = find(plain);
  const auto nft = find(plain + "-nft");
  const bool legacy_in_use = !node.legacy_tables(family).empty();
  const auto legacy = legacy_in_use || !common ? find(plain + "-legacy") : std::nullopt;

  if (nft && has_hint(nft->save, node)) return *nft;
  if (legacy_in_use && legacy && node.legacy_tables(family).find("mangle") != std::string::npos &&
      has_hint(legacy->save, node)) {
    return *legacy;
  }
  // The name says which it is, even when an alternative is switched while we run.
  if (common && common->variant == Variant::kNft) return nft ? *nft : *common;
  if (common) return *common;
  if (nft) return *nft;
  if (legacy) return *legacy;
  throw sdk::Failure(abi::Code::kUnsupported, plain,
                     "find " + plain + ", " + plain + "-save and " + plain +
                         "-restore: not in PATH; install the package iptables");
}

std::string describe(const Tools& tools) {
  const Version& v = tools.version;
  return "iptables " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
         (tools.variant == Variant::kNft ? " (nf_tables), " : " (legacy), ") + tools.restore;
}

}  // namespace sluice::netfilter
