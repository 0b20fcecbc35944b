"""Why is somebody not let in through the provider?"""

from django.utils.functional import Promise


class NotLetIn(Exception):
    """The message is for the person, one or two sentences. `who`: the account, where it is known for certain."""

    def __init__(self, sentence: str | Promise, who: str = "") -> None:
        super().__init__(sentence)
        self.who = who
