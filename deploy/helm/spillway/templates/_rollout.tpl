{{- /* Whether a pool keeps what runs when its profile changes. (dict "root" $ "role" $role) */}}
{{- define "spillway.engine.paused" -}}
{{- if not (has .root.Values.engines.rollout (list "both" .role)) }}true{{ end }}
{{- end }}

{{- /*
Refuses an upgrade that would leave a model without an engine for as long as engines take to load: each pool has at most one
that serves and would stop it, or serves none now. It sees the cluster, so it works with `helm upgrade` and not where manifests
are rendered without one. (dict "root" $ "model" $model)
*/}}
{{- define "spillway.rolloutGuard" -}}
{{- $root := .root }}
{{- $model := .model }}
{{- $serving := list }}
{{- $stopping := list }}
{{- range $role, $pool := $model.pools }}
{{- if $pool.started }}
{{- $live := lookup "apps/v1" "Deployment" $root.Release.Namespace $pool.fullname | default dict }}
{{- $available := dig "status" "availableReplicas" 0 $live | int }}
{{- if $available }}
{{- $serving = append $serving $role }}
{{- $context := dict "root" $root "model" $model "role" $role "pool" $pool }}
{{- $changed := ne (dig "metadata" "annotations" "spillway/profile" "" $live) (include "spillway.engine.profile" $context) }}
{{- /* A paused Deployment has no updated pods exactly if its pods are outdated. */}}
{{- $resumed := and (dig "spec" "paused" false $live) (not (dig "status" "updatedReplicas" 0 $live | int)) }}
{{- $rolls := and (or $changed $resumed) (not (include "spillway.engine.paused" $context)) }}
{{- if and $rolls (le $available 1) (not $pool.maxSurge) }}
{{- $stopping = append $stopping $role }}
{{- end }}
{{- end }}
{{- else }}
{{- $serving = append $serving $role }}
{{- end }}
{{- end }}
{{- if and $stopping (eq (len $serving) (len $stopping)) (not $root.Values.engines.allowOutage) }}
{{- fail (printf "this upgrade would stop every engine of %s at once (%s): roll one pool after the other with --set engines.rollout=baseline, wait for it, then --set engines.rollout=speculative; or accept it with --set engines.allowOutage=true" $model.name (join ", " $stopping)) }}
{{- end }}
{{- end }}

{{- /* Stands for the pod template, to see from outside whether it has changed. */}}
{{- define "spillway.engine.profile" -}}
{{- include "spillway.engine.template" . | sha256sum | trunc 16 }}
{{- end }}
