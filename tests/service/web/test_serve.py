"""The server as a whole: every route by every role, and the command as a process of its own."""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import pytest
import typer
from fastapi.routing import APIRoute
from PIL import Image
from typer.testing import CliRunner

from lookalike import Collection
from lookalike.collection.nouns.pictures import Pictures
from lookalike.core.errors import CollectionBusy, InvalidInput, NotFound
from lookalike.service.command_line import Commands
from lookalike.service.commands.index import index
from lookalike.service.commands.serve import listening, serve
from lookalike.service.web.security.connections import MAX_PER_CLIENT
from lookalike.service.web.security.guard import VOTING
from lookalike.service.web.settings import Settings
from tests.images.pictures import saved, scene

KEY, READ_KEY, VOTE_KEY = "k" * 24, "r" * 24, "v" * 24
SERVE = "from lookalike.service.command_line import app; app()"
IMPATIENT = (
    "import sys\n"
    "from lookalike import Collection\n"
    "from lookalike.service.commands.serve import address_of, listening, run\n"
    "from lookalike.service.web.app import make_app\n"
    "from lookalike.service.web.settings import Settings\n"
    "settings = Settings(port=0, slow_seconds=0.5, max_upload_bytes=100_000)\n"
    "with Collection.open(sys.argv[1]) as store, listening(settings) as door:\n"
    "    address = address_of(settings.host, door)\n"
    '    say = lambda: print(\'{"address": "%s"}\' % address, flush=True)\n'
    "    run(make_app(store, settings), door, say)\n"
)
PATIENT = IMPATIENT.replace("slow_seconds=0.5", "slow_seconds=900")
CLIENT = {"X-Lookalike-Client": "1"}
get, post = partial(httpx.get, timeout=300), partial(httpx.post, timeout=300)


# --- the application -----------------------------------------------------------------------------


def every_route(client):
    """List all routes as methods and paths, their parameters filled in."""
    from lookalike.service.web.pages import fragments
    from lookalike.service.web.pages import routes as pages

    described = client.app.openapi()["paths"].items()
    found = [(method.upper(), path) for path, methods in described for method in methods]
    for route in [*pages.router.routes, *fragments.router.routes]:
        assert isinstance(route, APIRoute)
        found += [(method, route.path) for method in route.methods]
    found += [("GET", "/openapi.json"), ("GET", "/static/page.js")]
    filled = sorted((method, re.sub(r"\{[^}]*\}", "1", path)) for method, path in found)
    wanted = {("GET", "/api/pictures"), ("GET", "/image/1"), ("GET", "/"), ("POST", "/part/votes")}
    assert wanted <= set(filled)
    return filled


def test_every_route_by_every_role(served):
    settings = Settings(host="192.168.7.7", key=KEY, read_key=READ_KEY, vote_key=VOTE_KEY)
    client, guessing = (served(settings, base_url="http://192.168.7.7:8700") for _ in range(2))
    for one in (client, guessing):
        del one.headers["X-Lookalike-Client"]
    seen = set()
    for method, path in every_route(client):
        if path.endswith("/events"):
            continue  # no job is there to be followed
        roles = {"none": None, "wrong": "x" * 24, "read": READ_KEY, "vote": VOTE_KEY}
        for role, key in roles.items():
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            asking = guessing if role == "wrong" else client
            status = asking.request(method, path, headers=headers).status_code
            seen.add(method)
            # Who may only read does not look into folders of the server.
            reading = method in {"GET", "HEAD"}
            reading = reading and path not in {"/api/folders", "/api/collections"}
            if (role == "read" and reading) or (role == "vote" and (reading or path in VOTING)):
                assert status not in {401, 403}, (method, path)
            else:
                # After some guesses one has to wait.
                refused = {"none": {401}, "wrong": {401, 429}}.get(role, {403})
                assert status in refused, (method, path, role)
    assert {"GET", "POST", "DELETE"} <= seen
    for method, path in [("GET", "/"), ("GET", "/api/pictures"), ("DELETE", "/api/pictures/99")]:
        answer = client.request(method, path, headers={"Authorization": f"Bearer {KEY}"})
        assert answer.status_code in {200, 404}, (method, path, answer.text)


def test_no_change_is_made_for_another_site(served):
    client = served()
    del client.headers["X-Lookalike-Client"]
    before = len(client.app.state.collection)
    for method, path in every_route(client):
        if method in {"GET", "HEAD"}:
            continue
        for headers in ({}, {"Origin": "http://evil.example", **CLIENT}, {"Origin": "null"}):
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 403, (method, path)
    assert len(client.app.state.collection) == before


def test_pages_carry_the_token_that_changes_need(served):
    client = served()
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    token = re.search(r'<meta name="lookalike-token" content="([^"]+)"', page.text)[1]
    assert token == client.app.state.token
    del client.headers["X-Lookalike-Client"]
    browser = {"Origin": "http://127.0.0.1:8700", "Sec-Fetch-Site": "same-origin"}
    tokened = {**browser, "X-Lookalike-Token": token}
    assert client.delete("/api/pictures/99", headers=browser).status_code == 403
    assert client.delete("/api/pictures/99", headers=tokened).status_code == 404


def test_the_description_is_whole_and_pages_of_other_sites_are_off(served):
    client = served()
    told = client.get("/openapi.json").json()
    assert told["info"]["title"] == "lookalike"
    assert "/image/{number}" in told["paths"]
    for path, methods in told["paths"].items():
        for method, about in methods.items():
            answers = {"4XX", "422"} & set(about["responses"])
            assert answers, (method, path)
            for status in answers:
                schema = about["responses"][status]["content"]["application/json"]["schema"]
                assert schema["$ref"].endswith("/Problem"), (method, path)
    for path in ("/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404
    page = client.get("/docs").text
    assert all(path in page for path in told["paths"])
    assert "//cdn" not in page


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no <b>such</b> picture"), 404),
        (InvalidInput("no <b>such</b> thing"), 400),
        (CollectionBusy("in <b>use</b>"), 409),
        (RuntimeError("secret <b>x</b>"), 500),
        (MemoryError("secret"), 500),
    ],
)
def test_errors_are_told_without_traces(served, stand_in, error, status):
    client = served()

    def fail(*_args, **_options):
        raise error

    stand_in(Pictures, thumbnail=fail, get=fail, months=fail, browse=fail)
    for path in ("/thumbnail/1.jpg", "/api/pictures/1", "/"):
        for accept in ("text/html", "*/*"):
            answer = client.get(path, headers={"Accept": accept})
            assert answer.status_code == status, (path, answer.text)
            assert "secret" not in answer.text
            assert "Traceback" not in answer.text
            assert "content-security-policy" in answer.headers
            if answer.headers["content-type"].startswith("text/html"):
                assert "<b>such" not in answer.text
            else:
                assert set(answer.json()) == {"error"}


def test_uploads_are_limited_while_they_stream(served):
    client = served(Settings(max_upload_bytes=100_000))

    async def parts():
        for _ in range(50):
            yield b"x" * 10_000

    for path in ("/api/queries", "/api/pictures"):
        assert client.post(path, content=parts()).status_code == 413
        assert client.post(path, content=b"x" * 100_001).status_code == 413
        assert client.post(path, content=b"x" * 100).status_code in {400, 422}
    assert client.post("/api/votes", content=b" " * (2 << 20)).status_code == 413


# --- the command ---------------------------------------------------------------------------------


class Served:
    """A server in a process of its own, started and stopped by its id."""

    def __init__(self, *args, env=None, code=SERVE):
        own = code in (IMPATIENT, PATIENT)
        asked = [*map(os.fspath, args)] if own else ["serve", *args, "--json"]
        command = [sys.executable, "-c", code, *asked]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.told = json.loads(self.process.stdout.readline() or "{}")
        self.address = self.told.get("address", "")

    def stop(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        return self.ended()

    def ended(self):
        out, err = self.process.communicate(timeout=3000)
        return self.process.returncode, out, err


@pytest.fixture
def start(indexed):
    started = []

    def call(*args, **options):
        served = Served(indexed, "--port", "0", *args, **options)
        started.append(served)
        return served

    yield call
    for served in started:
        if served.process.poll() is None:
            served.process.kill()
            served.process.communicate()


def children(pid):
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for listed in threads for child in listed.read_text("ascii").split()]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops(start, indexed, sign):
    server = start()
    assert server.told["collection"] == str(indexed)
    assert server.told["pictures"] == 6
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.address)
    with httpx.Client(base_url=server.address, timeout=300) as client:
        assert client.get("/api/status").json()["pictures"] == 6
        assert client.get("/thumbnail/1.jpg").status_code == 200
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
        assert "server" not in client.get("/").headers
        assert client.head("/").status_code == 200
        sent = client.post("/api/queries", content=saved(scene(), "PNG"), headers=CLIENT)
        assert sent.status_code == 200
        decoders = children(server.process.pid)
        assert decoders
        code, out, err = server.stop(sign)  # with a connection still open
    assert (code, out) == (0, ""), err
    assert err == ""
    assert not any(alive(child) for child in decoders)


def test_it_stops_with_streams_and_jobs_under_way(start, indexed, tmp_path):
    from tests.service.pictures import draw

    for number in range(600):
        draw(tmp_path / "photos" / "many" / f"{number}.png", (90, 90, 90), 1000 + number)
    server = start()
    with httpx.Client(base_url=server.address, headers=CLIENT, timeout=300) as client:
        folder = str(tmp_path / "photos" / "many")
        job = client.post("/api/jobs", json={"kind": "import", "folder": folder}).json()
        followed = []

        def follow():
            with client.stream("GET", f"/api/jobs/{job['id']}/events") as stream:
                followed.extend(stream.iter_lines())

        thread = threading.Thread(target=follow)
        thread.start()
        while not followed:
            assert thread.is_alive()
            time.sleep(0.01)
        code, _, err = server.stop()
        thread.join(300)
        assert not thread.is_alive()
    assert code == 0, err
    assert err == ""
    assert followed
    with Collection.open(indexed) as store:
        assert 6 <= len(store) <= 606


def test_it_ends_its_decoders_even_when_killed(start):
    server = start()
    post(f"{server.address}api/queries", content=saved(scene(), "PNG"), headers=CLIENT)
    decoders = children(server.process.pid)
    assert decoders
    server.stop(signal.SIGKILL)
    until = time.monotonic() + 300
    while any(alive(child) for child in decoders):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture(scope="module")
def impatient(learned, tmp_path_factory):
    place = shutil.copytree(learned, tmp_path_factory.mktemp("impatient") / "store")
    server = Served(place, code=IMPATIENT)
    host, port = server.address.removeprefix("http://").rstrip("/").split(":")
    lines = []

    def connect(first):
        line = socket.create_connection((host, int(port)))
        lines.append(line)
        line.settimeout(300)
        line.sendall(first)
        return line

    yield connect
    code, _, err = server.stop()
    for line in lines:
        line.close()
    assert (code, err) == (0, "")


def received(line):
    """Read until the other side closes."""
    told = b""
    with suppress(ConnectionResetError):
        while part := line.recv(65536):
            told += part
    return told


HEAD = (
    b"POST /api/queries HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Lookalike-Client: 1\r\n"
    b"Content-Type: image/png\r\n"
)


def test_half_a_request_is_given_up(impatient):
    silent = impatient(b"")
    half = impatient(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    second = impatient(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HT")
    assert received(silent) == b""
    assert received(half) == b""
    assert b"200 OK" in received(second)


def test_a_body_that_never_comes_is_given_up(impatient):
    waiting = impatient(HEAD + b"Content-Length: 1000\r\n\r\n12345")
    told = received(waiting)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"content-security-policy" in told


def test_a_body_without_end_is_cut_off(impatient):
    line = impatient(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    with suppress(OSError):
        for _ in range(20_000):
            line.sendall(chunk)
            if select.select([line], [], [], 0)[0]:
                break
    assert line.recv(4096).startswith(b"HTTP/1.1 413 ")
    said = impatient(HEAD + b"Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n")
    assert said.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_bytes_that_are_no_http(start):
    server = start()
    host, port = server.address.removeprefix("http://").rstrip("/").split(":")
    for noise in (
        b"\x16\x03\x01\x02\0\x01\0",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a" * 99_999,
    ):
        with socket.create_connection((host, int(port))) as line:
            line.sendall(noise + b"\r\n\r\n")
            line.settimeout(300)
            assert b"Traceback" not in line.recv(1000)
    assert get(f"{server.address}api/status").status_code == 200


def test_keys_by_file_and_by_environment(start, tmp_path):
    (tmp_path / "key").write_text(f"{KEY}\n")
    env = {"LOOKALIKE_KEY": "another-key-of-some-length", "LOOKALIKE_READ_KEY": READ_KEY}
    server = start("--key-file", tmp_path / "key", env=env)
    address = f"{server.address}api/jobs"
    assert get(address).status_code == 401
    for key, status, change in (
        (KEY, 200, 422),
        (READ_KEY, 200, 403),
        (env["LOOKALIKE_KEY"], 401, 401),
    ):
        bearer = {"Authorization": f"Bearer {key}"}
        assert get(address, headers=bearer).status_code == status
        assert post(address, json={}, headers=bearer).status_code == change


def test_the_other_loopback_address(start):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this computer has no IPv6")
    server = start("--host", "::1")
    assert server.address.startswith("http://[::1]:")
    assert get(f"{server.address}api/status").status_code == 200


def error(*args):
    """Run the command, which must not start; give what it says."""
    app = typer.Typer(cls=Commands)
    app.command()(serve)
    app.command()(index)
    told = CliRunner().invoke(app, ["serve", *map(os.fspath, args)])
    assert told.exit_code == 1, told.output
    assert told.stdout == ""
    assert told.stderr.startswith("Error: ")
    assert told.stderr.count("\n") == 1
    return told.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "somewhere.example"])
def test_no_address_but_loopback_without_a_key(indexed, host):
    told = error(indexed, "--port", "0", "--host", host)
    assert "key" in told
    assert "127.0.0.1" in told


def test_a_name_that_leads_elsewhere_is_no_loopback(indexed, monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("0.0.0.0", 0))]
    monkeypatch.setattr(
        "lookalike.service.commands.serve.socket.getaddrinfo", lambda *_, **__: found
    )
    assert "a key is needed" in error(indexed, "--host", "localhost")


def test_a_port_in_use(indexed):
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = str(door.getsockname()[1])
        told = error(indexed, "--port", port)
    assert port in told
    assert "--port 0" in told


def test_what_cannot_be_served(indexed, tmp_path):
    nothing = tmp_path / "nothing"
    assert "there is no folder" in error(nothing / "store", "--port", "0")
    assert not nothing.exists()
    assert "--allow" in error(indexed, "--allow", nothing)
    assert "nothing" in error(indexed, "--key-file", nothing)
    nothing.write_bytes(b"\xff")
    assert "not ASCII" in error(indexed, "--key-file", nothing)
    nothing.write_text("")
    assert "16 ASCII characters" in error(indexed, "--key-file", nothing)


def test_answers_do_not_wait_to_be_confirmed():
    with listening(Settings(port=0)) as door:
        assert door.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def requests(path, count, **headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode() * count


def test_who_does_not_read_is_cut_off(pictures, indexed, model, run):
    noise = np.random.default_rng(0).integers(0, 255, (2400, 2400, 3), np.uint8)
    Image.fromarray(noise).save(pictures / "large.png")
    assert run("index", pictures, "-c", indexed).code == 0
    with Collection.open(indexed) as store:
        number = store.pictures.find(pictures / "large.png")
    server = Served(indexed, code=IMPATIENT)
    try:
        host, port = server.address.removeprefix("http://").rstrip("/").split(":")
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((host, int(port)))
            line.settimeout(300)
            line.sendall(requests(f"/image/{number}", 1))
            reset = select.poll()
            reset.register(line, 0)
            reset.poll(300_000)
            assert 0 < len(received(line)) < 10_000_000
        whole = get(f"{server.address}image/{number}")
        assert whole.content == (pictures / "large.png").read_bytes()
    finally:
        assert server.stop()[0] == 0


def test_few_requests_may_be_sent_ahead(impatient):
    told = received(impatient(requests("/static/theme.js", 200)))
    assert 1 <= told.count(b"HTTP/1.1 200") <= 20


def test_a_request_of_two_lengths_is_refused_and_closed(impatient):
    both = {"Content-Length": "4", "Transfer-Encoding": "chunked"}
    line = impatient(requests("/", 1, **both) + b"0\r\n\r\nGET /api/status HTTP/1.1\r\n\r\n")
    told = received(line)
    assert told.startswith(b"HTTP/1.1 400")
    assert told.count(b"HTTP/1.1") == 1


def test_half_open_connections_keep_nobody_out(learned, tmp_path):
    """However many there are, the oldest of them make room, long before they are too slow."""
    server = Served(shutil.copytree(learned, tmp_path / "store"), code=PATIENT)
    host, port = server.address.removeprefix("http://").rstrip("/").split(":")
    with ExitStack() as stack:
        stack.callback(server.stop)

        def connect(first):
            line = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            line.sendall(first)
            return line

        lines = [connect(b"GET / HT") for _ in range(MAX_PER_CLIENT + 5)]
        assert b"200" in connect(requests("/static/theme.js", 1)).recv(100)
        for line in lines[:5]:
            assert received(line) == b""


def test_https_by_files(start, tmp_path, run, indexed):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    wrong = run("serve", indexed, "--certificate", key, "--certificate-key", key)
    assert wrong.code != 0
    assert "--certificate-key" in wrong.err
    alone = run("serve", indexed, "--certificate", certificate)
    assert alone.code != 0
    assert "the private key of the certificate is missing" in " ".join(alone.err.split())
    assert "--certificate-key FILE" in " ".join(alone.err.split())
    assert "PEM lib" not in alone.err
    server = start("--certificate", certificate, "--certificate-key", key)
    assert server.address.startswith("https://")
    assert get(f"{server.address}api/status", verify=False).status_code == 200


def test_every_change_leaves_a_line(start, tmp_path):
    server = start("--audit", tmp_path / "audit.log")
    said = {"picture": 1, "word": "tea"}
    assert post(f"{server.address}api/tags", json=said, headers=CLIENT).status_code == 200
    assert post(f"{server.address}api/tags", json=said).status_code == 403
    assert get(f"{server.address}api/status").status_code == 200
    lines = (tmp_path / "audit.log").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("POST '/api/tags' 200, write by open, '' from 127.0.0.1")
    assert " 403, write by open, '' from 127.0.0.1" in lines[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file that is always full")
def test_where_no_line_can_be_written_nothing_is_changed(start):
    server = start("--audit", "/dev/full")
    said = {"picture": 1, "word": "tea"}
    answers = [post(f"{server.address}api/tags", json=said, headers=CLIENT) for _ in range(3)]
    assert [answer.status_code for answer in answers[1:]] == [503, 503]
    assert "Nothing was changed" in answers[1].json()["error"]
    assert get(f"{server.address}api/search?like=1").status_code == 200


def test_nothing_is_fetched_by_its_address(served, run, indexed, tmp_path):
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.3)
        url = f"http://127.0.0.1:{door.getsockname()[1]}/1.png"
        client = served()
        for method, path in every_route(client):
            if method in {"GET", "HEAD"}:
                client.request(method, f"{path}?like={url}&word={url}&name={url}&next={url}")
            else:
                for name in ("folder", "like", "picture", "url", "path"):
                    body = {"kind": "import", name: url}
                    client.request(method, path, json=body)
        run("index", url, "-c", indexed)
        run("search", url, "-c", indexed)
        with suppress(TimeoutError):
            asked.append(door.accept())
    assert asked == []


def test_archives_are_skipped_and_refused(served, run, indexed, pictures):
    import shutil
    import zipfile

    with zipfile.ZipFile(pictures / "more.zip", "w") as archive:
        archive.write(pictures / "0.png", "../../outside.png")
    told = run("index", pictures, "-c", indexed, "--json").json
    assert (told["added"], told["ignored"]) == (0, 1)
    shutil.copy(pictures / "more.zip", pictures / "more.png")
    told = run("index", pictures, "-c", indexed, "--json").json
    assert "unsupported format" in str(told["refused"])
    answer = served().post("/api/pictures", content=(pictures / "more.zip").read_bytes())
    assert answer.status_code == 422
    assert not (pictures.parent.parent / "outside.png").exists()
