use super::*;

#[test]
fn names_of_publishers_lead_to_dialects() {
    let cases = [
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
        ("Qwen/Qwen3-32B", "hermes"),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes"),
        ("Qwen/Qwen3.6-27B", "qwen3-coder"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("NousResearch/Hermes-2-Pro-Mistral-7B", "hermes"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v31"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v32"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("moonshotai/Kimi-K2-Instruct", "kimi-k2"),
        ("openai/gpt-oss-120b", "harmony"),
        ("zai-org/GLM-4.5-Air", "glm45"),
        ("zai-org/GLM-4.7", "glm47"),
        ("MiniMaxAI/MiniMax-M2", "minimax-m2"),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "mistral"),
        ("google/gemma-4-27b-it", "gemma4"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3-json"),
        ("ibm-granite/granite-3.2-8b-instruct", "granite3"),
        ("ibm-granite/granite-4.0-h-small", "granite4"),
        ("allenai/Olmo-3-7B-Instruct", "olmo3"),
        ("LiquidAI/LFM2-1.2B", "lfm2"),
        ("baidu/ERNIE-4.5-21B-A3B", "ernie45"),
        ("CohereLabs/c4ai-unknown", ""),
        ("mistral-small", ""),
        ("", ""),
    ];
    for (name, wanted) in cases {
        let found = dialects_of_model(name);
        assert_eq!(found.first().copied().unwrap_or_default(), wanted, "{name}");
    }
    assert_eq!(
        dialects_of_model("ibm-granite/granite-3.2-2b")[1],
        "reasoning-granite"
    );
}

/// Names as publishers, quantisers, servers and files spell them, and the dialect that their chat template writes.
#[test]
fn names_in_every_spelling_lead_to_the_dialect_of_the_template() {
    let cases = [
        (
            "nemotron-nano-v2",
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2 nvidia/NVIDIA-Nemotron-Nano-12B-v2 NVIDIA-Nemotron-Nano-12B-v2-VL-BF16 nvidia/Llama-3.1-Nemotron-Nano-8B-v1 nvidia/Llama-3_3-Nemotron-Super-49B-v1_5 nvidia/Llama-3_1-Nemotron-Ultra-253B-v1",
        ),
        (
            "qwen3-coder",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8 qwen3-coder:30b qwen3-coder:480b-cloud Qwen/Qwen3-Coder-Next Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf Qwen/Qwen3.5-397B-A17B qwen3.5:9b Qwen/Qwen3.6-35B-A3B-FP8 stepfun-ai/Step-3.5-Flash unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF",
        ),
        (
            "hermes",
            "qwen3:8b qwen2.5:7b-instruct-q4_K_M Qwen/Qwen3-235B-A22B-Thinking-2507 Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen2.5-72B-Instruct-AWQ Qwen/Qwen3-32B-FP8 Qwen3-8B-Q4_K_M.gguf C:\\models\\qwen2.5-coder-7b-instruct-q8_0.gguf Qwen/QwQ-32B qwq:32b hermes3:8b NousResearch/Hermes-4-70B NousResearch/Hermes-4.3-36B Nous-Hermes-2-Mixtral-8x7B-DPO HuggingFaceTB/SmolLM3-3B hf.co/unsloth/Qwen3-4B-GGUF:Q4_K_M models--Qwen--Qwen3-8B",
        ),
        (
            "command-r7b",
            "CohereLabs/c4ai-command-r7b-12-2024 command-r7b:7b CohereLabs/c4ai-command-a-03-2025 CohereLabs/command-a-reasoning-08-2025 command-a:111b c4ai-command-r7b-12-2024-Q4_K_M.gguf",
        ),
        (
            "command-r-plus",
            "CohereLabs/c4ai-command-r-plus-08-2024 CohereLabs/c4ai-command-r-08-2024 command-r:35b command-r-plus:104b",
        ),
        (
            "kimi-k2",
            "moonshotai/Kimi-K2.5 moonshotai/Kimi-K2-Thinking moonshotai/Kimi-K2-Instruct-0905 kimi-k2:1t-cloud kimi-k2.5:cloud unsloth/Kimi-K2.5-GGUF",
        ),
        (
            "mistral-args",
            "mistralai/Devstral-Small-2507 mistralai/Devstral-2-123B-Instruct-2512 devstral:24b mistralai/Mistral-Small-3.2-24B-Instruct-2506 mistral-small3.2:24b mistralai/Magistral-Small-2509 magistral:24b mistralai/Ministral-3-14B-Instruct-2512 ministral-3:8b mistralai/Mistral-Large-3-675B-Instruct-2512 unsloth/Devstral-Small-2507-GGUF",
        ),
        (
            "mistral",
            "mistralai/Ministral-8B-Instruct-2410 Ministral-8B-Instruct-2410-Q4_K_M.gguf mistralai/Mistral-Nemo-Instruct-2407 mistral-nemo:12b mistralai/Mistral-7B-Instruct-v0.3 mistralai/Mistral-Large-Instruct-2411 mistralai/Mistral-Small-24B-Instruct-2501 mistralai/Mistral-Small-3.1-24B-Instruct-2503 mistralai/Mistral-Small-Instruct-2409 mistral-large:123b mixtral:8x22b mistralai/Pixtral-12B-2409",
        ),
        (
            "hy-v3",
            "tencent/Hy3 Hy-V3 tencent/Hy3-preview tencent/Hunyuan-V3 hy3:latest Hy3-FP8",
        ),
        (
            "hunyuan-a13b",
            "tencent/Hunyuan-A13B-Instruct tencent/Hunyuan-A13B-Instruct-GPTQ-Int4",
        ),
        (
            "llama3-json",
            "meta-llama/Llama-4-Scout-17B-16E-Instruct llama4:scout meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 meta-llama/Meta-Llama-3.1-8B-Instruct Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf llama3.1:70b-instruct-q4_K_M llama3.2:3b llama3.3:70b meta-llama/Llama-3.2-1B-Instruct nvidia/Llama-3.1-Nemotron-70B-Instruct-HF",
        ),
        (
            "deepseek-v3",
            "deepseek-ai/DeepSeek-R1-0528 deepseek-r1:8b deepseek-ai/DeepSeek-R1-Distill-Llama-8B deepseek-v3:671b",
        ),
        (
            "deepseek-v31",
            "deepseek-ai/DeepSeek-V3.1-Terminus deepseek-v3.1:671b-cloud",
        ),
        (
            "glm47",
            "zai-org/GLM-4.7-Flash zai-org/GLM-5-FP8 zai-org/GLM-5.1 glm-4.7:cloud",
        ),
        (
            "glm45",
            "zai-org/GLM-4.5-Air-FP8 zai-org/GLM-4.6V glm-4.6:cloud glm-4.5-air-q4_k_m.gguf cpatonn/GLM-4.5-Air-AWQ-4bit",
        ),
        (
            "minimax-m2",
            "MiniMaxAI/MiniMax-M2.1 minimax-m2:cloud MiniMaxAI/MiniMax-M2.5 MiniMaxAI/MiniMax-M2.7-FP8",
        ),
        (
            "granite3",
            "ibm-granite/granite-3.3-8b-instruct granite3.3:8b granite3.1-moe:3b",
        ),
        (
            "granite4",
            "ibm-granite/granite-4.0-h-tiny granite4:micro ibm-granite/granite-4.1-8b",
        ),
        ("granite-20b-fc", "ibm-granite/granite-20b-functioncalling"),
        (
            "phi4-functools",
            "microsoft/Phi-4-mini-instruct phi4-mini:3.8b",
        ),
        (
            "harmony",
            "openai/gpt-oss-120b gpt-oss:20b openai/gpt-oss-safeguard-20b gpt-oss-20b-mxfp4.gguf",
        ),
        (
            "gemma4",
            "google/gemma-4-E4B-it gemma4:e4b unsloth/gemma-4-31B-it-GGUF",
        ),
        (
            "functiongemma",
            "google/functiongemma-270m-it functiongemma:270m",
        ),
        (
            "functionary-v32",
            "meetkai/functionary-small-v3.2 meetkai/functionary-medium-v3.2-GGUF",
        ),
        (
            "jamba",
            "ai21labs/AI21-Jamba-Large-1.5 ai21labs/AI21-Jamba-Mini-1.7 AI21-Jamba-Reasoning-3B",
        ),
        ("internlm2", "internlm/internlm2_5-7b-chat internlm2:7b"),
        ("poolside", "poolside/Laguna-XS.2 poolside/Laguna-S-2.1"),
        (
            "xlam",
            "Salesforce/xLAM-2-8b-fc-r Salesforce/Llama-xLAM-2-70b-fc-r",
        ),
        ("pythonic", "Team-ACE/ToolACE-2-Llama-3.1-8B"),
        (
            "",
            "granite-3b-code-instruct magnetic-north-7b gpt-2 CohereLabs/c4ai-unknown OpenHermes-2.5-Mistral-7B Mistral-7B-Instruct-v0.1 qwen:7b v3 8b llama2:7b",
        ),
    ];
    let mut wrong = vec![];
    for (wanted, names) in cases {
        for name in names.split(' ') {
            let found = dialects_of_model(name);
            if found.first().copied().unwrap_or_default() != wanted {
                wrong.push(format!("{name}: {found:?}, not {wanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The templates of the proof are named after models, and each has the dialect that reads it.
#[test]
fn templates_are_read_by_the_dialects_of_their_models() {
    let text = include_str!("../../../tests/templates/templates.toml");
    let table: toml::Table = toml::from_str(text).expect("a table");
    let (mut wrong, mut tried) = (vec![], 0);
    for (name, ids) in table["dialects"].as_table().expect("a table") {
        // Others are named after dialects, or after a publisher and one word.
        if name.contains("template_") || ["Qwen-QwQ-32B", "qwen35"].contains(&name.as_str()) {
            continue;
        }
        let found = dialects_of_model(name);
        let ids = ids.as_array().expect("a list");
        tried += 1;
        if found.first().copied() != ids[0].as_str() {
            wrong.push(format!("{name}: {found:?}, not {ids:?}"));
        }
        let thought = ids.get(1).and_then(toml::Value::as_str);
        if thought.is_some() && !found.iter().any(|id| id.starts_with("reasoning-")) {
            wrong.push(format!("{name}: {found:?} has no thoughts as {ids:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 50, "{tried}");
}

/// What is found for one model can stand in one set.
#[test]
fn the_dialects_of_a_model_fit_together() {
    for name in [
        "Llama-4-Scout",
        "Llama-3.1-8B",
        "Llama-3.2-3B",
        "Qwen3-8B",
        "Kimi-K2.5",
    ] {
        let found = dialects_of_model(name);
        assert!(found.len() > 1, "{name}: {found:?}");
        let builder = found
            .iter()
            .fold(DialectSet::builder(), |set, id| set.builtin(id));
        assert_eq!(builder.build().expect(name).dialects().len(), found.len());
    }
    assert_eq!(
        dialects_of_model("Llama-4-Scout-17B-16E"),
        ["llama3-json", "llama4-pythonic"]
    );
}

/// Every entry that is a name is found by that name, in its own dialect or one that shares it.
#[test]
fn every_entry_finds_a_dialect() {
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect(id);
        let dialect = set.dialects().next().expect(id);
        for entry in dialect.models() {
            for name in [entry.clone(), entry.to_uppercase(), entry.replace(' ', "-")] {
                let first = name.split([',']).next().unwrap_or_default();
                let first = first.split(" and ").next().unwrap_or_default();
                let first = first.split(" to ").next().unwrap_or_default();
                let first = first
                    .split("-to-")
                    .next()
                    .unwrap_or_default()
                    .split("-and-")
                    .next()
                    .unwrap_or_default();
                let first = first
                    .split(" TO ")
                    .next()
                    .unwrap_or_default()
                    .split(" AND ")
                    .next()
                    .unwrap_or_default();
                assert!(!dialects_of_model(first).is_empty(), "{id}: {first}");
            }
        }
    }
}
