"""What SGLang does that the rules and the profiles are there for: launch lines that it refuses, or changes by itself.

Where one of these stops being so, a rule of `spillway_engine.rules` or a flag of the profiles can go.
"""

from tests.sglang.cases import MODELS

_KIMI = (f"--model-path={MODELS}/kimi-k2.5-int4", "--tp-size=8", "--trust-remote-code")
_LLAMA = (f"--model-path={MODELS}/llama-3.1-8b-instruct", "--attention-backend=flashinfer")
_GIVEN = ("--mem-fraction-static=0.88", "--chunked-prefill-size=8192")


def _eagle(model: str, steps: int, topk: int, tokens: int) -> tuple[str, ...]:
    return (
        "--speculative-algorithm=EAGLE3",
        f"--speculative-draft-model-path={MODELS}/{model}-eagle3",
        f"--speculative-num-steps={steps}",
        f"--speculative-eagle-topk={topk}",
        f"--speculative-num-draft-tokens={tokens}",
    )


_LLAMA_TREE = _eagle("llama-3.1-8b", 2, 4, 16)
_KIMI_TREE = _eagle("kimi-k2.5", 2, 4, 16)

FACTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "the launch line of the first measurements is refused": (
        "sm120",
        (
            *_KIMI,
            "--cuda-graph-max-bs=128",
            "--disable-custom-all-reduce",
            "--attention-backend=flashinfer",
            "--enable-flashinfer-allreduce-fusion",
            "--mem-fraction-static=0.88",
            *_KIMI_TREE,
        ),
    ),
    "an option that does not exist is refused": (
        "sm120",
        (*_LLAMA, *_GIVEN, "--speculative-disable-batch-threshold=5"),
    ),
    "the beginning of an option is taken for it": ("sm120", (*_LLAMA, *_GIVEN, "--max-running=7")),
    "an algorithm that does not exist is refused": ("sm120", (*_LLAMA, *_GIVEN, "--speculative-algorithm=EAGLE4")),
    "an attention back end that does not exist is refused": ("sm120", (*_LLAMA[:1], "--attention-backend=flash")),
    "speculation takes 48 requests at once by default": ("sm120", (*_LLAMA, *_GIVEN, *_LLAMA_TREE)),
    "adaptive is switched off with a tree": (
        "sm120",
        (*_LLAMA, *_GIVEN, *_LLAMA_TREE, "--speculative-adaptive", "--max-running-requests=128"),
    ),
    "with topk 1 there are as many draft tokens as steps and one": (
        "sm120",
        (*_LLAMA, *_GIVEN, *_eagle("llama-3.1-8b", 3, 1, 16), "--max-running-requests=128"),
    ),
    "more draft tokens than a tree has are taken": (
        "sm120",
        (*_LLAMA, *_GIVEN, *_eagle("llama-3.1-8b", 2, 4, 64), "--max-running-requests=128"),
    ),
    "the default attention of sm100 refuses a tree": ("sm100", (*_KIMI, *_GIVEN, *_KIMI_TREE)),
    "FlashInfer's MLA takes a tree, and is not given its mask": (
        "sm120",
        (*_KIMI, *_GIVEN, "--attention-backend=flashinfer", *_KIMI_TREE),
    ),
    "MLA on sm120 is Triton's by default": ("sm120", (*_KIMI, *_GIVEN)),
    "fused all-reduce and symmetric memory do nothing on sm120": (
        "sm120",
        (*_KIMI, *_GIVEN, "--flashinfer-allreduce-fusion-backend=auto", "--enable-torch-symm-mem"),
    ),
}
