{{- /*
Copyright 2026 The Sluice Authors
SPDX-License-Identifier: Apache-2.0

What the schema cannot express. All errors are reported at once.
*/ -}}

{{- define "sluice.validate" -}}
{{- $errors := list -}}
{{- $existing := .Values.existingConfigMap.name -}}
{{- if not .Values.image.repository -}}
{{- $errors = append $errors "image.repository is empty: set it to your image, such as registry.example/sluice; no image is published" -}}
{{- end -}}
{{- if not (or .Values.apiServer.url $existing) -}}
{{- $errors = append $errors "apiServer.url is empty: set it to an address of the API server that every node reaches without a Service" -}}
{{- end -}}
{{- if not (or .Values.defaultPool.enabled .Values.pools) -}}
{{- $errors = append $errors "defaultPool.enabled is false and pools is empty: no node would have a proxy" -}}
{{- end -}}
{{- if and $existing .Values.pools -}}
{{- $errors = append $errors "pools cannot be combined with existingConfigMap.name: each pool has a configuration of its own" -}}
{{- end -}}
{{- $errors = concat $errors (include "sluice.validate.metrics" . | fromJsonArray) -}}
{{- $errors = concat $errors (include "sluice.validate.names" . | fromJsonArray) -}}
{{- $errors = concat $errors (include "sluice.validate.nodes" . | fromJsonArray) -}}
{{- if not $existing -}}
{{- range (include "sluice.pools" . | fromJson).pools -}}
{{- $errors = concat $errors (include "sluice.validate.config" . | fromJsonArray) -}}
{{- end -}}
{{- end -}}
{{- if $errors -}}
{{- fail (printf "\n\nthe values are not usable:\n- %s\n" (join "\n- " (uniq $errors))) -}}
{{- end -}}
{{- end -}}

{{- define "sluice.validate.metrics" -}}
{{- $errors := list -}}
{{- $local := regexMatch "^(127\\.|\\[::1\\])" .Values.metrics.bindAddress -}}
{{- $pod := .Values.metrics.podMonitor.enabled -}}
{{- $service := .Values.metrics.serviceMonitor.enabled -}}
{{- if and $pod $service -}}
{{- $errors = append $errors "metrics.podMonitor.enabled and metrics.serviceMonitor.enabled are both true: every node would be scraped twice" -}}
{{- end -}}
{{- if and $service (not .Values.metrics.service.enabled) -}}
{{- $errors = append $errors "metrics.serviceMonitor.enabled needs metrics.service.enabled" -}}
{{- end -}}
{{- if and $local (or $pod $service) -}}
{{- $errors = append $errors (printf "metrics.bindAddress %s cannot be scraped from other hosts: disable the monitor, or use 0.0.0.0" .Values.metrics.bindAddress) -}}
{{- end -}}
{{- $errors | toJson -}}
{{- end -}}

{{- define "sluice.validate.names" -}}
{{- $errors := list -}}
{{- $fullname := include "sluice.fullname" . -}}
{{- $names := list -}}
{{- range .Values.pools -}}
{{- if has .name $names -}}
{{- $errors = append $errors (printf "pools: the name %q is used twice" .name) -}}
{{- end -}}
{{- if has .name (list "default" "dashboards") -}}
{{- $errors = append $errors (printf "pools: the name %q is reserved" .name) -}}
{{- end -}}
{{- if gt (len (printf "%s-%s" $fullname .name)) 63 -}}
{{- $errors = append $errors (printf "pools: the name %s-%s is longer than 63 characters" $fullname .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if gt (len $fullname) 50 -}}
{{- $errors = append $errors (printf "the name %s is longer than 50 characters: set fullnameOverride" $fullname) -}}
{{- end -}}
{{- $errors | toJson -}}
{{- end -}}

{{- /* Two daemons must never run on one node. */ -}}
{{- define "sluice.validate.nodes" -}}
{{- $errors := list -}}
{{- $pools := .Values.pools -}}
{{- range $number, $one := $pools -}}
{{- if and $.Values.defaultPool.enabled (ne (len $one.nodeSelector) 1) -}}
{{- $errors = append $errors (printf "pools: nodeSelector of %q has %d labels; with defaultPool.enabled it must have exactly one" $one.name (len $one.nodeSelector)) -}}
{{- end -}}
{{- range slice $pools 0 $number -}}
{{- $apart := false -}}
{{- range $key, $value := .nodeSelector -}}
{{- if and (hasKey $one.nodeSelector $key) (ne $value (get $one.nodeSelector $key)) }}{{ $apart = true }}{{ end -}}
{{- end -}}
{{- if not $apart -}}
{{- $errors = append $errors (printf "pools: %q and %q may select the same node: give both a label of one key with different values" .name $one.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $errors | toJson -}}
{{- end -}}

{{- /* Argument: a pool. */ -}}
{{- define "sluice.validate.config" -}}
{{- $errors := list -}}
{{- $where := ternary "" (printf "pool %s: " .id) (eq .id "default") -}}
{{- $owned := dict "mode" "mode" "clusterCIDR" "clusterCIDR" "metricsBindAddress" "metrics.bindAddress" -}}
{{- range $field := keys .config | sortAlpha -}}
{{- if hasKey $owned $field -}}
{{- $errors = append $errors (printf "%sconfig.%s: use the value %s of the chart" $where $field (get $owned $field)) -}}
{{- else if has $field (list "apiVersion" "kind" "hostnameOverride" "healthzBindAddress" "bindAddressHardFail") -}}
{{- $errors = append $errors (printf "%sconfig.%s: the chart sets it, or relies on its default" $where $field) -}}
{{- end -}}
{{- end -}}
{{- range $field := keys .sluiceConfig | sortAlpha -}}
{{- if has $field (list "apiVersion" "kind" "backend" "stateDir" "master" "manifests" "record" "replay" "pluginDirs") -}}
{{- $errors = append $errors (printf "%ssluiceConfig.%s: the chart sets it, or relies on its default" $where $field) -}}
{{- end -}}
{{- end -}}
{{- if .config.enableProfiling -}}
{{- $errors = append $errors (printf "%sconfig.enableProfiling: every client of the metrics listener could change the log verbosity" $where) -}}
{{- end -}}
{{- if and (not .clusterCIDR) (has (default "" .config.detectLocalMode) (list "" "ClusterCIDR")) -}}
{{- $errors = append $errors (printf "%sclusterCIDR is empty: list the Pod CIDRs, or set config.detectLocalMode" $where) -}}
{{- end -}}
{{- if eq (len .clusterCIDR) 2 -}}
{{- if eq (contains ":" (index .clusterCIDR 0)) (contains ":" (index .clusterCIDR 1)) -}}
{{- $errors = append $errors (printf "%sclusterCIDR has two CIDRs of one address family: %s" $where (join ", " .clusterCIDR)) -}}
{{- end -}}
{{- end -}}
{{- $errors | toJson -}}
{{- end -}}
