// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/random_subject.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/netlink_table.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/listing_file.hpp"
#include "plugins/nftables/wanted_listing.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {

namespace {

constexpr auto kPatience = std::chrono::seconds(20);

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Namespace::Namespace() {
  must(::unshare(CLONE_NEWNET) == 0, "a new network namespace");
  descriptor_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  must(descriptor_ >= 0, "/proc/thread-self/ns/net");
}

Namespace::~Namespace() { ::close(descriptor_); }

void Namespace::enter() const { must(::setns(descriptor_, CLONE_NEWNET) == 0, "enter a network namespace"); }

void RandomHost::log(abi::Severity severity, abi::StringView text) noexcept {
  if (severity == abi::Severity::kDebug || severity == abi::Severity::kInfo) return;
  const std::lock_guard lock(mutex_);
  log_ += std::string(sdk::text(text)) + "\n";
}

std::uint64_t RandomHost::now() noexcept {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now().time_since_epoch() + passed_;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

void RandomHost::request_resync(abi::StringView) noexcept {
  const std::lock_guard lock(mutex_);
  ++resyncs_;
}

void RandomHost::service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept {
  if (error == nullptr) return;
  const std::lock_guard lock(mutex_);
  failed_.insert(sdk::service_port_name(*key));
}

void RandomHost::pass(std::chrono::nanoseconds time) {
  const std::lock_guard lock(mutex_);
  passed_ += time;
}

void RandomHost::forget() {
  const std::lock_guard lock(mutex_);
  failed_.clear();
  log_.clear();
  resyncs_ = 0;
}

unsigned RandomHost::resyncs() {
  const std::lock_guard lock(mutex_);
  return resyncs_;
}

bool RandomHost::has_failed(const std::string& printed_name) {
  const std::lock_guard lock(mutex_);
  return failed_.count(printed_name) != 0;
}

std::string RandomHost::errors() {
  const std::lock_guard lock(mutex_);
  return log_;
}

// The kernel of this namespace, with one faulty commit.
class Subject::Kernel final : public nftables::TableKernel {
 public:
  Kernel(std::unique_ptr<TableKernel> real, Subject& subject) : real_(std::move(real)), subject_(subject) {}

  nftables::Listing list() override { return real_->list(); }
  std::uint32_t generation() override { return real_->generation(); }
  std::optional<nftables::TableState> state() override { return real_->state(); }
  std::vector<nftables::Refusal> dry_run(const nftables::Batch& batch) override { return real_->dry_run(batch); }
  std::vector<nftables::TrafficCount> traffic() override { return real_->traffic(); }
  std::vector<nftables::RememberedClient> clients() override { return real_->clients(); }
  std::optional<std::vector<std::string>> flowtable_interfaces() override { return real_->flowtable_interfaces(); }
  bool delete_table() override { return real_->delete_table(); }
  const nftables::KernelStatistics& statistics() const noexcept override { return real_->statistics(); }

  std::vector<nftables::Refusal> commit(const nftables::Batch& batch) override {
    const auto somebodys = std::find_if(batch.elements.begin(), batch.elements.end(),
                                        [](const auto& write) { return write.owner != 0 && !write.remove; });
    if (subject_.next_commit == Trouble::kNone || somebodys == batch.elements.end()) return real_->commit(batch);
    switch (std::exchange(subject_.next_commit, Trouble::kNone)) {
      case Trouble::kRefuse: {
        // The key is too short: the kernel returns EINVAL.
        nftables::Batch worse = batch;
        nftables::ElementWrite bad;
        const std::uint32_t word = 1;
        bad.record.set = nftables::SetId::kServiceIps;
        bad.record.key.append(&word, sizeof(word));
        bad.record.data.append(&word, sizeof(word));
        bad.owner = somebodys->owner;
        worse.elements.push_back(bad);
        subject_.refused_ = batch.owners[bad.owner];
        return real_->commit(worse);
      }
      case Trouble::kLostAfter:
        real_->commit(batch);
        [[fallthrough]];
      default:
        throw sdk::Failure(abi::Code::kRetry, {}, "it is not known what became of a transaction", 0);
    }
  }

 private:
  std::unique_ptr<TableKernel> real_;
  Subject& subject_;
};

Subject::Subject(abi::Family family) : family_(family) { restart(); }

Subject::~Subject() { backend_->release(); }

std::string Subject::restart() {
  const bool first = backend_ == nullptr;  // and perhaps not in the namespace yet
  if (!first) std::exchange(backend_, nullptr)->release();
  std::string fault;
  const std::string name = family_ == abi::Family::kIpv6 ? "listing-ipv6" : "listing-ipv4";
  if (const std::string content = folder_.read(name); !content.empty()) {
    ++saved_;
    const auto saved = nftables::decode_listing(family_, content);
    const auto difference = saved ? nftables::first_difference(saved->listing, open_foreign_table(family_)->list())
                                  : std::optional<std::string>("it cannot be read");
    if (difference) fault = "the saved listing is not that of the kernel: " + *difference;
  }
  abi::CreateArgs args{};
  args.struct_size = sizeof(args);
  args.family = family_;
  args.host = &host;
  const std::string folder = folder_.path();
  args.state_dir = sdk::view(folder);
  nftables::Table table = nftables::open_table(family_);
  table.kernel = std::make_unique<Kernel>(std::move(table.kernel), *this);
  backend_ = new nftables::NftablesBackend(args, std::move(table));
  error_ = {};
  error_.struct_size = sizeof(error_);
  if (!first && backend_->probe(&error_) != abi::Code::kOk) fault += "probe: " + errors();
  return fault;
}

abi::Code Subject::apply(const abi::Transaction& transaction) {
  result_ = {};
  result_.struct_size = sizeof(result_);
  error_ = {};
  error_.struct_size = sizeof(error_);
  host.forget();
  return backend_->apply(&transaction, &result_, &error_);
}

abi::Code Subject::full(const std::vector<ServiceSpec>& services, const NodeSpec& node) {
  World world(family_);
  return apply(world.full(services, ++generation_, node));
}

abi::Code Subject::delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                         const NodeSpec& node) {
  World world(family_);
  return apply(world.delta(changed, removed, ++generation_, node));
}

abi::Code Subject::verify() {
  error_ = {};
  error_.struct_size = sizeof(error_);
  return backend_->verify(&error_);
}

bool Subject::sees_foreign_change() {
  // After it repaired a table, the backend does not check for foreign changes for up to a minute.
  host.pass(std::chrono::seconds(60));
  return wait_until([&] { return host.resyncs() != 0 || verify() == abi::Code::kNeedFull; }, kPatience);
}

bool Subject::is_well() { return verify() == abi::Code::kOk; }

std::string Subject::drift() {
  struct Sink final : abi::InspectionSink {
    std::int32_t add(abi::ArrayView rows) noexcept override {
      for (const auto& row : sdk::range<abi::InspectedDrift>(rows)) objects += std::string(sdk::text(row.object)) + "\n";
      return 1;
    }
    std::string objects;
  } sink;
  abi::InspectionQuery query{};
  query.struct_size = sizeof(query);
  query.kind = abi::InspectionKind::kInspectDrift;
  void* const extension = backend_->extension(sdk::view(std::string_view(abi::kInspectionRows)));
  const abi::Code code = static_cast<abi::InspectionRows*>(extension)->inspect(&query, &sink, &error_);
  if (code != abi::Code::kOk && code != abi::Code::kRetry) throw std::runtime_error("drift: " + errors());
  return sink.objects;
}

std::string Subject::errors() { return std::string(error_.object) + " " + error_.message + "\n" + host.errors(); }

std::string Subject::take_refused() { return std::exchange(refused_, {}); }

std::unique_ptr<nftables::TableKernel> open_foreign_table(abi::Family family) {
  return std::make_unique<nftables::NetlinkTable>(
      family, [] { return netlink::open_raw_socket(NETLINK_NETFILTER); }, std::make_shared<nftables::OwnSenders>());
}

}  // namespace sluice::test
