// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/arguments.hpp"

#include <boost/program_options.hpp>
#include <sstream>

namespace sluice::ctl {
namespace {

namespace po = boost::program_options;

constexpr const char* kCommands = "status";

po::options_description options() {
  po::options_description out("Options");
  out.add_options()("state-dir", po::value<std::string>()->value_name("DIR"),
                    "State directory of the daemon (default /run/sluice).")(
      "output,o", po::value<std::string>()->value_name("text|json"), "Form of the answer (default text).")(
      "version", "Print the version and exit.")("help,h", "Print this text and exit.");
  return out;
}

base::Result<Arguments> interpret(const po::variables_map& given) {
  Arguments out;
  out.help = given.count("help") != 0;
  out.version = given.count("version") != 0;
  if (given.count("state-dir") != 0) out.state_dir = given["state-dir"].as<std::string>();
  if (given.count("output") != 0) {
    const auto& output = given["output"].as<std::string>();
    if (output != "text" && output != "json") {
      return base::invalid("--output: '" + output + "' is not known; allowed: text, json");
    }
    out.output = output == "json" ? Output::json : Output::text;
  }
  if (out.help || out.version) return out;
  const auto words =
      given.count("command") != 0 ? given["command"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (words.empty()) return base::invalid(std::string("a command is missing; commands: ") + kCommands);
  if (words.front() != kCommands) {
    return base::invalid("unknown command '" + words.front() + "'; commands: " + kCommands);
  }
  if (words.size() > 1) return base::invalid("unexpected argument '" + words[1] + "' after " + words.front());
  out.command = words.front();
  return out;
}

}  // namespace

base::Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
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
    return base::invalid(e.what());
  }
  return interpret(given);
}

std::string usage() {
  std::ostringstream out;
  out << "Usage: sluicectl [OPTION...] COMMAND\n\nAsks the sluiced of this node. Needs root.\n\n"
      << "Commands:\n  status                what it serves, from where, and how the last sync went\n\n"
      << options();
  return out.str();
}

}  // namespace sluice::ctl
