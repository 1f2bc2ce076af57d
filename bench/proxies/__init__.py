"""The proxies that are compared, one module each."""

from bench.proxies import bare, envoy, nginx, smg, spillway, vllm_router

ALL = {
    proxy.name: proxy
    for proxy in (
        bare.PROXY,
        nginx.PROXY,
        envoy.PROXY,
        vllm_router.PROXY,
        vllm_router.TUNED,
        smg.PROXY,
        spillway.PROXY,
        spillway.IN_VENV,
    )
}
