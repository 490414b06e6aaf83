"""Writes a small Qwen2 of random weights, with a tokenizer learned from Python's own library."""

import pathlib
import sys

import tokenizers
import torch
import transformers

folder = sys.argv[1]
sources = sorted(pathlib.Path(pathlib.__file__).parent.glob("*.py"))
end = "<|endoftext|>"

bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
bpe.decoder = tokenizers.decoders.ByteLevel()
bpe.train(
    [str(path) for path in sources],
    tokenizers.trainers.BpeTrainer(
        vocab_size=4096,
        special_tokens=[end],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    ),
)
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=end, pad_token=end)
tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
tokenizer.save_pretrained(folder)

torch.manual_seed(0)
config = transformers.Qwen2Config(
    vocab_size=len(tokenizer),
    hidden_size=256,
    intermediate_size=1024,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=2048,
    eos_token_id=tokenizer.eos_token_id,
    bos_token_id=None,
)
transformers.Qwen2ForCausalLM(config).save_pretrained(folder)
