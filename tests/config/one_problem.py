"""Files with one thing wrong in each."""

from tests.config.support import MODELS

ORIGIN = "must be an origin such as https://chat.example.com, in lower case and without path, or * for all"
POOLS = 'pools: {baseline: {discovery: {static: ["http://a:1"]}}}'
BOTH = 'pools: {speculative: {discovery: {static: ["http://a:1"]}}, baseline: {discovery: {static: ["http://b:1"]}}}'


def model(lines: str) -> str:
    """A file with one model `m`; `lines` starts on line 3."""
    return f"models:\n  - name: m\n    {lines}\n"


def pool(lines: str) -> str:
    """A file with one pool; `lines` starts on line 5."""
    return f"models:\n  - name: m\n    pools:\n      speculative:\n        {lines}\n"


KUBERNETES = "models[0].pools.speculative.discovery.kubernetes"
STATIC = 'discovery: {static: ["http://a:1"]}'

# The file, then the only problem's field, line and reason.
ONE_PROBLEM = {
    "misspelt top-level field": (MODELS + "limit: {}\n", "limit", 5, "unknown field; did you mean 'limits'?"),
    "misspelt nested field": (
        model(f"policy: {{kind: threshold, treshold: 4}}\n    {POOLS}"),
        "models[0].policy.treshold",
        3,
        "unknown field; did you mean 'threshold'?",
    ),
    "policy without kind": (
        model(f"policy: {{treshold: 4}}\n    {POOLS}"),
        "models[0].policy.treshold",
        3,
        "unknown field; did you mean 'threshold'?",
    ),
    "field with dashes": (MODELS + "limits: {body-bytes: 1}\n", "limits.body-bytes", 5, "did you mean 'body_bytes'?"),
    "field at the wrong place": (MODELS + "threshold: 4\n", "threshold", 5, "it belongs at models[].policy.threshold"),
    "field of nowhere": (MODELS + "log: {zzz: 4}\n", "log.zzz", 5, "unknown field; valid here: level, access"),
    "field that is no name": (MODELS + 'log: {"a b": 4}\n', "log['a b']", 5, "unknown field"),
    "field of the other policy": (
        model(f"policy: {{kind: pinned, pool: baseline, threshold: 4}}\n    {POOLS}"),
        "models[0].policy.threshold",
        3,
        "only with kind: threshold, and this is kind: pinned: change that, or leave threshold out",
    ),
    "field of the policy that is the default": (
        model(f"policy: {{kind: adaptive, threshold: 5}}\n    {POOLS}"),
        "models[0].policy.threshold",
        3,
        "only with kind: threshold, and this is kind: adaptive: change that, or leave threshold out",
    ),
    "unknown kind": (
        model(f"policy: {{kind: pined}}\n    {POOLS}"),
        "models[0].policy.kind",
        3,
        "must be one of threshold, adaptive, pinned, not 'pined'; did you mean 'pinned'?",
    ),
    "empty kind": (
        model(f"policy: {{kind: }}\n    {POOLS}"),
        "models[0].policy.kind",
        3,
        "must be one of threshold, adaptive, pinned, not empty",
    ),
    "policy as text": (
        model(f"policy: threshold\n    {POOLS}"),
        "models[0].policy",
        3,
        "must be a mapping of fields, not 'threshold'",
    ),
    "section as a list": (MODELS + "limits: [1]\n", "limits", 5, "must be a mapping of fields, not a list"),
    "section left empty": (MODELS + "limits:\n", "limits", 5, "is empty: give it a value, or remove it"),
    "missing models": ("log: {level: info}\n", "models", 1, "is required: what clients may ask for"),
    "no models": ("models: []\n", "models", 1, "must be a list with at least one entry, not an empty list"),
    "models as a mapping": ("models: {a: 1}\n", "models", 1, "must be a list, not a mapping"),
    "model as text": ("models:\n  - kimi\n", "models[0]", 2, "must be a mapping of fields, not text"),
    "missing name": (f"models:\n  -\n    {POOLS}\n", "models[0].name", 3, "is required"),
    "missing pools": ("models:\n  - name: m\n", "models[0].pools", 2, "is required: the engines that serve it"),
    "no pools": (model("pools: {}"), "models[0].pools", 3, "give a speculative pool, a baseline pool, or both"),
    "missing discovery": (pool("engine: vllm"), "models[0].pools.speculative.discovery", 4, "is required"),
    "empty discovery": (
        pool("discovery: {}"),
        "models[0].pools.speculative.discovery",
        5,
        "says nothing: give static or kubernetes",
    ),
    "two discoveries": (
        pool("discovery: {static: ['http://a:1'], kubernetes: {service: s}}"),
        "models[0].pools.speculative.discovery.kubernetes",
        5,
        "can't be given beside static: keep one",
    ),
    "kubernetes without a query": (
        pool("discovery: {kubernetes: {namespace: llm}}"),
        KUBERNETES,
        5,
        "names nothing to look for: give service or labels",
    ),
    "service and labels": (
        pool("discovery: {kubernetes: {service: s, labels: {app: x}}}"),
        f"{KUBERNETES}.labels",
        5,
        "can't be given beside service: keep one",
    ),
    "service that is a host name": (
        pool("discovery: {kubernetes: {service: k2.llm.svc}}"),
        f"{KUBERNETES}.service",
        5,
        "must be a name as Kubernetes has it, such as k2-baseline: lower case letters, digits and dashes, not 'k2.llm",
    ),
    "labels as text": (
        pool("discovery: {kubernetes: {labels: app=x}}"),
        f"{KUBERNETES}.labels",
        5,
        "must be a mapping, such as {app: k2}, not 'app=x'",
    ),
    "no labels": (
        pool("discovery: {kubernetes: {labels: {}}}"),
        f"{KUBERNETES}.labels",
        5,
        "must be a mapping with at least one entry, not an empty mapping",
    ),
    "label that is a boolean": (
        pool("discovery: {kubernetes: {labels: {app: true}}}"),
        f"{KUBERNETES}.labels.app",
        5,
        "must be text, not true; put it in quotes",
    ),
    "label with a wrong name": (
        pool("discovery: {kubernetes: {labels: {a b: x}}}"),
        f"{KUBERNETES}.labels",
        5,
        "'a b' is no name of a Kubernetes label",
    ),
    "label with a wrong value": (
        pool("discovery: {kubernetes: {labels: {app: -x}}}"),
        f"{KUBERNETES}.labels",
        5,
        "'-x' is no value of a Kubernetes label",
    ),
    "pod port out of range": (
        pool("discovery: {kubernetes: {service: s, port: 70000}}"),
        f"{KUBERNETES}.port",
        5,
        "70000 is no port: give 1 to 65535, or a port's name",
    ),
    "pod port that is a boolean": (
        pool("discovery: {kubernetes: {service: s, port: true}}"),
        f"{KUBERNETES}.port",
        5,
        "must be the name or the number of a port, such as http or 30000, not true",
    ),
    "base path with a query": (
        pool("discovery: {kubernetes: {service: s, path: '/a?b'}}"),
        f"{KUBERNETES}.path",
        5,
        "must be a path without query, such as /engine",
    ),
    "no replicas": (
        pool("discovery: {static: []}"),
        "models[0].pools.speculative.discovery.static",
        5,
        "must be a list with at least one entry",
    ),
    "number as a name": (
        f"models:\n  - name: 405\n    {POOLS}\n",
        "models[0].name",
        2,
        "not 405; put it in quotes",
    ),
    "blank name": (f"models:\n  - name: ''\n    {POOLS}\n", "models[0].name", 2, "not ''"),
    "name with spaces": (f"models:\n  - name: a b\n    {POOLS}\n", "models[0].name", 2, "without spaces"),
    "long name": (f"models:\n  - name: {'x' * 257}\n    {POOLS}\n", "models[0].name", 2, "at most 256 characters"),
    "aliases as text": (
        model(f"aliases: k2\n    {POOLS}"),
        "models[0].aliases",
        3,
        "must be a list, not text; write it as a list",
    ),
    "alias equal to the name": (
        model(f"aliases: [k2, m]\n    {POOLS}"),
        "models[0].aliases[1]",
        3,
        "'m' is already a name of models[0]",
    ),
    "two models of one name": (
        model(f"{POOLS}\n  - {POOLS}\n    name: m"),
        "models[1].name",
        5,
        "'m' is already a name of models[0]",
    ),
    "whole number wanted": (MODELS + "limits: {body_bytes: 1.5}\n", "limits.body_bytes", 5, "whole number, not 1.5"),
    "number wanted": (MODELS + "limits: {idle_seconds: 5s}\n", "limits.idle_seconds", 5, "must be a number, not '5s'"),
    "boolean for a number": (MODELS + "retries: {burst: true}\n", "retries.burst", 5, "must be a number, not true"),
    "too small": (
        model(f"policy: {{threshold: 0}}\n    {BOTH}"),
        "models[0].policy.threshold",
        3,
        "must be at least 1, not 0",
    ),
    "zero seconds": (MODELS + "limits: {idle_seconds: 0}\n", "limits.idle_seconds", 5, "must be above 0, not 0"),
    "too large": (MODELS + "listen: {port: 65536}\n", "listen.port", 5, "must be at most 65535, not 65536"),
    "sexagesimal": (MODELS + "listen: {port: 80:80}\n", "listen.port", 5, "must be a whole number, not '80:80'"),
    "not finite": (MODELS + "drain: {delay_seconds: .inf}\n", "drain.delay_seconds", 5, "must be a finite number"),
    "not a number": (MODELS + "drain: {delay_seconds: .nan}\n", "drain.delay_seconds", 5, "must be a finite number"),
    "endless number": (MODELS + f"retries: {{burst: {'9' * 5000}}}\n", "retries.burst", 5, "the number is too long"),
    "neither true nor false": (
        MODELS + "log: {access: maybe}\n",
        "log.access",
        5,
        "must be true or false, not 'maybe'",
    ),
    "unknown choice": (
        MODELS + "log: {level: warn}\n",
        "log.level",
        5,
        "must be one of debug, info, warning, error, not 'warn'; did you mean 'warning'?",
    ),
    "unknown engine": (
        pool(f"engine: tgi\n        {STATIC}"),
        "models[0].pools.speculative.engine",
        5,
        "must be one of sglang, vllm, llamacpp, openai, not 'tgi'",
    ),
    "URL of another scheme": (
        pool("discovery: {static: ['ftp://a']}"),
        "models[0].pools.speculative.discovery.static[0]",
        5,
        "must be a URL such as http://10.0.0.1:30000",
    ),
    "URL with a password": (
        pool("discovery:\n          static:\n          - http://b:1\n          - http://u:p@a:1"),
        "models[0].pools.speculative.discovery.static[1]",
        8,
        "without user name",
    ),
    "URL with an impossible port": (
        pool("discovery: {static: ['http://a:70000']}"),
        "models[0].pools.speculative.discovery.static[0]",
        5,
        "port out of range",
    ),
    "URL with port 0": (
        pool("discovery: {static: ['http://a:0']}"),
        "models[0].pools.speculative.discovery.static[0]",
        5,
        "needs a port from 1 to 65535",
    ),
    "URL without host": (
        pool("discovery: {static: ['http://:80']}"),
        "models[0].pools.speculative.discovery.static[0]",
        5,
        "has no host",
    ),
    "replica listed twice": (
        pool("discovery: {static: ['http://a:1', 'http://b:1', 'http://a:1/', 'http://a:1/x']}"),
        "models[0].pools.speculative.discovery.static[2]",
        5,
        "is the same URL as static[0]",
    ),
    "relative health path": (
        pool(f"health: {{path: health}}\n        {STATIC}"),
        "models[0].pools.speculative.health.path",
        5,
        "must be a path that starts with a slash",
    ),
    "ejection that shrinks": (
        pool(f"health: {{eject_seconds: 9, eject_max_seconds: 5}}\n        {STATIC}"),
        "models[0].pools.speculative.health.eject_max_seconds",
        5,
        "must not be below eject_seconds, which is 9",
    ),
    "a load that is too old at once": (
        pool(f"engine_load: {{interval_seconds: 6}}\n        {STATIC}"),
        "models[0].pools.speculative.engine_load.stale_after_seconds",
        5,
        "must be at least twice interval_seconds, which is 6",
    ),
    "pinned to a pool that is not there": (
        model(f"policy: {{kind: pinned, pool: speculative}}\n    {POOLS}"),
        "models[0].policy.pool",
        3,
        "is speculative, a pool that this model does not have",
    ),
    "pinned to no pool": (model(f"policy: {{kind: pinned}}\n    {POOLS}"), "models[0].policy.pool", 3, "is required"),
    "threshold over the pool's size": (
        model(f"{BOTH}\n    policy: {{threshold: 129}}"),
        "models[0].policy.threshold",
        4,
        "must not exceed pools.speculative.max_inflight, which is 128",
    ),
    "URL of the API": (
        pool('discovery: {static: ["http://v1:1", "http://a:1/x/v1/"]}'),
        "models[0].pools.speculative.discovery.static[1]",
        5,
        "leave /v1 out: the gateway adds it",
    ),
    "path of the API": (
        pool("discovery: {kubernetes: {service: a, path: /v1}}"),
        f"{KUBERNETES}.path",
        5,
        "leave /v1 out: the gateway adds it",
    ),
    "host with a port": (MODELS + "listen: {host: '0.0.0.0:80'}\n", "listen.host", 5, "give the port as port"),
    "host in brackets": (MODELS + "listen: {host: '[::]'}\n", "listen.host", 5, "leave out brackets"),
    "URL as host": (MODELS + "listen: {host: 'http://a'}\n", "listen.host", 5, "must be an address or a host name"),
    "admin on the same port": (MODELS + "admin: {port: 8080}\n", "admin", 5, "is the address of listen"),
    "several single servers": (
        MODELS + 'redis: {urls: ["redis://a:1", "redis://b:1"]}\n',
        "redis.urls",
        5,
        "names several servers: give one, or set mode to sentinel or cluster",
    ),
    "HTTP to Redis": (MODELS + 'redis: {urls: ["http://a:1"]}\n', "redis.urls[0]", 5, "such as redis://10.0.0.5:6379"),
    "Redis without a server": (MODELS + "redis: {mode: single}\n", "redis.urls", 5, "is required: the server"),
    "Redis with half of TLS": (
        MODELS + 'redis: {mode: cluster, urls: ["redis://a:1", "rediss://b:1"]}\n',
        "redis.urls",
        5,
        "mixes redis:// and rediss://",
    ),
    "Sentinels without a service": (
        MODELS + 'redis: {mode: sentinel, urls: ["redis://a:1"]}\n',
        "redis.service",
        5,
        "is needed with mode sentinel",
    ),
    "a service without Sentinels": (
        MODELS + 'redis: {urls: ["redis://a:1"], service: s}\n',
        "redis.service",
        5,
        "is for mode sentinel only, and mode is single",
    ),
    "a database of a cluster": (
        MODELS + 'redis: {mode: cluster, urls: ["redis://a:1"], database: 2}\n',
        "redis.database",
        5,
        "must be 0",
    ),
    "expiry between two heartbeats": (
        MODELS + 'redis: {urls: ["redis://a:1"], heartbeat_seconds: 2}\n',
        "redis.expiry_seconds",
        5,
        "must be at least twice heartbeat_seconds, which is 2",
    ),
    "patience beyond a heartbeat": (
        MODELS + 'redis: {urls: ["redis://a:1"], timeout_seconds: 2}\n',
        "redis.timeout_seconds",
        5,
        "must not exceed heartbeat_seconds, which is 1",
    ),
    "braces in the keys": (
        MODELS + 'redis: {urls: ["redis://a:1"], key_prefix: "{a}"}\n',
        "redis.key_prefix",
        5,
        "without spaces and braces",
    ),
    "certificate without key": (
        MODELS + "listen:\n  port: 1\n  tls_cert: spillway.yaml\n",
        "listen.tls_key",
        5,
        "is needed with tls_cert: give both or neither",
    ),
    "key without certificate": (
        MODELS + "listen: {tls_key: spillway.yaml}\n",
        "listen.tls_cert",
        5,
        "is needed with tls_key: give both or neither",
    ),
    **{
        f"an origin that is {what}": (
            MODELS + f"cors: {{allowed_origins: ['*', '{origin}']}}\n",
            "cors.allowed_origins[1]",
            5,
            reason,
        )
        for what, origin, reason in (
            ("a host", "chat.example.com", ORIGIN),
            ("a URL", "https://a.b/", ORIGIN),
            ("a pattern", "https://*.a.b", ORIGIN),
            ("null", "null", ORIGIN),
            ("in capitals", "https://A.b", ORIGIN),
            ("with a user", "https://a@b", ORIGIN),
            ("no host", "https://:1", ORIGIN),
            ("with the usual port", "https://a.b:443", "is not as browsers send it: leave out :443"),
        )
    },
    "path that is a number": (MODELS + "auth: {keys_file: 5}\n", "auth.keys_file", 5, "must be a path, not 5"),
    "duplicate top-level field": (MODELS + "log: {}\nlog: {}\n", "log", 6, "given twice; it is already on line 5"),
    "duplicate nested field": (
        model(f"{POOLS}\n    name: n"),
        "models[0].name",
        4,
        "given twice; it is already on line 2: keep one",
    ),
    "unsupported tag": (MODELS + "log: {level: !secret x}\n", "log.level", 5, "the tag !secret is not supported"),
    "python object": (MODELS + "log: {level: !!python/name:os.system }\n", "log.level", 5, "is not supported here"),
    "value that contains itself": ("models: &m\n  - *m\n", "models[0]", 1, "contains itself through an alias"),
}
