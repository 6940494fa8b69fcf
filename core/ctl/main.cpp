// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl: looks into the sluiced of this node, and has it read its configuration
// again. Exit status: 0 done, 1 no answer or a refusal, 2 wrong usage, 3 status: rules are not written.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config.h"
#include "core/ctl/arguments.hpp"
#include "core/ctl/client.hpp"
#include "core/ctl/output.hpp"
#include "core/ctl/reload_text.hpp"
#include "core/ctl/services_text.hpp"
#include "core/ctl/status_text.hpp"

namespace {

using namespace sluice;

constexpr std::chrono::seconds kPatience{10};
// Longer than the daemon waits for its apply threads, so that what it says about them arrives.
constexpr std::chrono::seconds kServicesPatience{25};
// Likewise, for its word that a reload has not ended in time.
constexpr std::chrono::seconds kReloadMargin{10};
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kNotSynced = 3;
// Of status --wait.
constexpr std::chrono::milliseconds kBetweenQuestions{300};

int complain(const base::Status& status, int exit_status) {
  std::fprintf(stderr, "sluicectl: %s\n", status.message().c_str());
  return exit_status;
}

// A full disk or a closed pipe must not look like success.
int print(const std::string& text, int exit_status) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? exit_status : kFailed;
}

std::string shown(const ctl::Arguments& arguments, const nlohmann::json& answer, std::string text) {
  return arguments.output == ctl::Output::text ? std::move(text) : ctl::rendered(answer, arguments.output);
}

int status(const ctl::Arguments& arguments) {
  const auto until = std::chrono::steady_clock::now() + arguments.wait.value_or(std::chrono::seconds(0));
  for (;;) {
    const auto answer = ctl::ask(arguments.state_dir, {{"command", "status"}}, kPatience);
    const bool synced = answer && ctl::all_synced(*answer);
    if (!synced && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kBetweenQuestions);
      continue;
    }
    if (!answer) return complain(answer.status(), kFailed);
    return print(shown(arguments, *answer, ctl::status_text(*answer)), synced ? 0 : kNotSynced);
  }
}

int services(const ctl::Arguments& arguments) {
  nlohmann::json question = {{"command", "services"}};
  if (!arguments.query.empty()) question["query"] = arguments.query;
  if (arguments.family != 0) question["family"] = arguments.family;
  if (!arguments.kernel) question["kernel"] = false;
  if (arguments.output != ctl::Output::text) question["objects"] = true;
  const auto answer = ctl::ask(arguments.state_dir, question, kServicesPatience);
  if (!answer) return complain(answer.status(), kFailed);
  auto page = ctl::services_page(*answer, arguments.query);
  const int printed = print(shown(arguments, *answer, std::move(page.text)), 0);
  if (page.troubles.empty()) return printed;
  page.troubles.pop_back();  // the last line break
  return complain(base::invalid(page.troubles), kFailed);
}

int reload(const ctl::Arguments& arguments) {
  const nlohmann::json question = {{"command", "reload"}, {"timeout_seconds", arguments.timeout.count()}};
  const auto answer = ctl::ask(arguments.state_dir, question, arguments.timeout + kReloadMargin);
  if (!answer) return complain(answer.status(), kFailed);
  auto page = ctl::reload_page(*answer, arguments.timeout);
  const int printed = print(shown(arguments, *answer, std::move(page.text)), 0);
  return page.trouble.empty() ? printed : complain(base::invalid(page.trouble), kFailed);
}

int run(const std::vector<std::string>& words) {
  const auto arguments = ctl::parse_arguments(words);
  if (!arguments) return complain(arguments.status(), kWrongUsage);
  if (arguments->help) return print(ctl::usage(), 0);
  if (arguments->version) return print("sluicectl " PACKAGE_VERSION "\n", 0);
  if (arguments->command == "services") return services(*arguments);
  return arguments->command == "reload" ? reload(*arguments) : status(*arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sluicectl: %s\n", e.what());
    return kFailed;
  }
}
