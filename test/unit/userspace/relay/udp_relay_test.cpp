// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Datagrams through the UDP relay, on the loopback interface.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <set>

#include "plugins/userspace/relay/engine.hpp"
#include "test/unit/userspace/relay/udp_rig.hpp"

namespace sluice::userspace {
namespace udp_relay_test {

using rig::at;
using rig::descriptors;
using rig::flow_time;
using rig::kNever;
using rig::listener_of;
using rig::patience;
using rig::Peer;
using rig::Rig;
using rig::text;
using test::wait_until;

class UdpRelayTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(UdpRelayTest);
  CPPUNIT_TEST(a_datagram_and_its_reply_are_relayed);
  CPPUNIT_TEST(clients_have_upstream_ports_of_their_own);
  CPPUNIT_TEST(a_reply_comes_from_the_destination_address);
  CPPUNIT_TEST(the_order_of_a_clients_datagrams_is_kept);
  CPPUNIT_TEST(one_datagram_may_have_many_replies);
  CPPUNIT_TEST(datagrams_of_any_length_are_relayed);
  CPPUNIT_TEST(a_silent_client_expires);
  CPPUNIT_TEST(without_endpoints_datagrams_are_dropped);
  CPPUNIT_TEST(after_a_refusal_the_next_datagram_goes_elsewhere);
  CPPUNIT_TEST(a_refusal_reported_by_send_loses_no_datagram);
  CPPUNIT_TEST(a_reply_ends_the_pause_of_an_endpoint);
  CPPUNIT_TEST(without_replies_the_absence_of_errors_counts_as_success);
  CPPUNIT_TEST(after_an_unreachable_endpoint_another_one_is_tried);
  CPPUNIT_TEST(clients_of_removed_endpoints_are_dropped);
  CPPUNIT_TEST(the_client_that_is_idle_longest_is_evicted);
  CPPUNIT_TEST(without_descriptors_the_client_idle_longest_is_evicted);
  CPPUNIT_TEST(a_stopped_listener_releases_its_port);
  CPPUNIT_TEST(queued_datagrams_are_relayed_before_stop);
  CPPUNIT_TEST(queued_datagrams_are_relayed_at_retirement);
  CPPUNIT_TEST(no_descriptor_is_left_over);
  CPPUNIT_TEST_SUITE_END();

  static void there_and_back(const std::string& address) {
    Rig rig;
    Peer endpoint(address);
    Peer client(address);
    const ListenerPtr listener = listener_of({endpoint.name()});
    const SocketAddress service = rig.serve(1, listener, address);
    for (int i = 0; i < 3; ++i) {
      client.send(service, "question");
      endpoint.answer("!");
      SocketAddress from;
      CPPUNIT_ASSERT_EQUAL(std::string("question!"), client.receive(&from));
      CPPUNIT_ASSERT_EQUAL(service.port(), from.port());
      CPPUNIT_ASSERT_EQUAL(address, text(from));
    }
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_bytes_to_client.get() == 27; }));  // counted last
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig.statistics.udp_to_client.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig.statistics.udp_to_endpoint.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{24}, rig.statistics.udp_bytes_to_endpoint.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients_opened.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients.get());
  }

  void a_datagram_and_its_reply_are_relayed() {
    there_and_back("127.0.0.1");
    there_and_back("::1");
  }

  void clients_have_upstream_ports_of_their_own() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "127.0.0.1");
    std::vector<Peer> clients;
    for (int i = 0; i < 150; ++i) clients.emplace_back("127.0.0.1");
    for (Peer& client : clients) client.send(service, std::to_string(client.port()));
    std::set<std::uint16_t> ports;
    for (std::size_t i = 0; i < clients.size(); ++i) ports.insert(endpoint.answer("!").port());
    CPPUNIT_ASSERT_EQUAL(clients.size(), ports.size());
    for (Peer& client : clients) CPPUNIT_ASSERT_EQUAL(std::to_string(client.port()) + "!", client.receive());
    // And keep them.
    for (Peer& client : clients) client.send(service, "again");
    for (std::size_t i = 0; i < clients.size(); ++i) CPPUNIT_ASSERT(ports.count(endpoint.answer("").port()) == 1);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{clients.size()}, rig.statistics.udp_clients.get());
  }

  void a_reply_comes_from_the_destination_address() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "0.0.0.0");
    Peer client("127.0.0.1");
    std::set<std::uint16_t> ports;
    for (const char* const asked : {"127.0.0.2", "127.0.0.3", "127.0.0.2"}) {
      client.send(at(asked, service.port()), asked);
      ports.insert(endpoint.answer("").port());
      SocketAddress from;
      CPPUNIT_ASSERT_EQUAL(std::string(asked), client.receive(&from));
      CPPUNIT_ASSERT_EQUAL(std::string(asked), text(from));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, ports.size());
    Peer six("::1");
    Peer six_endpoint("::1");
    const SocketAddress six_service = rig.serve(2, listener_of({six_endpoint.name()}), "::");
    six.connect(at("::1", six_service.port()));  // so that it receives only from the service
    six.send(at("::1", six_service.port()), "six");
    six_endpoint.answer("");
    CPPUNIT_ASSERT_EQUAL(std::string("six"), six.receive());
  }

  void the_order_of_a_clients_datagrams_is_kept() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "127.0.0.1");
    std::vector<Peer> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back("127.0.0.1");
    // More than a batch, from alternating clients.
    std::promise<void> release = rig.hold();
    for (int i = 0; i < 100; ++i) {
      for (Peer& client : clients) client.send(service, std::to_string(i));
    }
    release.set_value();
    std::map<std::uint16_t, int> next;
    for (int i = 0; i < 300; ++i) {
      SocketAddress from;
      const std::string payload = endpoint.receive(&from);
      CPPUNIT_ASSERT_EQUAL(std::to_string(next[from.port()]++), payload);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, next.size());
  }

  void one_datagram_may_have_many_replies() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "127.0.0.1");
    Peer one("127.0.0.1");
    Peer other("127.0.0.1");
    one.send(service, "one");
    other.send(service, "other");
    SocketAddress upstream[2];
    std::string payload[2];
    for (int i = 0; i < 2; ++i) payload[i] = endpoint.receive(&upstream[i]);
    std::promise<void> release = rig.hold();
    for (int n = 0; n < 150; ++n) {
      for (int i = 0; i < 2; ++i) endpoint.send(upstream[i], payload[i] + std::to_string(n));
    }
    release.set_value();
    for (int n = 0; n < 150; ++n) {
      CPPUNIT_ASSERT_EQUAL("one" + std::to_string(n), one.receive());
      CPPUNIT_ASSERT_EQUAL("other" + std::to_string(n), other.receive());
    }
  }

  static void length(const std::string& address, std::size_t bytes) {
    Rig rig;
    Peer endpoint(address);
    Peer client(address);
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), address);
    std::string content(bytes, ' ');
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 31 >> 3);
    client.send(service, content);
    CPPUNIT_ASSERT(content == std::string(endpoint.receive()));
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_bytes_to_endpoint.get() == bytes; }));
    client.send(service, content);
    endpoint.answer("");
    CPPUNIT_ASSERT(content == client.receive());
  }

  void datagrams_of_any_length_are_relayed() {
    for (const std::size_t bytes : {0, 1, 1472, 4097, 65'507}) length("127.0.0.1", bytes);
    for (const std::size_t bytes : {0, 65'527}) length("::1", bytes);
  }

  // BEH case 132.
  void a_silent_client_expires() {
    Rig rig(flow_time());
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({endpoint.name()});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "first");
    SocketAddress upstream;
    CPPUNIT_ASSERT_EQUAL(std::string("first"), endpoint.receive(&upstream));
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_clients_expired.get() == 1; }));  // counted last
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.statistics.udp_clients.get());
    endpoint.send(upstream, "too late");
    client.send(service, "second");
    endpoint.answer("!");
    CPPUNIT_ASSERT_EQUAL(std::string("second!"), client.receive());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.statistics.udp_clients_opened.get());
    // A client that sends later expires later.
    CPPUNIT_ASSERT(!client.has_datagram(20));  // fixed time: the two clients do not expire together
    Peer other("127.0.0.1");
    other.send(service, "third");
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_clients_expired.get() == 3; }));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.statistics.udp_clients.get());
  }

  // BEH case 130.
  void without_endpoints_datagrams_are_dropped() {
    Rig rig;
    const ListenerPtr listener = listener_of({});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "lost");
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_dropped_no_endpoint.get() == 1; }));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.statistics.udp_clients.get());
    Peer endpoint("127.0.0.1");
    listener->balancer().set_endpoints(std::vector{endpoint.name()});
    client.send(service, "found");
    CPPUNIT_ASSERT_EQUAL(std::string("found"), endpoint.receive());
  }

  void after_a_refusal_the_next_datagram_goes_elsewhere() {
    Rig rig;
    Peer dead("127.0.0.1");
    dead.connect(at("127.0.0.1", 9));
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({dead.name()});
    listener->balancer().set_affinity(3600);
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "refused");
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_errors.get() == 1; }));
    listener->balancer().set_endpoints(std::vector{dead.name(), endpoint.name()});
    // The client is bound to the dead endpoint; the failure rebinds it.
    client.send(service, "heard");
    CPPUNIT_ASSERT_EQUAL(std::string("heard"), endpoint.receive());
    Peer neighbour("127.0.0.1");
    neighbour.send(service, "too");
    CPPUNIT_ASSERT_EQUAL(std::string("too"), endpoint.receive());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_errors.get());
  }

  void a_refusal_reported_by_send_loses_no_datagram() {
    Rig rig;
    Peer dead("127.0.0.1");
    dead.connect(at("127.0.0.1", 9));
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({dead.name(), endpoint.name()});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    // Every other client gets the dead endpoint first. The refusal mostly arrives between the datagrams of a batch.
    int rescued = 0;
    for (int i = 0; i < 200 && rescued < 5; ++i) {
      Peer client("127.0.0.1");
      const std::uint64_t errors = rig.statistics.udp_errors.get();
      std::promise<void> release = rig.hold();
      client.send(service, "first");
      client.send(service, "second");
      client.send(service, "third");
      release.set_value();
      CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_errors.get() > errors || endpoint.has_datagram(0); }));
      if (!endpoint.has_datagram(20)) continue;  // fixed time: all three are lost
      const std::string payload = endpoint.receive();
      if (payload != "first" && rig.statistics.udp_errors.get() > errors) ++rescued;
      while (endpoint.has_datagram(0)) endpoint.receive();
    }
    CPPUNIT_ASSERT_EQUAL(5, rescued);
  }

  // A listener with one endpoint that is passed over after the first refusal, for an hour.
  static ListenerPtr strict_listener(const SocketAddress& endpoint) {
    BalancerSettings settings;
    settings.outliers.failures = 1;
    settings.outliers.first_pause = settings.outliers.longest_pause = kNever;
    auto listener = std::make_shared<Listener>("shop/dns", abi::Protocol::kUdp, abi::Family::kIpv4,
                                               ListenerKind::kCluster, settings, 1);
    listener->balancer().set_endpoints(std::vector{endpoint});
    return listener;
  }

  void a_reply_ends_the_pause_of_an_endpoint() {
    Rig rig;
    Peer endpoint(Peer::open_fixed(at("127.0.0.1")));
    endpoint.connect(at("127.0.0.1", 9));
    const ListenerPtr listener = strict_listener(endpoint.name());
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "refused");
    CPPUNIT_ASSERT(wait_until([&] { return listener->balancer().passed_over(EventLoop::clock()) == 1; }));
    endpoint.disconnect();
    client.send(service, "heard");
    SocketAddress upstream;
    CPPUNIT_ASSERT_EQUAL(std::string("heard"), endpoint.receive(&upstream));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, listener->balancer().passed_over(EventLoop::clock()));
    endpoint.send(upstream, "answer");
    CPPUNIT_ASSERT_EQUAL(std::string("answer"), client.receive());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, listener->balancer().passed_over(EventLoop::clock()));
  }

  void without_replies_the_absence_of_errors_counts_as_success() {
    for (const bool answers : {false, true}) {
      Rig rig(flow_time());
      Peer endpoint(Peer::open_fixed(at("127.0.0.1")));
      const ListenerPtr listener = strict_listener(endpoint.name());
      const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
      Peer client("127.0.0.1");
      client.send(service, "first");
      SocketAddress upstream;
      endpoint.receive(&upstream);
      if (answers) {
        endpoint.send(upstream, "answer");
        CPPUNIT_ASSERT_EQUAL(std::string("answer"), client.receive());
      }
      CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_clients.get() == 0; }));
      endpoint.connect(at("127.0.0.1", 9));
      client.send(service, "refused");
      CPPUNIT_ASSERT(wait_until([&] { return listener->balancer().passed_over(EventLoop::clock()) == 1; }));
      endpoint.disconnect();
      client.send(service, "heard");
      CPPUNIT_ASSERT_EQUAL(std::string("heard"), endpoint.receive());
      CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_clients.get() == 0; }));
      CPPUNIT_ASSERT_EQUAL(std::size_t{answers}, listener->balancer().passed_over(EventLoop::clock()));
    }
  }

  void after_an_unreachable_endpoint_another_one_is_tried() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({at("255.255.255.255", 53), endpoint.name()});  // connecting is forbidden
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    for (int i = 0; i < 4; ++i) {
      Peer client("127.0.0.1");
      client.send(service, "hello");
      CPPUNIT_ASSERT_EQUAL(std::string("hello"), endpoint.receive());
    }
    CPPUNIT_ASSERT(rig.statistics.udp_errors.get() >= 1);
    const ListenerPtr hopeless = listener_of({at("255.255.255.255", 53)});
    const SocketAddress nowhere = rig.serve(2, hopeless, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(nowhere, "lost");
    CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_dropped_no_endpoint.get() == 1; }));
  }

  void clients_of_removed_endpoints_are_dropped() {
    Rig rig;
    Peer leaving("127.0.0.1");
    Peer staying("127.0.0.1");
    const ListenerPtr listener = listener_of({leaving.name()});
    const ListenerPtr neighbour = listener_of({leaving.name()});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    const SocketAddress other = rig.serve(2, neighbour, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "one");
    SocketAddress upstream;
    CPPUNIT_ASSERT_EQUAL(std::string("one"), leaving.receive(&upstream));
    client.send(other, "two");
    CPPUNIT_ASSERT_EQUAL(std::string("two"), leaving.receive());
    const Balancer::Change change = listener->balancer().set_endpoints(std::vector{staying.name()});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, change.gone.size());
    CPPUNIT_ASSERT_EQUAL(1U, change.gone[0]->open());
    rig.endpoints_gone(change.gone);
    CPPUNIT_ASSERT_EQUAL(0U, change.gone[0]->open());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients.get());
    leaving.send(upstream, "unheard");
    client.send(service, "three");
    staying.answer("!");
    CPPUNIT_ASSERT_EQUAL(std::string("three!"), client.receive());
    client.send(other, "four");
    CPPUNIT_ASSERT_EQUAL(std::string("four"), leaving.receive());
  }

  void the_client_that_is_idle_longest_is_evicted() {
    Rig rig(kNever, 2);
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "127.0.0.1");
    Peer first("127.0.0.1");
    Peer second("127.0.0.1");
    Peer third("127.0.0.1");
    SocketAddress of_first;
    SocketAddress of_second;
    first.send(service, "1");
    endpoint.receive(&of_first);
    second.send(service, "2");
    endpoint.receive(&of_second);
    endpoint.send(of_first, "a");  // makes it the most recent client
    CPPUNIT_ASSERT_EQUAL(std::string("a"), first.receive());
    third.send(service, "3");
    endpoint.receive();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients_evicted.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.statistics.udp_clients.get());
    endpoint.send(of_second, "lost");
    endpoint.send(of_first, "b");
    CPPUNIT_ASSERT_EQUAL(std::string("b"), first.receive());
    CPPUNIT_ASSERT(!second.has_datagram(0));
  }

  void without_descriptors_the_client_idle_longest_is_evicted() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const SocketAddress service = rig.serve(1, listener_of({endpoint.name()}), "127.0.0.1");
    Peer first("127.0.0.1");
    Peer second("127.0.0.1");
    Peer third("127.0.0.1");
    const int timeout = patience();  // reads the load, which needs a file descriptor
    rlimit before{};
    CPPUNIT_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &before));
    rlimit low = before;
    low.rlim_cur = descriptors() + 20;
    CPPUNIT_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &low));
    std::vector<lib::Fd> taken;
    while (lib::Fd one{dup(0)}) taken.push_back(std::move(one));
    third.send(service, "lost");
    const bool dropped = wait_until([&] { return rig.statistics.udp_dropped_full.get() == 1; });
    taken.pop_back();
    first.send(service, "1");
    const bool first_came = endpoint.has_datagram(timeout);
    second.send(service, "2");
    const bool evicted = wait_until([&] { return rig.statistics.udp_clients_opened.get() == 2; });
    setrlimit(RLIMIT_NOFILE, &before);
    CPPUNIT_ASSERT(dropped);
    CPPUNIT_ASSERT(first_came);
    CPPUNIT_ASSERT(evicted);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), endpoint.receive());
    CPPUNIT_ASSERT_EQUAL(std::string("2"), endpoint.receive());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients_evicted.get());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients.get());
  }

  void a_stopped_listener_releases_its_port() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({endpoint.name()});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    const SocketAddress other = rig.serve(2, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    client.send(service, "1");
    endpoint.receive();
    client.send(other, "2");
    endpoint.receive();
    int taken = -1;
    rig.stop(1, [&] {
      const lib::Fd again(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      taken = bind(again.get(), service.get(), service.size());
    });
    CPPUNIT_ASSERT_EQUAL(0, taken);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.statistics.udp_clients.get());
    client.send(other, "3");
    CPPUNIT_ASSERT_EQUAL(std::string("3"), endpoint.receive());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.statistics.udp_clients_opened.get());
    rig.stop(1);  // already stopped
  }

  void queued_datagrams_are_relayed_before_stop() {
    Rig rig;
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({endpoint.name()});
    const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
    Peer client("127.0.0.1");
    // More than one event reads.
    rig.stop_and_drain(1, [&] {
      for (int i = 0; i < 200; ++i) client.send(service, std::to_string(i));
    });
    for (int i = 0; i < 200; ++i) CPPUNIT_ASSERT_EQUAL(std::to_string(i), endpoint.receive());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.statistics.udp_clients.get());
  }

  static lib::Fd open_upstream(int flags) {
    lib::Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    const SocketAddress where = at("127.0.0.1");
    CPPUNIT_ASSERT_EQUAL(0, bind(made.get(), where.get(), where.size()));
    CPPUNIT_ASSERT_EQUAL(0, listen(made.get(), 4));
    return made;
  }

  void queued_datagrams_are_relayed_at_retirement() {
    CPPUNIT_ASSERT(relays_the_last(Engine::Ending::kRetired, std::chrono::milliseconds(100)));
    // On a busy machine the relay may go on before stop() reaches it, and relays the datagram as before: then the pause is
    // longer the next time.
    bool relayed = true;
    for (std::chrono::milliseconds pause(100); relayed && pause < std::chrono::seconds(10); pause *= 2) {
      relayed = relays_the_last(Engine::Ending::kShared, pause);
    }
    CPPUNIT_ASSERT(!relayed);
  }
  // Whether a datagram that comes after the call of stop() and before its end is relayed.
  static bool relays_the_last(Engine::Ending ending, std::chrono::milliseconds pause) {
    RelaySettings settings;
    settings.threads = 1;
    settings.max_connections = 1;
    Engine engine(settings);
    Peer endpoint("127.0.0.1");
    const ListenerPtr listener = listener_of({endpoint.name()});
    std::vector<lib::Fd> sockets;
    sockets.push_back(Peer::open(at("127.0.0.1")));
    const SocketAddress service = Peer::name_of(sockets.front().get());
    const ServingId id = engine.serve(std::move(sockets), listener);
    // The report callback keeps the relay thread busy.
    std::promise<void> busy;
    std::promise<void> release;
    engine.add_report([&](bool begins, const std::string&) {
      if (!begins) return;
      busy.set_value();
      release.get_future().wait();
    });
    const lib::Fd server = open_upstream(0);
    std::vector<lib::Fd> upstreams;
    upstreams.push_back(open_upstream(SOCK_NONBLOCK));
    const SocketAddress web = Peer::name_of(upstreams.front().get());
    auto tcp = std::make_shared<Listener>("shop/web", abi::Protocol::kTcp, abi::Family::kIpv4, ListenerKind::kCluster,
                                          BalancerSettings(), 1);
    tcp->balancer().set_endpoints(std::vector{Peer::name_of(server.get())});
    engine.serve(std::move(upstreams), tcp);
    std::vector<lib::Fd> beyond_the_limit;
    for (int i = 0; i < 2; ++i) {
      beyond_the_limit.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      CPPUNIT_ASSERT_EQUAL(0, connect(beyond_the_limit.back().get(), web.get(), web.size()));
    }
    busy.get_future().wait();
    std::promise<void> stop_begun;
    std::thread stopping([&] {
      stop_begun.set_value();
      engine.stop({&id, 1}, ending);
    });
    stop_begun.get_future().wait();
    std::this_thread::sleep_for(pause);  // fixed time: stop() reaches the relay's queue
    Peer client("127.0.0.1");
    client.send(service, "last");
    release.set_value();
    stopping.join();
    return endpoint.has_datagram(ending == Engine::Ending::kRetired ? patience() : 300);  // fixed time: none comes
  }

  void no_descriptor_is_left_over() {
    const std::size_t before = descriptors();
    Peer endpoint("127.0.0.1");
    {
      Rig rig;
      Peer dead("127.0.0.1");
      dead.connect(at("127.0.0.1", 9));
      const ListenerPtr listener = listener_of({endpoint.name(), dead.name()});
      const SocketAddress service = rig.serve(1, listener, "127.0.0.1");
      const SocketAddress other = rig.serve(2, listener, "127.0.0.1");
      std::vector<Peer> clients;
      for (int i = 0; i < 50; ++i) clients.emplace_back("127.0.0.1");
      for (Peer& client : clients) {
        client.send(service, "1");
        client.send(other, "2");
      }
      CPPUNIT_ASSERT(wait_until([&] { return rig.statistics.udp_clients_opened.get() >= 100; }));
      rig.stop(2);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{50}, rig.statistics.udp_clients.get());
      const Balancer::Change change = listener->balancer().set_endpoints(std::vector{dead.name()});
      rig.endpoints_gone(change.gone);
      CPPUNIT_ASSERT(rig.statistics.udp_clients.get() < 50);
    }
    CPPUNIT_ASSERT_EQUAL(before + 1, descriptors());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UdpRelayTest);

}  // namespace udp_relay_test
}  // namespace sluice::userspace
