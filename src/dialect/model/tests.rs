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
