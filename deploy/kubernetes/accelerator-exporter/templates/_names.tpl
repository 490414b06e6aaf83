{{/* The name of what stands alone, and the first part of all other names. */}}
{{- define "accelerator-exporter.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects all of this release. */}}
{{- define "accelerator-exporter.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object. */}}
{{- define "accelerator-exporter.labels" -}}
{{ include "accelerator-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of pods: none that only a release of the chart changes, since that would renew the pods. */}}
{{- define "accelerator-exporter.podLabels" -}}
{{ include "accelerator-exporter.selector" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "accelerator-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "accelerator-exporter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The programs' image. */}}
{{- define "accelerator-exporter.image" -}}
{{- $repository := required "image.repository is not set, and no image is published: build one as deploy/container/README.md says, push it, and name it" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The label "target" of a probe, as the exporter makes it: its name, else host and port. */}}
{{- define "accelerator-exporter.target" -}}
{{- $url := urlParse .url -}}
{{- $port := eq $url.scheme "https" | ternary ":443" ":80" -}}
{{- default (regexMatch ":[0-9]+$" $url.host | ternary $url.host (print $url.host $port)) .name -}}
{{- end -}}

{{/* The vendors of cards; each has a section of values. */}}
{{- define "accelerator-exporter.vendors" -}}
metax ascend nvidia hygon iluvatar kunlunxin moorethreads enflame
{{- end -}}

{{/* Those whose section is switched on. */}}
{{- define "accelerator-exporter.enabledVendors" -}}
{{- $enabled := list -}}
{{- range include "accelerator-exporter.vendors" . | splitList " " -}}
{{- if (index $.Values .).enabled }}{{ $enabled = append $enabled . }}{{ end -}}
{{- end -}}
{{- join " " $enabled -}}
{{- end -}}

{{/* The form of a section is in use: "true", or nothing. */}}
{{- define "accelerator-exporter.scraped" -}}
{{- if or (include "accelerator-exporter.enabledVendors" .) .Values.prober.enabled -}}true{{- end -}}
{{- end -}}
