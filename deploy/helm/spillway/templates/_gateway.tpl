{{- /* How many there are, unless a HorizontalPodAutoscaler says so: with shared counts one may fail without harm. */}}
{{- define "spillway.gateway.replicas" -}}
{{- if kindIs "invalid" .Values.gateway.replicas }}
{{- ternary 2 1 (eq (include "spillway.hasRedis" .) "true") }}
{{- else }}
{{- int .Values.gateway.replicas }}
{{- end }}
{{- end }}

{{- /* Keys and passwords from their Secrets, and what the values add. */}}
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
{{- range $name, $secret := dict "REDIS_PASSWORD" .Values.redis.passwordSecret "REDIS_SENTINEL_PASSWORD" .Values.redis.sentinelPasswordSecret }}
{{- if $secret.name }}
{{- $env = append $env (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" $secret.name "key" $secret.key))) }}
{{- end }}
{{- end }}
{{- with concat $env .Values.gateway.extraEnv }}
{{- toYaml . }}
{{- end }}
{{- end }}
