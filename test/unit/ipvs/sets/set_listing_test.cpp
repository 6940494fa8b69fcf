// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_listing.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "plugins/ipvs/sets/ipset_session.hpp"

namespace sluice::ipvs {
namespace set_listing_test {

using abi::Family;

Listing parse(std::string_view text, std::size_t piece = std::string_view::npos) {
  Listing listing;
  ListingParser parser(listing);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) parser.append(text.substr(0, piece));
  parser.finish();
  return listing;
}

std::string text(const Listing& listing, SetType type) {
  std::string text;
  for (const SetEntry& entry : listing.entries) text += to_string(entry, type, listing.family) + "\n";
  return text;
}

constexpr const char* kHash =
    "Name: KUBE-CLUSTER-IP\nType: hash:ip,port\nRevision: 7\n"
    "Header: family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0xfd59e10f\n"
    "Size in memory: 2796576\nReferences: 2\nNumber of entries: 3\nMembers:\n"
    "10.0.0.1,tcp:80\n10.0.0.2,udp:53\n10.0.0.3,132:9\n";

class SetListingTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SetListingTest);
  CPPUNIT_TEST(a_hash_is_read);
  CPPUNIT_TEST(a_list_in_pieces_reads_like_one_in_one_piece);
  CPPUNIT_TEST(a_bitmap_is_read);
  CPPUNIT_TEST(networks_are_read_with_and_without_a_length);
  CPPUNIT_TEST(options_that_change_the_set_are_reported);
  CPPUNIT_TEST(unknown_entries_are_counted);
  CPPUNIT_TEST(a_set_of_another_type_has_no_entries);
  CPPUNIT_TEST(an_old_kernel_reports_no_count);
  CPPUNIT_TEST(an_empty_listing_has_no_entries);
  CPPUNIT_TEST(malformed_entries_are_rejected);
  CPPUNIT_TEST(reports_are_classified);
  CPPUNIT_TEST(waiting_for_the_session_is_counted);
  CPPUNIT_TEST_SUITE_END();

 public:
  void a_hash_is_read() {
    const Listing listing = parse(kHash);
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-CLUSTER-IP"), listing.name);
    CPPUNIT_ASSERT_EQUAL(std::string("hash:ip,port"), listing.type);
    CPPUNIT_ASSERT_EQUAL(std::string(), listing.options);
    CPPUNIT_ASSERT(listing.family == Family::kIpv4);
    CPPUNIT_ASSERT_EQUAL(65536U, listing.maxelem);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, listing.count.value());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1,tcp:80\n10.0.0.2,udp:53\n10.0.0.3,sctp:9\n"),
                         text(listing, SetType::kIpPort));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, listing.unread);
  }

  void a_list_in_pieces_reads_like_one_in_one_piece() {
    const Listing whole = parse(kHash);
    for (std::size_t piece = 1; piece < 100; ++piece) {
      const Listing cut = parse(kHash, piece);
      CPPUNIT_ASSERT(cut.entries == whole.entries && cut.name == whole.name && cut.type == whole.type &&
                     cut.maxelem == whole.maxelem && cut.count == whole.count && cut.unread == 0);
    }
  }

  void a_bitmap_is_read() {
    const Listing listing = parse(
        "Name: KUBE-NODE-PORT-TCP\nType: bitmap:port\nRevision: 3\nHeader: range 0-65535\nSize in memory: 8264\n"
        "References: 0\nNumber of entries: 2\nMembers:\n0\n65535");
    CPPUNIT_ASSERT_EQUAL(std::string("bitmap:port"), listing.type);
    CPPUNIT_ASSERT_EQUAL(std::string(), listing.options);
    CPPUNIT_ASSERT_EQUAL(0U, listing.maxelem);
    CPPUNIT_ASSERT_EQUAL(std::string("0\n65535\n"), text(listing, SetType::kPorts));
  }

  void networks_are_read_with_and_without_a_length() {
    const Listing listing = parse(
        "Name: X\nType: hash:ip,port,net\nHeader: family inet6 maxelem 10\nMembers:\n"
        "fd00::1,tcp:80,fd00::/8\nfd00::1,tcp:80,fd00::7\nfd00::1,tcp:80,8000::/1\n");
    CPPUNIT_ASSERT(listing.family == Family::kIpv6);
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1,tcp:80,fd00::/8\nfd00::1,tcp:80,fd00::7\nfd00::1,tcp:80,8000::/1\n"),
                         text(listing, SetType::kIpPortNet));
    CPPUNIT_ASSERT_EQUAL(128, int{listing.entries[1].other_length});
    const auto ip = parse_entry("10.0.0.1,tcp:80,10.0.0.9", SetType::kIpPortIp, Family::kIpv4);
    CPPUNIT_ASSERT_EQUAL(32, int{ip.value().other_length});
  }

  void options_that_change_the_set_are_reported() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(" netmask 24 timeout 300"),
        parse("Header: family inet netmask 24 timeout 300 counters comment skbinfo forceadd\n").options);
    CPPUNIT_ASSERT_EQUAL(std::string(" range 0-1023"), parse("Header: range 0-1023\n").options);
  }

  void unknown_entries_are_counted() {
    const Listing listing = parse(
        "Name: X\nType: hash:ip,port\nHeader: family inet maxelem 10 comment counters\nNumber of entries: 5\nMembers:\n"
        "10.0.0.1,tcp:80 packets 0 bytes 0 comment \"of nomatch times\"\n10.0.0.2,icmp:echo-request\n"
        "10.0.0.1,tcp:81 nomatch\nfd00::1,tcp:80\n\n10.0.0.2,tcp:80 timeout 4\n");
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.2,tcp:80\n"), text(listing, SetType::kIpPort));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{4}, listing.unread);
  }

  void a_set_of_another_type_has_no_entries() {
    Listing listing =
        parse("Name: X\nType: list:set\nHeader: size 8\nNumber of entries: 1\nMembers:\nKUBE-LOOP-BACK\n");
    CPPUNIT_ASSERT_EQUAL(std::string("list:set"), listing.type);
    CPPUNIT_ASSERT(listing.entries.empty() && listing.unread == 1);
    listing = parse("Name: X\nType: hash:ip\nHeader: family any\nMembers:\n10.0.0.1\n");
    CPPUNIT_ASSERT(listing.entries.empty() && listing.unread == 1);
  }

  void an_old_kernel_reports_no_count() {
    CPPUNIT_ASSERT(!parse("Name: X\nType: hash:ip\nHeader: family inet\nMembers:\n10.0.0.1\n").count);
    CPPUNIT_ASSERT(!parse("Number of entries: many\n").count);
  }

  void an_empty_listing_has_no_entries() {
    const Listing listing = parse("");
    CPPUNIT_ASSERT(listing.name.empty() && listing.entries.empty() && !listing.count);
  }

  void malformed_entries_are_rejected() {
    const auto refused = [](const char* text, SetType type) { return !parse_entry(text, type, Family::kIpv4); };
    for (const char* const bad :
         {"", "10.0.0.1", "10.0.0.1,", "10.0.0.1,tcp", "10.0.0.1,tcp:", "10.0.0.1,tcp:65536", "10.0.0.1,tcp:-1",
          "10.0.0.1,tcp:80x", "10.0.0.1,tcp:80,10.0.0.2", "10.0.0,tcp:80", "10.0.0.1,gre:80",
          "10.0.0.1-10.0.0.9,tcp:80", "10.0.0.1,tcp:80-90", "10.0.0.1,tcp:80,"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, refused(bad, SetType::kIpPort));
    }
    for (const char* const bad :
         {"10.0.0.1,tcp:80", "10.0.0.1,tcp:80,", "10.0.0.1,tcp:80,10.0.0.0/", "10.0.0.1,tcp:80,10.0.0.0/33",
          "10.0.0.1,tcp:80,10.0.0.1/8", "10.0.0.1,tcp:80,x/8", "10.0.0.1,tcp:80,10.0.0.1/31"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, refused(bad, SetType::kIpPortNet));
    }
    CPPUNIT_ASSERT(!refused("10.0.0.1,tcp:80,10.0.0.2/31", SetType::kIpPortNet));
    CPPUNIT_ASSERT(refused("10.0.0.1,tcp:80,10.0.0.1/32", SetType::kIpPortIp));
    CPPUNIT_ASSERT(refused("65536", SetType::kPorts) && refused("1-2", SetType::kPorts) &&
                   refused("+1", SetType::kPorts));
    CPPUNIT_ASSERT(refused("10.0.0.0/24", SetType::kIp));
    CPPUNIT_ASSERT(!parse_entry({"10.0.0.1\0", 9}, SetType::kIp, Family::kIpv4));
  }

  void reports_are_classified() {
    const auto trouble = [](const std::string& report, int number = 0) {
      return classify_report(report, number).trouble;
    };
    const std::string kernel = "Kernel error received: ";
    CPPUNIT_ASSERT(trouble("The set with the given name does not exist\n") == IpsetTrouble::kNoSet);
    CPPUNIT_ASSERT(trouble("Sets cannot be swapped: the second set does not exist\n") == IpsetTrouble::kNoSet);
    CPPUNIT_ASSERT(trouble("Set cannot be created: set with the same name already exists\n") == IpsetTrouble::kExists);
    CPPUNIT_ASSERT(trouble("Set cannot be destroyed: it is in use by a kernel component\n") == IpsetTrouble::kInUse);
    CPPUNIT_ASSERT(trouble("The sets cannot be swapped: their type does not match\n") == IpsetTrouble::kMismatch);
    CPPUNIT_ASSERT(trouble(kernel + "set type not supported\n") == IpsetTrouble::kNoType);
    CPPUNIT_ASSERT(trouble(kernel + "set type does not supported\n") == IpsetTrouble::kNoType);
    CPPUNIT_ASSERT(trouble(kernel + std::strerror(EPERM)) == IpsetTrouble::kDenied);
    CPPUNIT_ASSERT(trouble(kernel + std::strerror(ENOMEM)) == IpsetTrouble::kShortage);
    CPPUNIT_ASSERT(trouble(kernel + std::strerror(EINTR)) == IpsetTrouble::kLost);
    CPPUNIT_ASSERT(trouble("Internal protocol error\n") == IpsetTrouble::kLost);
    CPPUNIT_ASSERT(trouble("Internal protocol error\n", ENOBUFS) == IpsetTrouble::kShortage);
    CPPUNIT_ASSERT(trouble("Cannot open session to kernel.\n", EPROTONOSUPPORT) == IpsetTrouble::kNoIpset);
    CPPUNIT_ASSERT(trouble("Cannot open session to kernel.\n", EMFILE) == IpsetTrouble::kShortage);
    CPPUNIT_ASSERT(trouble("") == IpsetTrouble::kLost);
    for (const char* const no_element :
         {"Null-valued element, cannot be stored in a hash type of set", "Element is out of the range of the set",
          "The value of the CIDR parameter of the IP address is invalid", "Invalid protocol specified",
          "Invalid range, covers the whole address space",
          "Range is not supported in the \"net\" component of the element"}) {
      const IpsetReply reply = classify_report(std::string("Error in line 3: ") + no_element + "\n", 0);
      CPPUNIT_ASSERT_MESSAGE(no_element, reply.trouble == IpsetTrouble::kElement && reply.line == 3);
    }
    CPPUNIT_ASSERT(trouble("Undecoded error 4999 received from kernel\n") == IpsetTrouble::kRefused);
    CPPUNIT_ASSERT(
        trouble("Kernel-library incompatibility: set X in kernel has got settype hash:ip with family inet and "
                "revision 9 while ipset library does not support the settype with that family and revision.") ==
        IpsetTrouble::kRefused);
    const IpsetReply full =
        classify_report("Error in line 501: Hash is full, cannot add more elements\nError in line 7: x\n", 0);
    CPPUNIT_ASSERT(full.trouble == IpsetTrouble::kFull && full.line == 501);
    CPPUNIT_ASSERT_EQUAL(std::string("Hash is full, cannot add more elements"), full.text);
  }

  void waiting_for_the_session_is_counted() {
    std::atomic<std::uint64_t> first{0}, second{0};
    // Again, and longer, if the other thread started so late that it hardly waits.
    for (unsigned attempt = 0; attempt < 100 && second < 1'000; ++attempt) {
      std::thread other;
      {
        const IpsetCommands commands(first);
        std::atomic<bool> begun{false};
        other = std::thread([&] {
          begun = true;
          const IpsetCommands waiting(second);
        });
        while (!begun) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(5) * (attempt + 1));  // fixed time: the other thread waits
      }
      other.join();
    }
    CPPUNIT_ASSERT(second >= 1'000 && first == 0);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(SetListingTest);

}  // namespace set_listing_test
}  // namespace sluice::ipvs
