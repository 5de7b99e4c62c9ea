use super::*;

#[track_caller]
fn check(status: impl Into<Option<u16>>, after: Option<u64>, body: &str, want: &str) {
    let after = after.map(Duration::from_secs);
    let error =
        Told { provider: "v", model: "m", status: status.into(), after, body, secrets: &[Secret::new("sk-1/2")] }
            .classify();
    assert_eq!(error.to_string(), want, "{body}");
}

#[test]
fn a_status_decides_with_the_words_of_the_vendor() {
    check(401, None, r#"{"error":{"message":"bad key"}}"#, "v rejected the credentials (status 401): bad key");
    check(403, None, r#"{"error":"no access"}"#, "v rejected the credentials (status 403): no access");
    check(429, None, r#"{"message":"slow down"}"#, "v limits how often it may be asked: slow down");
    check(404, None, r#"{"detail":"no such model"}"#, "v did not take the request (status 404): no such model");
    check(
        422,
        None,
        r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
        "v did not take the request (status 422): field required",
    );
    check(500, None, "", "v failed with status 500: it gave no reason");
    check(502, None, "<html><title>Bad gateway</title>", "v failed with status 502: a web page (“Bad gateway”)");
    check(
        529,
        None,
        r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "v failed with status 529: Overloaded",
    );
    check(418, None, "plain\n  words", "v did not take the request (status 418): plain words");
    check(
        400,
        None,
        r#"[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]"#,
        "v did not take the request (status 400): Bad",
    );
}

#[test]
fn a_key_is_not_repeated() {
    let rejected = "v rejected the credentials (status 401): … is no key";
    check(401, None, r#"{"error":"sk-1/2 is no key"}"#, rejected);
    check(401, None, r#"{"error":"sk-1\/2 is no key"}"#, rejected);
    check(401, None, r#"{"error":{"message":"\u0073k-1/2 is no key"}}"#, rejected);
    check(400, None, "what is sk-1/2?", "v did not take the request (status 400): what is …?");
    let page = "<html><title>sk-1/2</title>";
    check(502, None, page, "v failed with status 502: a web page (“…”)");
    let far = format!("{}sk-1/2", "x".repeat(MAX_EXCERPT - 3));
    check(400, None, &far, &format!("v did not take the request (status 400): {}…", "x".repeat(MAX_EXCERPT - 3)));
}

#[test]
fn of_two_secrets_the_longer_one_is_hidden_whole() {
    let secrets = ["key-1", "key-1.team-2"].map(Secret::new);
    assert_eq!(hide("not key-1.team-2, nor key-1", &secrets), "not …, nor …");
}

#[test]
fn a_history_that_is_too_long_is_told_apart() {
    let want = "the conversation is too long for m: ";
    let row = |status: Option<u16>, code: &str, message: &str| {
        let body = format!(r#"{{"error":{{"message":"{message}","code":"{code}"}}}}"#);
        check(status, None, &body, &format!("{want}{message}"));
    };
    row(Some(400), "context_length_exceeded", "x");
    row(None, "context_length_exceeded", "x");
    row(Some(400), "", "This model's maximum context length is 8192 tokens");
    row(Some(400), "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    row(Some(500), "", "the request exceeds the available context size");
    row(Some(413), "", "Payload Too Large");
    row(Some(400), "", "The input token count (9) exceeds the maximum number of tokens allowed (8).");
    row(Some(400), "", "Unable to submit request because the input token count is 9 but model only supports up to 8.");
}

#[test]
fn money_is_not_a_matter_of_waiting_unless_a_time_is_named() {
    let quota = "v says that the quota is used up: You exceeded your current quota";
    let limited = "v limits how often it may be asked: You exceeded your current quota";
    let plain = r#"{"error":{"message":"You exceeded your current quota"}}"#;
    check(429, None, plain, quota);
    check(429, Some(20), plain, limited);
    let coded = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    check(429, Some(20), coded, quota);
    check(None, None, coded, quota);
    check(402, None, r#"{"error":{"message":"top up"}}"#, "v says that the quota is used up: top up");
    let subscribed = r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached"}}"#;
    check(429, None, subscribed, "v says that the quota is used up: The usage limit has been reached");
    let slower = r#"{"error":{"code":"slow_down","message":"Too fast"}}"#;
    check(None, None, slower, "v limits how often it may be asked: Too fast");
}

#[test]
fn words_tell_how_long_to_wait_where_nothing_else_does() {
    let row = |status: u16, after: Option<u64>, message: &str, want: Option<u64>| {
        let body = format!(r#"{{"error":{{"message":"{message}"}}}}"#);
        let after = after.map(Duration::from_millis);
        let told = Told { provider: "v", model: "m", status: Some(status), after, body: &body, secrets: &[] };
        let got = match told.classify() {
            LlmError::RateLimited { after, .. } | LlmError::Server { after, .. } => after,
            other => panic!("{other}"),
        };
        assert_eq!(got, want.map(Duration::from_millis), "{message}");
    };
    row(429, None, "Rate limit reached. Please try again in 11.054s. Visit us", Some(11_054));
    row(429, Some(3), "Rate limit reached. Please try again in 11.054s.", Some(3));
    // Who names a time means a limit that passes.
    row(429, None, "You exceeded your current quota. Please retry in 34.5s.", Some(34_500));
    row(503, None, "Overloaded, try again in 2 minutes", Some(120_000));
    row(503, None, "Overloaded, try again later", None);
}

#[test]
fn details_tell_how_long_to_wait_and_what_for() {
    let body = |status: &str, details: &str| {
        format!(
            r#"[{{"error":{{"code":429,"message":"over your current quota","status":"{status}","details":[{details}]}}}}]"#
        )
    };
    let wait = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}"#;
    let day = r#"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerDay"}]}"#;
    let after = |status: Option<u16>, header: Option<u64>, body: &str| {
        let after = header.map(Duration::from_secs);
        let error = Told { provider: "v", model: "m", status, after, body, secrets: &[] }.classify();
        error.retry_after(1, 0.0).map(|wait| wait.as_secs())
    };
    for status in [Some(429), None] {
        assert_eq!(after(status, None, &body("RESOURCE_EXHAUSTED", wait)), Some(34));
        // The header is nearer to whoever limits.
        assert_eq!(after(status, Some(3), &body("RESOURCE_EXHAUSTED", wait)), Some(3));
        assert_eq!(after(status, None, &body("RESOURCE_EXHAUSTED", &format!("{day},{wait}"))), None);
        let long = wait.replace("34s", "999999s");
        assert_eq!(after(status, None, &body("RESOURCE_EXHAUSTED", &long)), Some(24 * 60 * 60));
    }
    let key = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
    let body = format!(r#"{{"error":{{"code":400,"message":"not valid","details":[{key}]}}}}"#);
    check(400, None, &body, "v rejected the credentials (status 400): not valid");
    check(None, None, &body, "v rejected the credentials: not valid");
}

#[test]
fn an_error_in_the_stream_has_only_its_words() {
    let row = |body: &str, want: &str| check(None, None, body, want);
    row(r#"{"error":{"message":"busy","type":"server_error"}}"#, "v failed: busy");
    row(r#"{"error":{"message":"busy","code":503}}"#, "v failed: busy");
    row(r#"{"error":{"message":"slow","code":"429"}}"#, "v limits how often it may be asked: slow");
    row(r#"{"error":{"message":"slow","type":"rate_limit_error"}}"#, "v limits how often it may be asked: slow");
    row(r#"{"error":{"message":"key","type":"authentication_error"}}"#, "v rejected the credentials: key");
    row(r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, "v did not take the request: no");
    row(
        r#"{"error":{"message":"there are 500 of them, none fits"}}"#,
        "v did not take the request: there are 500 of them, none fits",
    );
    row(r#"{"error":{}}"#, r#"v did not take the request: {"error":{}}"#);
}

#[test]
fn trouble_that_passes_is_known_by_its_words() {
    let passing = |status: Option<u16>, body: &str, want: bool| {
        let told = Told { provider: "v", model: "m", status, after: None, body, secrets: &[] };
        let error = told.classify();
        assert_eq!(error.is_passing(), want, "{body}: {error}");
    };
    passing(Some(400), r#"{"type":"overloaded_error"}"#, true);
    passing(Some(400), r#"{"error":{"message":"the model is at capacity"}}"#, true);
    passing(Some(400), r#"{"error":{"message":"Rate limit exceeded"}}"#, true);
    passing(Some(400), r#"{"error":{"message":"the prompt has 15023 tokens"}}"#, false);
    passing(Some(400), r#"{"error":{"message":"invalid timeout parameter"}}"#, false);
    passing(Some(401), r#"{"error":{"message":"try again later"}}"#, false);
    passing(Some(404), r#"{"error":{"message":"the model m is unavailable in your region"}}"#, false);
    passing(None, "the model is unavailable", true);
    passing(None, "service unavailable", true);
    passing(None, "connect ECONNREFUSED 127.0.0.1:1", true);
    passing(None, "timeout", true);
    passing(None, "upstream answered with status code: 503", true);
    passing(None, "there are 503 of them", false);
    passing(None, "out of memory", false);
}

#[test]
fn an_excerpt_is_short_and_on_one_line() {
    assert_eq!(excerpt(" a\n\n b\t"), "a b");
    assert_eq!(excerpt("a\0\u{1b}[2J\u{9b}b"), "a[2Jb");
    assert_eq!(excerpt(&"ü".repeat(300)), "ü".repeat(300));
    assert_eq!(excerpt(&"ü".repeat(9999)), format!("{}…", "ü".repeat(299)));
    assert_eq!(excerpt(&"a ".repeat(9999)).chars().count(), 300);
}

#[test]
fn pages_are_known_by_how_they_begin() {
    let row = |body: &str, want: Option<&str>| assert_eq!(page(body).as_deref(), want, "{body}");
    row("<!DOCTYPE html><html><head><title> Sign\n in </title>", Some("a web page (“Sign in”)"));
    row("\n<HTML><body>", Some("a web page"));
    row("<html><title>cut", Some("a web page"));
    row("{\"a\":\"<html>\"}", None);
    row("", None);
}
