// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/manifest_documents.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace manifest_documents_test {

ManifestContent read(const std::string& text, const std::string& path = "m.yaml") {
  return read_manifest(path, text, "node-a");
}

std::string names(const ManifestContent& content) {
  std::string out;
  for (const auto& object : content.objects) out += (out.empty() ? "" : ", ") + object.key.to_string();
  return out;
}

std::string only_error(const std::string& text, const std::string& path = "m.yaml") {
  const auto content = read(text, path);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), content.errors.size());
  return content.errors[0];
}

const std::string kService =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  clusterIP: 10.96.0.10\n  ports:\n  - port: 80\n";

class ManifestDocumentsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ManifestDocumentsTest);
  CPPUNIT_TEST(all_kinds_are_read_from_one_stream);
  CPPUNIT_TEST(service_cidrs_of_both_versions_are_read);
  CPPUNIT_TEST(the_namespace_defaults_to_default);
  CPPUNIT_TEST(both_cluster_ips_count_without_families);
  CPPUNIT_TEST(lists_are_unpacked);
  CPPUNIT_TEST(json_files_are_read);
  CPPUNIT_TEST(json_documents_may_follow_each_other);
  CPPUNIT_TEST(a_flow_mapping_is_yaml);
  CPPUNIT_TEST(recorded_lists_are_manifests);
  CPPUNIT_TEST(list_selectors_are_applied);
  CPPUNIT_TEST(other_kinds_are_skipped);
  CPPUNIT_TEST(a_service_needs_an_address);
  CPPUNIT_TEST(errors_name_document_line_and_field);
  CPPUNIT_TEST(errors_in_json_have_lines_too);
  CPPUNIT_TEST(a_document_that_is_not_an_object_is_an_error);
  CPPUNIT_TEST(a_duplicate_object_is_an_error);
  CPPUNIT_TEST(wrong_api_versions_are_errors);
  CPPUNIT_TEST(every_error_of_a_file_is_reported);
  CPPUNIT_TEST(notes_name_document_and_line);
  CPPUNIT_TEST(truncated_json_is_an_error_at_every_byte);
  CPPUNIT_TEST_SUITE_END();

  void all_kinds_are_read_from_one_stream() {
    const auto content =
        read(kService +
             "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: web-1\n"
             "  labels: {kubernetes.io/service-name: web}\naddressType: IPv4\nports: [{port: 8080}]\n"
             "endpoints: [{addresses: [10.1.0.1]}]\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n");
    CPPUNIT_ASSERT_MESSAGE(content.errors.empty() ? "" : content.errors[0], content.errors.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("Service default/web, EndpointSlice default/web-1, Node node-a"), names(content));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), std::get<model::EndpointSlice>(content.objects[1].object).endpoints.size());
  }

  void service_cidrs_of_both_versions_are_read() {
    const auto content = read(
        "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: a}\nspec: {cidrs: [10.0.0.0/24]}\n---\n"
        "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata: {name: b}\nspec: {cidrs: ['fd00::/112']}\n"
        "---\napiVersion: networking.k8s.io/v1\nkind: ServiceCIDRList\nitems:\n- metadata: {name: c}\n");
    CPPUNIT_ASSERT_MESSAGE(content.errors.empty() ? "" : content.errors[0], content.errors.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("ServiceCIDR a, ServiceCIDR b, ServiceCIDR c"), names(content));
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1, line 1: apiVersion: \"networking.k8s.io/v2\" is not supported; "
                                     "write networking.k8s.io/v1"),
                         only_error("apiVersion: networking.k8s.io/v2\nkind: ServiceCIDR\nmetadata: {name: a}\n"));
  }

  void the_namespace_defaults_to_default() {
    CPPUNIT_ASSERT_EQUAL(std::string("Service default/web"), names(read(kService)));
  }

  void both_cluster_ips_count_without_families() {
    const auto content =
        read("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIPs: [10.96.0.1, 'fd00::1']}\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), std::get<model::Service>(content.objects.at(0).object).cluster_ips.size());
  }

  void lists_are_unpacked() {
    const auto named = [&](const std::string& name) {
      return "{metadata: {name: " + name + "}, spec: {clusterIP: 10.0.0.1}}";
    };
    CPPUNIT_ASSERT_EQUAL(
        std::string("Service default/a, Service default/b"),
        names(read("apiVersion: v1\nkind: ServiceList\nitems:\n- " + named("a") + "\n- " + named("b") + "\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("Service default/a, Node node-a"),
                         names(read("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: "
                                    "{name: a}, spec: {clusterIP: 10.0.0.1}}\n"
                                    "- {apiVersion: v1, kind: Node, metadata: {name: node-a}}\n- {apiVersion: v1, "
                                    "kind: Pod, metadata: {name: p}}\n")));
    CPPUNIT_ASSERT_EQUAL(std::string(""), names(read("apiVersion: v1\nkind: List\nitems: []\n")));
    CPPUNIT_ASSERT(read("apiVersion: v1\nkind: List\nitems: []\n").errors.empty());
    CPPUNIT_ASSERT_EQUAL(
        std::string("m.yaml: document 1, line 4, items[0]: kind: is missing; say which kind of object this is"),
        only_error("apiVersion: v1\nkind: List\nitems:\n- {metadata: {name: a}}\n"));
  }

  void json_files_are_read() {
    const std::string json =
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"n"},
          "spec":{"clusterIP":"10.0.0.1"}})";
    CPPUNIT_ASSERT_EQUAL(std::string("Service n/web"), names(read(json, "m.json")));
    CPPUNIT_ASSERT_EQUAL(std::string("Service n/web"), names(read(json, "m.yaml")));
    CPPUNIT_ASSERT(read("", "m.json").errors.empty());
    CPPUNIT_ASSERT(read(" \n", "m.yaml").errors.empty());
  }

  void json_documents_may_follow_each_other() {
    const std::string json = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})";
    CPPUNIT_ASSERT_EQUAL(
        std::string("Node node-a, Service default/a"),
        names(
            read(json + "\n" +
                     R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"a"},"spec":{"clusterIP":"10.0.0.1"}})",
                 "m.json")));
  }

  void a_flow_mapping_is_yaml() {
    CPPUNIT_ASSERT_EQUAL(std::string("Node node-a"),
                         names(read("{apiVersion: v1, kind: Node, metadata: {name: node-a}}")));
    CPPUNIT_ASSERT(!read("{apiVersion: v1, kind: Node, metadata: {name: node-a}}", "m.json").errors.empty());
  }

  void recorded_lists_are_manifests() {
    const auto services = read(test::recorded("list-services").body, "services.json");
    // An ExternalName Service needs no address; a headless Service is skipped.
    CPPUNIT_ASSERT_EQUAL(
        std::string("Service default/kubernetes, Service demo/ext, Service demo/lb, Service demo/np, Service demo/web"),
        names(services));
    CPPUNIT_ASSERT(services.errors.empty());
    const auto slices = read(test::recorded("list-endpointslices-large-page1-limit100").body, "slices.json");
    CPPUNIT_ASSERT_EQUAL(std::size_t(100), slices.objects.size());
  }

  void list_selectors_are_applied() {
    const auto content = read(
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {service.kubernetes.io/service-proxy-name: "
        "x}}\nspec: {ports: [{port: 0}]}\n---\n"
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: b, labels: "
        "{service.kubernetes.io/headless: ''}}\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata: {name: another}\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: d}\nspec: {clusterIP: None}\n");
    CPPUNIT_ASSERT(content.errors.empty());
    CPPUNIT_ASSERT(content.objects.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), content.skipped.size());
  }

  void other_kinds_are_skipped() {
    const auto content = read(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {}\n---\napiVersion: "
        "serving.knative.dev/v1\nkind: Service\nmetadata: {name: s}\n");
    CPPUNIT_ASSERT(content.errors.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), content.skipped.size());
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1: Deployment d is of a kind that a proxy does not need"),
                         content.skipped[0]);
  }

  void a_service_needs_an_address() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("m.yaml: document 1, line 4: Service default/web: spec.clusterIP: is missing; there is no API "
                    "server to allocate one: "
                    "set spec.clusterIP"),
        only_error("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n"));
  }

  void errors_name_document_line_and_field() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("m.yaml: document 2, line 15: Service default/two: spec.ports[0].port: 0 is not a port (1-65535)"),
        only_error(kService + "---\n# two\napiVersion: v1\nkind: Service\nmetadata: {name: two}\nspec: {clusterIP: "
                              "10.0.0.2, ports:\n  [{name: x,\n    port: 0}]}\n"));
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1, line 4: illegal map value; correct the YAML"),
                         only_error("a: b\nc: d\n  e\n f: g\n"));
  }

  void errors_in_json_have_lines_too() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("m.json: document 1, line 5: Service default/web: spec.clusterIP: \"x\" is not an IP address"),
        only_error("{\"apiVersion\":\"v1\",\n\"kind\":\"Service\",\n\"metadata\":{\"name\":\"web\"},\n\"spec\":{"
                   "\n\"clusterIP\":\"x\"}}",
                   "m.json"));
  }

  void a_document_that_is_not_an_object_is_an_error() {
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1, line 1: kind: is missing; say which kind of object this is"),
                         only_error("a: 1\n"));
    for (const char* text :
         {"- a\n", "just text\n", "5\n", "kind: [a]\n", "kind: Service\napiVersion: v1\nmetadata: 5\n"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !read(text).errors.empty());
    }
    for (const char* text : {"[]", "5", "\"x\"", "{", "{}", "{}x", "{\"kind\":5}", "{\"kind\":\"Service\",}"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !read(text, "m.json").errors.empty());
    }
  }

  void a_duplicate_object_is_an_error() {
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 2, line 11: Service default/web: metadata.name: the object "
                                     "occurs twice, first in document 1; remove one"),
                         only_error(kService + "---\n" + kService));
  }

  void wrong_api_versions_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1, line 1: apiVersion: is missing; write apiVersion: v1"),
                         only_error("kind: Service\nmetadata: {name: a}\n"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("m.yaml: document 1, line 1: apiVersion: \"discovery.k8s.io/v1beta1\" is not supported; write "
                    "discovery.k8s.io/v1"),
        only_error("apiVersion: discovery.k8s.io/v1beta1\nkind: EndpointSlice\nmetadata: {name: a}\n"));
  }

  void every_error_of_a_file_is_reported() {
    std::string text;
    for (int i = 0; i < 30; ++i)
      text += "apiVersion: v1\nkind: Service\nmetadata: {name: s" + std::to_string(i) + "}\n---\n";
    const auto content = read(text + kService + "---\na: [\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t(31), content.errors.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(30), content.unusable.size());
    CPPUNIT_ASSERT_EQUAL(std::string("Service default/web"), names(content));
  }

  void notes_name_document_and_line() {
    const auto content = read(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  clusterIP: 10.96.0.10\n  externalIPs:\n  - "
        "1.2.3.4\n  - banana\n");
    CPPUNIT_ASSERT(content.errors.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("m.yaml: document 1, line 8: Service default/web: spec.externalIPs[1]: \"banana\" "
                                     "is not an IP address; ignored"),
                         content.notes.at(0));
  }

  void truncated_json_is_an_error_at_every_byte() {
    std::string body = test::recorded("list-services-page1-limit2").body;
    while (body.back() != '}') body.pop_back();
    for (std::size_t size = 1; size < body.size(); ++size) {
      CPPUNIT_ASSERT(!read(body.substr(0, size), "m.json").errors.empty());
    }
    CPPUNIT_ASSERT(read(body, "m.json").errors.empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ManifestDocumentsTest);

}  // namespace manifest_documents_test
}  // namespace sluice::kube
