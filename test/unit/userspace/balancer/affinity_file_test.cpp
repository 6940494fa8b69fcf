// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity in a file: what the next process reads after an end and after a kill, and files that are
// malformed or not trusted.
#include "plugins/userspace/balancer/affinity_file.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "plugins/userspace/balancer/balancer.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace affinity_file_test {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kNow = 1000 * kSecond;
constexpr abi::Family kV4 = abi::Family::kIpv4;

abi::Address address(unsigned number) {
  abi::Address made{};
  made.bytes[0] = 10;
  made.bytes[1] = static_cast<std::uint8_t>(number >> 16);
  made.bytes[2] = static_cast<std::uint8_t>(number >> 8);
  made.bytes[3] = static_cast<std::uint8_t>(number);
  return made;
}

std::vector<SocketAddress> endpoints(unsigned count) {
  std::vector<SocketAddress> made;
  for (unsigned i = 0; i < count; ++i) {
    made.emplace_back(kV4, address(1'000'000 + i), static_cast<std::uint16_t>(80 + i));
  }
  return made;
}

class AffinityFileTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AffinityFileTest);
  CPPUNIT_TEST(clients_survive_an_end);
  CPPUNIT_TEST(clients_survive_a_kill);
  CPPUNIT_TEST(the_timeout_continues);
  CPPUNIT_TEST(moved_and_evicted_clients_are_not_in_the_file);
  CPPUNIT_TEST(lists_do_not_mix);
  CPPUNIT_TEST(a_backend_that_retires_leaves_no_file);
  CPPUNIT_TEST(a_file_in_use_is_left_alone);
  CPPUNIT_TEST(blocks_of_removed_lists_are_used_again);
  CPPUNIT_TEST(without_space_affinity_works_in_memory);
  CPPUNIT_TEST(untrusted_files_are_rejected);
  CPPUNIT_TEST(files_of_another_boot_are_ignored);
  CPPUNIT_TEST(random_bytes_bind_no_wrong_client);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    char path[] = "/tmp/affinity-file-XXXXXX";
    CPPUNIT_ASSERT(mkdtemp(path) != nullptr);
    folder_ = path;
  }
  void tearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& one : std::filesystem::directory_iterator(folder_)) found.push_back(one.path());
    return found;
  }
  std::string only_file() const {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files().size());
    return files().front();
  }

  // A list of three endpoints.
  static std::unique_ptr<Balancer> list(const std::shared_ptr<AffinityFile>& file, std::uint64_t number,
                                        std::size_t most = 100'000) {
    BalancerSettings settings;
    settings.max_affinity_clients = most;
    auto made = std::make_unique<Balancer>(settings, 7);
    made->keep_affinity(file, number);
    made->set_endpoints(endpoints(3));
    made->set_affinity(100);
    return made;
  }
  std::shared_ptr<AffinityFile> file() const { return std::make_shared<AffinityFile>(folder_, kV4); }

  using Bound = std::map<abi::Address, std::uint16_t>;
  static Bound bound(const std::vector<SavedAffinity::Client>& clients) {
    Bound found;
    for (const SavedAffinity::Client& one : clients) {
      CPPUNIT_ASSERT_MESSAGE("a client is there twice", found.emplace(one.client, one.port).second);
      CPPUNIT_ASSERT(address(1'000'000 + one.port - 80) == one.endpoint);
    }
    return found;
  }

  static Bound connect_clients(Balancer& to, unsigned from, unsigned count, Nanoseconds at) {
    Bound met;
    for (unsigned i = from; i < from + count; ++i) met[address(i)] = to.next(address(i), at)->target().port();
    return met;
  }

  // 1,000 clients of list 5; the process ends.
  Bound left_behind(Nanoseconds at = kNow) const {
    const auto kept = file();
    const auto one = list(kept, 5);
    const Bound met = connect_clients(*one, 0, 1000, at);
    kept->keep();
    return met;
  }

  void clients_survive_an_end() {
    const Bound met = left_behind();
    SavedAffinity saved(folder_, kV4, kNow + kSecond);
    CPPUNIT_ASSERT(met == bound(saved.clients(5)));
    CPPUNIT_ASSERT_EQUAL(std::string(), saved.problem());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, SavedAffinity(folder_, abi::Family::kIpv6, kNow).clients(5).size());
    saved.discard();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files().size());
  }

  void clients_survive_a_kill() {
    const pid_t child = fork();
    if (child == 0) {
      const auto one = list(file(), 5);
      for (unsigned i = 0; i < 1000; ++i) one->next(address(i), kNow);
      raise(SIGKILL);
    }
    int status = 0;
    CPPUNIT_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    CPPUNIT_ASSERT(WIFSIGNALED(status));
    SavedAffinity saved(folder_, kV4, kNow);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1000}, bound(saved.clients(5)).size());
    CPPUNIT_ASSERT_EQUAL(std::string(), saved.problem());
  }

  void the_timeout_continues() {
    {
      const auto kept = file();
      const auto one = list(kept, 5);
      connect_clients(*one, 0, 1, kNow);
      connect_clients(*one, 1, 1, kNow);
      connect_clients(*one, 1, 1, kNow + 60 * kSecond);  // renewed
      kept->keep();
    }
    SavedAffinity saved(folder_, kV4, kNow + 90 * kSecond);
    for (const SavedAffinity::Client& one : saved.clients(5)) {
      CPPUNIT_ASSERT_EQUAL(one.client == address(1) ? kNow + 60 * kSecond : kNow, one.used);
    }
  }

  void moved_and_evicted_clients_are_not_in_the_file() {
    {
      const auto kept = file();
      const auto one = list(kept, 5, 10);
      connect_clients(*one, 0, 1000, kNow);
      const EndpointPtr first = one->next(address(999), kNow);
      one->next(address(999), kNow, {&first, 1});  // another endpoint
      CPPUNIT_ASSERT_EQUAL(std::size_t{10}, one->affinity_clients());
      one->set_endpoints(std::vector{endpoints(3)[0], endpoints(3)[1]});
      CPPUNIT_ASSERT(one->affinity_clients() < 10);
      SavedAffinity nothing(folder_, kV4, kNow);  // locked
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, nothing.clients(5).size());
      std::map<abi::Address, std::uint16_t> wanted;
      for (const Balancer::Binding& binding : one->bindings(kNow)) wanted[binding.client] = binding.port;
      kept->keep();
      expected_ = wanted;
    }
    SavedAffinity saved(folder_, kV4, kNow);
    CPPUNIT_ASSERT(expected_ == bound(saved.clients(5)));
  }
  Bound expected_;

  void lists_do_not_mix() {
    const std::uint64_t one = affinity_list("shop/cart:http", abi::Protocol::kTcp, false);
    for (const std::uint64_t other : {affinity_list("shop/cart:http", abi::Protocol::kUdp, false),
                                      affinity_list("shop/cart:http", abi::Protocol::kTcp, true),
                                      affinity_list("shop/cart:https", abi::Protocol::kTcp, false)}) {
      CPPUNIT_ASSERT(one != other && other != 0);
    }
    {
      const auto kept = file();
      const auto here = list(kept, 5);
      const auto there = list(kept, 6);
      connect_clients(*here, 0, 100, kNow);
      connect_clients(*there, 50, 100, kNow);
      kept->keep();
    }
    SavedAffinity saved(folder_, kV4, kNow);
    const Bound here = bound(saved.clients(5));
    CPPUNIT_ASSERT(here.size() == 100 && here.contains(address(0)) && !here.contains(address(149)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, bound(saved.clients(6)).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, saved.clients(7).size());
  }

  void a_backend_that_retires_leaves_no_file() {
    {
      const auto one = list(file(), 5);
      connect_clients(*one, 0, 100, kNow);
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files().size());
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files().size());
    left_behind();
    AffinityFile::remove_all(folder_, kV4);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files().size());
  }

  void a_file_in_use_is_left_alone() {
    const auto one = list(file(), 5);
    connect_clients(*one, 0, 100, kNow);
    SavedAffinity saved(folder_, kV4, kNow);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, saved.clients(5).size());
    CPPUNIT_ASSERT_EQUAL(std::string(), saved.problem());
    saved.discard();
    AffinityFile::remove_all(folder_, kV4);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files().size());
  }

  void blocks_of_removed_lists_are_used_again() {
    const auto kept = file();
    std::uintmax_t size = 0;
    for (std::uint64_t number = 1; number < 50; ++number) {
      const auto one = list(kept, number);
      connect_clients(*one, 0, 4000, kNow);
      if (size == 0) size = std::filesystem::file_size(only_file());
    }
    CPPUNIT_ASSERT_EQUAL(size, std::filesystem::file_size(only_file()));
    kept->keep();
  }

  void without_space_affinity_works_in_memory() {
    const auto nowhere = std::make_shared<AffinityFile>(folder_ + "/missing", kV4);
    const auto one = list(nowhere, 5);
    const Bound met = connect_clients(*one, 0, 100, kNow);
    CPPUNIT_ASSERT(met == connect_clients(*one, 0, 100, kNow));
    CPPUNIT_ASSERT_EQUAL("in " + folder_ + "/missing: No such file or directory", nowhere->problem());
    const auto none = list(nullptr, 5);
    CPPUNIT_ASSERT(connect_clients(*none, 0, 100, kNow) == connect_clients(*none, 0, 100, kNow));
  }

  void untrusted_files_are_rejected() {
    left_behind();
    const std::string path = only_file();
    CPPUNIT_ASSERT_EQUAL(0, chmod(path.c_str(), 0620));
    expect_rejected("other users can write it");
    CPPUNIT_ASSERT_EQUAL(0, chmod(path.c_str(), 0600));
    std::filesystem::rename(path, folder_ + "/real");
    std::filesystem::create_symlink(folder_ + "/real", path);
    expect_rejected("not a regular file");
    std::filesystem::remove(path);
    CPPUNIT_ASSERT_EQUAL(0, mkfifo(path.c_str(), 0600));
    expect_rejected("not a regular file");
    std::filesystem::remove(path);
    std::filesystem::permissions(folder_ + "/real", std::filesystem::perms(0600));
    std::ofstream(path) << "A file of another program, which is longer than the header of a file of session affinity.";
    CPPUNIT_ASSERT_EQUAL(0, chmod(path.c_str(), 0600));
    expect_rejected("malformed");
    std::filesystem::resize_file(path, 10);
    expect_rejected("malformed");
    std::filesystem::resize_file(path, 0);
    expect_rejected("");
    std::filesystem::resize_file(path, std::uintmax_t{5} << 30);
    expect_rejected("too large");
  }
  void expect_rejected(const std::string& why) const {
    SavedAffinity saved(folder_, kV4, kNow);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, saved.clients(5).size());
    if (why.empty()) {
      CPPUNIT_ASSERT_EQUAL(why, saved.problem());
    } else {
      CPPUNIT_ASSERT_EQUAL(": " + why, saved.problem().substr(saved.problem().find(": ")));
    }
  }

  void files_of_another_boot_are_ignored() {
    left_behind();
    std::fstream(only_file(), std::ios::in | std::ios::out | std::ios::binary).seekp(20).put('z');
    expect_rejected("");
    // A clock that has gone back.
    for (const std::string& path : files()) std::filesystem::remove(path);
    left_behind(kNow + kSecond);
    SavedAffinity saved(folder_, kV4, kNow);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, saved.clients(5).size());
    CPPUNIT_ASSERT_EQUAL(std::string("1000 malformed records"), saved.problem());
  }

  void random_bytes_bind_no_wrong_client() {
    const Bound met = left_behind();
    const std::string path = only_file();
    std::ifstream in(path, std::ios::binary);
    const std::string intact((std::istreambuf_iterator<char>(in)), {});
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
      std::string changed = intact;
      for (int i = 0; i < 200; ++i) changed[64 + random() % (changed.size() - 64)] = static_cast<char>(random());
      if (round % 3 == 0) changed.resize(random() % changed.size());
      std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
      SavedAffinity saved(folder_, kV4, kNow);
      for (const SavedAffinity::Client& one : saved.clients(5)) {
        const auto right = met.find(one.client);
        CPPUNIT_ASSERT(right != met.end() && right->second == one.port);
      }
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AffinityFileTest);

}  // namespace affinity_file_test
}  // namespace sluice::userspace
