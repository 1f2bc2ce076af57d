"""Stands for vLLM's compiled operators, of which SGLang takes one on a CPU without extensions: rotary embedding."""

import torch


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, neox: bool) -> torch.Tensor:
    first, second = x.chunk(2, -1) if neox else (x[..., ::2], x[..., 1::2])
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    turned = first * cos - second * sin, second * cos + first * sin
    return torch.cat(turned, -1) if neox else torch.stack(turned, -1).flatten(-2)


def rotary_embedding(
    positions: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor | None,
    head_size: int,
    cos_sin_cache: torch.Tensor,
    is_neox: bool,
) -> None:
    """Turns query and key in place, as the operator of the same name does."""
    cos, sin = cos_sin_cache.index_select(0, positions.flatten()).chunk(2, -1)
    width = 2 * cos.shape[-1]
    for tensor in (query, key):
        if tensor is not None:
            heads = tensor.view(positions.numel(), -1, head_size)
            heads[..., :width] = _rotate(heads[..., :width].to(cos.dtype), cos, sin, is_neox).to(tensor.dtype)
