# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# All objects, or those of what is installed, and nothing that is made of them. For GNU make, after the Makefile:
#   make -f Makefile -f objects.mk objects
objects_of = $(foreach variable,$(filter $(1),$(.VARIABLES)),$($(variable)))
objects: $(call objects_of,%_OBJECTS)
installed-objects: $(call objects_of,core_%_OBJECTS lib_%_OBJECTS plugins_%_OBJECTS sdk_%_OBJECTS)
.PHONY: objects installed-objects
