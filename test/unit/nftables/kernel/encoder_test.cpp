// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/encoder.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/layout/layout.hpp"

namespace sluice::nftables {
namespace encoder_test {

using abi::Family;

ElementWrite element(SetId set, std::uint32_t n, bool remove = false) {
  ElementWrite write;
  FrontendKey key;
  key.address.bytes[0] = 172;
  std::memcpy(key.address.bytes + 1, &n, 3);
  key.protocol = abi::Protocol::kTcp;
  key.port = 80;
  write.record = {set, frontend_key(Family::kIpv4, key), set == SetId::kServiceIps ? number_data(1) : Data()};
  write.comment = std::string(n % 200, 'c');
  write.remove = remove;
  return write;
}

struct DecodedMessage {
  nlmsghdr header{};
  std::string body;
};
std::vector<DecodedMessage> messages(const Encoded& encoded) {
  std::vector<DecodedMessage> list;
  std::string_view bytes = encoded.bytes;
  while (!bytes.empty()) {
    DecodedMessage message;
    std::memcpy(&message.header, bytes.data(), sizeof(message.header));
    message.body = bytes.substr(NLMSG_HDRLEN + sizeof(nfgenmsg), message.header.nlmsg_len - NLMSG_HDRLEN - sizeof(nfgenmsg));
    list.push_back(message);
    bytes.remove_prefix(NLMSG_ALIGN(message.header.nlmsg_len));
  }
  return list;
}

class EncoderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EncoderTest);
  CPPUNIT_TEST(packs_elements);
  CPPUNIT_TEST(removes_before_it_adds);
  CPPUNIT_TEST(is_a_batch_whose_last_message_is_acknowledged);
  CPPUNIT_TEST(leaves_elements_alone);
  CPPUNIT_TEST(writes_comments_as_nft_does);
  CPPUNIT_TEST(empties_chains_before_they_go);
  CPPUNIT_TEST(writes_the_flowtable_and_its_interfaces);
  CPPUNIT_TEST_SUITE_END();

 public:
  // The flowtable comes before the chains whose rules refer to it, without interfaces; it may exist.
  void writes_the_flowtable_and_its_interfaces() {
    Batch batch;
    batch.create_flowtable = true;
    batch.chains.push_back({ChainSpec{kOffloadChain, false, {}, {}, {}}, true});
    batch.remove_interfaces = {"veth1"};
    batch.add_interfaces = {"eth0", "veth2"};
    const Encoded encoded = encode(Family::kIpv4, batch, options());
    std::vector<std::pair<int, std::vector<std::string>>> flowtables;
    std::vector<int> kinds;
    for (const DecodedMessage& message : messages(encoded)) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) continue;
      const int kind = message.header.nlmsg_type & 0xff;
      kinds.push_back(kind);
      if (kind == NFT_MSG_NEWCHAIN) continue;
      CPPUNIT_ASSERT_EQUAL(std::string_view("service-flows"), text_of(find_attribute(message.body, NFTA_FLOWTABLE_NAME)));
      CPPUNIT_ASSERT((message.header.nlmsg_flags & NLM_F_EXCL) == 0);
      const std::string_view hook = find_attribute(message.body, NFTA_FLOWTABLE_HOOK);
      CPPUNIT_ASSERT(find_attribute(hook, NFTA_FLOWTABLE_HOOK_NUM).size() == 4);
      CPPUNIT_ASSERT(find_attribute(hook, NFTA_FLOWTABLE_HOOK_PRIORITY).size() == 4);
      std::vector<std::string> names;
      each_attribute(find_attribute(hook, NFTA_FLOWTABLE_HOOK_DEVS), [&](std::uint16_t type, std::string_view value) {
        CPPUNIT_ASSERT_EQUAL(std::uint16_t{NFTA_DEVICE_NAME}, type);
        names.emplace_back(text_of(value));
      });
      flowtables.emplace_back(kind, names);
    }
    CPPUNIT_ASSERT((std::vector<int>{NFT_MSG_NEWFLOWTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_DELFLOWTABLE, NFT_MSG_NEWFLOWTABLE}) == kinds);
    const std::vector<std::string> none, removed{"veth1"}, added{"eth0", "veth2"};
    CPPUNIT_ASSERT(none == flowtables[0].second && removed == flowtables[1].second && added == flowtables[2].second);
    CPPUNIT_ASSERT_EQUAL(std::string("2 interfaces of flowtable service-flows"),
                         describe(Family::kIpv4, batch, encoded, encoded.parts.back()));
    CPPUNIT_ASSERT_EQUAL(std::string("flowtable service-flows"), describe(Family::kIpv4, batch, encoded, encoded.parts.front()));
    CPPUNIT_ASSERT_EQUAL(std::string("1 interfaces to be removed from flowtable service-flows"),
                         describe(Family::kIpv4, batch, encoded, encoded.parts[2]));
  }

  void packs_elements() {
    Batch batch;
    for (std::uint32_t i = 0; i < 5000; ++i) batch.elements.push_back(element(SetId::kServiceIps, i));
    const Encoded encoded = encode(Family::kIpv4, batch, options());
    CPPUNIT_ASSERT(encoded.parts.size() > 5 && encoded.parts.size() < 30);
    std::size_t count = 0, count_in_messages = 0;
    for (const Encoded::Part& part : encoded.parts) {
      CPPUNIT_ASSERT_EQUAL(count, std::size_t{part.index});
      count += part.count;
    }
    CPPUNIT_ASSERT_EQUAL(batch.elements.size(), count);
    for (const DecodedMessage& message : messages(encoded)) {
      CPPUNIT_ASSERT(message.header.nlmsg_len < 65536 + 200);
      const bool whole = each_attribute(find_attribute(message.body, NFTA_SET_ELEM_LIST_ELEMENTS),
                                        [&](std::uint16_t, std::string_view) { ++count_in_messages; });
      CPPUNIT_ASSERT(whole);
    }
    CPPUNIT_ASSERT_EQUAL(batch.elements.size(), count_in_messages);
  }

  void removes_before_it_adds() {
    Batch batch;
    batch.elements = {element(SetId::kServiceIps, 1), element(SetId::kNoEndpointServices, 2),
                      element(SetId::kServiceIps, 2, true), element(SetId::kServiceIps, 2)};
    batch.dispatch = {{false, 1, "a", false}, {false, 1, "", true}};
    const Encoded encoded = encode(Family::kIpv4, batch, options());
    std::string order;
    for (const DecodedMessage& message : messages(encoded)) {
      if ((message.header.nlmsg_type & 0xff) == NFT_MSG_DELSETELEM) order += '-';
      if ((message.header.nlmsg_type & 0xff) == NFT_MSG_NEWSETELEM && message.header.nlmsg_type >> 8 != 0) order += '+';
    }
    CPPUNIT_ASSERT_EQUAL(std::string("-+-++"), order);
    CPPUNIT_ASSERT(encoded.order == (std::vector<std::uint32_t>{2, 0, 3, 1}));
  }

  void is_a_batch_whose_last_message_is_acknowledged() {
    Batch batch;
    batch.create_table = true;
    batch.elements = {element(SetId::kServiceIps, 1)};
    EncodeOptions wanted = options();
    wanted.sequence = 100;
    std::vector<DecodedMessage> list = messages(encode(Family::kIpv4, batch, wanted));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, list.size());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{NFNL_MSG_BATCH_BEGIN}, list[0].header.nlmsg_type);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{NFNL_MSG_BATCH_END}, list[3].header.nlmsg_type);
    for (std::uint32_t i = 0; i < 4; ++i) {
      CPPUNIT_ASSERT_EQUAL(100 + i, list[i].header.nlmsg_seq);
      CPPUNIT_ASSERT_EQUAL(i == 2, (list[i].header.nlmsg_flags & NLM_F_ACK) != 0);
    }
    wanted.with_end = false;
    list = messages(encode(Family::kIpv4, batch, wanted));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, list.size());
    CPPUNIT_ASSERT((list[2].header.nlmsg_flags & NLM_F_ACK) != 0);
  }

  void leaves_elements_alone() {
    Batch batch;
    for (std::uint32_t i = 0; i < 10; ++i) batch.elements.push_back(element(SetId::kServiceIps, i));
    std::vector<bool> alone(10, false);
    alone[3] = alone[4] = true;
    EncodeOptions wanted = options();
    wanted.alone = &alone;
    const Encoded encoded = encode(Family::kIpv4, batch, wanted);
    std::vector<std::uint32_t> counts;
    for (const Encoded::Part& part : encoded.parts) counts.push_back(part.count);
    CPPUNIT_ASSERT(counts == (std::vector<std::uint32_t>{3, 1, 1, 5}));
  }

  void writes_comments_as_nft_does() {
    Batch batch;
    batch.elements = {element(SetId::kServiceIps, 199)};
    const std::string bytes = encode(Family::kIpv4, batch, options()).bytes;
    CPPUNIT_ASSERT(bytes.find(std::string("\0\x81", 2) + std::string(128, 'c') + '\0') != bytes.npos);
    CPPUNIT_ASSERT(bytes.find(std::string(129, 'c')) == bytes.npos);
    CPPUNIT_ASSERT_EQUAL(comment_hash(std::string(128, 'c')), comment_hash(std::string(199, 'c')));
  }

  void empties_chains_before_they_go() {
    Batch batch;
    batch.remove_chains = {"a", "b"};
    std::string order;
    for (const DecodedMessage& message : messages(encode(Family::kIpv4, batch, options()))) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) continue;
      order += (message.header.nlmsg_type & 0xff) == NFT_MSG_DELRULE ? 'r' : 'c';
    }
    CPPUNIT_ASSERT_EQUAL(std::string("rrcc"), order);
  }

 private:
  static EncodeOptions options() {
    EncodeOptions made;
    made.table = "kube-proxy";
    return made;
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(EncoderTest);

}  // namespace encoder_test
}  // namespace sluice::nftables
