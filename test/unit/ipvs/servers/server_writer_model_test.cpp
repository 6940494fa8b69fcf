// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Random histories: changes, connections, restarts, other programs, failures. After each step the kernel holds the
// wanted and the draining real servers, and nothing else.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>
#include <set>

#include "test/unit/ipvs/servers/server_rig.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/require.hpp"

namespace sluice::ipvs {
namespace server_writer_model_test {

class History {
 public:
  History(unsigned seed, WhenRemoved when) : random_(seed), when_(when), rig_(when, when == WhenRemoved::kDrain) {}

  void run(unsigned steps) {
    for (unsigned step = 0; step < steps; ++step) {
      label_ = std::to_string(step);
      one_step();
      check();
    }
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }

  static ServerKey key(unsigned number) {
    return server_key("10.98.0." + std::to_string(number + 1), 80,
                      number % 3 == 2 ? abi::Protocol::kUdp : abi::Protocol::kTcp);
  }
  bool grace(const ServerKey& of) const { return of.protocol == abi::Protocol::kTcp && when_ != WhenRemoved::kReset; }

  WantedServer random_server(const ServerKey& of) {
    std::vector<unsigned> numbers;
    for (unsigned i = 0; i < 6; ++i) {
      if (pick(2) == 0) numbers.push_back(i);
    }
    WantedServer server = wanted(of, pick(20) == 0 ? nullptr : reals(numbers), to_string(of, abi::Family::kIpv4));
    if (pick(4) == 0) {
      server.server.flags = kPersistent;
      server.server.persistence_seconds = 1 + pick(3);
    }
    if (pick(6) == 0) server.server.scheduler = "lc";
    return server;
  }

  void change() {
    std::map<ServerKey, WantedServer> some;
    for (unsigned i = 0; i <= pick(3); ++i) {
      const ServerKey of = key(pick(6));
      some.insert_or_assign(of, random_server(of));
    }
    std::vector<WantedServer> list;
    for (const auto& [of, server] : some) {
      list.push_back(server);
      wanted_[of] = server;
    }
    write([&] { CPPUNIT_ASSERT(rig_.writer->put(list).refused.empty()); });
  }

  void full() {
    rig_.writer->refresh();
    std::vector<WantedServer> all;
    for (const auto& [of, server] : wanted_) all.push_back(server);
    CPPUNIT_ASSERT(rig_.writer->put(all).refused.empty());
    std::vector<ServerKey> legacy;
    for (const ServerKey& of : rig_.writer->held()) {
      if (wanted_.count(of) == 0) legacy.push_back(of);
    }
    rig_.writer->remove(legacy);
    changed_ = false;
  }

  // As the backend does: a full round follows each failure.
  template <class Body>
  void write(const Body& body) {
    try {
      body();
    } catch (const sdk::Failure&) {
      rig_.kernel.commands_left = rig_.kernel.dumps_left = -1;
      full();
    }
    rig_.kernel.commands_left = rig_.kernel.dumps_left = -1;
  }

  void one_step() {
    switch (pick(14)) {
      case 0: case 1: case 2: case 3: return change();
      case 4: {
        const ServerKey of = key(pick(6));
        wanted_.erase(of);
        return write([&] { rig_.writer->remove({of}); });
      }
      case 5: case 6: return traffic();
      case 7: return rig_.writer->tick();
      case 8: rig_.pass(std::chrono::seconds(pick(20))); return rig_.writer->tick();
      case 9: rig_.restart(); return full();
      case 10: return full();
      case 11: return spoil();
      case 12: rig_.kernel.commands_left = pick(5); return change();
      default: rig_.kernel.dumps_left = pick(2); return change();
    }
  }

  // New connections go only to real servers with a weight.
  void traffic() {
    for (auto& [of, server] : rig_.kernel.held) {
      for (auto& [number, state] : server.real) {
        if (state.weight > 0 && pick(3) == 0) ++state.connections;
        if (state.connections > 0 && pick(3) == 0) --state.connections;
      }
    }
  }

  void spoil() {
    if (rig_.kernel.held.empty()) return;
    auto at = rig_.kernel.held.begin();
    std::advance(at, pick(static_cast<unsigned>(rig_.kernel.held.size())));
    switch (pick(5)) {
      case 0: rig_.kernel.held.erase(at); break;
      case 1: at->second.real.clear(); break;
      case 2: at->second.real[real(pick(9))] = {static_cast<std::int32_t>(pick(3)), pick(2) == 0, pick(3)}; break;
      case 3: at->second.attributes.scheduler = "sh"; break;
      default: rig_.kernel.held[server_key("192.0.2.9")].attributes = {server_key("192.0.2.9"), "rr", 0, 0}; break;
    }
    changed_ = true;
    // Half of the time the next step comes before the drift is found.
    if (pick(2) == 0) return;
    if (rig_.writer->find_drift()) full();
  }

  void check() {
    if (changed_) {
      // Foreign changes may stay until a check; then they must be repaired.
      if (pick(3) != 0) return;
      full();
    }
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, std::string(), rig_.writer->find_drift().value_or(""));
    std::size_t draining = 0;
    std::size_t count = 0;
    for (const auto& [of, server] : wanted_) {
      const auto held = rig_.kernel.held.find(of);
      SLUICE_REQUIRE(held != rig_.kernel.held.end(), label_);
      SLUICE_REQUIRE(held->second.attributes.same_attributes(server.server), label_);
      std::set<RealServer> list;
      if (server.real) list.insert(server.real->begin(), server.real->end());
      for (const RealServer& one : list) {
        const auto* state = rig_.kernel.find(of, one);
        SLUICE_REQUIRE(state != nullptr && state->weight == 1 && state->masquerades, label_);
      }
      for (const auto& [one, state] : held->second.real) {
        ++count;
        if (list.count(one) != 0) continue;
        SLUICE_REQUIRE(grace(of), label_);
        SLUICE_REQUIRE(state.weight == 0, label_);
        ++draining;
      }
    }
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, draining, rig_.writer->draining());
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, wanted_.size(), rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, wanted_.size(), rig_.kernel.held.size());
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, count, rig_.writer->real_servers());
    if (pick(4) != 0) return;
    // A tick leaves only real servers that have connections and time.
    rig_.writer->tick();
    for (const auto& [of, server] : wanted_) {
      for (const auto& [one, state] : rig_.kernel.held[of].real) {
        SLUICE_REQUIRE(state.weight == 1 || state.connections > 0, label_);
      }
    }
    if (when_ != WhenRemoved::kDrain) return;
    const std::string saved = rig_.writer->draining() == 0 ? std::string() : rig_.read_file();
    CPPUNIT_ASSERT_EQUAL_MESSAGE(label_, rig_.writer->draining(),
                                 static_cast<std::size_t>(std::count(saved.begin(), saved.end(), '\n')));
  }

  std::mt19937 random_;
  WhenRemoved when_;
  ServerRig rig_;
  std::map<ServerKey, WantedServer> wanted_;
  std::string label_;
  bool changed_ = false;
};

class ServerModelTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServerModelTest);
  CPPUNIT_TEST(keep);
  CPPUNIT_TEST(drain);
  CPPUNIT_TEST(reset);
  CPPUNIT_TEST_SUITE_END();

 public:
  void keep() { histories(WhenRemoved::kKeep, 1500); }
  void drain() { histories(WhenRemoved::kDrain, 60); }  // each step may write to disk
  void reset() { histories(WhenRemoved::kReset, 1000); }

 private:
  static void histories(WhenRemoved when, unsigned count) {
    for (unsigned seed = 0; seed < test::repetitions(count); ++seed) {
      try {
        History(seed, when).run(60);
      } catch (CppUnit::Exception& failure) {
        failure.setMessage(CppUnit::Message("history " + std::to_string(seed), failure.what()));
        throw;
      }
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ServerModelTest);

}  // namespace server_writer_model_test
}  // namespace sluice::ipvs
