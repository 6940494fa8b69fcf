// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/descriptor.hpp"
#include "core/plugin/file_checks.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <link.h>
#include <unistd.h>


#include "test/unit/plugin/zoo_folder.hpp"
#include "test/unit/skip.hpp"

namespace sluice::plugin {
namespace file_checks_test {

namespace fs = std::filesystem;
using lib::Status;
using lib::StatusCode;
using test::require_contains;
using test::ZooFolder;

class FileChecksTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FileChecksTest);
  CPPUNIT_TEST(good_file_is_accepted_and_links_are_followed);
  CPPUNIT_TEST(relative_path_is_rejected);
  CPPUNIT_TEST(missing_file_is_rejected);
  CPPUNIT_TEST(link_out_of_the_folder_is_rejected);
  CPPUNIT_TEST(folder_with_the_same_prefix_is_outside);
  CPPUNIT_TEST(folder_instead_of_file_is_rejected);
  CPPUNIT_TEST(world_writable_file_is_rejected_even_if_relaxed);
  CPPUNIT_TEST(group_writable_file_is_rejected_unless_relaxed);
  CPPUNIT_TEST(writable_folder_is_rejected);
  CPPUNIT_TEST(writable_parent_folder_is_accepted);
  CPPUNIT_TEST(file_of_another_user_is_rejected_unless_relaxed);
  CPPUNIT_TEST(text_file_is_rejected);
  CPPUNIT_TEST(empty_file_is_rejected);
  CPPUNIT_TEST(other_machine_is_rejected);
  CPPUNIT_TEST(other_word_size_is_rejected);
  CPPUNIT_TEST(object_file_is_rejected);
  CPPUNIT_TEST(truncated_file_is_rejected);
  CPPUNIT_TEST(corrupt_section_table_is_rejected);
  CPPUNIT_TEST(shared_object_without_the_section_is_rejected);
  CPPUNIT_TEST(descriptor_checks_have_a_fixed_order);
  CPPUNIT_TEST(draft_and_newer_majors_have_their_own_remedies);
  CPPUNIT_TEST_SUITE_END();

  static Status location(const fs::path& file, const ZooFolder& folder, bool relax = false) {
    return check_location(file, {{folder.path()}, relax}).status();
  }
  static void require_refusal(const Status& status, StatusCode code, const std::string& check,
                              const std::string& remedy) {
    CPPUNIT_ASSERT_MESSAGE(status.message(), status.code() == code);
    require_contains(status.message(), check);
    require_contains(status.message(), remedy);
  }

  void good_file_is_accepted_and_links_are_followed() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    fs::create_symlink("good.so", folder.path() / "link.so");
    CPPUNIT_ASSERT_EQUAL(file, check_location(folder.path() / "link.so", {{folder.path()}, false}).value());
    CPPUNIT_ASSERT_EQUAL(std::string(), check_content(file).message());
  }

  void relative_path_is_rejected() {
    const ZooFolder folder;
    require_refusal(location("good.so", folder), StatusCode::invalid, "plugin good.so: path check",
                    "give the whole path");
  }

  void missing_file_is_rejected() {
    const ZooFolder folder;
    require_refusal(location(folder.path() / "none.so", folder), StatusCode::not_found, "none.so: path check",
                    "No such file");
  }

  void link_out_of_the_folder_is_rejected() {
    const ZooFolder folder, elsewhere;
    const fs::path outside = elsewhere.add("good");
    fs::create_symlink(outside, folder.path() / "good.so");
    const Status status = location(folder.path() / "good.so", folder);
    require_refusal(status, StatusCode::denied, "folder check", "move it there");
    require_contains(status.message(), outside.string());
  }

  void folder_with_the_same_prefix_is_outside() {
    const ZooFolder folder;
    fs::create_directory(folder.path().string() + "-old");
    const fs::path file = fs::path(folder.path().string() + "-old") / "good.so";
    fs::copy_file(folder.add("good"), file);
    require_refusal(location(file, folder), StatusCode::denied, "folder check", "outside the plugin folder");
  }

  void folder_instead_of_file_is_rejected() {
    const ZooFolder folder;
    fs::create_directory(folder.path() / "good.so");
    require_refusal(location(folder.path() / "good.so", folder), StatusCode::invalid, "type check",
                    "not a regular file");
  }

  void world_writable_file_is_rejected_even_if_relaxed() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    fs::permissions(file, fs::perms(0646));
    for (const bool relax : {false, true}) {
      require_refusal(location(file, folder, relax), StatusCode::denied,
                      "permission check: file " + file.string() + " is writable by every user (mode 0646)",
                      "run chmod go-w " + file.string());
    }
  }

  void group_writable_file_is_rejected_unless_relaxed() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    fs::permissions(file, fs::perms(0664));
    require_refusal(location(file, folder), StatusCode::denied, "is writable by its group (mode 0664)", "chmod go-w");
    CPPUNIT_ASSERT(location(file, folder, true).ok());
  }

  void writable_folder_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    fs::permissions(folder.path(), fs::perms(01777));
    require_refusal(location(file, folder), StatusCode::denied,
                    "permission check: folder " + folder.path().string() + " is writable by every user (mode 1777)",
                    "run chmod go-w " + folder.path().string());
  }

  // A clone below /tmp, or below any sticky folder, must work.
  void writable_parent_folder_is_accepted() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    fs::permissions(folder.path().parent_path(), fs::perms(01777));
    CPPUNIT_ASSERT_EQUAL(std::string(), location(file, folder).message());
  }

  void file_of_another_user_is_rejected_unless_relaxed() {
    if (geteuid() != 0) {
      test::skip("only root may give files away");
      return;
    }
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    CPPUNIT_ASSERT_EQUAL(0, chown(file.c_str(), 12345, 12345));
    require_refusal(location(file, folder), StatusCode::denied,
                    "ownership check: file " + file.string() + " belongs to user 12345, not to root",
                    "run chown root " + file.string());
    CPPUNIT_ASSERT(location(file, folder, true).ok());
  }

  void text_file_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.write("good.so", "#!/bin/sh\necho this is a text file, and not a short one\n");
    require_refusal(check_content(file), StatusCode::invalid, "format check", "not an ELF file");
  }

  void empty_file_is_rejected() {
    const ZooFolder folder;
    require_refusal(check_content(folder.write("good.so", "")), StatusCode::invalid, "format check", "not an ELF file");
  }

  void other_machine_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    ZooFolder::patch(file, offsetof(ElfW(Ehdr), e_machine), std::string("\x16\x00", 2));
    require_refusal(check_content(file), StatusCode::unsupported, "machine check: it is built for 64-bit s390",
                    "install the plugin for this machine");
  }

  void other_word_size_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    ZooFolder::patch(file, EI_CLASS, "\x01");
    require_refusal(check_content(file), StatusCode::unsupported, "machine check: it is built for 32-bit",
                    "install the plugin for this machine");
  }

  void object_file_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    ZooFolder::patch(file, offsetof(ElfW(Ehdr), e_type), std::string("\x01\x00", 2));
    require_refusal(check_content(file), StatusCode::invalid, "not a shared object", "link it with -shared");
  }

  void truncated_file_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    const std::uintmax_t whole = fs::file_size(file);
    for (const std::uintmax_t size : {std::uintmax_t{20}, std::uintmax_t{64}, whole / 2, whole - 1}) {
      fs::copy_file(test::built_zoo() / "good.so", file, fs::copy_options::overwrite_existing);
      fs::resize_file(file, size);
      const Status status = check_content(file);
      CPPUNIT_ASSERT_MESSAGE("cut at " + std::to_string(size), !status.ok() || size == whole - 1);
    }
  }

  void corrupt_section_table_is_rejected() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    ZooFolder::patch(file, offsetof(ElfW(Ehdr), e_shstrndx), std::string("\x00\x00", 2));
    require_refusal(check_content(file), StatusCode::invalid, "section table is truncated or corrupt",
                    "install the file again");
    ZooFolder::patch(file, offsetof(ElfW(Ehdr), e_shoff), "\xff\xff\xff\xff\xff\xff\xff\xff");
    require_refusal(check_content(file), StatusCode::invalid, "section table is truncated or corrupt",
                    "install the file again");
  }

  void shared_object_without_the_section_is_rejected() {
    const ZooFolder folder;
    require_refusal(check_content(folder.add("no_section")), StatusCode::invalid, "no section sluice_abi",
                    "SLUICE_PLUGIN_ENTRY");
  }

  // The first failing check is reported.
  void descriptor_checks_have_a_fixed_order() {
    abi::PluginEntry entry{};
    const auto why = [&](std::size_t size = kDescriptorHead, std::uint64_t room = sizeof(entry)) {
      return check_descriptor("x.so", &entry, size, room).message();
    };
    entry.needs_host = 1ull << 40;
    entry.major = abi::kMajor + 1;
    require_contains(why(), "magic check: sluice_plugin_entry starts with 0x0 instead of 0x30434c53");
    entry.magic = abi::kMagic;
    require_contains(why(), "version check");
    require_contains(why(8), "version check");
    entry.major = abi::kMajor;
    require_contains(why(), "size check: its descriptor has 0 bytes, at least 64");
    require_contains(why(8), "size check");
    entry.struct_size = 64;  // that of minor 0
    require_contains(why(kDescriptorHead, 63), "size check: its struct_size is 64, but the section has only 63 bytes");
    require_contains(why(), "needs check: it needs host features 0x10000000000");
    entry.needs_host = 0;
    CPPUNIT_ASSERT_EQUAL(std::string(), why());
    entry.struct_size = 72;  // a newer minor
    CPPUNIT_ASSERT_EQUAL(std::string(), why(kDescriptorHead, 72));
  }

  void draft_and_newer_majors_have_their_own_remedies() {
    abi::PluginEntry entry{};
    entry.magic = abi::kMagic;
    entry.struct_size = sizeof(entry);
    const std::string ours = std::to_string(abi::kMajor);
    for (unsigned major = 0; major < 3; ++major) {
      entry.major = static_cast<std::uint16_t>(major);
      const std::string why = check_descriptor("x.so", &entry, kDescriptorHead, sizeof(entry)).message();
      if (major == abi::kMajor) {
        CPPUNIT_ASSERT_EQUAL(std::string(), why);
        continue;
      }
      require_contains(why, "built for ABI major " + std::to_string(major) + (major == 0 ? " (a draft)" : "") + ", this sluiced (");
      require_contains(why, major > abi::kMajor ? "; install a newer sluiced, or the plugin built for ABI " + ours
                                                : "; install the plugin built for ABI " + ours + ", or build it again");
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FileChecksTest);

}  // namespace file_checks_test
}  // namespace sluice::plugin
