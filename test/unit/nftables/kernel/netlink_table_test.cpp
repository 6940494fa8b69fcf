// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/netlink_table.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/nftables/kernel/nft_socket.hpp"

namespace sluice::nftables {
namespace netlink_table_test {

using abi::Family;
using Items = std::deque<NftItem>;
constexpr std::chrono::milliseconds kShort{1};

FrontendKey frontend(std::uint32_t n) {
  FrontendKey key;
  key.address.bytes[0] = 172;
  key.address.bytes[2] = static_cast<std::uint8_t>(n >> 8);
  key.address.bytes[3] = static_cast<std::uint8_t>(n);
  key.protocol = abi::Protocol::kTcp;
  key.port = 80;
  return key;
}

ElementWrite service(std::uint32_t n, Owner owner = 0, bool remove = false) {
  ElementWrite element;
  element.record = {SetId::kServiceIps, frontend_key(Family::kIpv4, frontend(n)), number_data(3)};
  element.comment = "ns/svc" + std::to_string(n);
  element.owner = owner;
  element.remove = remove;
  return element;
}

Batch services(std::uint32_t count) {
  Batch batch;
  for (std::uint32_t i = 0; i < count; ++i) batch.elements.push_back(service(i, i));
  batch.owners.resize(count + 1);
  return batch;
}

Batch whole_table() {
  Batch batch;
  batch.create_table = true;
  batch.create_sets = all_sets(Family::kIpv4, true, 100);
  LayoutFacts facts;
  for (const ChainSpec& chain : fixed_chains(facts)) batch.chains.push_back({chain, true});
  batch.dispatch.push_back({false, 3, "services", false});
  for (std::uint32_t i = 0; i < 20; ++i) batch.elements.push_back(service(i));
  return batch;
}

// Marks the answers to a dump of this kind as interrupted. Returns false for other answers.
bool interrupt(Items& items, int kind) {
  if (items.size() < 2) return false;
  auto* const first = reinterpret_cast<nlmsghdr*>(items.front().bytes.data());
  if (first->nlmsg_type != message_type(kind) || (first->nlmsg_flags & NLM_F_MULTI) == 0) return false;
  reinterpret_cast<nlmsghdr*>(items.back().bytes.data())->nlmsg_flags |= NLM_F_DUMP_INTR;
  return true;
}

class NetlinkTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NetlinkTableTest);
  CPPUNIT_TEST(lists_what_was_committed);
  CPPUNIT_TEST(knows_no_table);
  CPPUNIT_TEST(reads_the_interfaces_of_the_flowtable);
  CPPUNIT_TEST(throws_what_concerns_the_whole);
  CPPUNIT_TEST(tries_again_when_the_kernel_asks_for_it);
  CPPUNIT_TEST(does_not_take_silence_for_success);
  CPPUNIT_TEST(knows_of_lost_answers);
  CPPUNIT_TEST(says_what_cannot_be_sent);
  CPPUNIT_TEST(names_every_element_that_is_refused);
  CPPUNIT_TEST(names_an_element_by_its_offset);
  CPPUNIT_TEST(lists_during_foreign_writes);
  CPPUNIT_TEST(gives_up_if_the_table_keeps_changing);
  CPPUNIT_TEST(survives_any_answer);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    line_ = std::make_unique<NftLine>();
    own_ = std::make_shared<OwnSenders>();
    table_ = std::make_unique<NetlinkTable>(Family::kIpv4, line_->opener(), own_, kShort);
  }

  void lists_what_was_committed() {
    const Batch batch = whole_table();
    CPPUNIT_ASSERT(table_->commit(batch).empty());
    const Listing listing = table_->list();
    CPPUNIT_ASSERT(listing.exists);
    CPPUNIT_ASSERT_EQUAL(batch.create_sets.size(), listing.sets.size());
    CPPUNIT_ASSERT_EQUAL(batch.chains.size(), listing.chains.size());
    for (const ChainWrite& chain : batch.chains) {
      const KnownChain& is = listing.chains.find(chain.spec.name)->second;
      CPPUNIT_ASSERT_EQUAL(chain.spec.is_base, is.is_base);
      CPPUNIT_ASSERT(chain.spec.rules == is.rules);
    }
    const RecordTable& records = listing.records[index(SetId::kServiceIps)];
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, records.size());
    const auto place = records.find(batch.elements[7].record.key);
    CPPUNIT_ASSERT(place && records.data(*place) == batch.elements[7].record.data);
    CPPUNIT_ASSERT_EQUAL(comment_hash("ns/svc7"), records.comment(*place));
    CPPUNIT_ASSERT(listing.dispatch.size() == 1 && listing.dispatch[0].chain == "services");
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, table_->statistics().commits);
  }

  void reads_the_interfaces_of_the_flowtable() {
    CPPUNIT_ASSERT(!table_->flowtable_interfaces());
    Batch batch;
    batch.create_flowtable = true;
    CPPUNIT_ASSERT(table_->commit(batch).empty());
    CPPUNIT_ASSERT(table_->flowtable_interfaces() && table_->flowtable_interfaces()->empty());
    line_->kept.clear();
    batch = Batch();
    batch.add_interfaces = {"eth0", "veth1"};
    CPPUNIT_ASSERT(table_->commit(batch).empty());
    CPPUNIT_ASSERT((std::vector<std::string>{"eth0", "veth1"}) == table_->flowtable_interfaces());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, table_->statistics().writes);
  }

  void knows_no_table() {
    CPPUNIT_ASSERT(!table_->list().exists);
    line_->refuse = [](std::size_t, int, std::string_view) { return ENOENT; };
    CPPUNIT_ASSERT(!table_->delete_table());
  }

  void throws_what_concerns_the_whole() {
    const std::pair<int, abi::Code> cases[] = {
        {EPERM, abi::Code::kDenied}, {ENOMEM, abi::Code::kRetry}, {EOPNOTSUPP, abi::Code::kUnsupported}};
    for (const auto& [error, code] : cases) {
      line_->whole_error = error;
      CPPUNIT_ASSERT(code == code_when([&] { table_->commit(services(1)); }));
    }
    line_->whole_error = EINVAL;
    const std::vector<Refusal> refusals = table_->commit(services(1));
    CPPUNIT_ASSERT(refusals.size() == 1 && refusals[0].error == EINVAL && refusals[0].owner == 0);
  }

  void tries_again_when_the_kernel_asks_for_it() {
    for (const int error : {EAGAIN, EINTR, ERESTART}) {
      line_->whole_error = error;
      const std::uint64_t before = line_->transactions;
      CPPUNIT_ASSERT(table_->commit(services(1)).empty());
      CPPUNIT_ASSERT_EQUAL(before + 2, line_->transactions);
    }
  }

  void does_not_take_silence_for_success() {
    line_->spoil = [](Items& items) { items.clear(); };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { table_->commit(services(1)); }));
    const std::uint64_t opened = line_->opened;
    line_->spoil = {};
    CPPUNIT_ASSERT(table_->commit(services(1)).empty());
    CPPUNIT_ASSERT_EQUAL(opened + 1, line_->opened);  // a late answer must not be read
    line_->spoil = [](Items& items) { items.push_front({{}, EINTR}); };
    CPPUNIT_ASSERT(table_->commit(services(1)).empty());
    line_->spoil = [](Items& items) { items.front().bytes.resize(20); };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { table_->commit(services(1)); }));
  }

  void knows_of_lost_answers() {
    line_->spoil = [](Items& items) { items = {{{}, ENOBUFS}}; };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { table_->commit(services(1)); }));
    // The last answer, without earlier ones.
    line_->spoil = [](Items& items) { items.push_front({{}, ENOBUFS}); };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { table_->commit(services(1)); }));
    // One refusal is sufficient.
    line_->spoil = [](Items& items) {
      items.resize(1);
      items.push_front({{}, ENOBUFS});
    };
    line_->refuse = [](std::size_t, int, std::string_view) { return EEXIST; };
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, table_->commit(services(1)).size());
  }

  void says_what_cannot_be_sent() {
    line_->send_error = EMSGSIZE;
    CPPUNIT_ASSERT(abi::Code::kKernel == code_when([&] { table_->commit(services(1)); }));
    line_->send_error = ENOBUFS;
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { table_->commit(services(1)); }));
    CPPUNIT_ASSERT(table_->commit(services(1)).empty());
  }

  // Like a kernel that stops at the first refused element of a message and does not name it.
  void names_every_element_that_is_refused() {
    line_->refuse = [](std::size_t, int kind, std::string_view body) {
      if (kind != NFT_MSG_NEWSETELEM) return 0;
      bool bad = false;
      for (const std::uint32_t n : {5U, 1500U}) {
        const Key key = service(n).record.key;
        bad = bad || body.find(std::string_view(reinterpret_cast<const char*>(key.data()), key.size())) != body.npos;
      }
      return bad ? EEXIST : 0;
    };
    const std::vector<Refusal> refusals = table_->commit(services(2000));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, refusals.size());
    CPPUNIT_ASSERT_EQUAL(Owner{5}, refusals[0].owner);
    CPPUNIT_ASSERT_EQUAL(Owner{1500}, refusals[1].owner);
    CPPUNIT_ASSERT_EQUAL(std::string("element 172.0.5.220:80/tcp of service-treatments"), refusals[1].what);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, table_->statistics().commits);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, table_->statistics().refused);
  }

  void names_an_element_by_its_offset() {
    const Batch batch = services(100);
    EncodeOptions options;
    options.table = kTableName;
    const Encoded encoded = encode(Family::kIpv4, batch, options);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, encoded.parts.size());
    const Key key = batch.elements[42].record.key;
    const std::size_t at = encoded.bytes.find(std::string(reinterpret_cast<const char*>(key.data()), key.size()));
    line_->offset = static_cast<std::uint32_t>(at - encoded.parts[0].at);
    // Refused in a batch, but not alone.
    line_->refuse = [](std::size_t index, int, std::string_view body) { return index == 0 && body.size() > 200 ? EEXIST : 0; };
    std::vector<Refusal> refusals = table_->commit(batch);
    CPPUNIT_ASSERT(refusals.size() == 1 && refusals[0].owner == 42);
    line_->offset = 0;
    refusals = table_->commit(batch);
    CPPUNIT_ASSERT(refusals.size() == 1 && refusals[0].owner == 0);
    CPPUNIT_ASSERT_EQUAL(std::string("one of 100 elements of service-treatments"), refusals[0].what);
  }

  // Another process writes after each request for the generation, the first `quiet` times to another table.
  void write_foreign_changes(int quiet) {
    line_->next_generation = [this, quiet, asked = 0U]() mutable {
      const std::string table = static_cast<int>(++asked) > quiet ? kTableName : "other";
      line_->notifications.push_back({foreign_change(table, asked), 0});
      return asked;
    };
  }
  static std::string foreign_change(const std::string& table, std::uint32_t generation) {
    std::string chain, made;
    AttributeWriter(chain).put_text(NFTA_CHAIN_TABLE, table);
    AttributeWriter(chain).put_text(NFTA_CHAIN_NAME, "foreign");
    AttributeWriter(made).put_be32(NFTA_GEN_ID, generation);
    AttributeWriter(made).put_be32(NFTA_GEN_PROC_PID, 7);
    AttributeWriter(made).put_text(NFTA_GEN_PROC_NAME, "nft");
    return netlink_message(message_type(NFT_MSG_NEWCHAIN), 0, 0, 99, make_request_body(Family::kIpv4, chain)) +
           netlink_message(message_type(NFT_MSG_NEWGEN), 0, 0, 99, make_request_body(Family::kIpv4, made));
  }
  std::string why_no_listing() {
    try {
      table_->list();
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
      return failure.what();
    }
    return {};
  }

  void lists_during_foreign_writes() {
    CPPUNIT_ASSERT(table_->commit(whole_table()).empty());
    line_->dumps = 0;
    CPPUNIT_ASSERT_EQUAL(std::string(), why_no_listing());
    const std::uint64_t once = std::exchange(line_->dumps, 0);
    write_foreign_changes(1000);
    const Listing listing = table_->list();
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, listing.records[index(SetId::kServiceIps)].size());
    CPPUNIT_ASSERT_EQUAL(once, line_->dumps);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{2}, listing.generation);
    // An interrupted dump is complete if our table did not change.
    line_->dumps = 0;
    line_->spoil = [](Items& items) { interrupt(items, NFT_MSG_NEWRULE); };
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, table_->list().records[index(SetId::kServiceIps)].size());
    CPPUNIT_ASSERT_EQUAL(once, line_->dumps);
    // Chains are an exception, as the kernel counts them in all tables.
    line_->spoil = [once = true](Items& items) mutable {
      if (once && interrupt(items, NFT_MSG_NEWCHAIN)) once = false;
    };
    line_->dumps = 0;
    CPPUNIT_ASSERT_EQUAL(std::string(), why_no_listing());
    CPPUNIT_ASSERT_EQUAL(once + 1, line_->dumps);
    line_->spoil = [](Items& items) { interrupt(items, NFT_MSG_NEWCHAIN); };
    const std::string why = why_no_listing();
    CPPUNIT_ASSERT_MESSAGE(why, why.ends_with("chains of other tables came and went while its own were read"));
  }

  void gives_up_if_the_table_keeps_changing() {
    CPPUNIT_ASSERT(table_->commit(whole_table()).empty());
    write_foreign_changes(0);
    std::string why = why_no_listing();
    CPPUNIT_ASSERT_MESSAGE(why, why.ends_with("table ip kube-proxy: chain foreign was added or changed by nft (pid 7)"));
    // A single change is no reason to give up.
    line_->notifications.clear();
    line_->next_generation = {};
    line_->spoil = [&, once = true](Items&) mutable {
      if (!std::exchange(once, false)) return;
      ++line_->generation;
      line_->notifications.push_back({foreign_change(kTableName, line_->generation), 0});
    };
    CPPUNIT_ASSERT_EQUAL(std::string(), why_no_listing());
    // Notifications were lost.
    line_->next_generation = [asked = 0U]() mutable { return ++asked; };
    why = why_no_listing();
    CPPUNIT_ASSERT_MESSAGE(why, why.ends_with("table ip kube-proxy may have been changed, as notifications were lost"));
    // Without notifications, a listing is valid if it is of one generation.
    line_->joined = [](std::uint32_t, bool) { return ENOMEM; };
    why = why_no_listing();
    CPPUNIT_ASSERT_MESSAGE(why, why.find("while a table is read: Cannot allocate memory (ENOMEM)") != why.npos);
    line_->next_generation = {};
    CPPUNIT_ASSERT_EQUAL(std::string(), why_no_listing());
  }

  void survives_any_answer() {
    CPPUNIT_ASSERT(table_->commit(whole_table()).empty());
    std::mt19937 random(20);
    int good = 0, bad = 0;
    line_->spoil = [&](Items& items) {
      if (random() % 4 != 0) return;
      NftItem& item = items[random() % items.size()];
      if (item.bytes.empty()) return;
      // libnftnl aborts the process on some invalid rules.
      nlmsghdr header{};
      std::memcpy(&header, item.bytes.data(), sizeof(header));
      if (header.nlmsg_type == message_type(NFT_MSG_NEWRULE)) return;
      const std::size_t at = random() % item.bytes.size();
      switch (random() % 4) {
        case 0:
          item.bytes.resize(at);
          break;
        case 1:
          item.error = random() % 2 != 0 ? ENOBUFS : EIO;
          break;
        default:
          item.bytes[at] = static_cast<char>(item.bytes[at] ^ (1 << random() % 8));
          break;
      }
    };
    for (int i = 0; i < 1500; ++i) {
      try {
        if (i % 3 == 0) {
          table_->dry_run(services(3));
        } else if (i % 3 == 1) {
          table_->list();
        } else {
          table_->traffic();
        }
        ++good;
      } catch (const sdk::Failure&) {
        ++bad;
      }
    }
    CPPUNIT_ASSERT(good > 100);
    CPPUNIT_ASSERT(bad > 100);
    line_->spoil = {};
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, table_->list().records[index(SetId::kServiceIps)].size());
  }

 private:
  template <class Body>
  static abi::Code code_when(const Body& body) {
    try {
      body();
    } catch (const sdk::Failure& failure) {
      return failure.code();
    }
    return abi::Code::kOk;
  }

  std::unique_ptr<NftLine> line_;
  std::shared_ptr<OwnSenders> own_;
  std::unique_ptr<NetlinkTable> table_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(NetlinkTableTest);

}  // namespace netlink_table_test
}  // namespace sluice::nftables
