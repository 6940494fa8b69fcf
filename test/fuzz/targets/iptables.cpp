// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Output of iptables-save, rules, and input and errors of iptables-restore.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/save_parser.hpp"
#include "plugins/common/netfilter/tools.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

using netfilter::Canonicaliser;

// Returns all results of a parser as text.
std::string parse_save(std::string_view text, std::string_view sizes) {
  netfilter::Ruleset rules;
  std::string result;
  std::set<std::pair<std::string, std::string>> chains;
  netfilter::SaveParser parser(
      rules, [](std::string_view, std::string_view, bool) { return true; },
      [&](std::string_view table, std::string_view chain, std::string_view target, std::uint64_t hash) {
        result.append(table).append(" ").append(chain).append(" ").append(target);
        result += " " + std::to_string(hash) + "\n";
        chains.emplace(table, chain);
      });
  for (const std::string_view piece : cut(text, sizes)) parser.append(piece);
  parser.finish();
  for (const auto& [table, name] : chains) {
    const netfilter::Chain* const chain = rules.chain(table, name);
    FUZZ_REQUIRE(chain != nullptr, "a chain that has rules is there");
    FUZZ_REQUIRE(chain->rule_count == chain->rules.size(), "all rules of a chain are kept");
    std::uint64_t content = 0;
    for (const auto& rule : chain->rules) content = netfilter::fold(content, rule.hash);
    FUZZ_REQUIRE(content == chain->content, "the content of a chain is the fold of its rules");
    result += name + " " + std::to_string(chain->content) + " " + std::to_string(chain->built_in) + "\n";
  }
  return result + std::to_string(parser.malformed()) + " " + std::to_string(parser.complete());
}

// Byte 0: the number of piece sizes that follow; the rest is the output of iptables-save.
FUZZ_TARGET(iptables_save) {
  Input in(input);
  const std::string_view sizes = in.take(in.below(16));
  const std::string_view text = in.rest();
  FUZZ_REQUIRE(parse_save(text, sizes) == parse_save(text, {}), "rules in pieces read like those in one piece");
}

// The decoded fields of a rule as text.
std::string meaning(const netfilter::RuleFields& rule) {
  std::string text = std::to_string(rule.conditions());
  for (const std::string_view part :
       {rule.target, rule.comment, rule.interface, rule.list, rule.set, rule.translate_to}) {
    text.append("\n").append(part);
  }
  return text + "\n" + std::to_string(rule.port.value_or(0)) + " " + std::to_string(rule.seconds);
}

// The text of one rule. Neither its canonical form nor its fields may depend on blanks or on earlier rules.
FUZZ_TARGET(iptables_rule) {
  Canonicaliser fresh, used;
  const std::string form(fresh.canonical(input));
  used.canonical("-p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80");
  FUZZ_REQUIRE(used.canonical(input) == form, "the form of a rule does not depend on the rule before");
  FUZZ_REQUIRE(used.hash(input) == netfilter::hash_text(form), "the hash is that of the form");
  FUZZ_REQUIRE(used.canonical("  " + std::string(input) + " ") == form || input.find('"') != std::string_view::npos,
               "blanks around a rule mean nothing");
  for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
    netfilter::RuleReader first(family), second(family);
    const std::string read = meaning(first.read(input));
    second.read(
        "-s 10.0.0.1 -p tcp -m tcp --dport 80 -m recent --rcheck --seconds 5 --name A -j DNAT --to-destination "
        "10.0.0.1:80");
    FUZZ_REQUIRE(meaning(second.read(input)) == read, "the meaning of a rule does not depend on the rule before");
  }
}

// An iptables-restore input with random lines, and an error message about it.
FUZZ_TARGET(iptables_restore) {
  Input in(input);
  netfilter::RestoreInput restore;
  for (std::size_t left = in.below(32); left != 0; --left) {
    const auto table = static_cast<netfilter::Table>(in.below(netfilter::kTables));
    restore.set_owner(in.flag() ? "shop/cart" : "shop/web");
    switch (in.below(5)) {
      case 0: restore.declare(table, "KUBE-A"); break;
      case 1: restore.append(table, "KUBE-A", "-j ACCEPT"); break;
      case 2: restore.insert(table, "KUBE-A", "-j DROP"); break;
      case 3: restore.remove(table, "KUBE-A", "-j RETURN"); break;
      default: restore.remove_chain(table, "KUBE-B");
    }
  }
  const std::string text = restore.text();
  std::size_t number = 0;
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const auto known = restore.find_line(++number);
    if (known) ++found;
    FUZZ_REQUIRE(known.has_value() == (line[0] != '*' && line != "COMMIT"), "every line that does something is known");
    FUZZ_REQUIRE(!known || known->text == line, "a line is found by its number");
    begin = end + 1;
  }
  FUZZ_REQUIRE(found == restore.lines(), "all lines are in the text");
  FUZZ_REQUIRE(!restore.find_line(number + 1) && !restore.find_line(0), "there are no other lines");

  const std::string_view message = in.rest();
  if (const auto failed = netfilter::failed_line(message)) {
    FUZZ_REQUIRE(message.find(std::to_string(*failed)) != std::string_view::npos, "the line is one that was named");
    restore.find_line(*failed);
  }
  netfilter::parse_version(message);
}

}  // namespace
}  // namespace sluice::fuzz
