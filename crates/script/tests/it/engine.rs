//! Loading, calling, effects, errors, and what hostile scripts do.

use serde_json::{Value, json};

use crate::scene::{Scene, answers};

async fn check(source: &str, args: Value, want: Result<Value, &str>) {
    let scene =
        Scene::new(&[("main.ts", source), ("part.ts", "export const two: number = 2"), ("data.json", "{\"a\": 1}")]);
    let args = args.as_array().cloned().unwrap_or_default();
    let got = scene.run(&answers(&[]), args).await;
    match (got, want) {
        (Ok(got), Ok(want)) => assert_eq!(got, want, "{source}"),
        (Err(got), Err(want)) => assert!(got.contains(want), "{source}\n{got}"),
        (got, want) => panic!("{source}\ngot {got:?}, want {want:?}"),
    }
}

#[tokio::test]
async fn typescript_runs() {
    check("export function run(a: number, b: number): number { return a + b }", json!([1, 2]), Ok(json!(3))).await;
    check("enum E { A = 'x', B = 2 }\nexport const run = () => [E.A, E.B, E[2]]", json!([]), Ok(json!(["x", 2, "B"])))
        .await;
    check("namespace N { export const a = 1 }\nexport const run = () => N.a", json!([]), Ok(json!(1))).await;
    check("import { two } from './part'\nexport const run = () => two", json!([]), Ok(json!(2))).await;
    check("import data from './data.json'\nexport const run = () => data.a", json!([]), Ok(json!(1))).await;
    check("class A { constructor(private x: number) {} get() { return this.x } }\nexport const run = async () => new A(7).get()", json!([]), Ok(json!(7))).await;
    check(
        "export const run = async () => { await new Promise(r => setTimeout(r, 1)); return 'late' }",
        json!([]),
        Ok(json!("late")),
    )
    .await;
    check("const later = await Promise.resolve(5)\nexport const run = () => later", json!([]), Ok(json!(5))).await;
}

#[tokio::test]
async fn hashes_and_random_values_are_there() {
    let run = |body: &str| format!("import crypto_ from 'node:crypto'\nexport const run = async () => {{ {body} }}");
    let hex =
        "const hex = (b) => Buffer.from(b).toString('hex').slice(0, 8); const text = new TextEncoder().encode('abc');";
    let key =
        "const key = await crypto.subtle.importKey('raw', text, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);";
    for (body, want) in [
        ("return hex(await crypto.subtle.digest('SHA-256', text))", Ok(json!("ba7816bf"))),
        ("return hex(await crypto_.subtle.digest({ name: 'sha-1' }, text.buffer))", Ok(json!("a9993e36"))),
        ("return crypto_.createHash('sha256').update('abc').digest('hex').slice(0, 8)", Ok(json!("ba7816bf"))),
        ("return crypto.randomUUID().length + crypto_.randomUUID().length", Ok(json!(72))),
        ("return await new Promise(r => crypto.randomFill(new Uint8Array(4), (_, b) => r(b.length)))", Ok(json!(4))),
        ("return await new Promise(r => crypto_.randomFill(new Uint8Array(4), (_, b) => r(b.length)))", Ok(json!(4))),
        ("await crypto.subtle.generateKey('AES-GCM')", Err("crypto.subtle.generateKey is not there in haft")),
        ("await crypto.subtle.digest('MD5', text)", Err("MD5 is not there in haft; take SHA-256")),
    ] {
        check(&run(&format!("{hex} {body}")), json!([]), want).await;
    }
    let signed = "const s = await crypto.subtle.sign('HMAC', key, text); return [hex(s), await crypto.subtle.verify('HMAC', key, s, text)]";
    check(&run(&format!("{hex} {key} {signed}")), json!([]), Ok(json!(["2f02e24a", true]))).await;
}

#[tokio::test]
async fn errors_name_their_place_in_the_typescript() {
    check(
        "type A = {\n  x: number\n}\nexport function run(a: A) {\n  throw new Error('bad')\n}",
        json!([]),
        Err("bad (at main.ts:5:13)"),
    )
    .await;
    check("export const run = (: number) => 1", json!([]), Err("main.ts:1:21: ")).await;
    check("import './none'\nexport const run = 1", json!([]), Err("./none was not found")).await;
    check("export const run = () => { throw 'text' }", json!([]), Err("text")).await;
}

#[tokio::test]
async fn what_hostile_scripts_do_ends_with_them() {
    check("export const run = () => new Promise(() => {})", json!([]), Err("nothing can settle")).await;
    check("export const run = () => run()", json!([]), Err("stack")).await;
    check(
        "export const run = () => { const a = []; for (;;) a.push(new Array(100000).fill(a.length)) }",
        json!([]),
        Err("memory"),
    )
    .await;
    check("Object.prototype.toJSON = () => 'x'\nJSON.stringify = () => '1'\nPromise.prototype.then = () => {}\nexport const run = () => 1", json!([]), Err("how objects become JSON")).await;
    check("JSON.stringify = () => '1'\nPromise.prototype.then = () => {}\nMap.prototype.get = () => {}\nexport const run = () => 1", json!([]), Ok(json!(1))).await;
    check("export const run = () => 'x'.repeat(40 * 1024 * 1024)", json!([]), Err("bytes")).await;
    check("import 'haft:core'\nexport const run = 1", json!([]), Err("there is no module")).await;
    check("export const run = () => { const a: any = {}; a.a = a; return a }", json!([]), Err("circular")).await;
}

#[tokio::test]
async fn an_endless_loop_ends_with_its_call() {
    let scene = Scene::new(&[("main.ts", "export const run = () => { for (;;) {} }\nexport const fine = () => 1")]);
    let world = answers(&[]);
    let script = scene.script().await;
    let module = script.load(&scene.path("main.ts"), &world).await.unwrap();
    {
        let call = script.call(module.handle, &["run"], Vec::new(), &world);
        tokio::pin!(call);
        // It has begun when its message was sent.
        assert!(futures::poll!(&mut call).is_pending());
    }
    let called = script.call(module.handle, &["fine"], Vec::new(), &world).await.unwrap();
    assert_eq!(called.value, 1);
}

#[tokio::test]
async fn effects_belong_to_the_call_that_asks() {
    let source = "
        export const run = async (name: string) => {
            await new Promise(done => setTimeout(done, 1))
            console.log('from', name)
            return 1
        }";
    let scene = Scene::new(&[("main.ts", source)]);
    let (one, two) = (answers(&[]), answers(&[]));
    let script = scene.script().await;
    let module = script.load(&scene.path("main.ts"), &one).await.unwrap();
    let (first, second) = tokio::join!(
        script.call(module.handle, &["run"], vec![json!("one")], &one),
        script.call(module.handle, &["run"], vec![json!("two")], &two),
    );
    assert_eq!((first.unwrap().value, second.unwrap().value), (json!(1), json!(1)));
    for (world, text) in [(one, "from one"), (two, "from two")] {
        assert_eq!(*world.said.lock().unwrap(), [("log".to_owned(), json!({"level": "info", "text": text}))]);
    }
}

#[tokio::test]
async fn hooks_change_what_they_are_given() {
    let source = "
        export const plugin = async ({ client, directory }) => ({
            'tool.execute.before': async (input, output) => {
                output.args.command = `${directory}: ${await client.session.prompt({ a: 1 })}`
            },
        })";
    let scene = Scene::new(&[("main.ts", source)]);
    let world = answers(&[("remote", json!("said"))]);
    let script = scene.script().await;
    let module = script.load(&scene.path("main.ts"), &world).await.unwrap();
    let input = json!({"directory": "/d", "client": {"$haft": "remote", "name": "client"}});
    let hooks = script.call_keeping(module.handle, &["plugin"], vec![input], &world).await.unwrap();
    assert_eq!((hooks.names[0].name.as_str(), hooks.names[0].kind.as_str()), ("tool.execute.before", "function"));
    let args = vec![json!({"tool": "bash"}), json!({"args": {"command": "ls"}})];
    let called = script.call(hooks.handle, &["tool.execute.before"], args, &world).await.unwrap();
    assert_eq!(called.args[1], json!({"args": {"command": "/d: said"}}));
    let want = json!({"name": "client", "path": ["session", "prompt"], "args": [{"a": 1}]});
    assert_eq!(*world.asked.lock().unwrap(), [("remote".to_owned(), want)]);
}
