"""Programs that run inside an environment with SGLang, on a machine without a GPU: see tests/sglang/README.md."""
