"""The server of tools that the records were made with, as far as the fixture describes it."""
import json
import sys
import time

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BLOB = {"mimeType": "application/zip", "blob": "aGkhIQ=="}
NAMES = ["echo.it", "noargs", "img", "res", "fail", "struct", "slow", "big", "rpcerr"]


def text(words):
    return {"type": "text", "text": words}


def resource(uri, content):
    return {"type": "resource", "resource": {"uri": uri, **content}}


def call(name, arguments):
    if name == "echo.it":
        return {"content": [text("you said " + json.dumps(arguments)), text("second")]}
    if name == "img":
        return {"content": [text("here"), {"type": "image", "mimeType": "image/png", "data": PNG}]}
    if name == "res":
        link = {"type": "resource_link", "uri": "x://d", "name": "d"}
        png = {"mimeType": "image/png", "blob": PNG}
        plain = {"mimeType": "text/plain", "text": "res text"}
        return {"content": [resource("x://t", plain), resource("x://b", BLOB), resource("x://c.png", png), link]}
    if name == "fail":
        return {"content": [text("it broke")], "isError": True}
    if name == "struct":
        return {"content": [], "structuredContent": {"a": 1}}
    if name == "slow":
        time.sleep(6)
    if name == "big":
        return {"content": [text("\n".join(f"row {n}" for n in range(2500)))]}
    return {"content": []}


def read(uri):
    if uri == "x://a":
        return [{"uri": uri, "mimeType": "text/plain", "text": "resource body"}]
    return [{"uri": uri, **BLOB}] if uri == "x://bin" else []


def answer(method, params):
    if method == "initialize":
        can = {"tools": {}, "resources": {}}
        about = {"name": "test", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": about}
    if method == "tools/list":
        # In two pages.
        names, more = (NAMES[5:], {}) if params.get("cursor") else (NAMES[:5], {"nextCursor": "more"})
        echo = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        schema = lambda name: echo if name == "echo.it" else {"type": "object", "properties": {}}
        return {"tools": [{"name": name, "inputSchema": schema(name)} for name in names], **more}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "resources/list":
        return {"resources": [{"name": "A", "uri": "x://a", "description": "res a", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"name": "T", "uriTemplate": "x://{id}"}]}
    if method == "resources/read":
        return {"contents": read(params["uri"])}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    params = message.get("params") or {}
    said = {"jsonrpc": "2.0", "id": message["id"]}
    if params.get("name") == "rpcerr":
        said["error"] = {"code": -32000, "message": "bad thing"}
    else:
        said["result"] = answer(message["method"], params)
    print(json.dumps(said), flush=True)
