{{- define "spillway.redisName" -}}
{{ include "spillway.fullname" . }}-redis
{{- end }}

{{- /* "true" if gateways share their counts. */}}
{{- define "spillway.hasRedis" -}}
{{- or .Values.redis.bundled.enabled (gt (len .Values.config.redis) 0) }}
{{- end }}

{{- /* The section of the gateway's file; nothing where there is no Redis. */}}
{{- define "spillway.redis" -}}
{{- $values := .Values.redis }}
{{- $section := deepCopy .Values.config.redis }}
{{- if $values.bundled.enabled }}
{{- range list "mode" "urls" "service" "database" "username" "password" "tls" }}
{{- if hasKey $section . }}
{{- fail (printf "config.redis.%s is about a Redis of your own, and redis.bundled.enabled starts one: keep one of the two" .) }}
{{- end }}
{{- end }}
{{- if or $values.caSecret.name $values.sentinelPasswordSecret.name }}
{{- fail "redis.caSecret and redis.sentinelPasswordSecret are about a Redis of your own, and redis.bundled.enabled starts one: keep one of the two" }}
{{- end }}
{{- $_ := set $section "urls" (list (printf "redis://%s.%s:6379" (include "spillway.redisName" .) .Release.Namespace)) }}
{{- end }}
{{- if $section }}
{{- range $field, $secret := dict "password" $values.passwordSecret "sentinel_password" $values.sentinelPasswordSecret }}
{{- if $secret.name }}
{{- if get $section $field }}
{{- fail (printf "config.redis.%s and its Secret in redis are both given: keep one" $field) }}
{{- end }}
{{- $_ := set $section $field (printf "${REDIS_%s}" (upper $field)) }}
{{- end }}
{{- end }}
{{- if $values.caSecret.name }}
{{- $_ := set $section "tls" (merge (dict "ca_file" "/etc/spillway-redis/ca.crt") ($section.tls | default dict)) }}
{{- end }}
{{- /* Releases that share a Redis must not share counts. */}}
{{- if not $section.key_prefix }}
{{- $_ := set $section "key_prefix" (printf "spillway:%s:%s" .Release.Namespace (include "spillway.fullname" .)) }}
{{- end }}
{{- if not $section.expected_gateways }}
{{- $scaling := .Values.gateway.autoscaling }}
{{- $most := ternary $scaling.maxReplicas (include "spillway.gateway.replicas" .) $scaling.enabled | int }}
{{- $_ := set $section "expected_gateways" (max 1 $most) }}
{{- end }}
{{- include "spillway.checkRedis" (dict "root" . "section" $section) }}
{{- toYaml $section }}
{{- else if or $values.passwordSecret.name $values.sentinelPasswordSecret.name $values.caSecret.name }}
{{- fail "redis has the Secret of a Redis that nothing names: set config.redis.urls, or redis.bundled.enabled" }}
{{- end }}
{{- end }}

{{- /* Ports that gateways need towards a Redis of the operator's, as {"ports": [...]}. Sentinels name a master at its own. */}}
{{- define "spillway.redisPorts" -}}
{{- $ports := list }}
{{- with .Values.config.redis }}
{{- $sentinels := eq (.mode | default "single") "sentinel" }}
{{- range .urls }}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default (ternary "26379" "6379" $sentinels)) }}
{{- end }}
{{- if $sentinels }}{{ $ports = append $ports "6379" }}{{ end }}
{{- end }}
{{- dict "ports" (uniq $ports) | toYaml }}
{{- end }}
