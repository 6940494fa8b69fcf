// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the filter of netlink notifications. The loopback interface of a network namespace stands for the link of
// service addresses, or for another link.
#include "core/node/address_events.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <netlink/addr.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <thread>

#include "core/node/address_monitor.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/skip.hpp"

namespace sluice::node {
namespace address_events_test {

using namespace std::chrono_literals;

constexpr unsigned kLoopback = 1;  // in every namespace

class Binder {
 public:
  Binder() : socket_(nl_socket_alloc(), nl_socket_free) {
    CPPUNIT_ASSERT_EQUAL(0, nl_connect(socket_.get(), NETLINK_ROUTE));
  }
  // Binds 127.1.0.0 and the following addresses.
  void bind(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const std::uint8_t bytes[] = {127, 1, static_cast<std::uint8_t>(i / 256), static_cast<std::uint8_t>(i % 256)};
      const std::unique_ptr<nl_addr, void (*)(nl_addr*)> local(nl_addr_build(AF_INET, bytes, 4), nl_addr_put);
      const std::unique_ptr<rtnl_addr, void (*)(rtnl_addr*)> address(rtnl_addr_alloc(), rtnl_addr_put);
      rtnl_addr_set_ifindex(address.get(), kLoopback);
      rtnl_addr_set_local(address.get(), local.get());
      CPPUNIT_ASSERT_EQUAL(0, rtnl_addr_add(socket_.get(), address.get(), 0));
    }
  }

 private:
  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
};

bool readable(const AddressEvents& events) {
  pollfd wait{events.descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

class AddressEventsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AddressEventsTest);
  CPPUNIT_TEST(service_address_notifications_are_filtered);
  CPPUNIT_TEST(node_address_notifications_are_reported);
  CPPUNIT_TEST(service_link_created_later_is_filtered);
  CPPUNIT_TEST(lost_notifications_count_as_a_change);
  CPPUNIT_TEST(monitor_ignores_service_addresses);
  CPPUNIT_TEST(node_addresses_exclude_the_service_link);
  CPPUNIT_TEST_SUITE_END();

  // Runs `body` on a thread with its own network namespace.
  static void isolated(const std::function<void()>& body) {
    if (::geteuid() != 0) return test::skip("needs root");
    std::exception_ptr failure;
    bool possible = true;
    std::thread([&] {
      try {
        possible = ::unshare(CLONE_NEWNET) == 0;
        if (possible) body();
      } catch (...) {
        failure = std::current_exception();
      }
    }).join();
    if (failure) std::rethrow_exception(failure);
    if (!possible) test::skip("needs network namespaces");
  }

 public:
  void service_address_notifications_are_filtered() {
    isolated([] {
      AddressEvents events([] { return kLoopback; });
      CPPUNIT_ASSERT_EQUAL(std::string(), events.open().message());
      Binder().bind(0, 3000);
      CPPUNIT_ASSERT(!readable(events));
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kNothing);
    });
  }

  void node_address_notifications_are_reported() {
    isolated([] {
      AddressEvents events([] { return kLoopback + 1; });
      CPPUNIT_ASSERT_EQUAL(std::string(), events.open().message());
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kNothing);
      Binder().bind(0, 1);
      CPPUNIT_ASSERT(readable(events));
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kChanged);
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kNothing);
    });
  }

  void service_link_created_later_is_filtered() {
    isolated([] {
      unsigned link = 0;
      int lookups = 0;
      AddressEvents events([&] {
        ++lookups;
        return link;
      });
      CPPUNIT_ASSERT_EQUAL(std::string(), events.open().message());
      link = kLoopback;
      Binder binder;
      binder.bind(0, 10);
      CPPUNIT_ASSERT(readable(events));
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kNothing);
      CPPUNIT_ASSERT_EQUAL(2, lookups);
      binder.bind(10, 1000);
      CPPUNIT_ASSERT(!readable(events));
    });
  }

  void lost_notifications_count_as_a_change() {
    isolated([] {
      AddressEvents events([] { return 0u; });
      CPPUNIT_ASSERT_EQUAL(std::string(), events.open().message());
      Binder().bind(0, 3000);  // more than fit into the queue
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kChanged);
      CPPUNIT_ASSERT(events.drain() == AddressEvents::Outcome::kNothing);
    });
  }

  void monitor_ignores_service_addresses() {
    isolated([] {
      std::atomic<int> reads = 0;
      std::atomic<unsigned> link = kLoopback;
      std::promise<void> changed;
      AddressMonitor::Options options;
      options.debounce = {1ms, 10ms};
      options.find_service_link = [&] { return link.load(); };
      options.read = [&]() -> lib::Result<InterfaceAddresses> {
        return InterfaceAddresses(static_cast<std::size_t>(reads++));
      };
      options.changed = [&](const InterfaceAddresses&) { changed.set_value(); };
      AddressMonitor monitor(options);
      CPPUNIT_ASSERT(monitor.start().ok());
      Binder binder;
      binder.bind(0, 500);
      monitor.stop();
      CPPUNIT_ASSERT_EQUAL(1, reads.load());

      // The monitor reports changes of other links.
      link = 0;
      AddressMonitor again(options);
      CPPUNIT_ASSERT(again.start().ok());
      binder.bind(500, 1);
      CPPUNIT_ASSERT(changed.get_future().wait_for(test::stretched(20s)) == std::future_status::ready);
    });
  }

  void node_addresses_exclude_the_service_link() {
    isolated([] {
      // A bridge, because not every kernel has dummy interfaces.
      if (std::system("ip link add kube-ipvs0 type bridge && ip addr add 10.9.0.1/32 dev kube-ipvs0 && "
                      "ip addr add 127.0.0.9/8 dev lo") != 0) {
        return test::skip("needs ip(8) and bridges");
      }
      const auto all = read_interface_addresses();
      CPPUNIT_ASSERT_MESSAGE(all.status().message(), all.ok());
      const auto has = [](const std::vector<InterfaceAddress>& in, const char* text) {
        return std::any_of(in.begin(), in.end(), [&](const InterfaceAddress& entry) {
          return entry.address == *lib::IpAddress::parse(text);
        });
      };
      CPPUNIT_ASSERT(has(*all, "10.9.0.1"));
      const auto of_node = read_node_addresses();
      CPPUNIT_ASSERT(of_node.ok());
      CPPUNIT_ASSERT(!has(*of_node, "10.9.0.1"));
      CPPUNIT_ASSERT(has(*of_node, "127.0.0.9"));
    });
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(AddressEventsTest);

}  // namespace address_events_test
}  // namespace sluice::node
