"""Pictures leave the server as themselves, from their own places, and nothing else does."""

import base64
import io
import os
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from lookalike import Collection
from lookalike.images import content_hash
from lookalike.service.web.files import SHOWN_AS_THEY_ARE, may_show
from lookalike.service.web.pages import assets
from lookalike.service.web.settings import Settings
from tests.images.pictures import HEIC, saved, scene


def add(indexed, *paths):
    """Add files or folders; give the ids by file name."""
    with Collection.open(indexed) as store:
        store.add(paths)
        return {place.name: row.id for row in store.pictures.all() for place in row.places}


def test_thumbnails(served):
    client = served()
    address = client.get("/api/pictures/1").json()["thumbnail"]
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert Image.open(io.BytesIO(answer.content)).size == (24, 24)
    assert answer.content == client.app.state.collection.pictures.thumbnail(1)


def test_thumbnails_of_a_row_come_in_one_answer(served):
    client = served()
    names = [
        f"{number}-{client.get(f'/api/pictures/{number}').json()['thumbnail'].partition('=')[2]}"
        for number in (3, 1, 2)
    ]
    answer = client.get("/part/thumbnails", params={"of": names})
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    sent = [base64.b64decode(line) for line in answer.text.split("\n")]
    assert sent == [client.app.state.collection.pictures.thumbnail(number) for number in (3, 1, 2)]
    other = names[0].replace("3-", "2-")
    assert client.get("/part/thumbnails", params={"of": [*names, other]}).status_code == 404
    gone = names[0].replace("3-", "99-")
    assert client.get("/part/thumbnails", params={"of": [*names, gone]}).status_code == 404
    for bad in ([], ["3"], ["3-"], [f"{names[0]}0"], [f"x{names[0]}"], names * 5):
        assert client.get("/part/thumbnails", params={"of": bad}).status_code == 422, bad
    huge = names[0].replace("3-", f"{2**63}-")
    assert client.get("/part/thumbnails", params={"of": [huge]}).status_code == 400


def test_nothing_named_by_id_alone_is_kept_without_asking(served, pictures):
    client = served()
    address = client.get("/api/pictures/1").json()["thumbnail"]
    assert content_hash((pictures / "0.png").read_bytes()).startswith(address.partition("=")[2])
    for path in ("/thumbnail/1.jpg", "/image/1", "/api/pictures/1", "/", "/api/search?like=1"):
        assert client.get(path).headers["cache-control"] == "private, no-cache", path
    assert client.get("/thumbnail/1.jpg").content == client.get(address).content
    for other in ("/thumbnail/2.jpg", "/thumbnail/99.jpg"):
        answer = client.get(address.replace("/thumbnail/1.jpg", other))
        assert answer.status_code == 404
    assert client.get("/thumbnail/1.jpg?v=").status_code == 404


@pytest.mark.parametrize("path", ["/thumbnail/1.jpg", "/image/1"])
def test_what_a_client_has_is_not_sent_again(served, path):
    client = served()
    first = client.get(path)
    etag = first.headers["etag"]
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = client.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        assert again.headers["cache-control"] == first.headers["cache-control"]
    for other in ('"other"', etag.strip('"'), "", '""'):
        assert client.get(path, headers={"If-None-Match": other}).status_code == 200
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "content-type", "content-length"):
        assert head.headers[name] == first.headers[name]


NOWHERE = [
    *("/thumbnail/99.jpg", "/image/99", "/image/0", "/image/-1", "/image/1x"),
    *("/thumbnail/0.jpg", "/thumbnail/x.jpg", "/thumbnail/1", "/thumbnail/1.png"),
    *("/image/9223372036854775807", "/image/9223372036854775808", f"/image/{'9' * 5000}"),
    *("/image/1%00", "/image/..%2f..%2fetc%2fpasswd", "/query/x.jpg"),
    *(f"/query/u{'0' * 32}.jpg", f"/query/u{'0' * 31}%0a.jpg", "/static/nothing.css"),
    *("/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"),
]


@pytest.mark.parametrize("accept", ["*/*", "text/html"])
def test_what_is_not_there(served, accept):
    client = served()
    for path in NOWHERE:
        answer = client.get(path, headers={"Accept": accept})
        assert answer.status_code in {404, 422}, path
        page = answer.headers["content-type"].startswith("text/html")
        assert page is (accept == "text/html")
        assert page or answer.json()["error"]
        for secret in ("Traceback", 'File "', "root:", "import "):
            assert secret not in answer.text


def test_originals(served, pictures, indexed):
    names = add(indexed)
    answer = served().get(f"/image/{names['3.png']}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/png"
    assert answer.content == (pictures / "3.png").read_bytes()
    assert answer.headers["etag"] == f'"{content_hash(answer.content)}"'
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''3.png"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "HEIF"])
def test_formats_go_by_content_and_only_known_ones_as_they_are(served, indexed, tmp_path, kind):
    data = HEIC if kind == "HEIF" else saved(scene(), kind)
    file = tmp_path / "named like a page.html.png"
    file.write_bytes(data)
    number = add(indexed, file)[file.name]
    answer = served().get(f"/image/{number}")
    assert answer.status_code == 200
    kind_sent = answer.headers["content-type"]
    if kind in {"JPEG", "PNG", "GIF", "WEBP"}:
        assert (kind_sent, answer.content) == (SHOWN_AS_THEY_ARE[kind], data)
    else:
        assert kind_sent == "image/jpeg"
        assert Image.open(io.BytesIO(answer.content)).format == "JPEG"
        assert answer.headers["content-disposition"].endswith(".jpg")
    assert "svg" not in " ".join(SHOWN_AS_THEY_ARE.values())


def test_a_large_picture_of_an_odd_format_comes_smaller(served, indexed, tmp_path):
    (tmp_path / "wide.bmp").write_bytes(saved(scene(3000, 40), "BMP"))
    answer = served().get(f"/image/{add(indexed, tmp_path / 'wide.bmp')['wide.bmp']}")
    assert Image.open(io.BytesIO(answer.content)).size == (2048, 27)


def test_odd_names(served, indexed, pictures, tmp_path):
    name = os.fsdecode(b'caf\xe9 "; x=\r\n.png')
    shutil.copy(pictures / "1.png", tmp_path / "1.png")
    odd = Image.open(tmp_path / "1.png").rotate(90)
    odd.save(pictures / "odd.png")
    (pictures / "odd.png").rename(pictures / name)
    number = add(indexed, pictures)[name]
    answer = served().get(f"/image/{number}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].endswith("caf%E9%20%22%3B%20x%3D%0D%0A.png")
    (pictures / name).unlink()
    for accept in ("*/*", "text/html"):
        gone = served().get(f"/image/{number}", headers={"Accept": accept})
        assert gone.status_code == 404
        assert "caf" in gone.text


def test_a_file_that_has_gone_or_changed(served, indexed, pictures):
    names = add(indexed)
    client = served()
    (pictures / "0.png").unlink()
    gone = client.get(f"/image/{names['0.png']}")
    assert gone.status_code == 404
    assert "0.png" in gone.json()["error"]
    (pictures / "1.png").write_bytes(b"quite another thing")
    changed = client.get(f"/image/{names['1.png']}")
    assert changed.status_code == 410
    assert "Index it again" in changed.json()["error"]
    assert "quite another thing" not in changed.text
    (pictures / "2.png").unlink()
    (pictures / "2.png").mkdir()
    assert client.get(f"/image/{names['2.png']}").status_code == 404
    (pictures / "3.png").unlink()
    os.mkfifo(pictures / "3.png")
    assert client.get(f"/image/{names['3.png']}").status_code == 404


def test_a_copy_stands_in(served, indexed, pictures, tmp_path):
    (tmp_path / "more").mkdir()
    shutil.copy(pictures / "0.png", tmp_path / "more" / "copy.png")
    names = add(indexed, tmp_path / "more")
    assert names["copy.png"] == names["0.png"]
    (pictures / "0.png").write_bytes(b"changed")
    assert served().get(f"/image/{names['0.png']}").status_code == 200


def test_a_link_put_in_place_of_a_picture_shows_nothing_new(served, indexed, pictures, tmp_path):
    secret = tmp_path / "secret" / "passwords"
    secret.parent.mkdir()
    secret.write_text("hunter2")
    hidden = tmp_path / "secret" / "hidden.png"
    names = add(indexed)
    (pictures / "0.png").unlink()
    (pictures / "0.png").symlink_to(secret)
    shutil.copy(pictures / "1.png", hidden)
    (pictures / "1.png").unlink()
    (pictures / "1.png").symlink_to(hidden)
    (pictures / "2.png").unlink()
    (pictures / "2.png").symlink_to("2.png")
    client = served()
    for name in ("0.png", "1.png", "2.png"):
        answer = client.get(f"/image/{names[name]}")
        assert answer.status_code == 404, name
        assert "hunter2" not in answer.text
    assert "--allow" in client.get(f"/image/{names['1.png']}").json()["error"]
    allowed = served(Settings(allow=(tmp_path / "secret",)))
    assert allowed.get(f"/image/{names['1.png']}").status_code == 200
    assert allowed.get(f"/image/{names['0.png']}").status_code == 410


def test_a_parent_folder_turned_into_a_link(served, indexed, pictures, tmp_path):
    names = add(indexed)
    pictures.rename(tmp_path / "moved")
    (tmp_path / "photos").symlink_to(tmp_path / "moved")
    # The root itself is followed: it is what was named.
    assert served().get(f"/image/{names['0.png']}").status_code == 200


def test_a_file_added_by_name_is_its_own_root(served, indexed, tmp_path):
    alone = tmp_path / "elsewhere" / "alone.png"
    alone.parent.mkdir()
    scene().save(alone)
    beside = alone.with_name("beside.png")
    scene(20, 20).save(beside)
    number = add(indexed, alone)["alone.png"]
    assert served().get(f"/image/{number}").status_code == 200


def test_which_places_may_be_shown(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "in").mkdir(parents=True)
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root / "in")
    (tmp_path / "alias").symlink_to(root)
    assert may_show(root / "in" / "x.png", [root])
    assert may_show(root / "loop" / "x.png", [root])
    assert may_show(tmp_path / "alias" / "x.png", [root])
    assert may_show(root / "x.png", [tmp_path / "alias"])
    assert may_show(outside / "x.png", [root])  # named itself, by nobody but who indexed
    assert not may_show(root / "link" / "x.png", [root])
    assert not may_show(root / ".." / "outside" / "x.png", [root])
    assert may_show(root / "link" / "x.png", [root, outside])
    twin = tmp_path / "root-twin"
    twin.mkdir()
    (root / "twin").symlink_to(twin)
    assert not may_show(root / "twin" / "x.png", [root])


def test_limits_hold_for_files_too(served, indexed):
    from lookalike.images import Limits

    small = served(Settings(limits=Limits(max_bytes=50)))
    answer = small.get("/image/1")
    assert answer.status_code == 404
    assert "too large" in answer.json()["error"]


def test_static_files(served):
    client = served()
    answer = client.get("/static/page.js")
    assert answer.status_code == 200
    assert "javascript" in answer.headers["content-type"]
    assert answer.headers["cache-control"] == "private, no-cache"
    again = client.get("/static/page.js", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    named = re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text)
    assert len(named) == 4, "few files, since a browser fetches few at once"
    for path in named:
        fixed = client.get(path)
        assert fixed.status_code == 200
        assert "immutable" in fixed.headers["cache-control"]
    # A page from before an update still finds its files, which may have changed.
    assert client.get("/static/0123/page.js").headers["cache-control"] == "private, no-cache"
    for path in ("/static/", "/static/README.md", "/static/0123/README.md"):
        assert client.get(path).status_code == 404


def test_one_script_has_all_of_them(served):
    client = served()
    script, style = (client.get(f"/static/{name}").text for name in ("page.js", "style.css"))
    assert not re.search(r"^(import|export) ", script, re.MULTILINE), "modules are functions in it"
    for file in sorted(Path(assets.__file__).with_name("static").glob("*.js")):
        if file.stem not in ("theme", "htmx.min"):
            assert script.count(f"const ${file.stem} = (") == 1, "each once"
    assert script.index("const $requests") < script.index("= $requests"), "before it is used"
    assert style.index(".top {") < style.index(".many {")
