"""Does the admin show what a signature would have matched before it can be saved, to whom may, and safely?"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from audit.models import AuditEvent
from detectors import previewing
from detectors.models import Anomaly, Excerpt, SiteSignature
from detectors.previewing import UPLOAD_LIMIT
from detectors.reading import read_attempt
from detectors.site_catalogues import site_catalogues
from schedulers.states import JobState
from tests.detectors.catalogue.test_site import BOTH, FAN
from tests.detectors.rows import ECC, Log, end, make_attempt, make_cluster
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
ROOT = "/admin/detectors/sitesignature"
LINE = "fanctl[12]: n02 fan 3 stuck"


def person(*permissions: str, staff: bool = True) -> Client:
    user = User.objects.create_user(f"p{User.objects.count()}", is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anna() -> Client:
    return person("add_sitesignature", "change_sitesignature", "view_sitesignature")


def posted(**changes: Any) -> dict[str, Any]:
    form = {**FAN, "name": FAN["id"], "must_not": "\n".join(FAN["must_not"]), "note": "fans fail", "cluster": ""}
    del form["id"], form["outranks"]
    return {**form, **changes}


def preview(client: Client, address: str = f"{ROOT}/add/", **changes: Any) -> str:
    answer = client.post(address, {**posted(**changes), "_preview": "1"})
    assert answer.status_code == 200
    return answer.content.decode()


def seal_of(page: str) -> str:
    found = re.search(r'name="seal" value="([^"]+)"', page)
    return found[1] if found else ""


def save(client: Client, seal: str, address: str = f"{ROOT}/add/", **changes: Any) -> Any:
    return client.post(address, {**posted(**changes), "_save": "1", "seal": seal})


def stored_log(cluster: Cluster, state: JobState, *lines: str) -> Attempt:
    """An attempt that was read before the signature was there; its log is kept as copies."""
    attempt = make_attempt(cluster)
    now = datetime.now(UTC)
    Log.of(attempt).write(*lines)
    read_attempt(attempt, now)
    ended = end(attempt, state)
    Excerpt.objects.create(
        attempt=ended,
        stream=str(Log.of(attempt).path),
        offset=0,
        text="\n".join(lines) + "\n",
        why="end",
        kept_at=now,
    )
    return ended


class TestPreview:
    def test_finds_stored_lines_and_says_which_would_have_been_false(self, anna: Client, tmp_path: Path) -> None:
        cluster = make_cluster(tmp_path)
        failed = stored_log(cluster, JobState.FAILED, "one", LINE, LINE)
        stored_log(cluster, JobState.COMPLETED, LINE)
        stored_log(cluster, JobState.COMPLETED, "fanctl[12]: n02 fan 3 spins at 4200 rpm")
        page = preview(anna)
        assert "4 of 5 lines" not in page and "3 of 5 lines" in page
        assert "3 would have been a symptom, in 2 attempts" in page
        assert "1 of them in 1 attempt that completed: these would have been false" in page
        assert f'<a href="/jobs/{cluster.name}/{failed.job.number}/0">' in page
        assert "?at=4#asked" in page and "<mark>fanctl[12]: n02 fan 3 stuck</mark>" in page
        assert "ms of 10 ms allowed" in page
        assert not SiteSignature.objects.exists()

    def test_finds_nothing(self, anna: Client, tmp_path: Path) -> None:
        stored_log(make_cluster(tmp_path), JobState.FAILED, "one", "two")
        page = preview(anna)
        assert "0 of 2 lines" in page and "None in an attempt that completed" in page and seal_of(page)

    def test_an_empty_site(self, anna: Client) -> None:
        assert "Nothing is stored yet: try it on a text." in preview(anna)

    def test_evidence_whose_copy_is_gone(self, anna: Client, tmp_path: Path) -> None:
        attempt = stored_log(make_cluster(tmp_path), JobState.FAILED, f"{ECC} {LINE}")
        Excerpt.objects.all().delete()
        assert Anomaly.objects.filter(attempt=attempt, signature="cuda.ecc").exists()
        page = preview(anna)
        assert "1 of " in page and "&#x27;cuda.ecc&#x27; is stronger on this line" in page
        assert "0 would have been a symptom" in page

    def test_says_what_is_stronger_and_what_is_hidden(self, anna: Client, tmp_path: Path) -> None:
        stored_log(make_cluster(tmp_path), JobState.FAILED, BOTH)
        assert "is stronger on this line" in preview(anna)
        assert "1 would have been a symptom" in preview(anna, outranks="on")

    def test_only_the_chosen_cluster(self, anna: Client, tmp_path: Path) -> None:
        ours, other = make_cluster(tmp_path), make_cluster(tmp_path)
        stored_log(other, JobState.FAILED, LINE)
        assert "0 of 0 lines" in preview(anna, cluster=ours.pk)
        assert "1 of 1 line" in preview(anna, cluster=other.pk)

    def test_is_bounded_newest_first(self, anna: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(previewing, "EXCERPTS", 2)
        monkeypatch.setattr(previewing, "SHOWN", 1)
        cluster = make_cluster(tmp_path)
        for number in range(3):
            stored_log(cluster, JobState.FAILED, f"{LINE} nr{number}")
        page = preview(anna)
        assert "2 of 2 lines" in page and "Only the newest were searched" in page
        assert "the first 1 of 2" in page and "nr2" in page and "nr0" not in page

    def test_an_uploaded_text(self, anna: Client) -> None:
        text = f"one\r\n3: {LINE}\nfanctl[1]: n02 fan 3 stuck (self-test)\n\xff\x00{LINE}".encode("latin-1")
        page = preview(anna, upload=SimpleUploadedFile("job.log", text))
        assert "In job.log" in page and "2 of 4 lines; 2 would have been a symptom" in page
        assert "byte 5" in page and "self-test)" not in page.split("Lines of job.log")[1].split("</table>")[0]

    def test_an_upload_of_more_than_two_mebibytes(self, anna: Client) -> None:
        page = preview(anna, upload=SimpleUploadedFile("job.log", b"x" * (UPLOAD_LIMIT + 1)))
        assert f"The file has {UPLOAD_LIMIT + 1} bytes; {UPLOAD_LIMIT} are read." in page and not seal_of(page)

    def test_an_endless_line_and_a_file_of_empty_lines(self, anna: Client) -> None:
        for text, lines in ((b"x" * UPLOAD_LIMIT, "0 of 1 line"), (b"\n" * 200_000, "0 of 200000 lines")):
            assert lines in preview(anna, upload=SimpleUploadedFile("job.log", text))

    def test_hostile_text_is_shown_and_does_nothing(self, anna: Client, tmp_path: Path) -> None:
        hostile = f"<script>alert(1)</script> {LINE} \u202e\x07</code>"
        stored_log(make_cluster(tmp_path), JobState.FAILED, hostile)
        upload = SimpleUploadedFile("<b>.log", hostile.encode())
        page = preview(anna, upload=upload, says="<i>x</i>", unless="</textarea><script>")
        assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page and "⟨U+202E⟩" in page
        assert "<b>.log" not in page and "</textarea><script>" not in page and "\x07" not in page


REFUSED = {
    "look-around": ({"pattern": "fanctl(?= stuck)"}, "cannot be run in linear time"),
    "repetition above 1,000": ({"pattern": "fanctl[a-z]{1001}"}, "cannot be run in linear time"),
    "a huge pattern": ({"pattern": "fanctl" * 400}, "1 to 2000 are allowed"),
    "linear and slow": (
        {
            "pattern": "fan.*a.{200}x.{200}y",
            "example": "fan a" + "xb" * 100 + "x" + "ay" * 100 + "y",
            "must_not": "other",
        },
        "are allowed. Shorten its repetitions.",
    ),
    "a shipped id": ({"name": "cuda.ecc"}, "does not begin with"),
    "no counter-example": ({"must_not": " \n"}, "lacks a line that it must not match"),
    "an example that does not match": ({"example": "other"}, "does not match its own example"),
    "no reason": ({"note": " "}, "This field is required"),
    "a confidence that is none": ({"confidence": "nan"}, "Enter a number"),
    "a NUL": ({"pattern": "fan\0ctl"}, "Null characters are not allowed"),
    "a name that is none": ({"names": ["rack"]}, "Select a valid choice"),
    "a kind that only ours have": ({"kind": "progress"}, "Select a valid choice"),
    "a cluster that is none": ({"cluster": "999"}, "Select a valid choice"),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case)
def test_a_refusal_has_its_sentence_and_cannot_be_saved(anna: Client, case: str) -> None:
    changes, sentence = REFUSED[case]
    page = preview(anna, **changes)
    assert sentence in page and "Nothing was saved" in page and not seal_of(page)
    assert save(anna, seal_of(preview(anna)), **changes).status_code == 200
    assert not SiteSignature.objects.exists() and not AuditEvent.objects.exists()


class TestSaving:
    def test_after_its_preview(self, anna: Client) -> None:
        answer = save(anna, seal_of(preview(anna)))
        assert answer.status_code == 302
        row = SiteSignature.objects.get()
        assert (row.version, row.enabled, row.must_not, row.names) == (1, True, FAN["must_not"], ["host"])
        assert row.pattern == FAN["pattern"] and row.created_by == "p0"
        assert site_catalogues().everywhere.knows("site.fan_stuck")
        assert AuditEvent.objects.get().sentence.startswith("p0 added the signature 'site.fan_stuck'")

    def test_not_without_one(self, anna: Client) -> None:
        for seal in ("", "forged", seal_of(preview(anna)) + "x"):
            page = save(anna, seal).content.decode()
            assert "Nothing was saved; look at this one first" in page and seal_of(page)
        assert not SiteSignature.objects.exists()

    @pytest.mark.parametrize("change", [{"pattern": "fanctl.*stuck"}, {"role": "candidate"}, {"outranks": "on"}])
    def test_not_when_it_was_changed_since(self, anna: Client, change: dict[str, str]) -> None:
        page = save(anna, seal_of(preview(anna)), **change).content.decode()
        assert "This was changed since its preview" in page and not SiteSignature.objects.exists()

    def test_not_with_the_preview_of_somebody_else(self, anna: Client) -> None:
        other = person("add_sitesignature")
        assert save(other, seal_of(preview(anna))).status_code == 200
        assert not SiteSignature.objects.exists()

    def test_not_with_an_old_one(self, anna: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        seal = seal_of(preview(anna))
        monkeypatch.setattr("detectors.admin_forms.SEAL_SECONDS", -1)
        assert save(anna, seal).status_code == 200
        assert not SiteSignature.objects.exists()

    def test_a_change_and_a_disabling(self, anna: Client) -> None:
        save(anna, seal_of(preview(anna)))
        first = SiteSignature.objects.get()
        address = f"{ROOT}/{first.pk}/change/"
        seal = seal_of(preview(anna, address, says="A fan stands still", name="site.other"))
        assert save(anna, seal, address, says="A fan stands still", note="shorter").status_code == 302
        second = SiteSignature.objects.get(version=2)
        assert (second.name, second.says, second.note) == ("site.fan_stuck", "A fan stands still", "shorter")
        assert save(anna, seal, address, says="A fan stands still").status_code == 200, "a preview is good for once"
        anna.post(address, {"_disable": "1", "why": ""})
        assert SiteSignature.objects.count() == 2
        anna.post(address, {"_disable": "1", "why": "noise"})
        assert not SiteSignature.objects.get(version=3).enabled
        page = anna.get(address).content.decode()
        assert "Disabled since" in page and "noise" in page and "shorter" in page
        listed = anna.get(f"{ROOT}/").content.decode()
        assert listed.count("site.fan_stuck</a>") == 1 and "disabled" in listed

    def test_a_second_one_of_the_same_id(self, anna: Client) -> None:
        save(anna, seal_of(preview(anna)))
        assert "There is a signature &#x27;site.fan_stuck&#x27;; change that one." in preview(anna)

    def test_one_that_is_left_out_says_so(self, anna: Client) -> None:
        save(anna, seal_of(preview(anna)))
        row = SiteSignature.objects.get()
        SiteSignature.objects.filter(pk=row.pk).update(pattern="(?=x)", created_at=datetime.now(UTC))
        assert "no longer usable" in anna.get(f"{ROOT}/").content.decode()
        assert "Left out since an upgrade" in anna.get(f"{ROOT}/{row.pk}/change/").content.decode()


class TestWhoMay:
    @pytest.fixture
    def row(self, anna: Client) -> SiteSignature:
        save(anna, seal_of(preview(anna)))
        return SiteSignature.objects.get()

    @pytest.mark.parametrize(
        ("permissions", "listed", "added", "seen", "changed"),
        [
            ((), 403, 403, 403, 403),
            (("view_sitesignature",), 200, 403, 200, 403),
            (("add_sitesignature",), 403, 200, 403, 403),
            (("change_sitesignature",), 200, 403, 200, 200),
        ],
    )
    def test_staff_with_their_own_permission(
        self, row: SiteSignature, permissions: tuple[str, ...], listed: int, added: int, seen: int, changed: int
    ) -> None:
        client = person(*permissions)
        address = f"{ROOT}/{row.pk}/change/"
        assert client.get(f"{ROOT}/").status_code == listed
        assert client.get(f"{ROOT}/add/").status_code == added
        assert client.post(f"{ROOT}/add/", posted(name="site.two", _preview="1")).status_code == added
        assert client.get(address).status_code == seen
        assert client.post(address, posted(_preview="1")).status_code == changed
        assert (client.post(address, {"_disable": "1", "why": "x"}).status_code == 403) == (changed == 403)
        assert client.post(f"{ROOT}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
        if seen == 200 and changed == 403:
            assert "_preview" not in client.get(address).content.decode()

    def test_nobody_who_is_no_member_of_staff(self, row: SiteSignature) -> None:
        for client in (person("add_sitesignature", "change_sitesignature", staff=False), Client()):
            for address in (f"{ROOT}/", f"{ROOT}/add/", f"{ROOT}/{row.pk}/change/"):
                assert client.get(address).status_code == 302
                assert client.post(address, posted(_preview="1")).status_code == 302

    def test_an_address_that_is_none(self, anna: Client) -> None:
        for key in ("999", "9" * 30, "x"):
            assert anna.get(f"{ROOT}/{key}/change/").status_code == 404

    def test_a_form_of_another_site(self, row: SiteSignature) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(User.objects.get(username="p0"))
        assert client.post(f"{ROOT}/add/", posted(_preview="1")).status_code == 403
        assert client.post(f"{ROOT}/{row.pk}/change/", {"_disable": "1", "why": "x"}).status_code == 403
