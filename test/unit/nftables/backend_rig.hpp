// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The nftables backend on a fake table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/nftables/backend.hpp"
#include "test/unit/common/backend_rig.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/nftables/fake_table.hpp"

namespace sluice::test {

class NftablesRig final : public BackendRig<FakeHost> {
 public:
  explicit NftablesRig(abi::Family family = abi::Family::kIpv4, BackendOptions options = {})
      : BackendRig(family, std::move(options)), table(family) {
    if (family == abi::Family::kIpv6) {
      node.ip = "fd00:9::2";
      node.detector_cidr = "fd00:2::/64";
    }
    restart();
  }
  ~NftablesRig() { stop(); }

  double metric(const std::string& name, const std::string& labels = {}) const {
    const std::string family = family_ == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"";
    const auto found = host.metrics.find(name + "{" + labels + family + "}");
    return found == host.metrics.end() ? -1 : found->second;
  }
  bool logged(abi::Severity severity, const std::string& part) const {
    for (const auto& [how, line] : host.lines) {
      if (how == severity && line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  // Restarts with a tenth of the usual elements per transaction, so that a table of 1,000 Services is written in several.
  void write_in_small_chunks() {
    table.chunk = nftables::Table().chunk / 10;
    restart();
  }
  void pass(std::uint64_t seconds) { host.clock += seconds * 1'000'000'000; }

  // Rows of one kind as text. Empty, with `inspected` and `error` set, if the call fails.
  template <class Row>
  std::vector<std::string> rows(abi::InspectionKind kind, std::string (*print)(const Row&), const std::string& name = {},
                                const abi::InspectedPacket* packet = nullptr) {
    struct Sink final : abi::InspectionSink {
      explicit Sink(std::string (*with)(const Row&)) : print(with) {}
      std::int32_t add(abi::ArrayView rows) noexcept override {
        for (const Row& row : sdk::range<Row>(rows)) found.push_back(print(row));
        return 1;
      }
      std::string (*print)(const Row&);
      std::vector<std::string> found;
    } sink(print);
    abi::InspectionQuery query{};
    query.struct_size = sizeof(query);
    query.kind = kind;
    query.name = sdk::view(name);
    query.packet = packet;
    clear_error();
    auto* const inspection =
        static_cast<abi::InspectionRows*>(backend().extension(sdk::view(std::string_view(abi::kInspectionRows))));
    inspected = inspection->inspect(&query, &sink, &error);
    return sink.found;
  }

  FakeTable table;

 private:
  abi::Backend* create(const abi::CreateArgs& args) override {
    return new nftables::NftablesBackend(args, table.open());
  }
  void forget_writes() override { table.batches.clear(); }
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The key of its IPv4 cluster IP.
inline nftables::Key key(const ServiceSpec& service) {
  const auto address = *sdk::parse_address(service.cluster_ip, abi::Family::kIpv4);
  return nftables::frontend_key(abi::Family::kIpv4, {false, address, service.protocol, service.port});
}
inline bool is_of(const nftables::ElementWrite& write, const ServiceSpec& service) {
  return write.record.set == nftables::SetId::kServiceIps && write.record.key == key(service);
}

}  // namespace sluice::test
