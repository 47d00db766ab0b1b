"""A client of an application in this process, which runs in a thread with a loop of its own."""

import asyncio
import threading

import httpx


class Inside:
    """Asks like ``httpx.Client``; the application starts up and shuts down with it."""

    def __init__(self, app, base_url="http://127.0.0.1:8700"):
        self.app = app
        self.headers = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=base_url, timeout=300)
        self._lifespan = app.router.lifespan_context(app)
        self._wait(self._lifespan.__aenter__())

    def _wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def request(self, method, path, *, headers=None, **options):
        named = {**self.headers, **(headers or {})}
        return self._wait(self._client.request(method, path, headers=named, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def head(self, path, **options):
        return self.request("HEAD", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def close(self):
        self._wait(self._client.aclose())
        self._wait(self._lifespan.__aexit__(None, None, None))
        self._wait(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
