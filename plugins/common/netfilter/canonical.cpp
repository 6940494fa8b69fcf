// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/canonical.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "lib/ip.hpp"
#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::netfilter {
namespace {

bool is_basic(std::string_view name) { return name.size() == 2 && std::strchr("sdiopf", name[1]) != nullptr; }
bool is_port(std::string_view name) { return name == "--dport" || name == "--sport"; }
// The option takes exactly one value, even one that begins with a dash.
bool takes_one(std::string_view name) {
  return (is_basic(name) && name != "-f") || name == "-m" || name == "-j" || name == "-g" || name == "--comment";
}

std::optional<std::uint32_t> number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  return hexadecimal ? lib::parse_hex<std::uint32_t>(text.substr(2)) : lib::parse_number<std::uint32_t>(text);
}

struct Marked {
  std::uint32_t value;
  std::uint32_t mask;
  bool has_mask;
};

std::optional<Marked> marked(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto value = number(text.substr(0, slash));
  if (!value) return std::nullopt;
  if (slash == std::string_view::npos) return Marked{*value, 0xffffffff, false};
  const auto mask = number(text.substr(slash + 1));
  if (!mask) return std::nullopt;
  return Marked{*value, *mask, true};
}

std::string print(const Marked& mark) {
  return "0x" + [](std::uint32_t v) {
    std::array<char, 8> digits;
    return std::string(digits.data(), std::to_chars(digits.data(), digits.data() + 8, v, 16).ptr);
  }(mark.value) + "/" + std::to_string(mark.mask);
}

// Every option that sets a mark computes (mark & ~mask) ^ value.
std::optional<Marked> as_xmark(std::string_view option, std::string_view value) {
  const auto given = marked(value);
  if (!given) return std::nullopt;
  if (option == "--set-xmark") return given;
  if (option == "--set-mark") return Marked{given->value, given->value | given->mask, true};
  if (option == "--or-mark") return Marked{given->value, given->value, true};
  if (option == "--xor-mark") return Marked{given->value, 0, true};
  if (option == "--and-mark") return Marked{0, ~given->value, true};
  return std::nullopt;
}

std::optional<unsigned> prefix_length(std::string_view text, bool ipv6) {
  const auto plain = number(text);
  const unsigned bits = ipv6 ? 128 : 32;
  if (plain && *plain <= bits) return *plain;
  in_addr mask;
  if (ipv6 || inet_pton(AF_INET, std::string(text).c_str(), &mask) != 1) return std::nullopt;
  const std::uint32_t value = ntohl(mask.s_addr);
  const auto ones = static_cast<unsigned>(__builtin_popcount(value));
  if (ones != 0 && value != ~std::uint32_t{0} << (32 - ones)) return std::nullopt;
  return ones;
}

// "10.1.2.3/8" → "10.0.0.0/8", "fd00::1" → "fd00::1/128"; other text is unchanged.
std::string address(std::string_view text) {
  std::array<char, 64> host{};
  const std::size_t slash = std::min(text.find('/'), text.size());
  if (slash >= host.size()) return std::string(text);
  text.copy(host.data(), slash);
  std::array<unsigned char, 16> bytes{};
  const bool ipv6 = text.find(':') != std::string_view::npos;
  const int family = ipv6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, host.data(), bytes.data()) != 1) return std::string(text);
  unsigned length = ipv6 ? 128 : 32;
  if (slash < text.size()) {
    const auto given = prefix_length(text.substr(slash + 1), ipv6);
    if (!given) return std::string(text);
    length = *given;
  }
  lib::clear_host_bits(bytes.data(), ipv6 ? 16 : 4, length);
  inet_ntop(family, bytes.data(), host.data(), host.size());
  return std::string(host.data()) + "/" + std::to_string(length);
}

std::string sorted_list(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) items.push_back(lib::take_part(list, ','));
  std::sort(items.begin(), items.end());
  return lib::joined(items, ",");
}

// The kernel keeps 31 bits of a probability; the tools print 10 or 11 digits of it.
std::string probability(std::string_view text) {
  const auto value = lib::parse_number(text, 0.0, 1.0);
  return value ? std::to_string(std::lround(*value * 2147483648.0)) + "/2^31" : std::string(text);
}

void append_word(std::string& out, std::string_view word) {
  out.push_back(' ');
  if (!word.empty() && word.find_first_of(" \t\"\\") == std::string_view::npos) {
    out.append(word);
    return;
  }
  out.push_back('"');
  for (const char c : word) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

bool is_list(std::string_view option) {
  return option == "--ctstate" || option == "--state" || option == "--src-type" || option == "--dst-type";
}

}  // namespace

std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = (text.size() + 1) * 0xC2B2AE3D27D4EB4Full;
  while (!text.empty()) {
    std::uint64_t piece = 0;
    const std::size_t size = std::min(text.size(), sizeof(piece));
    std::memcpy(&piece, text.data(), size);
    text.remove_prefix(size);
    hash = fold(hash, piece);
  }
  return hash;
}

std::uint64_t Canonicaliser::hash(std::string_view rule) { return hash_text(canonical(rule)); }

std::uint64_t Canonicaliser::hash_without_comments(std::string_view rule) {
  skip_comments_ = true;
  const std::uint64_t hashed = hash(rule);
  skip_comments_ = false;
  return hashed;
}

Canonicaliser::Part& Canonicaliser::open_part(std::string_view name) {
  if (used_parts_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[used_parts_++];
  part.name = name;
  part.options.clear();
  return part;
}

// The match that an option belongs to: the last one named, except for ports. They belong to
// the protocol match, which iptables loads implicitly for -p without -m.
Canonicaliser::Part& Canonicaliser::part_for(const Option& option) {
  const bool port = is_port(option.name) && !protocol_.empty();
  const std::string_view last = used_parts_ == 0 ? std::string_view() : parts_[used_parts_ - 1].name;
  if (!port || last == protocol_ || last == "multiport") {
    return used_parts_ == 0 ? open_part({}) : parts_[used_parts_ - 1];
  }
  for (std::size_t i = 0; i < used_parts_; ++i) {
    if (parts_[i].name == protocol_) return parts_[i];
  }
  Part& made = open_part(protocol_);
  if (used_parts_ > 1) std::swap(parts_[used_parts_ - 2], parts_[used_parts_ - 1]);  // the last stays the last
  return used_parts_ > 1 ? parts_[used_parts_ - 2] : made;
}

void Canonicaliser::read_words() {
  bool negated = false;
  bool in_target = false;
  for (std::size_t i = 0; i < words_.size();) {
    if (!words_[i].quoted && word(i) == "!") {
      negated = true;
      ++i;
      continue;
    }
    Option option{{}, i, 0, std::exchange(negated, false)};
    if (!words_[i].quoted && word(i).size() > 1 && word(i)[0] == '-') {
      option.name = canonical_option(word(i));
      option.first = ++i;
    }
    if (takes_one(option.name)) {
      option.count = i < words_.size() ? 1 : 0;
    } else {
      while (i + option.count < words_.size()) {
        const RuleWord& next = words_[i + option.count];
        if (!next.quoted && (next.text == "!" || (next.text.size() > 1 && next.text[0] == '-'))) break;
        ++option.count;
      }
    }
    i += option.count;
    const std::string_view value = option.count == 0 ? std::string_view() : word(option.first);
    if (option.name == "-c") continue;
    if (option.name == "-m") {
      open_part(value);
      in_target = false;
    } else if (option.name == "-j" || option.name == "-g") {
      has_target_ = in_target = true;
      goto_ = option.name == "-g";
      target_ = target_part_.name = value;
    } else if (is_basic(option.name)) {
      const char kind = option.name[1];
      std::string text = kind == 's' || kind == 'd' ? address(value) : std::string(value);
      if (kind == 'p') {
        protocol_ = canonical_protocol(value);
        text = protocol_;
      }
      const bool everything = ((kind == 's' || kind == 'd') && text.ends_with("/0")) ||
                              ((kind == 'i' || kind == 'o') && text == "+") || (kind == 'p' && text == "all");
      if (everything && !option.negated) continue;
      basics_.push_back((option.negated ? "! " : "") + std::string(option.name) + " " + text);
    } else if (in_target) {
      target_part_.options.push_back(option);
    } else {
      part_for(option).options.push_back(option);
    }
  }
}

// A default that the tools print although the rule was written without it.
bool Canonicaliser::is_default(std::string_view part, const Option& option, bool target) const {
  const std::string_view value = option.count == 0 ? std::string_view() : word(option.first);
  if (target && part == "REJECT") {
    return option.name == "--reject-with" && (value == "icmp-port-unreachable" || value == "icmp6-port-unreachable");
  }
  if (target || part != "recent") return false;
  return option.name == "--rsource" ||
         (option.name == "--mask" &&
          (value == "255.255.255.255" || value == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
}

void Canonicaliser::print_option(std::string& out, std::string_view part, const Option& option, bool target) {
  const std::string_view value = option.count == 0 ? std::string_view() : word(option.first);
  if (option.negated) out.append(" !");
  if (target && (part == "MARK" || part == "CONNMARK") && option.count == 1) {
    if (const auto mark = as_xmark(option.name, value)) {
      out.append(" --set-xmark ").append(print(*mark));
      return;
    }
  }
  append_word(out, option.name);
  if (!target && option.count == 1) {
    if (part == "mark" && option.name == "--mark") {
      if (const auto mark = marked(value)) {
        out.append(" ").append(print(*mark));
        return;
      }
    }
    if (part == "statistic" && option.name == "--probability") {
      out.append(" ").append(probability(value));
      return;
    }
    if (part == "ipvs" && (option.name == "--vaddr" || option.name == "--vproto")) {
      append_word(out, option.name == "--vaddr" ? address(value) : canonical_protocol(value));
      return;
    }
    if (is_list(option.name)) {
      out.append(" ").append(sorted_list(value));
      return;
    }
  }
  for (std::size_t i = 0; i < option.count; ++i) append_word(out, word(option.first + i));
}

void Canonicaliser::print_part(Part& part, bool target) {
  std::sort(part.options.begin(), part.options.end(), [](const Option& a, const Option& b) { return a.name < b.name; });
  part.text.clear();
  if (skip_comments_ && !target && part.name == "comment") return;
  bool any = false;
  part.text.append(target ? (goto_ ? " -g" : " -j") : " -m");
  append_word(part.text, part.name);
  for (const Option& option : part.options) {
    if (is_default(part.name, option, target)) continue;
    print_option(part.text, part.name, option, target);
    any = true;
  }
  // "-m tcp" without options means the same as "-p tcp".
  if (!target && !any && part.name == protocol_) part.text.clear();
}

std::string_view Canonicaliser::canonical(std::string_view rule) {
  basics_.clear();
  used_parts_ = 0;
  protocol_ = {};
  target_ = {};
  target_part_.options.clear();
  has_target_ = goto_ = false;
  result_.clear();
  split_rule(rule, words_, unquoted_);
  read_words();

  std::sort(basics_.begin(), basics_.end());
  for (const std::string& basic : basics_) result_.append(result_.empty() ? "" : " ").append(basic);
  for (std::size_t i = 0; i < used_parts_; ++i) print_part(parts_[i], false);
  const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(used_parts_);
  std::sort(parts_.begin(), end, [](const Part& a, const Part& b) { return a.text < b.text; });
  for (std::size_t i = 0; i < used_parts_; ++i) result_.append(parts_[i].text);
  if (has_target_) {
    print_part(target_part_, true);
    result_.append(target_part_.text);
  }
  return result_;
}

}  // namespace sluice::netfilter
