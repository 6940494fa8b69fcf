{{- /*
Copyright 2026 The Sluice Authors
SPDX-License-Identifier: Apache-2.0

The values of each DaemonSet: those of the chart, overridden by those of the pool.
*/ -}}

{{- /* A JSON object with the list "pools", each with its values, "id" (name of the pool) and "fullname". */ -}}
{{- define "sluice.pools" -}}
{{- $names := list "mode" "clusterCIDR" "config" "sluiceConfig" "nodeSelector" "tolerations" "resources" "priorityClassName"
      "updateStrategy" "minReadySeconds" "terminationGracePeriodSeconds" "extraCapabilities" "podLabels" "podAnnotations" -}}
{{- $fullname := include "sluice.fullname" . -}}
{{- $base := dict -}}
{{- range $names }}{{ $_ := set $base . (index $.Values .) }}{{ end -}}
{{- $out := list -}}
{{- if .Values.defaultPool.enabled -}}
{{- $excluded := list -}}
{{- range .Values.pools -}}
{{- range $key, $value := .nodeSelector }}{{ $excluded = append $excluded (dict "key" $key "value" $value) }}{{ end -}}
{{- end -}}
{{- $out = append $out (merge (dict "id" "default" "fullname" $fullname "excluded" $excluded) (deepCopy $base)) -}}
{{- end -}}
{{- range .Values.pools -}}
{{- $own := mergeOverwrite (deepCopy $base) (omit (deepCopy .) "name") -}}
{{- $out = append $out (merge (dict "id" .name "fullname" (printf "%s-%s" $fullname .name) "excluded" list) $own) -}}
{{- end -}}
{{- dict "pools" $out | toJson -}}
{{- end -}}

{{- /* The configuration file. Arguments: root, pool. */ -}}
{{- define "sluice.config" -}}
{{- $first := deepCopy .pool.config -}}
{{- $client := dict "kubeconfig" "/etc/sluice/kubeconfig" -}}
{{- $_ := set $first "clientConnection" (merge $client (dig "clientConnection" dict $first)) -}}
{{- $_ := set $first "apiVersion" "kubeproxy.config.k8s.io/v1alpha1" -}}
{{- $_ := set $first "kind" "KubeProxyConfiguration" -}}
{{- $_ := set $first "mode" .pool.mode -}}
{{- $_ := set $first "metricsBindAddress" .root.Values.metrics.bindAddress -}}
{{- with .pool.clusterCIDR }}{{ $_ := set $first "clusterCIDR" (join "," .) }}{{ end -}}
{{- $second := merge (dict "apiVersion" "sluice.dev/v1alpha1" "kind" "SluiceConfiguration") (deepCopy .pool.sluiceConfig) -}}
{{- toYaml $first }}
---
{{ toYaml $second }}
{{- end -}}

{{- /* Capabilities of the daemon, as a JSON object with the list "add". Arguments: root, pool. */ -}}
{{- define "sluice.capabilities" -}}
{{- $add := list "NET_ADMIN" -}}
{{- /* iptables-legacy needs a raw socket. Another proxy's rules may be of that variant. */ -}}
{{- if or (ne .pool.mode "nftables") .root.Values.existingConfigMap.name }}{{ $add = append $add "NET_RAW" }}{{ end -}}
{{- /* Listeners at Service addresses of the node, with ports below 1024. */ -}}
{{- if eq .pool.mode "userspace" }}{{ $add = append $add "NET_BIND_SERVICE" }}{{ end -}}
{{- dict "add" (concat $add .pool.extraCapabilities | uniq) | toJson -}}
{{- end -}}
