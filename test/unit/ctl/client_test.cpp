// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl: arguments, requests to a real control socket, and text output.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <optional>

#include "core/ctl/arguments.hpp"
#include "core/ctl/client.hpp"
#include "core/ctl/status_text.hpp"
#include "core/observe/control/control_server.hpp"
#include "test/unit/observe/socket_peer.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::ctl {
namespace client_test {

using namespace std::chrono_literals;
using nlohmann::json;

const json kStatus = {{"command", "status"}};

class CtlTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlTest);
  CPPUNIT_TEST(accepts_arguments_in_any_order);
  CPPUNIT_TEST(errors_of_invalid_arguments_contain_the_allowed_values);
  CPPUNIT_TEST(parses_the_wait_option_of_status);
  CPPUNIT_TEST(detects_whether_all_rules_are_written);
  CPPUNIT_TEST(help_needs_no_command);
  CPPUNIT_TEST(gets_the_reply_of_the_daemon);
  CPPUNIT_TEST(reports_a_missing_daemon);
  CPPUNIT_TEST(reports_a_dead_daemon);
  CPPUNIT_TEST(reports_errors_of_the_daemon);
  CPPUNIT_TEST(times_out_if_the_daemon_does_not_reply);
  CPPUNIT_TEST(formats_a_status);
  CPPUNIT_TEST(a_current_error_replaces_the_last_failure);
  CPPUNIT_TEST(prints_the_facts_of_a_backend);
  CPPUNIT_TEST(lists_the_first_service_ports_that_are_not_programmed);
  CPPUNIT_TEST(a_recording_has_its_own_line);
  CPPUNIT_TEST(missing_and_invalid_fields_are_dashes);
  CPPUNIT_TEST(names_cannot_control_the_terminal);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override { folder_.reset(); }

  void accepts_arguments_in_any_order() {
    const auto plain = parse_arguments({"status"});
    CPPUNIT_ASSERT(plain.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("/run/sluice"), plain->state_dir);
    CPPUNIT_ASSERT(plain->output == Output::text);
    using Words = std::vector<std::string>;
    for (const Words& words :
         {Words{"--state-dir", "/s", "status", "-o", "json"}, Words{"status", "--state-dir=/s", "--output=json"},
          Words{"-ojson", "--state-dir=/s", "status"}}) {
      const auto parsed = parse_arguments(words);
      CPPUNIT_ASSERT_MESSAGE(parsed.status().message(), parsed.ok());
      CPPUNIT_ASSERT_EQUAL(std::string("/s"), parsed->state_dir);
      CPPUNIT_ASSERT_EQUAL(std::string("status"), parsed->command);
      CPPUNIT_ASSERT(parsed->output == Output::json);
    }
  }

  void errors_of_invalid_arguments_contain_the_allowed_values() {
    CPPUNIT_ASSERT_EQUAL(std::string("a command is missing; commands: status, services, counters, diff, explain, reload, help"),
                         parse_arguments({}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("unknown command 'stats'; commands: status, services, counters, diff, explain, reload, help"),
                         parse_arguments({"stats"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("unexpected argument 'now' after status"),
                         parse_arguments({"status", "now"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("--output: 'xml' is not known; allowed: text, json, yaml"),
                         parse_arguments({"status", "-o", "xml"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("--family: only these commands have it: services, counters, diff"),
                         parse_arguments({"status", "--family", "4"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("--no-kernel: only the command services has it"),
                         parse_arguments({"status", "--no-kernel"}).status().message());
    CPPUNIT_ASSERT(!parse_arguments({"status", "--state=/s"}).ok());
    CPPUNIT_ASSERT(!parse_arguments({"status", "-o"}).ok());
    CPPUNIT_ASSERT(!parse_arguments({"status", "-x"}).ok());
  }

  void parses_the_wait_option_of_status() {
    CPPUNIT_ASSERT(!parse_arguments({"status"})->wait);
    CPPUNIT_ASSERT(parse_arguments({"status", "--wait"})->wait == std::chrono::seconds(120));
    CPPUNIT_ASSERT(parse_arguments({"--wait", "status"})->wait == std::chrono::seconds(120));
    CPPUNIT_ASSERT(parse_arguments({"status", "--wait=30s"})->wait == std::chrono::seconds(30));
    CPPUNIT_ASSERT_EQUAL(std::string("--wait: '30' is not a duration; allowed: 1s to 24h, as 30s, 10m or 1h"),
                         parse_arguments({"status", "--wait=30"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("--wait: only the command status has it"),
                         parse_arguments({"reload", "--wait"}).status().message());
  }

  void detects_whether_all_rules_are_written() {
    const auto status = [](bool first, bool second, const char* overdue) {
      return json{{"families",
                   {{{"family", "IPv4"}, {"synced", first}, {"overdue", ""}},
                    {{"family", "IPv6"}, {"synced", second}, {"overdue", overdue}}}}};
    };
    CPPUNIT_ASSERT(all_synced(status(true, true, "")));
    CPPUNIT_ASSERT(!all_synced(status(true, false, "")));
    CPPUNIT_ASSERT(!all_synced(status(true, true, "apply")));
    CPPUNIT_ASSERT(!all_synced(json{{"families", json::array()}}));
    CPPUNIT_ASSERT(!all_synced(json::object()));
  }

  void help_needs_no_command() {
    CPPUNIT_ASSERT(parse_arguments({"help"})->help);
    CPPUNIT_ASSERT(parse_arguments({"-h"})->help);
    CPPUNIT_ASSERT(parse_arguments({"--version"})->version);
    CPPUNIT_ASSERT(usage().find("--state-dir") != std::string::npos);
    CPPUNIT_ASSERT(usage().find("status") != std::string::npos);
  }

  void gets_the_reply_of_the_daemon() {
    observe::ControlServer server(folder_->path("control.sock"));
    server.on("status", [](const json&) { return json{{"mode", "iptables"}}; });
    CPPUNIT_ASSERT(server.start().ok());
    const auto reply = send_request(folder_->path(), kStatus);
    CPPUNIT_ASSERT_MESSAGE(reply.status().message(), reply.ok());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"mode":"iptables"})"), reply->dump());
  }

  void reports_a_missing_daemon() {
    CPPUNIT_ASSERT_EQUAL("sluiced is not running: there is no socket " + folder_->path("control.sock") +
                             " (is it another state directory? see --state-dir)",
                         send_request(folder_->path(), kStatus).status().message());
    CPPUNIT_ASSERT(!send_request("/" + std::string(200, 'x'), kStatus).ok());
  }

  void reports_a_dead_daemon() {
    test::bound_socket(folder_->path("control.sock")).reset();
    CPPUNIT_ASSERT_EQUAL("sluiced is not running: connection refused at " + folder_->path("control.sock") +
                             ", which an earlier sluiced left behind",
                         send_request(folder_->path(), kStatus).status().message());
  }

  void reports_errors_of_the_daemon() {
    observe::ControlOptions options;
    options.users = {::geteuid() + 1};
    observe::ControlServer closed(folder_->path("control.sock"), options);
    CPPUNIT_ASSERT(closed.start().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: only root may use the control socket"),
                         send_request(folder_->path(), kStatus).status().message());
    closed.stop();
    observe::ControlServer old(folder_->path("control.sock"));
    CPPUNIT_ASSERT(old.start().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: unknown command 'status'; known: "),
                         send_request(folder_->path(), kStatus).status().message());
  }

  void times_out_if_the_daemon_does_not_reply() {
    const lib::Fd mute = test::bound_socket(folder_->path("control.sock"));
    CPPUNIT_ASSERT_EQUAL(0, ::listen(mute.get(), 1));
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced does not answer within 1 ms"),
                         send_request(folder_->path(), kStatus, 1ms).status().message());
  }

  void formats_a_status() {
    const json status = json::parse(R"({
      "version":"0.1.0","mode":"iptables","plugin":{"id":"iptables","version":"1.2","path":"/p/iptables.so"},
      "node":{"name":"node-1","seen":true,"zone":"a"},
      "source":{"kind":"manifests","detail":"/m","synced":true,"resources":[
        {"kind":"Service","connected":true,"lists":1,"watches":2,"errors":0,"last_error":""},
        {"kind":"EndpointSlice","connected":false,"lists":0,"watches":0,"errors":4,"last_error":"timed out"}]},
      "families":[{"family":"IPv4","synced":true,"generation":12,"service_ports":4,
        "last_apply":{"kind":"delta","seconds":0.0042,"kernel_writes":7,"result":"ok","at":"2026-11-21T02:41:00Z"},
        "full_syncs":1,"delta_syncs":11,"failures":1,"last_error":"",
        "last_failure":{"error":"ip6tables is missing","at":"2026-11-21T02:40:00Z"}}],
      "events":{"total":100,"no_op":99,"unusable":0}})");
    CPPUNIT_ASSERT_EQUAL(
        std::string("Version  0.1.0\n"
                    "Mode     iptables\n"
                    "Plugin   iptables 1.2, /p/iptables.so\n"
                    "Node     node-1, zone a\n"
                    "Source   manifests, /m, synced\n"
                    "\n"
                    "RESOURCE       STATE          LISTS  WATCHES  ERRORS  LAST ERROR\n"
                    "Service        connected      1      2        0       -\n"
                    "EndpointSlice  not connected  0      0        4       timed out\n"
                    "\n"
                    "FAMILY  STATE   GENERATION  PORTS  FULL SYNCS  DELTA SYNCS  FAILURES\n"
                    "IPv4    synced  12          4      1           11           1\n"
                    "\n"
                    "FAMILY  LAST SYNC             KIND   TOOK    WRITES  RESULT\n"
                    "IPv4    2026-11-21T02:41:00Z  delta  4.2 ms  7       ok\n"
                    "\n"
                    "IPv4 last failure: 2026-11-21T02:40:00Z, ip6tables is missing\n"
                    "\n"
                    "Events   100, of which 99 changed nothing and 0 were unusable\n"),
        status_text(status));
  }

  void a_current_error_replaces_the_last_failure() {
    const json failure = {{"error", "a lock"}, {"at", "2026-11-21T02:40:00Z"}};
    const json family = {{"family", "IPv4"}, {"last_error", "no space"}, {"last_failure", failure}};
    const std::string page = status_text({{"families", {family}}});
    CPPUNIT_ASSERT_MESSAGE(page, page.find("\nIPv4 error: no space\n") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(page, page.find("last failure") == std::string::npos);
  }

  void prints_the_facts_of_a_backend() {
    const auto page = [](const json& facts) {
      return status_text({{"families", {{{"family", "IPv4"}, {"facts", facts}}}}});
    };
    const std::string shown = page({{{"name", "client addresses"}, {"value", "hidden"}, {"remedy", "grant CAP_NET_RAW"}},
                                    {{"name", "firmware"}, {"value", "2.1"}}});
    CPPUNIT_ASSERT_MESSAGE(shown, shown.find("\nIPv4 client addresses: hidden; grant CAP_NET_RAW\nIPv4 firmware: 2.1\n") !=
                                      std::string::npos);
    CPPUNIT_ASSERT(page(nullptr) == page(json::array()));
  }

  void lists_the_first_service_ports_that_are_not_programmed() {
    const auto page = [](int count) {
      json list = json::array();
      for (int i = 0; i < count; ++i)
        list.push_back({{"service_port", "shop/cart:" + std::to_string(i)}, {"reason", "why"}});
      return status_text({{"families", {{{"family", "IPv4"}, {"not_programmed", list}}}}});
    };
    CPPUNIT_ASSERT(page(0).find("not programmed") == std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(page(1), page(1).find("\nIPv4 not programmed: shop/cart:0: why\n") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(page(12),
                           page(12).find("shop/cart:9: why\nIPv4 not programmed: 2 more\n") != std::string::npos);
  }

  void a_recording_has_its_own_line() {
    const auto page = [](const char* error) {
      return status_text({{"source", {{"kind", "api"}}},
                          {"recording", {{"file", "/r"}, {"events", 7}, {"bytes", 900}, {"error", error}}}});
    };
    CPPUNIT_ASSERT_MESSAGE(page(""), page("").find("\nRecord   /r, 7 events, 900 bytes\n") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(page("cannot write: No space left on device"),
                           page("cannot write: No space left on device")
                                   .find("\nRecord   /r, 7 events, 900 bytes, ended: cannot write: No space left on "
                                         "device\n") != std::string::npos);
    CPPUNIT_ASSERT(status_text({{"source", {{"kind", "api"}}}}).find("Record") == std::string::npos);
  }

  void missing_and_invalid_fields_are_dashes() {
    const std::string nothing = "Version  -\nMode     -\nPlugin   - -, -\nNode     -\nSource   -, -, -\n";
    for (const char* odd : {"{}", "[]", "null", "7", "\"x\"", R"({"plugin":7,"node":[],"source":"s"})",
                            R"({"source":{"resources":{}},"families":"none","events":[]})"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(odd, nothing, status_text(json::parse(odd)));
    }
    const std::string page = status_text(json::parse(
        R"({"source":{"resources":[{},7,null]},"families":[{"family":"IPv6","last_apply":{"seconds":"soon"}},[]],"events":{}})"));
    CPPUNIT_ASSERT(page.find("IPv6") != std::string::npos);
    CPPUNIT_ASSERT(status_text(json::parse(R"({"families":[{"last_apply":{"seconds":0.0000421}}]})")).find("42 us") !=
                   std::string::npos);
    CPPUNIT_ASSERT(status_text(json::parse(R"({"families":[{"last_apply":{"seconds":61.234}}]})")).find("61.23 s") !=
                   std::string::npos);
  }

  void names_cannot_control_the_terminal() {
    const std::string page = status_text({{"mode", "a\x1b[2J\nb"}});
    CPPUNIT_ASSERT(page.find("Mode     a?[2J?b\n") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CtlTest);

}  // namespace client_test
}  // namespace sluice::ctl
