{{/*
The groups of all rule files, with the thresholds of the values in place of the
shipped ones. A name that is no threshold fails the render.
*/}}
{{- define "accelerator-exporter.groups" -}}
{{- $prefix := "accelerator:threshold_" -}}
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
      {{- end -}}
      {{- $rules = append $rules $rule -}}
    {{- end -}}
    {{- if eq .name "accelerator-thresholds" -}}
      {{- range $.Values.thresholdExceptions -}}
        {{- $rules = append $rules (dict "record" (printf "%s%s" $prefix .name) "expr" (printf "vector(%v)" .value) "labels" .labels) -}}
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
