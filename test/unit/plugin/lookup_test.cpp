// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/lookup.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace lookup_test {

namespace fs = std::filesystem;
using test::require_contains;
using test::ZooFolder;

class LookupTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LookupTest);
  CPPUNIT_TEST(first_folder_that_has_the_file_wins);
  CPPUNIT_TEST(unknown_id_lists_available_ids);
  CPPUNIT_TEST(unknown_id_lists_none_if_nothing_is_installed);
  CPPUNIT_TEST(id_that_is_not_a_file_name_is_rejected);
  CPPUNIT_TEST(installed_daemon_searches_only_the_installed_folder);
  CPPUNIT_TEST(daemon_of_a_build_tree_searches_it_first);
  CPPUNIT_TEST(folder_named_core_is_not_a_build_tree);
  CPPUNIT_TEST_SUITE_END();

  void first_folder_that_has_the_file_wins() {
    const ZooFolder first, second;
    second.write("a.so", "");
    CPPUNIT_ASSERT_EQUAL(second.path() / "a.so", find_plugin({first.path(), second.path()}, "a").value());
    first.write("a.so", "");
    CPPUNIT_ASSERT_EQUAL(first.path() / "a.so", find_plugin({first.path(), second.path()}, "a").value());
  }

  void unknown_id_lists_available_ids() {
    const ZooFolder folder;
    for (const char* file : {"nftables.so", "ipvs.so", "notes.txt", ".hidden.so"}) folder.write(file, "");
    const lib::Status status = find_plugin({"/nonexistent", folder.path()}, "dpu").status();
    CPPUNIT_ASSERT(status.code() == lib::StatusCode::not_found);
    CPPUNIT_ASSERT_EQUAL("backend 'dpu' is not installed in /nonexistent, " + folder.path().string() +
                             "; available: ipvs, nftables",
                         status.message());
  }

  void unknown_id_lists_none_if_nothing_is_installed() {
    require_contains(find_plugin({"/nonexistent"}, "dpu").status().message(), "available: none");
  }

  void id_that_is_not_a_file_name_is_rejected() {
    for (const char* id : {"", "../etc/x", "a/b", "."}) {
      require_contains(find_plugin({"/"}, id).status().message(), "is not a plain name");
    }
  }

  void installed_daemon_searches_only_the_installed_folder() {
    CPPUNIT_ASSERT(default_folders("/usr/lib/sluice/plugins", "/usr/sbin/sluiced") ==
                   Folders{"/usr/lib/sluice/plugins"});
  }

  void daemon_of_a_build_tree_searches_it_first() {
    const ZooFolder tree;
    const fs::path build = tree.path();
    tree.write("config.status", "");
    for (const char* folder : {"core/.libs", "plugins/ipvs/.libs", "plugins/iptables/.libs", "plugins/common"}) {
      fs::create_directories(build / folder);
    }
    const Folders expected{build / "plugins/iptables/.libs", build / "plugins/ipvs/.libs", "/installed"};
    CPPUNIT_ASSERT(default_folders("/installed", build / "core/sluiced") == expected);
    CPPUNIT_ASSERT(default_folders("/installed", build / "core/.libs/sluiced") == expected);
  }

  void folder_named_core_is_not_a_build_tree() {
    const ZooFolder tree;
    fs::create_directories(tree.path() / "core");
    fs::create_directories(tree.path() / "plugins/ipvs/.libs");
    CPPUNIT_ASSERT(default_folders("/installed", tree.path() / "core/sluiced") == Folders{"/installed"});
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LookupTest);

}  // namespace lookup_test
}  // namespace sluice::plugin
