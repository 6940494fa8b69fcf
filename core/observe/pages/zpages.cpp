// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/pages/zpages.hpp"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/observe/http/accept_header.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::observe {
namespace {

using nlohmann::ordered_json;
using Time = std::chrono::system_clock::time_point;

constexpr const char* kComponent = "sluiced";
constexpr const char* kGroup = "config.k8s.io";
constexpr const char* kVersion1 = "v1beta1";
constexpr const char* kDeprecatedVersion = "v1alpha1";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kWarning =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n";
constexpr int kNotAcceptable = 406;

// The format that a client accepts: text, or JSON with a version of the kind.
struct Form {
  bool text = false;
  std::string version{};
};

std::optional<Form> choose(const std::string& accept, const std::string& kind) {
  if (accept.find_first_not_of(" \t") == std::string::npos) return Form{.text = true};
  for (const auto& clause : parse_accept(accept)) {
    const std::string as = clause.parameter("as");
    const std::string group = clause.parameter("g");
    const std::string version = clause.parameter("v");
    const bool plain = as.empty() && group.empty() && version.empty();
    if (plain && clause.matches("text", "plain")) return Form{.text = true};
    const bool known = as == kind && group == kGroup && (version == kVersion1 || version == kDeprecatedVersion);
    if (known && clause.matches("application", "json")) return Form{.version = version};
  }
  return std::nullopt;
}

HttpResponse json_answer(int status, const ordered_json& value) {
  // Flags and Accept may be invalid UTF-8.
  return {status, kJson, value.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"};
}

HttpResponse not_acceptable(const std::string& kind) {
  const std::string message = "only the following media types are accepted: text/plain, application/json;as=" + kind +
                              ";g=" + kGroup + ";v=" + kVersion1;
  return json_answer(kNotAcceptable, {{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", ordered_json::object()},
                                      {"status", "Failure"},
                                      {"message", message},
                                      {"reason", "NotAcceptable"},
                                      {"code", kNotAcceptable}});
}

HttpResponse answer(const std::string& accept, const std::string& kind, const std::string& page,
                    const std::string& text, const ordered_json& fields) {
  const auto form = choose(accept, kind);
  if (!form) return not_acceptable(kind);
  if (form->text) return {200, kText, "\n" + std::string(kComponent) + " " + page + "\n" + kWarning + text};
  ordered_json out = {
      {"kind", kind}, {"apiVersion", std::string(kGroup) + "/" + form->version}, {"metadata", {{"name", kComponent}}}};
  out.update(fields);
  HttpResponse response = json_answer(200, out);
  if (form->version == kDeprecatedVersion) {
    response.headers.emplace_back(
        "Warning", "299 - \"This version of the " + page + " endpoint is deprecated. Please use a newer version.\"");
  }
  return response;
}

// As date(1) prints it.
std::string unix_date(Time time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char out[64];
  std::strftime(out, sizeof out, "%a %b %e %H:%M:%S UTC %Y", &parts);
  return out;
}

std::string two_digits(long number) { return (number < 10 ? "0" : "") + std::to_string(number); }

}  // namespace

HttpResponse statusz(const StatusPage& page, const std::string& accept) {
  const auto up = std::max<long>(0, std::chrono::duration_cast<std::chrono::seconds>(page.now - page.started).count());
  const std::string version = std::string(kComponent) + " " + page.version;
  std::string paths;
  for (const auto& path : page.paths) paths += " " + path;
  const std::string text = "\nStarted: " + unix_date(page.started) + "\nUp: " + std::to_string(up / 3600) + " hr " +
                           two_digits(up / 60 % 60) + " min " + two_digits(up % 60) +
                           " sec\nBinary version: " + version + "\nEmulation version: " + page.emulation_version +
                           "\nPaths:" + paths + "\n";
  return answer(accept, "Statusz", "statusz", text,
                {{"startTime", lib::rfc3339(page.started, lib::Fraction::none)},
                 {"uptimeSeconds", up},
                 {"goVersion", ""},
                 {"binaryVersion", version},
                 {"emulationVersion", page.emulation_version},
                 {"paths", page.paths}});
}

HttpResponse flagz(const std::map<std::string, std::string>& flags, const std::string& accept) {
  std::string text;
  for (const auto& [name, value] : flags) text.append(name).append("=").append(value).append("\n");
  return answer(accept, "Flagz", "flagz", text, {{"flags", flags}});
}

}  // namespace sluice::observe
