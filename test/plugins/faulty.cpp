// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: has the fault that its options select, and does not touch the network. Instead of kernel state it
// has files in the state folder: "programmed-ipv4", "programmed-ipv6". It appends each call to the file "calls" of that
// folder, so that tests can check the order of calls.
//
//   fault    the failing call: create, probe, apply, verify, claims, retire; or
//            apply-half    apply leaves the file "half-ipv4" behind and fails
//            hang-apply    apply takes `seconds`
//            hang-probe    probe takes `seconds`
//            retire-once   only the first retire fails
//            drain         retire returns kRetry until the drain time is 0
//   family   "ipv4" or "ipv6": the fault occurs only there; otherwise in both
//   seconds  see hang-apply and hang-probe; 5 by default
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "zoo.hpp"

namespace {

using zoo::abi::Code;
using zoo::abi::Error;
namespace abi = zoo::abi;
namespace fs = std::filesystem;
namespace sdk = zoo::sdk;

const char* const kFaults[] = {"create", "probe",  "apply",  "apply-half",  "hang-apply", "hang-probe",
                               "verify", "claims", "retire", "retire-once", "drain"};

class Faulty final : public sdk::BackendBase {
 public:
  explicit Faulty(const abi::CreateArgs& args)
      : BackendBase(args), name_(args.family == abi::Family::kIpv6 ? "ipv6" : "ipv4"),
        folder_(std::string(sdk::text(args.state_dir))) {
    read_options(sdk::Options(args.options));
    note("create", sdk::predecessor_serves(args) ? "old_backend" : "");
    if (fault_ == "create") throw failure("create");
  }
  ~Faulty() override { note("release"); }

 private:
  void read_options(const sdk::Options& options) {
    for (const auto& [key, value] : options.all()) {
      if (key == "fault") {
        if (std::find(std::begin(kFaults), std::end(kFaults), value) == std::end(kFaults)) refuse(key, value);
      } else if (key == "family") {
        if (value != "ipv4" && value != "ipv6") refuse(key, value);
      } else if (key == "seconds") {
        const bool number = !value.empty() && value.size() <= 4 && value.find_first_not_of("0123456789") == std::string::npos;
        if (!number) refuse(key, value);
        duration_ = std::chrono::seconds(std::stoi(value));
      } else {
        refuse(key, value);
      }
    }
    if (options.get("family", name_) == name_) fault_ = options.get("fault");
  }
  [[noreturn]] static void refuse(const std::string& key, const std::string& value) {
    throw sdk::Failure(Code::kInvalid, key, "the plugin for tests does not know " + key + ": " + value);
  }
  static sdk::Failure failure(const std::string& call) {
    return sdk::Failure(Code::kKernel, "faulty", "the requested fault of " + call);
  }

  // One write per line, because both families append to the same file.
  void note(const std::string& call, const std::string& more = {}) const {
    const std::string line = name_ + " " + call + (more.empty() ? "" : " ") + more + "\n";
    const int file = open((folder_ / "calls").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    static_cast<void>(!write(file, line.data(), line.size()));
    close(file);
  }
  fs::path programmed() const { return folder_ / ("programmed-" + name_); }
  fs::path half() const { return folder_ / ("half-" + name_); }
  std::string claim() const { return "zoo/faulty-" + name_; }
  void remove_all() const {
    fs::remove(programmed());
    fs::remove(half());
  }
  std::string content() const {
    std::string out;
    for (const auto& [id, endpoints] : ports_) out += id + " " + std::to_string(endpoints) + "\n";
    return out;
  }

  Code do_probe(Error*) override {
    note("probe");
    if (fault_ == "probe") throw failure("probe");
    if (fault_ == "hang-probe") std::this_thread::sleep_for(duration_);  // fixed time: the requested fault
    return Code::kOk;
  }

  Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts&, abi::ApplyResult& result,
                Error* error) override {
    const bool full = transaction.kind == abi::TransactionKind::kFull;
    note("apply", (full ? "full " : "delta ") + std::to_string(transaction.service_ports.count));
    if (!full && transaction.base_generation != generation_) {
      return sdk::fail(error, Code::kNeedFull, "", "holds generation " + std::to_string(generation_));
    }
    if (fault_ == "apply") throw failure("apply");
    if (fault_ == "apply-half") {
      std::ofstream(half()) << "half\n";
      throw failure("apply-half");
    }
    if (fault_ == "hang-apply") std::this_thread::sleep_for(duration_);  // fixed time: the requested fault
    if (full) ports_.clear();
    for (const auto& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
      ports_[sdk::service_port_id(port.key)] = sdk::endpoints(port).size();
    }
    for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) ports_.erase(sdk::service_port_id(key));
    if (!(std::ofstream(programmed()) << content()).flush()) {
      return sdk::fail(error, Code::kKernel, programmed().string(), "write", errno);
    }
    generation_ = transaction.generation;
    result.kernel_writes = 1;
    result.objects_owned = ports_.size();
    return Code::kOk;
  }

  Code do_verify(Error* error) override {
    note("verify");
    if (fault_ == "verify") throw sdk::Failure(Code::kNeedFull, "faulty", "the requested fault of verify");
    std::ifstream in(programmed());
    const std::string found{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in && found == content()) return Code::kOk;
    return sdk::fail(error, Code::kNeedFull, programmed().string(), "another process changed it");
  }

  Code do_claims(abi::StringSink& sink, Error*) override {
    note("claims");
    if (fault_ == "claims") throw failure("claims");
    sink.add(sdk::view(claim()));
    return Code::kOk;
  }

  Code do_retire(const abi::Handover& handover, Error* error) override {
    note("retire", std::to_string(handover.drain_seconds));
    if (fault_ == "retire" || (fault_ == "retire-once" && !std::exchange(retired_, true))) throw failure(fault_);
    if (fault_ == "drain" && handover.drain_seconds != 0) {
      return sdk::fail(error, Code::kRetry, "", "connections live on");
    }
    bool claimed = false;
    for (const auto& one : sdk::range<abi::StringView>(handover.claims)) claimed = claimed || sdk::text(one) == claim();
    if (!claimed) remove_all();
    return Code::kOk;
  }

  Code do_cleanup(Error*) override {
    note("cleanup");
    remove_all();
    return Code::kOk;
  }

  // Has no bindings; notes calls and the number of imported clients.
  class NoClients final : public abi::Affinity {
   public:
    explicit NoClients(const Faulty& faulty) : faulty_(faulty) {}
    Code export_clients(abi::AffinitySink*, Error* error) noexcept override {
      return sdk::guarded(error, [this] { faulty_.note("export"); });
    }
    Code import_clients(abi::ArrayView clients, Error* error) noexcept override {
      return sdk::guarded(error, [&] { faulty_.note("import", std::to_string(clients.count)); });
    }

   private:
    const Faulty& faulty_;
  };
  void* do_extension(std::string_view id) override {
    return id == abi::kAffinity ? static_cast<abi::Affinity*>(&no_clients_) : nullptr;
  }

  const std::string name_;
  const fs::path folder_;
  std::string fault_;
  std::chrono::seconds duration_{5};
  std::map<std::string, std::size_t> ports_;
  std::uint64_t generation_ = 0;
  bool retired_ = false;
  NoClients no_clients_{*this};
};

}  // namespace

SLUICE_PLUGIN_ENTRY = zoo::entry("faulty", &sdk::create<Faulty>);
