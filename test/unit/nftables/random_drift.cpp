// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "test/unit/nftables/random_subject.hpp"

namespace sluice::test {

namespace {

using namespace nftables;

class Drift {
 public:
  Drift(RandomServices& random, TableKernel& foreign, abi::Family family)
      : random_(random), foreign_(foreign), family_(family), listing_(foreign.list()) {}

  std::string make() {
    for (;;) {
      batch_ = {};
      const std::string what = attempt();
      if (what.empty()) continue;
      if (!batch_.empty()) {
        if (const auto refused = foreign_.commit(batch_); !refused.empty())
          throw std::runtime_error("the drift itself was refused: " + refused.front().what);
      }
      return what;
    }
  }

 private:
  // Returns an empty string if there is nothing to change.
  std::string attempt() {
    switch (random_.pick(10)) {
      case 0:
        return foreign_.delete_table() ? "the table is gone" : "";
      case 1:
        return dispatch();
      case 2:
        return rules();
      case 3:
        return whole_set();
      case 4:
        return elsewhere();
      case 5:
        return added();
      default:
        return some();
    }
  }

  std::size_t pick(std::size_t below) { return random_.pick(static_cast<unsigned>(below)); }
  SetId any_set() {
    return static_cast<SetId>(pick(index(SetId::kServiceTraffic)));  // sets with counters do not exist
  }
  const RecordTable& table(SetId set) const { return listing_.records[index(set)]; }

  void remove(SetId set, std::size_t place) {
    ElementWrite write;
    write.record = {set, table(set).key(place), table(set).data(place)};
    write.remove = true;
    batch_.elements.push_back(std::move(write));
  }

  std::string some() {
    const SetId set = any_set();
    if (table(set).size() == 0) return "";
    const std::size_t count = 1 + pick(std::min<std::size_t>(3, table(set).size()));
    const std::size_t first = pick(table(set).size());
    for (std::size_t i = 0; i < count; ++i) remove(set, (first + i) % table(set).size());
    return std::to_string(count) + " elements of " + set_spec(family_, set).name + " are gone";
  }

  std::string whole_set() {
    const SetId set = any_set();
    if (table(set).size() == 0) return "";
    for (std::size_t place = 0; place < table(set).size(); ++place) remove(set, place);
    return set_spec(family_, set).name + " is empty";
  }

  // An element leads to the target of another one.
  std::string elsewhere() {
    const SetId set = any_set();
    if (table(set).size() < 2) return "";
    const std::size_t first = pick(table(set).size()), second = pick(table(set).size());
    if (table(set).data(first) == table(set).data(second)) return "";
    remove(set, first);
    ElementWrite write;
    write.record = {set, table(set).key(first), table(set).data(second)};
    batch_.elements.push_back(std::move(write));
    return "an element of " + set_spec(family_, set).name + " leads elsewhere";
  }

  // An element like the existing ones, for a frontend without a service port.
  std::string added() {
    const SetId set = random_.chance(50) ? SetId::kServiceIps : SetId::kNoEndpointServices;
    FrontendKey unowned;
    unowned.address.bytes[0] = 203;
    unowned.protocol = abi::Protocol::kTcp;
    unowned.port = static_cast<std::uint16_t>(1 + pick(60000));
    ElementWrite write;
    write.record = {set, frontend_key(family_, unowned), set == SetId::kServiceIps ? number_data(1) : Data{}};
    batch_.elements.push_back(std::move(write));
    return "an unwanted element in " + set_spec(family_, set).name;
  }

  std::string dispatch() {
    if (listing_.dispatch.empty()) return "";
    DispatchWrite entry = listing_.dispatch[pick(listing_.dispatch.size())];
    entry.remove = true;
    batch_.dispatch.push_back(entry);
    return "the number of " + entry.chain + " is gone";
  }

  std::string rules() {
    auto chain = listing_.chains.begin();
    std::advance(chain, static_cast<std::ptrdiff_t>(pick(listing_.chains.size())));
    if (chain->second.rules.empty()) return "";
    ChainWrite write;
    write.spec.name = chain->first;
    write.spec.is_base = chain->second.is_base;
    write.spec.hook = chain->second.hook;
    batch_.chains.push_back(std::move(write));
    return "chain " + chain->first + " has no rules";
  }

  RandomServices& random_;
  TableKernel& foreign_;
  const abi::Family family_;
  const Listing listing_;
  Batch batch_;
};

}  // namespace

std::string make_drift(RandomServices& random, TableKernel& foreign, abi::Family family) {
  return Drift(random, foreign, family).make();
}

}  // namespace sluice::test
