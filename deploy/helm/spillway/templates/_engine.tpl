{{- /* All of these take (dict "root" $ "model" $model "role" $role "pool" $pool). */}}

{{- /* SGLang looks every 5 seconds whether it has finished, and then frees its GPUs. */}}
{{- define "spillway.engine.gracePeriod" -}}
{{- $preStop := mul (int .model.engine.preStopSeconds) (ternary 2 1 (not (empty .model.engine.profile.name))) }}
{{- add $preStop (int .model.engine.drainSeconds) 30 }}
{{- end }}

{{- define "spillway.engine.command" -}}
{{- $engine := .model.engine }}
{{- if $engine.command }}
{{- toYaml $engine.command }}
{{- else if $engine.profile.name }}
{{- list "spillway-engine" "run" | toYaml }}
{{- else if eq $engine.kind "vllm" }}
{{- list "vllm" "serve" | toYaml }}
{{- else }}
{{- list "python3" "-m" "sglang.launch_server" | toYaml }}
{{- end }}
{{- end }}

{{- /* What the image renders the profile with: the same for both pools, for what concerns speculation it ignores for a baseline. */}}
{{- define "spillway.engine.profileArgs" -}}
{{- $engine := .model.engine }}
{{- $profile := $engine.profile }}
{{- $args := list (printf "%s/%s" $profile.name (get $profile .role)) }}
{{- with $engine.modelPath }}{{ $args = append $args (printf "--model-path=%s" .) }}{{ end }}
{{- with $profile.draftModelPath }}{{ $args = append $args (printf "--draft-model-path=%s" .) }}{{ end }}
{{- $args = concat $args (list
      (printf "--served-model-name=%s" .model.name)
      (printf "--host=%s" $engine.host)
      (printf "--port=%d" (int $engine.port))
      (printf "--gpus=%d" (int $engine.tensorParallel))
      (printf "--max-running-requests=%d" (int $engine.maxInflight))) }}
{{- range $profile.set }}{{ $args = append $args (printf "--set=%s" .) }}{{ end }}
{{- range $profile.setSpeculative }}{{ $args = append $args (printf "--set-speculative=%s" .) }}{{ end }}
{{- range $profile.unset }}{{ $args = append $args (printf "--unset=%s" .) }}{{ end }}
{{- range $profile.allow }}{{ $args = append $args (printf "--allow=%s" .) }}{{ end }}
{{- toYaml $args }}
{{- end }}

{{- /* The flags of both pools, and at the end those of the speculative one. */}}
{{- define "spillway.engine.args" -}}
{{- $engine := .model.engine }}
{{- if $engine.profile.name }}
{{- include "spillway.engine.profileArgs" . }}
{{- else }}
{{- $args := list }}
{{- if eq $engine.kind "vllm" }}
{{- /* vLLM cuts requests off at SIGTERM unless it is given time. */}}
{{- $args = list
      $engine.modelPath
      (printf "--tensor-parallel-size=%d" (int $engine.tensorParallel))
      (printf "--max-num-seqs=%d" (int $engine.maxInflight))
      (printf "--shutdown-timeout=%d" (int $engine.drainSeconds)) }}
{{- else }}
{{- /* Under EAGLE SGLang would take 48 requests at once unless it is told. */}}
{{- $args = list
      (printf "--model-path=%s" $engine.modelPath)
      (printf "--tp-size=%d" (int $engine.tensorParallel))
      (printf "--max-running-requests=%d" (int $engine.maxInflight))
      "--enable-metrics" }}
{{- end }}
{{- $args = concat $args (list
      (printf "--served-model-name=%s" .model.name)
      (printf "--host=%s" $engine.host)
      (printf "--port=%d" (int $engine.port))) $engine.flags }}
{{- if eq .role "speculative" }}
{{- $args = concat $args $engine.speculativeFlags }}
{{- end }}
{{- toYaml $args }}
{{- end }}
{{- end }}

{{- define "spillway.engine.env" -}}
{{- $engine := .model.engine }}
{{- $names := list }}
{{- range $engine.env }}{{ $names = append $names .name }}{{ end }}
{{- $env := $engine.env }}
{{- /* Else each probe generates a token, waits behind prompts, and takes time from requests. A scheduler that hangs ends
       itself by SGLang's watchdog. */}}
{{- $cheapProbes := "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION" }}
{{- if and (eq $engine.kind "sglang") (not (has $cheapProbes $names)) }}
{{- $env = prepend $env (dict "name" $cheapProbes "value" "0") }}
{{- end }}
{{- with $env }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- /* The profile's affinity, with the rule that keeps the two pools of a model apart added to it. */}}
{{- define "spillway.engine.affinity" -}}
{{- $affinity := deepCopy .model.engine.affinity }}
{{- $wanted := .model.engine.antiAffinity }}
{{- if and (ne $wanted "none") (eq (len .model.pools) 2) }}
{{- $other := ternary "baseline" "speculative" (eq .role "speculative") }}
{{- $selector := include "spillway.poolSelector" (dict "root" .root "model" .model "role" $other) | fromYaml }}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" $selector) }}
{{- $key := "requiredDuringSchedulingIgnoredDuringExecution" }}
{{- if eq $wanted "preferred" }}
{{- $key = "preferredDuringSchedulingIgnoredDuringExecution" }}
{{- $term = dict "weight" 100 "podAffinityTerm" $term }}
{{- end }}
{{- $rules := get $affinity "podAntiAffinity" | default dict }}
{{- $_ := set $rules $key (append (get $rules $key | default list) $term) }}
{{- $_ := set $affinity "podAntiAffinity" $rules }}
{{- end }}
{{- with $affinity }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- define "spillway.engine.volumes" -}}
{{- $volume := .model.engine.modelVolume -}}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ .model.engine.sharedMemory }}
{{- if $volume.claimName }}
- name: model
  persistentVolumeClaim:
    claimName: {{ $volume.claimName }}
    readOnly: {{ $volume.readOnly }}
{{- else if $volume.hostPath }}
- name: model
  hostPath:
    path: {{ $volume.hostPath }}
    type: Directory
{{- end }}
{{- with .model.engine.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spillway.engine.mounts" -}}
{{- $volume := .model.engine.modelVolume -}}
- name: shm
  mountPath: /dev/shm
{{- if or $volume.claimName $volume.hostPath }}
- name: model
  mountPath: {{ $volume.mountPath }}
  readOnly: {{ $volume.readOnly }}
{{- end }}
{{- with .model.engine.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spillway.engine.resources" -}}
{{- $gpus := dict .model.engine.gpuResource (int .model.engine.tensorParallel) }}
{{- $given := .model.engine.resources -}}
requests:
  {{- toYaml (merge (deepCopy $gpus) ($given.requests | default dict)) | nindent 2 }}
limits:
  {{- toYaml (merge (deepCopy $gpus) ($given.limits | default dict)) | nindent 2 }}
{{- end }}

{{- /* The pod template. Nothing of it may depend on the chart's version or the gateway's values: engines restart for it. */}}
{{- define "spillway.engine.template" -}}
{{- $engine := .model.engine -}}
metadata:
  labels:
    {{- include "spillway.poolSelector" . | nindent 4 }}
    {{- with $engine.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $engine.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "spillway.engine.gracePeriod" . }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $engine.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $engine.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with $engine.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $engine.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "spillway.engine.affinity" . }}
  affinity:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with $engine.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: engine
      image: {{ include "spillway.image" (dict "image" $engine.image "tag" "") }}
      imagePullPolicy: {{ $engine.image.pullPolicy }}
      command:
        {{- include "spillway.engine.command" . | nindent 8 }}
      args:
        {{- include "spillway.engine.args" . | nindent 8 }}
      {{- with include "spillway.engine.env" . }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: {{ int $engine.port }}
      startupProbe:
        httpGet: {path: /health, port: http}
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: {{ divf $engine.startupSeconds 10 | ceil | int }}
      readinessProbe:
        httpGet: {path: /health, port: http}
        periodSeconds: 5
        timeoutSeconds: 10
        failureThreshold: 3
      # Slow is not dead: an engine is restarted for this after minutes only, as it then loads for minutes.
      livenessProbe:
        httpGet: {path: /health, port: http}
        periodSeconds: 30
        timeoutSeconds: 20
        failureThreshold: 6
      {{- if $engine.preStopSeconds }}
      # The engine takes requests as usual meanwhile, while gateways learn that it is leaving.
      lifecycle:
        preStop:
          exec:
            {{- if $engine.profile.name }}
            command:
              - spillway-engine
              - pre-stop
              - --port={{ int $engine.port }}
              - --least={{ int $engine.preStopSeconds }}
              - --most={{ mul (int $engine.preStopSeconds) 2 }}
            {{- else }}
            command: [sleep, {{ int $engine.preStopSeconds | quote }}]
            {{- end }}
      {{- end }}
      resources:
        {{- include "spillway.engine.resources" . | nindent 8 }}
      {{- with $engine.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "spillway.engine.mounts" . | nindent 8 }}
  volumes:
    {{- include "spillway.engine.volumes" . | nindent 4 }}
{{- end }}
