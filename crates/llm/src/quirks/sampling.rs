//! How families of models are sampled where nobody says: what their makers recommend.

use crate::Request;

/// How a model is sampled. `None` leaves it to the vendor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How many of the likeliest tokens are sampled from.
    pub top_k: Option<u64>,
}

impl Sampling {
    /// What the family of `model` wants, by the vendor's name for it.
    pub fn of(model: &str) -> Self {
        let model = model.to_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
        let just = |temperature| Self { temperature: Some(temperature), ..Self::default() };
        if is(&["claude"]) {
            Self::default()
        } else if is(&["north-mini-code"]) {
            just(1.0)
        } else if is(&["qwen"]) {
            Self { top_p: Some(1.0), ..just(0.55) }
        } else if is(&["gemini"]) {
            Self { temperature: Some(1.0), top_p: Some(0.95), top_k: Some(64) }
        } else if is(&["glm-4.6", "glm-4.7"]) {
            just(1.0)
        } else if is(&["minimax-m2"]) {
            let later = is(&["m2.", "m25", "m21"]);
            Self { temperature: Some(1.0), top_p: Some(0.95), top_k: Some(if later { 40 } else { 20 }) }
        } else if is(&["kimi-k2.5", "kimi-k2p5", "kimi-k2-5"]) {
            Self { top_p: Some(0.95), ..just(1.0) }
        } else if is(&["kimi-k2"]) {
            just(if is(&["thinking", "k2.", "k2p", "k2-5"]) { 1.0 } else { 0.6 })
        } else {
            Self::default()
        }
    }

    /// Fills in what `request` leaves open.
    pub(super) fn fill(self, request: &mut Request) {
        request.temperature = request.temperature.or(self.temperature);
        request.top_p = request.top_p.or(self.top_p);
        request.top_k = request.top_k.or(self.top_k);
    }
}
