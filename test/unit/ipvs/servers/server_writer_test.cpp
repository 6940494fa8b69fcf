// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_writer.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "test/unit/ipvs/servers/server_rig.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::ipvs {
namespace server_writer_test {

const ServerKey kKey = server_key("10.96.0.10");
const ServerKey kUdp = server_key("10.96.0.10", 53, abi::Protocol::kUdp);

class ServerWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServerWriterTest);
  CPPUNIT_TEST(adds_what_is_missing);
  CPPUNIT_TEST(writes_nothing_without_differences);
  CPPUNIT_TEST(edits_attributes_in_place);
  CPPUNIT_TEST(restores_the_weight_of_a_wanted_server_after_a_restart);
  CPPUNIT_TEST(restores_a_draining_server_with_its_connections);
  CPPUNIT_TEST(does_not_change_a_draining_server);
  CPPUNIT_TEST(removes_servers_without_connections_at_once);
  CPPUNIT_TEST(removes_udp_and_sctp_at_once);
  CPPUNIT_TEST(adds_before_it_removes);
  CPPUNIT_TEST(changes_the_forwarding_method);
  CPPUNIT_TEST(removes_servers_without_grace);
  CPPUNIT_TEST(cost_depends_on_the_change);
  CPPUNIT_TEST(shares_lists_of_real_servers);
  CPPUNIT_TEST(repairs_foreign_changes);
  CPPUNIT_TEST(does_not_change_new_foreign_servers_in_an_excluded_range);
  CPPUNIT_TEST(keeps_own_servers_in_an_excluded_range);
  CPPUNIT_TEST(gives_up_against_another_writer);
  CPPUNIT_TEST(accepts_objects_that_are_gone_already);
  CPPUNIT_TEST(names_a_missing_scheduler_and_requests_it_once);
  CPPUNIT_TEST(keeps_what_is_there_when_a_new_scheduler_is_missing);
  CPPUNIT_TEST(rejects_one_real_server_alone);
  CPPUNIT_TEST(shortages_and_denials_fail_the_whole_call);
  CPPUNIT_TEST(a_refresh_repairs_a_failed_call);
  CPPUNIT_TEST(finds_drift);
  CPPUNIT_TEST(foreign_servers_are_not_drift);
  CPPUNIT_TEST(a_dump_that_misses_or_repeats_one_is_not_drift);
  CPPUNIT_TEST(a_second_dump_finds_what_the_first_missed);
  CPPUNIT_TEST(scans_all_servers_in_bounded_steps);
  CPPUNIT_TEST(scans_tens_of_thousands_each_time);
  CPPUNIT_TEST(reads_connections_for_a_limited_time);
  CPPUNIT_TEST(is_not_idle_while_connections_are_hidden);
  CPPUNIT_TEST(quiesces_and_comes_back);
  CPPUNIT_TEST_SUITE_END();

 public:
  void adds_what_is_missing() {
    CPPUNIT_ASSERT(rig_.put(kKey, reals({1, 2})).refused.empty());
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->real_servers());
    CPPUNIT_ASSERT(rig_.put(kUdp, nullptr).refused.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.kernel.held[kUdp].real.size());
    CPPUNIT_ASSERT(rig_.writer->held() == (std::vector<ServerKey>{kUdp, kKey}));
  }

  void writes_nothing_without_differences() {
    rig_.put(kKey, reals({1, 2}));
    rig_.restart();
    const std::uint64_t messages = rig_.writer->messages();
    const std::uint64_t dumps = rig_.kernel.dumps();
    rig_.put(kKey, reals({1, 2}));
    rig_.writer->tick();
    CPPUNIT_ASSERT_EQUAL(messages, rig_.writer->messages());
    CPPUNIT_ASSERT_EQUAL(dumps, rig_.kernel.dumps());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->servers());
  }

  void edits_attributes_in_place() {
    rig_.put(kKey, reals({1}));
    rig_.connections(kKey, 1) = 5;
    WantedServer server = wanted(kKey, reals({1}));
    server.server.scheduler = "mh";
    server.server.flags = kPersistent | kSchedulerPort;
    server.server.persistence_seconds = 10800;
    rig_.kernel.log.clear();
    rig_.writer->put({server});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.kernel.log.size());
    CPPUNIT_ASSERT(rig_.kernel.held[kKey].attributes.same_attributes(server.server));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{5}, rig_.connections(kKey, 1));
  }

  void restores_the_weight_of_a_wanted_server_after_a_restart() {
    rig_.put(kKey, reals({1, 2}));
    rig_.kernel.find(kKey, real(1))->weight = 0;
    rig_.kernel.find(kKey, real(2))->weight = 100;
    rig_.connections(kKey, 1) = 3;
    rig_.restart();
    rig_.put(kKey, reals({1, 2}));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 2));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig_.kernel.cut);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
  }

  void restores_a_draining_server_with_its_connections() {
    rig_.put(kKey, reals({1, 2}));
    rig_.connections(kKey, 1) = 3;
    rig_.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(0, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->real_servers());
    rig_.put(kKey, reals({1, 2}));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig_.connections(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig_.kernel.cut);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
    rig_.connections(kKey, 1) = 0;
    rig_.writer->tick();
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
  }

  void does_not_change_a_draining_server() {
    rig_.put(kKey, reals({1, 2}));
    rig_.connections(kKey, 1) = 3;
    rig_.put(kKey, reals({2}));
    const std::uint64_t messages = rig_.writer->messages();
    rig_.put(kKey, reals({2}));
    rig_.writer->tick();
    CPPUNIT_ASSERT_EQUAL(messages, rig_.writer->messages());
    rig_.put(kKey, reals({2, 3}));
    CPPUNIT_ASSERT_EQUAL(messages + 1, rig_.writer->messages());
    rig_.connections(kKey, 1) = 0;
    rig_.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
    const std::uint64_t dumps = rig_.kernel.dumps();
    rig_.writer->tick();
    CPPUNIT_ASSERT_EQUAL(dumps, rig_.kernel.dumps());
  }

  // Weight 0 before the check: a connection between check and removal would be cut.
  void removes_servers_without_connections_at_once() {
    rig_.put(kKey, reals({1, 2}));
    rig_.kernel.log.clear();
    rig_.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(-1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.kernel.log.size());
    CPPUNIT_ASSERT(rig_.kernel.log[0].kind == ServerCommandKind::kEditReal && rig_.kernel.log[0].weight == 0);
    CPPUNIT_ASSERT(rig_.kernel.log[1].kind == ServerCommandKind::kDeleteReal);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->real_servers());
  }

  void removes_udp_and_sctp_at_once() {
    for (const abi::Protocol protocol : {abi::Protocol::kUdp, abi::Protocol::kSctp}) {
      const ServerKey key = server_key("10.96.0.11", 53, protocol);
      rig_.put(key, reals({1, 2}));
      rig_.connections(key, 1) = 3;
      rig_.put(key, reals({2}));
      CPPUNIT_ASSERT_EQUAL(-1, rig_.weight(key, 1));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
  }

  void adds_before_it_removes() {
    rig_.put(kUdp, reals({1, 2, 3}));
    std::size_t least = 99;
    rig_.kernel.meddle = [&](const ServerCommand& command) {
      least = std::min(least, rig_.kernel.held[command.server.key].real.size());
    };
    rig_.put(kUdp, reals({4, 5, 6}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig_.kernel.held[kUdp].real.size());
    CPPUNIT_ASSERT(least >= 3);
  }

  void changes_the_forwarding_method() {
    rig_.put(kKey, reals({1}));
    rig_.kernel.find(kKey, real(1))->masquerades = false;
    rig_.writer->refresh();
    rig_.put(kKey, reals({1}));
    CPPUNIT_ASSERT(rig_.kernel.find(kKey, real(1))->masquerades);
  }

  void removes_servers_without_grace() {
    rig_.put(kKey, reals({1}));
    rig_.put(kUdp, reals({1}));
    rig_.connections(kKey, 1) = 3;
    rig_.put(kKey, nullptr);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->draining());
    rig_.kernel.held.erase(kUdp);  // by another program
    rig_.writer->remove({kKey, kUdp, server_key("10.96.7.7")});
    CPPUNIT_ASSERT(rig_.kernel.held.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->real_servers());
    CPPUNIT_ASSERT(rig_.writer->held().empty());
  }

  void cost_depends_on_the_change() {
    std::vector<WantedServer> all;
    for (unsigned i = 0; i < 2000; ++i) {
      all.push_back(wanted(server_key("10.97." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1)),
                           reals({1, 2, 3})));
    }
    rig_.writer->put(all);
    const std::uint64_t messages = rig_.writer->messages();
    const std::uint64_t dumps = rig_.kernel.dumps();
    rig_.writer->put({wanted(all[700].server.key, reals({1, 2, 3, 4}))});
    CPPUNIT_ASSERT_EQUAL(messages + 1, rig_.writer->messages());
    CPPUNIT_ASSERT_EQUAL(dumps, rig_.kernel.dumps());
    rig_.writer->put({wanted(all[700].server.key, reals({1, 2, 4}))});
    CPPUNIT_ASSERT_EQUAL(messages + 3, rig_.writer->messages());
    CPPUNIT_ASSERT_EQUAL(dumps + 1, rig_.kernel.dumps());  // of that one alone
    rig_.kernel.held.erase(all[5].server.key);
    rig_.writer->refresh();
    rig_.writer->put(all);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2000}, rig_.kernel.held.size());
    // One was gone and had three real servers, and one has a foreign real server.
    CPPUNIT_ASSERT_EQUAL(messages + 3 + 4 + 3, rig_.writer->messages());
  }

  void shares_lists_of_real_servers() {
    const RealServers list = reals({1, 2, 3});
    std::vector<WantedServer> all;
    for (unsigned i = 1; i < 100; ++i) all.push_back(wanted(server_key("10.97.0." + std::to_string(i)), list));
    rig_.writer->put(all);
    CPPUNIT_ASSERT_EQUAL(199L, list.use_count());
    // A list from a dump is shared, too, if it is equal.
    rig_.restart();
    CPPUNIT_ASSERT_EQUAL(100L, list.use_count());
    rig_.writer->put(all);
    CPPUNIT_ASSERT_EQUAL(199L, list.use_count());
    rig_.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(199L, list.use_count());
  }

  void repairs_foreign_changes() {
    const std::vector<std::function<void()>> spoilers = {
        [&] { rig_.kernel.held.clear(); },
        [&] { rig_.kernel.held[kKey].real.erase(real(2)); },
        [&] { rig_.kernel.held[kKey].real[real(9)] = {5, true, 2}; },
        [&] { rig_.kernel.held[kKey].real[real(3)] = {7, true, 0}; },
        [&] { rig_.kernel.held[kKey].real.clear(); },
    };
    for (std::size_t i = 0; i < spoilers.size(); ++i) {
      rig_.kernel.held.clear();
      rig_.host.lines.clear();
      rig_.restart();
      WantedServer server = wanted(kKey, reals({1, 2}));
      rig_.writer->put({server, wanted(kUdp, reals({1}))});
      spoilers[i]();
      // The change concerns the modified server.
      server.real = reals({1, 3});
      server.server.flags = kPersistent;
      server.server.persistence_seconds = 60;
      const auto outcome = rig_.writer->put({server, wanted(kUdp, reals({1, 2}))});
      CPPUNIT_ASSERT(outcome.refused.empty());
      if (i == 2 || i == 4) {
        // This change did not meet it; the next scan does.
        CPPUNIT_ASSERT(rig_.writer->find_drift().has_value());
        rig_.writer->refresh();
        rig_.writer->put({server, wanted(kUdp, reals({1, 2}))});
        if (i == 2) {
          CPPUNIT_ASSERT_EQUAL(0, rig_.weight(kKey, 9));
          rig_.connections(kKey, 9) = 0;
          rig_.writer->tick();
        }
      }
      const std::string label = std::to_string(i);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, std::size_t{2}, rig_.kernel.held[kKey].real.size());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, 1, rig_.weight(kKey, 1));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, 1, rig_.weight(kKey, 3));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, 60u, rig_.kernel.held[kKey].attributes.persistence_seconds);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, std::size_t{2}, rig_.kernel.held[kUdp].real.size());
      CPPUNIT_ASSERT(!rig_.writer->find_drift());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(label, std::size_t{i == 0 || i == 3 ? 1u : 0u}, rig_.warnings());
    }
  }

  void does_not_change_new_foreign_servers_in_an_excluded_range() {
    rig_.options.excluded = [](const ServerKey& key) { return key == kKey; };
    rig_.restart();
    const FakeServerKernel::Server foreign{{kKey, "wlc", 0, 0}, {{real(7), {3, false, 4}}}};
    rig_.kernel.held[kKey] = foreign;
    for (unsigned i = 0; i < 2; ++i) {
      rig_.kernel.log.clear();
      const auto outcome = rig_.writer->put({wanted(kKey, reals({1, 2})), wanted(kUdp, reals({1}))});
      CPPUNIT_ASSERT(outcome.foreign == std::set<ServerKey>{kKey} && outcome.missing == outcome.foreign);
      CPPUNIT_ASSERT(outcome.refused.empty());
      for (const ServerCommand& command : rig_.kernel.log) {
        CPPUNIT_ASSERT(command.server.key == kUdp || command.kind == ServerCommandKind::kAddServer);
      }
      CPPUNIT_ASSERT(rig_.kernel.held[kKey].attributes.same_attributes(foreign.attributes));
      CPPUNIT_ASSERT(rig_.kernel.held[kKey].real == foreign.real);
      CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kUdp, 1));
    }
    rig_.writer->remove({kKey});
    CPPUNIT_ASSERT(rig_.kernel.held.contains(kKey));
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.warnings());
    rig_.kernel.held.erase(kKey);
    CPPUNIT_ASSERT(rig_.writer->put({wanted(kKey, reals({1, 2}))}).missing.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.kernel.held[kKey].real.size());
  }

  void keeps_own_servers_in_an_excluded_range() {
    rig_.options.excluded = [](const ServerKey&) { return true; };
    rig_.restart();
    rig_.writer->put({wanted(kKey, reals({1})), wanted(kUdp, reals({1}))});
    CPPUNIT_ASSERT(rig_.weight(kKey, 1) == 1 && rig_.weight(kUdp, 1) == 1);
    // Another program changes one and removes one.
    rig_.kernel.held[kKey].real[real(2)] = {7, true, 0};
    rig_.kernel.held.erase(kUdp);
    const auto outcome = rig_.writer->put({wanted(kKey, reals({1, 2})), wanted(kUdp, reals({1, 2}))});
    CPPUNIT_ASSERT(outcome.foreign.empty() && outcome.missing.empty() && outcome.refused.empty());
    CPPUNIT_ASSERT(rig_.weight(kKey, 2) == 1 && rig_.weight(kUdp, 1) == 1 && rig_.weight(kUdp, 2) == 1);
  }

  void gives_up_against_another_writer() {
    rig_.kernel.meddle = [&](const ServerCommand& command) {
      if (command.kind == ServerCommandKind::kAddReal) rig_.kernel.held.erase(kKey);
    };
    const auto outcome = rig_.put(kKey, reals({1}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, outcome.refused.size());
    CPPUNIT_ASSERT(outcome.refused.begin()->second.find("10.96.0.10:80/TCP is changed by another program") !=
                   std::string::npos);
    rig_.kernel.meddle = nullptr;
    rig_.writer->refresh();
    CPPUNIT_ASSERT(rig_.put(kKey, reals({1})).refused.empty());
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
  }

  void accepts_objects_that_are_gone_already() {
    rig_.put(kKey, reals({1, 2}));
    rig_.kernel.held[kKey].real.erase(real(1));
    rig_.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.kernel.held[kKey].real.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.warnings());
  }

  void names_a_missing_scheduler_and_requests_it_once() {
    std::vector<WantedServer> all;
    for (unsigned i = 1; i < 200; ++i) {
      all.push_back(wanted(server_key("10.97.0." + std::to_string(i)), reals({1, 2}), "shop/s" + std::to_string(i)));
      all.back().server.scheduler = "fo";
    }
    const auto outcome = rig_.writer->put(all);
    CPPUNIT_ASSERT_EQUAL(std::size_t{199}, outcome.refused.size());
    CPPUNIT_ASSERT_EQUAL(std::string("cannot add virtual server 10.97.0.7:80/TCP: No such file or directory (ENOENT); this "
                                     "kernel has no scheduler 'fo': load the module ip_vs_fo (modprobe ip_vs_fo) or set "
                                     "another scheduler"),
                         outcome.refused.at("shop/s7"));
    // Each of them would start modprobe.
    const auto asked = std::count_if(rig_.kernel.log.begin(), rig_.kernel.log.end(), [](const ServerCommand& command) {
      return command.kind == ServerCommandKind::kAddServer;
    });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, asked);
    CPPUNIT_ASSERT_EQUAL(std::size_t{199}, outcome.missing.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.warnings());
    rig_.kernel.schedulers.insert("fo");
    CPPUNIT_ASSERT(rig_.writer->put(all).refused.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{199}, rig_.writer->servers());
  }

  void keeps_what_is_there_when_a_new_scheduler_is_missing() {
    const ServerKey other = server_key("10.96.0.12");
    rig_.writer->put({wanted(kKey, reals({1})), wanted(other, reals({1}), "shop/other")});
    std::vector<WantedServer> all{wanted(kKey, reals({2})), wanted(other, reals({2}), "shop/other")};
    for (WantedServer& server : all) server.server.scheduler = "fo";
    const auto outcome = rig_.writer->put(all);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, outcome.refused.size());
    for (const ServerKey& key : {kKey, other}) {
      CPPUNIT_ASSERT_EQUAL(std::string("rr"), rig_.kernel.held[key].attributes.scheduler);
      CPPUNIT_ASSERT_EQUAL(1, rig_.weight(key, 2));
      CPPUNIT_ASSERT_EQUAL(-1, rig_.weight(key, 1));
    }
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
  }

  void rejects_one_real_server_alone() {
    rig_.kernel.refuse = [](const ServerCommand& command) {
      return command.kind == ServerCommandKind::kAddReal && command.real == real(2) ? EINVAL : 0;
    };
    const auto outcome = rig_.put(kKey, reals({1, 2, 3}));
    CPPUNIT_ASSERT_EQUAL(std::string("cannot add real server 10.1.0.3:8080 of virtual server 10.96.0.10:80/TCP: Invalid "
                                     "argument (EINVAL); IPVS takes unicast addresses only, in IPv6 none of one link"),
                         outcome.refused.at("shop/cart:http"));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 3));
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    // Retried each time.
    rig_.kernel.refuse = nullptr;
    CPPUNIT_ASSERT(rig_.put(kKey, reals({1, 2, 3})).refused.empty());
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 2));
  }

  void shortages_and_denials_fail_the_whole_call() {
    for (const auto& [error, code] : {std::pair(ENOMEM, abi::Code::kRetry), std::pair(EPERM, abi::Code::kDenied)}) {
      rig_.kernel.refuse = [error = error](const ServerCommand&) { return error; };
      try {
        rig_.put(kKey, reals({1}));
        CPPUNIT_FAIL("nothing was thrown");
      } catch (const sdk::Failure& failure) {
        CPPUNIT_ASSERT(failure.code() == code);
        CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.10:80/TCP"), failure.object());
      }
    }
  }

  void a_refresh_repairs_a_failed_call() {
    std::vector<WantedServer> all;
    for (unsigned i = 1; i < 50; ++i) all.push_back(wanted(server_key("10.97.0." + std::to_string(i)), reals({1, 2, i + 5})));
    for (long after = 0; after < 190; after += 7) {
      rig_.kernel.held.clear();
      rig_.restart();
      rig_.kernel.commands_left = after;
      CPPUNIT_ASSERT_THROW(rig_.writer->put(all), sdk::Failure);
      rig_.writer->refresh();
      CPPUNIT_ASSERT(rig_.writer->put(all).refused.empty());
      for (const WantedServer& server : all) {
        CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig_.kernel.held[server.server.key].real.size());
      }
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.warnings());
    }
  }

  void finds_drift() {
    const auto drift_after = [&](const std::function<void(FakeServerKernel&)>& spoil) {
      rig_.kernel.held.clear();
      rig_.restart();
      rig_.writer->put({wanted(kKey, reals({1, 2})), wanted(kUdp, reals({1}))});
      CPPUNIT_ASSERT(!rig_.writer->find_drift());
      spoil(rig_.kernel);
      return rig_.writer->find_drift().value_or("nothing");
    };
    CPPUNIT_ASSERT_EQUAL(std::string("2 virtual servers (one is 10.96.0.10:53/UDP): each is gone"),
                         drift_after([](FakeServerKernel& kernel) { kernel.held.clear(); }));
    CPPUNIT_ASSERT_EQUAL(std::string("virtual server 10.96.0.10:80/TCP is gone"),
                         drift_after([](FakeServerKernel& kernel) { kernel.held.erase(kKey); }));
    CPPUNIT_ASSERT_EQUAL(
        std::string("virtual server 10.96.0.10:80/TCP has another scheduler, flags or timeout"),
        drift_after([](FakeServerKernel& kernel) { kernel.held[kKey].attributes.persistence_seconds = 3; }));
    CPPUNIT_ASSERT_EQUAL(std::string("real server 10.1.0.3:8080 of virtual server 10.96.0.10:80/TCP is gone"),
                         drift_after([](FakeServerKernel& kernel) { kernel.held[kKey].real.erase(real(2)); }));
    CPPUNIT_ASSERT_EQUAL(std::string("real server 10.1.0.3:8080 of virtual server 10.96.0.10:80/TCP has the weight 0"),
                         drift_after([](FakeServerKernel& kernel) { kernel.find(kKey, real(2))->weight = 0; }));
    CPPUNIT_ASSERT_EQUAL(std::string("real server 10.1.0.3:8080 of virtual server 10.96.0.10:80/TCP forwards in another way"),
                         drift_after([](FakeServerKernel& kernel) { kernel.find(kKey, real(2))->masquerades = false; }));
    CPPUNIT_ASSERT_EQUAL(std::string("real server 10.1.0.8:8080 of virtual server 10.96.0.10:80/TCP was added"),
                         drift_after([](FakeServerKernel& kernel) { kernel.held[kKey].real[real(7)] = {}; }));
  }

  void foreign_servers_are_not_drift() {
    const ServerKey foreign = server_key("192.0.2.1");
    rig_.kernel.held[foreign] = {{foreign, "wlc", 0, 0}, {{real(1), {0, true, 0}}, {real(2), {3, false, 0}}}};
    rig_.restart();
    rig_.put(kKey, reals({1}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->real_servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->held().size());
    rig_.kernel.held[foreign].real.clear();
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    rig_.kernel.held[foreign].real[real(1)] = {0, true, 0};
    rig_.writer->tick();
    // Real servers of weight 0 of a foreign virtual server are not changed.
    CPPUNIT_ASSERT_EQUAL(0, rig_.weight(foreign, 1));
    rig_.kernel.held.erase(foreign);
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
  }

  // As the kernel's dumps behave while the other family's writer works.
  void a_dump_that_misses_or_repeats_one_is_not_drift() {
    rig_.writer->put({wanted(kKey, reals({1})), wanted(kUdp, reals({1}))});
    rig_.kernel.spoil_servers = [once = true](std::vector<VirtualServerState>& list) mutable {
      if (std::exchange(once, false)) list.pop_back();
    };
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    rig_.kernel.spoil_servers = [](std::vector<VirtualServerState>& list) { list.push_back(list.front()); };
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    rig_.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->servers());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->real_servers());
  }

  void a_second_dump_finds_what_the_first_missed() {
    const auto miss_once = [&] {
      rig_.kernel.spoil_servers = [once = true](std::vector<VirtualServerState>& list) mutable {
        if (std::exchange(once, false)) list.pop_back();
      };
    };
    rig_.writer->put({wanted(kKey, reals({1})), wanted(kUdp, reals({1}))});
    miss_once();
    rig_.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->held().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->servers());
    rig_.writer->put({wanted(kKey, reals({1})), wanted(kUdp, reals({1}))});
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig_.warnings());
    // A new process does not know which servers a dump must list.
    miss_once();
    rig_.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->held().size());
    // A dump that lists all known servers is enough; foreign ones are not known.
    const std::uint64_t dumps = rig_.kernel.server_dumps;
    rig_.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(dumps + 1, rig_.kernel.server_dumps);
    // Servers that are really gone are drift.
    rig_.writer->put({wanted(kKey, reals({1})), wanted(kUdp, reals({1}))});
    rig_.kernel.held.erase(kKey);
    rig_.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->held().size());
  }

  void scans_all_servers_in_bounded_steps() {
    std::vector<WantedServer> all;
    for (unsigned i = 1; i <= 60; ++i) all.push_back(wanted(server_key("10.97.0." + std::to_string(i)), reals({1})));
    // Each reading of the clock takes time: some four dumps fit into one call.
    std::uint64_t clock = 0;
    rig_.writer = std::make_unique<ServerWriter>(
        rig_.kernel, rig_.options, [&clock] { return clock += 225'000'000; }, sdk::Logger(&rig_.host));
    rig_.writer->refresh();
    rig_.writer->put(all);
    rig_.kernel.held[all[41].server.key].real.clear();
    unsigned calls = 1;
    std::uint64_t most = 0;
    for (;; ++calls) {
      const std::uint64_t before = rig_.kernel.real_dumps;
      if (rig_.writer->find_drift()) break;
      most = std::max(most, rig_.kernel.real_dumps - before);
      CPPUNIT_ASSERT(calls < 60);
    }
    CPPUNIT_ASSERT(most >= 2 && most <= 10);
    CPPUNIT_ASSERT(calls > 4 && calls <= 21);
  }

  void scans_tens_of_thousands_each_time() {
    const unsigned count = test::repetitions(30'000);
    std::vector<WantedServer> all;
    const RealServers list = reals({1});
    for (unsigned i = 0; i < count; ++i) {
      all.push_back(wanted(server_key("10.97." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1)), list));
    }
    std::uint64_t clock = 0;
    rig_.writer = std::make_unique<ServerWriter>(
        rig_.kernel, rig_.options, [&clock] { return clock += 25'000; }, sdk::Logger(&rig_.host));
    rig_.writer->refresh();
    rig_.writer->put(all);
    const std::uint64_t dumps = rig_.kernel.real_dumps;
    const std::uint64_t begin = clock;
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(dumps + count, rig_.kernel.real_dumps);
    CPPUNIT_ASSERT(21 * (clock - begin) < 20'000'000'000);
  }

  void reads_connections_for_a_limited_time() {
    std::uint64_t clock = 0;
    rig_.writer = std::make_unique<ServerWriter>(
        rig_.kernel, rig_.options, [&clock] { return clock; }, sdk::Logger(&rig_.host));
    rig_.writer->refresh();
    rig_.writer->put({wanted(kKey, reals({1}))});
    rig_.connections(kKey, 1) = 1;
    // An ended connection and foreign ones, each of which takes time to read.
    const auto visit = [&clock](int lines) {
      return [&clock, lines](const ConnectionVisitor& visitor, const MoreTime& more) {
        visitor(ended(1));
        for (int i = 0; i < lines; ++i) {
          if (!more()) return false;
          clock += 100'000'000;
        }
        return true;
      };
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->find_idle({kKey}, visit(5)).size());
    const std::uint64_t begin = clock;
    CPPUNIT_ASSERT(rig_.writer->find_idle({kKey}, visit(1'000'000)).empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{500'000'000}, clock - begin);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig_.writer->find_idle({kKey}, visit(5)).size());
  }

  // A connection that ends during the listing may hide or repeat another.
  void is_not_idle_while_connections_are_hidden() {
    rig_.writer->put({wanted(kKey, reals({1, 2}))});
    rig_.connections(kKey, 1) = 2;
    const auto idle = [this](std::vector<ServerConnection> listed) {
      const auto visit = [&](const ConnectionVisitor& visitor, const MoreTime&) {
        return std::all_of(listed.begin(), listed.end(), visitor);
      };
      return rig_.writer->find_idle({kKey}, visit) == std::vector<ServerKey>{kKey};
    };
    ServerConnection bound = ended(2);
    bound.client_port = 0;
    ServerConnection elsewhere = ended(2);
    elsewhere.real = real(2);
    ServerConnection open = ended(2);
    open.state = "ESTABLISHED";
    CPPUNIT_ASSERT(!idle({}));
    CPPUNIT_ASSERT(!idle({ended(1)}));
    CPPUNIT_ASSERT(!idle({ended(1), ended(1)}));
    CPPUNIT_ASSERT(!idle({ended(1), bound}));
    CPPUNIT_ASSERT(!idle({ended(1), elsewhere}));
    CPPUNIT_ASSERT(!idle({ended(1), open}));
    CPPUNIT_ASSERT(idle({ended(1), ended(2)}));
    CPPUNIT_ASSERT(idle({ended(1), bound, ended(2), ended(1)}));
  }

  void quiesces_and_comes_back() {
    rig_.writer->put({wanted(kKey, reals({1, 2})), wanted(kUdp, reals({1}))});
    rig_.connections(kKey, 1) = 2;
    const auto nothing_shown = [](const ConnectionVisitor&, const MoreTime&) { return false; };
    rig_.writer->quiesce({kKey, kUdp});
    CPPUNIT_ASSERT(rig_.writer->find_idle({kKey, kUdp}, nothing_shown) == std::vector<ServerKey>{kUdp});
    CPPUNIT_ASSERT_EQUAL(0, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(0, rig_.weight(kKey, 2));
    CPPUNIT_ASSERT_EQUAL(0, rig_.weight(kUdp, 1));
    const std::uint64_t messages = rig_.writer->messages();
    rig_.writer->tick();  // removes none of them: they are wanted
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
    rig_.connections(kKey, 1) = 0;
    rig_.writer->quiesce({kKey, kUdp});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig_.writer->find_idle({kKey, kUdp}, nothing_shown).size());
    CPPUNIT_ASSERT_EQUAL(messages, rig_.writer->messages());
    rig_.writer->put({wanted(kKey, reals({1, 2})), wanted(kUdp, reals({1}))});
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(1, rig_.weight(kUdp, 1));
    CPPUNIT_ASSERT(!rig_.writer->find_drift());
  }

 private:
  // A connection that both sides closed long ago.
  static ServerConnection ended(std::uint16_t port) {
    ServerConnection made;
    made.server = kKey;
    made.client_port = port;
    made.real = real(1);
    made.state = "TIME_WAIT";
    made.expires = 60;
    return made;
  }

  ServerRig rig_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(ServerWriterTest);

}  // namespace server_writer_test
}  // namespace sluice::ipvs
