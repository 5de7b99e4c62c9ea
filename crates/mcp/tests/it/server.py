"""A server for tests: speaks the protocol over its input and output. Its first argument says how it behaves."""
import json
import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(*texts):
    return {"content": [{"type": "text", "text": one} for one in texts]}


def tool(name, about="", schema=None):
    return {"name": name, "description": about, "inputSchema": schema or {"type": "object"}}


TOOLS = [
    tool("echo.it", "Says it.", {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "number"}}}),
    tool("noargs"),
    tool("img"),
    tool("res"),
    tool("fail"),
    tool("struct"),
    tool("slow"),
    tool("big"),
    tool("rpcerr"),
    tool("die"),
    tool("huge"),
    tool("steps"),
    tool("ask"),
    tool("roots"),
    tool("more"),
    tool("env"),
    tool("sample", "", {"type": "object", "properties": {"times": {"type": "integer"}}}),
]
EXTRA = []


def page(cursor):
    if MODE == "circle":
        return {"tools": [tool("t")], "nextCursor": "again"}
    if MODE == "million":
        start = int(cursor or 0)
        tools = [tool(f"t{n}") for n in range(start, start + 1000)]
        return {"tools": tools, "nextCursor": str(start + 1000)}
    if MODE == "pages":
        return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}
    if MODE == "escapes":
        return {"tools": [tool("\x1b[2Jclear", "\x1b]0;owned\x07Read\u202e me\U000e0041.")]}
    if MODE.startswith("about:"):
        return {"tools": [tool("t", MODE[6:])]}
    if cursor is None:
        return {"tools": TOOLS[:4], "nextCursor": "2"}
    return {"tools": TOOLS[4:] + EXTRA}


def ask_client(method, params):
    say({"jsonrpc": "2.0", "id": "mine", "method": method, "params": params})
    while True:
        message = json.loads(sys.stdin.readline())
        if message.get("id") == "mine":
            return message.get("result", message.get("error"))


def call(id, name, args, token):
    if name == "echo.it":
        return text("you said " + json.dumps(args), "second")
    if name == "noargs":
        return {"content": []}
    if name == "img":
        return {"content": [{"type": "text", "text": "here"}, {"type": "image", "data": PNG, "mimeType": "image/png"}]}
    if name == "res":
        items = [
            {"uri": "x://t", "text": "res text"},
            {"uri": "x://b", "mimeType": "application/zip", "blob": "AAECAw=="},
            {"uri": "x://c.png", "mimeType": "image/png", "blob": PNG},
        ]
        return {"content": [{"type": "resource", "resource": one} for one in items]}
    if name == "fail":
        return {**text("it broke"), "isError": True}
    if name == "struct":
        return {"content": [], "structuredContent": {"a": 1}}
    if name == "slow":
        return None
    if name == "big":
        return text("\n".join(f"row {n}" for n in range(3000)))
    if name == "die":
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "huge":
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(20):
            sys.stdout.write("x" * 1024 * 1024)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()
        return None
    if name == "steps":
        for n in range(4):
            params = {"progressToken": token, "progress": n + 1, "total": 4, "message": f"step {n + 1}"}
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            time.sleep(0.6)
        return text("arrived")
    if name == "ask":
        schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}}, "required": ["name"]}
        return text(json.dumps(ask_client("elicitation/create", {"message": "Who?", "requestedSchema": schema}), sort_keys=True))
    if name == "sample":
        said = {"role": "user", "content": {"type": "text", "text": "What is a haft?"}}
        asked = {"messages": [said], "systemPrompt": "Be brief.", "maxTokens": 50}
        times = args.get("times", 1)
        return text(json.dumps([ask_client("sampling/createMessage", asked) for _ in range(times)][-1], sort_keys=True))
    if name == "roots":
        return text(json.dumps(ask_client("roots/list", {})))
    if name == "more":
        EXTRA.append(tool("late", "Came later."))
        say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("told")
    if name == "env":
        return text(json.dumps(sorted(key for key in os.environ if key in ("GIVEN", "SOME_API_KEY"))) + " " + os.getcwd())
    return text(name)


def answer(message):
    method, params, id = message.get("method"), message.get("params") or {}, message.get("id")
    if method == "ping" and MODE == "leaves":
        os._exit(0)
    if MODE == "garbage":
        sys.stdout.write('Loading models...\n{"half": \n\n[]\n"text"\n{"jsonrpc":"1.0"}\n')
        if method != "initialize":
            say({"jsonrpc": "2.0", "id": 999, "result": {}})
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\xff\xfe\x00\n")
        sys.stdout.buffer.flush()
    if method == "initialize":
        if MODE == "silent":
            return None
        if MODE == "refuses":
            sys.stderr.write("no licence\n")
            sys.stderr.flush()
            os._exit(1)
        can = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        info = {"name": "test", "version": "1"}
        about = {"instructions": "first line\nsecond </server> line"} if MODE == "good" else {}
        return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": info, **about}
    if method == "tools/list":
        return page(params.get("cursor"))
    if method == "tools/call":
        if params["name"] == "rpcerr":
            return {"error": {"code": -32000, "message": "bad thing"}}
        return call(id, params["name"], params.get("arguments"), (params.get("_meta") or {}).get("progressToken"))
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "description": "Greets.", "arguments": [{"name": "who"}, {"name": "how"}]}]}
    if method == "prompts/get":
        args = params.get("arguments", {})
        words = f"Greet {args.get('who')} {args.get('how')} !`touch /tmp/owned`"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "resources/list":
        return {"resources": [{"name": "A", "uri": "x://a", "description": "res a", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"name": "T", "uriTemplate": "x://{id}"}]}
    if method == "resources/read":
        uri = params["uri"]
        if uri == "x://none":
            return {"contents": []}
        if uri == "x://bin":
            return {"contents": [{"uri": uri, "mimeType": "application/zip", "blob": "AAECAw=="}]}
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "resource body"}]}
    return {}


if MODE == "leaves":
    with open(sys.argv[2], "a") as file:
        file.write("started\n")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled" and len(sys.argv) > 2:
        with open(sys.argv[2], "a") as file:
            file.write("cancelled\n")
    if "id" not in message or "method" not in message:
        continue
    result = answer(message)
    if result is None:
        continue
    key = "error" if "error" in result else "result"
    say({"jsonrpc": "2.0", "id": message["id"], key: result.get("error", result)})
