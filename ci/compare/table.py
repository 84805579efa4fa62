"""The dialects that are compared, their special tokens, and the names that each peer gives its parser of a dialect."""

# What the tokenizers of the models have as single tokens.
TOKENS = {
    "hermes": ["<tool_call>", "</tool_call>", "<|im_end|>"],
    "llama3-json": ["<|python_tag|>", "<|eom_id|>", "<|eot_id|>"],
    # Tokenizers before version 11, and later ones.
    "mistral-array": ["[TOOL_CALLS]", "</s>"],
    "mistral-args": ["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "</s>"],
    "deepseek-v3": ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
                    "<｜end▁of▁sentence｜>"],
    "kimi-k2": ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
                "<|tool_call_end|>", "<|im_end|>"],
    "qwen3-coder": ["<tool_call>", "</tool_call>", "<|im_end|>"],
    "glm45": ["<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|user|>", "<|observation|>"],
    "minimax-m2": ["<minimax:tool_call>", "</minimax:tool_call>", "[e~["],
    "pythonic": ["<|python_start|>", "<|python_end|>", "<|eot|>"],
    "morph-xml": [],
    "yaml-xml": [],
}
TOKENS["deepseek-v31"] = TOKENS["deepseek-v3"]
TOKENS["glm47"] = TOKENS["glm45"]

# Those that end a turn, and the others that the tokenizers mark as special, which a server leaves out of the text unless its parser asks
# for them.
ENDS = {"<|im_end|>", "<|eom_id|>", "<|eot_id|>", "</s>", "<｜end▁of▁sentence｜>", "<|user|>", "<|observation|>", "[e~[", "<|eot|>"}
SPECIAL = {"<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|python_start|>", "<|python_end|>"}

DIALECTS = ["hermes", "llama3-json", "mistral-array", "mistral-args", "deepseek-v3", "deepseek-v31", "kimi-k2", "qwen3-coder", "glm45", "glm47", "minimax-m2",
            "pythonic", "morph-xml", "yaml-xml"]

PARSERS = {
    "toolglot": {dialect: dialect for dialect in DIALECTS} | {"mistral-array": "mistral", "mistral-args": "mistral"},
    "vllm": {
        "hermes": "hermes", "llama3-json": "llama3_json", "mistral-array": "mistral", "mistral-args": "mistral", "deepseek-v3": "deepseek_v3", "deepseek-v31": "deepseek_v31",
        "kimi-k2": "kimi_k2", "qwen3-coder": "qwen3_coder", "glm45": "glm45", "glm47": "glm47", "minimax-m2": "minimax_m2",
        "pythonic": "pythonic",
    },
    "sglang": {
        "hermes": "hermes", "llama3-json": "llama3", "mistral-array": "mistral", "mistral-args": "mistral", "deepseek-v3": "deepseekv3", "deepseek-v31": "deepseekv31",
        "kimi-k2": "kimi_k2", "qwen3-coder": "qwen3_coder", "glm45": "glm45", "glm47": "glm47", "minimax-m2": "minimax-m2",
        "pythonic": "pythonic",
    },
    "tool-parser": {
        "hermes": "qwen", "llama3-json": "llama", "mistral-array": "mistral", "mistral-args": "mistral", "deepseek-v3": "deepseek", "deepseek-v31": "deepseek31",
        "kimi-k2": "kimik2", "qwen3-coder": "qwen_xml", "glm45": "glm45_moe", "glm47": "glm47_moe", "minimax-m2": "minimax_m2",
        "pythonic": "pythonic",
    },
    "dynamo-parsers": {
        "hermes": "hermes", "llama3-json": "llama3_json", "mistral-array": "mistral", "mistral-args": "mistral", "deepseek-v3": "deepseek_v3", "deepseek-v31": "deepseek_v3_1",
        "kimi-k2": "kimi_k2", "qwen3-coder": "qwen3_coder", "glm47": "glm47", "minimax-m2": "minimax_m2", "pythonic": "pythonic",
    },
    "dynamo-parsers-v2": {"kimi-k2": "kimi_k2", "qwen3-coder": "qwen3_coder", "glm47": "glm47", "minimax-m2": "minimax_m2"},
    # The chat templates from which it derives its parsers.
    "llama.cpp": {
        "hermes": "Qwen-Qwen2.5-7B-Instruct", "llama3-json": "meta-llama-Llama-3.1-8B-Instruct", "mistral-array": "mistralai-Mistral-Nemo-Instruct-2407",
        "mistral-args": "unsloth-mistral-Devstral-Small-2507", "deepseek-v3": "tool_chat_template_deepseekv3", "deepseek-v31": "deepseek-ai-DeepSeek-V3.1",
        "kimi-k2": "moonshotai-Kimi-K2", "qwen3-coder": "Qwen3-Coder", "glm45": "GLM-4.6", "glm47": "GLM-4.7-Flash", "minimax-m2": "MiniMax-M2",
    },
    "@ai-sdk-tool/parser": {"hermes": "hermes", "qwen3-coder": "qwen3coder", "morph-xml": "morph-xml", "yaml-xml": "yaml-xml"},
}
