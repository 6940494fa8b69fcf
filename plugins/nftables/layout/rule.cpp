// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/rule.hpp"

#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include <array>
#include <utility>

#include "lib/text.hpp"
#include "plugins/nftables/layout/expressions.hpp"
#include "plugins/nftables/layout/typeof.hpp"

namespace sluice::nftables {

Rule RuleBuilder::make(std::string comment) {
  // Larger than our longest rule, as libnftnl does not check the size.
  std::array<char, 8192> buffer{};
  nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
  nftnl_rule_nlmsg_build_payload(header, rule_.get());
  Rule rule = read_rule(rule_.get());
  const auto* attribute = static_cast<const nlattr*>(mnl_nlmsg_get_payload(header));
  if (mnl_nlmsg_get_payload_len(header) != 0) {
    rule.expressions.assign(static_cast<const char*>(mnl_attr_get_payload(attribute)),
                            mnl_attr_get_payload_len(attribute));
  }
  rule.comment = std::move(comment);
  return rule;
}

std::string rule_text(const Rule& rule) {
  std::string text = "[ " + lib::joined(lib::split(lib::trimmed(rule.text), '\n'), " ] [ ") + " ]";
  if (!rule.comment.empty()) text += " comment \"" + rule.comment + '"';
  return text;
}

Rule read_rule(const nftnl_rule* rule) {
  Rule read;
  struct Visit {
    static int expression(nftnl_expr* expression, void* to) {
      auto& text = *static_cast<std::string*>(to);
      std::array<char, 1024> line{};
      nftnl_expr_snprintf(line.data(), line.size(), expression, NFTNL_OUTPUT_DEFAULT, 0);
      text += nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);
      text += ' ';
      text += line.data();
      while (text.back() == ' ') text.pop_back();
      text += '\n';
      return 0;
    }
  };
  // It only reads the rule, but takes a non-const pointer.
  nftnl_expr_foreach(const_cast<nftnl_rule*>(rule), &Visit::expression, &read.text);
  std::uint32_t size = 0;
  const void* userdata = nftnl_rule_get_data(rule, NFTNL_RULE_USERDATA, &size);
  if (userdata != nullptr) read.comment = read_comment(userdata, size);
  return read;
}

}  // namespace sluice::nftables
