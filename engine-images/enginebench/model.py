"""The models of the measurement: a shape, random weights made by the engine, and a tokenizer of their own."""

import json
import shutil
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from loadtest.prompts import KINDS, library

VOCABULARY = 128256
_SHAPES = Path(__file__).parents[2] / "tests" / "sglang" / "models"
_CHAT = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def make(folder: Path) -> None:
    """Write model and drafter of Llama 3.1 8B's shape into a folder."""
    for name in ("llama-3.1-8b-instruct", "llama-3.1-8b-eagle3"):
        target = folder / name
        if not target.exists():
            shutil.copytree(_SHAPES / name, target)
            _tokenizer(target)


def _tokenizer(folder: Path) -> None:
    """Learned from the load test's prompts, and filled up so that every token that the model can draw is some text."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=8000,
        special_tokens=["<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((prompt.text for kind in KINDS for prompt in library(kind)), trainer)
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    for number in range(len(vocabulary), VOCABULARY):
        vocabulary[f"\u0120w{number}"] = number
    (folder / "tokenizer.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "unk_token": "<unk>",
                "model_max_length": 32768,
                "chat_template": _CHAT,
            }
        )
    )
