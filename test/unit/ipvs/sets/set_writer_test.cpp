// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_writer.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "test/unit/ipvs/fake_set_kernel.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::ipvs {
namespace set_writer_test {

using abi::Family;
using test::FakeSetKernel;

constexpr SetId kSet = SetId::kClusterIp;
const std::string kName = "KUBE-CLUSTER-IP";
const std::string kSpare = "KUBE-CLUSTER-IP-N";

SetItem item(std::uint32_t n, SetId set = kSet) {
  SetItem made{set, {}};
  const SetType type = spec(set).type;
  if (type != SetType::kIp) made.entry.port = static_cast<std::uint16_t>(1 + n % 60000);
  if (type == SetType::kPorts) return made;
  made.entry.address = {
      {10, static_cast<std::uint8_t>(n >> 16), static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)}};
  if (type == SetType::kIp) return made;
  made.entry.protocol = abi::Protocol::kTcp;
  if (type == SetType::kIpPort) return made;
  made.entry.other = made.entry.address;
  made.entry.other_length = 32;
  return made;
}

std::vector<SetItem> items(std::uint32_t from, std::uint32_t to, SetId set = kSet) {
  std::vector<SetItem> made;
  for (std::uint32_t n = from; n < to; ++n) made.push_back(item(n, set));
  return made;
}

class SetWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SetWriterTest);
  CPPUNIT_TEST(read_back_creates_nothing);
  CPPUNIT_TEST(missing_sets_are_created);
  CPPUNIT_TEST(no_difference_costs_nothing);
  CPPUNIT_TEST(only_the_difference_is_written);
  CPPUNIT_TEST(a_set_of_another_type_is_replaced);
  CPPUNIT_TEST(a_set_of_another_type_that_is_used_is_swapped);
  CPPUNIT_TEST(a_set_that_cannot_be_replaced_is_an_error);
  CPPUNIT_TEST(a_shortage_while_replacing_stays_a_shortage);
  CPPUNIT_TEST(unreadable_entries_are_removed);
  CPPUNIT_TEST(a_full_set_grows);
  CPPUNIT_TEST(a_set_with_little_room_grows);
  CPPUNIT_TEST(a_rejected_entry_does_not_stop_the_others);
  CPPUNIT_TEST(bitmaps_never_fill_up);
  CPPUNIT_TEST(every_step_of_a_growth_may_fail);
  CPPUNIT_TEST(every_call_of_a_refresh_may_fail);
  CPPUNIT_TEST(a_temporary_set_in_use_is_not_reused);
  CPPUNIT_TEST(drift_is_found);
  CPPUNIT_TEST(a_replaced_entry_is_found_within_the_sweep);
  CPPUNIT_TEST(checking_for_drift_is_cheap);
  CPPUNIT_TEST(a_kernel_without_counts_is_compared);
  CPPUNIT_TEST(removal_waits_for_rules);
  CPPUNIT_TEST(removal_empties_what_is_used);
  CPPUNIT_TEST(removal_keeps_claimed_sets);
  CPPUNIT_TEST(random_histories_end_as_the_model);
  CPPUNIT_TEST_SUITE_END();

  FakeSetKernel kernel_{Family::kIpv4};
  unsigned waited_ = 0;
  SetWriter writer_{kernel_, Family::kIpv4, [this](std::chrono::milliseconds) { ++waited_; }};

  std::string drift() {
    for (unsigned i = 0; i < SetWriter::kSweep; ++i) {
      if (const auto found = writer_.find_drift()) return *found;
    }
    return "";
  }
  void assert_as_held() {
    for (const SetId set : all_sets()) {
      const auto& there = kernel_.held(set);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(set_name(set, Family::kIpv4), there.size(), writer_.held(set).size());
      for (const SetEntry& entry : there) CPPUNIT_ASSERT(writer_.held(set).count(entry) == 1);
    }
  }
  template <class Body>
  static std::string thrown(const Body& body) {
    try {
      body();
    } catch (const sdk::Failure& failure) {
      return std::to_string(static_cast<int>(failure.code())) + " " + failure.object() + ": " + failure.what();
    }
    return "";
  }
  static void assert_has(const std::string& text, const std::string& part) {
    CPPUNIT_ASSERT_MESSAGE("\"" + text + "\" has no \"" + part + "\"", text.find(part) != std::string::npos);
  }

 public:
  void read_back_creates_nothing() {
    writer_.read_back();
    CPPUNIT_ASSERT(kernel_.sets.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
    kernel_.sets[kName] = {"hash:ip,port", Family::kIpv4, 10, {item(1).entry}};
    kernel_.sets["KUBE-IPVS-IPS"] = {"list:set", Family{}, 10, {item(1).entry}};
    writer_.read_back();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, writer_.held(kSet).size());
    CPPUNIT_ASSERT_EQUAL(1U << 1, writer_.filled());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
  }

  void missing_sets_are_created() {
    writer_.refresh();
    CPPUNIT_ASSERT_EQUAL(kSets, kernel_.sets.size());
    CPPUNIT_ASSERT_EQUAL(std::string("hash:ip,port"), kernel_.sets[kName].type);
    CPPUNIT_ASSERT_EQUAL(65536U, kernel_.sets[kName].maxelem);
    CPPUNIT_ASSERT_EQUAL(0U, writer_.filled());
    writer_.add({item(1), item(2, SetId::kNodePortTcp)});
    CPPUNIT_ASSERT_EQUAL(1U << 1 | 1U << 9, writer_.filled());
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
  }

  void no_difference_costs_nothing() {
    writer_.refresh();
    writer_.add(items(0, 10));
    const std::size_t calls = kernel_.calls.size();
    writer_.add(items(3, 7));
    writer_.add({});
    writer_.remove(items(10, 20));
    writer_.remove({});
    CPPUNIT_ASSERT_EQUAL(calls, kernel_.calls.size());
  }

  void only_the_difference_is_written() {
    writer_.refresh();
    writer_.add(items(0, 10));
    SetWriter next(kernel_, Family::kIpv4);
    next.refresh();
    CPPUNIT_ASSERT(next.held(kSet) == writer_.held(kSet));
    const std::uint64_t changes = kernel_.changes;
    next.add(items(5, 12));
    next.remove(items(0, 2));
    CPPUNIT_ASSERT_EQUAL(changes + 4, kernel_.changes);
    CPPUNIT_ASSERT_EQUAL(std::size_t{10}, kernel_.held(kSet).size());
  }

  void a_set_of_another_type_is_replaced() {
    kernel_.sets[kName] = {"hash:ip", Family::kIpv4, 65536, {item(1).entry}};
    kernel_.sets["KUBE-IPVS-IPS"] = {"hash:ip", Family::kIpv6, 65536, {item(1).entry}};
    writer_.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("hash:ip,port"), kernel_.sets[kName].type);
    CPPUNIT_ASSERT(kernel_.sets["KUBE-IPVS-IPS"].family == Family::kIpv4);
    assert_as_held();
    CPPUNIT_ASSERT_EQUAL(kSets, kernel_.sets.size());
  }

  void a_set_of_another_type_that_is_used_is_swapped() {
    // Differs in its options only, which the fake's swap does not compare.
    kernel_.sets[kName] = {"hash:ip,port", Family::kIpv4, 65536, {item(1).entry}};
    kernel_.used.insert(kName);
    class Options final : public SetKernel {
     public:
      explicit Options(FakeSetKernel& kernel) : kernel_(kernel) {}
      std::optional<SetHeader> header(const std::string& name) override {
        auto header = kernel_.header(name);
        if (name == kName && !swapped) header->type += " with timeout 300";
        return header;
      }
      bool has_counts() override { return true; }
      std::vector<SetEntry> entries(const std::string& name, SetType type) override {
        return kernel_.entries(name, type);
      }
      void create(const std::string& name, SetType type, std::uint32_t most) override {
        kernel_.create(name, type, most);
      }
      std::vector<RefusedEntry> add(const std::string& name, SetType type, const std::vector<SetEntry>& all) override {
        return kernel_.add(name, type, all);
      }
      void remove(const std::string& name, SetType type, const std::vector<SetEntry>& all) override {
        kernel_.remove(name, type, all);
      }
      void swap(const std::string& one, const std::string& other) override { kernel_.swap(one, other), swapped = true; }
      bool destroy(const std::string& name) override { return kernel_.destroy(name); }
      std::uint64_t messages() const override { return kernel_.messages(); }
      std::uint64_t waited() const override { return 0; }
      bool swapped = false;

     private:
      FakeSetKernel& kernel_;
    } options(kernel_);
    SetWriter writer(options, Family::kIpv4);
    writer.refresh();
    CPPUNIT_ASSERT(options.swapped);
    CPPUNIT_ASSERT(writer.held(kSet).empty() && kernel_.held(kSet).empty());
    CPPUNIT_ASSERT_EQUAL(kSets, kernel_.sets.size());
  }

  void a_set_that_cannot_be_replaced_is_an_error() {
    kernel_.sets[kName] = {"hash:ip", Family::kIpv4, 65536, {}};
    kernel_.used.insert(kName);
    const std::string error = thrown([&] { writer_.refresh(); });
    assert_has(error, "6 " + kName + ": set " + kName + " is of type hash:ip and not hash:ip,port");
    assert_has(error, "delete that rule");
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, kernel_.sets.count(kSpare));
    kernel_.sets[kName] = {"hash:ip,port", Family::kIpv6, 65536, {}};
    assert_has(thrown([&] { writer_.refresh(); }), "is for the other IP family");
    kernel_.used.clear();
    writer_.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
  }

  void a_shortage_while_replacing_stays_a_shortage() {
    kernel_.sets[kName] = {"hash:ip", Family::kIpv4, 65536, {}};
    kernel_.used.insert(kName);
    kernel_.fail_call = "swap";
    assert_has(thrown([&] { writer_.refresh(); }), "1 : the kernel is short of memory");
  }

  void unreadable_entries_are_removed() {
    writer_.refresh();
    writer_.add(items(0, 5));
    kernel_.unreadable.insert(item(3).entry);
    writer_.refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, kernel_.held(kSet).size());
    assert_as_held();
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
  }

  void a_full_set_grows() {
    writer_.refresh();
    writer_.add(items(0, 65536));
    kernel_.used.insert(kName);
    kernel_.calls.clear();
    writer_.add(items(65530, 70000));
    const std::vector<std::string> steps{"destroy " + kSpare, "create " + kSpare, "add " + kSpare, "swap " + kSpare,
                                         "destroy " + kSpare};
    CPPUNIT_ASSERT(steps == kernel_.calls);
    CPPUNIT_ASSERT_EQUAL(131072U, kernel_.sets[kName].maxelem);
    CPPUNIT_ASSERT_EQUAL(std::size_t{70000}, kernel_.held(kSet).size());
    assert_as_held();
    CPPUNIT_ASSERT_EQUAL(kSets, kernel_.sets.size());
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
    writer_.add(items(70000, 140000));
    CPPUNIT_ASSERT_EQUAL(262144U, kernel_.sets[kName].maxelem);
  }

  void a_set_with_little_room_grows() {
    kernel_.sets[kName] = {"hash:ip,port", Family::kIpv4, 10, {item(1).entry}};
    writer_.refresh();
    writer_.add(items(0, 10));
    CPPUNIT_ASSERT_EQUAL(10U, kernel_.sets[kName].maxelem);
    writer_.add(items(10, 11));
    CPPUNIT_ASSERT_EQUAL(65536U, kernel_.sets[kName].maxelem);
    assert_as_held();
  }

  void a_rejected_entry_does_not_stop_the_others() {
    writer_.refresh();
    SetItem null{SetId::kIpvsAddresses, {}};
    std::vector<SetItem> mixed = items(1, 4, SetId::kIpvsAddresses);
    mixed.insert(mixed.begin() + 1, null);
    mixed.push_back(item(9));
    writer_.add(mixed);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, kernel_.held(SetId::kIpvsAddresses).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_.held(kSet).size());
    assert_as_held();
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, writer_.refused().size());
    CPPUNIT_ASSERT_EQUAL(std::string("cannot add 0.0.0.0 to set KUBE-IPVS-IPS: refused"), writer_.refused().at(null));
    writer_.remove({null});
    CPPUNIT_ASSERT(writer_.refused().empty());
    // A set that grows meanwhile swaps in its present entries.
    kernel_.sets[kName].maxelem = 10;
    kernel_.refuse.insert(to_string(item(3).entry, SetType::kIpPort, Family::kIpv4));
    writer_.refresh();
    writer_.add(items(0, 20));
    CPPUNIT_ASSERT_EQUAL(std::size_t{19}, kernel_.held(kSet).size());
    assert_as_held();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, writer_.refused().count(item(3)));
    kernel_.refuse.clear();
    writer_.refresh();
    CPPUNIT_ASSERT(writer_.refused().empty());
    writer_.add(items(0, 20));
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, kernel_.held(kSet).size());
  }

  void bitmaps_never_fill_up() {
    writer_.refresh();
    writer_.add(items(0, 60000, SetId::kNodePortTcp));
    CPPUNIT_ASSERT_EQUAL(std::size_t{60000}, kernel_.held(SetId::kNodePortTcp).size());
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
  }

  // An exception, or the end of the process, at each step; the next process begins with a refresh.
  void every_step_of_a_growth_may_fail() {
    for (std::size_t step = 0;; ++step) {
      FakeSetKernel kernel(Family::kIpv4);
      kernel.used.insert(kName);
      kernel.sets[kName] = {"hash:ip,port", Family::kIpv4, 10, {}};
      SetWriter writer(kernel, Family::kIpv4);
      writer.refresh();
      writer.add(items(0, 10));
      kernel.fail_call = "";
      kernel.fail_after = step;
      const bool failed = !thrown([&] { writer.add(items(10, 20)); }).empty();
      CPPUNIT_ASSERT(kernel.held(kSet).size() >= 10);  // no packet met an incomplete set
      if (!failed) {
        CPPUNIT_ASSERT(step == 5);
        return;
      }
      SetWriter next(kernel, Family::kIpv4);
      for (SetWriter* const one : {&writer, &next}) {
        one->refresh();
        one->add(items(0, 20));
        CPPUNIT_ASSERT(one->held(kSet).size() == 20 && kernel.held(kSet).size() == 20);
        CPPUNIT_ASSERT_EQUAL(kSets, kernel.sets.size());
        CPPUNIT_ASSERT(!one->find_drift() && !one->find_drift());
      }
    }
  }

  void every_call_of_a_refresh_may_fail() {
    std::size_t failures = 0;
    for (std::size_t step = 0;; ++step) {
      FakeSetKernel kernel(Family::kIpv4);
      kernel.sets[kName] = {"hash:ip,port", Family::kIpv4, 100, {item(1).entry}};
      kernel.sets["KUBE-LOOP-BACK"] = {"hash:ip", Family::kIpv4, 100, {item(1).entry}};
      kernel.used.insert(kName);
      kernel.fail_call = "";
      kernel.fail_after = step;
      SetWriter writer(kernel, Family::kIpv4);
      const bool failed = !thrown([&] { writer.refresh(); }).empty();
      failures += failed;
      if (failed) writer.refresh();
      CPPUNIT_ASSERT(kernel.sets.size() == kSets && writer.held(kSet).size() == 1 && writer.filled() == 1U << 1);
      if (!failed) break;
    }
    CPPUNIT_ASSERT(failures > 3 * kSets);
  }

  void a_temporary_set_in_use_is_not_reused() {
    kernel_.sets[kName] = {"hash:ip,port", Family::kIpv4, 10, {}};
    kernel_.sets[kSpare] = {"hash:ip,port", Family::kIpv4, 65536, {item(99).entry}};
    kernel_.used.insert(kSpare);
    writer_.refresh();
    assert_has(thrown([&] { writer_.add(items(0, 20)); }), "1 " + kSpare + ": set " + kSpare + " is in use");
    CPPUNIT_ASSERT(kernel_.held(kSet).empty());
    kernel_.uses_left = 3;  // another process lists it for a while
    writer_.refresh();
    writer_.add(items(0, 20));
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, kernel_.held(kSet).size());
    assert_as_held();
  }

  void drift_is_found() {
    writer_.refresh();
    writer_.add(items(0, 5));
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
    auto& set = kernel_.sets[kName];
    set.entries.erase(item(3).entry);
    CPPUNIT_ASSERT_EQUAL("set " + kName + " has 4 entries instead of 5", drift());
    set.type = "hash:ip";
    CPPUNIT_ASSERT_EQUAL("set " + kName + " is of another type (hash:ip)", drift());
    kernel_.sets.erase(kName);
    CPPUNIT_ASSERT_EQUAL("set " + kName + " is gone", drift());
    kernel_.sets.erase("KUBE-IPVS-IPS");
    CPPUNIT_ASSERT_EQUAL("set " + kName + " is gone, and 1 more set has drifted", drift());
    kernel_.sets.clear();
    CPPUNIT_ASSERT_EQUAL(std::string("set KUBE-LOOP-BACK is gone, and 17 more sets have drifted"), drift());
    writer_.refresh();
    writer_.add(items(0, 5));
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
  }

  void a_replaced_entry_is_found_within_the_sweep() {
    writer_.refresh();
    for (const SetId set : all_sets()) {
      writer_.add(items(0, 5, set));
      CPPUNIT_ASSERT_EQUAL(std::string(), drift());
      auto& entries = kernel_.sets[set_name(set, Family::kIpv4)].entries;
      entries.erase(item(2, set).entry);
      entries.insert(item(9, set).entry);
      assert_has(drift(), "set " + set_name(set, Family::kIpv4) + " lacks 1 entries and has 1 foreign ones");
      entries.insert(item(2, set).entry);
      entries.erase(item(9, set).entry);
    }
  }

  void checking_for_drift_is_cheap() {
    writer_.refresh();
    writer_.add(items(0, 100));
    const std::uint64_t reads = kernel_.reads, dumps = kernel_.dumps, messages = kernel_.messages();
    for (unsigned i = 0; i < SetWriter::kSweep; ++i) CPPUNIT_ASSERT(!writer_.find_drift());
    CPPUNIT_ASSERT_EQUAL(reads + SetWriter::kSweep * kSets, kernel_.reads);
    CPPUNIT_ASSERT_EQUAL(dumps + kSets, kernel_.dumps);
    CPPUNIT_ASSERT_EQUAL(messages, kernel_.messages());
  }

  void a_kernel_without_counts_is_compared() {
    kernel_.counts = false;
    writer_.refresh();
    writer_.add(items(0, 5));
    writer_.refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, writer_.held(kSet).size());
    CPPUNIT_ASSERT_EQUAL(std::string(), drift());
    kernel_.sets[kName].entries.clear();
    assert_has(drift(), "lacks 5 entries");
  }

  void removal_waits_for_rules() {
    writer_.refresh();
    writer_.add(items(0, 5));
    kernel_.used.insert(kName);
    kernel_.uses_left = 3;
    CPPUNIT_ASSERT(writer_.remove_all([](const std::string&) { return false; }).empty());
    CPPUNIT_ASSERT(kernel_.sets.empty() && writer_.filled() == 0);
    CPPUNIT_ASSERT_EQUAL(3U, waited_);
  }

  void removal_empties_what_is_used() {
    writer_.refresh();
    writer_.add(items(0, 5));
    kernel_.used.insert(kName);
    kernel_.used.insert("KUBE-IPVS-IPS");
    const std::vector<std::string> used{kName, "KUBE-IPVS-IPS"};
    CPPUNIT_ASSERT(used == writer_.remove_all([](const std::string&) { return false; }));
    CPPUNIT_ASSERT(kernel_.sets.size() == 2 && kernel_.held(kSet).empty());
    CPPUNIT_ASSERT(waited_ <= 50);  // for all of them together
  }

  void removal_keeps_claimed_sets() {
    writer_.refresh();
    writer_.add(items(0, 5));
    kernel_.sets["FOREIGN"];
    kernel_.sets[kSpare];
    CPPUNIT_ASSERT(writer_.remove_all([](const std::string& name) { return name == kName; }).empty());
    CPPUNIT_ASSERT(kernel_.sets.size() == 2 && kernel_.sets.count("FOREIGN") == 1 && kernel_.held(kSet).size() == 5);
    CPPUNIT_ASSERT_EQUAL(0U, waited_);
  }

  // Items come and go, other programs interfere, calls fail, processes end; the wanted entries exist at the end.
  void random_histories_end_as_the_model() {
    std::mt19937 random(7);
    const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    for (unsigned history = 0; history < test::repetitions(60); ++history) {
      FakeSetKernel kernel(Family::kIpv4);
      for (const SetId set : all_sets()) {
        const SetType type = spec(set).type;
        if (type != SetType::kPorts && below(2) == 0) {
          kernel.sets[set_name(set, Family::kIpv4)] = {std::string(type_name(type)), Family::kIpv4, 20 + below(20), {}};
        }
      }
      auto writer = std::make_unique<SetWriter>(kernel, Family::kIpv4);
      std::set<SetItem> wanted;
      bool stale = true;
      for (int step = 0; step < 100; ++step) {
        const SetId set = all_sets()[below(kSets)];
        auto& there = kernel.sets;
        switch (below(12)) {
          case 0:
            if (there.count(set_name(set, Family::kIpv4)) != 0) there[set_name(set, Family::kIpv4)].entries.clear();
            stale = true;
            break;
          case 1:
            there.erase(set_name(set, Family::kIpv4)), stale = true;
            break;
          case 2:
            writer = std::make_unique<SetWriter>(kernel, Family::kIpv4), stale = true;
            break;
          case 3:
            kernel.fail_call = "", kernel.fail_after = below(60);
            break;
          default:
            break;
        }
        std::set<SetItem> add, remove;
        for (const SetItem& one : items(below(100), below(100), set)) (below(2) == 0 ? add : remove).insert(one);
        for (const SetItem& one : add) wanted.insert(one);
        for (const SetItem& one : remove) wanted.erase(one);
        for (bool done = false; !done;) {
          done = thrown([&] {
                   if (stale) {
                     writer->refresh();
                     add = wanted, remove.clear();
                     for (const SetId each : all_sets()) {
                       for (const SetEntry& entry : writer->held(each)) {
                         if (wanted.count({each, entry}) == 0) remove.insert({each, entry});
                       }
                     }
                   }
                   writer->add({add.begin(), add.end()});
                   writer->remove({remove.begin(), remove.end()});
                 }).empty();
          stale = !done;
        }
        std::vector<SetItem> held;
        for (const SetId each : all_sets()) {
          for (const SetEntry& entry : kernel.held(each)) held.push_back({each, entry});
        }
        CPPUNIT_ASSERT_EQUAL(wanted.size(), held.size());
        CPPUNIT_ASSERT(std::equal(wanted.begin(), wanted.end(), held.begin(), held.end()));
      }
      kernel.fail_call = "none";
      CPPUNIT_ASSERT(!writer->find_drift() && !writer->find_drift());
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(SetWriterTest);

}  // namespace set_writer_test
}  // namespace sluice::ipvs
