"""Spillway: a load-aware gateway between speculative and baseline pools of OpenAI-compatible engines."""

__version__ = "0.1.0"
