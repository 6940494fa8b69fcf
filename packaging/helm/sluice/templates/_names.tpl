{{- /*
Copyright 2026 The Sluice Authors
SPDX-License-Identifier: Apache-2.0

Names and labels. Argument: the root context, unless a comment says otherwise.
*/ -}}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name -}}
{{- end -}}
{{- end -}}

{{- define "sluice.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "sluice.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* Labels that select the pods of all pools. They never change, because selectors are immutable. */ -}}
{{- define "sluice.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service-proxy
{{- end -}}

{{- /* Arguments: root, component. */ -}}
{{- define "sluice.labels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component | default "service-proxy" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .root.Chart.Name }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
k8s-app: sluice
{{- end -}}

{{- define "sluice.metricsPort" -}}
{{- regexFind "[0-9]+$" .Values.metrics.bindAddress -}}
{{- end -}}
