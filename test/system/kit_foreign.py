# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
"""Foreign objects on the node are the same bytes throughout."""

from lib import foreign_state, service_mix
from lib.addresses import E2
from lib.cases import own_daemon
from lib.foreign import difference
from lib.objects import ready


@own_daemon(None, "foreign tables, links, addresses, routes and rules are not touched: at a start, under change, at an end, "
            "by clean-up", sources=("manifests",))
def others_are_left_alone(t):
    t.bench.daemon.stop()
    t.bench.cleanup()
    foreign_state.create(t)
    # The kernel examines new IPv6 addresses for a second after their link is up.
    t.wait_until(lambda: "tentative" not in foreign_state.dump(t), "no address is tentative")
    before = foreign_state.dump(t)
    t.require("is no table" not in before and "shows nothing" not in before, f"they are not there to begin with: {before}")

    def require_untouched(occasion):
        changed = difference(before, foreign_state.dump(t))
        t.require(not changed, f"{occasion}: {changed}")

    t.bench.start_daemon()
    plain, _, expect_served = service_mix.make(t)
    expect_served()
    require_untouched("after a start and some Services")
    plain.set_endpoints([ready(E2)])
    t.settle()
    require_untouched("after a change")
    t.bench.daemon.kill()
    t.bench.start_daemon()
    t.settle()
    require_untouched("after kill -9 and another start")
    t.bench.daemon.stop()
    t.bench.cleanup()
    require_untouched("after clean-up")
    t.bench.start_daemon()
