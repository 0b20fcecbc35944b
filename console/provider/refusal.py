"""Why is somebody not let in through the provider?"""


class NotLetIn(Exception):
    """The message is for the person, one or two sentences. `who`: the account, where it is known for certain."""

    def __init__(self, sentence: str, who: str = "") -> None:
        super().__init__(sentence)
        self.who = who
