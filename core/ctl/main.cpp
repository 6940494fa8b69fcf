// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl: looks into the sluiced of this node, and has it read its configuration
// again. Exit status: 0 done, 1 no answer or a refusal, 2 wrong usage.
#include "config.h"

#include <chrono>
#include <cstdio>
#include <exception>

#include "core/ctl/arguments.hpp"
#include "core/ctl/client.hpp"
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

int complain(const base::Status& status, int exit_status) {
  std::fprintf(stderr, "sluicectl: %s\n", status.message().c_str());
  return exit_status;
}

int run(const std::vector<std::string>& words) {
  const auto arguments = ctl::parse_arguments(words);
  if (!arguments) return complain(arguments.status(), kWrongUsage);
  std::string out;
  if (arguments->help) {
    out = ctl::usage();
  } else if (arguments->version) {
    out = "sluicectl " PACKAGE_VERSION "\n";
  } else {
    nlohmann::json question = {{"command", arguments->command}};
    if (!arguments->name.empty()) question["name"] = arguments->name;
    if (arguments->family != 0) question["family"] = arguments->family;
    if (arguments->told) question["told"] = true;
    const bool services = arguments->command == "services";
    const bool reload = arguments->command == "reload";
    if (reload) question["timeout_seconds"] = arguments->timeout.count();
    const auto answer = ctl::ask(arguments->state_dir, question,
                                 reload     ? arguments->timeout + kReloadMargin
                                 : services ? kServicesPatience
                                            : kPatience);
    if (!answer) return complain(answer.status(), kFailed);
    std::string troubles;
    if (services) {
      auto page = ctl::services_page(*answer, arguments->name);
      out = std::move(page.text);
      troubles = std::move(page.troubles);
      if (!troubles.empty()) troubles.pop_back();
    } else if (reload) {
      auto page = ctl::reload_page(*answer, arguments->timeout);
      out = std::move(page.text);
      troubles = std::move(page.trouble);
    } else {
      out = ctl::status_text(*answer);
    }
    if (arguments->output == ctl::Output::json) out = answer->dump(2) + "\n";
    if (!troubles.empty()) {
      std::fputs(out.c_str(), stdout);
      std::fflush(stdout);
      return complain(base::invalid(troubles), kFailed);
    }
  }
  // A full disk or a closed pipe must not look like success.
  return std::fputs(out.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : kFailed;
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
