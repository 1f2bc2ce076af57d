{{- /* Name of the environment variable with the key of a pool. It must not begin with SPILLWAY_: those are settings. */}}
{{- define "spillway.keyVariable" -}}
ENGINE_KEY_{{ .index }}_{{ .role | upper }}
{{- end }}

{{- /* The gateway's configuration file. */}}
{{- define "spillway.config" -}}
{{- $root := . }}
{{- $models := list }}
{{- range $index, $model := (include "spillway.models" . | fromYaml).models }}
{{- $pools := dict }}
{{- range $role, $pool := $model.pools }}
{{- $entry := dict }}
{{- if $pool.started }}
{{- $_ := set $entry "engine" $model.engine.kind }}
{{- $_ := set $entry "max_inflight" ($pool.max_inflight | default $model.engine.maxInflight | int) }}
{{- $service := dict "namespace" $root.Release.Namespace "service" $pool.fullname "port" "http" }}
{{- $_ := set $entry "discovery" (dict "kubernetes" $service) }}
{{- else }}
{{- if $pool.engine }}{{ $_ := set $entry "engine" $pool.engine }}{{ end }}
{{- if $pool.max_inflight }}{{ $_ := set $entry "max_inflight" (int $pool.max_inflight) }}{{ end }}
{{- $_ := set $entry "discovery" $pool.discovery }}
{{- end }}
{{- if $pool.engine_model }}{{ $_ := set $entry "engine_model" $pool.engine_model }}{{ end }}
{{- if $pool.apiKeySecret.name }}
{{- $_ := set $entry "api_key" (printf "${%s}" (include "spillway.keyVariable" (dict "index" $index "role" $role))) }}
{{- end }}
{{- if $pool.health }}{{ $_ := set $entry "health" $pool.health }}{{ end }}
{{- if $pool.engine_load }}{{ $_ := set $entry "engine_load" $pool.engine_load }}{{ end }}
{{- if $pool.tls }}{{ $_ := set $entry "tls" $pool.tls }}{{ end }}
{{- $_ := set $pools $role $entry }}
{{- end }}
{{- $entry := dict "name" $model.name "pools" $pools }}
{{- if $model.aliases }}{{ $_ := set $entry "aliases" $model.aliases }}{{ end }}
{{- if $model.policy }}{{ $_ := set $entry "policy" $model.policy }}{{ end }}
{{- $models = append $models $entry }}
{{- end }}
{{- $gateway := .Values.gateway }}
{{- if eq (int $gateway.port) (int $gateway.adminPort) }}
{{- fail (printf "gateway.adminPort is %d, the port for clients as well: choose another, or another gateway.port" (int $gateway.port)) }}
{{- end }}
{{- $listen := dict "host" $gateway.host "port" (int $gateway.port) }}
{{- if .Values.tls.secretName }}
{{- $_ := set $listen "tls_cert" "/etc/spillway-tls/tls.crt" }}
{{- $_ := set $listen "tls_key" "/etc/spillway-tls/tls.key" }}
{{- end }}
{{- $file := dict
      "listen" $listen
      "admin" (dict "host" $gateway.host "port" (int $gateway.adminPort))
      "models" $models
      "drain" .Values.config.drain }}
{{- if .Values.auth.keysSecret.name }}
{{- $_ := set $file "auth" (dict "keys_file" (printf "/etc/spillway-keys/%s" .Values.auth.keysSecret.key)) }}
{{- end }}
{{- range $section := list "limits" "retries" "cors" "log" }}
{{- with get $root.Values.config $section }}{{ $_ := set $file $section . }}{{ end }}
{{- end }}
{{- with include "spillway.redis" . }}{{ $_ := set $file "redis" (fromYaml .) }}{{ end }}
{{- toYaml $file }}
{{- end }}

{{- /* Whole seconds that a gateway may need to stop, of drain and a margin for its own steps. */}}
{{- define "spillway.gracePeriod" -}}
{{- $drain := .Values.config.drain }}
{{- addf (ceil $drain.delay_seconds) (ceil $drain.timeout_seconds) 15 | int }}
{{- end }}

{{- /*
Seconds that a request can be without a byte by the gateway's own limits: in the queue, in all its attempts, and within its
response. What stands in front of it must wait longer, or clients get that one's errors.
*/}}
{{- define "spillway.longestSilence" -}}
{{- $limits := .Values.config.limits }}
{{- $attempts := .Values.config.retries.attempts | default 3 }}
{{- $queue := 0.0 }}
{{- range .Values.models }}
{{- $queue = maxf $queue (dig "queue" "timeout" 30 (.policy | default dict)) }}
{{- end }}
{{- $attempt := addf ($limits.connect_seconds | default 2) ($limits.first_byte_seconds | default 600) }}
{{- addf $queue (mulf $attempts $attempt) ($limits.idle_seconds | default 300) | ceil | int }}
{{- end }}
