{{/*
The groups of all rule files, with the thresholds of the values in place of the
shipped ones. A name that is no threshold fails the render. A vLLM of this release
may take its time to start before its silence pages.
*/}}
{{- define "accelerator-exporter.groups" -}}
{{- $prefix := "accelerator:threshold_" -}}
{{- $silence := "probe_no_success_seconds" -}}
{{- $allowed := 0.0 -}}
{{- $known := dict -}}
{{- $groups := list -}}
{{- range $path, $_ := .Files.Glob "files/rules/*.yml" -}}
  {{- range (fromYaml ($.Files.Get $path)).groups -}}
    {{- $rules := list -}}
    {{- range .rules -}}
      {{- $rule := . -}}
      {{- $name := default "" .record | trimPrefix $prefix -}}
      {{- if hasPrefix $prefix (default "" .record) -}}
        {{- $vendor := dig "labels" "vendor" "" . -}}
        {{- $_ := set $known $name (append (dig $name list $known) $vendor) -}}
        {{- if hasKey $.Values.thresholds $name -}}
          {{- $value := index $.Values.thresholds $name -}}
          {{- if not (kindIs "map" $value) -}}
            {{- $rule = merge (dict "expr" (printf "vector(%v)" $value)) . -}}
          {{- else if and $vendor (hasKey $value $vendor) -}}
            {{- $rule = merge (dict "expr" (printf "vector(%v)" (index $value $vendor))) . -}}
          {{- end -}}
        {{- end -}}
        {{- if eq $name $silence -}}
          {{- $allowed = regexReplaceAll "^vector\\((.+)\\)$" $rule.expr "$1" | float64 -}}
        {{- end -}}
      {{- end -}}
      {{- $rules = append $rules $rule -}}
    {{- end -}}
    {{- if eq .name "accelerator-thresholds" -}}
      {{- $own := list -}}
      {{- range $.Values.thresholdExceptions -}}
        {{- if eq .name $silence -}}
          {{- $own = append $own .labels -}}
        {{- end -}}
        {{- $rules = append $rules (dict "record" (printf "%s%s" $prefix .name) "expr" (printf "vector(%v)" .value) "labels" .labels) -}}
      {{- end -}}
      {{- range $.Values.vllm.enabled | ternary $.Values.sidecar.probes list -}}
        {{- $labels := dict "target" (include "accelerator-exporter.target" .) -}}
        {{- if not (has $labels $own) -}}
          {{- $rules = append $rules (dict "record" (printf "%s%s" $prefix $silence) "expr" (printf "vector(%v)" (addf $allowed $.Values.vllm.startupSeconds)) "labels" $labels) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
    {{- $groups = append $groups (merge (dict "rules" $rules) .) -}}
  {{- end -}}
{{- end -}}
{{- if not $known -}}
  {{- fail "files/rules holds no rules: the chart's links into the repository are missing" -}}
{{- end -}}
{{- range $name, $value := .Values.thresholds -}}
  {{- if not (hasKey $known $name) -}}
    {{- fail (printf "thresholds.%s: there is no such threshold; there are: %s" $name (keys $known | sortAlpha | join ", ")) -}}
  {{- end -}}
  {{- if kindIs "map" $value -}}
    {{- range $vendor, $_ := $value -}}
      {{- if not (has $vendor (index $known $name)) -}}
        {{- fail (printf "thresholds.%s.%s: that threshold is not one by vendor: give a number" $name $vendor) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range .Values.thresholdExceptions -}}
  {{- if not (hasKey $known .name) -}}
    {{- fail (printf "thresholdExceptions: there is no threshold %s; there are: %s" .name (keys $known | sortAlpha | join ", ")) -}}
  {{- end -}}
{{- end -}}
{{- toYaml (dict "groups" $groups) -}}
{{- end -}}
