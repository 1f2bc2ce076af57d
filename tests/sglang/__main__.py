"""`python -m tests.sglang`: asks SGLang about every launch line, and writes resolved.json anew."""

from tests.sglang import environment, recorded

recorded.write(environment.version(), environment.resolved(recorded.questions()))
