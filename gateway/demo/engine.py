"""`python -m gateway.demo.engine`: llama.cpp's own HTTP server, from the xllamacpp wheel, with or without drafting.

Prints one line with its address once the model is loaded. SIGTERM ends it at once: it has nothing to save.
"""

import argparse
import signal
from pathlib import Path

import xllamacpp

READY = "engine ready at "


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gateway.demo.engine", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--alias", required=True, help="the model's name in responses")
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument("--slots", type=int, default=16, help="requests served at once; more wait")
    parser.add_argument("--context", type=int, default=1024, help="tokens per slot")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--draft", type=int, default=0, help="tokens drafted per step from the context; 0: none")
    parser.add_argument("--match", type=int, default=3, help="tokens that must match before a draft is made")
    parser.add_argument(
        "--similarity", type=float, default=0.1, help="share of a prompt that a slot must know to be preferred for it"
    )
    parser.add_argument(
        "--unified", action="store_true", help="one memory for all slots: which are in use does not split a step"
    )
    return parser.parse_args()


def main() -> None:
    """Serves until it is killed."""
    args = _parse()
    params = xllamacpp.CommonParams()
    params.model.path = str(args.model)
    params.model_alias = {args.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = args.port
    params.n_parallel = args.slots
    params.n_ctx = args.context * args.slots
    params.kv_unified = args.unified
    params.cont_batching = True
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.slot_prompt_similarity = args.similarity
    params.endpoint_metrics = True
    params.use_jinja = True
    params.ui = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.verbosity = 2
    if args.draft:
        params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
        params.speculative.ngram_simple.size_n = args.match
        params.speculative.ngram_simple.size_m = args.draft
    server = xllamacpp.Server(params)
    print(f"{READY}{server.listening_address}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
