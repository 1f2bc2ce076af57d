"""Measures real SGLang engines behind the gateway, on a machine with one or two GPUs: what RESULTS.md was made with.

It drives everything by commands, as an operator would: `spillway-engine run` starts the engines from their profiles,
the gateway is in front of them, and the load test's sweep compares the arms. Weights are random and the drafts'
acceptance is simulated by SGLang, so that speed is real and text is not.
"""
