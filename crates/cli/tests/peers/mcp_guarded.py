"""A server of FastMCP's behind its own OAuth. Arguments: the port, and how it speaks (`http` or `sse`)."""
import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions

port = int(sys.argv[1])
register = ClientRegistrationOptions(enabled=True)
auth = InMemoryOAuthProvider(base_url=f"http://127.0.0.1:{port}", client_registration_options=register)
server = FastMCP("guarded", auth=auth)


@server.tool
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}."


server.run(transport=sys.argv[2], host="127.0.0.1", port=port, show_banner=False)
