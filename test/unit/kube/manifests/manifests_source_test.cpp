// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/manifests_source.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/store/fixtures.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace manifests_source_test {

namespace fs = std::filesystem;

std::string service(const std::string& name, const std::string& ip, const std::string& port = "80") {
  return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {clusterIP: " + ip +
         ", ports: [{port: " + port + "}]}\n---\n";
}

const std::string kBegin = "begin Service, begin EndpointSlice, begin Node, begin ServiceCIDR";
const std::string kEnd = "end Service, end EndpointSlice, end Node, end ServiceCIDR";

class ManifestsSourceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ManifestsSourceTest);
  CPPUNIT_TEST(all_lists_are_delivered_even_if_empty);
  CPPUNIT_TEST(all_files_of_a_folder_are_read);
  CPPUNIT_TEST(only_manifests_are_read);
  CPPUNIT_TEST(a_single_file_is_read);
  CPPUNIT_TEST(only_changed_objects_are_delivered);
  CPPUNIT_TEST(unchanged_files_are_not_read_again);
  CPPUNIT_TEST(other_details_make_it_list_again);
  CPPUNIT_TEST(details_are_listed_when_the_folder_is_back);
  CPPUNIT_TEST(other_details_are_noticed_by_the_thread);
  CPPUNIT_TEST(an_atomic_rename_is_one_change);
  CPPUNIT_TEST(a_config_map_swap_is_one_change);
  CPPUNIT_TEST(a_removed_file_removes_its_objects);
  CPPUNIT_TEST(a_broken_file_keeps_its_last_valid_content);
  CPPUNIT_TEST(valid_objects_of_a_file_broken_from_the_start_are_used);
  CPPUNIT_TEST(an_object_may_move_between_files);
  CPPUNIT_TEST(an_object_that_moves_is_never_missing);
  CPPUNIT_TEST(the_first_of_duplicates_by_path_is_used);
  CPPUNIT_TEST(a_vanished_folder_keeps_everything);
  CPPUNIT_TEST(a_vanished_single_file_keeps_everything);
  CPPUNIT_TEST(unreadable_files_are_retried);
  CPPUNIT_TEST(an_unreadable_file_has_no_earlier_content);
  CPPUNIT_TEST(start_fails_if_the_path_does_not_exist);
  CPPUNIT_TEST(stop_is_prompt);
  CPPUNIT_TEST(a_change_is_detected);
  CPPUNIT_TEST(check_reports_every_problem);
  CPPUNIT_TEST_SUITE_END();

 public:
  // Created here, not in the constructor: all fixtures exist at once, and each would capture the log of every test.
  void setUp() override { log_.emplace(); }
  void tearDown() override { log_.reset(); }

 private:
  std::string first() {
    const auto status = source().rescan();
    CPPUNIT_ASSERT_MESSAGE(status.message(), status.ok());
    return events_.take_text();
  }
  std::string again() { return first(); }
  ManifestsSource& source() {
    if (source_ == nullptr) source_ = std::make_unique<ManifestsSource>(path_, "node-a", events_);
    return *source_;
  }
  // Replaces a file like an editor or a tool.
  void replace(const std::string& name, const std::string& content) {
    fs::rename(folder_.write("." + name + ".tmp", content), folder_.path(name));
  }

  void all_lists_are_delivered_even_if_empty() {
    CPPUNIT_ASSERT_EQUAL(kBegin + ", " + kEnd, first());
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
  }

  void all_files_of_a_folder_are_read() {
    folder_.write("b.yml", service("b", "10.0.0.2"));
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    folder_.write("c.json", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})");
    CPPUNIT_ASSERT_EQUAL(kBegin + ", upsert Service default/a, upsert Service default/b, upsert Node node-a, " + kEnd,
                         first());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), source().status().files);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), source().status().objects);
  }

  void only_manifests_are_read() {
    for (const char* name : {"a.txt", ".hidden.yaml", "a.yaml~", "a.yaml.swp", "README"})
      folder_.write(name, "[broken");
    fs::create_directory(folder_.path("folder.yaml"));
    fs::create_symlink("nowhere", folder_.path("dangling.yaml"));
    CPPUNIT_ASSERT_EQUAL(kBegin + ", " + kEnd, first());
    CPPUNIT_ASSERT(source().status().errors.empty());
  }

  void a_single_file_is_read() {
    path_ = folder_.write("any-name", service("a", "10.0.0.1"));
    folder_.write("other.yaml", service("b", "10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(kBegin + ", upsert Service default/a, " + kEnd, first());
  }

  void only_changed_objects_are_delivered() {
    folder_.write("a.yaml", service("a", "10.0.0.1") + service("b", "10.0.0.2") + service("c", "10.0.0.3"));
    first();
    // Only a comment of a has changed, b has another port, c is removed, d is new.
    replace("a.yaml",
            "# comment\n" + service("a", "10.0.0.1") + service("b", "10.0.0.2", "81") + service("d", "10.0.0.4"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/b, upsert Service default/d, remove Service default/c"),
                         again());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), source().status().changes);
  }

  void unchanged_files_are_not_read_again() {
    folder_.write("a.yaml", "[broken");
    first();
    again();
    again();
    int errors = 0;
    for (const auto& line : log_->lines()) errors += line.starts_with("ERROR") ? 1 : 0;
    CPPUNIT_ASSERT_EQUAL(1, errors);
  }

  static std::string annotated(const std::string& value) {
    return "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {a.example/x: \"" + value +
           "\"}}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 80}]}\n";
  }
  std::string annotation() const {
    const auto service = events_.last<model::Service>();
    if (!service.details) return "none";
    return service.details->annotations_for(base::Symbol("a.example/"))->at(0).value;
  }

  void other_details_make_it_list_again() {
    folder_.write("a.yaml", annotated("1"));
    folder_.write("b.yaml", service("0a", "10.0.0.2"));
    const std::string list = kBegin + ", upsert Service default/0a, upsert Service default/a, " + kEnd;
    CPPUNIT_ASSERT_EQUAL(list, first());
    CPPUNIT_ASSERT_EQUAL(std::string("none"), annotation());
    replace("a.yaml", annotated("2"));
    CPPUNIT_ASSERT_EQUAL(std::string(), again());  // nothing that is kept has changed
    source().set_details(test::wanted(test::all_details()));
    CPPUNIT_ASSERT_EQUAL(list, again());
    CPPUNIT_ASSERT_EQUAL(std::string("2"), annotation());
    CPPUNIT_ASSERT(events_.last_list_details(model::ResourceKind::endpoint_slice)->endpoints);
    replace("a.yaml", annotated("3"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
    source().set_details(test::wanted(test::all_details()));
    CPPUNIT_ASSERT_EQUAL(std::string(), again());
    source().set_details(nullptr);
    CPPUNIT_ASSERT_EQUAL(list, again());
    CPPUNIT_ASSERT_EQUAL(std::string("none"), annotation());
  }

  void details_are_listed_when_the_folder_is_back() {
    folder_.write("a.yaml", annotated("1"));
    first();
    fs::rename(folder_.path(), folder_.path() + ".away");
    source().set_details(test::wanted(test::all_details()));
    CPPUNIT_ASSERT(!source().rescan().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), events_.take_text());
    fs::rename(folder_.path() + ".away", folder_.path());
    CPPUNIT_ASSERT_EQUAL(kBegin + ", upsert Service default/a, " + kEnd, again());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), annotation());
  }

  void other_details_are_noticed_by_the_thread() {
    folder_.write("a.yaml", annotated("1"));
    CPPUNIT_ASSERT(source().start().ok());
    source().set_details(test::wanted(test::all_details()));
    while (annotation() == "none") events_.wait_for_more(), events_.take();
    source().stop();
  }

  void an_atomic_rename_is_one_change() {
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    first();
    replace("a.yaml", service("a", "10.0.0.9"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.9"), events_.last<model::Service>().cluster_ips.at(0).to_string());
  }

  void a_config_map_swap_is_one_change() {
    // Like kubelet mounts a ConfigMap: files are links into ..data, which is a link to a dated folder.
    folder_.write("..2026_1/a.yaml", service("a", "10.0.0.1"));
    folder_.write("..2026_1/b.yaml", service("b", "10.0.0.2"));
    fs::create_symlink("..2026_1", folder_.path("..data"));
    fs::create_symlink("..data/a.yaml", folder_.path("a.yaml"));
    fs::create_symlink("..data/b.yaml", folder_.path("b.yaml"));
    CPPUNIT_ASSERT_EQUAL(kBegin + ", upsert Service default/a, upsert Service default/b, " + kEnd, first());
    folder_.write("..2026_2/a.yaml", service("b", "10.0.0.2"));
    folder_.write("..2026_2/b.yaml", service("c", "10.0.0.3"));
    fs::create_symlink("..2026_2", folder_.path("..data_tmp"));
    fs::rename(folder_.path("..data_tmp"), folder_.path("..data"));
    fs::remove_all(folder_.path("..2026_1"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/c, remove Service default/a"), again());
  }

  void a_removed_file_removes_its_objects() {
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    folder_.write("b.yaml", service("b", "10.0.0.2"));
    first();
    fs::remove(folder_.path("a.yaml"));
    CPPUNIT_ASSERT_EQUAL(std::string("remove Service default/a"), again());
    replace("b.yaml", "");
    CPPUNIT_ASSERT_EQUAL(std::string("remove Service default/b"), again());
  }

  void a_broken_file_keeps_its_last_valid_content() {
    folder_.write("a.yaml", service("a", "10.0.0.1") + service("b", "10.0.0.2"));
    first();
    replace("a.yaml", service("a", "10.0.0.7") + service("b", "10.0.0.2", "0"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), source().status().errors.size());
    CPPUNIT_ASSERT(
        log_->text().find(
            "a.yaml: document 2, line 9: Service default/b: spec.ports[0].port: 0 is not a port (1-65535); keeping the "
            "earlier content of " +
            folder_.path("a.yaml")) != std::string::npos);
    replace("a.yaml", service("a", "10.0.0.7"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a, remove Service default/b"), again());
    CPPUNIT_ASSERT(source().status().errors.empty());
  }

  void valid_objects_of_a_file_broken_from_the_start_are_used() {
    folder_.write("a.yaml", service("a", "10.0.0.1") + service("b", "10.0.0.2", "0") + "x: [\n");
    CPPUNIT_ASSERT_EQUAL(kBegin + ", upsert Service default/a, unusable Service default/b, " + kEnd, first());
    CPPUNIT_ASSERT(log_->text().find("(and 1 more; sluiced --check names all); the rest of the file is used") !=
                   std::string::npos);
  }

  void an_object_may_move_between_files() {
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    folder_.write("b.yaml", service("b", "10.0.0.2"));
    first();
    replace("a.yaml", service("b", "10.0.0.2"));
    replace("b.yaml", service("a", "10.0.0.1"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
  }

  // Regression: a scan found the removal of a file, but not the earlier creation of another, and delivered a state that
  // never existed.
  void an_object_that_moves_is_never_missing() {
    replace("a.yaml", service("a", "10.0.0.1"));
    first();
    std::atomic<bool> moving{true};
    std::atomic<int> rescans{0};
    const int moves = static_cast<int>(test::repetitions(1000));
    std::thread mover([&] {
      for (int i = 0; i < moves; ++i) {
        // A folder that changes all the time has no consistent scan: at most one move per two rescans, at a random
        // time.
        for (const int before = rescans; rescans < before + 2;) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(i % 100));  // fixed time: any point of a rescan
        const bool to_b = i % 2 == 0;
        replace(to_b ? "b.yaml" : "a.yaml", to_b ? service("b", "10.0.0.2") : service("a", "10.0.0.1"));
        fs::remove(folder_.path(to_b ? "a.yaml" : "b.yaml"));
      }
      moving = false;
    });
    int there = 1;
    bool missing = false;
    std::set<std::string> names{"default/a"};
    while (moving) {
      const auto status = source().rescan();
      ++rescans;
      missing = missing || !status.ok();
      for (const auto& line : events_.take()) {
        const std::string name = line.substr(line.rfind(' ') + 1);
        if (line.starts_with("upsert")) names.insert(name);
        if (line.starts_with("remove")) names.erase(name);
        there = std::min(there, static_cast<int>(names.size()));
      }
    }
    mover.join();
    CPPUNIT_ASSERT(!missing);
    CPPUNIT_ASSERT_EQUAL(1, there);
  }

  void the_first_of_duplicates_by_path_is_used() {
    folder_.write("b.yaml", service("a", "10.0.0.2"));
    first();
    folder_.write("c.yaml", service("a", "10.0.0.3"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
    CPPUNIT_ASSERT(log_->text().find(folder_.path("c.yaml") + ": Service default/a is in " + folder_.path("b.yaml") +
                                     " too, and that one is used; remove one of them") != std::string::npos);
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), events_.last<model::Service>().cluster_ips.at(0).to_string());
    fs::remove(folder_.path("a.yaml"));
    fs::remove(folder_.path("b.yaml"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.3"), events_.last<model::Service>().cluster_ips.at(0).to_string());
  }

  void a_vanished_folder_keeps_everything() {
    path_ = folder_.path("sub");
    folder_.write("sub/a.yaml", service("a", "10.0.0.1"));
    first();
    fs::rename(folder_.path("sub"), folder_.path("away"));
    CPPUNIT_ASSERT(!source().rescan().ok());
    CPPUNIT_ASSERT(!source().rescan().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(""), events_.take_text());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), source().status().errors.size());
    fs::rename(folder_.path("away"), folder_.path("sub"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
    CPPUNIT_ASSERT(source().status().errors.empty());
  }

  void a_vanished_single_file_keeps_everything() {
    path_ = folder_.write("one.yaml", service("a", "10.0.0.1"));
    first();
    fs::remove(path_);
    CPPUNIT_ASSERT(!source().rescan().ok());
    folder_.write("one.yaml", service("a", "10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
  }

  void unreadable_files_are_retried() {
    // Root can read every file, so a file that cannot be read for another reason replaces one without permission.
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    first();
    fs::remove(folder_.path("a.yaml"));
    fs::create_symlink("/proc/self/mem", folder_.path("a.yaml"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
    CPPUNIT_ASSERT_EQUAL(std::string(""), again());
    int errors = 0;
    for (const auto& line : log_->lines()) errors += line.starts_with("ERROR") ? 1 : 0;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log_->text(), 1, errors);
    replace("a.yaml", service("a", "10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
  }

  void an_unreadable_file_has_no_earlier_content() {
    fs::create_symlink("/proc/self/mem", folder_.path("a.yaml"));
    first();
    replace("a.yaml", service("a", "10.0.0.1") + "x: [\n");
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), again());
    CPPUNIT_ASSERT_MESSAGE(log_->text(), log_->text().find("; the rest of the file is used") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(log_->text(), log_->text().find("keeping the earlier content") == std::string::npos);
  }

  void start_fails_if_the_path_does_not_exist() {
    path_ = folder_.path("none");
    CPPUNIT_ASSERT_EQUAL("cannot read manifests at " + path_ + ": No such file or directory",
                         source().start().message());
    path_ = "/dev/null";
    ManifestsSource device(path_, "node-a", events_);
    CPPUNIT_ASSERT_EQUAL(std::string("cannot read manifests at /dev/null: it is neither a file nor a folder"),
                         device.start().message());
    CPPUNIT_ASSERT_EQUAL(std::string(""), events_.take_text());
  }

  void stop_is_prompt() {
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    for (int i = 0; i < 20; ++i) {
      ManifestsSource one(path_, "node-a", events_);
      CPPUNIT_ASSERT(one.start().ok());
      one.stop();
      one.stop();
    }
  }

  void a_change_is_detected() {
    // The only test here that waits, for the kernel's notification.
    folder_.write("a.yaml", service("a", "10.0.0.1"));
    CPPUNIT_ASSERT(source().start().ok());
    events_.take();
    replace("a.yaml", service("a", "10.0.0.2"));
    events_.wait_for_more();
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service default/a"), events_.take_text());
    source().stop();
  }

  void check_reports_every_problem() {
    folder_.write("a.yaml", service("a", "10.0.0.1") + service("b", "10.0.0.2", "0") + service("c", "none"));
    folder_.write("b.yaml", service("a", "10.0.0.1"));
    folder_.write("c.yaml", "[");
    const auto problems = check_manifests(folder_.path(), "node-a");
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), problems.size());
    CPPUNIT_ASSERT(problems[3].find("is in " + folder_.path("a.yaml") + " too") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), check_manifests(folder_.path("none"), "node-a").size());
    fs::remove(folder_.path("a.yaml"));
    fs::remove(folder_.path("c.yaml"));
    CPPUNIT_ASSERT(check_manifests(folder_.path(), "node-a").empty());
  }

  test::TemporaryFolder folder_;
  std::optional<test::CapturedLog> log_;
  test::EventRecorder events_;
  std::string path_ = folder_.path();
  std::unique_ptr<ManifestsSource> source_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(ManifestsSourceTest);

}  // namespace manifests_source_test
}  // namespace sluice::kube
