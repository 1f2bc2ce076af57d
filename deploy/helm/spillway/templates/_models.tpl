{{- /*
The models with their defaults laid under, as {"models": [{name, slug, aliases, policy, engine, pools: {role: pool}}]}; a pool
also has `started`, whether the chart starts its engines, and then `fullname`.
*/}}
{{- define "spillway.models" -}}
{{- $root := . }}
{{- $defaults := .Values.modelDefaults }}
{{- $models := list }}
{{- $slugs := dict }}
{{- include "spillway.checkNames" (dict "models" .Values.models) }}
{{- range $model := .Values.models }}
{{- $slug := regexReplaceAll "[^a-z0-9]+" ($model.name | lower) "-" | trimAll "-" }}
{{- if or (gt (len $slug) 40) (not $slug) }}
{{- $slug = printf "%s-%s" ($slug | trunc 31 | trimSuffix "-") ($model.name | sha256sum | trunc 8) | trimPrefix "-" }}
{{- end }}
{{- if hasKey $slugs $slug }}
{{- fail (printf "models: %q and %q would both be named %q in the cluster: rename one" (get $slugs $slug) $model.name $slug) }}
{{- end }}
{{- $_ := set $slugs $slug $model.name }}
{{- $engine := mergeOverwrite (deepCopy $defaults.engine) (deepCopy ($model.engine | default dict)) }}
{{- $pools := dict }}
{{- range $role, $given := $model.pools }}
{{- $pool := mergeOverwrite (deepCopy $defaults.pool) (deepCopy ($given | default dict)) }}
{{- $_ := set $pool "started" (not $pool.discovery) }}
{{- include "spillway.checkPool" (dict "where" (printf "models, %s, %s pool" $model.name $role) "pool" $pool) }}
{{- if $pool.started }}
{{- include "spillway.checkProfile" (dict "root" $root "model" $model "role" $role "engine" $engine "pool" $pool) }}
{{- $_ := set $pool "fullname" (include "spillway.poolName" (dict "root" $root "slug" $slug "role" $role)) }}
{{- end }}
{{- $_ := set $pools $role $pool }}
{{- end }}
{{- include "spillway.checkPolicy" (dict "model" $model "engine" $engine "pools" $pools) }}
{{- $models = append $models (dict
      "name" $model.name "slug" $slug "aliases" ($model.aliases | default list) "policy" ($model.policy | default dict)
      "engine" $engine "pools" $pools) }}
{{- end }}
{{- dict "models" $models | toYaml }}
{{- end }}

{{- /* At most 63 characters, as a Service's name must be. */}}
{{- define "spillway.poolName" -}}
{{- $name := printf "%s-%s" (include "spillway.fullname" .root) .slug }}
{{- printf "%s-%s" (include "spillway.shortened" (dict "name" $name "most" 51)) .role }}
{{- end }}

{{- /* Refuses a profile that can't be started, or that would let the pools of a model drift apart. */}}
{{- define "spillway.checkProfile" -}}
{{- $where := printf "models, %s, %s pool" .model.name .role }}
{{- if not .root.Values.engines.enabled }}
{{- fail (printf "%s: needs `discovery`, as engines.enabled is false" $where) }}
{{- end }}
{{- if not (or .engine.modelPath .engine.profile.name) }}
{{- fail (printf "%s: needs engine.profile.name or engine.modelPath to start engines, or `discovery` of ones that exist" $where) }}
{{- end }}
{{- if .engine.profile.name }}
{{- if ne .engine.kind "sglang" }}
{{- fail (printf "%s: engine.profile is for SGLang: remove engine.profile.name, or engine.kind %s" $where .engine.kind) }}
{{- end }}
{{- if or .engine.flags .engine.speculativeFlags }}
{{- fail (printf "%s: engine.flags and engine.speculativeFlags go without a profile: use engine.profile.set and engine.profile.setSpeculative" $where) }}
{{- end }}
{{- range .engine.profile.set }}
{{- if hasPrefix "speculative-" . }}
{{- fail (printf "%s: %s in engine.profile.set would be for both pools: move it to engine.profile.setSpeculative" $where .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if not (or .engine.image.tag .engine.image.digest) }}
{{- fail (printf "%s: engine.image needs a tag or a digest" $where) }}
{{- end }}
{{- if .pool.engine }}
{{- fail (printf "%s: `engine` goes with `discovery`; the engines started here are of engine.kind" $where) }}
{{- end }}
{{- if and (eq .role "speculative") (not (or .engine.speculativeFlags .engine.profile.name)) }}
{{- fail (printf "%s: engine.speculativeFlags is empty, so it would be a baseline pool" $where) }}
{{- end }}
{{- range .engine.flags }}
{{- if hasPrefix "--speculative" . }}
{{- fail (printf "%s: %s in engine.flags would be in both pools: move it to engine.speculativeFlags" $where .) }}
{{- end }}
{{- end }}
{{- $written := list
      "--model-path" "--model" "--served-model-name" "--tp" "--tp-size" "--tensor-parallel-size" "--host" "--port"
      "--max-running-requests" "--max-num-seqs" "--enable-metrics" "--shutdown-timeout" }}
{{- range concat .engine.flags .engine.speculativeFlags }}
{{- if has (. | splitList "=" | first) $written }}
{{- fail (printf "%s: the chart writes %s itself: use the value of the engine profile" $where .) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Refuses a policy that the gateway would refuse. */}}
{{- define "spillway.checkPolicy" -}}
{{- $policy := .model.policy | default dict }}
{{- $where := printf "models, %s" .model.name }}
{{- $kind := $policy.kind | default "threshold" }}
{{- $fields := dict "threshold" (list "mode" "threshold" "resume_below" "min_dwell") "pinned" (list "pool") }}
{{- $_ := set $fields "adaptive" (list "objective" "weight" "shared_hardware" "half_life" "exploration" "curves" "fallback") }}
{{- range $owner, $names := omit $fields $kind }}
{{- range $names }}
{{- if hasKey $policy . }}
{{- fail (printf "%s: policy.%s goes with policy.kind %s: set that, or remove policy.%s" $where . $owner .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $kind "pinned" }}
{{- if not $policy.pool }}
{{- fail (printf "%s: policy.kind pinned needs policy.pool: set it to speculative or baseline" $where) }}
{{- end }}
{{- if not (hasKey .pools $policy.pool) }}
{{- fail (printf "%s: policy.pool is %s, which is not in pools: add it there, or name another" $where $policy.pool) }}
{{- end }}
{{- else }}
{{- with .pools.speculative }}
{{- /* 5 and 128 are the gateway's own defaults. */}}
{{- $field := ternary "policy.fallback.threshold" "policy.threshold" (eq $kind "adaptive") }}
{{- $threshold := ternary (dig "fallback" "threshold" 5 $policy) ($policy.threshold | default 5) (eq $kind "adaptive") | int }}
{{- $most := .max_inflight | default (ternary $.engine.maxInflight 128 .started) | int }}
{{- if gt $threshold $most }}
{{- $raise := ternary "engine.maxInflight" "pools.speculative.max_inflight" (and .started (not .max_inflight)) }}
{{- fail (printf "%s: %s is %d, above the %d requests that a speculative engine takes at once: lower it, or raise %s" $where $field $threshold $most $raise) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Namespaces in which EndpointSlices are watched, as {"namespaces": [...]}. */}}
{{- define "spillway.watchedNamespaces" -}}
{{- $root := . }}
{{- $namespaces := list }}
{{- range (include "spillway.models" . | fromYaml).models }}
{{- range .pools }}
{{- if .started }}
{{- $namespaces = append $namespaces $root.Release.Namespace }}
{{- else if hasKey .discovery "kubernetes" }}
{{- $namespaces = append $namespaces (.discovery.kubernetes.namespace | default $root.Release.Namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "namespaces" ($namespaces | uniq | sortAlpha) | toYaml }}
{{- end }}
