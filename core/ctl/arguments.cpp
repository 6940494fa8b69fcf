// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/arguments.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::ctl {
namespace {

namespace po = boost::program_options;

constexpr std::chrono::hours kLongestTimeout{24};

// "90s", "10m", "1h".
std::optional<std::chrono::seconds> parse_time(std::string_view text) {
  const auto number = lib::take_number<unsigned>(text);
  const unsigned unit = text == "s" ? 1 : text == "m" ? 60 : text == "h" ? 3600 : 0;
  if (!number) return std::nullopt;
  const std::chrono::seconds out(std::uint64_t{*number} * unit);
  return out.count() > 0 && out <= kLongestTimeout ? std::optional(out) : std::nullopt;
}

// clang-format off
constexpr std::array kOptions = std::to_array<CtlOption>({
    {"state-dir", 0, "DIR", "State directory of the daemon.", "/run/sluice"},
    {"output", 'o', "text|json|yaml",
     "Output format: text, or the reply of the daemon as JSON or YAML.", "text"},
    {"json", 0, "", "The same as --output json."},
    {"family", 0, "4|6", "Show one address family only.", "", "", "services, counters, diff"},
    {"no-kernel", 0, "", "Show the delivered state, without reading the kernel.", "", "", "services"},
    {"endpoints", 0, "", "Show each endpoint, too, where the data plane counts its traffic.", "", "", "counters"},
    {"from", 0, "CLIENT",
     "Where the packet comes from: node (a process of this node), the address of a pod of this node, outside, or "
     "outside:ADDRESS.", "node", "outside alone means an address for documentation.", "explain"},
    {"wait", 0, "TIME",
     "Wait until the rules of every address family are written, 1s to 24h; --wait alone means 2m.",
     "", "Also waits for a daemon that does not run yet.", "status"},
    {"timeout", 0, "TIME", "Maximum time to wait for the end of the reload, 1s to 24h.", "10m",
     "If the timeout expires, the exit status is 1, and the reload continues.", "reload"},
    {"version", 0, "", "Print the version and exit."},
    {"help", 'h', "", "Print this help and exit."},
});

constexpr std::array kAllCommands = std::to_array<CtlCommand>({
    {"status", "",
     "Show backend, source, last sync, reload and swap. Exit status 3 if rules are not written, or if the last attempt "
     "failed."},
    {"services", "[WHICH]",
     "Show where the kernel sends packets for Services, and which endpoints are used. WHICH: NAMESPACE/NAME[:PORT], "
     "NAMESPACE, NAME, IP, IP:PORT or :NODEPORT."},
    {"counters", "[WHICH]",
     "Show the traffic of Services that the data plane has counted. WHICH: NAMESPACE/NAME[:PORT], NAMESPACE or NAME."},
    {"diff", "[WHICH]",
     "Show where the kernel differs from what the backend wrote. WHICH as for counters. Exit status 1 if it differs by "
     "more than objects of others, 2 after an error."},
    {"explain", "TARGET",
     "Show what happens to a packet, step by step as the kernel has it. TARGET: IP:PORT[/PROTOCOL], :NODEPORT, or what "
     "services takes."},
    {"reload", "",
     "Reload the configuration, and wait for the result. Exit status 1 if it failed, which keeps the running "
     "configuration, or timed out."},
    {"help", "", "Print this help."},
});
// clang-format on

std::string command_names() {
  return lib::joined(kAllCommands, ", ", [](const CtlCommand& command) { return std::string(command.name); });
}

// Whether `names`, "services, diff", contains `name`.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    std::string_view one = lib::take_part(names, ',');
    if (one.starts_with(' ')) one.remove_prefix(1);
    if (one == name) return true;
  }
  return false;
}

po::options_description options() {
  po::options_description out("Options");
  for (const CtlOption& option : kOptions) {
    std::string name(option.name);
    if (option.letter != 0) name += std::string(",") + option.letter;
    std::string help = (option.commands.empty() ? "" : std::string(option.commands) + ": ") + std::string(option.help);
    if (!option.shown_default.empty()) help += " (default " + std::string(option.shown_default) + ")";
    if (option.value_name.empty()) {
      out.add_options()(name.c_str(), help.c_str());
    } else {
      out.add_options()(name.c_str(), po::value<std::string>()->value_name(std::string(option.value_name)),
                        help.c_str());
    }
  }
  return out;
}

lib::Result<std::chrono::seconds> time_of(const po::variables_map& given, const std::string& option) {
  const auto& text = given[option].as<std::string>();
  const auto time = parse_time(text);
  if (!time)
    return lib::invalid("--" + option + ": '" + text + "' is not a duration; allowed: 1s to 24h, as 30s, 10m or 1h");
  return *time;
}

// The first option that this command does not have.
lib::Status check_options(const po::variables_map& given, const std::string& command) {
  for (const CtlOption& option : kOptions) {
    if (option.commands.empty() || given.count(std::string(option.name)) == 0) continue;
    if (lists(option.commands, command)) continue;
    const bool several = option.commands.find(',') != std::string_view::npos;
    return lib::invalid("--" + std::string(option.name) + ": only " + (several ? "these commands have" : "the command ") +
                        (several ? " it: " + std::string(option.commands) : std::string(option.commands) + " has it"));
  }
  return {};
}

lib::Status interpret_operand(const CtlCommand& command, const std::vector<std::string>& words, Arguments& out) {
  const std::size_t most = command.operand.empty() ? 1 : 2;
  if (words.size() > most) return lib::invalid("unexpected argument '" + words[most] + "' after " + words[most - 1]);
  if (words.size() == 2) {
    out.query = words[1];
    if (out.query.empty())
      return lib::invalid(out.command + ": an empty text is not a Service" +
                          (command.operand.front() == '[' ? "; omit it to select all Services" : ""));
  } else if (!command.operand.empty() && command.operand.front() != '[') {
    return lib::invalid(out.command + ": " + std::string(command.operand) +
                        " is missing, for example 10.96.0.1:443 or shop/cart");
  }
  return {};
}

// The options that only some commands have.
lib::Result<Arguments> interpret_options(const po::variables_map& given, Arguments out) {
  out.kernel = given.count("no-kernel") == 0;
  out.endpoints = given.count("endpoints") != 0;
  if (given.count("family") != 0) {
    const auto& family = given["family"].as<std::string>();
    if (family != "4" && family != "6") return lib::invalid("--family: '" + family + "' is not known; allowed: 4, 6");
    out.family = family == "4" ? 4 : 6;
  }
  if (given.count("from") != 0) {
    const auto client = parse_client(given["from"].as<std::string>());
    if (!client) return client.status();
    out.client = *client;
  }
  if (given.count("wait") != 0) {
    const auto wait = time_of(given, "wait");
    if (!wait) return wait.status();
    out.wait = *wait;
  }
  if (given.count("timeout") != 0) {
    const auto timeout = time_of(given, "timeout");
    if (!timeout) return timeout.status();
    out.timeout = *timeout;
  }
  return out;
}

lib::Result<Arguments> interpret(const po::variables_map& given) {
  Arguments out;
  out.help = given.count("help") != 0;
  out.version = given.count("version") != 0;
  if (given.count("state-dir") != 0) out.state_dir = given["state-dir"].as<std::string>();
  if (given.count("json") != 0) out.output = Output::json;
  if (given.count("output") != 0) {
    const auto& output = given["output"].as<std::string>();
    constexpr std::array<std::pair<std::string_view, Output>, 3> kOutputs{
        {{"text", Output::text}, {"json", Output::json}, {"yaml", Output::yaml}}};
    const auto* const found =
        std::find_if(kOutputs.begin(), kOutputs.end(), [&](const auto& one) { return one.first == output; });
    if (found == kOutputs.end())
      return lib::invalid("--output: '" + output + "' is not known; allowed: text, json, yaml");
    out.output = found->second;
  }
  const auto words =
      given.count("command") != 0 ? given["command"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (words == std::vector<std::string>{"help"}) out.help = true;
  if (out.help || out.version) return out;
  if (words.empty()) return lib::invalid("a command is missing; commands: " + command_names());
  out.command = words.front();
  const auto* const command = std::find_if(kAllCommands.begin(), kAllCommands.end(),
                                           [&](const CtlCommand& one) { return one.name == out.command; });
  if (command == kAllCommands.end())
    return lib::invalid("unknown command '" + out.command + "'; commands: " + command_names());
  if (const auto operand = interpret_operand(*command, words, out); !operand.ok()) return operand;
  if (const auto options = check_options(given, out.command); !options.ok()) return options;
  return interpret_options(given, std::move(out));
}

}  // namespace

lib::Result<Arguments> parse_arguments(const std::vector<std::string>& given_words) {
  // An option with an optional value never takes the next word.
  std::vector<std::string> words = given_words;
  std::replace(words.begin(), words.end(), std::string("--wait"), std::string("--wait=2m"));
  po::options_description all = options();
  all.add_options()("command", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("command", -1);
  po::variables_map given;
  try {
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              given);
  } catch (const po::error& e) {
    return lib::invalid(e.what());
  }
  return interpret(given);
}

std::span<const CtlOption> ctl_options() { return kOptions; }

std::span<const CtlCommand> ctl_commands() { return kAllCommands; }

std::string usage() {
  constexpr std::size_t kColumn = 24, kWidth = 100;
  std::ostringstream out;
  out << "Usage: sluicectl [OPTION...] COMMAND\n\nShow the state of sluiced on this node, and reload its "
         "configuration. Needs root.\n\nCommands:\n";
  for (const CtlCommand& command : kAllCommands) {
    std::string line = "  " + std::string(command.name);
    if (!command.operand.empty()) line += " " + std::string(command.operand);
    line.resize(std::max(kColumn, line.size() + 1), ' ');
    std::string_view rest = command.help;
    while (!rest.empty()) {
      const std::string word(lib::take_part(rest, ' '));
      if (line.size() > kColumn && line.size() + 1 + word.size() > kWidth) {
        out << line << "\n";
        line.assign(kColumn, ' ');
      }
      line += (line.size() > kColumn ? " " : "") + word;
    }
    out << line << "\n";
  }
  out << "\n" << options();
  return out.str();
}

}  // namespace sluice::ctl
