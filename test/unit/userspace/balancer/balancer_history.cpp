// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/userspace/balancer/balancer_history.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"

namespace sluice::userspace::rig {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

using Target = unsigned;  // the last bytes of the address; ports alternate
using Client = unsigned;

SocketAddress socket_address(Target target) {
  abi::Address address{};
  address.bytes[0] = 10;
  address.bytes[3] = static_cast<std::uint8_t>(1 + target / 2);
  return {abi::Family::kIpv4, address, static_cast<std::uint16_t>(80 + target % 2)};
}

abi::Address client_address(Client client) {
  abi::Address address{};
  address.bytes[14] = static_cast<std::uint8_t>(client >> 8);
  address.bytes[15] = static_cast<std::uint8_t>(client);
  return address;
}

struct Member {
  Target target = 0;
  bool gone = false;
  unsigned open = 0;
  unsigned failures = 0;
  Nanoseconds pause = 0;
  Nanoseconds until = 0;
  bool trial = false;
  EndpointPtr object;  // set when the balancer first returns it
};
using MemberPtr = std::shared_ptr<Member>;

class Model {
 public:
  Model(const BalancerSettings& settings, std::uint64_t seed) : settings_(settings), random_(seed) {}

  // Returns the removed endpoints; none if the set is unchanged.
  std::vector<MemberPtr> set_endpoints(const std::set<Target>& targets) {
    std::map<Target, MemberPtr> before;
    for (const MemberPtr& member : order_) before[member->target] = member;
    std::set<Target> old;
    for (const auto& [target, member] : before) old.insert(target);
    if (old == targets) return {};
    order_.clear();
    for (const Target target : targets) {
      MemberPtr& member = before[target];
      if (member == nullptr) member = std::make_shared<Member>();
      member->target = target;
      order_.push_back(member);
    }
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    index_ = 0;
    std::vector<MemberPtr> gone;
    for (const auto& [target, member] : before) {
      if (targets.contains(target)) continue;
      member->gone = true;
      gone.push_back(member);
    }
    std::erase_if(clients_, [](const auto& one) { return one.second.member->gone; });
    return gone;
  }

  void set_affinity(unsigned seconds) {
    if (seconds == 0) clients_.clear();
    if (seconds != 0 && affinity_ == 0) random_.next();  // seed of the table
    affinity_ = seconds;
  }

  MemberPtr next(Client client, Nanoseconds now, const std::vector<MemberPtr>& tried) {
    advance(now);
    if (order_.empty()) return nullptr;
    MemberPtr chosen;
    if (affinity_ != 0 && tried.empty() && clients_.contains(client)) {
      const Remembered& known = clients_[client];
      const bool stays = !passed_over(*known.member) || passed_over_now() == order_.size();
      if ((now_ - known.used) / kSecond < affinity_ && stays) chosen = known.member;
    }
    if (chosen == nullptr) chosen = choose(tried);
    if (affinity_ != 0) remember(client, chosen);
    if (marked(*chosen) && chosen->until <= now_) {
      chosen->trial = true;
      chosen->until = now_ + std::max(chosen->pause, Balancer::kTrialTimeout);
    }
    return chosen;
  }

  void dial_failed(Member& member, Nanoseconds now) {
    if (settings_.outliers.failures == 0) return;
    advance(now);
    if (member.gone) return;
    const Nanoseconds longest = nanoseconds(settings_.outliers.longest_pause);
    if (marked(member)) {
      if (member.until > now_ && !member.trial) return;
      member.pause = std::min(longest, member.pause * 2);
    } else {
      if (++member.failures < settings_.outliers.failures) return;
      member.pause = std::min(longest, nanoseconds(settings_.outliers.first_pause));
    }
    member.trial = false;
    member.until = now_ + member.pause;
  }

  void dial_succeeded(Member& member) {
    member.failures = 0;
    member.trial = false;
  }

  void dial_abandoned(Member& member) {
    if (member.trial) member.until = 0;
    member.trial = false;
  }

  void purge(Nanoseconds now) {
    if (affinity_ == 0) return;
    advance(now);
    std::erase_if(clients_, [&](const auto& one) { return (now_ - one.second.used) / kSecond >= affinity_; });
  }

  std::size_t endpoints() const { return order_.size(); }
  std::size_t affinity_clients() const { return clients_.size(); }
  std::size_t passed_over_now() const {
    return static_cast<std::size_t>(
        std::count_if(order_.begin(), order_.end(), [&](const MemberPtr& member) { return passed_over(*member); }));
  }
  Nanoseconds now() const { return now_; }

 private:
  struct Remembered {
    MemberPtr member;
    Nanoseconds used = 0;
    std::uint64_t turn = 0;
  };

  static Nanoseconds nanoseconds(std::chrono::milliseconds time) {
    return static_cast<Nanoseconds>(std::chrono::nanoseconds(time).count());
  }
  void advance(Nanoseconds now) { now_ = std::max(now_, now); }
  bool marked(const Member& member) const {
    return settings_.outliers.failures != 0 && member.failures >= settings_.outliers.failures;
  }
  bool passed_over(const Member& member) const { return marked(member) && member.until > now_; }

  MemberPtr choose(const std::vector<MemberPtr>& tried) {
    const auto rank = [&](const MemberPtr& member) {
      const bool again = std::find(tried.begin(), tried.end(), member) != tried.end();
      return (again ? 2 : 0) + (passed_over(*member) ? 1 : 0);
    };
    if (settings_.balance == Balance::kTwoChoices) {
      int best = 3;
      for (const MemberPtr& member : order_) best = std::min(best, rank(member));
      std::vector<MemberPtr> candidates;
      for (const MemberPtr& member : order_) {
        if (rank(member) == best) candidates.push_back(member);
      }
      if (candidates.size() == 1) return candidates[0];
      const MemberPtr first = candidates[random_.below(candidates.size())];
      std::erase(candidates, first);
      const MemberPtr second = candidates[random_.below(candidates.size())];
      return first->open <= second->open ? first : second;
    }
    std::vector<MemberPtr> from_index(order_);
    std::rotate(from_index.begin(), from_index.begin() + static_cast<std::ptrdiff_t>(index_), from_index.end());
    const bool least = settings_.balance == Balance::kLeastConnections;
    const MemberPtr chosen =
        *std::min_element(from_index.begin(), from_index.end(), [&](const MemberPtr& a, const MemberPtr& b) {
          return std::pair(rank(a), least ? a->open : 0) < std::pair(rank(b), least ? b->open : 0);
        });
    const auto position = std::find(order_.begin(), order_.end(), chosen) - order_.begin();
    index_ = (static_cast<std::size_t>(position) + 1) % order_.size();
    return chosen;
  }

  void remember(Client client, const MemberPtr& member) {
    if (!clients_.contains(client) && clients_.size() == settings_.max_affinity_clients) {
      clients_.erase(std::min_element(clients_.begin(), clients_.end(),
                                      [](const auto& a, const auto& b) { return a.second.turn < b.second.turn; }));
    }
    clients_[client] = {member, now_, ++turn_};
  }

  const BalancerSettings settings_;
  Random random_;
  Nanoseconds now_ = 0;
  std::vector<MemberPtr> order_;
  std::size_t index_ = 0;
  unsigned affinity_ = 0;
  std::map<Client, Remembered> clients_;
  std::uint64_t turn_ = 0;
};

class History {
 public:
  explicit History(const Choose& choose)
      : choose_(choose),
        settings_(choose_settings()),
        seed_(choose(1000)),
        clients_(choose(4) == 0 ? 3000 : 10),
        balancer_(settings_, seed_),
        model_(settings_, seed_) {}

  std::string run(std::size_t steps) {
    if (choose_(3) != 0) set_affinity();
    for (std::size_t i = 0; i < steps && problem_.empty(); ++i) {
      step();
      if (problem_.empty()) compare_counts();
    }
    return problem_.empty() ? "" : problem_ + "; after " + log_;
  }

 private:
  std::size_t one_of(std::initializer_list<std::size_t> choices) { return choices.begin()[choose_(choices.size())]; }

  BalancerSettings choose_settings() {
    BalancerSettings out;
    out.balance = static_cast<Balance>(choose_(3));
    out.outliers.failures = static_cast<unsigned>(choose_(4));
    out.outliers.first_pause = std::chrono::milliseconds(one_of({1, 1000, 3000, 20000}));
    out.outliers.longest_pause = std::chrono::milliseconds(one_of({1, 5000, 60000}));
    out.max_affinity_clients = one_of({1, 3, 8, 100, 100000});
    return out;
  }

  void step() {
    switch (choose_(16)) {
      case 0:
        return set_endpoints();
      case 1:
        if (choose_(4) == 0) return set_affinity();
        return advance();
      case 2:
      case 3:
        return advance();
      case 4:
        note("purge");
        balancer_.purge(now_);
        return model_.purge(now_);
      case 5:
      case 6:
      case 7:
        return outcome();
      case 8:
        return connect_with_retries();
      case 9:
        for (int i = 0; i < 40 && problem_.empty(); ++i) next({}, {});
        return;
      default:
        next({}, {});
    }
  }

  void note(const std::string& what) {
    log_ += (log_.empty() ? "" : ", ") + what;
    if (log_.size() > 4000) log_ = "… " + log_.substr(2000);
  }
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = what;
  }

  void advance() {
    // Whole pauses and affinity timeouts, one nanosecond less, and more than all of them; sometimes backwards.
    const std::size_t seconds = one_of({0, 0, 1, 1, 2, 3, 5, 10, 20, 60, 300});
    const std::size_t rest = one_of({0, 1, kSecond - 1, kSecond / 2, 1'000'000});
    if (choose_(10) == 0)
      now_ -= std::min<Nanoseconds>(now_, kSecond);
    else
      now_ += seconds * kSecond + rest;
    note("time " + std::to_string(now_));
  }

  void set_endpoints() {
    std::set<Target> targets;
    const std::size_t most = one_of({0, 1, 2, 4, 8, 40});
    for (std::size_t i = 0; i < most; ++i) targets.insert(static_cast<Target>(choose_(most + 1)));
    if (choose_(4) == 0) targets = targets_;
    targets_ = targets;
    std::vector<SocketAddress> list;
    for (const Target target : targets) list.push_back(socket_address(target));
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[choose_(i)]);
    if (!list.empty() && choose_(3) == 0) list.push_back(list.front());
    note("endpoints " + std::to_string(list.size()));

    const std::size_t before = model_.endpoints();
    std::vector<MemberPtr> expected = model_.set_endpoints(targets);
    const Balancer::Change change = balancer_.set_endpoints(list);
    if (change.changed != (!expected.empty() || before != targets.size())) fail("changed is wrong");
    if (change.gone.size() != expected.size()) return fail("other endpoints are gone");
    for (const MemberPtr& member : expected) {
      const auto found = std::find_if(change.gone.begin(), change.gone.end(), [&](const EndpointPtr& endpoint) {
        return is(endpoint, *member) && (member->object == nullptr || member->object == endpoint);
      });
      if (found == change.gone.end()) return fail("a removed endpoint is not reported");
      if (!(*found)->retired()) fail("an endpoint that is gone is not retired");
    }
  }

  void set_affinity() {
    const auto seconds = static_cast<std::uint32_t>(one_of({0, 1, 3, 10, 100}));
    note("affinity " + std::to_string(seconds));
    balancer_.set_affinity(seconds);
    model_.set_affinity(seconds);
  }

  static bool is(const EndpointPtr& endpoint, const Member& member) {
    const SocketAddress expected = socket_address(member.target);
    return endpoint->target().port() == expected.port() &&
           endpoint->target().address().bytes[3] == expected.address().bytes[3];
  }

  MemberPtr next(const std::vector<MemberPtr>& tried, const std::vector<EndpointPtr>& tried_objects) {
    const auto client = static_cast<Client>(choose_(clients_));
    const MemberPtr expected = model_.next(client, now_, tried);
    const EndpointPtr given = balancer_.next(client_address(client), now_, tried_objects);
    note("next " + std::to_string(client) + (tried.empty() ? "" : " again"));
    if (given == nullptr || expected == nullptr) {
      if (given != nullptr || expected != nullptr) fail("an endpoint from an empty list, or none from another");
      return nullptr;
    }
    if (!is(given, *expected)) fail("another endpoint than expected");
    if (given->retired()) fail("a retired endpoint was given");
    if (expected->object == nullptr)
      returned_.push_back(expected);
    else if (expected->object != given)
      fail("another object for the same endpoint");
    expected->object = given;
    if (choose_(2) == 0) {
      given->connected();
      ++expected->open;
    } else if (expected->open > 0 && choose_(2) == 0) {
      given->disconnected();
      --expected->open;
    }
    return expected;
  }

  void report_outcome(const MemberPtr& member, std::size_t how) {
    switch (how) {
      case 0:
        balancer_.dial_succeeded(member->object);
        return model_.dial_succeeded(*member);
      case 1:
        balancer_.dial_abandoned(member->object);
        return model_.dial_abandoned(*member);
      default:
        balancer_.dial_failed(member->object, now_);
        return model_.dial_failed(*member, now_);
    }
  }

  // Reports the outcome of a dial of any endpoint returned so far, including retired ones.
  void outcome() {
    if (returned_.empty()) return;
    const std::size_t recent = std::min<std::size_t>(returned_.size(), 8);
    const MemberPtr member = returned_[returned_.size() - 1 - choose_(recent)];
    const std::size_t how = choose_(6);
    note((how == 0 ? "success " : how == 1 ? "abandoned " : "failure ") + std::to_string(member->target));
    report_outcome(member, how);
  }

  void connect_with_retries() {
    std::vector<MemberPtr> tried;
    std::vector<EndpointPtr> objects;
    for (std::size_t left = 1 + choose_(6); left-- > 0 && problem_.empty();) {
      const MemberPtr member = next(tried, objects);
      if (member == nullptr) return;
      report_outcome(member, 2);
      tried.push_back(member);
      objects.push_back(member->object);
      if (choose_(8) == 0) set_endpoints();
    }
  }

  void compare_counts() {
    if (balancer_.endpoints() != model_.endpoints()) fail("another number of endpoints");
    if (balancer_.affinity_clients() != model_.affinity_clients()) {
      fail("clients: " + std::to_string(balancer_.affinity_clients()) + ", expected " +
           std::to_string(model_.affinity_clients()));
    }
    if (balancer_.passed_over(model_.now()) != model_.passed_over_now()) fail("another number is passed over");
  }

  const Choose& choose_;
  const BalancerSettings settings_;
  const std::uint64_t seed_;
  const std::size_t clients_;
  Balancer balancer_;
  Model model_;
  Nanoseconds now_ = 0;
  std::set<Target> targets_;
  std::vector<MemberPtr> returned_;
  std::string log_;
  std::string problem_;
};

}  // namespace

std::string run_balancer_history(const Choose& choose, std::size_t steps) { return History(choose).run(steps); }

}  // namespace sluice::userspace::rig
