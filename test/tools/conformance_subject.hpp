// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A plugin under test by the conformance kit: loaded as the daemon does, and called without the daemon. It uses only
// the SDK. It does not check the descriptor, which the daemon does (sluiced --check).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/sdk/sdk.hpp"

namespace conformance {

namespace abi = sluice::abi;
namespace sdk = sluice::sdk;

// Replaces the host of the daemon. Any thread.
class FakeHost final : public abi::Host {
 public:
  void log(abi::Severity severity, abi::StringView text) noexcept override;
  std::int32_t log_enabled(abi::Severity severity) noexcept override { return severity != abi::Severity::kDebug; }
  void metric(abi::MetricKind, abi::StringView, abi::StringView, double) noexcept override {}
  void event(abi::Severity, abi::StringView, abi::StringView, const abi::ServicePortKey*) noexcept override {}
  std::uint64_t now() noexcept override;
  void request_resync(abi::StringView) noexcept override {}
  void report_unhealthy(abi::StringView) noexcept override {}
  void service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept override;
  void* extension(abi::StringView) noexcept override { return nullptr; }

  // Service ports that were not programmed since the last call.
  std::vector<std::string> take_not_programmed();

 private:
  std::mutex mutex_;
  std::vector<std::string> not_programmed_;
};

class Plugin {
 public:
  explicit Plugin(std::string file);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const abi::PluginEntry& entry() const { return *entry_; }
  // The table of options, with null data if the plugin declares none.
  abi::ArrayView options() const { return sdk::read(entry_).options; }
  // As the daemon passes them to create(), if the configuration has no options.
  const std::vector<abi::Option>& defaults() const { return defaults_; }
  bool has(abi::Feature feature) const { return (entry_->features & feature) != 0; }
  bool serves(abi::Family family) const {
    return has(family == abi::Family::kIpv6 ? abi::kFeatureIpv6 : abi::kFeatureIpv4);
  }
  // Whether the library is still mapped after unload().
  bool mapped() const;
  void unload();

 private:
  std::string file_;
  void* library_ = nullptr;
  const abi::PluginEntry* entry_ = nullptr;
  std::vector<sdk::OptionValue> default_values_;
  std::vector<abi::Option> defaults_;  // refers to default_values_
};

// One object of the plugin, for one family.
class Subject {
 public:
  Subject(const Plugin& plugin, abi::Family family, const std::string& state_dir)
      : Subject(plugin, family, state_dir, plugin.defaults()) {}
  Subject(const Plugin& plugin, abi::Family family, const std::string& state_dir, const std::vector<abi::Option>& options);

  bool created() const { return backend_ != nullptr; }
  abi::Code create_code() const { return create_code_; }
  abi::Code probe() { return backend_->probe(&error_); }
  abi::Code verify() { return backend_->verify(&error_); }
  abi::Code cleanup() { return backend_->cleanup(&error_); }
  // Retries until the backend is retired, as the daemon does.
  abi::Code retire(const std::vector<std::string>& claims);
  std::vector<std::string> claims(abi::Code& code);
  abi::Code apply(const abi::Transaction& transaction);
  void release() { backend_.reset(); }

  std::uint64_t writes() const { return result_.kernel_writes; }
  // The message of the last failed call.
  std::string why() const;
  FakeHost& host() { return *host_; }

 private:
  struct Release {
    void operator()(abi::Backend* backend) const { backend->release(); }
  };

  abi::Error error_ = sdk::empty_error();
  abi::ApplyResult result_{};
  abi::Code create_code_ = abi::Code::kInternal;
  std::unique_ptr<FakeHost> host_;
  std::unique_ptr<abi::Backend, Release> backend_;
};

std::string_view name_of(abi::Code code);
std::string_view name_of(abi::Family family);
// With quotes.
std::string json_text(std::string_view text);

// The commands. Each prints JSON, one object per line, and returns the exit status, which is 0 even if the plugin fails
// a check: the kit judges the results.
int describe(const std::string& file);
int contract(const std::string& file, const std::string& state_dir);
int cost(const std::string& file, const std::string& state_dir, abi::Family family, std::uint32_t services);

}  // namespace conformance
