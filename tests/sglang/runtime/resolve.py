"""Resolves launch lines as SGLang itself would on a GPU: JSON in, JSON out.

Reads `[{"name", "architecture", "arguments"}]` and prints `{name: {"resolved", "effective", "warnings"}}`, or
`{"error"}` for a line that SGLang refuses. Each is resolved in a process of its own, for resolution changes the
environment and modules.
"""

import contextlib
import importlib
import io
import json
import logging
import multiprocessing
import sys
from typing import Any

_PLATFORMS = {
    "sm90": {"is_sm90": True, "is_sm100": False, "is_sm120": False, "is_blackwell": False},
    "sm100": {"is_sm90": False, "is_sm100": True, "is_sm120": False, "is_blackwell": True},
    "sm120": {"is_sm90": False, "is_sm100": False, "is_sm120": True, "is_blackwell": True},
}
_CAPABILITIES = {"sm90": 9, "sm100": 10, "sm120": 12}
_FIELDS = (
    "attention_backend",
    "chunked_prefill_size",
    "context_length",
    "decode_attention_backend",
    "disable_custom_all_reduce",
    "disable_overlap_schedule",
    "disable_radix_cache",
    "disable_shared_experts_fusion",
    "enable_metrics",
    "enable_mixed_chunk",
    "enable_torch_symm_mem",
    "flashinfer_allreduce_fusion_backend",
    "kv_cache_dtype",
    "max_running_requests",
    "mem_fraction_static",
    "moe_runner_backend",
    "page_size",
    "prefill_attention_backend",
    "quantization",
    "reasoning_parser",
    "sampling_backend",
    "speculative_adaptive",
    "speculative_algorithm",
    "speculative_attention_mode",
    "speculative_draft_attention_backend",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_num_steps",
    "tool_call_parser",
    "tp_size",
)


class _Warnings(logging.Handler):
    """Keeps what is said at warning level, once each: how SGLang tells that it has switched something off."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        if (text := record.getMessage()) not in self.said:
            self.said.append(text)


def _resolve(case: dict[str, Any]) -> dict[str, Any]:
    from sglang.srt.arg_groups.overrides import resolving_view
    from sglang.srt.runtime_context import override_platform
    from sglang.srt.server_args import prepare_server_args

    warnings = _Warnings()
    logging.getLogger("sglang").addHandler(warnings)
    with override_platform(is_cuda=True, **_PLATFORMS[case["architecture"]]):
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                args = prepare_server_args([*case["arguments"], "--device", "cuda"])
            args.resolve_once()
            args.check_server_args()
        except SystemExit as error:
            complaint = said.getvalue().rpartition("error: ")[2].strip()
            return {"error": f"the parser exits with {error.code}: {complaint}"}
        except (ValueError, AssertionError, NotImplementedError, OSError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        view = resolving_view(args)
        resolved = {name: getattr(view, name) for name in _FIELDS}
        resolved["cuda_graph_config.decode.max_bs"] = view.cuda_graph_config.decode.max_bs
        return {
            "resolved": {name: _plain(value) for name, value in sorted(resolved.items())},
            "effective": _effective(view, case["architecture"]),
            "warnings": warnings.said,
        }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _effective(view: Any, architecture: str) -> dict[str, bool]:
    """Whether what was asked for works there, by SGLang's own conditions."""
    from sglang.srt import utils
    from sglang.srt.distributed.device_communicators.all_reduce_utils import TORCH_SYMM_MEM_ALL_REDUCE_MAX_SIZES
    from sglang.srt.layers.layer_boundary.residual import add_norm

    utils.is_cuda = lambda: True
    add_norm = importlib.reload(add_norm)  # it asks for the platform when it is imported
    sizes = TORCH_SYMM_MEM_ALL_REDUCE_MAX_SIZES.get(_CAPABILITIES[architecture], {})
    return {
        "flashinfer_allreduce_fusion": view.flashinfer_allreduce_fusion_backend is not None
        and view.tp_size > 1
        and bool(add_norm._is_sm90_supported or add_norm._is_sm100_supported),
        "torch_symm_mem": bool(view.enable_torch_symm_mem) and view.tp_size in sizes,
    }


def main() -> None:
    """Reads cases from standard input."""
    importlib.import_module("sglang.srt.server_args")  # once, and not in each process

    cases = json.load(sys.stdin)
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        found = pool.map(_resolve, cases, chunksize=1)
    print(json.dumps({case["name"]: it for case, it in zip(cases, found, strict=True)}))


if __name__ == "__main__":
    main()
