// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lines of sluicectl services, made of what iptables prints.
#include <string>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/iptables/inspection.hpp"
#include "plugins/iptables/seen_rules.hpp"
#include "plugins/userspace/portal/seen_portals.hpp"
#include "sluice/sdk/views.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

struct Lines final : abi::StringSink {
  void add(abi::StringView line) noexcept override { text.append(sdk::text(line)).append("\n"); }
  std::string text;
};

// Two service ports, as the daemon wants them.
iptables::ServiceNames wanted_names() {
  abi::ServicePort ports[2] = {};
  ports[0].key = sdk::parse_service_port_name("shop/cart:http", abi::Protocol::kTcp);
  ports[1].key = sdk::parse_service_port_name("ns1/svc1:p80", abi::Protocol::kTcp);
  abi::Transaction transaction{};
  transaction.struct_size = sizeof(transaction);
  transaction.kind = abi::TransactionKind::kFull;
  transaction.service_ports = sdk::array(ports, 2);
  iptables::ServiceNames names;
  names.note(transaction);
  return names;
}

std::string lines_of(std::string_view text, std::string_view sizes, abi::Family family, std::string_view name) {
  iptables::SeenRules seen(family);
  for (const std::string_view piece : cut(text, sizes)) seen.feed(piece);
  seen.finish();
  iptables::PlanFacts facts;
  facts.family = family;
  inspection::Answer answer(name);
  iptables::inspect(seen, wanted_names(), facts, answer);
  Lines lines;
  answer.deliver(lines);
  return lines.text;
}

std::string places_of(std::string_view text, std::string_view sizes, abi::Family family) {
  userspace::SeenPortals seen(family);
  for (const std::string_view piece : cut(text, sizes)) seen.feed(piece);
  seen.finish();
  std::string all;
  for (const auto& [place, there] : seen.places) {
    all += inspection::to_string(place, family) + " " + std::to_string(there.arriving.size()) + " " +
           std::to_string(there.sent.size()) + there.drops_others + there.drops_without_local + "\n";
  }
  for (const std::string& rule : seen.unknown) all += rule + "\n";
  return all;
}

// Byte 0 says how many sizes of pieces follow, the next one the family; the rest is the output of iptables-save.
FUZZ_TARGET(services_lines) {
  Input in(input);
  const std::string_view sizes = in.take(in.below(16));
  const abi::Family family = in.flag() ? abi::Family::kIpv6 : abi::Family::kIpv4;
  const std::string_view text = in.rest();
  const std::string all = lines_of(text, sizes, family, {});
  FUZZ_REQUIRE(lines_of(text, {}, family, {}) == all, "rules in pieces give the same lines as those in one piece");
  const std::string some = lines_of(text, sizes, family, "ns1/svc1");
  FUZZ_REQUIRE(all.find(some) != std::string::npos, "the lines of one Service are among all lines");
  FUZZ_REQUIRE(places_of(text, sizes, family) == places_of(text, {}, family), "portals do not depend on the pieces");
}

}  // namespace
}  // namespace sluice::fuzz
