"""The page /docs, and the files of the page: complete, plain HTML, and never of two versions."""

import json
import os
import re
from html.parser import HTMLParser

import pytest
from starlette.staticfiles import StaticFiles

from allgood.serve import app as app_module
from allgood.serve.docs import docs_html

from ..support.described import description
from ..support.serving import Client

VERBS = {
    "Add", "Ask", "Begin", "Check", "Compute", "Confirm", "Correct", "Create", "Delete", "Download",
    "Drop", "End", "Export", "Forecast", "Import", "List", "Preview", "Replace", "Report",
    "Restore", "Return", "Set", "Simulate", "Stream", "Tell", "Verify", "Withdraw",
}  # fmt: skip


class Reader(HTMLParser):
    """The ids, the links, the tags and the rows of tables of a page."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.links, self.tags, self.captions = [], [], [], {}
        self._caption, self._within = "", []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self._within.append(tag)
        if "id" in named:
            self.ids.append(named["id"])
        if tag in ("a", "link"):
            self.links.append(named["href"])

    def handle_endtag(self, tag):
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data):
        if self._within[-1:] == ["caption"]:
            self._caption = data
            self.captions[data] = []
        elif self._within[-2:] == ["td", "code"]:
            self.captions[self._caption].append(data)


@pytest.fixture(scope="module")
def page():
    return docs_html(description())


def operations():
    for path, methods in description()["paths"].items():
        for method, part in methods.items():
            yield path, method, part


def test_every_summary_starts_with_a_verb():
    for _, _, part in operations():
        first = part["summary"].split()[0]
        assert first in VERBS, part["summary"]
        assert not part["summary"].endswith(".")
        assert len(part["tags"]) == 1


def test_every_operation_and_every_field_is_shown(page):
    read = Reader(page)
    for path, method, part in operations():
        assert f"<b>{method.upper()}</b> {path}</code>" in page
        assert f"<h3>{part['summary']}</h3>" in page.replace("&#39;", "'")
    for name, schema in description()["components"]["schemas"].items():
        if "properties" in schema:
            assert read.captions[f"Fields of {name}"] == list(schema["properties"])


def test_links_lead_somewhere_and_nothing_is_run_or_loaded_from_elsewhere(page):
    read = Reader(page)
    assert len(set(read.ids)) == len(read.ids)
    for link in read.links:
        if link.startswith("#"):
            assert link[1:] in read.ids, link
        else:
            assert re.fullmatch(r"\./(#/\w*)?|docs|openapi\.json|static/[\w.]+", link)
    assert "script" not in read.tags
    assert not re.search(r"\son\w+=|style=", page)


def test_texts_of_a_description_are_escaped():
    described = json.loads(json.dumps(description()))
    described["paths"]["/v1/health"]["get"]["summary"] = "<script>alert(1)</script>"
    described["components"]["schemas"]["Health"]["description"] = "a < b & c"
    page = docs_html(described)
    assert "<script>" not in page
    assert "a &lt; b &amp; c" in page


def test_examples_are_commands(page):
    command = re.search(r"curl -X POST http://localhost:8765/v1/studies \\.*?</code>", page, re.S)[
        0
    ]
    text = command.replace("&#34;", '"').replace("&#39;", "'").removesuffix("</code>")
    example = json.loads(text.partition("-d '")[2].removesuffix("'"))
    assert example == description()["components"]["schemas"]["NewStudy"]["examples"][0]


def test_the_server_sends_it(tmp_path):
    with Client(tmp_path / "s.db") as client:
        answer = client.get("/docs")
        assert answer.headers["content-type"].startswith("text/html")
        assert b"<h1>HTTP interface</h1>" in answer.body


# ---- the files of the page


def test_a_browser_asks_whether_a_file_has_changed(tmp_path, monkeypatch):
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "a.js").write_text("export const a = 1;")
    os.utime(folder / "a.js", (1e9, 1e9))
    monkeypatch.setattr(app_module, "STATIC", folder)
    with Client(tmp_path / "s.db") as client:
        first = client.get("/static/a.js")
        assert (first.status, first.headers["cache-control"]) == (200, "no-cache")
        again = client.get("/static/a.js", if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        assert again.headers["cache-control"] == "no-cache"


def test_a_new_version_of_a_file_is_sent_even_with_the_old_time_and_size(tmp_path):
    """As in images whose files all have one time.  The control is a plain folder."""
    tags = {}
    for kind in (app_module.PageFiles, StaticFiles):
        for version in (1, 2):
            file = tmp_path / f"{version}.js"
            file.write_text(f"export const a = {version};")
            os.utime(file, (1e9, 1e9))
            scope = {"type": "http", "method": "GET", "headers": []}
            answer = kind(directory=tmp_path).file_response(file, file.stat(), scope)
            tags[kind, version] = answer.headers["etag"]
    assert tags[app_module.PageFiles, 1] != tags[app_module.PageFiles, 2]
    assert tags[StaticFiles, 1] == tags[StaticFiles, 2]
