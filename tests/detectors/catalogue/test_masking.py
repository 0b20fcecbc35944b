"""Are secrets taken out of a line, and is the rest left alone?"""

import time
from collections.abc import Callable

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
    "a password that is a number": ('{"password": 12345678}', "12345678"),
    "a name and a value": ('env: {"name": "password", "value": "hunter2"}', "hunter2"),
    "a password of an environment": ("DB_PASS=hunter2 HOST=db1", "hunter2"),
    "a password under its short name": ('{"user": "anna", "pass": "hunter2"}', "hunter2"),
    "a user of curl": ("+ curl -fsS -u anna:hunter2 example.org/x", "hunter2"),
    "a user of curl, the long way": ("curl --user 'anna:hunter2' example.org", "hunter2"),
    "a password joined to its option": ("+ mysql -h db1 -phunter2 runs", "hunter2"),
    "a password for another program": ("sshpass -p hunter2 ssh n03", "hunter2"),
    "a slash in a password in an address": ("postgres://anna:hun/ter2@db1/runs", "ter2"),
    "a vendor's key": ("nvapi-" + "aB3-" * 12, "aB3-aB3"),
    "a dashboard's token": ("glsa_" + "aB3" * 12 + "_0a1b2c3d", "aB3aB3"),
    "a package registry's token": ("//registry/:_auth npm_" + "aB3" * 12, "aB3aB3"),
    "a hook": ("POST https://hooks.slack.com/services/T012/B345/aB3aB3aB3", "aB3aB3"),
    "a token after a colon": ("token: 0123abcd0123abcd", "0123abcd"),
    "a token under a longer name": ("TOKEN_PROD=0123abcd0123abcd0123", "0123abcd"),
    "a numbered token": ("HF_TOKEN_2=abcdefgh", "abcdefgh"),
    "a password in base64 without a header": ("sent basic dXNlcjpwYXNz", "dXNlcjpw"),
    "a key on one line": ('"-----BEGIN PRIVATE KEY-----\\nMIIabc\\nMIIdef\\n-----END PRIVATE KEY-----\\n"', "MII"),
    "a key on one line, without its end": ('"-----BEGIN PRIVATE KEY-----\\nMIIabc\\nMIIdef', "MII"),
    "a key with spaces for line ends": (
        "-----BEGIN PRIVATE KEY----- " + "MIIa" * 16 + " MIIz -----END PRIVATE KEY-----",
        "MII",
    ),
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
    "basic configuration1",
    "Basic BlockDiagram of the bearer authentication",
    "token_ids: [1, 2, 3] token_count: 12 token_type_ids=[0]",
    "Token: CUDA error: out of memory",
    "tokens: 1234 tokens_per_second=51234.5 num_tokens 7 token(s): 9",
    "per_token_loss: 3.1525 | next_token_loss=nan | token_loss: 1.2e-05 | token: 17 | token = 3",
    "eos_token='</s>' pad_token=[PAD] token=<unk> token: None",
    "--max-token 4096 --eos-token-id 2",
    "PASS=12 FAIL=0 forward_pass=12.5ms pass: 3",
    "curl -u anna example.org; docker run -u 1000:1000 image",
    "mysql --port 3306 -p",
    "tcp://10.4.1.22:29500/rank5@n03 timed out",
    '{"name": "loss", "value": "2.0"}, {"name": "token_count", "value": "12"}',
    "npm_config_registry=x nvapi-short",
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
        (
            {"password": 12345678, "token": 12, "password_length": 8},
            {"password": MASK, "token": 12, "password_length": 8},
        ),
        ([{"name": "DB_PASSWORD", "value": "a"}], [{"name": "DB_PASSWORD", "value": MASK}]),
        ({"name": "steps", "value": 3, "token_ids": "1 2"}, {"name": "steps", "value": 3, "token_ids": "1 2"}),
        ({"token_prod": "0123abcd0123abcd", "token_type": "bearer"}, {"token_prod": MASK, "token_type": "bearer"}),
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


def test_a_key_that_never_ends_hides_its_own_lines_and_no_more() -> None:
    text = f"{BEGINS}\n" + "MIIabc\n" * 50
    found = masked_copy(f"{text}step 2\n")
    assert "MII" not in found and found.endswith("\nstep 2\n") and len(found) == len(text) + 7


AFTER = {  # else a job that prints a first mark would blank the copies that are kept of its own log
    "quoted by an error": f"ValueError: no '{BEGINS}' in x\nKilled\nstep 2\n",
    "quoted at the end of a line": f"ValueError: cannot read {BEGINS}\nCUDA error: out of memory\nstep 2\n",
    "quoted with more of a line": f"{BEGINS} is missing\nKilled\nstep 2\n",
    "quoted on every line": f"{BEGINS} Killed by n03\n" * 20,
    "an empty line after it": f"{BEGINS}\n\nKilled\n",
    "two ends on one line": f"Killed by n03\n{ENDS}{ENDS} CUDA error\n",
    "an end behind words": f"CUDA error by n03 {ENDS}\n",
    "words between both marks": f"{BEGINS}, Killed by n03; {ENDS}\n",
    "an end alone": f"Killed by n03\n{ENDS} CUDA error\n",
}


@pytest.mark.parametrize("text", AFTER.values(), ids=AFTER.keys())
@pytest.mark.parametrize("mask", [masked, masked_copy])
def test_a_key_that_is_only_named_hides_nothing_else(mask: Callable[[str], str], text: str) -> None:
    words = ("ValueError", "Killed", "CUDA error", "step 2", " is missing", "by n03")
    assert [(word, mask(text).count(word)) for word in words] == [(word, text.count(word)) for word in words]
    assert mask(mask(text)) == mask(text)


def test_a_key_has_an_end_even_if_it_looks_on_like_one() -> None:
    assert masked_copy(f"{BEGINS}\n" + "Killed\n" * 1000).count("Killed") == 700
    assert masked(f"{BEGINS}\n" + "Killed\n" * 1000).count("Killed") == 700


@pytest.mark.parametrize("label", ["", "n03: ", "[rank5]:", "2026-11-30 06:52 n03 | "])
@pytest.mark.parametrize("ends", [True, False], ids=["whole", "cut off"])
@pytest.mark.parametrize("mask", [masked, masked_copy])
def test_an_encrypted_key_of_many_lines_behind_a_label(mask: Callable[[str], str], label: str, ends: bool) -> None:
    body = ["MIIEowIBAAKCAQEAw0123456789+/abc" * 2] * 40 + ["MIIz="]
    key = [BEGINS, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123ABCD", "", *body, *([ENDS] if ends else [])]
    text = "".join(f"{label}{line}\n" for line in ["step 1", *key, "step 2 of 9"])
    found = mask(text)
    assert "MII" not in found and "0123ABCD" not in found
    assert found.startswith(f"{label}step 1\n") and found.endswith(f"{label}step 2 of 9\n")
    assert mask(found) == found


def test_lines_inside_a_key_without_its_marks_stay() -> None:
    """Nothing tells them from other base64 with certainty."""
    text = ("MIIEowIBAAKCAQEAw0123456789+/abc" * 2 + "\n") * 5
    assert masked_copy(text) == text


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


HOSTILE = (
    *(
        "token",
        "token=",
        "token: a1",
        "--token ",
        "'--token',",
        "token_a: a1",
        "a",
        "-",
        "password=",
        "PASS=",
        '"pass":',
    ),
    *(
        "://",
        "a://",
        "a://b:c",
        "\"'",
        "\\",
        "curl ",
        "curl -u ",
        "mysql ",
        "mysql -p",
        "sshpass -p ",
        "basic AAAAaA1",
    ),
    *('"name":"password","value":', "eyJabcdef.", "hooks.slack.com/services/", "-----BEGIN ", f"{BEGINS} ", BEGINS),
    *(f"{BEGINS}\n", f"{BEGINS}\n{BODY}\n", f"{BODY}\n{ENDS}\n", f"{ENDS}\n"),
)


@pytest.mark.parametrize("mask", [masked, masked_copy])
@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_lines_take_no_long_time(part: str, mask: Callable[[str], str]) -> None:
    text = "token curl " + part * (60_000 // len(part))
    began = time.process_time()
    mask(text)
    assert time.process_time() - began < 1  # less than 0.1 s on a quiet machine; what is quadratic takes minutes
