"""llama_model.py FILE.gguf {f32,f16,q8_0,q4_0}: a tiny model of llama's architecture with random weights."""

import sys

import gguf
import numpy as np

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, LAYERS, VOCABULARY = 256, 512, 4, 2, 3, 512
HEAD = HIDDEN // HEADS
KINDS = gguf.GGMLQuantizationType
FORMATS = {"f32": (KINDS.F32, 0), "f16": (KINDS.F16, 1), "q8_0": (KINDS.Q8_0, 7), "q4_0": (KINDS.Q4_0, 2)}

target, (kind, file_type) = sys.argv[1], FORMATS[sys.argv[2]]
random = np.random.default_rng(1)
writer = gguf.GGUFWriter(target, "llama")


def vocabulary():
    """Byte tokens, letters and pairs of letters, filled up to a round number."""
    tokens = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    tokens += [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    pairs = [a + b for a in "etaoinshrdlu" for b in "etaoinshrdlucmfwypv"]
    pieces = dict.fromkeys(["\u2581", *"etaoinshrdlucmfwypvbgkjqxz", *pairs])
    tokens += [(piece, -float(rank), 1) for rank, piece in enumerate(pieces)]
    tokens = tokens[:VOCABULARY]
    return tokens + [(f"[pad{i}]", -1000.0, 5) for i in range(len(tokens), VOCABULARY)]


def tensor(name, *shape, scale=None):
    """A random tensor. Vectors stay f32, and those of norms are near 1."""
    values = (random.standard_normal(shape) * (scale or 1 / np.sqrt(shape[-1]))).astype(np.float32)
    if len(shape) == 1:
        writer.add_tensor(name, values + (1.0 if "norm" in name else 0.0))
    elif kind == KINDS.F32:
        writer.add_tensor(name, values)
    elif kind == KINDS.F16:
        writer.add_tensor(name, values.astype(np.float16))
    else:
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)


writer.add_context_length(512)
writer.add_embedding_length(HIDDEN)
writer.add_block_count(LAYERS)
writer.add_feed_forward_length(FEED_FORWARD)
writer.add_head_count(HEADS)
writer.add_head_count_kv(KV_HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_dimension_count(HEAD)
writer.add_vocab_size(VOCABULARY)
writer.add_file_type(file_type)
texts, scores, types = map(list, zip(*vocabulary()))
writer.add_tokenizer_model("llama")
writer.add_token_list(texts)
writer.add_token_scores(scores)
writer.add_token_types(types)
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_unk_token_id(0)
tensor("token_embd.weight", VOCABULARY, HIDDEN, scale=1.0)
tensor("output_norm.weight", HIDDEN, scale=0.1)
tensor("output.weight", VOCABULARY, HIDDEN)
for layer in range(LAYERS):
    block = f"blk.{layer}."
    tensor(block + "attn_norm.weight", HIDDEN, scale=0.1)
    tensor(block + "ffn_norm.weight", HIDDEN, scale=0.1)
    tensor(block + "attn_q.weight", HEADS * HEAD, HIDDEN)
    tensor(block + "attn_k.weight", KV_HEADS * HEAD, HIDDEN)
    tensor(block + "attn_v.weight", KV_HEADS * HEAD, HIDDEN)
    tensor(block + "attn_output.weight", HIDDEN, HEADS * HEAD)
    tensor(block + "ffn_gate.weight", FEED_FORWARD, HIDDEN)
    tensor(block + "ffn_up.weight", FEED_FORWARD, HIDDEN)
    tensor(block + "ffn_down.weight", HIDDEN, FEED_FORWARD)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
