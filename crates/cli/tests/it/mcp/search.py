"""A server that searches, over streamable HTTP. Writes its port, then each call that it gets."""
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

TOOLS = ["web_search_exa", "get_code_context_exa"]


def answer(method, params):
    if method == "initialize":
        about = {"name": "search", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        print(json.dumps({"name": params["name"], "arguments": params["arguments"]}), flush=True)
        nothing = params["arguments"]["query"] == "nothing"
        return {"content": [] if nothing else [{"type": "text", "text": f"found by {params['name']}"}]}
    return {}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        result = answer(message["method"], message.get("params") or {})
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
