"""Published examples of signed resumes: every verifier takes the good ones and refuses the bad ones (R-39)."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess

import pytest

from agentbridge.wire import jws, signature
from tests import source
from tests.agentbridge import signature_vectors

OWNERS = source.ROOT / "docs" / "owners"
VECTORS = json.loads((OWNERS / "signature-vectors.json").read_text("utf-8"))
RUNNER = """
import { readFileSync } from "node:fs";
import { verify } from "./verify_decision.mjs";
const told = JSON.parse(readFileSync("signature-vectors.json", "utf-8"));
const accepts = (one) => {
  try { verify(JSON.parse(one.resume), { ...told, ...one }); return true; } catch (problem) { return false; }
};
console.log(JSON.stringify([...told.good, ...told.bad].map((one) => [one.name, accepts(one)])));
"""


def name_of(vector):
    return vector["name"]


def judged(vector) -> list[dict]:
    """By the module that the guard uses."""
    asked = [
        signature.Asked(
            thread_id=one["threadId"], run_id=one["runId"], interrupt_id=one["interruptId"],
            raw=one["interrupt"] and one["interrupt"].encode(), proposal=one["proposal"] and one["proposal"].encode(),
        )
        for one in vector["asked"]
    ]  # fmt: skip
    keys = jws.read_jwks(VECTORS["jwks"])
    trust = signature.Trust(issuer=VECTORS["issuer"], audience=VECTORS["audience"], keys=keys)
    return signature.verify(json.loads(vector["resume"]), asked=asked, trust=trust, now=vector["now"])


@pytest.fixture(scope="module")
def sample():
    """`verify_decision.py` as an agent's owner copies it: without us."""
    spec = importlib.util.spec_from_file_location("verify_decision", OWNERS / "verify_decision.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_sample(sample, vector):
    encoded = [
        {**one, **{name: one[name] and one[name].encode() for name in ("interrupt", "proposal")}}
        for one in vector["asked"]
    ]
    told = {name: VECTORS[name] for name in ("jwks", "issuer", "audience")}
    return sample.verify(json.loads(vector["resume"]), asked=encoded, now=vector["now"], **told)


def test_the_vectors_are_what_we_sign_today():
    assert json.loads(json.dumps(signature_vectors.document())) == VECTORS
    assert len(VECTORS["good"]) >= 30
    assert len(VECTORS["bad"]) >= 60


@pytest.mark.parametrize("vector", VECTORS["good"], ids=name_of)
def test_a_good_one_is_accepted(sample, vector):
    assert judged(vector) == by_sample(sample, vector)


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=name_of)
def test_a_bad_one_is_refused(sample, vector):
    with pytest.raises(signature.Refused):
        judged(vector)
    with pytest.raises(ValueError, match=r"."):
        by_sample(sample, vector)


@pytest.mark.node
def test_the_script_for_node_judges_alike(tmp_path):
    for name in ("verify_decision.mjs", "signature-vectors.json"):
        shutil.copy(OWNERS / name, tmp_path)
    (tmp_path / "run.mjs").write_text(RUNNER)
    run = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    accepted = [[one["name"], True] for one in VECTORS["good"]]
    assert json.loads(run.stdout) == accepted + [
        [one["name"], False] for one in VECTORS["bad"]
    ]


def test_the_sample_fits_on_one_screen():
    lines = (OWNERS / "verify_decision.py").read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 60
