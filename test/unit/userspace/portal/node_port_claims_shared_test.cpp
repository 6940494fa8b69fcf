// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Node ports that two backends of one process share through the sockets that the daemon keeps; and sockets that it does
// not keep, which a backend must not touch.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "plugins/userspace/portal/kept_claims.hpp"
#include "plugins/userspace/portal/node_port_claims.hpp"
#include "test/unit/userspace/fake_descriptors.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::userspace {
namespace node_port_claims_shared_test {

// Calls about one descriptor are counted; see the functions below.
std::atomic<int> watched_descriptor{-1};
std::atomic<int> watched_calls{0};

void note_call(int fd) {
  if (fd == watched_descriptor) ++watched_calls;
}

class WatchedDescriptor {
 public:
  explicit WatchedDescriptor(int fd) {
    watched_calls = 0;
    watched_descriptor = fd;
  }
  WatchedDescriptor(const WatchedDescriptor&) = delete;
  WatchedDescriptor& operator=(const WatchedDescriptor&) = delete;
  ~WatchedDescriptor() { watched_descriptor = -1; }
  int calls() const { return watched_calls; }
};

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr abi::Protocol kTcp = abi::Protocol::kTcp;
constexpr abi::Protocol kUdp = abi::Protocol::kUdp;

ino_t inode(const lib::Fd& of) {
  struct stat found {};
  CPPUNIT_ASSERT_EQUAL(0, fstat(of.get(), &found));
  return found.st_ino;
}

// The claims of a backend and its kept sockets.
struct Holder {
  Holder(abi::HostDescriptors& store, bool beside_old_backend)
      : kept(&store, log), claims(kV4, &kept, beside_old_backend) {}

  // As at the end of a full transaction.
  void finish() {
    std::set<std::string> names;
    claims.keep_all(names);
    kept.drop_all_except(names);
  }

  const sdk::Logger log{nullptr};
  KeptSockets kept;
  NodePortClaims claims;
};

class SharedClaimsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SharedClaimsTest);
  CPPUNIT_TEST(another_backend_of_this_process_does_not_conflict);
  CPPUNIT_TEST(one_shared_socket_serves_several_claims);
  CPPUNIT_TEST(a_shared_name_is_dropped_with_the_last_claim);
  CPPUNIT_TEST(a_shared_socket_outlives_the_other_backend);
  CPPUNIT_TEST(a_failed_bind_keeps_the_addresses_held_before);
  CPPUNIT_TEST(unkept_sockets_are_never_inspected_duplicated_or_closed);
  CPPUNIT_TEST(a_kept_socket_that_does_not_fit_its_name_is_not_shared);
  CPPUNIT_TEST(a_backend_drops_its_own_names_only);
  CPPUNIT_TEST(a_received_socket_is_kept_until_it_is_released);
  CPPUNIT_TEST(the_next_process_gets_received_sockets);
  CPPUNIT_TEST(three_backends_in_a_row_share_a_port);
  CPPUNIT_TEST(names_of_claims_are_read_back);
  CPPUNIT_TEST_SUITE_END();

 public:
  // CppUnit keeps fixtures until all tests have run; tearDown() releases the ports earlier.
  void setUp() override {
    store_ = std::make_unique<test::FakeDescriptors>();
    old_ = std::make_unique<Holder>(*store_, false);
    new_ = std::make_unique<Holder>(*store_, true);
  }
  void tearDown() override {
    new_ = nullptr;
    old_ = nullptr;
    store_ = nullptr;
  }

 private:
  NodePortClaims& old() const { return old_->claims; }
  NodePortClaims& mine() const { return new_->claims; }
  bool is_free(const abi::Address& address, int type = SOCK_STREAM) const {
    return static_cast<bool>(test::bound(kV4, type, address, port_));
  }
  ClaimedAddress at(const char* address, abi::Protocol protocol = kTcp) const {
    return {*sdk::parse_address(address, kV4), port_, protocol};
  }
  static std::string name(const ClaimedAddress& what) { return print_claim_name({what, {}}); }
  static void ok(const std::string& refusal) { CPPUNIT_ASSERT_EQUAL(std::string(), refusal); }

  void another_backend_of_this_process_does_not_conflict() {
    for (const ClaimedAddress& theirs : {tcp_, udp_, one_}) {
      for (const ClaimedAddress& wanted :
           {ClaimedAddress{{}, port_, theirs.protocol}, ClaimedAddress{one_.address, port_, theirs.protocol}}) {
        mine().start_round();
        ok(old().claim(theirs, "a/b"));
        ok(mine().claim(wanted, "a/b"));
        old().release_all();
        const int type = theirs.protocol == kUdp ? SOCK_DGRAM : SOCK_STREAM;
        CPPUNIT_ASSERT(!is_free(one_.address, type));
        mine().release(wanted, "a/b");
        CPPUNIT_ASSERT(is_free({}, type));
      }
    }
  }

  void one_shared_socket_serves_several_claims() {
    const ClaimedAddress two = at("127.0.0.2");
    const abi::Address three = at("127.0.0.3").address;
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(one_, "a/b"));
    ok(mine().claim(two, "a/b"));
    mine().bind_own_sockets();
    CPPUNIT_ASSERT(!is_free(three));
    old().release_all();
    mine().start_round();
    mine().bind_own_sockets();
    CPPUNIT_ASSERT(is_free(three));
    CPPUNIT_ASSERT(!is_free(one_.address));
    CPPUNIT_ASSERT(!is_free(two.address));
  }

  void a_shared_name_is_dropped_with_the_last_claim() {
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(one_, "a/b"));
    ok(mine().claim(at("127.0.0.2"), "a/b"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, store_->all().size());
    mine().release(one_, "a/b");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, store_->all().size());
    mine().release(at("127.0.0.2"), "a/b");
    CPPUNIT_ASSERT(std::set<std::string>{name(tcp_)} == store_->all());
  }

  // Its name is dropped, but the port stays in use while a duplicate is open.
  void a_shared_socket_outlives_the_other_backend() {
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(one_, "a/b"));
    old().release_all();
    mine().start_round();
    ok(mine().claim(at("127.0.0.2"), "a/b"));
    CPPUNIT_ASSERT(!is_free(at("127.0.0.2").address));
  }

  void a_failed_bind_keeps_the_addresses_held_before() {
    const abi::Address two = at("127.0.0.2").address;
    ok(old().claim(one_, "a/b"));
    ok(mine().claim(tcp_, "a/b"));
    old().release_all();
    lib::Fd program = test::bound(kV4, SOCK_STREAM, two, port_);
    CPPUNIT_ASSERT(program);
    mine().bind_own_sockets();
    CPPUNIT_ASSERT(!is_free(one_.address));
    ok(mine().claim(tcp_, "a/b"));
    program.reset();
    mine().bind_own_sockets();
    CPPUNIT_ASSERT(!is_free(two));
  }

  // A socket of another plugin that looks exactly like a claim socket.
  void unkept_sockets_are_never_inspected_duplicated_or_closed() {
    for (const abi::Protocol protocol : {kTcp, kUdp}) {
      const ClaimedAddress what{{}, port_, protocol};
      lib::Fd foreign;
      CPPUNIT_ASSERT_EQUAL(0, open_claim_socket(kV4, what, foreign));
      const ino_t before = inode(foreign);
      const WatchedDescriptor watched(foreign.get());
      mine().start_round();
      const std::string refusal = mine().claim(what, "a/b");
      CPPUNIT_ASSERT_MESSAGE(refusal, refusal.find(" is in use by ") != std::string::npos);
      CPPUNIT_ASSERT(!mine().claim({one_.address, port_, protocol}, "a/c").empty());
      mine().bind_own_sockets();
      mine().release_all();
      CPPUNIT_ASSERT_EQUAL(0, watched.calls());
      CPPUNIT_ASSERT_EQUAL(before, inode(foreign));
      foreign.reset();
      CPPUNIT_ASSERT(is_free({}, protocol == kUdp ? SOCK_DGRAM : SOCK_STREAM));
    }
    // Proves that the counters work: they count the calls on a socket that the backend receives.
    ok(old().claim(tcp_, "a/b"));
    const WatchedDescriptor watched(store_->kept.begin()->second.get());
    CPPUNIT_ASSERT(!unfit_reason(store_->kept.begin()->second.get(), {kV4, kUdp, {}, 0, false}).empty());
    CPPUNIT_ASSERT(watched.calls() > 0);
  }

  void a_kept_socket_that_does_not_fit_its_name_is_not_shared() {
    const std::string name = kept_claim_name(kTcp, port_, at("127.0.0.2").address);
    store_->kept[name] = test::bound(kV4, SOCK_STREAM, at("127.0.0.3").address, port_);
    CPPUNIT_ASSERT(!mine().claim(tcp_, "a/b").empty());
    CPPUNIT_ASSERT(store_->all().empty());  // dropped, as KeptSockets::take() does
  }

  // The socket of the other backend is found again while that holds the port.
  void a_backend_drops_its_own_names_only() {
    ok(old().claim(tcp_, "a/b"));
    for (const ClaimedAddress& wanted : {tcp_, one_, tcp_}) {
      mine().start_round();
      ok(mine().claim(wanted, "a/b"));
      new_->finish();
      mine().release(wanted, "a/b");
      new_->finish();
      CPPUNIT_ASSERT(std::set<std::string>{name(tcp_)} == store_->all());
    }
    old().release_all();
    CPPUNIT_ASSERT(store_->all().empty());
    CPPUNIT_ASSERT(is_free({}));
  }

  void a_received_socket_is_kept_until_it_is_released() {
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(tcp_, "a/b"));
    new_->finish();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, store_->all().size());
    mine().start_round();
    mine().bind_own_sockets();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, store_->all().size());
    old().release_all();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, store_->all().size());
    CPPUNIT_ASSERT(!store_->all().contains(name(tcp_)));
    mine().start_round();
    mine().bind_own_sockets();
    new_->finish();
    CPPUNIT_ASSERT(std::set<std::string>{name(tcp_)} == store_->all());
    mine().release(tcp_, "a/b");
    CPPUNIT_ASSERT(store_->all().empty());
    CPPUNIT_ASSERT(is_free({}));
  }

  void the_next_process_gets_received_sockets() {
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(tcp_, "a/b"));
    old().release_all();
    new_ = nullptr;  // as at the end of a process: names stay
    CPPUNIT_ASSERT(!is_free({}));
    Holder next(*store_, false);
    ok(next.claims.claim(tcp_, "a/b"));
    next.finish();
    CPPUNIT_ASSERT(std::set<std::string>{name(tcp_)} == store_->all());
    next.claims.release(tcp_, "a/b");
    CPPUNIT_ASSERT(is_free({}));
  }

  void three_backends_in_a_row_share_a_port() {
    Holder third(*store_, true);
    ok(old().claim(tcp_, "a/b"));
    ok(mine().claim(one_, "a/b"));
    old().release_all();
    ok(third.claims.claim(tcp_, "a/b"));
    mine().release_all();
    third.claims.start_round();
    third.claims.bind_own_sockets();
    third.finish();
    CPPUNIT_ASSERT(std::set<std::string>{name(tcp_)} == store_->all());
    CPPUNIT_ASSERT(!is_free({}));
    third.claims.release_all();
    CPPUNIT_ASSERT(is_free({}));
  }

  void names_of_claims_are_read_back() {
    for (const ClaimedAddress& what : {tcp_, udp_, one_, ClaimedAddress{{}, 65535, kUdp}}) {
      for (const char* tag : {"", "0123abcd"}) {
        const auto read = parse_claim_name(print_claim_name({what, tag}));
        CPPUNIT_ASSERT(read && read->claimed == what && read->tag == tag);
      }
    }
    const std::string zeros(32, '0');
    for (const std::string& text :
         {std::string(), std::string("claim_tcp_"), "claim_tcp_1" + zeros, "claim_sctp_1_" + zeros,
          "claim_tcp_01_" + zeros, "claim_tcp_65536_" + zeros, "claim_tcp_-1_" + zeros, "claim_tcp_1_" + zeros + "0",
          "claim_tcp_1_" + zeros.substr(1), "claim_tcp_1_" + std::string(30, '0') + "0A",
          "claim_tcp_1_" + std::string(30, '0') + "0g", "claim_tcp__" + zeros, "claim_tcp_1_" + zeros + "_0123abc",
          "claim_tcp_1_" + zeros + "-0123abcd", "claim_tcp_1_" + zeros + "_0123abcde",
          std::string("tcp_cluster_shop_cart_http")}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_claim_name(text));
    }
  }

  const std::uint16_t port_ = test::free_port(kV4);
  const ClaimedAddress tcp_{{}, port_, kTcp};
  const ClaimedAddress udp_{{}, port_, kUdp};
  const ClaimedAddress one_{test::loopback(kV4), port_, kTcp};
  std::unique_ptr<test::FakeDescriptors> store_;
  std::unique_ptr<Holder> old_, new_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(SharedClaimsTest);

}  // namespace node_port_claims_shared_test
}  // namespace sluice::userspace

// The linker replaces the functions by these (-Wl,--wrap), in the backend too.
extern "C" {
int __real_getsockopt(int fd, int level, int name, void* value, socklen_t* size);
int __real_getsockname(int fd, sockaddr* address, socklen_t* size);

int __wrap_getsockopt(int fd, int level, int name, void* value, socklen_t* size) {
  sluice::userspace::node_port_claims_shared_test::note_call(fd);
  return __real_getsockopt(fd, level, name, value, size);
}
int __wrap_getsockname(int fd, sockaddr* address, socklen_t* size) {
  sluice::userspace::node_port_claims_shared_test::note_call(fd);
  return __real_getsockname(fd, address, size);
}
}
