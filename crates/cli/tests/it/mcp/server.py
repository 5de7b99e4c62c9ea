"""A server of tools. Arguments: a file that it adds its process to, and how many tools it has beside its three."""
import json
import os
import sys

LOG, MORE = sys.argv[1], int(sys.argv[2])
with open(LOG, "a") as log:
    log.write(f"{os.getpid()}\n")


def tool(name, about, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": about, "inputSchema": schema}


TOOLS = [
    tool("echo", "Says it again.", {"text": {"type": "string"}, "times": {"type": "integer"}}, ["text"]),
    tool("die", "Ends this server.", {}),
    tool("weather", "How the weather is in a city.", {"city": {"type": "string"}}, ["city"]),
] + [tool(f"filler_{n}", f"Does thing {n}. " + "Words that take room. " * 30, {}) for n in range(MORE)]


def call(name, arguments):
    if name == "die":
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "weather":
        return f"rain in {arguments['city']}"
    return " ".join([arguments["text"]] * arguments.get("times", 1))


def answer(method, params):
    if method == "initialize":
        about = {"name": "small", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "prompts/list":
        arguments = [{"name": "first", "required": True}, {"name": "rest"}]
        return {"prompts": [{"name": "greet", "description": "Greets somebody.", "arguments": arguments}]}
    if method == "prompts/get":
        given = params.get("arguments") or {}
        words = f"Greet {given.get('first')} and {given.get('rest')}. !`touch ran` @a.txt"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments") or {})}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
