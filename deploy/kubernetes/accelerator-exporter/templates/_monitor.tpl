{{/*
One endpoint of a monitor. The argument is a dict: root; port, its name; job, as
the rules and dashboards know it; guarded, whether webConfig is in the way;
components, those that belong to no node, joined by |.
*/}}
{{- define "accelerator-exporter.endpoint" -}}
{{- $monitor := .root.Values.monitor -}}
port: {{ .port }}
interval: {{ $monitor.interval }}
scrapeTimeout: {{ $monitor.scrapeTimeout }}
{{- if and .guarded (ne $monitor.scheme "http") }}
scheme: {{ $monitor.scheme }}
{{- end }}
{{- if .guarded }}
{{- with $monitor.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.basicAuth }}
basicAuth:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
relabelings:
  # The rules and dashboards select by this name.
  - {targetLabel: job, replacement: {{ .job }}}
  # The node, not the pod's address: cards stay what they are when a pod is renewed,
  # and the sidecar's probes stand beside the cards of its node.
  - {sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: instance}
{{- with .components }}
  # What belongs to no node goes by the pod's name.
  - sourceLabels: [__meta_kubernetes_pod_label_app_kubernetes_io_component, __meta_kubernetes_pod_name]
    regex: (?:{{ . }});(.+)
    targetLabel: instance
    replacement: $1
{{- end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
A ServiceMonitor or PodMonitor. The argument is a dict: root, kind, name, selector
(a dict of labels), namespaces (a list; absent: the release's, empty: any), and
endpoints, a list of dicts as that one takes.
*/}}
{{- define "accelerator-exporter.monitor" -}}
{{- $ := .root -}}
apiVersion: monitoring.coreos.com/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "accelerator-exporter.labels" $ | nindent 4 }}
    {{- with $.Values.monitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- if hasKey . "namespaces" }}
  namespaceSelector: {{ .namespaces | empty | ternary (dict "any" true) (dict "matchNames" .namespaces) | toJson }}
  {{- end }}
  selector:
    matchLabels:
      {{- toYaml .selector | nindent 6 }}
  {{- if $.Values.monitor.nativeHistograms }}
  scrapeNativeHistograms: true
  scrapeClassicHistograms: true
  {{- end }}
  {{ eq .kind "PodMonitor" | ternary "podMetricsEndpoints" "endpoints" }}:
    {{- range .endpoints }}
    - {{ include "accelerator-exporter.endpoint" (merge (dict "root" $) .) | nindent 6 | trim }}
    {{- end }}
{{- end -}}
