// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/setting_values.hpp"

#include "lib/number.hpp"
#include "plugins/common/settings/values.hpp"

namespace sluice::userspace {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) { return lib::parse_number<std::uint16_t>(text); }

}  // namespace

std::optional<PortRange> parse_port_range(std::string_view text) {
  if (text.empty()) return PortRange{};
  const auto mark = text.find_first_of("-+");
  const auto low = parse_port(text.substr(0, mark));
  auto high = low;
  if (mark != std::string_view::npos) high = parse_port(text.substr(mark + 1));
  if (!low || !high) return std::nullopt;
  const unsigned last = mark != std::string_view::npos && text[mark] == '+' ? *low + unsigned{*high} : *high;
  if (last < *low || last > 65535) return std::nullopt;
  return *low == 0 ? PortRange{} : PortRange{*low, static_cast<std::uint16_t>(last)};
}

}  // namespace sluice::userspace
