// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend nft-c: the functions that the daemon calls, and the descriptor of the plugin. One object serves one IP
// family; all calls come from one thread. ruleset.c renders the desired state, and kernel.c exchanges it with the kernel
// through nft(8). ruleset.c begins with the layout of the table.
//
// Every transaction is full: the backend does not announce SLUICE_FEATURE_DELTA. An apply() renders everything and lists
// the table. If it has to write, one transaction of the kernel replaces all rules and elements, and keeps the clients of
// session affinity. No packet meets a half of the state.
//
// How drift is found: nft prints rules in another form than they were written, so the two cannot be compared. After a
// write, the table is listed again, and a checksum of the rendered ruleset and that listing goes to a file in the state
// directory. If the checksum of a later listing with the same ruleset differs, then another process has changed the
// table. The next process uses the same file, and writes nothing after a restart without drift.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

struct backend {
  struct sluice_backend object;  // first: the daemon has a pointer to it
  struct sluice_host* host;
  struct kernel kernel;
  uint64_t fingerprint;  // of the table after the last successful apply()
  char state_file[4096];
  int stopped;  // retire() has removed the rules that direct new connections
};

static struct backend* mine(struct sluice_backend* object) { return (struct backend*)object; }

static sluice_code failed(struct backend* backend, struct sluice_error* error) {
  const struct kernel* kernel = &backend->kernel;
  const int denied = kernel->os_errno == EPERM || strstr(kernel->problem, "Operation not permitted") != NULL;
  char object[64];
  snprintf(object, sizeof object, "table %s " TABLE, ruleset_family(kernel->family));
  return sluice_fail(error,
                     kernel->os_errno == ENOMEM   ? SLUICE_CODE_RETRY
                     : kernel->os_errno == ENOENT ? SLUICE_CODE_UNSUPPORTED
                     : denied                     ? SLUICE_CODE_DENIED
                                                  : SLUICE_CODE_KERNEL,
                     object, kernel->problem, kernel->os_errno);
}

static sluice_code no_memory(struct sluice_error* error) {
  return sluice_fail(error, SLUICE_CODE_RETRY, "", "memory is exhausted", ENOMEM);
}

// Lets nft check the rules of a Service that has everything. --check leaves nothing behind.
static sluice_code probe(struct sluice_backend* object, struct sluice_error* error) {
  struct backend* backend = mine(object);
  // 192.0.2.0/24, or c000:200::/24.
  const struct sluice_prefix range = {{{192, 0, 2}}, 24, {0}};
  const struct sluice_frontend frontends[] = {
      {{{192, 0, 2, 1}}, 80, SLUICE_FRONTEND_KIND_CLUSTER_IP, {0}},
      {{{192, 0, 2, 2}}, 80, SLUICE_FRONTEND_KIND_LOAD_BALANCER, {0}},
      {{{0}}, 30080, SLUICE_FRONTEND_KIND_NODE_PORT, {0}},
  };
  const struct sluice_endpoint endpoint = {
      {{192, 0, 2, 3}}, 80, SLUICE_ENDPOINT_IN_CLUSTER | SLUICE_ENDPOINT_IN_LOCAL | SLUICE_ENDPOINT_ON_THIS_NODE, 0};
  struct sluice_service_port ports[] = {
      {.key = {sluice_text("probe"), sluice_text("probe"), {0}, SLUICE_PROTOCOL_TCP, {0}},
       .flags = SLUICE_EXTERNAL_POLICY_LOCAL | SLUICE_SESSION_AFFINITY,
       .frontends = sluice_array(frontends, 3, sizeof *frontends),
       .source_ranges = sluice_array(&range, 1, sizeof range),
       .endpoints = sluice_array(&endpoint, 1, sizeof endpoint)},
      {.key = {sluice_text("probe"), sluice_text("empty"), {0}, SLUICE_PROTOCOL_UDP, {0}},
       .frontends = sluice_array(frontends, 3, sizeof *frontends)},
      {.key = {sluice_text("probe"), sluice_text("plain"), {0}, SLUICE_PROTOCOL_SCTP, {0}},
       .frontends = sluice_array(frontends, 1, sizeof *frontends),
       .endpoints = sluice_array(&endpoint, 1, sizeof endpoint)},
  };
  const struct sluice_node_facts node = {.struct_size = sizeof node, .flags = SLUICE_NODE_PORTS_MATCH_ALL,
                                         .masquerade_mark = 0x4000, .detector = SLUICE_LOCAL_DETECTOR_KIND_CIDR,
                                         .detector_cidr = range};
  const struct sluice_transaction transaction = {.struct_size = sizeof transaction, .node = &node,
                                                 .service_ports = sluice_array(ports, 3, sizeof *ports)};
  struct ruleset ruleset = {0};
  struct text commands = {0};
  sluice_code code = SLUICE_CODE_OK;
  if (!ruleset_render(&ruleset, backend->kernel.family, &transaction, NULL)) {
    code = no_memory(error);
  } else {
    // Leftover state of an earlier process is no obstacle.
    text_add(&commands, "add table %s " TABLE "\ndelete table %s " TABLE "\n", ruleset_family(backend->kernel.family),
             ruleset_family(backend->kernel.family));
    text_append(&commands, &ruleset.definitions);
    text_append(&commands, &ruleset.content);
    if (kernel_check(&backend->kernel, &commands) != 0) code = failed(backend, error);
  }
  ruleset_clear(&ruleset);
  text_clear(&commands);
  return code;
}

static void warn(struct backend* backend, const char* what, const char* reason) {
  char line[600];
  snprintf(line, sizeof line, "table %s " TABLE ": %s: %s", ruleset_family(backend->kernel.family), what, reason);
  // One line: nft prints several.
  for (char* at = line; *at != '\0'; ++at) {
    if (*at == '\n') *at = ' ';
  }
  backend->host->methods->log(backend->host, SLUICE_SEVERITY_WARNING, sluice_text(line));
}

// Changes the table in one transaction of the kernel. If another process has changed it in a way that prevents that, the
// table is replaced, also in one transaction, and only the clients of session affinity are lost.
static int write_table(struct backend* backend, const struct ruleset* ruleset, const struct text* unwanted) {
  const char* family = ruleset_family(backend->kernel.family);
  struct text commands = {0};
  int result;
  text_append(&commands, &ruleset->definitions);
  text_append(&commands, &ruleset->flushes);
  text_append(&commands, unwanted);
  text_append(&commands, &ruleset->content);
  result = kernel_load(&backend->kernel, &commands);
  text_clear(&commands);
  if (result == 0) return 0;
  warn(backend, "cannot change it, replacing it", backend->kernel.problem);
  text_add(&commands, "add table %s " TABLE "\ndelete table %s " TABLE "\n", family, family);
  text_append(&commands, &ruleset->definitions);
  text_append(&commands, &ruleset->content);
  result = kernel_load(&backend->kernel, &commands);
  text_clear(&commands);
  return result;
}

static uint64_t recall(const struct backend* backend) {
  FILE* file = fopen(backend->state_file, "re");
  uint64_t checksum = 0;
  if (file == NULL) return 0;
  if (fscanf(file, "%" SCNx64, &checksum) != 1) checksum = 0;
  fclose(file);
  return checksum;
}

// A crash may leave an incomplete file: then the next process writes the table again, as without a file.
static void remember(struct backend* backend, uint64_t checksum) {
  FILE* file = fopen(backend->state_file, "we");
  int written = file != NULL && fprintf(file, "%016" PRIx64 "\n", checksum) > 0;
  if (file != NULL && fclose(file) != 0) written = 0;
  if (!written) warn(backend, "cannot write the state file, the next start writes all rules again", strerror(errno));
}

static int apply_ruleset(struct backend* backend, const struct ruleset* ruleset, struct sluice_apply_result* result) {
  struct listing listing;
  struct text unwanted = {0};
  int status = kernel_read(&backend->kernel, &ruleset->fixed, &listing, &unwanted);
  if (status == 0 && (!listing.exists || recall(backend) != checksum(ruleset, listing.fingerprint))) {
    status = write_table(backend, ruleset, &unwanted);
    if (status == 0) result->kernel_writes = ruleset->objects + 1;
    if (status == 0) status = kernel_read(&backend->kernel, NULL, &listing, NULL);
    if (status == 0) remember(backend, checksum(ruleset, listing.fingerprint));
  }
  if (status == 0) backend->fingerprint = listing.fingerprint;
  text_clear(&unwanted);
  return status;
}

static sluice_code apply(struct sluice_backend* object, const struct sluice_transaction* given,
                         struct sluice_apply_result* result, struct sluice_error* error) {
  struct backend* backend = mine(object);
  struct sluice_transaction transaction;
  struct sluice_apply_result counted = {.struct_size = sizeof counted};
  struct ruleset ruleset = {0};
  sluice_code code = SLUICE_CODE_OK;
  sluice_read(&transaction, sizeof transaction, given);
  if (transaction.kind != SLUICE_TRANSACTION_KIND_FULL) {
    return sluice_fail(error, SLUICE_CODE_NEED_FULL, "", "the backend nft-c takes full transactions only", 0);
  }
  backend->kernel.nanoseconds = 0;
  if (!ruleset_render(&ruleset, backend->kernel.family, &transaction, backend->host)) {
    code = no_memory(error);
  } else if (apply_ruleset(backend, &ruleset, &counted) != 0) {
    code = failed(backend, error);
  }
  counted.objects_owned = ruleset.objects;
  counted.kernel_nanoseconds = backend->kernel.nanoseconds;
  ruleset_clear(&ruleset);
  // The caller may be older and know fewer fields.
  counted.struct_size = result->struct_size;
  memcpy(result, &counted, result->struct_size < sizeof counted ? result->struct_size : sizeof counted);
  return code;
}

static sluice_code verify(struct sluice_backend* object, struct sluice_error* error) {
  struct backend* backend = mine(object);
  struct listing listing;
  if (kernel_read(&backend->kernel, NULL, &listing, NULL) != 0) return failed(backend, error);
  if (listing.exists && listing.fingerprint == backend->fingerprint) return SLUICE_CODE_OK;
  snprintf(backend->kernel.problem, sizeof backend->kernel.problem, "another process has %s the table",
           listing.exists ? "changed" : "deleted");
  failed(backend, error);
  return SLUICE_CODE_NEED_FULL;
}

static const char* claim(const struct backend* backend) {
  return backend->kernel.family == SLUICE_FAMILY_IPV6 ? "nft/ip6/" TABLE : "nft/ip/" TABLE;
}

static sluice_code claims(struct sluice_backend* object, struct sluice_string_sink* sink, struct sluice_error* error) {
  (void)error;
  sink->methods->add(sink, sluice_text(claim(mine(object))));
  return SLUICE_CODE_OK;
}

static sluice_code cleanup(struct sluice_backend* object, struct sluice_error* error) {
  struct backend* backend = mine(object);
  if (kernel_delete_table(&backend->kernel) != 0) return failed(backend, error);
  remove(backend->state_file);
  return SLUICE_CODE_OK;
}

// Another backend is active now. Established connections continue in conntrack, so nothing drains. Packets that have
// passed a chain of this table must still be masqueraded: the first call keeps the chain that does it, and the next call,
// within a second, deletes the table. An object that was never applied does the same with leftover state.
static sluice_code retire(struct sluice_backend* object, const struct sluice_handover* given,
                          struct sluice_error* error) {
  struct backend* backend = mine(object);
  struct sluice_handover handover;
  struct sluice_string_view adopted;
  struct text commands = {0};
  int stopped;
  sluice_read(&handover, sizeof handover, given);
  for (uint64_t place = 0; place < handover.claims.count; ++place) {
    sluice_element(&adopted, sizeof adopted, &handover.claims, place);
    // A newer build of this backend has the same table.
    if (sluice_equal(adopted, claim(backend))) return SLUICE_CODE_OK;
  }
  if (backend->stopped || handover.drain_seconds == 0) return cleanup(object, error);
  backend->stopped = 1;
  ruleset_add_stop(&commands, backend->kernel.family);
  stopped = kernel_load(&backend->kernel, &commands) == 0;
  text_clear(&commands);
  // If a chain is missing, the table is incomplete, and nothing is lost with it.
  if (!stopped) return cleanup(object, error);
  return sluice_fail(error, SLUICE_CODE_RETRY, "", "packets on their way are given time", 0);
}

static void* extension(struct sluice_backend* object, struct sluice_string_view id) {
  (void)object;
  (void)id;
  return NULL;
}

static void release(struct sluice_backend* object) { free(object); }

static const struct sluice_backend_methods methods = {probe, apply, verify, claims, retire, cleanup, extension, release};

static sluice_code create(const struct sluice_create_args* given, struct sluice_backend** out,
                          struct sluice_error* error) {
  struct sluice_create_args args;
  struct backend* backend;
  *out = NULL;
  sluice_read(&args, sizeof args, given);
  if (args.options.count != 0) {
    struct sluice_option option;
    char key[256];
    sluice_element(&option, sizeof option, &args.options, 0);
    snprintf(key, sizeof key, "%.*s", (int)option.key.size, option.key.data);
    return sluice_fail(error, SLUICE_CODE_INVALID, key, "unknown option; the backend nft-c has none", 0);
  }
  if (args.state_dir.size == 0) {
    return sluice_fail(error, SLUICE_CODE_UNSUPPORTED, "", "the daemon has no state directory; set --state-dir", 0);
  }
  backend = calloc(1, sizeof *backend);
  if (backend == NULL) return no_memory(error);
  backend->object.methods = &methods;
  backend->host = args.host;
  backend->kernel.family = args.family;
  snprintf(backend->state_file, sizeof backend->state_file, "%.*s/%s", (int)args.state_dir.size, args.state_dir.data,
           ruleset_family(args.family));
  *out = &backend->object;
  return SLUICE_CODE_OK;
}

SLUICE_PLUGIN_ENTRY = {
    .magic = SLUICE_MAGIC,
    .major = SLUICE_MAJOR,
    .minor = SLUICE_MINOR,
    .struct_size = sizeof(struct sluice_plugin_entry),
    .features = SLUICE_FEATURE_IPV4 | SLUICE_FEATURE_IPV6 | SLUICE_FEATURE_AFFINITY,
    .id = "nft-c",
    .version = "1.0.0",
    .build = __VERSION__,
    .create = create,
};
