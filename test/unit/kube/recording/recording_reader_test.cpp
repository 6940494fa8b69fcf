// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Valid, malformed and truncated recordings, recordings of a newer version, and other files.
#include "core/kube/recording/recording_reader.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include "test/unit/kube/recording/recording_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace recording_reader_test {

using test::kRecordingHeader;
using test::list_event;
using test::listed_recording;
using test::service_event;

class RecordingReaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RecordingReaderTest);
  CPPUNIT_TEST(the_events_of_a_recording_are_counted);
  CPPUNIT_TEST(written_lines_can_be_read);
  CPPUNIT_TEST(lines_may_be_empty_or_without_time);
  CPPUNIT_TEST(lines_longer_than_a_chunk_are_read_completely);
  CPPUNIT_TEST(malformed_lines_are_named);
  CPPUNIT_TEST(a_truncated_last_line_is_ignored_with_a_warning);
  CPPUNIT_TEST(a_complete_last_line_needs_no_newline);
  CPPUNIT_TEST(a_file_that_is_not_a_recording_is_rejected);
  CPPUNIT_TEST(a_newer_version_is_rejected);
  CPPUNIT_TEST(every_kind_must_have_been_listed);
  CPPUNIT_TEST(a_list_may_start_again_but_not_end_twice);
  CPPUNIT_TEST(a_check_names_invalid_objects);
  CPPUNIT_TEST(the_number_of_errors_of_a_check_is_bounded);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;

  std::string file(const std::string& text) { return folder_.write("r.jsonl", text); }
  // The error of a recording with this text, without the file name.
  std::string problem(const std::string& text) {
    auto reader = RecordingReader::open(file(text));
    lib::Status status = reader.status();
    if (reader) status = scan_recording(*reader).status();
    std::string out = status.message();
    const std::string path = folder_.path("r.jsonl");
    if (const auto at = out.find(path); at != std::string::npos) out.erase(at, path.size());
    return out;
  }

 public:
  void the_events_of_a_recording_are_counted() {
    auto reader = RecordingReader::open(file(listed_recording() + service_event("2500.25", "DELETED", "web")));
    CPPUNIT_ASSERT_MESSAGE(reader.status().message(), reader.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("node-1"), reader->header().node);
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced test"), reader->header().program);
    const auto summary = scan_recording(*reader);
    CPPUNIT_ASSERT_MESSAGE(summary.status().message(), summary.ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{8}, summary->events);
    CPPUNIT_ASSERT(summary->duration == std::chrono::microseconds(2'500'250));
    CPPUNIT_ASSERT_EQUAL(std::string(), summary->warning);
    // The reader is at its first line again.
    const auto first = reader->next();
    CPPUNIT_ASSERT(first.ok() && *first);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"ms":1,"type":"LIST_BEGIN","kind":"Service"})"), std::string(**first));
  }

  void written_lines_can_be_read() {
    const RecordingHeader header{"sluiced \"x\"", "node-1",
                                 std::chrono::system_clock::time_point(std::chrono::seconds(1'790'000'000))};
    RecordingLineParser parser;
    const auto read = parser.parse_header(header_line(header));
    CPPUNIT_ASSERT_MESSAGE(read.status().message(), read.ok());
    CPPUNIT_ASSERT_EQUAL(header.program, read->program);
    CPPUNIT_ASSERT_EQUAL(header.node, read->node);
    CPPUNIT_ASSERT(header.started == read->started);

    const model::ObjectName name{base::Symbol("demo"), "web"};
    const auto kind = model::ResourceKind::endpoint_slice;
    const auto since = std::chrono::microseconds(1'234'005);
    CPPUNIT_ASSERT_EQUAL(std::string("{\"ms\":1234.005,\"type\":\"LIST_END\",\"kind\":\"EndpointSlice\"}\n"),
                         event_line(since, event_body(model::ListEnd{kind})));
    for (const auto& [event, type] : {std::pair<model::Event, LineType>{model::ListBegin{kind}, LineType::list_begin},
                                      {model::ListEnd{kind}, LineType::list_end},
                                      {model::Upsert{model::EndpointSlice{}}, LineType::changed},
                                      {model::Remove{kind, name}, LineType::deleted},
                                      {model::Unusable{kind, name}, LineType::unusable}}) {
      const auto line = parser.parse_line(event_line(since, event_body(event)), {});
      CPPUNIT_ASSERT_MESSAGE(line.status().message(), line.ok());
      CPPUNIT_ASSERT(line->type == type);
      CPPUNIT_ASSERT(line->kind == kind);
      CPPUNIT_ASSERT(line->since_start == since);
      const bool named = type == LineType::deleted || type == LineType::unusable;
      CPPUNIT_ASSERT(line->name == (named ? name : model::ObjectName()));
    }
  }

  void lines_may_be_empty_or_without_time() {
    CPPUNIT_ASSERT_EQUAL(std::string(),
                         problem(listed_recording() + "\n  \r\n" + R"({"type":"LIST_BEGIN","kind":"Node"})" + "\n"));
    const auto line =
        RecordingLineParser().parse_line(R"({"type":"LIST_BEGIN","kind":"Node"})", std::chrono::seconds(3));
    CPPUNIT_ASSERT(line.ok() && line->since_start == std::chrono::seconds(3));
  }

  void lines_longer_than_a_chunk_are_read_completely() {
    const std::string note(700'000, 'x');
    CPPUNIT_ASSERT_EQUAL(
        std::string(), problem(listed_recording() + service_event("2", "MODIFIED", "web", "\"note\":\"" + note + '"') +
                               service_event("3", "DELETED", "web")));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: is longer than 16 MiB"),
                         problem(listed_recording() + std::string(18u << 20, 'x')));
  }

  void malformed_lines_are_named() {
    const std::string good = listed_recording();  // eight lines
    const auto wrong = [&](const std::string& line) {
      return problem(good + line + "\n" + list_event("9", "LIST_BEGIN", "Node"));
    };
    CPPUNIT_ASSERT(wrong("{\"ms\":1,").starts_with(":9: is not valid JSON: "));
    CPPUNIT_ASSERT(wrong("\xff\xfe").starts_with(":9: is not valid JSON: "));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: type: is missing"), wrong(R"({"ms":1})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: type: \"GONE\" is not an event type"), wrong(R"({"ms":1,"type":"GONE"})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: kind: is missing"), wrong(R"({"type":"LIST_END"})"));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            ":9: kind: \"Pod\" is not a kind of object in a recording (Service, EndpointSlice, Node, ServiceCIDR)"),
        wrong(R"({"type":"LIST_END","kind":"Pod"})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: object: is missing"), wrong(R"({"type":"ADDED","kind":"Node"})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: object.kind: is missing"), wrong(R"({"type":"ADDED","object":{}})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":9: object.metadata.name: is missing"),
                         wrong(R"({"type":"DELETED","object":{"kind":"Node"}})"));
    for (const std::string ms : {"-1", "\"1\"", "1e30"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(ms, std::string(":9: ms: is not a number of milliseconds since the start"),
                                   wrong(R"({"ms":)" + ms + R"(,"type":"LIST_BEGIN","kind":"Node"})"));
    }
  }

  void a_truncated_last_line_is_ignored_with_a_warning() {
    const std::string last = service_event("7", "MODIFIED", "web");
    for (std::size_t kept = 1; kept + 2 < last.size(); kept += 11) {
      auto reader = RecordingReader::open(file(listed_recording() + last.substr(0, kept)));
      const auto summary = scan_recording(*reader);
      CPPUNIT_ASSERT_MESSAGE(summary.status().message(), summary.ok());
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, summary->events);
      CPPUNIT_ASSERT_EQUAL(folder_.path("r.jsonl") + ":9: the last line is truncated and is ignored", summary->warning);
      for (int i = 0; i < 7; ++i) CPPUNIT_ASSERT(reader->next()->has_value());
      CPPUNIT_ASSERT(!reader->next()->has_value());
    }
  }

  void a_complete_last_line_needs_no_newline() {
    std::string text = listed_recording();
    text.pop_back();
    auto reader = RecordingReader::open(file(text));
    const auto summary = scan_recording(*reader);
    CPPUNIT_ASSERT_MESSAGE(summary.status().message(), summary.ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, summary->events);
    CPPUNIT_ASSERT_EQUAL(std::string(), summary->warning);
  }

  void a_file_that_is_not_a_recording_is_rejected() {
    CPPUNIT_ASSERT_EQUAL(std::string("the recording  is empty"), problem(""));
    for (const std::string text : {"apiVersion: v1\n", "{}\n", "{\"format\":\"other\",\"version\":1}\n"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("the recording : does not begin with the header of a recording"), problem(text));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("the recording : started: is not a time such as 2026-11-21T06:00:00Z"),
                         problem(R"({"format":"sluice-recording","version":1,"started":"now"})"));
    CPPUNIT_ASSERT(RecordingReader::open(folder_.path("none")).status().code() == lib::StatusCode::not_found);
    CPPUNIT_ASSERT_EQUAL("cannot read the recording " + folder_.path() + ": it is not a regular file",
                         RecordingReader::open(folder_.path()).status().message());
    // Opening this pipe would block, because it has no writer.
    CPPUNIT_ASSERT_EQUAL(0, ::mkfifo(folder_.path("pipe").c_str(), 0600));
    CPPUNIT_ASSERT(!RecordingReader::open(folder_.path("pipe")).ok());
  }

  void a_newer_version_is_rejected() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("the recording : has version 2 of the format, written by \"sluiced 9\"; this program reads up to "
                    "version 1"),
        problem(R"({"format":"sluice-recording","version":2,"program":"sluiced 9","node":"n"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("the recording : version: is not a version of the format"),
                         problem(R"({"format":"sluice-recording","version":0,"started":"2026-11-21T06:00:00Z"})"));
  }

  void every_kind_must_have_been_listed() {
    CPPUNIT_ASSERT_EQUAL(std::string(":1: ends before every kind of object was listed (Service, EndpointSlice, Node is "
                                     "missing), so that nothing could be programmed"),
                         problem(kRecordingHeader));
    std::string without_node = listed_recording();
    without_node.erase(without_node.find(R"({"ms":1,"type":"LIST_END","kind":"Node"})"));
    CPPUNIT_ASSERT_EQUAL(std::string(":7: ends before every kind of object was listed (Node is missing), so that "
                                     "nothing could be programmed"),
                         problem(without_node));
  }

  void a_list_may_start_again_but_not_end_twice() {
    const std::string begin = list_event("2", "LIST_BEGIN", "Service");
    const std::string end = list_event("2", "LIST_END", "Service");
    CPPUNIT_ASSERT_EQUAL(std::string(), problem(listed_recording() + begin + begin + end));
    CPPUNIT_ASSERT_EQUAL(std::string(":11: ends a list that was not begun"),
                         problem(listed_recording() + begin + end + end));
  }

  void a_check_names_invalid_objects() {
    const std::string path =
        file(listed_recording() + service_event("2", "MODIFIED", "web", R"("ports":[{"port":0}])") +
             service_event("3", "MODIFIED", "b", R"("externalIPs":["x"],"ports":[{"port":80}])"));
    const auto problems = check_recording(path);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, problems.size());
    CPPUNIT_ASSERT_EQUAL(path + ":9: spec.ports[0].port: 0 is not a port (1-65535)", problems[0]);
    CPPUNIT_ASSERT_EQUAL(path + ":10: spec.externalIPs[0]: \"x\" is not an IP address; ignored", problems[1]);
    CPPUNIT_ASSERT(check_recording(file(listed_recording())).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, check_recording(file("x\n")).size());
  }

  void the_number_of_errors_of_a_check_is_bounded() {
    std::string text = listed_recording();
    for (int i = 0; i < 1000; ++i) text += service_event("2", "MODIFIED", "web", R"("ports":[{"port":0}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t{21}, check_recording(file(text)).size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RecordingReaderTest);

}  // namespace recording_reader_test
}  // namespace sluice::kube
