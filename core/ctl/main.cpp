// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl: looks into the sluiced of this node. Exit status: 0 done, 1 no answer or
// a refusal, 2 wrong usage.
#include "config.h"

#include <cstdio>
#include <exception>

#include "core/ctl/arguments.hpp"
#include "core/ctl/client.hpp"
#include "core/ctl/status_text.hpp"

namespace {

using namespace sluice;

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
    const auto answer = ctl::ask(arguments->state_dir, arguments->command);
    if (!answer) return complain(answer.status(), kFailed);
    out = arguments->output == ctl::Output::json ? answer->dump(2) + "\n" : ctl::status_text(*answer);
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
