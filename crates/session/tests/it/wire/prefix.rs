//! What vendors' caches live on. A request is the same as the one before up to where that one ended: its tools and its
//! system prompt are the same bytes, and its conversation begins with the pieces (messages, blocks, parts, items) of the
//! one before, each of them the same. Only marks for the cache move on, and how much may be written may differ.

use std::collections::BTreeMap;

use haft_protocol::History;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

/// The fields of a body that stand before the conversation for a vendor's cache, as they are written.
fn before(body: &[u8]) -> Vec<(String, String)> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(body).unwrap();
    let before =
        ["model", "system", "systemInstruction", "instructions", "tools", "toolConfig", "tool_choice", "thinking"];
    before.iter().filter_map(|key| Some(((*key).to_owned(), fields.get(*key)?.get().to_owned()))).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_longer_conversation_begins_with_the_shorter_one(session in sessions(), turns in 1..6usize) {
        let mut whole = History::default();
        session.events().iter().for_each(|event| whole.apply(event));
        go_on(&mut whole);
        // Requests are made behind prompts and behind results, when everything before them has ended.
        let settled = |until: usize| whole.messages()[..until].iter().all(|turned| match &turned.info {
            haft_protocol::Message::User(_) => true,
            haft_protocol::Message::Assistant(answer) => answer.time.completed.is_some(),
        });
        for target in targets() {
            let mut shorter: Option<(Vec<u8>, Vec<Value>)> = None;
            for until in (1..=whole.messages().len()).filter(|until| settled(*until)).take(turns * 2) {
                let history: History = whole.messages()[..until].iter().cloned().collect();
                let body = body(target, &history);
                let pieces = (target.pieces)(&serde_json::from_slice(&body).unwrap());
                // Nobody is asked behind the model's own words.
                let request = assemble("", &history, &[], &target.model);
                let asks = !matches!(request.messages.last().map(|last| &**last), Some(haft_llm::Message::Assistant { .. }));
                if let Some((old, old_pieces)) = shorter.as_ref().filter(|_| asks) {
                    prop_assert_eq!(before(old), before(&body), "{}", target.model.name());
                    prop_assert!(pieces.len() >= old_pieces.len(), "{}", target.model.name());
                    prop_assert_eq!(&pieces[..old_pieces.len()], &old_pieces[..], "{}", target.model.name());
                }
                if asks {
                    shorter = Some((body, pieces));
                }
            }
        }
    }

    #[test]
    fn without_marks_it_begins_with_the_very_bytes(session in sessions()) {
        let mut whole = History::default();
        session.events().iter().for_each(|event| whole.apply(event));
        let target = &targets()[6];
        let prompts = whole.messages().iter().enumerate().filter(|(_, turned)| matches!(turned.info, haft_protocol::Message::User(_)));
        let settled = whole.messages().iter().take_while(|turned| match &turned.info {
            haft_protocol::Message::User(_) => true,
            haft_protocol::Message::Assistant(answer) => answer.time.completed.is_some(),
        }).count();
        let mut shorter: Option<Vec<u8>> = None;
        for (place, _) in prompts.filter(|(place, _)| *place < settled) {
            let history: History = whole.messages()[..=place].iter().cloned().collect();
            let body = body(target, &history);
            if let Some(old) = shorter {
                let text = String::from_utf8(old).unwrap();
                let end = text.rfind("],\"tools\":").unwrap();
                prop_assert!(body.starts_with(&text.as_bytes()[..end]), "{text}\n{}", String::from_utf8_lossy(&body));
            }
            shorter = Some(body);
        }
    }
}
