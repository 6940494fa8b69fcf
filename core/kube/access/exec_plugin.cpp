// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/exec_plugin.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "core/kube/access/certificates.hpp"
#include "core/kube/decode/text.hpp"

namespace sluice::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kLimit = 60s;
// Margin, so that a token does not expire on its way to the server.
constexpr auto kEarly = 10s;
// Requests that fail at the same time share one failure and one run.
constexpr auto kFailureShared = 500ms;
// Reported exit status of a program that a signal killed, and of one that did not start.
constexpr int kNoExitStatus = -1;
constexpr int kNotStarted = 1;
constexpr std::string_view kNoError = "no_error";
constexpr std::string_view kExecutionError = "plugin_execution_error";
constexpr std::string_view kNotFoundError = "plugin_not_found_error";

std::string in_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

ExecPlugin::ExecPlugin(const ConnectionConfig& config, const lib::Clock& clock, WallClock wall_clock,
                       CredentialObserver* observer)
    : config_(config), clock_(clock), wall_clock_(std::move(wall_clock)), observer_(observer) {}

ExecPlugin::~ExecPlugin() {
  if (observer_ != nullptr) observer_->exec_certificate_expires(this, std::nullopt);
}

void ExecPlugin::called(int code, std::string_view status) const {
  if (observer_ != nullptr) observer_->exec_plugin_called(code, status);
}

lib::Result<std::string> ExecPlugin::find() const {
  const ExecConfig& exec = *config_.exec;
  std::string path = exec.command;
  if (path.find('/') == std::string::npos) {
    const char* folders = std::getenv("PATH");
    path = lib::find_program(path, folders == nullptr ? "" : folders);
  } else if (::access(path.c_str(), X_OK) != 0) {
    path.clear();
  }
  if (!path.empty()) return path;
  const std::string hint = in_one_line(exec.install_hint);
  return lib::Status(lib::StatusCode::denied, exec.origin + ": the credential program " + exec.command +
                                                    " is not there, or not executable; " +
                                                    (hint.empty() ? "install it" : "how to install it: " + hint));
}

lib::Program ExecPlugin::program(const std::string& path, const std::string& ca_pem) const {
  const ExecConfig& exec = *config_.exec;
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : exec.env) variables[name] = value;
  variables["KUBERNETES_EXEC_INFO"] = exec_info(config_, ca_pem);

  lib::Program out;
  out.arguments.push_back(path);
  out.arguments.insert(out.arguments.end(), exec.args.begin(), exec.args.end());
  out.environment.emplace();
  for (const auto& [name, value] : variables) out.environment->push_back(name + "=" + value);
  out.timeout = kLimit;
  out.output_limit = 1u << 20;
  out.error_output_limit = 4096;
  return out;
}

lib::Result<ExecCredential> ExecPlugin::run(const std::string& ca_pem, const std::function<bool()>& stopped) const {
  const auto path = find();
  if (!path) {
    called(kNotStarted, kNotFoundError);
    return path.status();
  }
  const std::string what = config_.exec->origin + ": the credential program " + config_.exec->command;
  auto result = lib::run_program(program(*path, ca_pem), stopped);
  if (result && result->timed_out) {
    result = lib::unavailable(*path + " has not ended after " + std::to_string(kLimit.count()) + " seconds");
  }
  if (!result) {
    if (result.status().os_errno() == ECANCELED) return result.status();
    // Without an errno the program did run, and was killed because it exceeded its timeout or output limit.
    const bool ran = result.status().os_errno() == 0;
    called(ran ? kNoExitStatus : kNotStarted, ran ? kExecutionError : kNotFoundError);
    return lib::Status(lib::StatusCode::denied, what + " returned no credential: " + result.status().message());
  }
  const bool failed = result->signal != 0 || result->exit_code != 0;
  called(result->signal != 0 ? kNoExitStatus : result->exit_code, failed ? kExecutionError : kNoError);
  // Standard output may hold a secret even if the program failed.
  const std::string error_output = in_one_line(result->error_output);
  const std::string detail = error_output.empty() ? "" : "; standard error: " + in_quotes(error_output, 400);
  if (result->signal != 0) {
    return lib::Status(lib::StatusCode::denied,
                       what + " was killed by signal " + std::to_string(result->signal) + detail);
  }
  if (result->exit_code != 0) {
    return lib::Status(lib::StatusCode::denied,
                       what + " failed with exit status " + std::to_string(result->exit_code) + detail);
  }
  auto credential = parse_exec_credential(result->output, config_.exec->api_version);
  if (!credential) {
    return lib::Status(lib::StatusCode::denied,
                       what + " returned an invalid ExecCredential: " + credential.status().message() + detail);
  }
  return credential;
}

lib::Result<ExecCredential> ExecPlugin::credential(const std::string& ca_pem, const std::function<bool()>& stopped) {
  const lib::Lock lock(mutex_);
  if (last_ && (!last_->expires || wall_clock_() < renew_at_)) return *last_;
  if (failed_at_ && clock_.now() - *failed_at_ < kFailureShared) return failure_;
  auto result = run(ca_pem, stopped);
  if (result) {
    keep(*result);
    failed_at_.reset();
  } else if (result.status().os_errno() != ECANCELED) {
    failure_ = result.status();
    failed_at_ = clock_.now();
  }
  return result;
}

void ExecPlugin::note_certificate(const std::string& pem) {
  const std::string before = std::exchange(certificate_, pem);
  if (observer_ == nullptr) return;
  if (const auto old = certificate_facts(before); old && before != pem) {
    observer_->exec_certificate_rotated(std::chrono::duration<double>(wall_clock_() - old->not_before).count());
  }
  const auto facts = certificate_facts(pem);
  observer_->exec_certificate_expires(this, facts ? std::optional(facts->not_after) : std::nullopt);
}

void ExecPlugin::keep(const ExecCredential& credential) {
  last_ = credential;
  note_certificate(credential.certificate_pem);
  if (!credential.expires) return;
  const auto now = wall_clock_();
  const auto lifetime = std::max(*credential.expires - now, std::chrono::system_clock::duration::zero());
  renew_at_ = *credential.expires - std::min<std::chrono::system_clock::duration>(kEarly, lifetime / 10);
}

void ExecPlugin::refused(const std::string& token, const std::string& certificate_pem) {
  const lib::Lock lock(mutex_);
  if (!last_) return;
  const bool same_token = token.empty() || token == last_->token;
  const bool same_certificate = certificate_pem.empty() || certificate_pem == last_->certificate_pem;
  if (same_token && same_certificate) last_.reset();
}

}  // namespace sluice::kube
