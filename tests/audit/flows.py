"""What do people, controllers and others do to a site? Flows through the product's own doors.

Each arranges what must be there before, and gives the act itself.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from advisor_api.activating import establish, withdraw_policy
from advisor_api.approving import approve, reject
from advisor_api.deciding import decide
from advisor_api.excluding import exclude, lift
from advisor_api.health_intake import take_events
from advisor_api.incident_acts import acknowledge, add_note, unacknowledge
from advisor_api.leasing import take_lease
from advisor_api.models import ApiToken
from advisor_api.notification_models import NotificationRoute
from advisor_api.notifying import deliveries
from advisor_api.notifying.sending import deliver
from advisor_api.pausing import end_pause, pause
from advisor_api.policies import Place
from advisor_api.registering import Report, register
from advisor_api.regrouping import merge, split
from advisor_api.regrouping_told import Act as Choosing
from advisor_api.regrouping_undo import undo
from advisor_api.repair_models import RepairRecord, RepairSystem
from advisor_api.repair_records import GIVEN_UP, claim, due_records, keep_trying, send_again
from advisor_api.repair_sending import hand_over
from advisor_api.silencing import end_silence, silence
from advisor_api.switching import switch_mode
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue, revoke, rotate
from audit.trail import record
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Finding
from detectors.found import store_told, take_back
from detectors.health_events import Told
from detectors.incidents import OVER_AFTER, end_quiet
from detectors.metrics_sight import metrics_seen, metrics_unseen
from detectors.models import Anomaly, Incident, SiteSignature
from detectors.provider_asking import Came, keep
from detectors.provider_models import AttributionProvider, ProviderQuestion
from detectors.site_signatures import disable
from detectors.site_signatures import keep as keep_signature
from detectors.store_sight import store_seen, store_unseen
from recovery_site.demo import furnish
from schedulers.states import JobState
from tests.advisor_api.notifying.world import a_route
from tests.advisor_api.world import (
    CONTROLLER,
    NOW,
    OPERATOR,
    UNKNOWN,
    a_cluster,
    a_job,
    a_verdict,
    an_advice,
    an_attempt,
)
from tests.audit.people import signed_in
from tests.detectors.catalogue.test_site import FAN
from tests.detectors.providers.rows import make_question
from tests.detectors.test_incidents import BUG, ECC, failed, judged, newest
from tests.detectors.test_incidents import told as told_of
from tests.workloads.test_admin import fields
from workloads.mode import Mode
from workloads.models import Attempt, Node

Act = Callable[[], None]
HOUR = timedelta(hours=1)
FOUND = Finding(
    "k", AnomalyKind.CRASH, "ECC", NOW, "line", "cuda.ecc", Layer.HARDWARE_GPU, nodes=("n01",), confidence=0.97
)


def people_decide() -> Act:
    """Advice is approved, rejected, not made; a client registers jobs."""
    cluster = a_cluster("decided", mode="approve")
    mine = [an_advice(cluster, number) for number in (200, 201)]
    silent = a_verdict(an_attempt(a_job(cluster, 202)), **{**UNKNOWN, "action": "none"})

    def go() -> None:
        approve(mine[0], 1, "good", OPERATOR, NOW)
        reject(mine[1], 1, "not so good", OPERATOR, NOW)
        decide(silent, NOW)
        register(cluster, Report("w", None, 300, 0, state=JobState.RUNNING), CONTROLLER, NOW)
        register(cluster, Report("w", None, 200, 0, gpu_count_per_node=8), CONTROLLER, NOW)
        register(cluster, Report("w", None, 200, 0, gpu_count_per_node=4), CONTROLLER, NOW)

    return go


def people_turn_knobs() -> Act:
    """Modes, pauses, exclusions, policies, tokens, leases, signatures."""
    cluster = a_cluster("turned", mode="monitor")

    def go() -> None:
        furnish(Path("/nowhere"), NOW)
        switch_mode(cluster, Mode.APPROVE, 1, "for a test", OPERATOR, NOW)
        for scope, value in (("cluster", ""), ("job", "100")):
            row = pause(cluster, scope, value, reason="r", until=NOW + HOUR, actor=OPERATOR, now=NOW)
            end_pause(row, OPERATOR, NOW)
        rows = [exclude(cluster, "n01", reason="r", until=NOW + HOUR, actor=OPERATOR, now=NOW) for _ in range(2)]
        lift(rows[0], OPERATOR, NOW)
        establish(Place(cluster), {"max_requeues": 2}, "n", actor=OPERATOR, now=NOW)
        withdraw_policy(Place(cluster), 1, "n", actor=OPERATOR, now=NOW)
        issue("t", TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR)
        rotate(ApiToken.objects.get(name="t"), overlap=HOUR, now=NOW, actor=OPERATOR)
        revoke(ApiToken.objects.get(name="t"), now=NOW, actor=OPERATOR)
        take_lease(cluster, "one", 0, CONTROLLER, NOW)
        take_lease(cluster, "two", 0, CONTROLLER, NOW + HOUR)
        signature = SiteSignature(**{**FAN, "name": FAN["id"], "id": None, "note": "fans fail"})
        disable(keep_signature(signature, None, OPERATOR, NOW), "no more", OPERATOR, NOW)

    return go


def people_use_the_admin() -> Act:
    """Clusters, repair systems, providers, people and groups."""
    cluster = a_cluster("managed", mode="monitor")
    client = signed_in("anna", superuser=True)
    group = Group.objects.create(name="night")
    user = User.objects.create_user("olga", password="once upon a time")  # of a test
    right = Permission.objects.get(codename="approve_advice")
    shop = {"cluster": cluster.pk, "name": "shop", "kind": "file", "file": "n.jsonl", "timeout_seconds": 10}
    acme = {"cluster": cluster.pk, "name": "acme", "kind": "contract", "address": "https://acme.example.org"}

    def post(path: str, form: dict[str, Any]) -> None:
        answer = client.post(f"/admin/{path}/", form)
        assert answer.status_code == 302, answer.content.decode()

    def go() -> None:
        post(f"workloads/cluster/{cluster.pk}/change", fields(environment="other"))
        post("advisor_api/repairsystem/add", {**shop, "enabled": "on"})
        post(f"advisor_api/repairsystem/{RepairSystem.objects.get().pk}/change", {**shop, "file": "m.jsonl"})
        rest = {"credential": "", "timeout_seconds": 10, "phases": "both"}
        post("detectors/attributionprovider/add", {**acme, **rest, "enabled": "on"})
        page = f"detectors/attributionprovider/{AttributionProvider.objects.get().pk}/change"
        post(page, {**acme, **rest, "timeout_seconds": 20})
        ops = {"name": "ops", "least_level": "error", "topics": "[]", "kind": "mail", "recipients": "a@example.org"}
        post("advisor_api/notificationroute/add", {**ops, "timeout_seconds": 10, "enabled": "on"})
        page = f"advisor_api/notificationroute/{NotificationRoute.objects.get(name='ops').pk}/change"
        post(page, {**ops, "timeout_seconds": 20, "cluster": cluster.pk})
        new = {"username": "vera", "usable_password": "false"}
        post("auth/user/add", new)
        rights = {"groups": [group.pk], "user_permissions": [right.pk]}
        post(f"auth/user/{user.pk}/change", {"username": "olga", "is_active": "on", "is_staff": "on", **rights})
        again = {"password1": "twice upon a time", "password2": "twice upon a time", "usable_password": "true"}
        post(f"auth/user/{user.pk}/password", again)
        post(f"auth/group/{group.pk}/change", {"name": "night", "permissions": [right.pk]})
        post(f"auth/user/{user.pk}/change", {"username": "olga", "is_staff": "on", **rights})
        post("auth/group/add", {"name": "nobody"})
        post(f"auth/group/{Group.objects.get(name='nobody').pk}/delete", {"post": "yes"})

    return go


def others_tell_something() -> Act:
    """Health events, stores that go blind, a provider's answer."""
    cluster = a_cluster("told")
    verdict = a_verdict(an_attempt(a_job(cluster)))
    make_question(verdict, NOW, outcome="waiting", due_at=NOW, ends_at=NOW + HOUR)

    def go() -> None:
        fault = Told("n01", "xid", NOW, "k1", "sentinel", fatal=True)
        take_events(cluster, [fault], CONTROLLER, NOW)
        fine = replace(fault, key="k2", fatal=False, healthy=True, happened_at=NOW + HOUR)
        take_events(cluster, [fine], CONTROLLER, NOW + HOUR)
        store_unseen(cluster, "gone", NOW)
        store_seen(cluster, NOW)
        with transaction.atomic():
            metrics_unseen(cluster, "gone", NOW)
            cluster.metrics_unseen_since = NOW
            metrics_seen(cluster, NOW)
        keep(ProviderQuestion.objects.get(), Came("nothing came"), NOW)

    return go


def nodes_are_handed_over() -> Act:
    """An excluded node is told to a repair system: in vain, again, and back."""
    cluster = a_cluster("handed")
    RepairSystem.objects.create(cluster=cluster, name="shop", kind="file", file="nodes.jsonl")

    def go() -> None:
        row = exclude(cluster, "n01", reason="r", until=NOW + 4 * GIVEN_UP, actor=OPERATOR, now=NOW)
        (record,) = due_records(NOW)
        assert claim(record, NOW)
        keep_trying(record, "gone", NOW + 2 * GIVEN_UP)
        later = send_again(RepairRecord.objects.get(), OPERATOR, NOW + 2 * GIVEN_UP)
        assert later.outcome == "waiting"
        Node.objects.update(seen_at=NOW + 2 * GIVEN_UP)
        (record,) = due_records(NOW + 2 * GIVEN_UP)
        assert claim(record, NOW + 2 * GIVEN_UP)
        hand_over(record, lambda: NOW + 2 * GIVEN_UP)
        lift(row, OPERATOR, NOW + 2 * GIVEN_UP)
        due_records(NOW + 2 * GIVEN_UP)

    return go


def people_are_told() -> Act:
    """A route is told in vain, and again."""
    route = a_route(a_cluster("telling"), name="night", kind="mail", recipients="a@example.org")
    later = NOW + HOUR

    def go() -> None:
        deliveries.send_test(route, OPERATOR, NOW)
        for _time in range(2):
            (row,) = deliveries.due_deliveries(later)
            assert deliveries.claim(row, later)
            deliver(row, lambda: later)  # no mail server is named
            deliveries.send_again(row, OPERATOR, later)

    return go


def verdicts_change_and_incidents_end() -> Act:
    """A later verdict renames its incident; a day later it is over."""
    cluster = a_cluster("judged")
    attempt = failed(cluster, "n01", at=NOW)

    def go() -> None:
        judged(attempt)
        with transaction.atomic():
            record(store_told(attempt, FOUND, NOW), NOW)
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=NOW)
        judged(attempt, 30)
        row = Anomaly.objects.select_related("attempt__job__cluster").get(attempt=attempt)
        with transaction.atomic():
            record(take_back(row, "It was none.", NOW), NOW)
        end_quiet(NOW + OVER_AFTER + HOUR)

    return go


def people_regroup_incidents() -> Act:
    """Somebody is at an incident, remarks on it, joins it into another one, splits that, and takes it all back."""
    cluster = a_cluster("grouped")
    first, second = [failed(cluster, "n01", at=NOW + HOUR * number) for number in range(2)]
    for one, values in ((first, ECC), (second, BUG)):
        judged(told_of(one, "n01", **values))
    left, into = newest(first).incident, newest(second).incident
    assert left and into
    why = Choosing(OPERATOR, "one cause", NOW)

    def seen(row: Incident) -> tuple[int, int]:
        return row.pk, Incident.objects.get(pk=row.pk).version

    def go() -> None:
        acknowledge(left, 1, "mine", OPERATOR, NOW)
        unacknowledge(left, 2, "not mine", OPERATOR, NOW)
        add_note(left, "look at the\nrack", OPERATOR, NOW)
        joined = merge(seen(left), seen(into), why)
        apart = split(seen(into), [newest(first).pk], [], why)
        undo(apart, seen(apart.target)[1], why)
        undo(joined, seen(into)[1], why)
        row = silence(cluster, {"node": "n01"}, owner="olga", reason="r", until=NOW + HOUR, actor=OPERATOR, now=NOW)
        end_silence(row, "enough", OPERATOR, NOW)

    return go


FLOWS = (
    people_decide,
    people_turn_knobs,
    people_use_the_admin,
    others_tell_something,
    nodes_are_handed_over,
    people_are_told,
    verdicts_change_and_incidents_end,
    people_regroup_incidents,
)
