"""A server that borrows the model and has something to be read. Argument: where it notes that it was started."""
import json
import sys

NOTES = {"notes://today": "Buy a new haft.\n", "notes://secret": "nobody reads this\n"}


def ask_model(question):
    said = {"role": "user", "content": {"type": "text", "text": question}}
    asked = {"messages": [said], "maxTokens": 100}
    print(json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "sampling/createMessage", "params": asked}), flush=True)
    while True:
        message = json.loads(sys.stdin.readline())
        if message.get("id") == "mine":
            if "error" in message:
                return "no: " + message["error"]["message"]
            return message["result"]["content"]["text"]


def answer(method, params):
    if method == "initialize":
        can = {"tools": {}, "resources": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
        return {"tools": [{"name": "think", "description": "Thinks.", "inputSchema": schema}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "I think: " + ask_model(params["arguments"]["question"])}]}
    if method == "resources/list":
        return {"resources": [{"name": "today", "uri": "notes://today"}]}
    if method == "resources/read":
        text = NOTES.get(params["uri"])
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}] if text else []}
    return {}


with open(sys.argv[1], "a") as started:
    started.write("started\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
