// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The canonical form of a rule. A rule as written and as iptables-save prints it differ in
// order, addresses ("10.0.0.1" / "10.0.0.1/32"), marks (--or-mark / --set-xmark), digits of
// probabilities, quotes and default options. Rules with the same meaning have the same
// canonical text; rules with different meanings never do. Text that is not a rule keeps its
// words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/rule_words.hpp"

namespace sluice::netfilter {

// Keeps its buffers between rules; one object per thread.
class Canonicaliser {
 public:
  // `rule` is what follows the name of the chain. The result lives until the next call.
  std::string_view canonical(std::string_view rule);

  // A 64-bit hash of the canonical form.
  std::uint64_t hash(std::string_view rule);
  // Equal for rules that differ only in their comments.
  std::uint64_t hash_without_comments(std::string_view rule);

  // The chain or target of the last rule; empty for a rule without.
  std::string_view target() const noexcept { return target_; }

 private:
  struct Option {
    std::string_view name;
    std::size_t first;  // of its values, in words_
    std::size_t count;
    bool negated;
  };
  // A match or the target with its options.
  struct Part {
    std::string_view name;
    std::vector<Option> options;
    std::string text;
  };

  void read_words();
  Part& open_part(std::string_view name);
  Part& part_for(const Option& option);
  void print_part(Part& part, bool target);
  void print_option(std::string& out, std::string_view part, const Option& option, bool target);
  bool is_default(std::string_view part, const Option& option, bool target) const;
  std::string_view word(std::size_t index) const { return words_[index].text; }

  std::string unquoted_;      // words that had escapes
  std::vector<RuleWord> words_;
  std::vector<std::string> basics_;  // -s -d -i -o -p, printed
  std::string_view protocol_;
  std::vector<Part> parts_;
  std::size_t used_parts_ = 0;
  Part target_part_;
  std::string_view target_;
  bool has_target_ = false;
  bool goto_ = false;
  bool skip_comments_ = false;
  std::string result_;
};

// Folds the hashes of a chain's rules, in order, into one.
inline std::uint64_t fold(std::uint64_t chain, std::uint64_t rule) noexcept {
  std::uint64_t mixed = (chain ^ (rule + 0x9E3779B97F4A7C15ull)) * 0xFF51AFD7ED558CCDull;
  return mixed ^ (mixed >> 32);
}

std::uint64_t hash_text(std::string_view text) noexcept;

}  // namespace sluice::netfilter
