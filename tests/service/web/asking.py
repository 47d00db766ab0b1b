"""Ask an ASGI application directly, so that every byte and every pause is ours to choose."""

import asyncio
import json


class Answered:
    """What came back."""

    def __init__(self, messages):
        start = [one for one in messages if one["type"] == "http.response.start"]
        assert len(start) == 1, messages
        self.status = start[0]["status"]
        self.raw = [(name.decode(), value.decode()) for name, value in start[0]["headers"]]
        self.headers = {name.lower(): value for name, value in self.raw}
        bodies = [one for one in messages if one["type"] == "http.response.body"]
        self.body = b"".join(one.get("body", b"") for one in bodies)
        self.complete = bool(bodies) and not bodies[-1].get("more_body", False)
        self.text = self.body.decode("utf-8", "replace")

    @property
    def error(self):
        return json.loads(self.body)["error"]


async def ask_now(
    app, method, path, *, headers=None, body=(b"",), host="127.0.0.1:8700", query="", pause=0.0
):
    named = {} if host is None else {"Host": host}
    pairs = list({**named, **(headers or {})}.items()) if not isinstance(headers, list) else headers
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8700),
    }
    parts, sent = list(body), []
    gone = asyncio.Event()

    async def receive():
        if not parts:
            await gone.wait()
            return {"type": "http.disconnect"}
        await asyncio.sleep(pause)
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return Answered(sent)


def ask(app, method, path, **options):
    return asyncio.run(ask_now(app, method, path, **options))
