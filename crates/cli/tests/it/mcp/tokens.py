"""A server behind OAuth, and who gives its tokens, in one program. It prints its address, then what it is asked.

A token is for one call: after it the next request is refused until there is another one."""
import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

GIVEN = []


def say(text):
    print(text, flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=None, headers=()):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.startswith("/.well-known/oauth-protected-resource"):
            return self.reply(200, {"resource": URL + "/mcp", "authorization_servers": [URL]})
        if self.path == "/.well-known/oauth-authorization-server":
            return self.reply(200, {
                "issuer": URL, "authorization_endpoint": URL + "/authorize", "token_endpoint": URL + "/token",
                "response_types_supported": ["code"], "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                "code_challenge_methods_supported": ["S256"],
            })
        return self.reply(405 if self.path == "/mcp" else 404)

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/token":
            form = parse_qs(body)
            who = base64.b64decode(self.headers.get("Authorization", "Basic ")[6:]).decode()
            if who != "robot:s3cret" or form.get("grant_type") != ["client_credentials"]:
                say("refused")
                return self.reply(401, {"error": "invalid_client", "error_description": "not you"})
            GIVEN.append(f"token-{len(GIVEN) + 1}")
            say(f"gave {GIVEN[-1]} for {form.get('resource', [''])[0].replace(URL, '')}")
            return self.reply(200, {"access_token": GIVEN[-1], "token_type": "Bearer", "expires_in": 3600})
        shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not GIVEN or shown != GIVEN[-1]:
            challenge = f'Bearer resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp"'
            return self.reply(401, {"error": "invalid_token"}, [("WWW-Authenticate", challenge)])
        message = json.loads(body)
        method = message.get("method")
        if "id" not in message:
            return self.reply(202)
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": shown}]}
            # Forgets it: from now on only the next one counts.
            GIVEN.append("nobody's")
        else:
            result = {}
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
URL = f"http://127.0.0.1:{server.server_port}"
say(URL)
server.serve_forever()
