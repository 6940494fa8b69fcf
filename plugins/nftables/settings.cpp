// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/settings.hpp"

#include <algorithm>
#include <string_view>

#include "plugins/nftables/option_table.hpp"
#include "sluice/sdk/options.hpp"

namespace sluice::nftables {
namespace {

// nft cannot list or load other characters unchanged. The kernel limits names to 15 bytes.
bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= 15 && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '*' && c != '\\' && c != '/';
  });
}

bool is_pattern(std::string_view text) {
  return is_interface_name(text.substr(0, text.size() - (!text.empty() && text.back() == '*' ? 1 : 0)));
}

}  // namespace

Settings read_settings(const abi::ArrayView& given) {
  const sdk::Options options(given, sdk::array(kOptions));
  Settings read;
  read.counters = options.boolean("counters");
  read.affinity_clients = static_cast<std::uint32_t>(options.integer("affinityClients"));
  for (const sdk::OptionValue& value : options.list("offloadInterfaces")) {
    if (!is_pattern(value.text)) options.reject(value);
    read.offload_interfaces.push_back(value.text);
  }
  if (read.counters && read.offloads()) {
    throw sdk::Failure(abi::Code::kInvalid, "offloadInterfaces",
                       "cannot be combined with counters: true, as offloaded packets are not counted; remove one of them");
  }
  return read;
}

}  // namespace sluice::nftables
