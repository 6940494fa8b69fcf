// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/listing_file.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "plugins/nftables/wanted_listing.hpp"
#include "test/unit/nftables/backend_rig.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::test {
namespace listing_file_test {

using namespace nftables;
using abi::Family;

const TableState kState{"here", 7};

// The table of a few Services of all kinds.
Listing example_listing(Family family = Family::kIpv4) {
  NftablesRig rig(family, {{"counters", "true"}});
  std::vector<ServiceSpec> services = many_services(2, 2, family);
  services[1].node_port = 30077;
  services[1].affinity_seconds = 60;
  ok(rig, rig.full(services));
  return rig.table.list();
}

// With the hash of its content, whatever that is.
std::string with_hash(std::string content) {
  const std::uint64_t hash = hash_bytes(content.data() + 16, content.size() - 16);
  std::memcpy(content.data() + 8, &hash, sizeof(hash));
  return content;
}

class ListingFileTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ListingFileTest);
  CPPUNIT_TEST(reads_what_was_written);
  CPPUNIT_TEST(rejects_a_truncated_file);
  CPPUNIT_TEST(rejects_a_changed_byte);
  CPPUNIT_TEST(survives_any_content_with_a_correct_hash);
  CPPUNIT_TEST(rejects_other_families);
  CPPUNIT_TEST(names_the_first_difference);
  CPPUNIT_TEST(file_is_private);
  CPPUNIT_TEST(unusable_files_are_ignored);
  CPPUNIT_TEST_SUITE_END();

 public:
  void reads_what_was_written() {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      const Listing listing = example_listing(family);
      const auto saved = decode_listing(family, encode_listing(family, kState, listing));
      CPPUNIT_ASSERT(saved);
      CPPUNIT_ASSERT_EQUAL(kState.place, saved->state.place);
      CPPUNIT_ASSERT_EQUAL(kState.generation, saved->state.generation);
      CPPUNIT_ASSERT_EQUAL(kState.generation, saved->listing.generation);
      CPPUNIT_ASSERT(saved->listing.saved && saved->listing.exists);
      const auto difference = first_difference(listing, saved->listing);
      CPPUNIT_ASSERT_MESSAGE(difference.value_or(""), !difference);
    }
  }

  void rejects_a_truncated_file() {
    const std::string content = encode_listing(Family::kIpv4, kState, example_listing());
    for (std::size_t size = 0; size < content.size(); ++size) {
      CPPUNIT_ASSERT(!decode_listing(Family::kIpv4, {content.data(), size}));
      if (size > 16) CPPUNIT_ASSERT(!decode_listing(Family::kIpv4, with_hash(content.substr(0, size))));
    }
    CPPUNIT_ASSERT(!decode_listing(Family::kIpv4, content + '\0'));
    CPPUNIT_ASSERT(!decode_listing(Family::kIpv4, with_hash(content + '\0')));
  }

  void rejects_a_changed_byte() {
    std::string content = encode_listing(Family::kIpv4, kState, example_listing());
    for (char& byte : content) {
      byte ^= 0x10;
      CPPUNIT_ASSERT(!decode_listing(Family::kIpv4, content));
      byte ^= 0x10;
    }
    CPPUNIT_ASSERT(decode_listing(Family::kIpv4, content));
  }

  void survives_any_content_with_a_correct_hash() {
    const std::string content = encode_listing(Family::kIpv4, kState, example_listing());
    std::mt19937 random(11);
    for (int i = 0; i < 3000; ++i) {
      std::string changed = content;
      for (unsigned count = 1 + random() % 3; count > 0; --count) {
        changed[16 + random() % (changed.size() - 16)] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
      }
      decode_listing(Family::kIpv4, with_hash(changed));
    }
  }

  void rejects_other_families() {
    CPPUNIT_ASSERT(!decode_listing(Family::kIpv6, encode_listing(Family::kIpv4, kState, example_listing())));
  }

  void names_the_first_difference() {
    const Listing listing = example_listing();
    const auto difference = [&](const auto& change) {
      Listing other = listing;
      change(other);
      return first_difference(listing, other).value_or("");
    };
    CPPUNIT_ASSERT_EQUAL(std::string(), difference([](Listing&) {}));
    CPPUNIT_ASSERT_EQUAL(std::string("the table does not exist"), difference([](Listing& one) { one.exists = false; }));
    CPPUNIT_ASSERT_EQUAL(std::string("the sets differ"), difference([](Listing& one) { one.sets.erase("endpoints"); }));
    CPPUNIT_ASSERT_EQUAL(std::string("set affinity has another shape"),
                         difference([](Listing& one) { ++one.sets.find("affinity")->second.capacity; }));
    CPPUNIT_ASSERT_EQUAL(std::string("the chains differ"), difference([](Listing& one) { one.chains["more"]; }));
    CPPUNIT_ASSERT_EQUAL(std::string("chain services differs"),
                         difference([](Listing& one) { one.chains.find("services")->second.rules.pop_back(); }));
    CPPUNIT_ASSERT_EQUAL(std::string("the elements that lead to shared chains differ"),
                         difference([](Listing& one) { ++one.dispatch.back().number; }));
    const auto change_endpoint = [](std::uint64_t comment) {
      return [comment](Listing& one) {
        RecordTable& records = one.records[index(SetId::kEndpoints)];
        const Key key = records.key(0);
        const Data data = records.data(comment != 0 ? 0 : 1);
        RecordTable changed(key.size(), data.size());
        changed.add(key.data(), data.data(), comment != 0 ? comment : records.comment(0));
        for (std::size_t place = 1; place < records.size(); ++place) {
          changed.add(records.key(place).data(), records.data(place).data(), records.comment(place));
        }
        changed.sort();
        records = changed;
      };
    };
    CPPUNIT_ASSERT_EQUAL(std::string("the elements of endpoints differ"), difference(change_endpoint(0)));
    CPPUNIT_ASSERT_EQUAL(std::string("the elements of endpoints differ"), difference(change_endpoint(5)));
    CPPUNIT_ASSERT_EQUAL(std::string("the elements of cluster-ips differ"), difference([](Listing& one) {
                           one.records[index(SetId::kClusterIps)] = RecordTable();
                         }));
  }

  void file_is_private() {
    const TemporaryFolder folder;
    const ListingFile file(folder.path(), Family::kIpv4, sdk::Logger(nullptr));
    file.save(kState, example_listing());
    struct stat facts{};
    CPPUNIT_ASSERT_EQUAL(0, ::stat(folder.path("listing-ipv4").c_str(), &facts));
    CPPUNIT_ASSERT_EQUAL(mode_t{0600}, facts.st_mode & 07777);
    file.remove();
    CPPUNIT_ASSERT(::stat(folder.path("listing-ipv4").c_str(), &facts) != 0);
  }

  void unusable_files_are_ignored() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(2, 2)));
    Table table = rig.table.open();
    const TemporaryFolder folder;
    const ListingFile file(folder.path(), Family::kIpv4, sdk::Logger(&rig.host));
    const auto loads = [&](const std::string& reason) {
      rig.host.lines.clear();
      const bool loaded = file.load(*table.kernel).has_value();
      CPPUNIT_ASSERT_EQUAL(!reason.empty(), rig.logged(abi::Severity::kDebug, reason) && !reason.empty());
      return loaded;
    };
    CPPUNIT_ASSERT(!loads(""));
    file.save(*table.kernel->state(), rig.table.list());
    CPPUNIT_ASSERT(loads(""));
    rig.table.place = "there";
    CPPUNIT_ASSERT(!loads("of another boot, network namespace or table"));
    rig.table.place.clear();
    CPPUNIT_ASSERT(!loads("of another boot, network namespace or table"));
    rig.table.place = "here";
    ++rig.table.foreign_commits;
    CPPUNIT_ASSERT(!loads("nf_tables has changed since"));
    folder.write("listing-ipv4", "SLNFTLS0 of another version");
    CPPUNIT_ASSERT(!loads("in the format of another version"));
    file.remove();
    CPPUNIT_ASSERT_EQUAL(0, ::mkdir(folder.path("listing-ipv4").c_str(), 0700));
    CPPUNIT_ASSERT(!loads("not a regular file"));
    CPPUNIT_ASSERT(!ListingFile("", Family::kIpv4, sdk::Logger(nullptr)).load(*table.kernel));
    ListingFile(folder.path("missing"), Family::kIpv4, sdk::Logger(&rig.host)).save(kState, {});
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kInfo, "the next start reads the table back"));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ListingFileTest);

}  // namespace listing_file_test
}  // namespace sluice::test
