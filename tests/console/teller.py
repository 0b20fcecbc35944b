"""Writes into the database of a running site, as another process would. One command a line, one answer a line.

`link USER` gives the path of a one-time sign-in; `event KIND SENTENCE` adds an event to job 4711-1; `step N` moves
its progress; `to_come` adds advice that is carried out in two minutes; `incidents` opens some;
`allow USER` and `deny USER` let somebody approve and switch modes, and no longer;
`everything` makes one of each thing that pages speak of, and `addresses` names the pages that then can be opened;
`long_names` adds jobs, nodes and all else with long and hostile names;
`end` closes every session.
"""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")


def main() -> None:  # noqa: C901  # a verb each
    """Fill the database, then do what is asked until the input ends."""
    django.setup()
    from django.contrib.auth.models import Permission, User
    from django.contrib.sessions.models import Session
    from django.core.management import call_command
    from django.utils import timezone

    from audit.event_type import EventType
    from benchmarks.console_addresses import addresses
    from console.sign_in_links import make_link
    from tests.console import sample
    from tests.console.everything import make_everything
    from tests.console.incident_rows import tell_of_incidents
    from tests.console.long_names import name_at_length
    from workloads.models import Attempt, Cluster

    call_command("migrate", verbosity=0)
    sample.cast()
    sample.fill(timezone.now())
    print("ready", flush=True)
    for line in sys.stdin:
        verb, _, rest = line.strip().partition(" ")
        now, answer = timezone.now(), "done"
        running = Attempt.objects.select_related("job__cluster").get(job__number=4711, index=1)
        if verb == "link":
            answer = make_link(User.objects.get(username=rest), now)
        elif verb == "event":
            kind, _, sentence = rest.partition(" ")
            sample.event(now, EventType(kind), running, sentence)
        elif verb == "step":
            Attempt.objects.filter(pk=running.pk).update(last_step=int(rest), last_step_at=now, changed_at=now)
        elif verb == "to_come":
            sample.to_come(running.job.cluster, now)
        elif verb == "incidents":
            tell_of_incidents(now)
        elif verb in {"allow", "deny"}:
            names = ["approve_advice", "switch_mode"] if verb == "allow" else []
            may = Permission.objects.filter(codename__in=names)
            User.objects.get(username=rest).user_permissions.set(may)
        elif verb in {"hide", "show"}:  # the cluster demo, from and to everybody who is no superuser
            Cluster.objects.filter(name="demo").update(seen_by=["nobody's"] if verb == "hide" else [])
        elif verb == "everything":
            make_everything(now)
        elif verb == "long_names":
            name_at_length(now)
        elif verb == "addresses":
            answer = json.dumps({name: path for name, path in addresses() if not name.startswith("panel ")})
        elif verb == "end":
            Session.objects.all().delete()
        print(answer, flush=True)


if __name__ == "__main__":
    main()
