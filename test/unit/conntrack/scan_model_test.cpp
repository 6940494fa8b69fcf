// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Thousands of random histories of UDP Services against a model: clients send, endpoints come, drain and go, Services
// and their addresses change, a backend relays at ports that change, changes are merged, the process restarts. After
// each scan all stale flows, and no others, are removed from the table.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <unordered_set>

#include "core/conntrack/mailbox.hpp"
#include "core/conntrack/scan.hpp"
#include "test/unit/conntrack/fakes.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/require.hpp"

namespace sluice::conntrack {
namespace scan_model_test {

using lib::SocketAddress;
using test::at;

struct Service {
  std::set<SocketAddress> frontends;
  std::uint16_t node_port = 0;
  std::map<SocketAddress, bool> endpoints;  // value: serving; otherwise terminating
  bool local_only = false;                  // rules choose only the first serving endpoint
  std::set<std::uint16_t> relays;           // if not empty, rules redirect clients to one of these ports of the node

  std::vector<SocketAddress> serving() const {
    std::vector<SocketAddress> out;
    for (const auto& [address, serves] : endpoints) {
      if (serves) out.push_back(address);
    }
    return out;
  }
  UdpPortPtr port() const {
    return test::udp_port({frontends.begin(), frontends.end()}, node_port, serving(), {relays.begin(), relays.end()});
  }
};

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    for (int i = 1; i <= 4; ++i) addresses_.push_back(at("172.30.0." + std::to_string(i), 53));
    for (int i = 1; i <= 6; ++i) pods_.push_back(at("10.180.0." + std::to_string(i), 5353));
    const Flow foreign[] = {
        // A host port of a pod of a Service, a redirection to such a pod, an unrelated port, and a forwarded flow whose
        // port is the number of a node port.
        {client(1), at("192.168.0.2", 8053), pods_[0], client(1), 0},
        {client(2), at("203.0.113.9", 53), pods_[1], client(2), 0},
        {client(3), at("172.30.0.1", 9999), at("172.30.0.1", 9999), client(3), 0},
        {client(4), at("203.0.113.9", 30001), at("203.0.113.9", 30001), client(4), 0},
        // Redirected to a possible relay port from an address that belongs to no Service.
        {client(5), at("192.168.0.2", 8054), at("192.168.0.2", 40001), client(5), 0},
    };
    relaying_ = one_of(2) == 0;
    for (const Flow& flow : foreign) foreign_.insert(table_.add(flow.source, flow.destination, flow.reply_source).id);
    start();
  }

  void step() {
    const unsigned changes = one_of(4) + 1;
    for (unsigned i = 0; i < changes; ++i) {
      change();
      for (unsigned n = one_of(4); n > 0; --n) send();
      // The client keeps using its tracked flow, whatever the rules are.
    }
    if (one_of(20) == 0) put_full();
    table_.full_dump_cheaper_from = one_of(4) == 0 ? 2 : SIZE_MAX;
    if (one_of(15) == 0) table_.interruptions = static_cast<int>(one_of(kConntrackAttempts));
    reconcile();
    if (one_of(10) == 0) restart();
  }

  std::size_t dumps() const { return table_.dumps; }
  std::size_t full_dumps() const { return table_.full_dumps; }

 private:
  unsigned one_of(std::size_t count) { return static_cast<unsigned>(random_() % count); }
  SocketAddress client(unsigned number) const { return {client_, static_cast<std::uint16_t>(40000 + number)}; }
  SocketAddress node(unsigned port) const { return {node_, static_cast<std::uint16_t>(port)}; }

  void change() {
    const std::string name = "svc" + std::to_string(one_of(3));
    const bool existed = services_.contains(name);
    if (existed && one_of(8) == 0) {
      services_.erase(name);
      return put(name, nullptr);
    }
    Service& service = services_[name];
    if (!existed || one_of(6) == 0) {
      service.frontends.clear();
      for (unsigned i = one_of(2) + 1; i > 0; --i) service.frontends.insert(addresses_[one_of(addresses_.size())]);
      service.node_port = static_cast<std::uint16_t>(one_of(2) == 0 ? 0 : 30001 + one_of(2));
    }
    if (one_of(10) == 0) service.endpoints.clear();
    // A mode that does not relay drops the ports. A mode that relays keeps them as long as possible, and another
    // Service may get a released port.
    if (!relaying_)
      service.relays.clear();
    else if (!existed || service.relays.empty() || one_of(10) == 0)
      choose_relays(service);
    const SocketAddress pod = pods_[one_of(pods_.size())];
    switch (one_of(4)) {
      case 0:
        service.endpoints[pod] = true;
        break;
      case 1:
        service.endpoints.erase(pod);
        break;
      case 2:
        if (service.endpoints.contains(pod)) service.endpoints[pod] = one_of(2) == 0;
        break;
      default:
        service.local_only = !service.local_only;
    }
    put(name, service.port());
  }

  // One or two listeners, or none if no port is free.
  void choose_relays(Service& service) {
    service.relays.clear();
    for (unsigned wanted = one_of(3); wanted > 0; --wanted) {
      const auto port = static_cast<std::uint16_t>(40001 + one_of(6));
      bool taken = false;
      for (const auto& [name, other] : services_) taken = taken || other.relays.contains(port);
      if (!taken) service.relays.insert(port);
    }
  }

  // A client uses its tracked flow, or the rules choose an endpoint.
  void send() {
    const SocketAddress from = client(100 + one_of(30));
    SocketAddress to = addresses_[one_of(addresses_.size())];
    if (one_of(3) == 0) to = node(30001 + one_of(2));
    for (const Flow& flow : table_.flows) {
      if (flow.source == from && flow.destination == to) return;
    }
    SocketAddress server = to;
    for (const Service* owner : owners(to)) {
      const auto serving = owner->serving();
      if (!owner->relays.empty()) {
        const std::vector<std::uint16_t> ports(owner->relays.begin(), owner->relays.end());
        server = node(ports[one_of(ports.size())]);
      } else if (!serving.empty())
        server = serving[owner->local_only ? 0 : one_of(serving.size())];
    }
    table_.add(from, to, server);
  }

  std::vector<const Service*> owners(const SocketAddress& address) const {
    std::vector<const Service*> out;
    const bool of_node = address.address == node_;
    for (const auto& [name, service] : services_) {
      if (service.frontends.contains(address) || (of_node && service.node_port == address.port))
        out.push_back(&service);
    }
    return out;
  }

  void put(const std::string& name, UdpPortPtr port) {
    UdpChange change;
    change.ports.emplace_back(test::udp_key(name), std::move(port));
    mailbox_.put(std::move(change));
  }
  void put_full() {
    UdpChange change;
    change.full = true;
    change.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{node_}, false, {node_}});
    for (const auto& [name, service] : services_) change.ports.emplace_back(test::udp_key(name), service.port());
    mailbox_.put(std::move(change));
  }

  // Like ConntrackReconciler, without its clock.
  void reconcile() {
    auto contents = mailbox_.take();
    state_.apply(contents.change, work_);
    work_.merge(contents.work);
    if (work_.empty()) return check(table_.flows);
    const std::vector<Flow> before = table_.flows;
    const auto scan = reconcile_conntrack(lib::Family::ipv4, state_, work_, table_, std::atomic<bool>(false));
    CPPUNIT_ASSERT(scan.ok() && !scan->partial);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(before.size() - table_.flows.size()), scan->deleted);
    work_ = {};
    frontends_text_ = state_.serialize_frontends();
    check(before);
  }

  // Starts a new process; half of the time the Services changed meanwhile.
  void restart() {
    const bool changed = one_of(2) == 0;
    const std::size_t before = table_.flows.size();
    if (changed) change();
    if (changed && one_of(3) == 0) change_mode();
    start();
    reconcile();
    if (!changed) CPPUNIT_ASSERT_EQUAL(before, table_.flows.size());
  }
  void change_mode() {
    relaying_ = !relaying_;
    for (auto& [name, service] : services_) {
      service.relays.clear();
      if (relaying_) choose_relays(service);
    }
  }
  void start() {
    mailbox_ = {};
    state_ = {};
    work_ = {};
    CPPUNIT_ASSERT(ConntrackState::parse_frontends(frontends_text_, work_).ok());
    work_.note_full_scan();
    put_full();
  }

  // `before`: the table before the scan.
  void check(const std::vector<Flow>& before) {
    std::unordered_set<std::uint32_t> existing;
    for (const Flow& flow : table_.flows) existing.insert(flow.id);
    for (const Flow& flow : before) {
      const bool translated = flow.reply_source != flow.destination;
      bool served = false;
      bool served_by_this = false;
      const auto services = owners(flow.destination);
      for (const Service* owner : services) {
        const auto found = owner->endpoints.find(flow.reply_source);
        served_by_this = served_by_this || (found != owner->endpoints.end() && found->second) ||
                         (flow.reply_source.address == node_ && owner->relays.contains(flow.reply_source.port));
        served = served || !owner->serving().empty() || !owner->relays.empty();
      }
      bool keep = !translated;  // an untranslated flow to an address without a Service is harmless
      if (!services.empty()) keep = served_by_this || (!translated && !served);
      if (foreign_.contains(flow.id)) keep = true;
      SLUICE_REQUIRE(keep == existing.contains(flow.id),
                     flow.destination.to_string() + " served by " + flow.reply_source.to_string());
    }
  }

  const lib::IpAddress client_ = *lib::IpAddress::parse("10.0.0.2");
  const lib::IpAddress node_ = *lib::IpAddress::parse("192.168.0.2");
  std::mt19937 random_;
  std::vector<SocketAddress> addresses_;
  std::vector<SocketAddress> pods_;
  std::map<std::string, Service> services_;
  std::set<std::uint32_t> foreign_;
  bool relaying_ = false;  // whether the backend relays
  test::FakeConntrackTable table_;
  ConntrackMailbox mailbox_;
  ConntrackState state_;
  ConntrackWork work_;
  std::string frontends_text_;
};

class ConntrackModelTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackModelTest);
  CPPUNIT_TEST(removes_stale_flows_of_random_histories);
  CPPUNIT_TEST_SUITE_END();

 public:
  void removes_stale_flows_of_random_histories() {
    const unsigned histories = test::repetitions(3'000, 100'000);
    std::size_t dumps = 0;
    std::size_t full_dumps = 0;
    for (unsigned seed = 1; seed <= histories; ++seed) {
      try {
        History history(seed);
        for (int i = 0; i < 30; ++i) history.step();
        dumps += history.dumps();
        full_dumps += history.full_dumps();
      } catch (const CppUnit::Exception& failure) {
        CPPUNIT_FAIL("history " + std::to_string(seed) + ": " + failure.what());
      }
    }
    // The test is only meaningful if it runs both full and filtered dumps.
    CPPUNIT_ASSERT(full_dumps > dumps / 100 && full_dumps < dumps / 2);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackModelTest);

}  // namespace scan_model_test
}  // namespace sluice::conntrack
