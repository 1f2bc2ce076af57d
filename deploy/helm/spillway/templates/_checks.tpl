{{- /* What the gateway would refuse and the schema of the values cannot say. The words follow its own. */}}

{{- /* (dict "models" $models) */}}
{{- define "spillway.checkNames" -}}
{{- $seen := dict }}
{{- range $index, $model := .models }}
{{- range $name := prepend ($model.aliases | default list) $model.name }}
{{- if hasKey $seen $name }}
{{- fail (printf "models[%d]: %q is a name of models[%s] already: a name or an alias can stand once, so remove it there or here" $index $name (get $seen $name)) }}
{{- end }}
{{- $_ := set $seen $name (toString $index) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* (dict "where" "models, NAME, ROLE pool" "pool" $pool) */}}
{{- define "spillway.checkPool" -}}
{{- $where := .where }}
{{- $health := .pool.health }}
{{- /* 1 and 60 are the gateway's own defaults. */}}
{{- $first := $health.eject_seconds | default 1 | float64 }}
{{- $longest := $health.eject_max_seconds | default 60 | float64 }}
{{- if lt $longest $first }}
{{- fail (printf "%s: health.eject_max_seconds is %v, below health.eject_seconds, which is %v: raise it, or lower that" $where $longest $first) }}
{{- end }}
{{- $load := .pool.engine_load }}
{{- /* 2 and 10 are the gateway's own defaults. */}}
{{- $pause := $load.interval_seconds | default 2 | float64 }}
{{- $stale := $load.stale_after_seconds | default 10 | float64 }}
{{- if lt $stale (mulf 2 $pause) }}
{{- fail (printf "%s: engine_load.stale_after_seconds is %v, below twice engine_load.interval_seconds, which is %v: raise it, or lower that" $where $stale $pause) }}
{{- end }}
{{- $discovery := .pool.discovery }}
{{- if and (hasKey $discovery "static") (hasKey $discovery "kubernetes") }}
{{- fail (printf "%s: discovery has static and kubernetes, one of them perhaps from modelDefaults.pool: keep one" $where) }}
{{- end }}
{{- $seen := dict }}
{{- range $discovery.static }}
{{- if not (regexMatch "^https?://([^/:\\[\\]]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]*)?(/.*)?$" .) }}
{{- fail (printf "%s: discovery.static: %q is no usable URL: give one such as http://10.0.0.1:30000" $where .) }}
{{- end }}
{{- include "spillway.checkPort" (dict "where" (printf "%s: discovery.static: %s" $where .) "port" (regexFind ":[0-9]+(/|$)" . | trimAll ":/")) }}
{{- include "spillway.checkPath" (dict "where" (printf "%s: discovery.static: %s" $where .) "path" (regexReplaceAll "^https?://[^/]*" . "")) }}
{{- $plain := regexReplaceAll "/+$" . "" }}
{{- if hasKey $seen $plain }}
{{- fail (printf "%s: discovery.static has %s twice: list each replica once" $where $plain) }}
{{- end }}
{{- $_ := set $seen $plain true }}
{{- end }}
{{- with $discovery.kubernetes }}
{{- include "spillway.checkPath" (dict "where" (printf "%s: discovery.kubernetes.path" $where) "path" (.path | default "")) }}
{{- range $label, $_ := .labels }}
{{- if not (regexMatch "^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$" $label) }}
{{- fail (printf "%s: discovery.kubernetes.labels: %q is no name of a label, such as app or example.com/app" $where $label) }}
{{- end }}
{{- end }}
{{- $port := toString (.port | default "") }}
{{- if regexMatch "^[0-9]+$" $port }}
{{- include "spillway.checkPort" (dict "where" (printf "%s: discovery.kubernetes.port" $where) "port" $port) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "spillway.checkScaling" -}}
{{- if gt (int .scaling.minReplicas) (int .scaling.maxReplicas) }}
{{- fail (printf "%s.minReplicas is %d, above maxReplicas, which is %d: raise that, or lower it" .where (int .scaling.minReplicas) (int .scaling.maxReplicas)) }}
{{- end }}
{{- end }}

{{- define "spillway.checkPath" -}}
{{- if regexMatch "/v1/*$" .path }}
{{- fail (printf "%s: leave /v1 out at the end: the gateway adds it" .where) }}
{{- end }}
{{- end }}

{{- define "spillway.checkPort" -}}
{{- if and .port (or (gt (len .port) 5) (lt (int .port) 1) (gt (int .port) 65535)) }}
{{- fail (printf "%s: %s is no port: give 1 to 65535" .where .port) }}
{{- end }}
{{- end }}

{{- /* The section of the gateway's file as it will stand there. (dict "root" $ "section" $section) */}}
{{- define "spillway.checkRedis" -}}
{{- $redis := .section }}
{{- $mode := $redis.mode | default "single" }}
{{- if not $redis.urls }}
{{- fail "config.redis.urls is missing: name the server, or let the chart start one with redis.bundled.enabled" }}
{{- end }}
{{- if and (eq $mode "single") (gt (len $redis.urls) 1) }}
{{- fail "config.redis.urls names several servers: give one, or set config.redis.mode to sentinel or cluster" }}
{{- end }}
{{- $schemes := list }}
{{- range $redis.urls }}
{{- $schemes = append $schemes (splitList "://" . | first) }}
{{- if not (regexMatch "^rediss?://([^/:\\[\\]]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]*)?$" .) }}
{{- fail (printf "config.redis.urls: %q is no usable URL: give one such as redis://10.0.0.5:6379" .) }}
{{- end }}
{{- include "spillway.checkPort" (dict "where" (printf "config.redis.urls: %s" .) "port" (regexFind ":[0-9]+$" . | trimPrefix ":")) }}
{{- end }}
{{- if gt (len (uniq $schemes)) 1 }}
{{- fail "config.redis.urls mixes redis:// and rediss://: give all with TLS or none" }}
{{- end }}
{{- if eq $mode "sentinel" }}
{{- if not $redis.service }}
{{- fail "config.redis.service is needed with mode sentinel: the master's name, such as mymaster" }}
{{- end }}
{{- else }}
{{- range list "service" "sentinel_username" "sentinel_password" }}
{{- if get $redis . }}
{{- fail (printf "config.redis.%s is for mode sentinel only, and mode is %s: remove it (or redis.sentinelPasswordSecret)" . $mode) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (eq $mode "cluster") $redis.database }}
{{- fail "config.redis.database must be 0 with mode cluster: a cluster has no other" }}
{{- end }}
{{- /* 1, 3 and 0.1 are the gateway's own defaults. */}}
{{- $heartbeat := $redis.heartbeat_seconds | default 1 | float64 }}
{{- if lt ($redis.expiry_seconds | default 3 | float64) (mulf 2 $heartbeat) }}
{{- fail (printf "config.redis.expiry_seconds must be at least twice heartbeat_seconds, which is %v" $heartbeat) }}
{{- end }}
{{- if gt ($redis.timeout_seconds | default 0.1 | float64) $heartbeat }}
{{- fail (printf "config.redis.timeout_seconds must not exceed heartbeat_seconds, which is %v" $heartbeat) }}
{{- end }}
{{- $variables := list }}
{{- range include "spillway.gateway.env" .root | fromYamlArray }}{{ $variables = append $variables .name }}{{ end }}
{{- range list "username" "password" "sentinel_username" "sentinel_password" }}
{{- $value := get $redis . | default "" }}
{{- if and (hasSuffix "password" .) $value (not (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" $value)) }}
{{- fail (printf "config.redis.%s is a secret and may not stand in the values: use redis.%s, or ${NAME} of gateway.extraEnv" . (ternary "passwordSecret" "sentinelPasswordSecret" (eq . "password"))) }}
{{- end }}
{{- if and (hasPrefix "${" $value) (not (has (trimAll "${}" $value) $variables)) }}
{{- fail (printf "config.redis.%s is %s, which no variable of the gateway has: add it to gateway.extraEnv, or use redis.passwordSecret" . $value) }}
{{- end }}
{{- end }}
{{- end }}
