{{/*
The groups of all rule files, with the limits of the values in place of the shipped ones, and those of the optional files
that the values switch on.
*/}}
{{- define "accelerator-exporter.groups" -}}
{{- $limits := dict
  "probe_no_success_seconds" "target:accelerator_probe_success:age_seconds > 300"
  "time_to_first_token_seconds" "target:accelerator_probe_time_to_first_token_seconds:p90_rate15m > 2"
  "time_per_output_token_seconds" "target:accelerator_probe_time_per_output_token_seconds:p90_rate15m > 0.1"
  "memory_full_ratio" "avg_over_time(accelerator_memory_total_bytes{type!=\"host_mapped\"}[5m]) >= 0.98"
-}}
{{- range $vendor, $hot := dict "metax" 100 "ascend" 85 "nvidia" 87 "hygon" 85 "iluvatar" 95 "kunlunxin" 85 "moorethreads" 85 "enflame" 85 -}}
  {{- $_ := set $limits (printf "%s_temperature_celsius" $vendor) (printf "last_over_time(accelerator_temperature_celsius{vendor=%q,sensor=\"chip\"}[10m]) > %d" $vendor $hot) -}}
{{- end -}}
{{- $grafana := "http://localhost:3000" -}}
{{- $groups := list -}}
{{- range $path, $_ := .Files.Glob "files/rules/*.yml" -}}
  {{- $text := $.Files.Get $path | replace $grafana (default $grafana $.Values.rules.grafanaURL) -}}
  {{- range $name, $value := $.Values.thresholds -}}
    {{- $shipped := index $limits $name -}}
    {{- $text = $text | replace $shipped (regexReplaceAll "[0-9.]+$" $shipped (toString $value)) -}}
  {{- end -}}
  {{- $groups = concat $groups (fromYaml $text).groups -}}
{{- end -}}
{{- if not $groups -}}
  {{- fail "files/rules holds no rules: the chart's links into the repository are missing" -}}
{{- end -}}
{{- range $name, $on := dict "idle" .Values.rules.heldIdle "cost" .Values.rules.pricePerKWh -}}
  {{- if $on -}}
    {{- $text := $.Files.Get (printf "files/optional/%s.yml" $name) | replace $grafana (default $grafana $.Values.rules.grafanaURL) | replace "/ 3.6 * 0.1" (printf "/ 3.6 * %v" $.Values.rules.pricePerKWh) -}}
    {{- $groups = concat $groups (fromYaml $text).groups -}}
  {{- end -}}
{{- end -}}
{{- toYaml (dict "groups" $groups) -}}
{{- end -}}
