// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table of a backend's options: constexpr functions that declare it, its check, and the validation of a
// configuration section by it. The daemon and Options use the same code, so that their errors are the same. All functions
// may throw std::bad_alloc.
//
//   constexpr sluice::abi::OptionSpec kOptions[] = {
//       option::integer("threads", "4", 1, 64, "threads", "Number of threads."),
//       option::list(8, option::duration("timeouts[]", "250ms, 1s", 1ms, 1min, "Timeouts of the attempts to connect.")),
//   };
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/abi/options.hpp"
#include "sluice/sdk/nearest.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// Rows of a table. `default_value` is written as in a configuration; `help` is sentences.
namespace option {

inline constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

constexpr abi::OptionSpec boolean(std::string_view key, std::string_view default_value, std::string_view help) {
  return {view(key), abi::OptionType::kBoolean, abi::OptionReload::kReplace, view(default_value), 0, 0, 0, 0,
          {}, {}, {}, view(help)};
}
// `unit`: what is counted, plural; may be empty.
constexpr abi::OptionSpec integer(std::string_view key, std::string_view default_value, std::int64_t minimum,
                                  std::int64_t maximum, std::string_view unit, std::string_view help) {
  return {view(key), abi::OptionType::kInteger, abi::OptionReload::kReplace, view(default_value), minimum, maximum, 0, 0,
          {}, view(unit), {}, view(help)};
}
constexpr abi::OptionSpec duration(std::string_view key, std::string_view default_value,
                                   std::chrono::nanoseconds minimum, std::chrono::nanoseconds maximum,
                                   std::string_view help) {
  return {view(key), abi::OptionType::kDuration, abi::OptionReload::kReplace, view(default_value), minimum.count(),
          maximum.count(), 0, 0, {}, {}, {}, view(help)};
}
// `words`: "keep|drain|reset".
constexpr abi::OptionSpec word(std::string_view key, std::string_view default_value, std::string_view words,
                               std::string_view help) {
  return {view(key), abi::OptionType::kWord, abi::OptionReload::kReplace, view(default_value), 0, 0, 0, 0,
          view(words), {}, {}, view(help)};
}
// `format` describes the allowed values, with an article; create() must validate them. Empty: any text.
constexpr abi::OptionSpec text(std::string_view key, std::string_view default_value, std::string_view format,
                               std::string_view help) {
  return {view(key), abi::OptionType::kText, abi::OptionReload::kReplace, view(default_value), 0, 0, 0, 0,
          {}, {}, view(format), view(help)};
}
// A list, whose key ends with "[]" and whose default has elements separated by ", ".
constexpr abi::OptionSpec list(std::uint32_t max_elements, abi::OptionSpec element) {
  element.max_elements = max_elements;
  return element;
}
// An option whose change takes effect at the next start of the daemon.
constexpr abi::OptionSpec restart(abi::OptionSpec spec) {
  spec.reload = abi::OptionReload::kRestart;
  return spec;
}
// The table of a backend without options: the daemon rejects all.
inline constexpr abi::OptionSpec kNone{};
constexpr abi::ArrayView none() { return array(&kNone, 0); }

}  // namespace option

// A value of a declared option. `key` is that of the configuration: "timeouts[0]".
struct OptionValue {
  std::string key;
  std::string text;
  abi::OptionType type = abi::OptionType::kText;
  std::int64_t number = 0;  // as abi::Option::number
  bool is_default = false;  // the configuration does not contain the key
};

struct OptionProblem {
  std::string key;
  std::string text;  // one sentence: the error and the remedy
};

// Durations in the syntax of Go: "1m30s", "1.5h", "-2ms", "0"; at most 292 years.
inline std::optional<std::int64_t> parse_nanoseconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t nanoseconds;
  };
  // A name precedes its prefixes.
  constexpr Unit kUnits[] = {{"ns", 1},         {"us", 1000},         {"\u00b5s", 1000},    {"\u03bcs", 1000},
                             {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
  const auto digits = [](std::string_view from) {
    return std::min(from.find_first_not_of("0123456789"), from.size());
  };
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (negative || text.front() == '+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    const std::size_t whole_digits = digits(text);
    std::int64_t whole = 0;
    if (whole_digits != 0 && std::from_chars(text.data(), text.data() + whole_digits, whole).ec != std::errc()) {
      return std::nullopt;
    }
    text.remove_prefix(whole_digits);
    long double fraction = 0;
    std::size_t fraction_digits = 0;
    if (!text.empty() && text.front() == '.') {
      text.remove_prefix(1);
      fraction_digits = digits(text);
      long double scale = 1;
      for (const char digit : text.substr(0, fraction_digits)) {
        scale /= 10;
        fraction += scale * (digit - '0');
      }
      text.remove_prefix(fraction_digits);
    }
    if (whole_digits == 0 && fraction_digits == 0) return std::nullopt;
    const Unit* unit = nullptr;
    for (const Unit& one : kUnits) {
      if (unit == nullptr && text.substr(0, one.name.size()) == one.name) unit = &one;
    }
    if (unit == nullptr) return std::nullopt;
    text.remove_prefix(unit->name.size());
    if (whole > option::kHighest / unit->nanoseconds) return std::nullopt;
    for (const std::int64_t part :
         {whole * unit->nanoseconds,
          static_cast<std::int64_t>(std::llround(fraction * static_cast<long double>(unit->nanoseconds)))}) {
      if (part > option::kHighest - total) return std::nullopt;
      total += part;
    }
  }
  return negative ? -total : total;
}

// The shortest text of a duration: "24h", "1m30s", "250ms", "0s".
inline std::string print_nanoseconds(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "0s";
  std::string out = nanoseconds < 0 ? "-" : "";
  std::uint64_t left = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  for (const auto& [size, name] : {std::pair(3'600'000'000'000u, "h"), std::pair(60'000'000'000u, "m"),
                                   std::pair(1'000'000'000ul, "s"), std::pair(1'000'000ul, "ms"), std::pair(1'000ul, "us"),
                                   std::pair(1ul, "ns")}) {
    if (left / size != 0) out += std::to_string(left / size) + name;
    left %= size;
  }
  return out;
}

// "threads" of "threads", "timeouts" of "timeouts[]".
inline std::string_view option_name(const abi::OptionSpec& spec) {
  const std::string_view key = text(spec.key);
  return key.substr(0, key.size() - (key.size() >= 2 && key.substr(key.size() - 2) == "[]" ? 2 : 0));
}
// "timeouts" of "timeouts[0]"; the whole key if it is not an element of a list.
inline std::string_view option_name_of(std::string_view key) {
  const std::size_t bracket = key.find('[');
  if (bracket == std::string_view::npos || key.back() != ']' || key.size() - bracket < 3) return key;
  const std::string_view index = key.substr(bracket + 1, key.size() - bracket - 2);
  return index.find_first_not_of("0123456789") == std::string_view::npos ? key.substr(0, bracket) : key;
}
inline bool is_list(const abi::OptionSpec& spec) { return option_name(spec).size() != spec.key.size; }
// The type for Option::value_type. An unknown type is a text.
inline abi::OptionType known_type(const abi::OptionSpec& spec) {
  return spec.value_type > abi::OptionType::kWord ? abi::OptionType::kText : spec.value_type;
}
inline std::size_t max_elements(const abi::OptionSpec& spec) {
  return spec.max_elements == 0 ? 1000 : spec.max_elements;
}

namespace detail {

inline std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + separator.size()));
  }
  return out;
}

inline std::string join(const std::vector<std::string_view>& parts, std::string_view last_separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out.append(i == 0 ? "" : i + 1 == parts.size() ? last_separator : ", ").append(parts[i]);
  }
  return out;
}

inline std::string range_text(const abi::OptionSpec& spec, const std::string& what, std::string (*print)(std::int64_t)) {
  const bool low = spec.minimum != option::kLowest;
  const bool high = spec.maximum != option::kHighest;
  if (low && high) return what + " from " + print(spec.minimum) + " to " + print(spec.maximum);
  if (low) return what + " of " + print(spec.minimum) + " or more";
  return high ? what + " of at most " + print(spec.maximum) : what;
}

}  // namespace detail

// The default values: one, or those of a list.
inline std::vector<std::string_view> default_values(const abi::OptionSpec& spec) {
  const std::string_view all = text(spec.default_value);
  return is_list(spec) ? detail::split(all, ", ") : std::vector<std::string_view>{all};
}

// The values that one value, or an element of a list, may have: "true or false", "a number of clients from 1 to 64".
inline std::string allowed_values(const abi::OptionSpec& spec) {
  switch (spec.value_type) {
    case abi::OptionType::kBoolean: return "true or false";
    case abi::OptionType::kInteger: {
      const std::string unit(text(spec.unit));
      return detail::range_text(spec, unit.empty() ? "a number" : "a number of " + unit,
                                [](std::int64_t number) { return std::to_string(number); });
    }
    case abi::OptionType::kDuration: return detail::range_text(spec, "a duration", print_nanoseconds);
    case abi::OptionType::kWord: return detail::join(detail::split(text(spec.words), "|"), " or ");
    case abi::OptionType::kText:
    case abi::OptionType::kUndeclared: break;
  }
  const std::string format(text(spec.format));
  return format.empty() ? "any text" : format;
}

// The same for the whole option: "a list of at most 8 elements, each a duration from 1ms to 1m".
inline std::string allowed_text(const abi::OptionSpec& spec) {
  if (!is_list(spec)) return allowed_values(spec);
  return "a list of at most " + std::to_string(max_elements(spec)) + " elements, each " + allowed_values(spec);
}

// The number of a valid value, as in abi::Option::number; nothing if the value is invalid. A text is always valid, and 0.
inline std::optional<std::int64_t> option_number(const abi::OptionSpec& spec, std::string_view value) {
  const auto in_range = [&](std::int64_t number) {
    return number < spec.minimum || number > spec.maximum ? std::nullopt : std::optional(number);
  };
  switch (spec.value_type) {
    case abi::OptionType::kBoolean:
      if (value != "true" && value != "false") return std::nullopt;
      return value == "true" ? 1 : 0;
    case abi::OptionType::kInteger: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (value.empty() || error != std::errc() || end != value.data() + value.size()) return std::nullopt;
      return in_range(number);
    }
    case abi::OptionType::kDuration: {
      const auto number = parse_nanoseconds(value);
      return number ? in_range(*number) : std::nullopt;
    }
    case abi::OptionType::kWord: {
      const auto words = detail::split(text(spec.words), "|");
      const auto found = std::find(words.begin(), words.end(), value);
      if (found == words.end()) return std::nullopt;
      return found - words.begin();
    }
    case abi::OptionType::kText:
    case abi::OptionType::kUndeclared: break;
  }
  return 0;
}

// The error for an invalid value.
inline std::string invalid_value(const abi::OptionSpec& spec, std::string_view value,
                                 const std::string& problem = "is not a valid value") {
  return "'" + std::string(value) + "' " + problem + "; allowed: " + allowed_values(spec);
}

// Copies of the rows. Their texts refer to the table.
inline std::vector<abi::OptionSpec> rows(const abi::ArrayView& table) {
  const auto all = range<abi::OptionSpec>(table);
  return {all.begin(), all.end()};
}

// Validates a section by a table. Adds to `typed` the values of the section, lists in the order of their elements, and then
// the defaults of the missing keys. Returns all problems; with a problem, `typed` is incomplete.
inline std::vector<OptionProblem> read_options(const std::vector<abi::OptionSpec>& table,
                                               std::vector<std::pair<std::string, std::string>> given,
                                               std::vector<OptionValue>& typed) {
  std::vector<OptionProblem> problems;
  // By index, because as text [10] comes before [2].
  std::sort(given.begin(), given.end(), [](const auto& a, const auto& b) {
    return std::tuple(option_name_of(a.first), a.first.size(), std::string_view(a.first)) <
           std::tuple(option_name_of(b.first), b.first.size(), std::string_view(b.first));
  });
  std::vector<std::size_t> counts(table.size());
  std::set<std::string_view> reported;  // an option of the wrong shape may have several keys
  const auto unknown = [&](const std::string& key) {
    std::vector<std::string_view> names;
    for (const abi::OptionSpec& spec : table) {
      const std::string_view name = option_name(spec);
      names.push_back(name);
      if (key.compare(0, name.size(), name) != 0) continue;
      if (key.size() != name.size() && key[name.size()] != '[' && key[name.size()] != '.') continue;
      if (!reported.insert(name).second) return;
      problems.push_back({key, std::string(is_list(spec) ? "is not a list" : "is a list or a map") + "; allowed for " +
                                   std::string(name) + ": " + allowed_text(spec)});
      return;
    }
    const std::string_view nearest = nearest_name(key, names);
    problems.push_back({key, "unknown setting; " + (!nearest.empty() ? "did you mean " + std::string(nearest) + "?"
                                                    : names.empty()  ? "the backend has none"
                                                                     : "allowed: " + detail::join(names, ", "))});
  };
  for (auto& [key, value] : given) {
    const std::string_view name = option_name_of(key);
    const bool is_element = name.size() != key.size();
    const auto spec = std::find_if(table.begin(), table.end(), [name, is_element](const abi::OptionSpec& one) {
      return option_name(one) == name && is_list(one) == is_element;
    });
    if (spec == table.end()) {
      unknown(key);
      continue;
    }
    const std::size_t count = ++counts[static_cast<std::size_t>(spec - table.begin())];
    if (is_list(*spec) && count > max_elements(*spec)) {
      if (count == max_elements(*spec) + 1) {
        problems.push_back({key, "the list is too long; allowed: " + allowed_text(*spec)});
      }
      continue;
    }
    const auto number = option_number(*spec, value);
    if (number) {
      typed.push_back({key, std::move(value), known_type(*spec), *number, false});
    } else {
      problems.push_back({key, invalid_value(*spec, value)});
    }
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (counts[i] != 0) continue;
    std::size_t index = 0;
    for (const std::string_view value : default_values(table[i])) {
      std::string key(option_name(table[i]));
      if (is_list(table[i])) key += "[" + std::to_string(index++) + "]";
      typed.push_back({std::move(key), std::string(value), known_type(table[i]),
                        option_number(table[i], value).value_or(0), true});
    }
  }
  return problems;
}

// Limits of a table, in bytes and rows.
inline constexpr std::size_t kMaxOptions = 256;
inline constexpr std::size_t kMaxOptionKey = 128;
inline constexpr std::size_t kMaxOptionText = 1024;  // each of the other texts

// The first mistake in a table, as one sentence with the remedy; empty if there is none.
inline std::string table_problem(const abi::ArrayView& table) {
  if (table.data == nullptr) return table.count == 0 ? "" : "the options have a count, but no data; set both";
  if (table.count > kMaxOptions) {
    return "it declares " + std::to_string(table.count) + " options; declare at most " + std::to_string(kMaxOptions);
  }
  if (table.count != 0 && (table.stride < sizeof(abi::OptionSpec) || table.stride % alignof(abi::OptionSpec) != 0)) {
    return "the stride of the options is " + std::to_string(table.stride) + "; set it to sizeof(OptionSpec)";
  }
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const abi::OptionSpec& spec : range<abi::OptionSpec>(table)) {
    ++index;
    const auto valid = [](const abi::StringView& one, std::size_t limit) {
      return one.size <= limit && (one.size == 0 || one.data != nullptr);
    };
    const bool key_is_text = valid(spec.key, kMaxOptionKey) && spec.key.size != 0;
    const std::string_view name = key_is_text ? option_name(spec) : std::string_view();
    if (name.empty() || name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") !=
                            std::string_view::npos) {
      return "option " + std::to_string(index) + " has no valid key; use 1 to " + std::to_string(kMaxOptionKey) +
             " letters, digits, '.', '-' and '_', and \"[]\" at the end of a list";
    }
    const std::string option = "option '" + std::string(name) + "': ";
    if (!names.insert(name).second) return option + "it is declared twice; declare it once";
    if (spec.value_type == abi::OptionType::kUndeclared) return option + "it has no type; set value_type";
    for (const auto* one : {&spec.default_value, &spec.words, &spec.unit, &spec.format, &spec.help}) {
      if (!valid(*one, kMaxOptionText)) {
        return option + "a text is null or too long; use at most " + std::to_string(kMaxOptionText) + " bytes";
      }
    }
    const bool ranged = spec.value_type == abi::OptionType::kInteger || spec.value_type == abi::OptionType::kDuration;
    if (ranged && spec.minimum > spec.maximum) return option + "its minimum exceeds its maximum; exchange them";
    if (spec.value_type == abi::OptionType::kWord && spec.words.size == 0) return option + "it has no words; set words";
    const auto defaults = default_values(spec);
    if (defaults.size() > max_elements(spec)) {
      return option + "its default has more than " + std::to_string(max_elements(spec)) + " elements; shorten it";
    }
    for (const std::string_view value : defaults) {
      if (!option_number(spec, value)) return option + "its default: " + invalid_value(spec, value);
    }
  }
  for (const std::string_view name : names) {
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
      if (names.count(name.substr(0, dot)) == 0) continue;
      return "option '" + std::string(name) + "': '" + std::string(name.substr(0, dot)) +
             "' is an option, too, and cannot contain it; rename one of them";
    }
  }
  return {};
}

}  // namespace sluice::sdk
