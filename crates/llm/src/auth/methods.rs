//! Which ways to sign in a vendor has, and what has to be asked for each. Data.

/// A way to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A key that the person has.
    Key,
    /// A code that is typed at GitHub.
    CopilotDevice,
    /// ChatGPT's page, which comes back to this machine.
    ChatGptBrowser,
    /// A code that is typed at ChatGPT.
    ChatGptDevice,
    /// The page of a Snowflake account, which comes back to this machine.
    SnowflakeBrowser,
}

/// A way to sign in, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// What it is called on the command line.
    pub id: &'static str,
    /// What it is, for people.
    pub label: &'static str,
    /// What is done.
    pub way: Way,
    /// What has to be asked first.
    pub prompts: &'static [Prompt],
}

/// Something to ask before signing in. Answers to it are no secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// The name of the answer.
    pub key: &'static str,
    /// The question.
    pub message: &'static str,
    /// What can be answered.
    pub kind: PromptKind,
    /// Whether there need be no answer.
    pub optional: bool,
    /// Asked only where an earlier answer was so.
    pub when: Option<When>,
}

/// What can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// A text, such as this one.
    Text(&'static str),
    /// One of these.
    Select(&'static [Choice]),
}

/// One of several answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What is kept.
    pub value: &'static str,
    /// What a person reads.
    pub label: &'static str,
}

/// A condition on an earlier answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// The name of that answer.
    pub key: &'static str,
    /// What it must be.
    pub is: &'static str,
}

const KEY: Method = key("API key", &[]);

const fn key(label: &'static str, prompts: &'static [Prompt]) -> Method {
    Method { id: "key", label, way: Way::Key, prompts }
}

const fn text(key: &'static str, message: &'static str, example: &'static str) -> Prompt {
    Prompt { key, message, kind: PromptKind::Text(example), optional: false, when: None }
}

const ACCOUNT: Prompt = text("account", "The account, as in ACCOUNT.snowflakecomputing.com", "myorg-myaccount");
const CLOUDFLARE: Prompt = text("accountId", "The Cloudflare account id", "0123456789abcdef0123456789abcdef");

const COPILOT: &[Method] = &[Method {
    id: "device",
    label: "GitHub, with a code in the browser",
    way: Way::CopilotDevice,
    prompts: &[
        Prompt {
            key: "deploymentType",
            message: "Which GitHub",
            kind: PromptKind::Select(&[
                Choice { value: "github.com", label: "github.com" },
                Choice { value: "enterprise", label: "GitHub Enterprise, with a server of its own" },
            ]),
            optional: false,
            when: None,
        },
        Prompt {
            key: "enterpriseUrl",
            message: "The server of GitHub Enterprise",
            kind: PromptKind::Text("company.ghe.com"),
            optional: false,
            when: Some(When { key: "deploymentType", is: "enterprise" }),
        },
    ],
}];

const OPENAI: &[Method] = &[
    Method {
        id: "browser",
        label: "ChatGPT Plus, Pro, Business, in the browser",
        way: Way::ChatGptBrowser,
        prompts: &[],
    },
    Method { id: "device", label: "ChatGPT, with a code on any device", way: Way::ChatGptDevice, prompts: &[] },
    KEY,
];

const SNOWFLAKE: &[Method] = &[
    Method {
        id: "browser",
        label: "Snowflake, in the browser",
        way: Way::SnowflakeBrowser,
        prompts: &[
            ACCOUNT,
            Prompt {
                key: "role",
                message: "The role to act as",
                kind: PromptKind::Text("PUBLIC"),
                optional: true,
                when: None,
            },
        ],
    },
    key("Programmatic access token", &[ACCOUNT]),
];

const AZURE: &[Method] =
    &[key("API key", &[text("resourceName", "The resource, as in RESOURCE.openai.azure.com", "my-resource")])];
const WORKERS: &[Method] = &[key("API token", &[CLOUDFLARE])];
const GATEWAY: &[Method] =
    &[key("API token", &[CLOUDFLARE, text("gatewayId", "The id of the AI gateway", "my-gateway")])];
const SAP: &[Method] = &[key("Service key (the whole JSON, on one line)", &[])];
const BEDROCK: &[Method] = &[key("Bedrock API key", &[])];
const GITLAB: &[Method] = &[key("Personal access token", &[])];
const DIGITALOCEAN: &[Method] = &[key("Model access key", &[])];
const ONLY_KEY: &[Method] = &[KEY];

/// The ways to sign in to `vendor`, the usual one first. Each vendor has one.
pub fn methods(vendor: &str) -> &'static [Method] {
    match vendor {
        "github-copilot" => COPILOT,
        "openai" => OPENAI,
        "snowflake-cortex" => SNOWFLAKE,
        "azure" | "azure-cognitive-services" => AZURE,
        "cloudflare-workers-ai" => WORKERS,
        "cloudflare-ai-gateway" => GATEWAY,
        "sap-ai-core" => SAP,
        "amazon-bedrock" => BEDROCK,
        "gitlab" => GITLAB,
        "digitalocean" => DIGITALOCEAN,
        _ => ONLY_KEY,
    }
}

/// What a person should know before they sign in to `vendor`.
pub fn note(vendor: &str) -> Option<&'static str> {
    match vendor {
        "anthropic" => Some(
            "Claude Pro and Max can be signed in to from Anthropic's own programs alone: its terms do not let others use \
             them. An API key is had at https://console.anthropic.com/settings/keys",
        ),
        "xai" => Some(
            "SuperGrok can be signed in to from xAI's own programs alone: there is no published leave, and no client, for \
             others. An API key is had at https://console.x.ai",
        ),
        "gitlab" => Some(
            "GitLab's sign-in wants an app that is registered at your GitLab; a personal access token with the scope \
                 api does. A GitLab of your own is named by GITLAB_INSTANCE_URL.",
        ),
        "poe" => {
            Some("Poe registers each app by itself, and haft has none there. A key is had at https://poe.com/api_key")
        }
        "digitalocean" => Some(
            "DigitalOcean's sign-in would make a key in your account by itself; make one at \
             https://cloud.digitalocean.com/gen-ai/model-access-keys",
        ),
        "amazon-bedrock" => Some(
            "Profiles and roles of AWS are found by themselves (AWS_PROFILE, AWS_ACCESS_KEY_ID, …); a key is needed only \
             where there are none.",
        ),
        "google-vertex" | "google-vertex-anthropic" => Some(
            "Vertex AI finds the credentials of gcloud by itself: gcloud auth application-default login. A key works in \
             express mode only.",
        ),
        "github-copilot" => Some("GitHub's page shows the app that terminal agents share; docs/sign-in.md says more."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_way_can_be_named_and_each_condition_met() {
        for vendor in
            ["github-copilot", "openai", "snowflake-cortex", "azure", "cloudflare-ai-gateway", "anthropic", "x"]
        {
            let methods = methods(vendor);
            let ids: HashSet<_> = methods.iter().map(|method| method.id).collect();
            assert!(!methods.is_empty() && ids.len() == methods.len(), "{vendor}");
            for method in methods {
                let mut asked: Vec<&Prompt> = Vec::new();
                for prompt in method.prompts {
                    if let Some(When { key, is }) = prompt.when {
                        let earlier = asked.iter().find(|earlier| earlier.key == key).unwrap();
                        let PromptKind::Select(choices) = earlier.kind else { panic!("{vendor} {key}") };
                        assert!(choices.iter().any(|choice| choice.value == is), "{vendor} {is}");
                    }
                    asked.push(prompt);
                }
            }
        }
    }
}
