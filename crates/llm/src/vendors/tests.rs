//! What vendors want, a row for each case.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// What is wanted of `vendor` for `model`, a line for each thing that is wanted otherwise.
#[track_caller]
fn check(vendor: &str, driver: Option<&str>, model: &str, options: Value, env: &[(&str, &str)], want: Expect) {
    check_stored(vendor, driver, model, options, json!({}), env, want);
}

#[track_caller]
fn check_stored(
    vendor: &str,
    driver: Option<&str>,
    model: &str,
    options: Value,
    stored: Value,
    env: &[(&str, &str)],
    want: Expect,
) {
    let get = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let wanted = Wanted {
        vendor,
        model,
        driver,
        options: options.as_object().unwrap(),
        stored: stored.as_object().unwrap(),
        env: &get,
    };
    let lines =
        match wants(&wanted) {
            Err(error) => format!("error: {error}\n"),
            Ok(Wants { dialect, base_url, model, key, key_in, free, headers, extra, manners, variables, .. }) => {
                assert!(!free);
                let mut lines = String::new();
                lines.extend(model.map(|model| format!("asks {model}\n")));
                lines.extend(dialect.map(|dialect| format!("speaks {dialect:?}\n")));
                lines.extend(base_url.map(|url| format!("at {url}\n")));
                lines.extend(key.map(|key| {
                    format!("key {}\n", if matches!(key, Key::Signed(_)) { "made anew" } else { "as it is" })
                }));
                lines.extend(key_in.map(|KeyIn { header, before }| format!("key in {header}: {before}…\n")));
                lines.extend(headers.iter().map(|(name, value)| format!("header {name}: {value}\n")));
                lines.extend(extra.iter().map(|(name, value)| format!("field {name}: {value}\n")));
                lines.extend((manners != Manners::Plain).then(|| format!("manners {manners:?}\n")));
                lines.extend(variables.iter().map(|(name, value)| format!("{name} is {value}\n")));
                lines
            }
        };
    want.assert_eq(&lines);
}

#[test]
fn most_vendors_want_nothing() {
    check("deepseek", None, "deepseek-chat", json!({}), &[], expect![[""]]);
    check("mine", Some("@ai-sdk/openai-compatible"), "gpt-5", json!({"baseURL": "http://a"}), &[], expect![[""]]);
    // Somebody's own idea of OpenAI.
    check("openai", Some("@ai-sdk/openai-compatible"), "gpt-5", json!({}), &[], expect![[""]]);
}

#[test]
fn openai_is_asked_by_its_models() {
    let row = |model: &str, want: Expect| check("openai", Some("@ai-sdk/openai"), model, json!({}), &[], want);
    row(
        "gpt-5",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        "gpt-5.2",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
        field textVerbosity: "low"
    "#]],
    );
    row(
        "gpt-5.2-codex",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        "gpt-5.2-chat-latest",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        "gpt-5-pro",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
    "#]],
    );
    row(
        "gpt-5-chat-latest",
        expect![[r#"
        speaks Responses
    "#]],
    );
    row(
        "gpt-6-sol",
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
    "#]],
    );
    row(
        "gpt-4.1",
        expect![[r#"
        speaks Responses
    "#]],
    );
    row(
        "o3",
        expect![[r#"
        speaks Responses
    "#]],
    );
    check(
        "openai",
        None,
        "gpt-4.1",
        json!({"setCacheKey": false}),
        &[],
        expect![[r#"
        speaks Responses
        field prompt_cache_key: null
    "#]],
    );
    // A gateway's, with its own name in front.
    check(
        "zenmux",
        Some("@ai-sdk/openai"),
        "openai/gpt-5",
        json!({}),
        &[],
        expect![[r#"
        speaks Responses
        header x-title: haft
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
}

#[test]
fn a_subscription_has_an_address_of_its_own() {
    let row = |stored: Value, want: Expect| check_stored("openai", None, "gpt-5.2-codex", json!({}), stored, &[], want);
    row(
        json!({"type": "oauth", "accountId": "acc_1"}),
        expect![[r#"
            speaks Responses
            at https://chatgpt.com/backend-api/codex
            header originator: haft
            field reasoningSummary: "auto"
            field reasoningEffort: "medium"
            field store: false
            field max_output_tokens: null
            manners ChatGpt
        "#]],
    );
    row(
        json!({"type": "oauth"}),
        expect![[r#"
        speaks Responses
        at https://chatgpt.com/backend-api/codex
        header originator: haft
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
        field store: false
        field max_output_tokens: null
        manners ChatGpt
    "#]],
    );
    row(
        json!({"type": "api"}),
        expect![[r#"
        speaks Responses
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
}

#[test]
fn azure_is_found_by_the_name_of_a_resource() {
    let env = &[("AZURE_RESOURCE_NAME", "mine")];
    let row = |options: Value, env: &[(&str, &str)], want: Expect| {
        check("azure", Some("@ai-sdk/azure"), "gpt-5.2", options, env, want);
    };
    row(
        json!({}),
        env,
        expect![[r#"
        speaks Responses
        at https://mine.openai.azure.com/openai/v1?api-version=v1
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
        AZURE_RESOURCE_NAME is mine
    "#]],
    );
    row(
        json!({"resourceName": "other"}),
        env,
        expect![[r#"
        speaks Responses
        at https://other.openai.azure.com/openai/v1?api-version=v1
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
        AZURE_RESOURCE_NAME is other
    "#]],
    );
    row(
        json!({"useCompletionUrls": true}),
        env,
        expect![[r#"
        speaks Chat
        at https://mine.openai.azure.com/openai/v1?api-version=v1
        key in api-key: …
        AZURE_RESOURCE_NAME is mine
    "#]],
    );
    row(
        json!({"useDeploymentBasedUrls": true, "apiVersion": "2025-04-01-preview"}),
        env,
        expect![[r#"
        speaks Chat
        at https://mine.openai.azure.com/openai/deployments/gpt-5.2?api-version=2025-04-01-preview
        key in api-key: …
        AZURE_RESOURCE_NAME is mine
    "#]],
    );
    row(
        json!({"baseURL": "https://x.openai.azure.com/openai"}),
        &[],
        expect![[r#"
        speaks Responses
        at https://x.openai.azure.com/openai/v1?api-version=v1
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        json!({"baseURL": "https://x.openai.azure.com/openai/v1/"}),
        &[],
        expect![[r#"
        speaks Responses
        at https://x.openai.azure.com/openai/v1
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        json!({"baseURL": "https://x.services.ai.azure.com/api/projects/p/openai"}),
        &[],
        expect![[r#"
        speaks Responses
        at https://x.services.ai.azure.com/api/projects/p/openai/v1
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        json!({"baseURL": "https://gateway.example/azure"}),
        &[],
        expect![[r#"
        speaks Responses
        at https://gateway.example/azure
        key in api-key: …
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        json!({}),
        &[],
        expect![[r#"
        error: azure needs the name of your Azure resource; set AZURE_RESOURCE_NAME, or write it to provider.azure.options.resourceName in haft.json
    "#]],
    );
    row(
        json!({"resourceName": "evil.example/"}),
        &[],
        expect![[r#"
        error: "evil.example/" cannot be the name of an Azure resource: it may have letters, digits, -, _ and . only
    "#]],
    );
    row(
        json!({"baseURL": "no address"}),
        &[],
        expect![[r#"
        error: baseURL "no address" is no address: relative URL without a base
    "#]],
    );
    let other = &[("AZURE_COGNITIVE_SERVICES_RESOURCE_NAME", "mine")];
    check(
        "azure-cognitive-services",
        Some("@ai-sdk/azure"),
        "gpt-4.1",
        json!({}),
        other,
        expect![[r#"
        speaks Responses
        at https://mine.cognitiveservices.azure.com/openai/v1?api-version=v1
        key in api-key: …
        AZURE_COGNITIVE_SERVICES_RESOURCE_NAME is mine
    "#]],
    );
    check(
        "azure",
        Some("@ai-sdk/anthropic"),
        "claude-sonnet-4-5",
        json!({}),
        env,
        expect![[r#"
        AZURE_RESOURCE_NAME is mine
    "#]],
    );
    check(
        "azure",
        Some("@ai-sdk/openai-compatible"),
        "kimi-k2",
        json!({"resourceName": "r"}),
        &[],
        expect![[r#"
        key in api-key: …
        AZURE_RESOURCE_NAME is r
    "#]],
    );
    // Under a name of the user's own.
    check(
        "work",
        Some("@ai-sdk/azure"),
        "gpt-4.1",
        json!({"resourceName": "r"}),
        &[],
        expect![[r#"
        speaks Responses
        at https://r.openai.azure.com/openai/v1?api-version=v1
        key in api-key: …
        AZURE_RESOURCE_NAME is r
    "#]],
    );
}

#[test]
fn copilot_answers_newer_models_otherwise() {
    let row = |model: &str, want: Expect| {
        check("github-copilot", Some("@ai-sdk/openai-compatible"), model, json!({}), &[], want)
    };
    row(
        "gpt-5.2",
        expect![[r#"
        speaks Responses
        at https://api.githubcopilot.com
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
        field textVerbosity: "low"
        manners Copilot
    "#]],
    );
    row(
        "gpt-5-mini",
        expect![[r#"
        speaks Chat
        at https://api.githubcopilot.com
        manners Copilot
    "#]],
    );
    row(
        "gpt-4.1",
        expect![[r#"
        speaks Chat
        at https://api.githubcopilot.com
        manners Copilot
    "#]],
    );
    row(
        "claude-sonnet-4.5",
        expect![[r#"
        speaks Chat
        at https://api.githubcopilot.com
        manners Copilot
    "#]],
    );
    let stored = json!({"type": "oauth", "enterpriseUrl": "https://company.ghe.com/"});
    check_stored(
        "github-copilot",
        None,
        "gpt-4.1",
        json!({}),
        stored,
        &[],
        expect![[r#"
        speaks Chat
        at https://copilot-api.company.ghe.com
        manners Copilot
    "#]],
    );
    let evil = json!({"enterpriseUrl": "company.ghe.com@evil.example"});
    check_stored(
        "github-copilot",
        None,
        "gpt-4.1",
        json!({}),
        evil,
        &[],
        expect![[r#"
            error: "company.ghe.com@evil.example" is no server of GitHub; type its name, such as company.ghe.com
        "#]],
    );
}

#[test]
fn others_have_addresses_made_of_settings() {
    check(
        "xai",
        Some("@ai-sdk/xai"),
        "grok-4",
        json!({"setCacheKey": false}),
        &[],
        expect![[r#"
        speaks Responses
        at https://api.x.ai/v1
        field prompt_cache_key: null
    "#]],
    );
    let cloudflare = &[("CLOUDFLARE_ACCOUNT_ID", "acc"), ("CLOUDFLARE_GATEWAY_ID", "gate")];
    check(
        "cloudflare-workers-ai",
        None,
        "@cf/meta/llama",
        json!({}),
        cloudflare,
        expect![[r#"
        speaks Chat
        at https://api.cloudflare.com/client/v4/accounts/acc/ai/v1
        CLOUDFLARE_ACCOUNT_ID is acc
    "#]],
    );
    check(
        "cloudflare-workers-ai",
        None,
        "m",
        json!({"accountId": "mine"}),
        cloudflare,
        expect![[r#"
        speaks Chat
        at https://api.cloudflare.com/client/v4/accounts/mine/ai/v1
        CLOUDFLARE_ACCOUNT_ID is mine
    "#]],
    );
    check(
        "cloudflare-workers-ai",
        None,
        "m",
        json!({}),
        &[],
        expect![[r#"
        error: cloudflare-workers-ai needs the id of your account; set CLOUDFLARE_ACCOUNT_ID, or write it to provider.cloudflare-workers-ai.options.accountId in haft.json
    "#]],
    );
    check(
        "cloudflare-ai-gateway",
        Some("ai-gateway-provider"),
        "openai/gpt-5",
        json!({}),
        cloudflare,
        expect![[r#"
        speaks Chat
        at https://gateway.ai.cloudflare.com/v1/acc/gate/compat
        key in cf-aig-authorization: Bearer …
        CLOUDFLARE_ACCOUNT_ID is acc
        CLOUDFLARE_GATEWAY_ID is gate
    "#]],
    );
    check_stored(
        "cloudflare-ai-gateway",
        None,
        "m",
        json!({}),
        json!({"accountId": "a", "gatewayId": "../g"}),
        &[],
        expect![[r#"
            error: "../g" cannot be the name of a gateway: it may have letters, digits, -, _ and . only
        "#]],
    );
    check(
        "snowflake-cortex",
        None,
        "m",
        json!({}),
        &[("SNOWFLAKE_ACCOUNT", "org-name")],
        expect![[r#"
        speaks Chat
        at https://org-name.snowflakecomputing.com/api/v2/cortex/v1
        SNOWFLAKE_ACCOUNT is org-name
    "#]],
    );
    check(
        "snowflake-cortex",
        None,
        "m",
        json!({}),
        &[("SNOWFLAKE_ACCOUNT", "evil.example/x?")],
        expect![[r#"
        error: "evil.example/x?" cannot be the name of an account: it may have letters, digits, -, _ and . only
    "#]],
    );
    let key = r#"{"clientid":"i","clientsecret":"very-secret","url":"https://auth.example","serviceurls":{"AI_API_URL":"https://api.ai.example"}}"#;
    // A key that was stored gets its tokens where it was made out.
    check_stored(
        "sap-ai-core",
        None,
        "gpt-4o",
        json!({"deploymentId": "d3"}),
        json!({"type": "api", "baseURL": "https://api.stored.example"}),
        &[],
        expect![[r#"
            speaks Chat
            at https://api.stored.example/v2/inference/deployments/d3?api-version=2024-10-21
            header ai-resource-group: default
        "#]],
    );
    let sap = &[("AICORE_SERVICE_KEY", key), ("AICORE_DEPLOYMENT_ID", "d1"), ("AICORE_RESOURCE_GROUP", "team")];
    check(
        "sap-ai-core",
        None,
        "gpt-4o",
        json!({}),
        sap,
        expect![[r#"
            speaks Chat
            at https://api.ai.example/v2/inference/deployments/d1?api-version=2024-10-21
            key made anew
            header ai-resource-group: team
        "#]],
    );
    check(
        "sap-ai-core",
        None,
        "gpt-4o",
        json!({"deploymentId": "d2"}),
        &sap[..1],
        expect![[r#"
            speaks Chat
            at https://api.ai.example/v2/inference/deployments/d2?api-version=2024-10-21
            key made anew
            header ai-resource-group: default
        "#]],
    );
    check(
        "sap-ai-core",
        None,
        "gpt-4o",
        json!({}),
        &sap[..1],
        expect![[r#"
        error: sap-ai-core needs the id of a deployment; set AICORE_DEPLOYMENT_ID, or write it to provider.sap-ai-core.options.deploymentId in haft.json
    "#]],
    );
    check(
        "sap-ai-core",
        None,
        "gpt-4o",
        json!({"deploymentId": "d"}),
        &[("AICORE_SERVICE_KEY", "very-secret")],
        expect![[r#"
            error: the service key of SAP AI Core (variable AICORE_SERVICE_KEY) is no JSON; copy it whole from the cockpit
        "#]],
    );
}

#[test]
fn some_like_to_know_who_asks() {
    check(
        "openrouter",
        Some("@openrouter/ai-sdk-provider"),
        "m",
        json!({}),
        &[],
        expect![[r#"
        header x-title: haft
    "#]],
    );
    check(
        "llmgateway",
        None,
        "m",
        json!({}),
        &[],
        expect![[r#"
        header x-title: haft
        header x-source: haft
    "#]],
    );
    check(
        "cerebras",
        None,
        "m",
        json!({}),
        &[],
        expect![[r#"
        header x-cerebras-3rd-party-integration: haft
    "#]],
    );
}

#[test]
fn a_key_goes_where_it_is_wanted() {
    let place = KeyIn { header: HeaderName::from_static("cf-aig-authorization"), before: "Bearer " };
    let Key::Header(header, secret) = place.key(&Secret::new("sk-1")) else { panic!("another key") };
    assert_eq!((header.as_str(), secret.expose()), ("cf-aig-authorization", "Bearer sk-1"));
}

#[test]
fn a_part_of_an_address_cannot_lead_elsewhere() {
    for text in ["", ".", "..", "a..b", "a/b", "a@b", "a:1", "a b", "a?b", "a#b", "a%2fb", "é", ".a", "a."] {
        assert!(part("x", text.to_owned()).is_err(), "{text}");
    }
    for text in ["a", "a-b_c.d1"] {
        assert_eq!(part("x", text.to_owned()), Ok(text.to_owned()));
    }
}

#[test]
fn gitlab_hands_on_to_who_made_the_model() {
    let row = |model: &str, env: &[(&str, &str)], want: Expect| {
        check("gitlab", Some("gitlab-ai-provider"), model, json!({}), env, want)
    };
    let token = ("GITLAB_TOKEN", "glpat-x");
    row(
        "duo-chat-sonnet-4-5",
        &[token],
        expect![[r#"
        asks claude-sonnet-4-5-20250929
        speaks Messages
        at https://cloud.gitlab.com/ai/v1/proxy/anthropic/v1
        key made anew
    "#]],
    );
    row(
        "duo-chat-gpt-5-1",
        &[],
        expect![[r#"
        asks gpt-5.1-2025-11-13
        speaks Chat
        at https://cloud.gitlab.com/ai/v1/proxy/openai/v1
    "#]],
    );
    row(
        "duo-chat-gpt-5-2-codex",
        &[token, ("GITLAB_AI_GATEWAY_URL", "https://gateway.example/")],
        expect![[r#"
        asks gpt-5.2-codex
        speaks Responses
        at https://gateway.example/ai/v1/proxy/openai/v1
        key made anew
        field reasoningSummary: "auto"
        field reasoningEffort: "medium"
    "#]],
    );
    row(
        "duo-chat-sonnet-4-5",
        &[token, ("GITLAB_INSTANCE_URL", "http://gitlab.example")],
        expect![[r#"
        error: "http://gitlab.example" is no address of a GitLab; write it as https://gitlab.example.com
    "#]],
    );
    row(
        "duo-workflow",
        &[token],
        expect![[r#"
        error: it is not known which model gitlab/duo-workflow stands for; haft models gitlab lists those that are
    "#]],
    );
}
