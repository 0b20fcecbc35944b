"""Does the page of a log show what stands there, no more than it may, and nothing that acts?"""

import bz2
import gzip
import lzma
import os
import re
from datetime import datetime
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from console.log_key import log_key
from console.log_lines import PART, ROWS_SHOWN, rows_of, searched
from detectors.gathering import ask, load, stream_key
from detectors.log_windows import PIECE
from detectors.models import Excerpt, Feed, Observation
from detectors.sources.files import FileSource
from detectors.sources.source import Known, Stream
from detectors.storing import RANK_HOSTS
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Attempt, Cluster, Job

LINES = [f"[n01:0] iteration {number}/9000 | elapsed 2.0 s | loss 2.{number}" for number in range(3000)]


@pytest.fixture
def attempt(rows: Sample, tmp_path: Path) -> Attempt:
    """An attempt whose logs this process may read."""
    found = rows.recovered.attempts.get(index=1)
    Job.objects.filter(pk=found.job_id).update(
        user_id=os.getuid(), stdout=str(tmp_path / "logs" / "slurm-%j.out"), work_dir=str(tmp_path)
    )
    Cluster.objects.filter(pk=rows.cluster.pk).update(log_roots=[str(tmp_path / "logs")])
    (tmp_path / "logs").mkdir()
    return Attempt.objects.select_related("job__cluster").get(pk=found.pk)


def read(attempt: Attempt, path: Path, now: datetime) -> Feed:
    """What the detectors store when they have read a file to its end."""
    source, position = FileSource(), {}
    asked = ask(attempt, load([attempt]))
    for _turn in range(100):
        portion = source.read(asked, Stream(str(path)), Known(own=position), 1 << 20, now)
        assert not portion.trouble, portion.trouble
        if portion.position is None:
            break
        position = portion.position
    return Feed.objects.update_or_create(
        cluster=attempt.job.cluster,
        attempt=attempt,
        source="files",
        stream=str(path),
        stream_key=stream_key(str(path)),
        defaults={"position": position},
    )[0]


@pytest.fixture
def log(attempt: Attempt, tmp_path: Path, now: datetime) -> Path:
    path = tmp_path / "logs" / "slurm-4711.out"
    path.write_text("\n".join(LINES) + "\n")
    read(attempt, path, now)
    return path


def page(client: Client, path: Path, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/jobs/demo/4711/0/attempts/1/logs/{log_key(str(path))}{query}")
    assert answer.status_code == status
    return answer.content.decode()


ROW = re.compile(r'<li id="b(\d+)".*?<code class="log">(.*?)</code>', re.DOTALL)


def lines_in(text: str) -> list[tuple[int, str]]:
    """Offset and text of the rows, stand-ins and all."""
    return [(int(offset), unescape(re.sub(r"<[^>]+>", "", code))) for offset, code in ROW.findall(text)]


def test_it_opens_at_the_byte_with_what_stands_around_it(as_operator: Client, log: Path) -> None:
    offset = log.read_text().index(LINES[1500])
    text = page(as_operator, log, f"?at={offset + 5}")
    shown = lines_in(text)
    assert (offset, LINES[1500]) in shown
    assert 'class="asked"' in text.partition(f'id="b{offset}"')[2].partition(">")[0]
    assert text.count('id="asked"') == 1
    assert ">1501</a>" in text, "the number of its line"
    before = [line for at, line in shown if at < offset]
    assert before == LINES[1500 - len(before) : 1500] and len(before) >= 100


def walked(client: Client, path: Path, query: str, link: str) -> list[tuple[int, str]]:
    """All rows from a place on, by the links of the page."""
    found: list[tuple[int, str]] = []
    for _page in range(300):
        text = page(client, path, query)
        shown = lines_in(text)
        found = [*found, *shown] if link == "Newer" else [*shown, *found]
        href = re.search(rf'href="[^"]*(\?[^"]*)">{link} lines', text)
        if href is None:
            return found
        query = unescape(href[1])
    raise AssertionError("the pages have no end")


@pytest.mark.parametrize(("query", "link"), [("?from=0", "Newer"), ("", "Older")])
def test_its_pages_leave_nothing_out_and_show_nothing_twice(
    query: str, link: str, as_operator: Client, log: Path
) -> None:
    assert [line for _at, line in walked(as_operator, log, query, link)] == LINES


def test_a_line_of_a_megabyte_is_shown_in_parts_and_has_an_end(
    as_operator: Client, attempt: Attempt, tmp_path: Path, now: datetime
) -> None:
    path = tmp_path / "logs" / "long.out"
    long = "".join(f"{number:07d} " for number in range(125_000))
    path.write_text(f"first\n{long}\nlast\n")
    read(attempt, path, now)
    found = dict(walked(as_operator, path, "?from=0", "Newer"))
    assert "".join(found[at] for at in sorted(found)) == f"first{long}last"
    text = page(as_operator, path, "?at=500000")
    assert len(text) < 4 * PIECE
    assert any(at <= 500_000 < at + PART for at, _line in lines_in(text))


def test_a_hundred_thousand_empty_lines_are_shown_piece_by_piece(
    as_operator: Client, attempt: Attempt, tmp_path: Path, now: datetime
) -> None:
    path = tmp_path / "logs" / "empty.out"
    path.write_bytes(b"\n" * 100_000 + b"the end\n")
    read(attempt, path, now)
    shown = lines_in(page(as_operator, path))
    assert len(shown) == ROWS_SHOWN
    assert shown[-1] == (100_000, "the end")


def test_what_was_not_read_yet_is_not_shown(as_operator: Client, log: Path) -> None:
    with log.open("a") as file:
        file.write("this may be the next attempt's\n")
    assert "next attempt" not in page(as_operator, log)


def test_a_file_that_was_shortened_says_so_and_its_copy_is_shown(
    as_operator: Client, attempt: Attempt, log: Path, now: datetime
) -> None:
    Excerpt.objects.create(
        attempt=attempt, stream=str(log), offset=700, text="kept before\nkept itself\n", why="end", kept_at=now
    )
    log.write_text("something else of somebody else\n" * 9000)
    text = page(as_operator, log, "?at=712")
    assert "shortened or written anew since it was read" in text
    assert lines_in(text) == [(700, "kept before"), (712, "kept itself")]
    assert "something else" not in text


def test_a_file_that_was_renamed_is_found_by_what_it_holds(as_operator: Client, log: Path) -> None:
    log.rename(log.with_name(log.name + ".1"))
    log.write_text("the new one\n")
    text = page(as_operator, log, "?at=0")
    assert "renamed or packed since: this is read from <bdi>slurm-4711.out.1</bdi>" in text
    assert lines_in(text)[0] == (0, LINES[0])


PACKINGS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKINGS)
@pytest.mark.parametrize("name", ["{}.{}", "{}.1.{}", "{}-20261130.{}"])
def test_a_file_that_was_packed_is_opened_at_the_byte_of_its_text(
    name: str, kind: str, as_operator: Client, log: Path
) -> None:
    text = log.read_bytes()
    packed = log.with_name(name.format(log.name, kind))
    packed.write_bytes(PACKINGS[kind](text))
    log.unlink()
    at = text.index(LINES[2000].encode())
    shown = page(as_operator, log, f"?at={at + 3}")
    assert f"read from <bdi>{packed.name}</bdi>" in shown and ">2001</a>" in shown
    assert 'class="asked"' in shown.partition(f'id="b{at}"')[2].partition(">")[0]
    assert (at, LINES[2000]) in lines_in(shown)
    assert [line for _at, line in walked(as_operator, log, "?from=0", "Newer")] == LINES


def test_a_log_goes_on_after_it_was_packed_and_written_anew(as_operator: Client, log: Path) -> None:
    log.with_name(f"{log.name}.1.gz").write_bytes(gzip.compress(log.read_bytes() + b"not read yet\n"))
    log.write_text("the new one\n")
    shown = page(as_operator, log)
    assert lines_in(shown)[-1][1] == LINES[-1], "no further than it was read"


def test_a_bomb_of_zeros_is_refused_with_a_sentence(as_operator: Client, log: Path) -> None:
    head = log.read_bytes()
    Feed.objects.filter(stream=str(log)).update(
        position=Feed.objects.get(stream=str(log)).position | {"offset": 100 << 20}
    )
    log.with_name(f"{log.name}.1.gz").write_bytes(gzip.compress(head + bytes(100 << 20), 9))
    log.unlink()
    shown = page(as_operator, log, "?at=0")
    assert "unpacks to more than 300 times its size, as no log does, so it is not opened" in shown
    assert lines_in(shown) == []


def test_more_than_is_unpacked_for_a_page_is_refused_with_a_sentence(as_operator: Client, log: Path) -> None:
    Feed.objects.filter(stream=str(log)).update(
        position=Feed.objects.get(stream=str(log)).position | {"offset": (128 << 20) + 1}
    )
    log.with_name(f"{log.name}.1.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    assert "more than the 128 MB that are unpacked for a page. Unpack it to read it." in page(as_operator, log)


@pytest.mark.parametrize(("others", "found"), [(1, True), (20, False)])
def test_of_many_packed_files_that_begin_like_the_log_only_some_are_unpacked(
    others: int, found: bool, as_operator: Client, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = log.read_bytes()
    monkeypatch.setattr("detectors.unpacked_windows.UNPACKED_AT_MOST", len(text) + 10_000)
    log.with_name(f"{log.name}.50.gz").write_bytes(gzip.compress(text))
    for number in range(1, others + 1):  # looked at before the older one
        like_it = text[:-300] + b"x" * 300
        log.with_name(f"{log.name}.{number}.gz").write_bytes(gzip.compress(like_it))
    log.unlink()
    assert bool(lines_in(page(as_operator, log, "?at=0"))) is found


@pytest.mark.parametrize("way", ["another's text", "half of it", "no gzip", "link", "another user's"])
def test_what_is_not_this_log_is_not_opened_packed_either(
    way: str, as_operator: Client, attempt: Attempt, log: Path, tmp_path: Path
) -> None:
    text, packed = log.read_bytes(), log.with_name(f"{log.name}.1.gz")
    whole = gzip.compress(text.replace(b"loss", SECRET.encode()) if way == "another's text" else text)
    packed.write_bytes({"half of it": whole[: len(whole) // 2], "no gzip": text}.get(way, whole))
    if way == "link":
        packed.rename(tmp_path / "elsewhere.gz")
        packed.symlink_to(tmp_path / "elsewhere.gz")
    if way == "another user's":
        Job.objects.filter(pk=attempt.job_id).update(user_id=os.getuid() + 1)
    log.unlink()
    shown = page(as_operator, log, "?at=0")
    assert lines_in(shown) == [] and "The log itself is not shown." in shown and SECRET not in shown


def test_a_file_that_is_gone_says_so(as_operator: Client, log: Path) -> None:
    log.unlink()
    text = page(as_operator, log)
    assert "not there any more" in text and "Nothing was kept of it" in text


SECRET = "of another user's file"  # what must not be shown


@pytest.mark.parametrize("way", ["link", "folder link", "roots", "no owner", "owner"])
def test_what_the_detectors_may_not_read_is_not_shown_either(
    way: str, as_operator: Client, attempt: Attempt, log: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / log.name).write_text(log.read_text().replace("loss", SECRET))
    if way == "link":
        log.unlink()
        log.symlink_to(outside / log.name)
    elif way == "folder link":
        log.parent.rename(tmp_path / "was")
        log.parent.symlink_to(outside)
    elif way == "roots":
        Cluster.objects.filter(name="demo").update(log_roots=[str(outside)])
    else:
        Job.objects.filter(pk=attempt.job_id).update(user_id=None if way == "no owner" else os.getuid() + 1)
    text = page(as_operator, log)
    assert "The log itself is not shown." in text
    assert lines_in(text) == []
    assert SECRET not in text and str(outside) not in text


@pytest.mark.parametrize("key", ["0" * 16, "etc-passwd", "x" * 60])
def test_an_address_names_no_file(key: str, as_operator: Client, log: Path) -> None:
    answer = as_operator.get(f"/jobs/demo/4711/0/attempts/1/logs/{key}")
    assert answer.status_code == 404
    assert "This log is not known any more" in answer.content.decode()


def test_the_log_of_one_attempt_is_not_that_of_another(as_operator: Client, log: Path) -> None:
    assert as_operator.get(f"/jobs/demo/4711/0/attempts/0/logs/{log_key(str(log))}").status_code == 404
    assert as_operator.get(f"/jobs/demo/4712/0/attempts/0/logs/{log_key(str(log))}").status_code == 404
    assert as_operator.get(f"/jobs/demo/4711/0/attempts/7/logs/{log_key(str(log))}").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["?at=-1", "?at=999999999999999999", "?at=1e9", "?from=99999999", "?before=0", "?at=\u0663", "?copy=1&q=%00"],
)
def test_any_place_gives_a_page(query: str, as_operator: Client, log: Path) -> None:
    page(as_operator, log, query)


def test_a_place_beyond_the_end_is_said(as_operator: Client, log: Path) -> None:
    text = page(as_operator, log, "?at=99999999")
    assert "Byte 99999999 is not in what was read of the log" in text
    assert lines_in(text)[-1][1] == LINES[-1]


def test_nothing_in_a_log_acts(as_operator: Client, attempt: Attempt, tmp_path: Path, now: datetime) -> None:
    path = tmp_path / "logs" / "hostile.out"
    path.write_bytes(
        f"{sample.HOSTILE}\n".encode()
        + b"\x00\x01\xff\xfe binary \x1b]0;title\x07\n"
        + b"</code></li><script>alert(2)</script> {{ 7|add:1 }} {% include 'x' %}\n"
        + "\u202eevil \u2066 zero\u200bwidth \ud7ff e\u0301\u0301\u0301\u0301\u0301\n".encode()
        + b'"><img src=x onerror=alert(3)>\n'
    )
    read(attempt, path, now)
    for query in ("?at=0", "?q=script", "?q=%3Cscript%3E", '?q="><img'):
        text = page(as_operator, path, query)
        assert "<script>alert" not in text and "<img src=x" not in text
        for acting in ("\x1b", "\x07", "\u202e", "\u2066", "\u200b", "\x00"):
            assert acting not in text
    shown = lines_in(page(as_operator, path))
    assert "{{ 7|add:1 }} {% include 'x' %}" in shown[2][1]
    raw = path.read_bytes()
    assert [at for at, _line in shown] == [0, *(found.end() for found in re.finditer(rb"\n", raw))][:-1]


def test_secrets_are_masked_also_where_they_begin_before_the_piece(
    as_operator: Client, attempt: Attempt, tmp_path: Path, now: datetime
) -> None:
    path = tmp_path / "logs" / "secrets.out"
    key = ["-----BEGIN RSA PRIVATE KEY-----", *(f"MIIEow{n:04d}" + "A" * 54 for n in range(60))]
    text = "\n".join(
        ["x" * 60] * 40 + key + ["-----END RSA PRIVATE KEY-----", "token=hf_abcdefghijklmnopqrstuv", "z"]
    )
    path.write_text(text + "\n")
    read(attempt, path, now)
    for start in range(0, len(text), 997):
        shown = page(as_operator, path, f"?from={start}")
        assert "MIIEow" not in shown and "hf_abcdef" not in shown, start
    assert lines_in(page(as_operator, path))[-1][1] == "z"


def test_what_is_searched_for_is_marked_and_counted(as_operator: Client, log: Path) -> None:
    text = page(as_operator, log, "?at=0&q=ITERATION+7")
    assert "<mark>iteration 7</mark>" in text
    number = len([line for line in LINES[:400] if "iteration 7" in line])
    assert f"{number} of the 400 lines below hold it" in text
    assert "None of the 400 lines below holds it" in page(as_operator, log, "?at=0&q=(a%2B)%2B%24")


def test_pieces_of_a_search_are_the_text() -> None:
    assert searched("aXbxc", "x") == (("a", False), ("X", True), ("b", False), ("x", True), ("c", False))
    assert searched("abc", "") == (("abc", False),)
    assert searched("(((", "(") == (("(", True),) * 3


def test_offsets_inside_a_long_line_are_those_of_its_bytes() -> None:
    line = "ä" * (2 * PART + 10)
    rows = rows_of(f"{line}\nend\n".encode(), 0, 0, 1)
    assert [(row.offset, row.number) for row in rows] == [
        (0, 1), (2 * PART, None), (4 * PART, None), (4 * PART + 21, 2)
    ]  # fmt: skip


def test_who_speaks_is_said_where_it_is_known(
    as_operator: Client, attempt: Attempt, tmp_path: Path, now: datetime
) -> None:
    Observation.objects.create(attempt=attempt, topic=RANK_HOSTS, key="all", value={"8": "n02"}, at=now)
    path = tmp_path / "logs" / "who.out"
    path.write_text("8: step 1\nnothing known\n")
    read(attempt, path, now)
    assert re.findall(r'class="speaker">(.*?)</span>', page(as_operator, path)) == ["rank 8 n02"]


def test_lines_of_a_store_are_shown_as_far_as_they_were_kept(
    as_operator: Client, attempt: Attempt, now: datetime
) -> None:
    cluster = attempt.job.cluster
    Feed.objects.create(
        cluster=cluster,
        attempt=attempt,
        source="loki",
        stream="/x",
        stream_key=stream_key("/x"),
        position={"offset": 9},
    )
    text = page(as_operator, Path("/x"))
    assert "come from another source than a file" in text


def test_the_logs_of_an_attempt_are_listed(as_operator: Client, log: Path) -> None:
    text = as_operator.get("/jobs/demo/4711/0/attempts/1/logs").content.decode()
    assert str(log) in text and f"byte {log.stat().st_size}" in text
    assert "Nothing is known of a log" in as_operator.get("/jobs/demo/4712/0/attempts/0/logs").content.decode()


def test_a_verdict_leads_into_its_log(as_operator: Client, rows: Sample) -> None:
    text = as_operator.get("/jobs/demo/4711/0").content.decode()
    link = f"/jobs/demo/4711/0/attempts/0/logs/{log_key(sample.LOG)}?at=82400#asked"
    assert link in text
    shown = as_operator.get(link).content.decode()
    assert (82400, sample.ECC) in lines_in(shown), "the file is not there, its copy is"


def test_a_stranger_reads_no_log(client: Client, log: Path) -> None:
    for tail in ("", f"/{log_key(str(log))}"):
        answer = client.get(f"/jobs/demo/4711/0/attempts/1/logs{tail}")
        assert answer.status_code == 302
        assert answer["Location"].startswith("/sign-in")


def test_logs_are_only_read(as_operator: Client, log: Path) -> None:
    assert as_operator.post(f"/jobs/demo/4711/0/attempts/1/logs/{log_key(str(log))}").status_code == 405


def test_a_page_of_a_log_costs_few_queries(
    as_operator: Client,
    attempt: Attempt,
    log: Path,
    now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    Feed.objects.bulk_create(
        Feed(cluster=attempt.job.cluster, attempt=attempt, source="files", stream=name, stream_key=stream_key(name))
        for name in map(str, range(200))
    )  # fmt: skip
    with django_assert_max_num_queries(11):
        page(as_operator, log, "?at=5000&q=loss")


@pytest.mark.parametrize("place", ["", "/attempts/1/logs"])
def test_copies_from_the_same_byte_are_told_apart(
    as_operator: Client, attempt: Attempt, now: datetime, place: str
) -> None:
    for second in (3, 5):
        kept_at = now.replace(hour=4, minute=5, second=second)
        Excerpt.objects.create(attempt=attempt, stream="a", offset=0, text="x", why="evidence", kept_at=kept_at)
    answer = as_operator.get(f"/jobs/demo/4711/0{place}").content.decode()
    assert "kept 04:05:03 UTC" in answer and "kept 04:05:05 UTC" in answer
