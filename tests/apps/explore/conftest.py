"""Small fitted models, and the page of one of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads

pytest.importorskip("starlette")
pytest.importorskip("jinja2")
pytest.importorskip("python_multipart")
pytest.importorskip("httpx")

HOST = "http://127.0.0.1:8765"
NASTY = '<script>alert("x")</script>'
FEATURES = ["acid", "long name", "size", "=fat"]


def tables(m_A=60, m_B=45):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m_A, 4)), rng.standard_normal((m_B, 3))
    S = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((m_A, m_B))
    return S, A, B


def dyads_of(kind, m_A=60, m_B=45):
    """Links, grades of some pairs, or grades of all."""
    pd = pytest.importorskip("pandas")
    S, A, B = tables(m_A, m_B)
    row_ids = [f"d/{i}" for i in range(m_A - 2)] + [NASTY, "=1+2"]
    column_ids = [f"t {j}" for j in range(m_B - 1)] + ["../../etc/passwd"]
    A = pd.DataFrame(A, index=row_ids, columns=FEATURES)
    B = pd.DataFrame(B, index=column_ids, columns=list("xyz"))
    names = ("drug", "target")
    if kind == "links":
        return Dyads(sparse.csr_array((S > 1.5).astype(float)), A, B, names=names)
    if kind == "some":
        known = np.random.default_rng(1).random(S.shape) < 0.3
        return Dyads(sparse.csr_array(S * known), A, B, "stored", names=names)
    return Dyads(S, A, B, names=names)


def fitted(kind="links", **options):
    return AssociationModel(JDR(2), **{"head": "kernel", "bandwidth": 0.4, **options}).fit(dyads_of(kind))


@pytest.fixture(scope="package")
def model():
    return fitted()


@pytest.fixture(scope="package")
def session(model):
    from jointdr.apps.explore.session import Session

    return Session(model, ({"d/0": "First drug", "d/1": f"Second {NASTY}"}, {"t 3": "Third target"}), "a model")


@pytest.fixture(scope="package")
def client(session):
    from starlette.testclient import TestClient

    from jointdr.apps.explore.app import application

    return TestClient(application(session), base_url=HOST, raise_server_exceptions=False)


@pytest.fixture(scope="package")
def graded():
    """The page of a model that chose by itself, of tables with names and text, and a column of scores."""
    pd = pytest.importorskip("pandas")
    from jointdr.apps.explore.session import Session

    S, A, B = tables(40, 30)
    drugs = pd.DataFrame({"drug": [f"x{i}" for i in range(40)], "name": [f"drug no {i}" for i in range(40)]})
    drugs = drugs.assign(weight=A[:, 0], **{"class": np.where(A[:, 1] > 0, "acid", "base")})
    targets = pd.DataFrame({"target": [f"t{j}" for j in range(30)], "v": B[:, 0], "w": B[:, 1]})
    targets["family"] = np.where(B[:, 2] > 0, "gpcr", "kinase")
    i, j = np.nonzero(np.random.default_rng(1).random(S.shape) < 0.4)
    pairs = pd.DataFrame({"drug": drugs["drug"][i].to_numpy(), "target": targets["target"][j].to_numpy()})
    dyads = Dyads.from_tables(
        pairs.assign(pkd=6 + S[i, j]), drugs, targets, observed="stored", names=("drug", "target")
    )
    return Session(AssociationModel(uses=("rows", "pairs"), max_fits=3, random_state=0).fit(dyads))


def posted(client, text="", file=None, headers=None, **options):
    """Send the form."""
    files = {"text": (None, text)} if file is None else {"text": (None, text), "file": ("x.tsv", file)}
    return client.post("/new", files=files, headers={"Sec-Fetch-Site": "same-origin", **(headers or {})}, **options)
