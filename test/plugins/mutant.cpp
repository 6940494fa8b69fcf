// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend with one mistake, for the tests of the conformance kit. It wraps the plugin with the file SLUICE_MUTANT_OF,
// and SLUICE_MUTANT selects the mistake:
//
//   (empty)          none
//   claims-nothing   claims() adds no artifacts
//   leaves           clean-up leaves a table behind
//   greedy           clean-up removes a foreign table
//   rewrites         a restart writes everything again
//   slow-deltas      the cost of a delta depends on the total number of Services
//   forgets          every third change of Services in random-* namespaces is lost
//   blind            verify() never finds drift
//   any-option       unknown options are accepted
//   snatches         retire() removes artifacts that the new backend claims
//   short-sighted    structs of another length are rejected
//   half-cancelled   after a cancelled apply() a full transaction writes nothing
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "zoo.hpp"

namespace {

using zoo::abi::Code;
using zoo::abi::Error;
namespace abi = zoo::abi;
namespace sdk = zoo::sdk;

std::string environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : value;
}

// Stays mapped until the process ends, because unmapping is not tested.
const abi::PluginEntry* original() {
  static const abi::PluginEntry* const entry = [] {
    void* const library = dlopen(environment("SLUICE_MUTANT_OF").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw sdk::Failure(Code::kInvalid, "SLUICE_MUTANT_OF", dlerror());
    return static_cast<const abi::PluginEntry*>(dlsym(library, SLUICE_ABI_SYMBOL));
  }();
  return entry;
}

void nft(const std::string& command) { static_cast<void>(!std::system(("nft '" + command + "' 2>/dev/null").c_str())); }

class Mutant final : public sdk::BackendBase {
 public:
  explicit Mutant(const abi::CreateArgs& args) : BackendBase(args), mistake_(environment("SLUICE_MUTANT")) {
    abi::CreateArgs passed = args;
    if (mistake_ == "any-option") passed.options = {};
    Error error = sdk::empty_error();
    abi::Backend* made = nullptr;
    const Code code = original()->create(&passed, &made, &error);
    backend_.reset(made);
    if (code != Code::kOk) throw sdk::Failure(code, error.object, error.message, error.os_errno);
  }

 private:
  struct Release {
    void operator()(abi::Backend* backend) const { backend->release(); }
  };

  Code do_probe(Error* error) override { return backend_->probe(error); }

  Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts&, abi::ApplyResult& result, Error* error) override {
    abi::Transaction passed = transaction;
    const bool full = transaction.kind == abi::TransactionKind::kFull;
    if (mistake_ == "short-sighted" && transaction.service_ports.count != 0 &&
        transaction.service_ports.stride != sizeof(abi::ServicePort)) {
      return sdk::fail(error, Code::kInvalid, "", "service ports of a length that is not known");
    }
    if (mistake_ == "half-cancelled" && (half_ = half_ || deadline().cancelled())) return Code::kOk;
    if (mistake_ == "rewrites" && full && first_) backend_->cleanup(error);
    if (mistake_ == "slow-deltas") {
      if (full) services_ = transaction.service_ports.count;
      else std::this_thread::sleep_for(std::chrono::microseconds(50) * services_);  // fixed time: the mistake of this mutant
    }
    std::vector<abi::ServicePort> remembered;
    if (mistake_ == "forgets" && !full) {
      for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
        const bool random = sdk::text(port.key.service_namespace).substr(0, 7) == "random-";
        if (!random || ++changes_ % 3 != 0) remembered.push_back(port);
      }
      passed.service_ports = sdk::array(remembered.data(), remembered.size());
    }
    first_ = false;
    const Code code = backend_->apply(&passed, &result, error);
    if (mistake_ == "leaves") nft("add table ip forgotten");
    return code;
  }

  Code do_verify(Error* error) override { return mistake_ == "blind" ? Code::kOk : backend_->verify(error); }

  Code do_claims(abi::StringSink& sink, Error* error) override {
    return mistake_ == "claims-nothing" ? Code::kOk : backend_->claims(&sink, error);
  }

  Code do_retire(const abi::Handover& handover, Error* error) override {
    return mistake_ == "snatches" ? backend_->cleanup(error) : backend_->retire(&handover, error);
  }

  Code do_cleanup(Error* error) override {
    if (mistake_ == "greedy") nft("delete table inet foreign_table");
    return backend_->cleanup(error);
  }

  const std::string mistake_;
  std::unique_ptr<abi::Backend, Release> backend_;
  bool half_ = false;
  bool first_ = true;
  std::uint64_t services_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace

SLUICE_PLUGIN_ENTRY = zoo::entry("mutant", &sdk::create<Mutant>);
