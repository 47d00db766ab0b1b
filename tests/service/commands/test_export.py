"""The command ``lookalike export``."""

from lookalike.core.arrays import load_arrays


def test_export_writes_a_file_and_a_page(run, learned, tmp_path):
    out = tmp_path / "deep" / "[bold]gelernt.safetensors"
    ran = run("export", "--out", out, "-c", learned)
    assert ran.code == 0
    assert str(out) in ran.out
    arrays, manifest = load_arrays(out, kind="query_transform/3")
    assert manifest["similarity"] == "oasis"
    assert arrays
    page = out.with_name(out.name + ".md")
    assert manifest["recipe"] in page.read_text()
    told = run("export", "--out", tmp_path / "again.safetensors", "-c", learned, "--json").json
    assert told["file"] == str(tmp_path / "again.safetensors")
    assert told["recipe"] == f"{told['file']}.md"
    assert told["bytes"] == out.stat().st_size
    assert (tmp_path / "again.safetensors").read_bytes() == out.read_bytes()


def test_export_into_the_current_folder(run, learned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("export", "-c", learned).code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["learned.safetensors", "learned.safetensors.md"]


def test_export_says_what_is_wrong(run, learned, tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "x.bin", tmp_path / "file" / "x.safetensors"):
        ran = run("export", "--out", out, "-c", learned)
        assert ran.code == 1
        assert ran.out == ""
        assert ran.err.count("\n") == 1
    assert run("export", "--out", tmp_path / "x.safetensors", "-c", tmp_path / "no").code == 1
