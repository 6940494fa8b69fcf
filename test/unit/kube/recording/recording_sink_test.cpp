// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writing a recording: the content of the file, and that its errors affect nothing else.
#include "core/kube/recording/recording_sink.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "core/kube/recording/recording_reader.hpp"
#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/kube/recording/recording_text.hpp"
#include "test/unit/sync/fake_clock.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace recording_sink_test {

using model::ResourceKind;

const RecordingHeader kHeader{"sluiced test", "node-1",
                              std::chrono::system_clock::time_point(std::chrono::seconds(1'790'000'000))};

model::Service service(const std::string& name) {
  model::Service out;
  out.name = {base::Symbol("demo"), name};
  out.ports = {{base::Symbol(), model::Protocol::tcp, 80, 0}};
  return out;
}

void deliver_lists(model::EventSink& sink) {
  for (const auto kind : model::kResourceKinds) {
    sink.deliver(model::ListBegin{kind});
    sink.deliver(model::ListEnd{kind});
  }
}

// Limits the size of files of this process to `bytes` while it exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    old_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t old_ = nullptr;
};

class RecordingSinkTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RecordingSinkTest);
  CPPUNIT_TEST(every_event_is_written_with_its_time_and_forwarded);
  CPPUNIT_TEST(events_of_several_threads_have_one_order);
  CPPUNIT_TEST(the_file_is_for_its_owner_only);
  CPPUNIT_TEST(an_earlier_recording_is_kept);
  CPPUNIT_TEST(foreign_files_are_never_touched);
  CPPUNIT_TEST(a_missing_folder_is_an_error);
  CPPUNIT_TEST(a_full_disk_ends_only_the_recording);
  CPPUNIT_TEST(a_slow_disk_ends_only_the_recording);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;
  test::EventRecorder store_;
  test::FakeClock clock_;

  std::string path() const { return folder_.path("r.jsonl"); }
  static std::string problem_at(const std::string& path) { return check_recording_path(path).message(); }

 public:
  void every_event_is_written_with_its_time_and_forwarded() {
    RecordingSink sink(path(), store_, clock_);
    CPPUNIT_ASSERT(sink.start(kHeader).ok());
    clock_.advance(std::chrono::microseconds(1500));
    sink.deliver(model::ListBegin{ResourceKind::service});
    sink.deliver(model::Upsert{service("web")});
    clock_.advance(std::chrono::seconds(2));
    sink.deliver(model::Remove{ResourceKind::service, service("web").name});
    sink.deliver(model::Unusable{ResourceKind::node, {base::Symbol(), "node-1"}});
    sink.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/web, remove Service demo/web, "
                                     "unusable Node node-1"),
                         store_.take_text());
    const std::string text = folder_.read("r.jsonl");
    CPPUNIT_ASSERT_EQUAL(
        header_line(kHeader) +
            R"({"ms":1.500,"type":"LIST_BEGIN","kind":"Service"})"
            "\n"
            R"({"ms":1.500,"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":"web",)"
            R"("namespace":"demo"},"spec":{"type":"ClusterIP","ports":[{"protocol":"TCP","port":80}]}}})"
            "\n"
            R"({"ms":2001.500,"type":"DELETED","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":"web",)"
            R"("namespace":"demo"}}})"
            "\n"
            R"({"ms":2001.500,"type":"UNUSABLE","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}})"
            "\n",
        text);
    const RecordingStatus status = sink.status();
    CPPUNIT_ASSERT_EQUAL(path(), status.path);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{4}, status.events);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{text.size()}, status.bytes);
    CPPUNIT_ASSERT_EQUAL(std::string(), status.error);
  }

  void events_of_several_threads_have_one_order() {
    constexpr int kEach = 200;
    RecordingSink sink(path(), store_, clock_);
    CPPUNIT_ASSERT(sink.start(kHeader).ok());
    std::vector<std::thread> threads;
    for (const std::string thread : {"a", "b", "c"}) {
      threads.emplace_back([&sink, thread] {
        for (int i = 0; i < kEach; ++i) sink.deliver(model::Upsert{service(thread + std::to_string(i))});
      });
    }
    for (auto& thread : threads) thread.join();
    sink.stop();
    std::string recorded;
    auto reader = RecordingReader::open(path());
    while (const auto line = reader->next().value()) {
      const std::string text(*line);
      const auto at = text.find("\"name\":\"") + 8;
      recorded += (recorded.empty() ? "upsert Service demo/" : ", upsert Service demo/") +
                  text.substr(at, text.find('"', at) - at);
    }
    CPPUNIT_ASSERT_EQUAL(store_.take_text(), recorded);
  }

  void the_file_is_for_its_owner_only() {
    const mode_t before = ::umask(0);
    RecordingSink sink(path(), store_, clock_);
    CPPUNIT_ASSERT(sink.start(kHeader).ok());
    ::umask(before);
    struct stat data {};
    CPPUNIT_ASSERT_EQUAL(0, ::stat(path().c_str(), &data));
    CPPUNIT_ASSERT_EQUAL(0600u, static_cast<unsigned>(data.st_mode & 07777));
  }

  void an_earlier_recording_is_kept() {
    folder_.write("r.jsonl", test::listed_recording());
    folder_.write("r.jsonl.old", test::kRecordingHeader);
    RecordingSink sink(path(), store_, clock_);
    CPPUNIT_ASSERT(sink.start(kHeader).ok());
    sink.stop();
    CPPUNIT_ASSERT_EQUAL(test::listed_recording(), folder_.read("r.jsonl.old"));
    CPPUNIT_ASSERT_EQUAL(header_line(kHeader), folder_.read("r.jsonl"));
  }

  void foreign_files_are_never_touched() {
    folder_.write("text", "precious");
    const std::string taken = ": the file exists and is not a recording of this user; name another file";
    CPPUNIT_ASSERT_EQUAL("cannot record to " + folder_.path("text") + taken, problem_at(folder_.path("text")));
    CPPUNIT_ASSERT(!RecordingSink(folder_.path("text"), store_, clock_).start(kHeader).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("precious"), folder_.read("text"));

    folder_.write("r.jsonl.old", "precious");
    CPPUNIT_ASSERT_EQUAL("cannot record to " + path() + ".old" + taken, problem_at(path()));

    std::filesystem::create_symlink(folder_.path("text"), folder_.path("link"));
    std::filesystem::create_symlink(folder_.path("nowhere"), folder_.path("dangling"));
    for (const std::string name : {"link", "dangling"}) {
      CPPUNIT_ASSERT_EQUAL("cannot record to " + folder_.path(name) + ": it is a symbolic link; name the file itself",
                           problem_at(folder_.path(name)));
      CPPUNIT_ASSERT(!RecordingSink(folder_.path(name), store_, clock_).start(kHeader).ok());
    }
    CPPUNIT_ASSERT(!std::filesystem::exists(folder_.path("nowhere")));
    CPPUNIT_ASSERT_EQUAL("cannot record to " + folder_.path() + ": it is not a regular file",
                         problem_at(folder_.path()));
    CPPUNIT_ASSERT_EQUAL(std::string(), problem_at(folder_.path("new")));
  }

  void a_missing_folder_is_an_error() {
    CPPUNIT_ASSERT_EQUAL("cannot record to " + folder_.path("none/r") + ": folder " + folder_.path("none") +
                             ": No such file or directory",
                         problem_at(folder_.path("none/r")));
  }

  void a_full_disk_ends_only_the_recording() {
    constexpr rlim_t kRoom = 4096;
    const FileSizeLimit limit(kRoom);
    RecordingSink sink(path(), store_, clock_);
    CPPUNIT_ASSERT(sink.start(kHeader).ok());
    deliver_lists(sink);
    for (int i = 0; i < 100; ++i) sink.deliver(model::Upsert{service("web-" + std::to_string(i))});
    sink.stop();
    sink.deliver(model::ListEnd{ResourceKind::node});
    CPPUNIT_ASSERT_EQUAL(std::size_t{100 + 2 * model::kResourceKinds.size() + 1}, store_.take().size());
    CPPUNIT_ASSERT_EQUAL(std::string("cannot write: File too large"), sink.status().error);
    // The file has complete lines only, and uses most of the available space.
    const std::string text = folder_.read("r.jsonl");
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{text.size()}, sink.status().bytes);
    CPPUNIT_ASSERT(text.size() <= kRoom && text.size() > kRoom - 300);
    CPPUNIT_ASSERT_EQUAL('\n', text.back());
    auto reader = RecordingReader::open(path());
    const auto summary = scan_recording(*reader);
    CPPUNIT_ASSERT_MESSAGE(summary.status().message(), summary.ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), summary->warning);
  }

  void a_slow_disk_ends_only_the_recording() {
    // The backlog is too small for a single line.
    RecordingFile file(path(), 10);
    CPPUNIT_ASSERT(file.open().ok());
    CPPUNIT_ASSERT(!file.append("a line of more than that\n"));
    CPPUNIT_ASSERT(!file.append("\n"));
    file.close();
    CPPUNIT_ASSERT_EQUAL(std::string("the disk is too slow: more than 0 MiB wait for it"), file.status().error);
    CPPUNIT_ASSERT_EQUAL(std::string(), folder_.read("r.jsonl"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RecordingSinkTest);

}  // namespace recording_sink_test
}  // namespace sluice::kube
