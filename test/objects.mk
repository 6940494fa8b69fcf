# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# All objects, and nothing that is made of them. For GNU make, after the Makefile: make -f Makefile -f objects.mk objects
objects: $(foreach variable,$(filter %_OBJECTS,$(.VARIABLES)),$($(variable)))
.PHONY: objects
