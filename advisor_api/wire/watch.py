"""What is asked and answered when somebody waits for new advice?"""

from rest_framework import serializers

from advisor_api.wire.fields import Form

LONGEST_WAIT = 30  # seconds; less than the minute after which proxies give up


class WatchQuery(Form):
    """What was seen last, and how long to wait for something else."""

    seen = serializers.RegexField(
        r"\A[0-9a-f]{32}\Z",
        default="",
        allow_blank=True,
        help_text="The mark of the last answer. Without one the answer comes at once.",
    )
    waitSeconds = serializers.IntegerField(default=25, min_value=0, max_value=LONGEST_WAIT)


class WatchAnswer(Form):
    """A mark of the open advice and the gates of the cluster: read `GET /v1/advice` again when it has changed."""

    seen = serializers.CharField(allow_blank=True, help_text="Ask with it the next time.")
    changed = serializers.BooleanField(help_text="Whether it differs from the one that was asked with.")
