{{- define "spillway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* Begins the names of all objects: a Service's may have neither dots nor a digit in front, a release's may. */}}
{{- define "spillway.fullname" -}}
{{- $name := .Values.fullnameOverride }}
{{- if not $name }}
{{- $ours := include "spillway.name" . }}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $ours) (contains $ours .Release.Name) | replace "." "-" }}
{{- end }}
{{- if not (regexMatch "^[a-z]" $name) }}
{{- fail (printf "objects would be named %s-..., and the name of a Service must begin with a letter: set fullnameOverride" $name) }}
{{- end }}
{{- include "spillway.shortened" (dict "name" $name "most" 40) }}
{{- end }}

{{- /* A name of at most so many characters that differs if the whole name does. (dict "name" $name "most" 40) */}}
{{- define "spillway.shortened" -}}
{{- if gt (len .name) .most }}
{{- printf "%s-%s" (.name | trunc (sub .most 9 | int) | trimSuffix "-") (.name | sha256sum | trunc 8) }}
{{- else }}
{{- .name }}
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
