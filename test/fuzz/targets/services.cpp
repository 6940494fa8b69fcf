// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lines of sluicectl services from the output of iptables-save.
#include <string>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/iptables/inspection.hpp"
#include "plugins/iptables/kernel_rules.hpp"
#include "plugins/userspace/portal/decoded_portals.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

struct Lines final : abi::StringSink {
  void add(abi::StringView line) noexcept override { text.append(sdk::text(line)).append("\n"); }
  std::string text;
};

// The names of two service ports.
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
  iptables::KernelRules rules(family);
  for (const std::string_view piece : cut(text, sizes)) rules.append(piece);
  rules.finish();
  iptables::PlanFacts facts;
  facts.family = family;
  inspection::Answer answer(name, family);
  iptables::inspect(rules, wanted_names(), facts, answer);
  Lines lines;
  answer.deliver(lines);
  return lines.text;
}

std::string places_of(std::string_view text, std::string_view sizes, abi::Family family) {
  userspace::DecodedPortals portals(family);
  for (const std::string_view piece : cut(text, sizes)) portals.append(piece);
  portals.finish();
  std::string all;
  for (const auto& [place, there] : portals.places) {
    all += inspection::to_string(place, family) + " " + std::to_string(there.arriving.size()) + " " +
           std::to_string(there.sent.size()) + there.drops_others + there.drops_without_local + "\n";
  }
  for (const std::string& rule : portals.unknown) all += rule + "\n";
  return all;
}

// Byte 0: the number of piece sizes that follow, the next byte: the family; the rest is the output of iptables-save.
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
