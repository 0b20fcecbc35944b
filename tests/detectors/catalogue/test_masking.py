"""Are secrets taken out of a line, and is the rest left alone?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.catalogue.masking import MASK, masked

SECRETS = {
    "a password in an option": ("mysql --password hunter2-and-more -u root", "hunter2"),
    "a password with an equals sign": ("db password=hunter2 host=db1", "hunter2"),
    "a name before it": ("WANDB_API_KEY=0123456789abcdef0123", "0123456789"),
    "in JSON": ('{"api_key": "very secret text", "step": 3}', "secret text"),
    "in a dictionary of Python": ("{'hf_token': 'abc def', 'lr': 0.1}", "abc def"),
    "a header": ("Authorization: Bearer abc.def.ghi", "abc.def"),
    "a header in basic form": ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    "a bearer without a header": ("curl sent bearer abcdefgh12345", "abcdefgh"),
    "a user in an address": ("fetching https://anna:hunter2@example.org/x", "hunter2"),
    "a token in an address": ("git clone https://abcdef012345@example.org/x.git", "abcdef012345"),
    "a token in a query": ("GET https://example.org/x?access_token=abc123&step=7", "abc123"),
    "a hub's token": ("login with hf_" + "aB3" * 12, "aB3aB3"),
    "a forge's token": ("remote: ghp_" + "aB3" * 12, "aB3aB3"),
    "a cloud's key": ("using AKIA" + "ABCD" * 4, "ABCDABCD"),
    "a cloud's secret": ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "wJalr"),
    "a signed token": ("cookie eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl rest", "c2lnbmF0"),
    "a token of ours": ("PUT with rekindle_" + "x9" * 20, "x9x9"),
    "a private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n", "MIIabc"),
    "a quote that is cut off": ("password='half of it", "half"),
}
PLAIN = (
    "n03: [rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "iteration 120/2000 | tokens per second: 51234 | lm loss: 2.10",
    "NCCL WARN NET/IB : Got completion from peer 10.4.1.22<43210> with status=12 opcode=0 len=0 vendor err 129",
    "KeyError: 'tokenizer.model'",
    "see https://example.org/docs#errors",
    "Permission denied: '/data/secrets.txt'",
    "max_tokens=4096 tokenizer: llama",
    "basic block 7 of kernel",
    "",
)


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_masked(line: str, secret: str) -> None:
    assert secret in line and secret not in masked(line) and MASK in masked(line)


@pytest.mark.parametrize("line", PLAIN)
def test_what_is_no_secret_stays(line: str) -> None:
    assert masked(line) == line


def test_what_stands_around_a_secret_stays() -> None:
    assert masked("step 3 password=x, lr=0.1") == f"step 3 password={MASK}, lr=0.1"
    assert masked("https://a:b@h/p failed") == f"https://{MASK}@h/p failed"


@settings(deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="token=:'\" -ey.JAb/@", max_size=200))
def test_masking_twice_is_masking_once(line: str) -> None:
    assert masked(masked(line)) == masked(line)
