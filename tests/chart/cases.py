"""Values that between them use every part of the chart."""

from tests.chart.helm import EXAMPLES, Values, example, plain

_SECRET_KEYS = {"auth": {"keysSecret": {"name": "client-keys", "key": "keys"}}}
_MONITORING = {
    "podMonitor": {"enabled": True, "interval": "30s", "labels": {"release": "prometheus"}},
    "prometheusRule": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "errorBudget": 0.002,
        "ttftSeconds": 2.5,
        "runbook": "https://runbooks.example/spillway",
    },
    "dashboards": {"enabled": True, "annotations": {"grafana_folder": "LLM"}},
}


def _everything() -> Values:
    values = example("k2-eagle3")
    [model] = values["models"]
    scaling = {"enabled": True, "minReplicas": 1, "maxReplicas": 3}
    model["pools"] = {"speculative": {"maxSurge": 1}, "baseline": {"autoscaling": scaling}}
    model["engine"] |= {
        "priorityClassName": "engines",
        "runtimeClassName": "nvidia",
        "podAnnotations": {"example.com/team": "llm"},
        "podLabels": {"team": "llm"},
        "profile": model["engine"]["profile"]
        | {
            "set": ["attention-backend=flashinfer"],
            "setSpeculative": ["speculative-num-steps=1"],
            "unset": ["reasoning-parser"],
            "allow": ["flashinfer-mla-tree"],
        },
        "extraVolumes": [{"name": "cache", "hostPath": {"path": "/var/cache/sglang", "type": "DirectoryOrCreate"}}],
        "extraVolumeMounts": [{"name": "cache", "mountPath": "/root/.cache"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
        ]}}},
    }  # fmt: skip
    return values | {
        "engines": {"rollout": "baseline"},
        "config": {
            "limits": {"body_bytes": 134217728, "first_byte_seconds": 90.5},
            "retries": {"attempts": 2, "ratio": 0.1},
            "drain": {"delay_seconds": 0.5, "timeout_seconds": 1800},
            "log": {"level": "debug", "access": False},
        },
        **_SECRET_KEYS,
        "image": {"repository": "registry.example.com/spillway", "digest": f"sha256:{'0' * 64}"},
        "imagePullSecrets": [{"name": "registry"}],
        "commonLabels": {"example.com/owner": "llm"},
        "gateway": {
            "replicas": 3,
            "autoscaling": {"enabled": True},
            "serviceAccount": {"annotations": {"example.com/role": "gateway"}},
            "podAnnotations": {"example.com/team": "llm"},
            "podLabels": {"team": "llm"},
            "nodeSelector": {"pool": "cpu"},
            "affinity": {"nodeAffinity": {}},
            "priorityClassName": "gateways",
            "extraEnv": [{"name": "TZ", "value": "UTC"}],
            "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
            "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/ca"}],
        },
        "service": {
            "type": "LoadBalancer",
            "port": 8000,
            "ipFamilyPolicy": "PreferDualStack",
            "annotations": {"example.com/internal": "true"},
            "labels": {"example.com/exposed": "true"},
        },
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "hosts": ["llm.example.com"],
            "tls": [{"hosts": ["llm.example.com"], "secretName": "llm-tls"}],
            "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "1g"},
        },
        "httpRoute": {
            "enabled": True,
            "parentRefs": [{"name": "public", "namespace": "gateways", "sectionName": "https"}],
            "hostnames": ["llm.example.com"],
        },
        "networkPolicy": {
            "clients": [{"namespaceSelector": {"matchLabels": {"uses": "llm"}}}],
            "engineClients": [{"podSelector": {"matchLabels": {"app": "bench"}}}],
            "egress": {"enabled": True, "extra": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/24"}}]}]},
        },
        "monitoring": _MONITORING,
    }


def _nothing_optional() -> Values:
    return example("byo-engines") | {
        "networkPolicy": {"enabled": False},
        "gateway": {
            "podDisruptionBudget": {"enabled": False},
            "serviceAccount": {"create": False, "name": "shared"},
            "rbac": {"create": False},
            "topologySpreadConstraints": [],
            "tolerations": [],
        },
    }


def _static_only() -> Values:
    pools = {"baseline": {"discovery": {"static": ["http://10.0.0.1:8000"]}}}
    return {"models": [{"name": "m", "pools": pools}], "monitoring": _MONITORING}


def _vllm() -> Values:
    values = example("small")
    values["models"][0]["engine"] |= {
        "kind": "vllm",
        "profile": {},
        "image": {"repository": "vllm/vllm-openai", "tag": "v0.21.0"},
        "flags": ["--gpu-memory-utilization=0.9"],
        "speculativeFlags": ['--speculative-config={"method": "ngram", "num_speculative_tokens": 3}'],
        "antiAffinity": "preferred",
        "drainSeconds": 120,
    }
    return values


def _several_models() -> Values:
    first, second = example("small")["models"], example("byo-engines")["models"]
    name = "organisation/A-Very-Long-Name.of_a-model-with-all-that-it-can-do-Instruct-2507-FP8"
    return {"models": [*first, *second, first[0] | {"name": name, "aliases": []}]}


def _pinned_arm() -> Values:
    values = example("small")
    [model] = values["models"]
    model["pools"] = {"baseline": {"replicas": 2, "max_inflight": 32}}
    model["policy"] = {"kind": "pinned", "pool": "baseline", "queue": {"size": 4, "timeout": 100}}
    return values


def _tls() -> Values:
    ingress = {"enabled": True, "className": "alb", "controller": "alb"}
    return example("byo-engines") | {"tls": {"secretName": "cert"}, "ingress": ingress, **_SECRET_KEYS}


def _bundled_redis() -> Values:
    return example("small") | {
        "redis": {"bundled": {"enabled": True}, "passwordSecret": {"name": "redis-password"}},
        "networkPolicy": {"egress": {"enabled": True}},
    }


def _sentinels() -> Values:
    urls = ["rediss://s0.redis", "rediss://s1.redis:26380"]
    user = {"username": "spillway", "sentinel_username": "watcher"}
    return example("byo-engines") | {
        "config": {"redis": {"mode": "sentinel", "service": "mymaster", "urls": urls, **user}},
        "redis": {
            "passwordSecret": {"name": "redis-password"},
            "sentinelPasswordSecret": {"name": "sentinel-password", "key": "s"},
            "caSecret": {"name": "redis-ca", "key": "authority.pem"},
        },
        "gateway": {"autoscaling": {"enabled": True, "maxReplicas": 5}},
        "networkPolicy": {"egress": {"enabled": True}},
    }


CASES: dict[str, Values] = {
    **{path.stem: example(path.stem) for path in EXAMPLES},
    "everything": _everything(),
    "nothing optional": _nothing_optional(),
    "static only": _static_only(),
    "vllm": _vllm(),
    "image of others": plain(),
    "several models": _several_models(),
    "pinned arm": _pinned_arm(),
    "load test": example("byo-engines") | {"loadtest": {"enabled": True}},
    "tls": _tls(),
    "bundled Redis": _bundled_redis(),
    "Sentinels": _sentinels(),
}

STARTING = {name: values for name, values in CASES.items() if any("engine" in it for it in values["models"])}
"""Those in which the chart starts engines."""
