// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Layout of the table, the same in `ip` and `ip6`. It follows the nftables mode of kube-proxy:
//
//   cluster-ips           set   every cluster IP
//   nodeport-ips          set   addresses that serve node ports; unused if every local address does
//   hairpin               set   local endpoints, as address . address . protocol . port
//   endpoints             map   slot -> address . port; the endpoints of a list have consecutive slots
//   services              map   address . protocol . port -> goto svc-, loc- or ext-
//   nodeports             map   protocol . port -> goto ext-
//   empty-services        map   address . protocol . port -> goto reject-it, or drop
//   empty-nodeports       map   the same for node ports
//   firewall              map   address . protocol . port -> goto fw-
//
//   firewall-prerouting, firewall-output    before NAT: map firewall
//   nat-prerouting, nat-output              jump to `dispatch`: masquerade mark, maps services and nodeports
//   filter-input, -forward, -output         after NAT: what still has a service address has no endpoint
//   nat-postrouting                         masquerades marked packets, and endpoints that connect to themselves
//
// For each service port, BASE is its first frontend: "10.96.0.80-tcp-80" for a cluster IP. That is unique, because the
// daemon delivers no frontend twice, and no text of a tenant is part of a name.
//
//   svc-BASE, loc-BASE    balance over the endpoints of the Cluster or Local list
//   ext-BASE              mark for masquerading, or choose the list; then svc- or loc-
//   fw-BASE               drop clients outside of the source ranges
//   ep-BASE-ENDPOINT      with session affinity: remember the client, then DNAT
//   aff-SECONDS-BASE-ENDPOINT   its clients. The timeout of a set cannot change, so it is part of the name

#include "ruleset.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum content {
  CLUSTER_IPS, NODEPORT_IPS, HAIRPIN, ENDPOINTS, SERVICES, NODEPORTS, EMPTY_SERVICES, EMPTY_NODEPORTS, FIREWALL, KINDS
};

#define FRONTEND "%s . inet_proto . inet_service : verdict"
// %s: ipv4_addr or ipv6_addr
static const struct {
  const char *sort, *name, *type;
} containers[KINDS] = {
    {"set", "cluster-ips", "%s"},
    {"set", "nodeport-ips", "%s"},
    {"set", "hairpin", "%1$s . %1$s . inet_proto . inet_service"},
    {"map", "endpoints", NULL},  // made again with each transaction: see render_rules()
    {"map", "services", FRONTEND},
    {"map", "nodeports", "inet_proto . inet_service : verdict"},
    {"map", "empty-services", FRONTEND},
    {"map", "empty-nodeports", "inet_proto . inet_service : verdict"},
    {"map", "firewall", FRONTEND},
};

// A base chain has a hook; `stops`: it directs new connections.
static const struct {
  const char *name, *hook;
  int stops;
} chains[] = {
    {"reject-it", NULL, 0},
    {"dispatch", NULL, 0},
    {"firewall-prerouting", "filter hook prerouting priority -110", 1},
    {"firewall-output", "filter hook output priority -110", 1},
    {"nat-prerouting", "nat hook prerouting priority -100", 1},
    {"nat-output", "nat hook output priority -100", 1},
    {"nat-postrouting", "nat hook postrouting priority 100", 0},
    {"filter-input", "filter hook input priority 0", 1},
    {"filter-forward", "filter hook forward priority 0", 1},
    {"filter-output", "filter hook output priority 0", 1},
};
enum { CHAINS = sizeof chains / sizeof *chains };

struct endpoint {
  char ip[INET6_ADDRSTRLEN];
  char name[128];  // BASE-ENDPOINT
  uint16_t port;
  uint16_t flags;
};

struct render {
  struct ruleset* to;
  sluice_family family;
  const char* ip;
  struct sluice_node_facts node;
  struct sluice_host* host;
  struct names bases;      // of all service ports so far
  struct names frontends;
  struct endpoint* endpoints;  // of the current service port
  size_t room;                 // for endpoints
  int failed;
  struct text elements[KINDS];
  size_t slots;  // in use, of the map `endpoints`
  char local[64];  // matches packets of pods of this node; empty: not possible
};

const char* ruleset_family(sluice_family family) { return family == SLUICE_FAMILY_IPV6 ? "ip6" : "ip"; }

static const char* protocol_name(sluice_protocol protocol) {
  switch (protocol) {
    case SLUICE_PROTOCOL_TCP: return "tcp";
    case SLUICE_PROTOCOL_UDP: return "udp";
    case SLUICE_PROTOCOL_SCTP: return "sctp";
    default: return NULL;
  }
}

struct address_text {
  char text[INET6_ADDRSTRLEN];
};

static struct address_text print_address(const struct render* render, const struct sluice_address* address) {
  struct address_text out;
  inet_ntop(render->family == SLUICE_FAMILY_IPV6 ? AF_INET6 : AF_INET, address->bytes, out.text, sizeof out.text);
  return out;
}

// A name of nft has no colons.
static struct address_text address_name(const struct render* render, const struct sluice_address* address) {
  struct address_text out = print_address(render, address);
  for (char* at = out.text; *at != '\0'; ++at) {
    if (*at == ':') *at = '.';
  }
  return out;
}

static int equal_addresses(const struct sluice_address* one, const struct sluice_address* other) {
  return memcmp(one, other, sizeof *one) == 0;
}

static void add_element(struct render* render, enum content where, const char* key, const char* verdict,
                        const char* chain) {
  struct text* to = &render->elements[where];
  text_add(to, "%s%s", to->size == 0 ? "" : ",\n", key);
  if (verdict[0] != '\0') text_add(to, " : %s%s", verdict, chain);
  ++render->to->objects;
}

static void open_chain(struct render* render, const char* prefix, const char* name) {
  text_add(&render->to->content, "\tchain %s%s {\n", prefix, name);
  ++render->to->objects;
}

// ---- one service port ---------------------------------------------------------------------------------------------

struct service {
  struct sluice_service_port port;
  const char* protocol;
  char base[64];
  char comment[120];
  const struct endpoint* endpoints;
  size_t count;
  size_t in_cluster;  // endpoints
  size_t in_local;
};

static struct sluice_frontend frontend_at(const struct service* service, uint64_t place) {
  struct sluice_frontend out;
  sluice_element(&out, sizeof out, &service->port.frontends, place);
  return out;
}

// "shop/cart:http", without characters that nft could read as something else.
static void print_comment(char* out, size_t capacity, const struct sluice_service_port_key* key) {
  snprintf(out, capacity, "%.*s/%.*s%s%.*s", (int)key->service_namespace.size, key->service_namespace.data,
           (int)key->service_name.size, key->service_name.data, key->port_name.size == 0 ? "" : ":",
           (int)key->port_name.size, key->port_name.data);
  for (; *out != '\0'; ++out) {
    if (!isalnum((unsigned char)*out) && strchr("-./:_", *out) == NULL) *out = '?';
  }
}

#define OCCUPIED "another service port has the same address and port; change one of them"

static void not_rendered(const struct render* render, const struct service* service, const char* object,
                         const char* reason) {
  struct sluice_error error = {.struct_size = sizeof error};
  if (render->host == NULL) return;
  sluice_fail(&error, SLUICE_CODE_UNSUPPORTED, object, reason, 0);
  render->host->methods->service_port_failed(render->host, &service->port.key, &error);
}

// Returns 0 if memory is exhausted.
static int read_endpoints(struct render* render, struct service* service) {
  const struct sluice_array_view* from = &service->port.endpoints;
  if (from->count > render->room) {
    struct endpoint* more = realloc(render->endpoints, from->count * sizeof *more);
    render->failed |= more == NULL;
    if (more == NULL) return 0;
    render->endpoints = more;
    render->room = from->count;
  }
  for (uint64_t i = 0; i < from->count; ++i) {
    struct endpoint* const to = &render->endpoints[i];
    struct sluice_endpoint endpoint;
    sluice_element(&endpoint, sizeof endpoint, from, i);
    to->port = endpoint.port;
    to->flags = endpoint.flags;
    snprintf(to->ip, sizeof to->ip, "%s", print_address(render, &endpoint.address).text);
    snprintf(to->name, sizeof to->name, "%s-%s-%u", service->base, address_name(render, &endpoint.address).text,
             to->port);
    service->in_cluster += (to->flags & SLUICE_ENDPOINT_IN_CLUSTER) != 0;
    service->in_local += (to->flags & SLUICE_ENDPOINT_IN_LOCAL) != 0;
  }
  service->endpoints = render->endpoints;
  service->count = from->count;
  return 1;
}

// Returns 0 if the service port cannot be rendered, with a report.
static int read_service(struct render* render, struct service* service, const struct sluice_array_view* ports,
                        uint64_t place) {
  struct sluice_frontend frontend;
  sluice_element(&service->port, sizeof service->port, ports, place);
  service->protocol = protocol_name(service->port.key.protocol);
  service->in_cluster = service->in_local = 0;
  print_comment(service->comment, sizeof service->comment, &service->port.key);
  if (service->protocol == NULL) {
    not_rendered(render, service, "", "unknown protocol; the backend nft-c knows TCP, UDP and SCTP");
    return 0;
  }
  if (service->port.frontends.count == 0) return 0;
  frontend = frontend_at(service, 0);  // the cluster IP, unless another Service has it: frontends are sorted by kind
  snprintf(service->base, sizeof service->base, "%s-%s-%u", address_name(render, &frontend.address).text,
           service->protocol, frontend.port);
  return read_endpoints(render, service);
}

static uint32_t affinity_seconds(const struct service* service) {
  if ((service->port.flags & SLUICE_SESSION_AFFINITY) == 0) return 0;
  return service->port.affinity_seconds == 0 ? 10800 : service->port.affinity_seconds;
}

// A set of clients and a chain for each endpoint, which remembers the client and translates.
static void render_affinity(struct render* render, const struct service* service) {
  struct text* out = &render->to->content;
  const int v6 = render->family == SLUICE_FAMILY_IPV6;
  const uint32_t seconds = affinity_seconds(service);
  for (size_t i = 0; i < service->count; ++i) {
    const struct endpoint* endpoint = &service->endpoints[i];
    char set[160];
    if ((endpoint->flags & (SLUICE_ENDPOINT_IN_CLUSTER | SLUICE_ENDPOINT_IN_LOCAL)) == 0) continue;
    snprintf(set, sizeof set, "aff-%u-%s", seconds, endpoint->name);
    names_add(&render->to->fixed, set);
    text_add(out, "\tset %s {\n\t\ttype %s\n\t\tsize 65535\n\t\tflags dynamic,timeout\n\t\ttimeout %us\n\t}\n", set,
             v6 ? "ipv6_addr" : "ipv4_addr", seconds);
    open_chain(render, "ep-", endpoint->name);
    text_add(out, "\t\tupdate @%s { %s saddr }\n", set, render->ip);
    text_add(out, "\t\tmeta l4proto %s dnat to %s%s%s:%u\n\t}\n", service->protocol, v6 ? "[" : "", endpoint->ip,
             v6 ? "]" : "", endpoint->port);
  }
}

// The chain that balances over `count` endpoints, those with `flag`. With session affinity, clients of an endpoint go
// there, and others are distributed.
static void render_balancing(struct render* render, const struct service* service, const char* prefix, uint16_t flag,
                             size_t count) {
  struct text* out = &render->to->content;
  const uint32_t seconds = affinity_seconds(service);
  struct text choices = {0};
  size_t number = 0;
  if (count == 0) return;
  open_chain(render, prefix, service->base);
  if (seconds == 0) {
    text_add(out, "\t\tmeta l4proto %s dnat %s addr . port to numgen random mod %zu offset %zu map @endpoints",
             service->protocol, render->ip, count, render->slots);
  }
  for (size_t i = 0; i < service->count; ++i) {
    const struct endpoint* endpoint = &service->endpoints[i];
    if ((endpoint->flags & flag) == 0) continue;
    if (seconds == 0) {
      char element[96];
      snprintf(element, sizeof element, "%zu : %s . %u", render->slots++, endpoint->ip, endpoint->port);
      add_element(render, ENDPOINTS, element, "", "");
    } else {
      text_add(out, "\t\t%s saddr @aff-%u-%s goto ep-%s\n", render->ip, seconds, endpoint->name, endpoint->name);
      text_add(&choices, "%s%zu : goto ep-%s", number == 0 ? "" : ", ", number, endpoint->name);
      ++number;
    }
  }
  if (seconds != 0) {
    text_add(out, "\t\tnumgen random mod %zu vmap { ", count);
    text_append(out, &choices);
    text_add(out, " }");
    text_clear(&choices);
  }
  text_add(out, " comment \"%s\"\n\t}\n", service->comment);
}

// What clients other than those of the cluster IP meet first.
static void render_external(struct render* render, const struct service* service) {
  struct text* out = &render->to->content;
  const char* base = service->base;
  open_chain(render, "ext-", base);
  if ((service->port.flags & SLUICE_EXTERNAL_POLICY_LOCAL) == 0) {
    text_add(out, "\t\tmeta mark set meta mark or 0x%x\n\t\tgoto svc-%s\n\t}\n", render->node.masquerade_mark, base);
    return;
  }
  // Pods of this node and the node itself are not external.
  if (service->in_cluster != 0) {
    if (render->local[0] != '\0') text_add(out, "\t\t%s goto svc-%s\n", render->local, base);
    text_add(out, "\t\tfib saddr type local meta mark set meta mark or 0x%x\n", render->node.masquerade_mark);
    text_add(out, "\t\tfib saddr type local goto svc-%s\n", base);
  }
  if (service->in_local != 0) text_add(out, "\t\tgoto loc-%s\n", base);
  text_add(out, "\t}\n");
}

static int contains(const struct sluice_prefix* prefix, const struct sluice_address* address) {
  const unsigned bytes = prefix->length / 8, bits = prefix->length % 8;
  const uint8_t mask = (uint8_t)(0xff00u >> bits);
  if (memcmp(prefix->address.bytes, address->bytes, bytes) != 0) return 0;
  return bits == 0 || (address->bytes[bytes] & mask) == prefix->address.bytes[bytes];
}

// The source ranges. If they contain the node, it may also use the load balancer address as its source, as it does when
// that address is bound to one of its interfaces.
static void render_firewall(struct render* render, const struct service* service) {
  struct text* out = &render->to->content;
  int with_node = 0;
  open_chain(render, "fw-", service->base);
  text_add(out, "\t\t%s saddr != { ", render->ip);
  for (uint64_t i = 0; i < service->port.source_ranges.count; ++i) {
    struct sluice_prefix range;
    sluice_element(&range, sizeof range, &service->port.source_ranges, i);
    text_add(out, "%s%s/%u", i == 0 ? "" : ", ", print_address(render, &range.address).text, range.length);
    with_node |= contains(&range, &render->node.node_ip);
  }
  for (uint64_t i = 0; with_node && i < service->port.frontends.count; ++i) {
    const struct sluice_frontend frontend = frontend_at(service, i);
    if (frontend.kind == SLUICE_FRONTEND_KIND_LOAD_BALANCER) {
      text_add(out, ", %s", print_address(render, &frontend.address).text);
    }
  }
  text_add(out, " } drop\n\t}\n");
}

// The same address and port as an earlier frontend of the service port, for example an external IP that is also the
// address of the load balancer.
static int is_repeated(const struct service* service, uint64_t place) {
  const struct sluice_frontend frontend = frontend_at(service, place);
  for (uint64_t i = 0; i < place; ++i) {
    const struct sluice_frontend earlier = frontend_at(service, i);
    if (earlier.port == frontend.port && equal_addresses(&earlier.address, &frontend.address)) return 1;
  }
  return 0;
}

// The element of one frontend that directs it to a chain, or rejects or drops.
static void render_frontend(struct render* render, const struct service* service, uint64_t place) {
  const struct sluice_frontend frontend = frontend_at(service, place);
  const int internal = frontend.kind == SLUICE_FRONTEND_KIND_CLUSTER_IP;
  const int node_port = frontend.kind == SLUICE_FRONTEND_KIND_NODE_PORT;
  const int local = (service->port.flags & (internal ? SLUICE_INTERNAL_POLICY_LOCAL : SLUICE_EXTERNAL_POLICY_LOCAL)) != 0;
  const size_t usable = local ? service->in_local : service->in_cluster;
  char key[96];
  if (frontend.kind < SLUICE_FRONTEND_KIND_CLUSTER_IP || frontend.kind > SLUICE_FRONTEND_KIND_NODE_PORT) return;
  if (node_port) {
    snprintf(key, sizeof key, "%s . %u", service->protocol, frontend.port);
  } else {
    snprintf(key, sizeof key, "%s . %s . %u", print_address(render, &frontend.address).text, service->protocol,
             frontend.port);
  }
  if (!is_repeated(service, place)) {
    // One element that nft refuses would prevent all others.
    if (!names_add(&render->frontends, key)) {
      not_rendered(render, service, key, OCCUPIED);
      return;
    }
    if (internal) {
      add_element(render, CLUSTER_IPS, print_address(render, &frontend.address).text, "", "");
      if (usable != 0) add_element(render, SERVICES, key, local ? "goto loc-" : "goto svc-", service->base);
    } else if (service->in_cluster != 0 || usable != 0) {
      add_element(render, node_port ? NODEPORTS : SERVICES, key, "goto ext-", service->base);
    }
    if (usable == 0) {
      const int drops = local && (service->port.flags & SLUICE_HAS_ANY_ENDPOINT) != 0;
      add_element(render, node_port ? EMPTY_NODEPORTS : EMPTY_SERVICES, key, drops ? "drop" : "goto reject-it", "");
    }
  }
  if (frontend.kind == SLUICE_FRONTEND_KIND_LOAD_BALANCER && service->port.source_ranges.count != 0) {
    add_element(render, FIREWALL, key, "goto fw-", service->base);
  }
}

static void render_hairpin(struct render* render, const struct service* service) {
  for (size_t i = 0; i < service->count; ++i) {
    const struct endpoint* endpoint = &service->endpoints[i];
    char key[160];
    if ((endpoint->flags & SLUICE_ENDPOINT_ON_THIS_NODE) == 0) continue;
    snprintf(key, sizeof key, "%s . %s . %s . %u", endpoint->ip, endpoint->ip, service->protocol, endpoint->port);
    add_element(render, HAIRPIN, key, "", "");
  }
}

static void render_service(struct render* render, const struct service* service) {
  const uint64_t frontends = service->port.frontends.count;
  const int external_local = (service->port.flags & SLUICE_EXTERNAL_POLICY_LOCAL) != 0;
  if (!names_add(&render->bases, service->base)) {
    not_rendered(render, service, service->base, OCCUPIED);
    return;
  }
  if (affinity_seconds(service) != 0) render_affinity(render, service);
  render_balancing(render, service, "svc-", SLUICE_ENDPOINT_IN_CLUSTER, service->in_cluster);
  render_balancing(render, service, "loc-", SLUICE_ENDPOINT_IN_LOCAL, service->in_local);
  if (frontend_at(service, frontends - 1).kind != SLUICE_FRONTEND_KIND_CLUSTER_IP &&
      (service->in_cluster != 0 || (external_local && service->in_local != 0))) {
    render_external(render, service);
  }
  if (service->port.source_ranges.count != 0) render_firewall(render, service);
  render_hairpin(render, service);
  for (uint64_t i = 0; i < frontends; ++i) render_frontend(render, service, i);
}

// ---- the table ----------------------------------------------------------------------------------------------------

static void print_local(struct render* render) {
  const struct sluice_string_view name = render->node.detector_interface;
  const int prefix = render->node.detector == SLUICE_LOCAL_DETECTOR_KIND_INTERFACE_NAME_PREFIX;
  if (render->node.detector == SLUICE_LOCAL_DETECTOR_KIND_CIDR) {
    snprintf(render->local, sizeof render->local, "%s saddr %s/%u", render->ip,
             print_address(render, &render->node.detector_cidr.address).text, render->node.detector_cidr.length);
  } else if (render->node.detector == SLUICE_LOCAL_DETECTOR_KIND_BRIDGE_INTERFACE || prefix) {
    for (uint64_t i = 0; i < name.size; ++i) {
      if (!isgraph((unsigned char)name.data[i]) || name.data[i] == '"') return;
    }
    if (name.size == 0 || name.size > 15) return;
    snprintf(render->local, sizeof render->local, "iifname \"%.*s%s\"", (int)name.size, name.data, prefix ? "*" : "");
  }
}

static void render_definitions(struct render* render) {
  struct text* out = &render->to->definitions;
  struct text* flushes = &render->to->flushes;
  text_add(out, "table %s " TABLE " {\n", render->ip);
  text_add(flushes, "flush table %s " TABLE "\n", render->ip);  // rules only
  for (int i = 0; i < KINDS; ++i) {
    if (containers[i].type == NULL) continue;
    text_add(out, "\t%s %s {\n\t\ttype ", containers[i].sort, containers[i].name);
    text_add(out, containers[i].type, render->family == SLUICE_FAMILY_IPV6 ? "ipv6_addr" : "ipv4_addr");
    text_add(out, "\n\t}\n");
    names_add(&render->to->fixed, containers[i].name);
    text_add(flushes, "flush %s %s " TABLE " %s\n", containers[i].sort, render->ip, containers[i].name);
  }
  for (int i = 0; i < CHAINS; ++i) {
    names_add(&render->to->fixed, chains[i].name);
    text_add(out, "\tchain %s {\n", chains[i].name);
    if (chains[i].hook != NULL) text_add(out, "\t\ttype %s; policy accept;\n", chains[i].hook);
    text_add(out, "\t}\n");
  }
  text_add(out, "}\n");
}

static void render_rules(struct render* render) {
  struct text* out = &render->to->content;
  const char* ip = render->ip;
  const uint32_t mark = render->node.masquerade_mark;
  char frontend[64], on_node[128];
  snprintf(frontend, sizeof frontend, "%s daddr . meta l4proto . th dport", ip);
  if ((render->node.flags & SLUICE_NODE_PORTS_MATCH_ALL) == 0) {
    snprintf(on_node, sizeof on_node, "%s daddr @nodeport-ips meta l4proto . th dport", ip);
  } else {
    snprintf(on_node, sizeof on_node, "fib daddr type local %s daddr != %s meta l4proto . th dport", ip,
             render->family == SLUICE_FAMILY_IPV6 ? "::1" : "127.0.0.0/8");
  }
  // A number has no named type, and nft 1.0 cannot read back this one to change the map, so that it is replaced.
  text_add(out, "\tmap endpoints {\n\t\ttypeof numgen random mod 65536 : %s daddr . th dport\n\t}\n", ip);
  text_add(out, "\tchain reject-it {\n\t\treject\n\t}\n\tchain dispatch {\n");
  if ((render->node.flags & SLUICE_MASQUERADE_ALL) != 0) {
    text_add(out, "\t\t%s daddr @cluster-ips meta mark set meta mark or 0x%x\n", ip, mark);
  } else if (render->local[0] != '\0') {
    // "!=" after the first word or two: "ip saddr != …", "iifname != …".
    const char* value = strrchr(render->local, ' ');
    text_add(out, "\t\t%s daddr @cluster-ips %.*s !=%s meta mark set meta mark or 0x%x\n", ip,
             (int)(value - render->local), render->local, value, mark);
  }
  text_add(out, "\t\t%s vmap @services\n\t\t%s vmap @nodeports\n\t}\n", frontend, on_node);
  for (int i = 0; i < 2; ++i) {
    const char* hook = i == 0 ? "prerouting" : "output";
    text_add(out, "\tchain firewall-%s {\n\t\tct state new %s vmap @firewall\n\t}\n", hook, frontend);
    text_add(out, "\tchain nat-%s {\n\t\tjump dispatch\n\t}\n", hook);
  }
  text_add(out, "\tchain filter-input {\n\t\tct state new %s vmap @empty-nodeports\n", on_node);
  text_add(out, "\t\tct state new %s vmap @empty-services\n\t}\n", frontend);
  for (int i = 0; i < 2; ++i) {
    text_add(out, "\tchain filter-%s {\n\t\tct state new %s vmap @empty-services\n", i == 0 ? "forward" : "output",
             frontend);
    text_add(out, "\t\tct state new %s daddr @cluster-ips reject\n\t}\n", ip);
  }
  text_add(out, "\tchain nat-postrouting {\n\t\tmeta mark & 0x%x != 0 meta mark set meta mark xor 0x%x masquerade "
           "fully-random\n", mark, mark);
  text_add(out, "\t\tct status dnat %s saddr . %s daddr . meta l4proto . th dport @hairpin masquerade fully-random\n\t}\n",
           ip, ip);
}

// Packets from a loopback address cannot leave the node.
static int is_loopback(sluice_family family, const struct sluice_address* address) {
  static const struct sluice_address v6 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return family == SLUICE_FAMILY_IPV6 ? equal_addresses(address, &v6) : address->bytes[0] == 127;
}

static void render_elements(struct render* render) {
  for (uint64_t i = 0; i < render->node.node_port_addresses.count; ++i) {
    struct sluice_address address;
    sluice_element(&address, sizeof address, &render->node.node_port_addresses, i);
    if (!is_loopback(render->family, &address)) {
      add_element(render, NODEPORT_IPS, print_address(render, &address).text, "", "");
    }
  }
  for (int i = 0; i < KINDS; ++i) {
    if (render->elements[i].size == 0) continue;
    text_add(&render->to->content, "add element %s " TABLE " %s {\n", render->ip, containers[i].name);
    text_append(&render->to->content, &render->elements[i]);
    text_add(&render->to->content, " }\n");
  }
}

int ruleset_render(struct ruleset* ruleset, sluice_family family, const struct sluice_transaction* transaction,
                   struct sluice_host* host) {
  const struct sluice_array_view* ports = &transaction->service_ports;
  struct render render = {.to = ruleset, .family = family, .ip = ruleset_family(family), .host = host};
  struct service service;
  int failed;
  sluice_read(&render.node, sizeof render.node, transaction->node);
  print_local(&render);
  render_definitions(&render);
  text_add(&ruleset->content, "table %s " TABLE " {\n", render.ip);
  render_rules(&render);
  for (uint64_t i = 0; i < ports->count; ++i) {
    if (read_service(&render, &service, ports, i)) render_service(&render, &service);
  }
  text_add(&ruleset->content, "}\n");
  render_elements(&render);
  failed = ruleset->definitions.failed | ruleset->flushes.failed | ruleset->content.failed | ruleset->fixed.failed |
           render.bases.failed | render.frontends.failed | render.failed;
  for (int i = 0; i < KINDS; ++i) {
    failed |= render.elements[i].failed;
    text_clear(&render.elements[i]);
  }
  names_clear(&render.bases);
  names_clear(&render.frontends);
  free(render.endpoints);
  return !failed;
}

void ruleset_clear(struct ruleset* ruleset) {
  text_clear(&ruleset->definitions);
  text_clear(&ruleset->flushes);
  text_clear(&ruleset->content);
  names_clear(&ruleset->fixed);
}

void ruleset_add_stop(struct text* commands, sluice_family family) {
  for (int i = 0; i < CHAINS; ++i) {
    if (chains[i].stops) text_add(commands, "flush chain %s " TABLE " %s\n", ruleset_family(family), chains[i].name);
  }
}
