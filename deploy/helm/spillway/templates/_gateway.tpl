{{- /* The engines' keys from their Secrets, and what the values add. */}}
{{- define "spillway.gateway.env" -}}
{{- $env := list }}
{{- range $index, $model := (include "spillway.models" . | fromYaml).models }}
{{- range $role, $pool := $model.pools }}
{{- if $pool.apiKeySecret.name }}
{{- $env = append $env (dict
      "name" (include "spillway.keyVariable" (dict "index" $index "role" $role))
      "valueFrom" (dict "secretKeyRef" (dict "name" $pool.apiKeySecret.name "key" $pool.apiKeySecret.key))) }}
{{- end }}
{{- end }}
{{- end }}
{{- with concat $env .Values.gateway.extraEnv }}
{{- toYaml . }}
{{- end }}
{{- end }}
