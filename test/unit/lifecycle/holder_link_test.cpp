// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Descriptors of backends, kept in the descriptor holder.
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <deque>

#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/holder_link.hpp"
#include "lib/mutex.hpp"
#include "test/unit/lifecycle/running_holder.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::lifecycle {
namespace holder_link_test {

using holding::Type;
using lib::Family;
using lib::Fd;
using namespace std::chrono_literals;

// The sender starts them on its thread.
class StartedHolders {
 public:
  void add(const std::string& path) {
    const lib::Lock lock(mutex_);
    holders_.emplace_back(path);
  }
  const RunningHolder& first() {
    const lib::Lock lock(mutex_);
    return holders_.front();
  }
  std::size_t size() {
    const lib::Lock lock(mutex_);
    return holders_.size();
  }
  bool empty() { return size() == 0; }
  void clear() {
    const lib::Lock lock(mutex_);
    holders_.clear();
  }

 private:
  lib::Mutex mutex_;
  std::deque<RunningHolder> holders_ SLUICE_GUARDED_BY(mutex_);
};

class HolderLinkTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HolderLinkTest);
  CPPUNIT_TEST(the_first_kept_descriptor_starts_the_holder);
  CPPUNIT_TEST(the_next_process_finds_its_descriptors);
  CPPUNIT_TEST(a_dropped_descriptor_is_removed_from_the_holder);
  CPPUNIT_TEST(the_last_drop_ends_the_holder_and_a_later_descriptor_starts_one);
  CPPUNIT_TEST(a_holder_that_ends_is_replaced_with_everything);
  CPPUNIT_TEST(a_holder_of_another_version_is_replaced_with_everything);
  CPPUNIT_TEST(a_holder_that_does_not_answer_is_replaced);
  CPPUNIT_TEST(a_holder_that_cannot_be_started_is_tried_again);
  CPPUNIT_TEST(process_1_starts_no_holder_and_finds_a_later_one);
  CPPUNIT_TEST(without_a_timeout_the_holder_ends_and_descriptors_are_used);
  CPPUNIT_TEST(the_service_manager_comes_first);
  CPPUNIT_TEST(stop_sends_what_is_pending);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;
  StartedHolders started_;
  int failures_ = 0;

  std::string path() const { return folder_.path("holder.sock"); }
  std::unique_ptr<HolderLink> link(std::chrono::milliseconds timeout = 1min) {
    return std::make_unique<HolderLink>(HolderLink::Options{
        .path = path(),
        .timeout = timeout,
        .start = [this]() -> lib::Status {
          if (failures_-- > 0) return lib::unavailable("no memory");
          started_.add(path());
          return {};
        },
        .patience = std::chrono::ceil<std::chrono::milliseconds>(test::stretched(5s))});
  }
  static void expect_sent(const DescriptorKeeper& keeper) {
    CPPUNIT_ASSERT(test::wait_until([&] { return keeper.statistics().pending == 0; }));
  }
  // How many descriptors the holder has, the index among them.
  std::size_t stored() { return HolderClient(path()).take().size(); }
  bool wait_stored(std::size_t count) {
    return test::wait_until([&] {
      const HolderClient probe(path());
      return probe.connected() && stored() == count;
    });
  }

 public:
  void the_first_kept_descriptor_starts_the_holder() {
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    CPPUNIT_ASSERT(started_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), std::string(keeper.statistics().store));
    CPPUNIT_ASSERT_EQUAL(0, keeper.statistics().holder);
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    expect_sent(keeper);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, started_.size());
    CPPUNIT_ASSERT_EQUAL(std::string("descriptor holder"), std::string(keeper.statistics().store));
    CPPUNIT_ASSERT_EQUAL(::getpid(), keeper.statistics().holder);
    CPPUNIT_ASSERT(wait_stored(2));
  }

  void the_next_process_finds_its_descriptors() {
    const Fd mine = a_socket();
    {
      DescriptorKeeper keeper({}, {});
      keeper.use_holder(link(), true);
      CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv6)->keep("listener", mine.get()).ok());
      expect_sent(keeper);
    }
    DescriptorKeeper next({}, {});
    next.use_holder(link(), true);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, next.statistics().passed);
    const Fd taken(next.descriptors_for("userspace", Family::ipv6)->take("listener"));
    CPPUNIT_ASSERT_EQUAL(identity(mine.get()), identity(taken.get()));
    CPPUNIT_ASSERT(next.descriptors_for("userspace", Family::ipv6)->keep("listener", taken.get()).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, next.statistics().pending);  // the holder has it
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, started_.size());
  }

  void a_dropped_descriptor_is_removed_from_the_holder() {
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 100; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    for (int i = 0; i < 99; ++i) kept->drop("n" + std::to_string(i));
    expect_sent(keeper);
    CPPUNIT_ASSERT(wait_stored(2));
  }

  void the_last_drop_ends_the_holder_and_a_later_descriptor_starts_one() {
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    CPPUNIT_ASSERT(kept->keep("n", a_socket().get()).ok());
    expect_sent(keeper);
    kept->drop("n");
    CPPUNIT_ASSERT(started_.first().wait_ended());
    CPPUNIT_ASSERT(test::wait_until([&] { return keeper.statistics().holder == 0; }));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, started_.size());
    CPPUNIT_ASSERT(kept->keep("later", a_socket().get()).ok());
    CPPUNIT_ASSERT(wait_stored(2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, started_.size());
  }

  void a_holder_that_ends_is_replaced_with_everything() {
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 20; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    expect_sent(keeper);
    HolderClient(path()).send({.type = Type::end});
    CPPUNIT_ASSERT(started_.first().wait_ended());
    CPPUNIT_ASSERT(wait_stored(21));  // without a change of a backend
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, started_.size());
  }

  void a_holder_of_another_version_is_replaced_with_everything() {
    for (const int version : {0, 2}) {
      auto other = std::make_unique<RunningHolder>(HolderServer::Options{.path = path(),
                                                                         .timeout = 1min,
                                                                         .users = {::geteuid()},
                                                                         .version = static_cast<std::uint16_t>(version)});
      const Fd mine = a_socket();
      {
        HolderClient earlier(path());
        earlier.hello();
        auto index = DescriptorIndex::make();
        CPPUNIT_ASSERT(index->put(0, {"userspace", Family::ipv4, "listener"}).ok());
        earlier.store(DescriptorIndex::kName, index->file().get());
        earlier.store("s0", mine.get());
        CPPUNIT_ASSERT_EQUAL(std::size_t{2}, earlier.take().size());
      }
      DescriptorKeeper keeper({}, {});
      keeper.use_holder(link(), true);
      const Fd taken(keeper.descriptors_for("userspace", Family::ipv4)->take("listener"));
      CPPUNIT_ASSERT_EQUAL(identity(mine.get()), identity(taken.get()));
      CPPUNIT_ASSERT(other->wait_ended());
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, started_.size());
      CPPUNIT_ASSERT(wait_stored(2));
      keeper.stop(0ms);
      HolderClient(path()).send({.type = Type::end});
      started_.clear();
    }
  }

  void a_holder_that_does_not_answer_is_replaced() {
    const Fd silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto address = holding::address_of(path());
    CPPUNIT_ASSERT_EQUAL(0, ::bind(silent.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address));
    CPPUNIT_ASSERT_EQUAL(0, ::listen(silent.get(), 5));
    DescriptorKeeper keeper({}, {});
    auto impatient = std::make_unique<HolderLink>(HolderLink::Options{.path = path(),
                                                                      .timeout = 1min,
                                                                      .start =
                                                                          [this] {
                                                                            started_.add(path());
                                                                            return lib::Status();
                                                                          },
                                                                      .patience = 200ms});
    keeper.use_holder(std::move(impatient), true);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, keeper.statistics().passed);
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    expect_sent(keeper);
    CPPUNIT_ASSERT(wait_stored(2));
  }

  void a_holder_that_cannot_be_started_is_tried_again() {
    failures_ = 2;
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    expect_sent(keeper);
    CPPUNIT_ASSERT(wait_stored(2));
  }

  void process_1_starts_no_holder_and_finds_a_later_one() {
    const test::CapturedLog log;
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(std::make_unique<HolderLink>(
                          HolderLink::Options{.path = path(), .timeout = 1min, .start = {}, .may_start = false}),
                      true);
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    CPPUNIT_ASSERT(test::wait_until([&] { return !log.lines().empty(); }));
    const RunningHolder later(path());
    expect_sent(keeper);
    CPPUNIT_ASSERT(wait_stored(2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, log.lines().size());
    CPPUNIT_ASSERT(log.text().find("no descriptor holder runs") != std::string::npos);
  }

  void without_a_timeout_the_holder_ends_and_descriptors_are_used() {
    {
      DescriptorKeeper keeper({}, {});
      keeper.use_holder(link(), true);
      CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
      expect_sent(keeper);
    }
    DescriptorKeeper next({}, {});
    next.use_holder(link(0ms), false);
    CPPUNIT_ASSERT(started_.first().wait_ended());
    CPPUNIT_ASSERT(Fd(next.descriptors_for("userspace", Family::ipv4)->take("n")).valid());
    CPPUNIT_ASSERT(next.descriptors_for("userspace", Family::ipv4)->keep("other", a_socket().get()).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, next.statistics().pending);
    CPPUNIT_ASSERT_EQUAL(std::string(), std::string(next.statistics().store));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, started_.size());
  }

  void the_service_manager_comes_first() {
    RunningHolder running(path());
    const std::string manager = folder_.path("notify");
    const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto address = holding::address_of(manager);
    CPPUNIT_ASSERT_EQUAL(0, ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address));
    ::setenv("NOTIFY_SOCKET", manager.c_str(), 1);
    DescriptorKeeper keeper(base::Notifier::from_environment(), {});
    keeper.use_holder(link(), true);
    CPPUNIT_ASSERT(running.wait_ended());
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    expect_sent(keeper);
    CPPUNIT_ASSERT(started_.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("service manager"), std::string(keeper.statistics().store));
    char bytes[100];
    CPPUNIT_ASSERT(::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0);
  }

  void stop_sends_what_is_pending() {
    DescriptorKeeper keeper({}, {});
    keeper.use_holder(link(), true);
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 3000; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    keeper.stop(60s);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3001}, stored());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HolderLinkTest);

}  // namespace holder_link_test
}  // namespace sluice::lifecycle
