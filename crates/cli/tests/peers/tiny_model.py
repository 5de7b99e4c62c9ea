"""Writes a language model of random weights, half a megabyte: `tiny_model.py FILE`.

What it says is noise, but a server serves it like any other, and a grammar holds it to a form all the same. Three tokens
are likelier than the rest: it begins with a call where it may, and its texts have an end.
"""

import sys

import gguf
import numpy

WIDTH, HEADS, LAYERS, FEED, CONTEXT = 64, 4, 1, 128, 65536
# JSON between <tool_call> and </tool_call> is the usual form of a call.
CHAT = """{%- if tools %}<|im_start|>system
Tools:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
Call one with <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call><|im_end|>
{% endif -%}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}"""

tokens = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
END = 4
kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 4
for byte in range(256):
    tokens.append(f"<0x{byte:02X}>")
    kinds.append(gguf.TokenType.BYTE)
for letter in range(32, 127):
    tokens.append(chr(letter) if letter != 32 else "\u2581")
    kinds.append(gguf.TokenType.NORMAL)

CALL = len(tokens)
tokens.append("<tool_call>")
kinds.append(gguf.TokenType.USER_DEFINED)

random = numpy.random.default_rng(7)


def weights(*shape):
    return (random.standard_normal(shape) * 0.05).astype(numpy.float32)


out = gguf.GGUFWriter(sys.argv[1], "llama")
out.add_name("tiny")
out.add_context_length(CONTEXT)
out.add_embedding_length(WIDTH)
out.add_block_count(LAYERS)
out.add_feed_forward_length(FEED)
out.add_head_count(HEADS)
out.add_head_count_kv(HEADS)
out.add_layer_norm_rms_eps(1e-5)
out.add_rope_dimension_count(WIDTH // HEADS)
out.add_vocab_size(len(tokens))
out.add_tokenizer_model("llama")
out.add_token_list(tokens)
out.add_token_scores([0.0] * len(tokens))
out.add_token_types(kinds)
out.add_bos_token_id(1)
out.add_eos_token_id(END)
out.add_unk_token_id(0)
out.add_add_space_prefix(False)
out.add_chat_template(CHAT)
# The first number of every state is large, so what a token has there is how likely it is whatever came before; the
# second is large behind a line's end alone, which is where an answer begins.
embedded, said = weights(len(tokens), WIDTH), weights(len(tokens), WIDTH)
embedded[:, 0], embedded[tokens.index("<0x0A>"), 1] = 1.0, 1.0
said[:, :2] = 0.0
said[CALL, 1], said[tokens.index('"'), 0], said[END, 0] = 3.0, 0.4, 0.4
out.add_tensor("token_embd.weight", embedded)
out.add_tensor("output_norm.weight", numpy.ones(WIDTH, dtype=numpy.float32))
out.add_tensor("output.weight", said)
for layer in range(LAYERS):
    block = f"blk.{layer}."
    for norm in ("attn_norm", "ffn_norm"):
        out.add_tensor(block + norm + ".weight", numpy.ones(WIDTH, dtype=numpy.float32))
    for square in ("attn_q", "attn_k", "attn_v", "attn_output"):
        out.add_tensor(block + square + ".weight", weights(WIDTH, WIDTH))
    out.add_tensor(block + "ffn_gate.weight", weights(FEED, WIDTH))
    out.add_tensor(block + "ffn_up.weight", weights(FEED, WIDTH))
    out.add_tensor(block + "ffn_down.weight", weights(WIDTH, FEED))
out.write_header_to_file()
out.write_kv_data_to_file()
out.write_tensors_to_file()
out.close()
