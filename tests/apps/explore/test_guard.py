"""What the page refuses, and what every response carries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from jointdr.apps.explore.guard import LONGEST_BODY, Guard
from tests.apps.explore.conftest import HOST, posted

ADDRESSES = [
    "/",
    "/search?q=d",
    "/row?id=d%2F1",
    "/column?id=t+3",
    "/why?row=d%2F1&column=t+3",
    "/row.tsv?id=d%2F1",
    "/new",
]
ADDRESSES += [
    "/map.svg",
    "/static/explore.css",
    "/shared/style.css",
    "/nowhere",
    "/row",
    "/row?id=nobody",
    "/static/no",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_headers_of_every_response(client, address):
    headers = client.get(address).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"]
    assert "access-control-allow-origin" not in headers
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost@evil",
        "",
        "127.0.0.1:x",
        "[::1]",
        "10.0.0.1",
    ],
)
def test_other_hosts_are_refused(client, host):
    """A name that an attacker points at 127.0.0.1 must not get an answer."""
    response = client.get("/", headers={"Host": host})
    assert response.status_code == 400
    assert response.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8765", "LOCALHOST"])
def test_this_host_is_not(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_forms_of_other_sites_are_refused(client):
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}):
        assert posted(client, "1 2 3 4", headers=headers).status_code == 403
    files = {"text": (None, "1 2 3 4")}
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://127.0.0.1:8765"}):
        assert client.post("/new", files=files, headers=headers).status_code == 403
    # A browser that says both is believed in what a page cannot change.
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": HOST}
    assert client.post("/new", files=files, headers=headers).status_code == 403
    assert client.post("/new", files=files, headers={"Origin": HOST}, follow_redirects=False).status_code == 303


def test_other_sites_may_only_link_here(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/row?id=d%2F1", headers=headers).status_code == 403
    headers["Sec-Fetch-Mode"] = "navigate"
    assert client.get("/row?id=d%2F1", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(client, method):
    assert client.request(method, "/").status_code == 405


def test_posts_elsewhere_are_refused(client):
    assert client.post("/row?id=d%2F1", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 405


def test_a_long_body_is_refused_unread(session):
    """The length that is told is enough; nothing of the body is asked for."""
    scope = request_scope([(b"content-length", str(LONGEST_BODY + 1).encode())])
    sent = asked(Guard(never), scope, [])
    assert sent[0]["status"] == 413
    assert (b"x-frame-options", b"DENY") in sent[0]["headers"]
    for length in (b"x", b"-1", b"1e3", b"9" * 400):
        assert asked(Guard(never), request_scope([(b"content-length", length)]), [])[0]["status"] in (400, 413)


def test_a_long_body_of_unknown_length_is_cut_off(session):
    from jointdr.apps.explore.app import application

    head = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n'
    part = {"type": "http.request", "body": b"1" * 1_000_000, "more_body": True}
    parts = [{"type": "http.request", "body": head, "more_body": True}, *[part] * 50]
    scope = request_scope([(b"content-type", b"multipart/form-data; boundary=b")])
    sent = asked(application(session), scope, parts)
    assert sent[0]["status"] == 413
    assert len(parts) > 40  # most of it was never read


def test_websockets_are_refused(session):
    assert asked(Guard(never), {"type": "websocket", "headers": []}, []) == []


async def never(scope, receive, send):
    raise AssertionError("this should have been refused")


def request_scope(headers):
    return {
        "type": "http",
        "method": "POST",
        "path": "/new",
        "raw_path": b"/new",
        "query_string": b"",
        "root_path": "",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"127.0.0.1:8765"), (b"sec-fetch-site", b"same-origin"), *headers],
    }


def asked(app, scope, parts):
    """What an application sends, given the parts of a body, which are taken off the list as they are read."""
    sent = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent.append(message)

    # In a thread of its own, because playwright's loop may be running in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, app, scope, receive, send).result()
    return sent
