// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every path of both addresses as kube-proxy 1.36 answers it: status, content type, header, body. A row is one request.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "core/observe/pages/http_pages.hpp"
#include "test/unit/observe/http_peer.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace http_pages_paths_test {

constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kExposition = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
constexpr const char* kNotFound = "404 page not found\n";
constexpr const char* kStatuszType = "application/json;as=Statusz;v=v1beta1;g=config.k8s.io";

constexpr const char* kTime = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z)";

enum class Server { health, metrics };
enum class Sniff { allowed, nosniff };

struct Row {
  Server server = Server::metrics;
  std::string method{};
  std::string path{};
  std::string accept{};  // empty: without the header
  int status = 0;
  std::string content_type{};
  Sniff sniff = Sniff::allowed;
  std::string body{};  // a regular expression that matches all of it
};

std::string literally(const std::string& text) {
  return std::regex_replace(text, std::regex(R"([.^$|()\[\]{}*+?\\])"), R"(\$&)");
}

std::string health_body(const std::string& eligible) {
  const std::string time = std::string("\"") + kTime + "\"";
  return R"(\{"lastUpdated":)" + time + ",\"currentTime\":" + time + "," + eligible +
         R"("healthy":true,"status":\{"IPv4":\{"lastUpdated":)" + time + R"(,"healthy":true\}\}\})";
}

constexpr const char* kWarning =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for "
    "debugging purposes only.\n";

const std::string kStatusz = std::string("\nsluiced statusz\n") + kWarning +
                             "\nStarted: Fri Jan  2 03:04:05 UTC 2026"
                             "\nUp: \\d+ hr \\d\\d min \\d\\d sec"
                             "\nBinary version: sluiced 9\\.8\\.7"
                             "\nEmulation version: 1\\.36"
                             "\nPaths: /configz /flagz /healthz /metrics /proxyMode /sync\n";
const std::string kFlagz = std::string("\nsluiced flagz\n") + kWarning + "a=1\nb=\n";

std::string structured(const std::string& kind, const std::string& version, const std::string& fields) {
  return R"(\{"kind":")" + kind + R"(","apiVersion":"config\.k8s\.io/)" + version +
         R"(","metadata":\{"name":"sluiced"\},)" + fields + "\\}\n";
}
const std::string kStatuszFields =
    R"("startTime":"2026-01-02T03:04:05Z","uptimeSeconds":\d+,"goVersion":"","binaryVersion":"sluiced 9\.8\.7",)"
    R"("emulationVersion":"1\.36","paths":\["/configz","/flagz","/healthz","/metrics","/proxyMode","/sync"\])";
const std::string kNotAcceptable =
    R"(\{"kind":"Status","apiVersion":"v1","metadata":\{\},"status":"Failure","message":"only the following media types )"
    R"(are accepted: text/plain, application/json;as=\w+;g=config\.k8s\.io;v=v1beta1","reason":"NotAcceptable","code":406\})"
    "\n";

std::vector<Row> rows() {
  using enum Server;
  using enum Sniff;
  return {
      {health, "GET", "/healthz", "", 200, kJson, nosniff, health_body(R"("nodeEligible":true,)")},
      {health, "POST", "/healthz", "", 200, kJson, nosniff, health_body(R"("nodeEligible":true,)")},
      {health, "GET", "/healthz?x=1", "", 200, kJson, nosniff, health_body(R"("nodeEligible":true,)")},
      {health, "GET", "/livez", "", 200, kJson, nosniff, health_body("")},
      {health, "GET", "/", "", 404, kText, nosniff, kNotFound},
      {health, "GET", "/healthz/", "", 404, kText, nosniff, kNotFound},
      {health, "GET", "/metrics", "", 404, kText, nosniff, kNotFound},
      {health, "GET", "/statusz", "", 404, kText, nosniff, kNotFound},
      {metrics, "GET", "/metrics", "", 200, kExposition, allowed, "a_metric 1\n"},
      {metrics, "POST", "/metrics", "", 200, kExposition, allowed, "a_metric 1\n"},
      {metrics, "GET", "/metrics", "text/plain;version=0.0.4;escaping=allow-utf-8", 200,
       "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8", allowed, "a_metric 1\n"},
      {metrics, "GET", "/metrics", "text/plain;escaping=other", 200, kExposition, allowed, "a_metric 1\n"},
      {metrics, "GET", "/metrics/", "", 404, kText, nosniff, kNotFound},
      {metrics, "GET", "/healthz", "", 200, kText, nosniff, "ok"},
      {metrics, "GET", "/healthz?verbose", "", 200, kText, nosniff, literally("[+]ping ok\nhealthz check passed\n")},
      {metrics, "GET", "/healthz?exclude=ping", "", 200, kText, nosniff, "ok"},
      {metrics, "GET", "/healthz?verbose&exclude=ping", "", 200, kText, nosniff,
       literally("[+]ping excluded: ok\nhealthz check passed\n")},
      {metrics, "GET", "/healthz?verbose=1&exclude=log&exclude=a%22b", "", 200, kText, nosniff,
       literally("[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \"a\\\"b\",\"log\"\n"
                 "healthz check passed\n")},
      {metrics, "GET", "/healthz/ping", "", 200, kText, allowed, "ok"},
      {metrics, "GET", "/healthz/log", "", 404, kText, nosniff, kNotFound},
      {metrics, "GET", "/metrics/slis", "", 200, kExposition, allowed,
       "[\\s\\S]*\nprocess_start_time_seconds 1767323045\\.5\n"},
      {metrics, "DELETE", "/metrics/slis", "", 200, kText, allowed, "metrics reset\n"},
      {metrics, "GET", "/proxyMode", "", 200, kText, nosniff, "iptables"},
      {metrics, "GET", "/configz", "", 200, kJson, nosniff,
       literally(R"({"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration"}})")},
      {metrics, "GET", "/statusz", "", 200, kText, allowed, kStatusz},
      {metrics, "GET", "/statusz", "*/*", 200, kText, allowed, kStatusz},
      {metrics, "GET", "/statusz", "application/json, */*", 200, kText, allowed, kStatusz},
      {metrics, "GET", "/statusz", "text/plain", 200, kText, allowed, kStatusz},
      {metrics, "GET", "/statusz", kStatuszType, 200, kJson, allowed, structured("Statusz", "v1beta1", kStatuszFields)},
      {metrics, "GET", "/statusz", "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz", 200, kJson, allowed,
       structured("Statusz", "v1alpha1", kStatuszFields)},
      {metrics, "GET", "/statusz", std::string("text/plain;q=0.5, ") + kStatuszType, 200, kJson, allowed,
       structured("Statusz", "v1beta1", kStatuszFields)},
      {metrics, "GET", "/statusz", "application/json", 406, kJson, allowed, kNotAcceptable},
      {metrics, "GET", "/statusz", "application/json;as=Statusz", 406, kJson, allowed, kNotAcceptable},
      {metrics, "GET", "/statusz", "application/json;as=Flagz;v=v1beta1;g=config.k8s.io", 406, kJson, allowed,
       kNotAcceptable},
      {metrics, "GET", "/statusz", "image/png;q=x, ;;=, ", 406, kJson, allowed, kNotAcceptable},
      {metrics, "GET", "/flagz", "", 200, kText, allowed, kFlagz},
      {metrics, "GET", "/flagz", "*/*", 200, kText, allowed, kFlagz},
      {metrics, "GET", "/flagz", "application/json;as=Flagz;v=v1beta1;g=config.k8s.io", 200, kJson, allowed,
       structured("Flagz", "v1beta1", R"("flags":\{"a":"1","b":""\})")},
      {metrics, "GET", "/flagz", "application/json", 406, kJson, allowed, kNotAcceptable},
      {metrics, "GET", "/debug/flags", "", 200, "text/html; charset=utf-8", allowed,
       "<html>[\\s\\S]*<tr>v<br>[\\s\\S]*</html>\n"},
      {metrics, "GET", "/debug/flags/", "", 200, "text/html; charset=utf-8", allowed,
       "<html>[\\s\\S]*<tr>v<br>[\\s\\S]*</html>\n"},
      {metrics, "GET", "/debug/flags/v", "", 406, "text/plain", nosniff, "unsupported http method\n"},
      {metrics, "GET", "/debug/pprof/heap", "", 404, kText, nosniff, "[\\s\\S]*not a Go program[\\s\\S]*"},
      {metrics, "GET", "/livez", "", 404, kText, nosniff, kNotFound},
      {metrics, "GET", "/nowhere", "", 404, kText, nosniff, kNotFound},
  };
}

class HttpPagesPathsTest : public CppUnit::TestFixture, public PageSources {
  CPPUNIT_TEST_SUITE(HttpPagesPathsTest);
  CPPUNIT_TEST(every_path_answers_like_kube_proxy);
  CPPUNIT_TEST(answers_have_the_process_start_time);
  CPPUNIT_TEST(a_deprecated_version_has_a_warning);
  CPPUNIT_TEST(health_checks_are_counted_until_they_are_reset);
  CPPUNIT_TEST(paths_depend_on_feature_gates);
  CPPUNIT_TEST_SUITE_END();

  config::Settings settings_;
  std::unique_ptr<test::CapturedLog> log_;
  std::unique_ptr<config::SettingsCell> cell_;
  std::unique_ptr<HttpPages> pages_;
  std::uint16_t health_ = 0;
  std::uint16_t metrics_ = 0;

 public:
  void setUp() override {
    log_ = std::make_unique<test::CapturedLog>();
    {
      const test::HeldPort health;
      const test::HeldPort metrics;
      health_ = health.port;
      metrics_ = metrics.port;
    }
    settings_.backend = "iptables";
    settings_.serve.healthz = lib::SocketAddress{test::address("127.0.0.1"), health_};
    settings_.serve.metrics = lib::SocketAddress{test::address("127.0.0.1"), metrics_};
    settings_.serve.profiling = true;
    settings_.kube_proxy_configuration = R"({"kind":"KubeProxyConfiguration"})";
    settings_.flags = {{"a", "1"}, {"b", ""}};
  }
  void tearDown() override {
    pages_.reset();
    log_.reset();
  }

 private:
  // PageSources
  std::vector<FamilyHealth> families() override {
    return {{.family = lib::Family::ipv4, .last_updated = std::chrono::system_clock::now()}};
  }
  std::string metrics_text() override { return "a_metric 1\n"; }
  void answered_healthz(int) override {}
  void answered_livez(int) override {}
  void set_verbosity(int) override {}
  void bind_failed_hard(const std::string&, const std::string&) override {}

  void start() {
    // 2026-01-02T03:04:05.5Z
    const WallTime started(std::chrono::milliseconds(1'767'323'045'500));
    cell_ = std::make_unique<config::SettingsCell>(settings_);
    pages_ = std::make_unique<HttpPages>(*cell_, *this, ProcessInfo{"9.8.7", "1.36", started});
    CPPUNIT_ASSERT(pages_->start().ok());
    pages_->set_node(model::Node{});
  }
  std::string ask(const Row& row) {
    test::HttpPeer client(row.server == Server::health ? health_ : metrics_);
    client.send(row.method + " " + row.path + " HTTP/1.1\r\nHost: x\r\n" +
                (row.accept.empty() ? "" : "Accept: " + row.accept + "\r\n") + "\r\n");
    return client.answer();
  }
  std::string get(const std::string& path, const std::string& accept = {}, const std::string& method = "GET") {
    return ask({.server = Server::metrics, .method = method, .path = path, .accept = accept});
  }
  static std::string header(const std::string& answer, const std::string& name) {
    const std::string begin = "\r\n" + name + ": ";
    const auto at = answer.substr(0, answer.find("\r\n\r\n") + 2).find(begin);
    if (at == std::string::npos) return "absent";
    return answer.substr(at + begin.size(), answer.find("\r\n", at + 2) - at - begin.size());
  }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  void every_path_answers_like_kube_proxy() {
    start();
    for (const Row& row : rows()) {
      const std::string what = row.method + " " + row.path + " Accept: " + row.accept;
      const std::string answer = ask(row);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(what, std::to_string(row.status), test::status(answer));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(what, row.content_type, header(answer, "Content-Type"));
      if (row.sniff == Sniff::nosniff) {
        CPPUNIT_ASSERT_EQUAL_MESSAGE(what, std::string("nosniff"), header(answer, "X-Content-Type-Options"));
      }
      CPPUNIT_ASSERT_MESSAGE(what + " answers " + body(answer), std::regex_match(body(answer), std::regex(row.body)));
    }
  }

  void answers_have_the_process_start_time() {
    start();
    CPPUNIT_ASSERT_EQUAL(std::string("1767323045"), header(get("/metrics"), "Process-Start-Time-Unix"));
    CPPUNIT_ASSERT(
        test::holds(get("/metrics/slis"),
                    "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in "
                    "seconds.\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1767323045.5\n"));
  }

  void a_deprecated_version_has_a_warning() {
    start();
    CPPUNIT_ASSERT_EQUAL(
        std::string("299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\""),
        header(get("/statusz", "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz"), "Warning"));
    CPPUNIT_ASSERT_EQUAL(std::string("absent"), header(get("/statusz", kStatuszType), "Warning"));
  }

  void health_checks_are_counted_until_they_are_reset() {
    start();
    const std::string sample = "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} ";
    CPPUNIT_ASSERT(!test::holds(get("/metrics/slis"), "kubernetes_healthcheck"));
    get("/healthz");
    get("/healthz?verbose");
    get("/healthz?exclude=ping");  // is not checked
    get("/healthz/ping");          // is no check of /healthz
    const std::string text = get("/metrics/slis");
    CPPUNIT_ASSERT(test::holds(text, sample + "2\n"));
    CPPUNIT_ASSERT(test::holds(
        text, "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"));
    get("/metrics/slis", "", "DELETE");
    CPPUNIT_ASSERT(!test::holds(get("/metrics/slis"), "kubernetes_healthcheck"));
    get("/healthz");
    CPPUNIT_ASSERT(test::holds(get("/metrics/slis"), sample + "1\n"));
  }

  void paths_depend_on_feature_gates() {
    settings_.serve.flagz = settings_.serve.profiling = false;
    start();
    CPPUNIT_ASSERT(test::holds(get("/statusz"), "\nPaths: /configz /healthz /metrics /proxyMode /sync\n"));
    for (const char* path : {"/flagz", "/debug/flags", "/debug/flags/", "/debug/flags/v", "/debug/pprof"}) {
      CPPUNIT_ASSERT_EQUAL(std::string(kNotFound), body(get(path)));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HttpPagesPathsTest);

}  // namespace http_pages_paths_test
}  // namespace sluice::observe
