// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/descriptor_keeper.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <thread>

#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::lifecycle {
namespace descriptor_keeper_test {

using lib::Family;
using lib::Fd;
using namespace std::chrono_literals;

Fd a_socket() { return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// Identifies an open file.
ino_t identity(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

// The manager's end: stores descriptors like systemd.
class Manager {
 public:
  explicit Manager(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    CPPUNIT_ASSERT_EQUAL(0, ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }

  // One message; false when there is none.
  bool read() {
    char words[512];
    iovec text{words, sizeof words};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size < 0) return false;
    heard.emplace_back(words, static_cast<std::size_t>(size));
    const std::string& received = heard.back();
    const std::size_t at = received.find("FDNAME=");
    CPPUNIT_ASSERT_MESSAGE(received, at != std::string::npos);
    const std::string name = received.substr(at + 7, received.find('\n', at) - at - 7);
    if (received.starts_with("FDSTOREREMOVE=1\n")) {
      held.erase(name);
      return true;
    }
    CPPUNIT_ASSERT_MESSAGE(received, received.starts_with("FDSTORE=1\nFDPOLL=0\n"));
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    CPPUNIT_ASSERT_MESSAGE(received, header != nullptr && header->cmsg_type == SCM_RIGHTS);
    int fd = -1;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    held.emplace(name, Fd(fd));
    return true;
  }
  // Until `count` messages were read, in all. Of thousands, some ten are read in each poll interval.
  void wait_for(std::size_t count) {
    test::wait_until(
        [&] {
          while (heard.size() < count && read()) continue;
          return heard.size() >= count;
        },
        60s);
    CPPUNIT_ASSERT_EQUAL(count, heard.size());
  }
  // "userspace/IPv4/n", the name that the next process finds for a slot.
  std::string name_of(const std::string& slot) const {
    const auto index = held.find(DescriptorIndex::kName);
    CPPUNIT_ASSERT(index != held.end());
    const auto name = DescriptorIndex(Fd(::dup(index->second.get()))).at(*DescriptorIndex::slot_of(slot));
    return name ? name->backend + "/" + std::string(lib::family_name(name->family)) + "/" + name->name : "none";
  }
  // No further message arrives.
  void assert_silent(std::chrono::milliseconds how_long = 50ms) {
    std::this_thread::sleep_for(how_long);  // fixed time: no message comes
    CPPUNIT_ASSERT_MESSAGE(heard.empty() ? "" : heard.back(), !read());
  }

  std::vector<std::string> heard;
  std::multimap<std::string, Fd> held;

 private:
  Fd socket_;
};

void expect_all_sent(const DescriptorKeeper& keeper) {
  CPPUNIT_ASSERT(test::wait_until([&] { return keeper.statistics().pending == 0; }));
}

base::PassedDescriptor passed(const std::string& name) { return {name, a_socket()}; }

// What an earlier process would have left: the index, and descriptors in the slots from 0 on.
std::vector<base::PassedDescriptor> passed_as(const std::vector<KeptName>& names) {
  auto index = DescriptorIndex::make();
  CPPUNIT_ASSERT(index.ok());
  std::vector<base::PassedDescriptor> out;
  out.push_back({DescriptorIndex::kName, Fd(::dup(index->file().get()))});
  for (unsigned slot = 0; slot < names.size(); ++slot) {
    CPPUNIT_ASSERT(index->put(slot, names[slot]).ok());
    out.push_back(passed(DescriptorIndex::slot_name(slot)));
  }
  return out;
}
std::vector<base::PassedDescriptor> none() { return {}; }

class DescriptorKeeperTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DescriptorKeeperTest);
  CPPUNIT_TEST(the_index_keeps_names_in_slots);
  CPPUNIT_TEST(a_corrupt_index_names_nothing);
  CPPUNIT_TEST(all_names_fit_into_the_environment);
  CPPUNIT_TEST(kept_descriptors_can_be_taken_by_the_next_backend);
  CPPUNIT_TEST(backends_and_families_do_not_see_each_other);
  CPPUNIT_TEST(invalid_names_are_rejected);
  CPPUNIT_TEST(without_a_manager_descriptors_live_as_long_as_the_keeper);
  CPPUNIT_TEST(the_manager_gets_a_duplicate);
  CPPUNIT_TEST(a_replacement_is_sent_after_the_removal);
  CPPUNIT_TEST(keeping_the_same_socket_again_sends_nothing);
  CPPUNIT_TEST(a_dropped_descriptor_is_removed_from_the_manager);
  CPPUNIT_TEST(messages_keep_the_order_of_changes);
  CPPUNIT_TEST(thousands_of_descriptors_pass_a_small_socket_without_blocking);
  CPPUNIT_TEST(short_lived_descriptors_leave_nothing);
  CPPUNIT_TEST(a_slot_is_reused_only_after_the_manager_has_removed_it);
  CPPUNIT_TEST(without_a_free_slot_a_descriptor_is_kept_in_the_process);
  CPPUNIT_TEST(descriptors_of_an_earlier_process_are_taken_and_not_resent);
  CPPUNIT_TEST(unknown_descriptors_are_closed);
  CPPUNIT_TEST(without_the_index_all_slots_are_removed);
  CPPUNIT_TEST(of_two_descriptors_with_one_name_one_is_kept);
  CPPUNIT_TEST(descriptors_of_unused_backends_are_dropped);
  CPPUNIT_TEST(stop_sends_pending_changes_and_then_nothing);
  CPPUNIT_TEST(stop_does_not_wait_for_a_manager_that_does_not_read);
  CPPUNIT_TEST(stop_does_not_wait_for_a_manager_that_is_gone);
  CPPUNIT_TEST(a_manager_that_starts_later_gets_descriptors);
  CPPUNIT_TEST(a_name_too_long_for_the_index_is_kept_in_the_process);
  CPPUNIT_TEST(without_free_descriptors_keep_fails);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  rlimit limit_{};
  std::string path() const { return folder_->path("notify"); }
  base::Notifier notifier() const {
    ::setenv("NOTIFY_SOCKET", path().c_str(), 1);
    return base::Notifier::from_environment();
  }

 public:
  void setUp() override {
    folder_.emplace();
    ::getrlimit(RLIMIT_NOFILE, &limit_);
    rlimit enough = limit_;
    enough.rlim_cur = std::max<rlim_t>(limit_.rlim_cur, std::min<rlim_t>(limit_.rlim_max, 40000));
    CPPUNIT_ASSERT_EQUAL(0, ::setrlimit(RLIMIT_NOFILE, &enough));
  }
  void tearDown() override {
    ::setrlimit(RLIMIT_NOFILE, &limit_);
    folder_.reset();
  }

  void the_index_keeps_names_in_slots() {
    auto made = DescriptorIndex::make();
    CPPUNIT_ASSERT(made.ok());
    const KeptName first{"userspace", Family::ipv4, "tcp-10.0.0.1_80"}, second{"com.example.dpu", Family::ipv6, "n"};
    CPPUNIT_ASSERT(made->put(0, first).ok());
    CPPUNIT_ASSERT(made->put(7, second).ok());
    const DescriptorIndex next(Fd(::dup(made->file().get())));  // of another process
    CPPUNIT_ASSERT(next.at(0) == first);
    CPPUNIT_ASSERT(next.at(7) == second);
    CPPUNIT_ASSERT(!next.at(3) && !next.at(8));
    CPPUNIT_ASSERT(made->put(7, {"u", Family::ipv4, "m"}).ok());
    CPPUNIT_ASSERT((next.at(7) == KeptName{"u", Family::ipv4, "m"}));
    CPPUNIT_ASSERT(made->put(1, {std::string(306, 'b'), Family::ipv4, std::string(200, 'n')}).code() ==
                   lib::StatusCode::invalid);
    CPPUNIT_ASSERT(made->put(1, {std::string(305, 'b'), Family::ipv4, std::string(200, 'n')}).ok());
    CPPUNIT_ASSERT((next.at(1) == KeptName{std::string(305, 'b'), Family::ipv4, std::string(200, 'n')}));
    CPPUNIT_ASSERT(DescriptorIndex::slot_of("s0") == 0u && DescriptorIndex::slot_of("s15999") == 15999u);
    for (const char* none : {"", "s", "sluice", "stored", "s-1", "s 1", "s1x", "16", "s16000", "s99999999999"}) {
      CPPUNIT_ASSERT_MESSAGE(none, !DescriptorIndex::slot_of(none));
    }
  }

  void a_corrupt_index_names_nothing() {
    auto made = DescriptorIndex::make();
    CPPUNIT_ASSERT(made.ok());
    for (const std::string& bytes :
         {std::string("\n\n\n"), std::string("u\nipv4\nn"), std::string("u\nipv5\nn\n"), std::string("u\nipv4\n\n"),
          std::string("\nipv4\nn\n"), std::string("u\nipv4\n"), std::string("u"), std::string(512, 'x')}) {
      std::string slot = bytes;
      slot.resize(512, '\0');
      CPPUNIT_ASSERT_EQUAL(ssize_t{512}, ::pwrite(made->file().get(), slot.data(), slot.size(), 0));
      CPPUNIT_ASSERT_MESSAGE(bytes, !made->at(0));
    }
    CPPUNIT_ASSERT(!DescriptorIndex(a_socket()).at(0));
  }

  // The kernel takes no variable longer than 32 pages: with more, the manager could not start the daemon at all.
  void all_names_fit_into_the_environment() {
    std::size_t size = std::string("LISTEN_FDNAMES=").size() + std::string(DescriptorIndex::kName).size();
    for (unsigned slot = 0; slot < DescriptorIndex::kSlots; ++slot) size += 1 + DescriptorIndex::slot_name(slot).size();
    CPPUNIT_ASSERT_MESSAGE(std::to_string(size), size < 128 * 1024 - 4096);
  }

  void kept_descriptors_can_be_taken_by_the_next_backend() {
    DescriptorKeeper keeper({}, none());
    const Fd mine = a_socket();
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("listener", mine.get()).ok());
    const auto next = keeper.descriptors_for("userspace", Family::ipv4);
    CPPUNIT_ASSERT(next->names() == std::vector<std::string>{"listener"});
    const Fd first(next->take("listener")), second(next->take("listener"));
    CPPUNIT_ASSERT_EQUAL(identity(mine.get()), identity(first.get()));
    CPPUNIT_ASSERT_EQUAL(identity(mine.get()), identity(second.get()));
    CPPUNIT_ASSERT(first.get() != mine.get() && first.get() != second.get());
    CPPUNIT_ASSERT((::fcntl(first.get(), F_GETFD) & FD_CLOEXEC) != 0);
    next->drop("listener");
    CPPUNIT_ASSERT_EQUAL(-1, next->take("listener"));
    CPPUNIT_ASSERT(next->names().empty());
  }

  void backends_and_families_do_not_see_each_other() {
    DescriptorKeeper keeper({}, none());
    const Fd one = a_socket(), other = a_socket();
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", one.get()).ok());
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv6)->keep("n", other.get()).ok());
    CPPUNIT_ASSERT_EQUAL(-1, keeper.descriptors_for("userspac", Family::ipv4)->take("n"));
    CPPUNIT_ASSERT(keeper.descriptors_for("userspacf", Family::ipv4)->names().empty());
    const Fd six(keeper.descriptors_for("userspace", Family::ipv6)->take("n"));
    CPPUNIT_ASSERT_EQUAL(identity(other.get()), identity(six.get()));
  }

  void invalid_names_are_rejected() {
    DescriptorKeeper keeper({}, none());
    const Fd mine = a_socket();
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (const std::string& name : {std::string(), std::string(201, 'a'), std::string("a b"), std::string("a:b"),
                                    std::string("a/b"), std::string("a\nb"), std::string("\xc3\xa4")}) {
      CPPUNIT_ASSERT_MESSAGE(name, kept->keep(name, mine.get()).code() == lib::StatusCode::invalid);
    }
    CPPUNIT_ASSERT(kept->keep(std::string(200, 'a'), mine.get()).ok());
    CPPUNIT_ASSERT(!kept->keep("closed", -1).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kept->names().size());
  }

  void without_a_manager_descriptors_live_as_long_as_the_keeper() {
    int ends[2];
    CPPUNIT_ASSERT_EQUAL(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    const Fd reader(ends[0]);
    Fd writer(ends[1]);
    char byte = 0;
    {
      DescriptorKeeper keeper({}, none());
      CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("pipe", writer.get()).ok());
      writer.reset();
      CPPUNIT_ASSERT_EQUAL(ssize_t{-1}, ::read(reader.get(), &byte, 1));  // the keeper still has the other end
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, keeper.statistics().kept);
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, keeper.statistics().pending);
    }
    CPPUNIT_ASSERT_EQUAL(ssize_t{0}, ::read(reader.get(), &byte, 1));
  }

  void the_manager_gets_a_duplicate() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const Fd mine = a_socket();
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv6)->keep("listener", mine.get()).ok());
    manager.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTORE=1\nFDPOLL=0\nFDNAME=sluice"), manager.heard[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTORE=1\nFDPOLL=0\nFDNAME=s0"), manager.heard[1]);
    CPPUNIT_ASSERT_EQUAL(identity(mine.get()), identity(manager.held.find("s0")->second.get()));
    CPPUNIT_ASSERT(manager.name_of("s0") == "userspace/IPv6/listener");
  }

  void a_replacement_is_sent_after_the_removal() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    const Fd first = a_socket(), second = a_socket();
    CPPUNIT_ASSERT(kept->keep("n", first.get()).ok());
    manager.wait_for(2);
    CPPUNIT_ASSERT(kept->keep("n", second.get()).ok());
    manager.wait_for(4);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s0"), manager.heard[2]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, manager.held.size());
    CPPUNIT_ASSERT_EQUAL(identity(second.get()), identity(manager.held.find("s0")->second.get()));
    const Fd taken(kept->take("n"));
    CPPUNIT_ASSERT_EQUAL(identity(second.get()), identity(taken.get()));
  }

  void keeping_the_same_socket_again_sends_nothing() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    const Fd first = a_socket();
    CPPUNIT_ASSERT(kept->keep("n", first.get()).ok());
    manager.wait_for(2);
    const Fd taken(kept->take("n"));
    CPPUNIT_ASSERT(kept->keep("n", taken.get()).ok());
    manager.assert_silent();
  }

  void a_dropped_descriptor_is_removed_from_the_manager() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    CPPUNIT_ASSERT(kept->keep("n", a_socket().get()).ok());
    manager.wait_for(2);
    kept->drop("n");
    kept->drop("n");
    kept->drop("other");
    manager.wait_for(3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, manager.held.size());  // the index
    manager.assert_silent();
    expect_all_sent(keeper);
  }

  void messages_keep_the_order_of_changes() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 100; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    manager.wait_for(101);
    for (std::size_t i = 0; i < 100; ++i) {
      const std::string slot = "s" + std::to_string(i);
      CPPUNIT_ASSERT_EQUAL("FDSTORE=1\nFDPOLL=0\nFDNAME=" + slot, manager.heard[i + 1]);
      CPPUNIT_ASSERT_EQUAL("userspace/IPv4/n" + std::to_string(i), manager.name_of(slot));
    }
  }

  // A datagram socket has room for some ten messages, or a few hundred where systemd set it up.
  void thousands_of_descriptors_pass_a_small_socket_without_blocking() {
    constexpr int kMany = 6000;
    {
      Manager manager(path());
      DescriptorKeeper keeper(notifier(), none());
      const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kMany; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
      const auto took = std::chrono::steady_clock::now() - begin;
      // The manager has read nothing yet. A bound of real time, because waiting costs no CPU time.
      CPPUNIT_ASSERT(took < test::stretched(5s));
      CPPUNIT_ASSERT(keeper.statistics().pending > kMany / 2);
      manager.wait_for(kMany + 1);
      CPPUNIT_ASSERT_EQUAL(std::size_t{kMany + 1}, manager.held.size());
      const Fd last(kept->take("n5999"));
      CPPUNIT_ASSERT_EQUAL(identity(last.get()), identity(manager.held.find("s5999")->second.get()));
    }
  }

  void short_lived_descriptors_leave_nothing() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    // The socket is full.
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(kept->keep("fill" + std::to_string(i), a_socket().get()).ok());
    for (int i = 0; i < 1000; ++i) {
      CPPUNIT_ASSERT(kept->keep("busy", a_socket().get()).ok());
      kept->drop("busy");
    }
    CPPUNIT_ASSERT(keeper.statistics().pending <=
                   2001);  // each time a slot of its own, because none is free before the manager has removed it
    manager.wait_for(1001);
    expect_all_sent(keeper);
    manager.assert_silent();  // nothing is kept as "busy", and nothing ever was there
    CPPUNIT_ASSERT_EQUAL(std::size_t{1001}, manager.held.size());
    // The slots are free again.
    CPPUNIT_ASSERT(kept->keep("late", a_socket().get()).ok());
    manager.wait_for(1002);
    CPPUNIT_ASSERT(manager.held.contains("s1000"));
  }

  // Otherwise a process killed between the two would hand on one descriptor under the name of the other.
  void a_slot_is_reused_only_after_the_manager_has_removed_it() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    CPPUNIT_ASSERT(kept->keep("first", a_socket().get()).ok());
    // The socket is full, and later messages are pending.
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(kept->keep("fill" + std::to_string(i), a_socket().get()).ok());
    manager.wait_for(2);
    kept->drop("first");
    CPPUNIT_ASSERT(kept->keep("second", a_socket().get()).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("userspace/IPv4/first"), manager.name_of("s0"));
    manager.wait_for(1004);
    CPPUNIT_ASSERT(!manager.held.contains("s0"));
    CPPUNIT_ASSERT_EQUAL(std::string("userspace/IPv4/second"), manager.name_of("s1001"));
    expect_all_sent(keeper);
    manager.assert_silent();
    CPPUNIT_ASSERT(kept->keep("third", a_socket().get()).ok());
    manager.wait_for(1005);
    CPPUNIT_ASSERT_EQUAL(std::string("userspace/IPv4/third"), manager.name_of("s0"));
  }

  void without_a_free_slot_a_descriptor_is_kept_in_the_process() {
    Manager manager(path());
    std::vector<KeptName> names;
    for (unsigned slot = 0; slot < DescriptorIndex::kSlots; ++slot)
      names.push_back({"userspace", Family::ipv4, std::to_string(slot)});
    auto handed = passed_as(names);
    CPPUNIT_ASSERT_EQUAL(std::size_t{DescriptorIndex::kSlots + 1}, handed.size());
    DescriptorKeeper keeper(notifier(), std::move(handed));
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    CPPUNIT_ASSERT(kept->keep("more", a_socket().get()).ok());
    manager.assert_silent();
    CPPUNIT_ASSERT(Fd(kept->take("more")).valid());
    kept->drop("77");
    manager.wait_for(1);
    expect_all_sent(keeper);
    manager.assert_silent();
    CPPUNIT_ASSERT(kept->keep("one", a_socket().get()).ok());
    manager.wait_for(2);
    CPPUNIT_ASSERT(manager.held.contains("s77"));
  }

  void descriptors_of_an_earlier_process_are_taken_and_not_resent() {
    Manager manager(path());
    auto handed = passed_as({{"userspace", Family::ipv4, "a"}, {"userspace", Family::ipv6, "b"}});
    handed.push_back(passed("stored"));
    const ino_t a = identity(handed[1].fd.get());
    DescriptorKeeper keeper(notifier(), std::move(handed));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, keeper.statistics().passed);
    const Fd taken(keeper.descriptors_for("userspace", Family::ipv4)->take("a"));
    CPPUNIT_ASSERT_EQUAL(a, identity(taken.get()));
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv6)->names() == std::vector<std::string>{"b"});
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("a", taken.get()).ok());
    manager.assert_silent();
    keeper.descriptors_for("userspace", Family::ipv4)->drop("a");
    manager.wait_for(1);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s0"), manager.heard[0]);
  }

  void unknown_descriptors_are_closed() {
    int ends[2];
    CPPUNIT_ASSERT_EQUAL(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    const Fd reader(ends[0]);
    std::vector<base::PassedDescriptor> handed;
    handed.push_back({"some.socket", Fd(ends[1])});
    DescriptorKeeper keeper({}, std::move(handed));
    char byte = 0;
    CPPUNIT_ASSERT_EQUAL(ssize_t{0}, ::read(reader.get(), &byte, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, keeper.statistics().kept);
  }

  void without_the_index_all_slots_are_removed() {
    Manager manager(path());
    std::vector<base::PassedDescriptor> handed;
    handed.push_back(passed("s0"));
    handed.push_back(passed("s3"));
    DescriptorKeeper keeper(notifier(), std::move(handed));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, keeper.statistics().passed);
    manager.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s0"), manager.heard[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s3"), manager.heard[1]);
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    manager.wait_for(4);
    CPPUNIT_ASSERT(manager.held.contains("sluice"));
  }

  void of_two_descriptors_with_one_name_one_is_kept() {
    Manager manager(path());
    auto handed = passed_as(
        {{"userspace", Family::ipv4, "a"}, {"userspace", Family::ipv4, "a"}, {"userspace", Family::ipv4, "b"}});
    handed.push_back(passed("s2"));  // "b" again
    for (const auto& one : handed) manager.held.emplace(one.name, Fd(::dup(one.fd.get())));
    const ino_t last_a = identity(handed[2].fd.get()), last_b = identity(handed[4].fd.get());
    DescriptorKeeper keeper(notifier(), std::move(handed));
    manager.wait_for(3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, manager.held.size());  // with the index
    CPPUNIT_ASSERT_EQUAL(last_a, identity(manager.held.find("s1")->second.get()));
    CPPUNIT_ASSERT_EQUAL(last_b, identity(manager.held.find("s2")->second.get()));
    manager.assert_silent();
  }

  void descriptors_of_unused_backends_are_dropped() {
    Manager manager(path());
    auto handed =
        passed_as({{"userspace", Family::ipv4, "a"}, {"old.one", Family::ipv4, "b"}, {"old.one", Family::ipv6, "c"}});
    DescriptorKeeper keeper(notifier(), std::move(handed));
    keeper.drop_unused({"iptables", "userspace"});
    manager.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s1"), manager.heard[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("FDSTOREREMOVE=1\nFDNAME=s2"), manager.heard[1]);
    CPPUNIT_ASSERT(keeper.descriptors_for("old.one", Family::ipv4)->names().empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, keeper.statistics().kept);
  }

  void stop_sends_pending_changes_and_then_nothing() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 2000; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    std::thread stopping([&] { keeper.stop(60s); });
    manager.wait_for(2001);
    stopping.join();
    kept->drop("n1");
    CPPUNIT_ASSERT(kept->keep("more", a_socket().get()).ok());
    manager.assert_silent();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2001}, manager.held.size());
  }

  void stop_does_not_wait_for_a_manager_that_does_not_read() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for("userspace", Family::ipv4);
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(kept->keep("n" + std::to_string(i), a_socket().get()).ok());
    const auto begin = std::chrono::steady_clock::now();
    keeper.stop(100ms);
    const auto took = std::chrono::steady_clock::now() - begin;
    // A bound of real time, because waiting costs no CPU time.
    CPPUNIT_ASSERT(took < test::stretched(10s));
    CPPUNIT_ASSERT(keeper.statistics().pending > 0);
  }

  void stop_does_not_wait_for_a_manager_that_is_gone() {
    DescriptorKeeper keeper(notifier(), none());
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    const auto begin = std::chrono::steady_clock::now();
    keeper.stop(1h);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin < test::stretched(30s));  // far less than the hour
  }

  void a_manager_that_starts_later_gets_descriptors() {
    DescriptorKeeper keeper(notifier(), none());
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->keep("n", a_socket().get()).ok());
    std::this_thread::sleep_for(20ms);  // fixed time: the first attempts find no manager
    Manager manager(path());
    manager.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, manager.held.size());
  }

  void a_name_too_long_for_the_index_is_kept_in_the_process() {
    Manager manager(path());
    DescriptorKeeper keeper(notifier(), none());
    const auto kept = keeper.descriptors_for(std::string(400, 'b'), Family::ipv4);
    CPPUNIT_ASSERT(kept->keep(std::string(200, 'n'), a_socket().get()).ok());
    const Fd taken(kept->take(std::string(200, 'n')));
    CPPUNIT_ASSERT(taken.valid());
    CPPUNIT_ASSERT(kept->keep("n", a_socket().get()).ok());
    manager.wait_for(2);
    CPPUNIT_ASSERT(manager.held.contains("s0"));
    manager.assert_silent();
  }

  void without_free_descriptors_keep_fails() {
    DescriptorKeeper keeper({}, none());
    const Fd mine = a_socket();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    rlimit few = limit;
    few.rlim_cur = 0;
    CPPUNIT_ASSERT_EQUAL(0, ::setrlimit(RLIMIT_NOFILE, &few));
    const lib::Status refused = keeper.descriptors_for("userspace", Family::ipv4)->keep("n", mine.get());
    ::setrlimit(RLIMIT_NOFILE, &limit);
    CPPUNIT_ASSERT(!refused.ok());
    CPPUNIT_ASSERT_MESSAGE(refused.message(), refused.message().starts_with("cannot keep descriptor n: "));
    CPPUNIT_ASSERT(keeper.descriptors_for("userspace", Family::ipv4)->names().empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DescriptorKeeperTest);

}  // namespace descriptor_keeper_test
}  // namespace sluice::lifecycle
