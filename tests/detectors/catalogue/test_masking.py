"""Are secrets taken out of a line, and is the rest left alone?"""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.masking import MASK, masked, masked_json
from detectors.catalogue.masking import masked_copy, masked_in_place

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
    "JSON within JSON": (r'{"msg": "{\"password\": \"hunter2 and more\"}", "step": 3}', "hunter2"),
    "the rest of JSON within JSON": (r'{"msg": "{\"password\": \"hunter2 and more\"}", "step": 3}', "and more"),
    "a quote within quotes": (r'password="one\"two three" step', "two three"),
    "a command as Python shows it": ("Command '['wandb', 'login', '--api-key', 'abc def']' returned 1", "abc def"),
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
    assert masked(r'{"m": "{\"token\": \"x y\", \"n\": 1}"}') == rf'{{"m": "{{\"token\": {MASK}, \"n\": 1}}"}}'
    assert masked("['--token', 'x', '--lr', '1']") == f"['--token', {MASK}, '--lr', '1']"
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"
    assert masked(f"before\n{key}\nCUDA error") == f"before\n{MASK}\nCUDA error"


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"passwords": ["a", {"of": "b"}]}, {"passwords": [MASK, {"of": MASK}]}),
        ({"credentials": {"user": "a", "n": 1}}, {"credentials": {"user": MASK, "n": 1}}),
        ({"argv": ["run", "--api-key", "a", "--lr", "b"]}, {"argv": ["run", "--api-key", MASK, "--lr", "b"]}),
        ({"secret": [None, True, ""]}, {"secret": [None, True, ""]}),
    ],
)
def test_a_secret_in_json_is_masked_however_deep(value: object, stored: object) -> None:
    assert masked_json(value) == stored == masked_json(stored)


@settings(deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="token=:,'\\\" -ey.JAb/@", max_size=200))
def test_masking_twice_is_masking_once(line: str) -> None:
    assert masked(masked(line)) == masked(line)


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_in_place_no_byte_is_lost_or_added(line: str, secret: str) -> None:
    found = masked_in_place(line)
    assert secret not in found
    assert len(found.encode()) == len(line.encode())
    assert "*" in found or MASK in found


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_in_place_twice_is_once(line: str, secret: str) -> None:
    assert masked_in_place(masked_in_place(line)) == masked_in_place(line)


@pytest.mark.parametrize("value", ["[masked**hunter2", "**hunter2", "hunter2[masked]"])
def test_nobody_hides_a_secret_behind_a_mask(value: str) -> None:
    assert "hunter2" not in masked_in_place(f"password={value}")


@pytest.mark.parametrize("line", PLAIN)
def test_in_place_what_is_no_secret_stays(line: str) -> None:
    assert masked_in_place(line) == line


@settings(deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="token=:,'\\\" -ey.JAb/@é", max_size=200))
def test_in_place_it_masks_what_is_masked_and_is_as_long(line: str) -> None:
    bare = "".join(line.splitlines())
    found = masked_in_place(bare)
    assert len(found.encode("utf-8", "surrogatepass")) == len(bare.encode("utf-8", "surrogatepass"))
    assert (found == bare) is (masked(bare) == bare) or MASK in bare or "*" in bare


def test_a_copy_keeps_the_place_of_each_line() -> None:
    lines = ["step 1", "WANDB_API_KEY=0123456789abcdef0123", "step 2", "password=é", "step 3\r"]
    text = "\n".join(lines) + "\n"
    found = masked_copy(text)
    assert [found.encode().index(f"step {n}".encode()) for n in (1, 2, 3)] == [
        text.encode().index(f"step {n}".encode()) for n in (1, 2, 3)
    ]
    assert "0123456789" not in found and "é" not in found


def test_a_private_key_is_hidden_to_its_end() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIabc\nMIIdef\n-----END PRIVATE KEY-----\n"
    found = masked_copy(f"step 1\n{key}step 2\n")
    assert "MII" not in found
    assert found.startswith("step 1\n") and found.endswith("\nstep 2\n") and len(found) == len(key) + 14
    assert "step 2" in masked_copy("step 1\n-----END PRIVATE KEY-----\nstep 2\n")


BEGINS, ENDS = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
BODY = "MIIEowIBAAKCAQEAw0123456789\nMIIz4567890123456789abc\nMIIz=="


@pytest.mark.parametrize(
    "text",
    [
        f"step 1\n{BODY}\n{ENDS}\nstep 2\n",
        f"step 1\n{BODY}\n{ENDS}\n{BODY}\n{ENDS}\nstep 2\n",
        f"step 1\nn03: {BODY.splitlines()[0]}\nn03: {ENDS}\nstep 2\n",
        f"step 1\n{BEGINS}\n{BEGINS}\n{BODY}\n{ENDS}\nstep 2\n",
        f"step 1\nKEY={BEGINS}MIIabc{ENDS}\nstep 2\n",
    ],
    ids=["begun before", "two begun before", "behind a host", "begun twice", "on one line"],
)
def test_of_a_key_nothing_is_left_and_around_it_everything(text: str) -> None:
    found = masked_copy(text)
    assert "MII" not in found and len(found) == len(text)
    assert found.startswith("step 1\n") and found.endswith("\nstep 2\n")


def test_a_key_that_never_ends_hides_what_follows_and_no_more_than_it_was() -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIabc\n" * 50
    assert len(masked_copy(text)) == len(text) and "MII" not in masked_copy(text)


def test_in_json_names_tell_secrets_too() -> None:
    told = {
        "action": "requeue",
        "password": "hunter2",
        "nested": [{"apiKey": "abc", "line": "token=abc rest"}],
        "tokens": "51234",
        "steps": 3,
        "token": None,
    }
    assert masked_json(told) == {
        "action": "requeue",
        "password": MASK,
        "nested": [{"apiKey": MASK, "line": f"token={MASK} rest"}],
        "tokens": "51234",
        "steps": 3,
        "token": None,
    }


@pytest.mark.parametrize("part", ["token", "a", "password=", "://", "\"'"])
def test_hostile_lines_take_no_long_time(part: str) -> None:
    text = part * (100_000 // len(part))
    began = time.process_time()
    masked_in_place(text)
    assert time.process_time() - began < 5  # some 0.1 s; what is quadratic takes minutes
