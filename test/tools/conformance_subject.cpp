// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
#include "conformance_subject.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/plugin/file_checks.hpp"

namespace conformance {

void FakeHost::log(abi::Severity severity, abi::StringView text) noexcept {
  if (severity == abi::Severity::kDebug) return;
  const std::string_view line = sdk::text(text);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

std::uint64_t FakeHost::now() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void FakeHost::service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept {
  if (key == nullptr || error == nullptr) return;  // invalid, or served again
  const std::lock_guard lock(mutex_);
  not_programmed_.push_back(sdk::service_port_id(*key));
}

std::vector<std::string> FakeHost::take_not_programmed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(not_programmed_, {});
}

Plugin::Plugin(std::string file) : file_(std::filesystem::canonical(file)) {
  if (const auto status = sluice::plugin::check_content(file_); !status.ok()) throw std::runtime_error(status.message());
  // As in the daemon: resolve all symbols at once, and keep them local.
  library_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  entry_ = static_cast<const abi::PluginEntry*>(dlsym(library_, SLUICE_ABI_SYMBOL));
  if (entry_ == nullptr) throw std::runtime_error(dlerror());
  if (!sdk::table_problem(options()).empty()) return;
  sdk::read_options(sdk::rows(options()), {}, default_values_);
  for (const sdk::OptionValue& one : default_values_) {
    defaults_.push_back({sdk::view(one.key), sdk::view(one.text), one.type, abi::kOptionDefault, one.number});
  }
}

Plugin::~Plugin() { unload(); }

void Plugin::unload() {
  if (library_ != nullptr) dlclose(library_);
  library_ = nullptr;
  entry_ = nullptr;
}

bool Plugin::mapped() const {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.size() > file_.size() && line.compare(line.size() - file_.size(), file_.size(), file_) == 0) return true;
  }
  return false;
}

Subject::Subject(const Plugin& plugin, abi::Family family, const std::string& state_dir, const std::vector<abi::Option>& options)
    : host_(std::make_unique<FakeHost>()) {
  abi::CreateArgs args{};
  args.struct_size = sizeof(args);
  args.family = family;
  args.host = host_.get();
  args.state_dir = sdk::view(state_dir);
  args.host_minor = abi::kMinor;
  args.host_version = sdk::view("conformance");
  args.options = sdk::array(options.data(), options.size());
  abi::Backend* made = nullptr;
  create_code_ = plugin.entry().create(&args, &made, &error_);
  backend_.reset(made);
}

abi::Code Subject::retire(const std::vector<std::string>& claims) {
  std::vector<abi::StringView> views;
  for (const std::string& claim : claims) views.push_back(sdk::view(claim));
  for (std::uint32_t left = 2;; --left) {
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = left;
    handover.claims = sdk::array(views.data(), views.size());
    const abi::Code code = backend_->retire(&handover, &error_);
    if (code != abi::Code::kRetry || left == 0) return code;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // fixed time: the drain time is in seconds
  }
}

std::vector<std::string> Subject::claims(abi::Code& code) {
  class Sink final : public abi::StringSink {
   public:
    void add(abi::StringView text) noexcept override { all.emplace_back(sdk::text(text)); }
    std::vector<std::string> all;
  } sink;
  code = backend_->claims(&sink, &error_);
  return std::move(sink.all);
}

abi::Code Subject::apply(const abi::Transaction& transaction) {
  result_ = {};
  result_.struct_size = sizeof(result_);
  return backend_->apply(&transaction, &result_, &error_);
}

std::string Subject::why() const {
  const std::string object = error_.object;
  return (object.empty() ? "" : object + ": ") + error_.message;
}

std::string_view name_of(abi::Code code) {
  switch (code) {
    case abi::Code::kOk: return "kOk";
    case abi::Code::kRetry: return "kRetry";
    case abi::Code::kNeedFull: return "kNeedFull";
    case abi::Code::kInvalid: return "kInvalid";
    case abi::Code::kUnsupported: return "kUnsupported";
    case abi::Code::kDenied: return "kDenied";
    case abi::Code::kKernel: return "kKernel";
    case abi::Code::kInternal: return "kInternal";
  }
  return "a code that the ABI does not have";
}

std::string_view name_of(abi::Family family) { return family == abi::Family::kIpv6 ? "IPv6" : "IPv4"; }

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace conformance
