// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One backend call on a real kernel in a separate process, so that each call follows a kill. Used by
// test/system/ipvs_handover_test.py.
//   ipvs_handover apply|new-backend ADDRESS PORT ENDPOINT ENDPOINT_PORT [AFFINITY_SECONDS]   a Service for TCP and UDP
//   ipvs_handover retire SECONDS [CLAIM…]                       prints "done", or "retry: " and the reason
//   ipvs_handover clients ADDRESS PORT ENDPOINT ENDPOINT_PORT AFFINITY_SECONDS            apply, then list the bound
//   clients
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugins/ipvs/backend.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {
namespace {

constexpr abi::Family kFamily = abi::Family::kIpv4;

class Printing final : public abi::AffinitySink {
 public:
  void add(abi::ArrayView clients) noexcept override {
    for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
      std::printf("%s %s %s:%u\n", sdk::service_port_name(client.key).c_str(),
                  sdk::to_string(client.client, kFamily).c_str(), sdk::to_string(client.endpoint, kFamily).c_str(),
                  unsigned{client.endpoint_port});
    }
  }
};

class Steps {
 public:
  explicit Steps(std::uint32_t flags) {
    host_.step = 1'000'000;
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = kFamily;
    args.host = &host_;
    args.flags = flags;
    backend_ = new ipvs::IpvsBackend(args);
    error_.struct_size = sizeof(error_);
  }
  ~Steps() { backend_->release(); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  int apply(const std::vector<std::string>& words) {
    std::vector<ServiceSpec> services(2);
    for (ServiceSpec& one : services) {
      one.cluster_ip = words.at(0);
      one.port = static_cast<std::uint16_t>(std::stoi(words.at(1)));
      one.endpoints = {{words.at(2), static_cast<std::uint16_t>(std::stoi(words.at(3))), false, Condition::kReady}};
      if (words.size() > 4) one.affinity_seconds = static_cast<std::uint32_t>(std::stoi(words[4]));
    }
    services[1].port_name = "u80";
    services[1].protocol = abi::Protocol::kUdp;
    NodeSpec node;
    node.detector = abi::LocalDetectorKind::kNone;
    node.local_addresses = {"127.0.0.1", "192.168.0.2"};
    World world(kFamily);
    abi::ApplyResult result{};
    result.struct_size = sizeof(result);
    return answer(backend_->apply(&world.full(services, 1, node), &result, &error_));
  }
  int retire(const std::vector<std::string>& words) {
    std::vector<abi::StringView> claims;
    for (std::size_t i = 1; i < words.size(); ++i) claims.push_back(sdk::view(words[i]));
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = static_cast<std::uint32_t>(std::stoi(words.at(0)));
    handover.claims = sdk::array(claims.data(), claims.size());
    return answer(backend_->retire(&handover, &error_));
  }
  int clients(const std::vector<std::string>& words) {
    if (const int failed = apply(words); failed != 0) return failed;
    Printing sink;
    auto* const affinity = static_cast<abi::Affinity*>(backend_->extension(sdk::view(abi::kAffinity)));
    return answer(affinity->export_clients(&sink, &error_));
  }

 private:
  int answer(abi::Code code) {
    for (const std::string& failed : host_.failed) std::fprintf(stderr, "%s\n", failed.c_str());
    if (code == abi::Code::kOk) {
      std::puts("done");
      return 0;
    }
    std::printf("%s: %s\n", code == abi::Code::kRetry ? "retry" : "failed", error_.message);
    return code == abi::Code::kRetry ? 0 : 1;
  }

  FakeHost host_;
  abi::Error error_{};
  abi::Backend* backend_ = nullptr;
};

}  // namespace
}  // namespace sluice::test

int main(int count, char** given) {
  if (count < 3) {
    std::fprintf(stderr, "usage: see the head of handover_steps.cpp\n");
    return 2;
  }
  const std::string what = given[1];
  const std::vector<std::string> words(given + 2, given + count);
  sluice::test::Steps steps(what == "new-backend" ? std::uint32_t{sluice::abi::kCreatePredecessorServes} : 0);
  if (what == "apply" || what == "new-backend") return steps.apply(words);
  if (what == "retire") return steps.retire(words);
  if (what == "clients") return steps.clients(words);
  std::fprintf(stderr, "%s is no step\n", what.c_str());
  return 2;
}
