"""Does the command do with policies what the admin does, and refuse with a sentence?"""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from advisor_api.models import PolicyActivation, PolicyVersion
from audit.models import AuditEvent
from tests.advisor_api.world import a_cluster, a_policy, an_advice
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
TEXT = "format: rekindle-policy/1\ncluster: demo\nnote: calmer\nvalues:\n  max_requeues: 3\n"


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster()


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("policy", *arguments, stdout=out)
    return out.getvalue()


def test_from_a_file_to_a_decision_and_back(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(TEXT)
    said = run("import", str(file), "--activate", "--reason", "too many")
    version = PolicyVersion.objects.get()
    assert said == f"Policy {version.pk} of demo was added; it is active.\n"
    assert an_advice(cluster).policy == version
    assert run("export", "--cluster", "demo") == run("export", str(version.pk)) == TEXT
    assert f"{version.pk}\tdemo\tactive\t" in run("list")
    assert "(before: no policy): too many" in AuditEvent.objects.get(sentence__contains="the active one (").sentence


def test_added_compared_activated_withdrawn(cluster: Cluster, tmp_path: Path) -> None:
    first = a_policy({"max_requeues": 2}, cluster)
    file = tmp_path / "p.yaml"
    file.write_text(TEXT)
    assert "not active yet" in run("import", str(file))
    second = PolicyVersion.objects.order_by("pk")[1]
    assert run("compare", str(first.pk), str(second.pk)).startswith("max_requeues: 2 → 3\t(default 10) requeues of")
    assert "is active now" in run("activate", str(second.pk), "--reason", "r")
    assert "is active now" in run("activate", str(first.pk), "--reason", "back")
    assert "the levels below hold" in run("withdraw", "--cluster", "demo", "--reason", "r")
    assert [row.version_id for row in PolicyActivation.objects.order_by("number")][:4] == [
        first.pk,
        second.pk,
        first.pk,
        None,
    ]


def test_what_holds_and_who_says_it(cluster: Cluster) -> None:
    now = timezone.now()
    part = a_policy({"max_requeues": 6}, cluster, now, partition="gpu")
    own = a_policy({"advice_seconds": 77}, cluster, now, user="tess")
    a_policy({}, now=now)
    rows = dict(
        line.split("\t", 1)
        for line in run("show", "--cluster", "demo", "--partition", "gpu", "--user", "tess").splitlines()
    )
    assert rows["max_requeues"] == f"6\tpolicy {part.pk} (partition)"
    assert rows["advice_seconds"] == f"77\tpolicy {own.pk} (user)"
    assert rows["hold_seconds"] == "300\tthe program's default"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["export", "99"], "There is no policy version 99."),
        (["export", "--cluster", "demo"], "No policy of demo is active."),
        (["export", "--cluster", "nowhere"], "There is no cluster 'nowhere'."),
        (["show", "--partition", "gpu"], "names its cluster"),
        (["activate", "99", "--reason", "r"], "There is no policy version 99."),
        (["withdraw", "--reason", "r"], "is not withdrawn"),
        (["withdraw", "--cluster", "demo", "--reason", "r"], "is what holds already"),
        (["import", "/nowhere.yaml"], "No such file"),
        (["import", "x", "--activate"], "Say why"),
        (["compare", "1", "2"], "There is no policy version"),
    ],
)
def test_what_is_refused(cluster: Cluster, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        run(*arguments)
    assert not PolicyVersion.objects.exists() and not PolicyActivation.objects.exists()


def test_a_text_that_is_refused_adds_nothing(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(TEXT + "  max_requeues: 4\n")
    with pytest.raises(CommandError, match="Line 6: 'max_requeues' stands there twice"):
        run("import", str(file))
    assert not PolicyVersion.objects.exists()


def test_an_import_whose_activation_is_refused_adds_nothing(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(TEXT)
    with pytest.raises(CommandError, match="at most 500"):
        run("import", str(file), "--activate", "--reason", "r" * 501)
    assert not PolicyVersion.objects.exists()
