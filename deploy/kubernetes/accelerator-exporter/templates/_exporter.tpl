{{/*
The exporter's container. The argument is a dict: root; args, a list of flags;
resources; probes, whether there is a ConfigMap of them; and of a form that has
them: section (the values of a vendor), env, mounts.
*/}}
{{- define "accelerator-exporter.container" -}}
{{- $ := .root -}}
{{- $section := default dict .section -}}
name: accelerator-exporter
image: {{ include "accelerator-exporter.image" $ | quote }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
command: [/usr/local/bin/accelerator_exporter]
args:
  - --web.listen-address=:{{ $.Values.port }}
  - --log.level={{ $.Values.exporter.logLevel }}
  - --log.format={{ $.Values.exporter.logFormat }}
{{- range .args }}
  - {{ . }}
{{- end }}
{{- if .probes }}
  - --config.file=/etc/accelerator_exporter/config/probes.yml
{{- end }}
{{- if $.Values.webConfig.existingSecret }}
  - --web.config.file=/etc/accelerator_exporter/web/{{ $.Values.webConfig.key }}
{{- end }}
{{- range $.Values.exporter.extraArgs }}
  - {{ . | quote }}
{{- end }}
{{- with .env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: metrics
    containerPort: {{ $.Values.port }}
livenessProbe:
  {{- include "accelerator-exporter.alive" (dict "root" $ "path" "/-/healthy") | nindent 2 }}
readinessProbe:
  {{- include "accelerator-exporter.alive" (dict "root" $ "path" "/-/ready") | nindent 2 }}
resources:
  {{- $limits := merge (dict) (default (dict) $section.extendedResources) (default (dict) .resources.limits) }}
  {{- toYaml (merge (dict "limits" $limits) .resources) | nindent 2 }}
securityContext:
  {{- include "accelerator-exporter.securityContext" $section | nindent 2 }}
{{- $mounts := include "accelerator-exporter.mounts" . | trim }}
{{- if $mounts }}
volumeMounts:
  {{- $mounts | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A kubelet's question. With TLS or passwords in the way it only connects. */}}
{{- define "accelerator-exporter.alive" -}}
{{- if .root.Values.webConfig.existingSecret -}}
tcpSocket: {port: metrics}
{{- else -}}
httpGet: {path: {{ .path }}, port: metrics}
{{- end }}
periodSeconds: 15
timeoutSeconds: 5
{{- end -}}

{{/*
The rights of a container: none, or, for a section that is privileged, all: no
seccomp profile holds for it then, and none is claimed.
*/}}
{{- define "accelerator-exporter.securityContext" -}}
{{- $user := 65532 -}}
{{- if hasKey . "runAsUser" }}{{ $user = int .runAsUser }}{{ end -}}
runAsNonRoot: {{ ne $user 0 }}
runAsUser: {{ $user }}
runAsGroup: {{ $user }}
readOnlyRootFilesystem: true
{{- if .privileged }}
privileged: true
{{- else }}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- end -}}

{{/*
The values of a vendor's cards, as JSON, its mounts with the C library's, and with attribution what that takes: uid 0,
since the kubelet's folder is root's, the node's processes, and the two folders. The argument is a dict of root and vendor.
*/}}
{{- define "accelerator-exporter.cardSection" -}}
{{- $section := deepCopy (index .root.Values .vendor) -}}
{{- $_ := set $section "mounts" (concat $section.mounts (default .root.Values.libraries $section.libraries)) -}}
{{- with .root.Values.attribution -}}
{{- if .enabled -}}
{{- $mounts := list (dict "name" "pod-logs" "path" .podLogs "mountPath" "/var/log/pods" "type" "Directory")
  (dict "name" "pod-resources" "path" .podResources "mountPath" "/var/lib/kubelet/pod-resources" "type" "Directory") -}}
{{- if eq .procfs "mount" -}}
{{- $mounts = append $mounts (dict "name" "proc" "path" "/proc" "mountPath" "/host/proc" "type" "Directory") -}}
{{- end -}}
{{- $_ := set $section "runAsUser" 0 -}}
{{- $_ := set $section "hostPID" (or $section.hostPID (eq .procfs "hostPID")) -}}
{{- $_ := set $section "mounts" (concat $section.mounts $mounts) -}}
{{- end -}}
{{- end -}}
{{- toJson $section -}}
{{- end -}}

{{- define "accelerator-exporter.mounts" -}}
{{- $ := .root -}}
{{- if .probes }}
- {name: accelerator-exporter-config, mountPath: /etc/accelerator_exporter/config, readOnly: true}
{{- range $i, $name := $.Values.secrets }}
- {name: accelerator-exporter-secret-{{ $i }}, mountPath: /etc/accelerator_exporter/secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- if $.Values.webConfig.existingSecret }}
- {name: accelerator-exporter-web, mountPath: /etc/accelerator_exporter/web, readOnly: true}
{{- end }}
{{- if .mounts }}
- {name: tmp, mountPath: /tmp}
{{- end }}
{{- range .mounts }}
- {name: host-{{ .name }}, mountPath: {{ default .path .mountPath }}, readOnly: {{ ne .readOnly false }}}
{{- end }}
{{- end -}}

{{/* The volumes of those mounts. configMap is the name of the one with the probes, if there are any. */}}
{{- define "accelerator-exporter.volumes" -}}
{{- $ := .root -}}
{{- if .configMap }}
- name: accelerator-exporter-config
  configMap: {name: {{ .configMap }}}
{{- range $i, $name := $.Values.secrets }}
- name: accelerator-exporter-secret-{{ $i }}
  secret: {secretName: {{ $name }}, defaultMode: 0444}
{{- end }}
{{- end }}
{{- with $.Values.webConfig.existingSecret }}
- name: accelerator-exporter-web
  secret: {secretName: {{ . }}, defaultMode: 0444}
{{- end }}
{{- if .mounts }}
- name: tmp # what the vendor's tool leaves there
  emptyDir: {sizeLimit: 64Mi}
{{- end }}
{{- range .mounts }}
- name: host-{{ .name }}
  hostPath: {path: {{ .path }}{{ with .type }}, type: {{ . }}{{ end }}}
{{- end }}
{{- end -}}

{{/* What every pod has. The argument is a dict of root and section. */}}
{{- define "accelerator-exporter.pod" -}}
{{- $ := .root -}}
{{- $section := .section -}}
serviceAccountName: {{ include "accelerator-exporter.serviceAccountName" $ }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "runtimeClassName" "nodeSelector" "affinity" "tolerations" }}
{{- with index $section $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The file of probes. */}}
{{- define "accelerator-exporter.probes" -}}
{{- toYaml (dict "probes" .) -}}
{{- end -}}

{{- define "accelerator-exporter.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "accelerator-exporter.labels" .root | nindent 4 }}
data:
  probes.yml: |
    {{- include "accelerator-exporter.probes" .probes | nindent 4 }}
{{- end -}}
