{{/*
One endpoint of a monitor. The argument is a dict: root; port, its name; job, as
the rules and dashboards know it; guarded, whether webConfig is in the way;
lasting, whether the series outlive their pod; own, whether it is one of this project's
programs, whose labels hold; target, the probe that asks there.
*/}}
{{- define "accelerator-exporter.endpoint" -}}
{{- $monitor := .root.Values.monitor -}}
port: {{ .port }}
interval: {{ $monitor.interval }}
scrapeTimeout: {{ $monitor.scrapeTimeout }}
{{- if .own }}
# The labels namespace, pod and container of attribution's series are a workload's, not those of the pod that is scraped.
honorLabels: true
{{- end }}
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
{{- if .lasting }}
  # Cards go by their node, which they stay in when the pod is renewed.
  - {sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: instance}
  # Where a node has cards of two vendors, there are two exporters.
  - sourceLabels: [__meta_kubernetes_pod_node_name, __meta_kubernetes_pod_label_app_kubernetes_io_component]
    separator: "-"
    regex: (.+-({{ without (include "accelerator-exporter.vendors" .root | splitList " ") "metax" | join "|" }}))
    targetLabel: instance
  # The prober is one, wherever it runs. Other namespaces may have one of that name.
  - sourceLabels: [__meta_kubernetes_pod_label_app_kubernetes_io_component]
    regex: prober
    targetLabel: instance
    replacement: {{ .root.Release.Namespace }}/{{ include "accelerator-exporter.fullname" .root }}-prober
  # What the operator has put that a new pod would change.
  - {action: labeldrop, regex: pod|container|endpoint|service}
{{- else }}
  # The pod: replicas are told apart by it, and none is taken for its node's cards.
  - {sourceLabels: [__meta_kubernetes_namespace, __meta_kubernetes_pod_name], separator: /, targetLabel: instance}
{{- end }}
{{- with .target }}
  # The server's own series stand beside those of the probe that asks it.
  - {targetLabel: target, replacement: {{ . | replace "$" "$$" | toJson }}}
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
