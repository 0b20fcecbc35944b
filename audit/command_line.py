"""Who acts at the command line?"""

import getpass

from audit.actor_kind import ActorKind
from audit.trail import Actor


def shell_actor() -> Actor:
    """The account of the machine that runs the command, as a person of the trail."""
    return Actor(ActorKind.PERSON, f"{getpass.getuser()} (command line)")
