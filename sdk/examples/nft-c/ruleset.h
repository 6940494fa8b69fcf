// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The desired state of one address family as input of nft(8). No access to the kernel.
#ifndef RULESET_H
#define RULESET_H

#include "sluice/sdk.h"
#include "text.h"

#define TABLE "sluice-nft-c"

struct ruleset {
  struct text definitions;  // sets, maps and base chains without content
  struct text flushes;      // empties all of them
  struct text content;      // elements, and rules
  struct names fixed;       // names of all objects that `definitions` and the affinity sets of `content` define
  size_t objects;           // elements and chains of `content`
};

const char* ruleset_family(sluice_family family);  // "ip" or "ip6"

// Renders a full transaction into a zeroed ruleset. Reports service ports that it does not render to the host; null: no
// reports. Returns 0 if memory is exhausted.
int ruleset_render(struct ruleset* ruleset, sluice_family family, const struct sluice_transaction* transaction,
                   struct sluice_host* host);
void ruleset_clear(struct ruleset* ruleset);
// Commands that stop the direction of new connections to endpoints. Packets on their way are still masqueraded.
void ruleset_add_stop(struct text* commands, sluice_family family);

#endif
