{{/*
For a model server's pod, of this chart or of one that has it as a dependency.
Each takes this chart's context: from another chart
  {{ include "accelerator-exporter.sidecar" (index .Subcharts "accelerator-exporter") | nindent 8 }}
*/}}

{{/* An element of containers. */}}
{{- define "accelerator-exporter.sidecar" -}}
{{- $args := list (.Values.sidecar.numa | ternary "--collector.numa" "--no-collector.numa") -}}
- {{ include "accelerator-exporter.container" (dict "root" . "args" $args "probes" true "resources" (default .Values.resources .Values.sidecar.resources)) | nindent 2 | trim }}
{{- end -}}

{{/* Elements of volumes. */}}
{{- define "accelerator-exporter.sidecarVolumes" -}}
{{- include "accelerator-exporter.volumes" (dict "root" . "configMap" (include "accelerator-exporter.sidecarConfigMap" .)) | trim -}}
{{- end -}}

{{/* An annotation that renews the pods when the probes change. */}}
{{- define "accelerator-exporter.sidecarAnnotations" -}}
checksum/probes: {{ include "accelerator-exporter.probes" .Values.sidecar.probes | sha256sum }}
{{- end -}}

{{- define "accelerator-exporter.sidecarConfigMap" -}}
{{ include "accelerator-exporter.fullname" . }}-sidecar
{{- end -}}
