// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/flags.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/values.hpp"
#include "lib/duration.hpp"

namespace sluice::config {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpWidth = 96;
constexpr std::string_view kRetiredFlagsIgnored =
    "retired and without effect: log lines go to standard error, or as --log-text-split-stream says";

// A flag of the command line with its optional value.
struct Word {
  std::string name;                  // with "-" for "_"
  std::optional<std::string> value;  // attached to the word
  std::string shown;                 // "--name" or "-v", for messages
};

const po::value_semantic* semantic_of(const Option& flag) {
  switch (flag.kind) {
    case FlagKind::boolean:
      return po::bool_switch();
    case FlagKind::list:
    case FlagKind::repeated:
      return po::value<std::vector<std::string>>()->composing()->value_name(std::string(flag.value_name));
    case FlagKind::number:
    case FlagKind::decimal:
    case FlagKind::duration:
    case FlagKind::text:
      break;
  }
  return po::value<std::string>()->value_name(std::string(flag.value_name));
}

// "help,h" and "v,v": the two flags that have a short form.
std::string declared_name(const Option& flag) {
  if (flag.flag == "help") return "help,h";
  if (flag.flag == "v") return "v,v";
  return std::string(flag.flag);
}

po::options_description describe(FlagGroup group) {
  po::options_description out(group_title(group), kHelpWidth, kHelpWidth / 2);
  for (const Option* flag : flag_table()) {
    if (flag->group == group) {
      std::string help(flag->help);
      if (const std::string value = default_text(*flag); !value.empty()) help += " (default " + value + ")";
      out.add_options()(declared_name(*flag).c_str(), semantic_of(*flag), help.c_str());
    }
  }
  return out;
}

std::vector<FlagGroup> groups() {
  std::vector<FlagGroup> out;
  for (const Option* flag : flag_table()) {
    if (out.empty() || out.back() != flag->group) out.push_back(flag->group);
  }
  return out;
}

po::options_description describe_all() {
  po::options_description out(kHelpWidth, kHelpWidth / 2);
  for (const FlagGroup group : groups()) out.add(describe(group));
  return out;
}

// "v1.36.0", "v1.36.0-gke.100+build".
bool is_kubernetes_version(std::string_view text) {
  if (text.empty() || text.front() != 'v') return false;
  const std::string_view numbers = text.substr(1, text.find_first_of("-+") - 1);
  const std::string_view rest = text.substr(1 + numbers.size());
  int dots = 0;
  char before = '.';
  for (const char c : numbers) {
    if (c == '.' ? before == '.' : c < '0' || c > '9') return false;
    dots += c == '.';
    before = c;
  }
  return dots == 2 && before != '.' && text.size() <= 100 && std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || std::strchr("-+.", c) != nullptr;
         });
}

// Converts pflag syntax to names with exactly one value each, since Boost completes names, rejects repeated ones and
// parses
// "-v=4" as "=4".
class CommandLine {
 public:
  CommandLine(const std::vector<std::string>& words, Problems& problems) : words_(words), problems_(problems) {}

  std::map<std::string, std::vector<std::string>, std::less<>> read() {
    for (next_ = 0; next_ < words_.size();) {
      const std::string& word = words_[next_++];
      if (word == "--") {
        while (next_ < words_.size()) positional(words_[next_++]);
      } else if (word.starts_with("--")) {
        long_word(word);
      } else if (word.size() > 1 && word.front() == '-') {
        short_word(word);
      } else {
        positional(word);
      }
    }
    if (!retired_.empty()) problems_.warning(retired_, std::string(kRetiredFlagsIgnored));
    return std::move(given_);
  }

 private:
  void positional(const std::string& word) {
    if (word == "help" && words_.size() == 1) {
      given_["help"] = {"true"};
      return;
    }
    problems_.error(
        "", "unexpected argument '" + word + "': there are only flags; a switch is turned off with --name=false");
  }

  void long_word(const std::string& word) {
    const auto equals = word.find('=');
    Word parsed;
    parsed.shown = word.substr(0, equals);
    parsed.name = parsed.shown.substr(2);
    std::replace(parsed.name.begin(), parsed.name.end(), '_', '-');
    if (equals != std::string::npos) parsed.value = word.substr(equals + 1);
    if (parsed.name.empty() || parsed.name.front() == '-') {
      problems_.error("", "'" + word + "' is not a flag; allowed: --name, --name=value or --name value");
      return;
    }
    take(parsed);
  }

  void short_word(const std::string& word) {
    Word parsed;
    parsed.shown = word.substr(0, 2);
    parsed.name = word[1] == 'h' ? "help" : parsed.shown.substr(1);
    if (word.size() > 2) parsed.value = word.substr(word[2] == '=' ? 3 : 2);
    if (word[1] != 'h' && word[1] != 'v') {
      problems_.error(word, "unknown flag; -h and -v are the only short ones, sluiced --help lists all");
      return;
    }
    take(parsed);
  }

  void take(const Word& word) {
    const Option* flag = find_flag(word.name);
    if (flag == nullptr) {
      refuse(word);
      return;
    }
    std::optional<std::string> value = word.value;
    // --version alone means --version=true; like a switch, it never takes the next word.
    if (!value && (flag->kind == FlagKind::boolean || flag->flag == "version")) value = "true";
    if (!value && next_ < words_.size()) value = words_[next_++];
    if (!value) {
      problems_.error(word.shown, "needs a value: " + std::string(flag->value_name));
      return;
    }
    store(*flag, word, *value);
  }

  // Skips the separate value of a rejected flag, so that it causes no second error.
  void refuse(const Word& word) {
    const RetiredFlag retired = find_retired_flag(word.name);
    const bool has_value_behind = !word.value && !retired.boolean && next_ < words_.size();
    if (!retired.found) {
      const std::string_view nearest = nearest_flag(word.name);
      problems_.error(word.shown, nearest.empty() ? "unknown flag; sluiced --help lists all"
                                                  : "unknown flag; did you mean --" + std::string(nearest) + "?");
      if (has_value_behind && !words_[next_].starts_with('-')) ++next_;
      return;
    }
    retired_ += (retired_.empty() ? "" : ", ") + word.shown;
    if (has_value_behind) ++next_;
  }

  void store(const Option& flag, const Word& word, const std::string& value) {
    std::vector<std::string>& stored = given_[std::string(flag.flag)];
    switch (flag.kind) {
      case FlagKind::boolean:
        if (const auto parsed = parse_boolean(value)) {
          stored = {*parsed ? "true" : "false"};
        } else {
          malformed(word, value, "is not a boolean", kBooleanAllowed);
        }
        return;
      case FlagKind::number:
        if (!parse_number(value)) malformed(word, value, "is not a number", "allowed: a whole number, such as 14");
        break;
      case FlagKind::decimal:
        if (!parse_decimal(value)) malformed(word, value, "is not a number", "allowed: a number, such as 5 or 0.5");
        break;
      case FlagKind::duration:
        if (!lib::parse_duration(value)) malformed(word, value, "is not a duration", kDurationAllowed);
        break;
      case FlagKind::text:
        if (flag.flag == "version" && value != "raw" && !parse_boolean(value) && !is_kubernetes_version(value)) {
          malformed(word, value, "says nothing about the version",
                    "allowed: true, false, raw or a version such as v1.36.0");
        }
        break;
      case FlagKind::list:
        for (std::string& part : split_list(value)) stored.push_back(std::move(part));
        return;
      case FlagKind::repeated:
        stored.push_back(value);
        return;
    }
    stored = {value};
  }

  void malformed(const Word& word, const std::string& value, std::string_view what, std::string_view allowed) {
    problems_.error(word.shown, "'" + value + "' " + std::string(what) + "; " + std::string(allowed));
  }

  const std::vector<std::string>& words_;
  Problems& problems_;
  std::size_t next_ = 0;
  std::string retired_;  // names of the retired flags
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

}  // namespace

std::string Flags::text(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() || found->second.empty() ? std::string() : found->second.back();
}

bool Flags::on(std::string_view name) const { return text(name) == "true"; }

std::vector<std::string> Flags::texts(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

Action Flags::action() const {
  if (on("help")) return Action::help;
  const std::string version = text("version");
  if (version == "raw") return Action::version_raw;
  if (parse_boolean(version).value_or(false)) return Action::version;
  if (on("check")) return Action::check;
  if (!text("write-config-to").empty()) return Action::write_config;
  if (on("cleanup")) return Action::cleanup;
  if (on("init-only")) return Action::init_only;
  return on("hold-descriptors") ? Action::hold_descriptors : Action::run;
}

std::vector<std::string> Flags::ignored_with_file() const {
  std::vector<std::string> out;
  if (text("config").empty()) return out;
  for (const auto& [name, texts] : given_) {
    if (!find_flag(name)->beats_file) out.push_back("--" + name);
  }
  return out;
}

Flags parse_flags(const std::vector<std::string>& arguments, Problems& problems) {
  const po::options_description description = describe_all();
  po::parsed_options parsed(&description);
  for (auto& [name, texts] : CommandLine(arguments, problems).read()) {
    parsed.options.emplace_back(name, texts);
  }
  po::variables_map stored;
  po::store(parsed, stored);

  Flags flags;
  for (const Option* flag : flag_table()) {
    const po::variable_value& value = stored[std::string(flag->flag)];
    if (value.empty() || value.defaulted()) continue;
    std::vector<std::string>& texts = flags.given_[std::string(flag->flag)];
    if (flag->kind == FlagKind::boolean) {
      texts = {value.as<bool>() ? "true" : "false"};
    } else if (flag->kind == FlagKind::list || flag->kind == FlagKind::repeated) {
      texts = value.as<std::vector<std::string>>();
    } else {
      texts = {value.as<std::string>()};
    }
  }
  if (flags.on("check") && flags.on("cleanup")) {
    problems.error("--check", "excludes --cleanup: the one changes nothing, the other removes everything");
  }
  return flags;
}

std::map<std::string, std::string> flag_values(const Flags& flags) {
  std::map<std::string, std::string> out;
  for (const Option* flag : flag_table()) {
    std::string& value = out[std::string(flag->flag)];
    if (!flags.given(flag->flag)) {
      value = default_text(*flag);
      continue;
    }
    for (const std::string& one : flags.texts(flag->flag)) value += (value.empty() ? "" : ",") + one;
  }
  return out;
}

std::string help_text(std::string_view program, const std::string& default_plugin_dir,
                      const std::string& default_state_dir) {
  std::ostringstream out;
  out << "Usage: " << program << " [FLAG...]\n"
      << "\nProgram the packet forwarding of Kubernetes Services on this node.\n"
      << "Without --kubeconfig, --master, --manifests or --replay, the daemon must run in a pod, and connects to "
         "the API server of its cluster.\n";
  out << describe_all();
  out << "\nThe directory of backends is " << default_plugin_dir << "; the state directory is " << default_state_dir
      << ".\n";
  return out.str();
}

}  // namespace sluice::config
