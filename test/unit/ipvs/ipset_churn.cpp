// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Both families at once, and a kernel that fails.
#include <dirent.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "plugins/ipvs/sets/libipset_sets.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "test/unit/ipvs/ipset_roundtrip.hpp"

namespace sluice::test {
namespace {

using namespace ipvs;
using abi::Family;
using Clock = std::chrono::steady_clock;

constexpr unsigned kOneOf = 40;
std::atomic<bool> faults{false};
std::atomic<std::uint64_t> injected{0};
std::atomic<int> refusal{0};

unsigned chance(unsigned limit) {
  static std::mutex mutex;
  static std::mt19937 random(1);
  const std::lock_guard lock(mutex);
  return static_cast<unsigned>(random() % limit);
}

// Other reads of this program are not counted: while faults are on, only libmnl reads.
bool broken() {
  if (!faults || chance(kOneOf) != 0) return false;
  ++injected;
  return true;
}

// The last message sent: a kernel that rejects a message returns it. The library lock admits one thread.
std::vector<char> sent;

// Turns an acknowledgement into an error; returns its size.
ssize_t refuse(msghdr* message, ssize_t got, int number) {
  auto* const reply = static_cast<nlmsghdr*>(message->msg_iov[0].iov_base);
  auto* const error = reinterpret_cast<nlmsgerr*>(reply + 1);
  const std::size_t size = NLMSG_LENGTH(offsetof(nlmsgerr, msg)) + sent.size();
  if (error->error != 0 || size > message->msg_iov[0].iov_len) return got;
  error->error = -number;
  std::memcpy(&error->msg, sent.data(), sent.size());
  reply->nlmsg_len = static_cast<std::uint32_t>(size);
  return static_cast<ssize_t>(size);
}

// Changes sets of one family and recovers from failures like the backend: by reading everything again.
class Churn {
 public:
  explicit Churn(Family family) : family_(family), random_(family == Family::kIpv6 ? 6 : 4) {}

  // The error; empty: none.
  std::string run(Clock::time_point end) {
    try {
      while (Clock::now() < end) {
        // A new object in each round, so that users of the session come and go.
        LibipsetSets kernel(family_);
        SetWriter writer(kernel, family_);
        stale_ = true;
        for (int step = 0; step < 30; ++step, ++steps) {
          change(writer);
          if (step % 10 != 0) continue;
          if (const auto drift = check(writer)) return *drift;
        }
      }
      return "";
    } catch (const std::exception& caught) {
      return caught.what();
    }
  }

  std::string compare() {
    LibipsetSets kernel(family_);
    SetWriter writer(kernel, family_);
    writer.read_back();
    for (const SetId set : all_sets()) {
      const auto& mine = wanted_[static_cast<std::size_t>(set)];
      bool same = mine.size() == writer.held(set).size();
      for (const std::uint32_t n : mine) same = same && writer.held(set).count(nth_entry(set, family_, n)) == 1;
      if (!same) return set_name(set, family_) + " is not as wanted";
    }
    return "";
  }

  std::uint64_t steps = 0;
  std::uint64_t failures = 0;

 private:
  void change(SetWriter& writer) {
    const SetId set = all_sets()[random_() % kSets];
    auto& mine = wanted_[static_cast<std::size_t>(set)];
    const auto from = static_cast<std::uint32_t>(random_() % 1000);
    const std::uint32_t to = from + static_cast<std::uint32_t>(random_() % 200);
    const bool adds = random_() % 2 == 0;
    for (std::uint32_t n = from; n < to; ++n) {
      if (adds)
        mine.insert(n);
      else
        mine.erase(n);
    }
    for (;;) {
      try {
        if (stale_)
          full(writer);
        else if (adds)
          writer.add(nth_items(set, family_, from, to));
        else
          writer.remove(nth_items(set, family_, from, to));
        stale_ = false;
        return;
      } catch (const sdk::Failure&) {
        if (!faults) throw;
        ++failures;
        stale_ = true;
      }
    }
  }

  void full(SetWriter& writer) {
    writer.refresh();
    std::vector<SetItem> add, remove;
    for (const SetId set : all_sets()) {
      SetContents content;
      for (const std::uint32_t n : wanted_[static_cast<std::size_t>(set)]) content.insert(nth_entry(set, family_, n));
      for (const SetEntry& entry : content) add.push_back({set, entry});
      for (const SetEntry& entry : writer.held(set)) {
        if (content.count(entry) == 0) remove.push_back({set, entry});
      }
    }
    writer.add(add);
    writer.remove(remove);
  }

  std::optional<std::string> check(SetWriter& writer) {
    try {
      return writer.find_drift();
    } catch (const sdk::Failure&) {
      if (!faults) throw;
      ++failures;
      return std::nullopt;
    }
  }

  Family family_;
  std::mt19937 random_;
  std::array<std::set<std::uint32_t>, kSets> wanted_;
  bool stale_ = true;
};

int descriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  int open = 0;
  while (readdir(folder) != nullptr) ++open;
  closedir(folder);
  return open;
}

}  // namespace

void refuse_next(int error) { refusal = error; }

int check_both_families() {
  SetTap tap;
  const int before = descriptors();
  for (const bool with_faults : {false, true}) {
    Churn four(Family::kIpv4), six(Family::kIpv6);
    faults = with_faults;
    const auto end = Clock::now() + std::chrono::seconds(3);
    std::string wrong_six;
    std::thread other([&] { wrong_six = six.run(end); });
    std::string wrong_four = four.run(end);
    other.join();
    faults = false;
    if (wrong_four.empty()) wrong_four = four.compare();
    if (wrong_six.empty()) wrong_six = six.compare();
    std::printf("# %llu and %llu changes, %llu faults, %llu failures\n", static_cast<unsigned long long>(four.steps),
                static_cast<unsigned long long>(six.steps), static_cast<unsigned long long>(injected),
                static_cast<unsigned long long>(four.failures + six.failures));
    const std::string when = with_faults ? " when system calls fail and answers get lost" : "";
    tap.check(wrong_four.empty() && four.steps > 0, "IPv4 beside IPv6 comes out as wanted" + when, wrong_four);
    tap.check(wrong_six.empty() && six.steps > 0, "IPv6 beside IPv4 comes out as wanted" + when, wrong_six);
    tap.check((injected > 0) == with_faults, with_faults ? "there were faults" : "there were none");
  }
  tap.check(descriptors() == before, "without users the session is closed");
  return tap.finish();
}

}  // namespace sluice::test

// Replace those of the C library, also for libmnl.
extern "C" ssize_t sendto(int fd, const void* buffer, std::size_t size, int flags, const sockaddr* to,
                          socklen_t length) {
  if (sluice::test::broken()) {
    errno = ENOBUFS;
    return -1;
  }
  const auto* const begin = static_cast<const char*>(buffer);
  sluice::test::sent.assign(begin, begin + size);
  return syscall(SYS_sendto, fd, buffer, size, flags, to, length);
}

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const bool fails = sluice::test::broken();
  const unsigned how = fails ? sluice::test::chance(4) : 0;
  if (fails && how == 0) {
    errno = EINTR;
    return -1;
  }
  const ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
  if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return got;
  auto* const first = static_cast<nlmsghdr*>(message->msg_iov[0].iov_base);
  const bool is_error = first->nlmsg_type == NLMSG_ERROR;
  if (is_error && sluice::test::refusal != 0) {
    return sluice::test::refuse(message, got, sluice::test::refusal.exchange(0));
  }
  if (!fails) return got;
  if (how == 1) {
    errno = ENOBUFS;  // and the answer is lost
    return -1;
  }
  if (is_error) {
    constexpr int kErrors[] = {EEXIST, ENOENT, ENOMEM, EBUSY};
    return sluice::test::refuse(message, got, kErrors[sluice::test::chance(4)]);
  }
  // Loses a part of a dump that is not the last.
  auto left = static_cast<unsigned>(got);
  for (const nlmsghdr* part = first; NLMSG_OK(part, left); part = NLMSG_NEXT(part, left)) {
    if (part->nlmsg_type == NLMSG_DONE || (part->nlmsg_flags & NLM_F_MULTI) == 0) return got;
  }
  return syscall(SYS_recvmsg, fd, message, flags);
}
