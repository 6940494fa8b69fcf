// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the core needs of the netlink client: dumps in one try, batches without acknowledgements, transactions. The rest is
// tested with the backends, test/unit/common/netlink/socket_test.cpp.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/netlink/socket.hpp"

namespace sluice::lib {
namespace socket_test {

using netlink::Socket;

constexpr std::uint32_t kPortId = 4711;
constexpr std::uint16_t kObject = 0x100;
constexpr std::chrono::milliseconds kShort{20};

std::string message(std::uint16_t type, std::uint16_t flags, std::uint32_t number, int body) {
  nlmsghdr header{};
  header.nlmsg_len = NLMSG_LENGTH(sizeof(nlmsgerr));
  header.nlmsg_type = type;
  header.nlmsg_flags = flags;
  header.nlmsg_seq = number;
  header.nlmsg_pid = kPortId;
  nlmsgerr payload{};
  payload.error = body;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  return out.append(reinterpret_cast<const char*>(&payload), sizeof(payload));
}

// A kernel that answers each request as netlink_rcv_skb() does: refusals, and what else has NLM_F_ACK.
struct Kernel {
  std::map<int, int> refusals;       // by type of the request: its errno
  std::vector<nlmsghdr> requests;    // received
  std::deque<std::string> dump;      // the datagrams of a dump, numbered when it is requested
  std::size_t datagrams = 0;         // received
  std::size_t opened = 0;
  int receive_error = 0;             // after all datagrams
  std::deque<std::string> to_read;
};

class FakeRawSocket final : public netlink::RawSocket {
 public:
  explicit FakeRawSocket(Kernel& kernel) : kernel_(kernel) {
    ++kernel_.opened;
    kernel_.to_read.clear();
  }
  int send(std::string_view datagram) noexcept override {
    ++kernel_.datagrams;
    while (!datagram.empty()) {
      nlmsghdr header{};
      datagram.copy(reinterpret_cast<char*>(&header), sizeof(header));
      kernel_.requests.push_back(header);
      datagram.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
      if ((header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
        for (std::string& part : kernel_.dump) {
          reinterpret_cast<nlmsghdr*>(part.data())->nlmsg_seq = header.nlmsg_seq;
          kernel_.to_read.push_back(std::move(part));
        }
        continue;
      }
      const auto refusal = kernel_.refusals.find(header.nlmsg_type);
      const int error = refusal != kernel_.refusals.end() ? refusal->second : 0;
      if (error != 0 || (header.nlmsg_flags & NLM_F_ACK) != 0) {
        kernel_.to_read.push_back(message(NLMSG_ERROR, NLM_F_CAPPED, header.nlmsg_seq, -error));
      }
    }
    return 0;
  }
  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    if (kernel_.to_read.empty()) return kernel_.receive_error != 0 ? -kernel_.receive_error : -EAGAIN;
    const std::string next = std::move(kernel_.to_read.front());
    kernel_.to_read.pop_front();
    next.copy(into.data(), into.size());
    return static_cast<long>(next.size());
  }
  std::uint32_t port_id() const noexcept override { return kPortId; }

 private:
  Kernel& kernel_;
};

nlmsghdr request(int type) {
  nlmsghdr out{};
  out.nlmsg_len = sizeof(out);
  out.nlmsg_type = static_cast<std::uint16_t>(type);
  return out;
}

class NetlinkTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NetlinkTest);
  CPPUNIT_TEST(reads_a_dump_once);
  CPPUNIT_TEST(ends_a_dump_where_the_caller_does);
  CPPUNIT_TEST(says_why_a_dump_is_incomplete);
  CPPUNIT_TEST(a_batch_asks_for_one_acknowledgement_of_each_datagram);
  CPPUNIT_TEST(a_transaction_ends_with_its_first_refusal);
  CPPUNIT_TEST(errors_of_opening_are_values);
  CPPUNIT_TEST_SUITE_END();

 public:
  void reads_a_dump_once() {
    Socket socket(opener(), "a test", kShort);
    nlmsghdr ask = request(kObject);
    fill_dump(0);
    CPPUNIT_ASSERT_EQUAL(0, read(socket, ask, 99).error);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, taken_);
    // The rest of an interrupted dump is read, too.
    fill_dump(NLM_F_DUMP_INTR);
    const auto end = read(socket, ask, 99);
    CPPUNIT_ASSERT(end.error == 0 && end.interrupted && end.broken == Socket::DumpEnd::Broken::kNo);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, taken_);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_.opened);
  }

  void ends_a_dump_where_the_caller_does() {
    Socket socket(opener(), "a test", kShort);
    nlmsghdr ask = request(kObject);
    fill_dump(0);
    CPPUNIT_ASSERT_EQUAL(ECANCELED, read(socket, ask, 2).error);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, taken_);
    // What it left unread belongs to no later request.
    nlmsghdr other = request(kObject);
    CPPUNIT_ASSERT_EQUAL(0, *socket.request(&other));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_.opened);
  }

  void says_why_a_dump_is_incomplete() {
    Socket socket(opener(), "a test", kShort);
    nlmsghdr ask = request(kObject);
    CPPUNIT_ASSERT_EQUAL(ETIMEDOUT, read(socket, ask, 99).error);
    kernel_.receive_error = ENOBUFS;
    CPPUNIT_ASSERT_EQUAL(ENOBUFS, read(socket, ask, 99).error);
    kernel_.receive_error = 0;
    kernel_.dump = {message(NLMSG_ERROR, NLM_F_CAPPED, 0, -EPERM)};
    CPPUNIT_ASSERT_EQUAL(EPERM, read(socket, ask, 99).error);
    kernel_.dump = {message(NLMSG_DONE, NLM_F_MULTI, 0, -EBUSY)};
    CPPUNIT_ASSERT_EQUAL(EBUSY, read(socket, ask, 99).error);
  }

  void a_batch_asks_for_one_acknowledgement_of_each_datagram() {
    Socket socket(opener(), "a test", kShort);
    constexpr std::size_t kCount = 2 * Socket::kWindow + 3;
    kernel_.refusals = {{kObject + 1, ENOENT}, {kObject + kCount - 1, EBUSY}};
    nlmsghdr one{};
    const auto make = [&one](std::size_t index) {
      one = request(kObject + static_cast<int>(index));
      return &one;
    };
    const auto answers = socket.batch(kCount, make, Socket::Acks::kLast);
    CPPUNIT_ASSERT(answers.ok());
    for (std::size_t i = 0; i < kCount; ++i) {
      CPPUNIT_ASSERT_EQUAL(i == 1 ? ENOENT : i == kCount - 1 ? EBUSY : 0, (*answers)[i]);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, kernel_.datagrams);
    CPPUNIT_ASSERT_EQUAL(kCount, kernel_.requests.size());
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool last = i % Socket::kWindow == Socket::kWindow - 1 || i == kCount - 1;
      CPPUNIT_ASSERT_EQUAL(last, (kernel_.requests[i].nlmsg_flags & NLM_F_ACK) != 0);
    }
  }

  void a_transaction_ends_with_its_first_refusal() {
    Socket socket(opener(), "a test", kShort);
    nlmsghdr begin = request(kObject), end = request(kObject + 9);
    std::array<nlmsghdr, 3> changes = {request(kObject + 1), request(kObject + 2), request(kObject + 3)};
    const std::array<nlmsghdr*, 3> all = {&changes[0], &changes[1], &changes[2]};
    CPPUNIT_ASSERT_EQUAL(0, *socket.transact(&begin, all, &end));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_.datagrams);
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, kernel_.requests.size());
    kernel_.refusals = {{kObject + 2, EBUSY}, {kObject + 3, EPERM}};
    CPPUNIT_ASSERT_EQUAL(EBUSY, *socket.transact(&begin, all, &end));
    // Without the privilege the kernel answers the first message only.
    kernel_.refusals = {{kObject, EPERM}};
    CPPUNIT_ASSERT_EQUAL(EPERM, *socket.transact(&begin, all, &end));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_.opened);
  }

  void errors_of_opening_are_values() {
    const netlink::OpenRawSocket failing = [] {
      return Result<std::unique_ptr<netlink::RawSocket>>(errno_status("no socket", EPERM));
    };
    Socket socket(failing, "a test", kShort);
    nlmsghdr ask = request(kObject);
    const Status status = socket.request(&ask).status();
    CPPUNIT_ASSERT_EQUAL(EPERM, status.os_errno());
    CPPUNIT_ASSERT_EQUAL(std::string("the exchange with a test failed: no socket: Operation not permitted"),
                         status.message());
    const auto end = read(socket, ask, 99);
    CPPUNIT_ASSERT_EQUAL(EPERM, end.error);
    CPPUNIT_ASSERT_EQUAL(status.message(), end.why);
  }

 private:
  netlink::OpenRawSocket opener() {
    return [this] { return Result<std::unique_ptr<netlink::RawSocket>>(std::make_unique<FakeRawSocket>(kernel_)); };
  }
  // Three objects, the flags in the second.
  void fill_dump(std::uint16_t flags) {
    kernel_.dump = {message(kObject, NLM_F_MULTI, 0, 0), message(kObject, static_cast<std::uint16_t>(NLM_F_MULTI | flags), 0, 0),
                    message(kObject, NLM_F_MULTI, 0, 0), message(NLMSG_DONE, NLM_F_MULTI, 0, 0)};
  }
  Socket::DumpEnd read(Socket& socket, nlmsghdr& ask, std::size_t most) {
    taken_ = 0;
    auto end = socket.read_dump(&ask, [&](nlmsghdr*) { return ++taken_ < most; });
    kernel_.dump.clear();
    return end;
  }

  Kernel kernel_;
  std::size_t taken_ = 0;
};

CPPUNIT_TEST_SUITE_REGISTRATION(NetlinkTest);

}  // namespace socket_test
}  // namespace sluice::lib
