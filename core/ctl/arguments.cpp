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

namespace sluice::ctl {
namespace {

namespace po = boost::program_options;

constexpr const char* kCommands = "status, services, reload, help";
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
    {"family", 0, "4|6", "services: show one address family only."},
    {"no-kernel", 0, "", "services: show the delivered state, without reading the kernel."},
    {"wait", 0, "TIME",
     "status: wait until the rules of every address family are written, 1s to 24h; --wait alone means 2m.",
     "", "Also waits for a daemon that does not run yet."},
    {"timeout", 0, "TIME", "reload: maximum time to wait for the end of the reload, 1s to 24h.", "10m",
     "If the timeout expires, the exit status is 1, and the reload continues."},
    {"version", 0, "", "Print the version and exit."},
    {"help", 'h', "", "Print this help and exit."},
});
// clang-format on

po::options_description options() {
  po::options_description out("Options");
  for (const CtlOption& option : kOptions) {
    std::string name(option.name);
    if (option.letter != 0) name += std::string(",") + option.letter;
    std::string help(option.help);
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

lib::Result<Arguments> interpret_services(const po::variables_map& given, const std::vector<std::string>& words,
                                          Arguments out) {
  if (words.size() > 1) {
    out.query = words[1];
    if (out.query.empty())
      return lib::invalid("services: an empty text is not a Service; omit it to list all Services");
  }
  out.kernel = given.count("no-kernel") == 0;
  if (given.count("family") == 0) return out;
  const auto& family = given["family"].as<std::string>();
  if (family != "4" && family != "6") return lib::invalid("--family: '" + family + "' is not known; allowed: 4, 6");
  out.family = family == "4" ? 4 : 6;
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
  if (words.empty()) return lib::invalid(std::string("a command is missing; commands: ") + kCommands);
  out.command = words.front();
  const bool services = out.command == "services";
  const bool reload = out.command == "reload";
  if (out.command != "status" && !services && !reload) {
    return lib::invalid("unknown command '" + out.command + "'; commands: " + kCommands);
  }
  const std::size_t most = services ? 2 : 1;
  if (words.size() > most) return lib::invalid("unexpected argument '" + words[most] + "' after " + words[most - 1]);
  for (const char* option : {"family", "no-kernel"}) {
    if (!services && given.count(option) != 0) {
      return lib::invalid(std::string("--") + option + ": only the command services has it");
    }
  }
  if (given.count("wait") != 0) {
    if (out.command != "status") return lib::invalid("--wait: only the command status has it");
    const auto wait = time_of(given, "wait");
    if (!wait) return wait.status();
    out.wait = *wait;
  }
  if (given.count("timeout") != 0) {
    if (!reload) return lib::invalid("--timeout: only the command reload has it");
    const auto timeout = time_of(given, "timeout");
    if (!timeout) return timeout.status();
    out.timeout = *timeout;
  }
  return services ? interpret_services(given, words, std::move(out)) : out;
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

std::string usage() {
  std::ostringstream out;
  out << "Usage: sluicectl [OPTION...] COMMAND\n\nShow the state of sluiced on this node, and reload its "
         "configuration. "
         "Needs root.\n\n"
      << "Commands:\n  status                Show backend, source, last sync, reload and swap. Exit status 3 if rules "
         "are not\n"
      << "                        written, or if the last attempt failed.\n"
      << "  services [WHICH]      Show where the kernel sends packets for Services, and which endpoints are used.\n"
      << "                        WHICH: NAMESPACE/NAME[:PORT], NAMESPACE, NAME, IP, IP:PORT or :NODEPORT.\n"
      << "  reload                Reload the configuration, and wait for the result. Exit status 1 if it failed,\n"
      << "                        which keeps the running configuration, or timed out.\n"
      << "  help                  Print this help.\n\n"
      << options();
  return out.str();
}

}  // namespace sluice::ctl
