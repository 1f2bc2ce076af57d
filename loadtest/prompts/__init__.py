"""The prompts that load tests send: coding and agent tasks, edits of given code, prose. Written for this project.

Drafting pays most where the answer repeats the prompt (`edit`, and `regular`, which even small models copy), less
for new code (`code`, `agent`) and least for `prose`, so the mix decides where the pools cross: choose one that is
like your traffic.
"""

from loadtest.prompts.library import KINDS, BadMixError, Prompt, library, long_prompt
from loadtest.prompts.mix import DEFAULT_MIX, Mix, parse_mix

__all__ = ["DEFAULT_MIX", "KINDS", "BadMixError", "Mix", "Prompt", "library", "long_prompt", "parse_mix"]
