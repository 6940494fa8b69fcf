// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl: shows the state of the sluiced of this node, and makes it reload its configuration. Exit status: 0
// success, 1 no reply or an error, 2 usage error, 3 status: rules are not written. Of diff: 0 no differences, 1
// differences, 2 no reply or an error.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "config.h"
#include "core/ctl/arguments.hpp"
#include "core/ctl/client.hpp"
#include "core/ctl/explain_target.hpp"
#include "core/ctl/inspect_text.hpp"
#include "core/ctl/output.hpp"
#include "core/ctl/reload_text.hpp"
#include "core/ctl/services_text.hpp"
#include "core/ctl/status_text.hpp"

namespace {

using namespace sluice;

constexpr std::chrono::seconds kTimeout{10};
// Longer than the daemon waits for its apply threads, so that its error about them arrives.
constexpr std::chrono::seconds kInspectionTimeout{25};
// Added to --timeout, so that the reply that a reload has not ended arrives.
constexpr std::chrono::seconds kReloadMargin{10};
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kNotSynced = 3;
constexpr int kDiffers = 1;  // diff, whose errors have kDiffFailed
constexpr int kDiffFailed = 2;
// Poll interval of status --wait.
constexpr std::chrono::milliseconds kPollInterval{300};

int report_error(const lib::Status& status, int exit_status) {
  std::fprintf(stderr, "sluicectl: %s\n", status.message().c_str());
  return exit_status;
}

// A full disk or a closed pipe must not look like success.
int print(const std::string& text, int exit_status) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? exit_status : kFailed;
}

std::string render_reply(const ctl::Arguments& arguments, const nlohmann::json& reply, std::string text) {
  return arguments.output == ctl::Output::text ? std::move(text) : ctl::render(reply, arguments.output);
}

int status(const ctl::Arguments& arguments) {
  const auto until = std::chrono::steady_clock::now() + arguments.wait.value_or(std::chrono::seconds(0));
  for (;;) {
    const auto reply = ctl::send_request(arguments.state_dir, {{"command", "status"}}, kTimeout);
    const bool synced = reply && ctl::all_synced(*reply);
    if (!synced && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    if (!reply) return report_error(reply.status(), kFailed);
    return print(render_reply(arguments, *reply, ctl::status_text(*reply)), synced ? 0 : kNotSynced);
  }
}

// Reports lines of errors, without the final newline.
int report_errors(std::string errors, int exit_status) {
  errors.pop_back();
  return report_error(lib::invalid(std::move(errors)), exit_status);
}

int services(const ctl::Arguments& arguments) {
  nlohmann::json request = {{"command", "services"}};
  if (!arguments.query.empty()) request["query"] = arguments.query;
  if (arguments.family != 0) request["family"] = arguments.family;
  if (!arguments.kernel) request["kernel"] = false;
  if (arguments.output != ctl::Output::text) request["objects"] = true;
  const auto reply = ctl::send_request(arguments.state_dir, request, kInspectionTimeout);
  if (!reply) return report_error(reply.status(), kFailed);
  auto page = ctl::services_page(*reply, arguments.query);
  const int printed = print(render_reply(arguments, *reply, std::move(page.text)), 0);
  return page.errors.empty() ? printed : report_errors(std::move(page.errors), kFailed);
}

lib::Result<nlohmann::json> inspect(const ctl::Arguments& arguments, const char* kind) {
  nlohmann::json request = {{"command", "inspect"}, {"kind", kind}};
  if (!arguments.query.empty()) request["query"] = arguments.query;
  if (arguments.family != 0) request["family"] = arguments.family;
  return ctl::send_request(arguments.state_dir, request, kInspectionTimeout);
}

int counters(const ctl::Arguments& arguments) {
  const auto reply = inspect(arguments, "counters");
  if (!reply) return report_error(reply.status(), kFailed);
  auto page = ctl::counters_page(*reply, arguments.endpoints);
  const int printed = print(render_reply(arguments, *reply, std::move(page.text)), 0);
  return page.errors.empty() ? printed : report_errors(std::move(page.errors), kFailed);
}

int diff(const ctl::Arguments& arguments) {
  const auto reply = inspect(arguments, "drift");
  if (!reply) return report_error(reply.status(), kDiffFailed);
  auto page = ctl::diff_page(*reply);
  const int printed = print(render_reply(arguments, *reply, std::move(page.text)), ctl::has_drift(*reply) ? kDiffers : 0);
  return page.errors.empty() ? printed : report_errors(std::move(page.errors), kDiffFailed);
}

// What Services have to do with the target, and then each packet.
int explain(const ctl::Arguments& arguments) {
  const auto ask = [&](const nlohmann::json& request) {
    return ctl::send_request(arguments.state_dir, request, kInspectionTimeout);
  };
  nlohmann::json request = {{"command", "services"}, {"query", arguments.query}};
  const auto shown = ask(request);
  if (!shown) return report_error(shown.status(), kFailed);
  request["objects"] = true;
  request["kernel"] = false;
  const auto services = ask(request);
  if (!services) return report_error(services.status(), kFailed);
  const auto packets = ctl::explanation_requests(arguments.query, arguments.client, *services);
  if (!packets) return report_error(packets.status(), kFailed);

  std::string text = ctl::services_page(ctl::families_of(*shown, *packets), {}).text;
  std::string errors;
  nlohmann::json explanations = nlohmann::json::array();
  for (const nlohmann::json& packet : *packets) {
    auto reply = ask(packet);
    if (!reply) return report_error(reply.status(), kFailed);
    auto page = ctl::explanation_page(*reply);
    text += "\n" + page.text;
    errors += page.errors;
    for (auto& family : (*reply)["families"]) explanations.push_back(std::move(family));
  }
  const nlohmann::json all = {{"services", *services}, {"explanations", std::move(explanations)}};
  const int printed = print(render_reply(arguments, all, std::move(text)), 0);
  return errors.empty() ? printed : report_errors(std::move(errors), kFailed);
}

int reload(const ctl::Arguments& arguments) {
  const nlohmann::json request = {{"command", "reload"}, {"timeout_seconds", arguments.timeout.count()}};
  const auto reply = ctl::send_request(arguments.state_dir, request, arguments.timeout + kReloadMargin);
  if (!reply) return report_error(reply.status(), kFailed);
  auto page = ctl::reload_page(*reply, arguments.timeout);
  const int printed = print(render_reply(arguments, *reply, std::move(page.text)), 0);
  return page.error.empty() ? printed : report_error(lib::invalid(page.error), kFailed);
}

int run(const std::vector<std::string>& words) {
  const auto arguments = ctl::parse_arguments(words);
  if (!arguments) return report_error(arguments.status(), kWrongUsage);
  if (arguments->help) return print(ctl::usage(), 0);
  if (arguments->version) return print("sluicectl " PACKAGE_VERSION "\n", 0);
  constexpr std::pair<std::string_view, int (*)(const ctl::Arguments&)> kCommands[] = {
      {"status", status}, {"services", services}, {"counters", counters},
      {"diff", diff},     {"explain", explain},   {"reload", reload}};
  for (const auto& [name, command] : kCommands) {
    if (name == arguments->command) return command(*arguments);
  }
  return kWrongUsage;  // parse_arguments() knows the same commands
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
