{{- define "spillway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "spillway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "spillway.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "spillway.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "spillway.serviceAccountName" -}}
{{- if .Values.gateway.serviceAccount.create }}
{{- default (include "spillway.fullname" .) .Values.gateway.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.gateway.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* What pods are selected by; it never changes. (dict "root" $ "component" "gateway") */}}
{{- define "spillway.selector" -}}
app.kubernetes.io/name: {{ include "spillway.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* The same of one pool. (dict "root" $ "model" $model "role" "baseline") */}}
{{- define "spillway.poolSelector" -}}
{{ include "spillway.selector" (dict "root" .root "component" "engine") }}
spillway/model: {{ .model.slug | quote }}
spillway/pool: {{ .role }}
{{- end }}

{{- /* Labels of objects. Pods do not get them: they change with each version of the chart, and pods would restart. */}}
{{- define "spillway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: spillway
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* (dict "image" .Values.image "tag" "used where the image names none") */}}
{{- define "spillway.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end }}
{{- end }}
