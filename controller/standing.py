"""What does the Advisor say at this moment: is it there, do we have the lease, what is open, what is advised?

The lease has a fencing number. Whoever takes it after somebody else waits for one whole lease, because the other
may still be carrying a job on without the Advisor, and then takes two looks at the jobs that agree (decisions 22).
"""

from collections.abc import Hashable
from datetime import datetime, timedelta

from controller.advice import Advice, ClusterGates, LeaseAnswer
from controller.client import Advisor, AdvisorError, Rejected, Unreachable
from controller.clock import Clock
from controller.gates import OPEN, Gate, lease_gate
from controller.journal import next_lease
from controller.plain import Voice

LEASE_SECONDS = 60.0
RENEW_BELOW = 40.0  # seconds left
ASK_AGAIN_AFTER = 5.0  # seconds, while another controller has it
FRESH_SECONDS = 1.0  # gates older than this are read again before a command
CONFLICT = 409
LARGEST_ERROR = timedelta(minutes=1)  # of the Advisor's clock against ours: holds are spans of minutes
BEYOND_BELIEF = timedelta(days=1)  # then its clock is not used at all
MOST_TOLD = 5  # sentences about advice that cannot be understood


class Standing:
    """The Advisor as last seen. `gone` means that it gives no usable answers."""

    def __init__(self, advisor: Advisor, clock: Clock, holder: str, fence: int, voice: Voice) -> None:
        self._advisor = advisor
        self._clock = clock
        self._voice = voice
        self._holder = holder
        self.fence = fence
        self._asking = fence
        self._lease_ends = 0.0
        self._ask_again = 0.0
        self._sure_at = 0.0
        self._look: Hashable = None
        self._agreed = True
        self._said: tuple[datetime, float] | None = None  # the Advisor's time, and when by our monotonic clock
        self.cluster: ClusterGates | None = None
        self._cluster_at = 0.0
        self.advice: tuple[Advice, ...] = ()
        self.gone = True

    def refresh(self, with_lease: bool) -> None:
        """Ask for lease, cluster and advice. The first that fails makes the Advisor `gone` until the next time."""
        try:
            if with_lease:
                self._renew()
            self._read_cluster()
            answer = self._advisor.advice()
        except AdvisorError as error:
            self._lost(error)
            return
        self._voice.once("advisor", "the Advisor answers")
        self.gone = False
        self.advice = answer.advice
        strange = answer.unreadable[:MOST_TOLD]
        more = len(answer.unreadable) - len(strange)
        self._voice.once("unreadable advice", "; ".join((*strange, *([f"and {more} more"] if more else []))))

    def freshen_gates(self) -> None:
        """Read the cluster's gates again if they are older than a second."""
        if self.gone or self._clock.monotonic() - self._cluster_at <= FRESH_SECONDS:
            return
        try:
            self._read_cluster()
        except AdvisorError as error:
            self._lost(error)

    def now(self) -> datetime:
        """The Advisor's time, carried on by our monotonic clock; our own time before it first answered.

        So nobody who sets this machine's clock makes an advice expire.
        """
        if self._said is None:
            return self._clock.now()
        said, at = self._said
        return said + timedelta(seconds=self._clock.monotonic() - at)

    def clock_gate(self) -> Gate:
        """Whether the Advisor's clock and ours agree: the watchdog ends holds by the one beside it."""
        off = (self.now() - self._clock.now()).total_seconds()
        if abs(off) <= LARGEST_ERROR.total_seconds():
            return OPEN
        return Gate(
            f"the Advisor's clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} this machine's, "
            f"more than {LARGEST_ERROR.total_seconds():.0f} s"
        )

    def gate(self) -> Gate:
        """Whether the lease lets us send a command now."""
        left = self._lease_ends - self._clock.monotonic()
        if left <= 0:
            return Gate("another controller has the lease" if self._ask_again else "we do not have the lease")
        if (waiting := self._sure_at - self._clock.monotonic()) > 0:
            return Gate(
                f"the lease was somebody else's; waiting another {waiting:.0f} s for what he may have begun"
            )
        return lease_gate(left) if self._agreed else Gate("taking a second look before acting in another's place")

    def looked(self, shown: Hashable) -> None:
        """Take note of what the jobs look like: two looks that agree end the caution of a new holder."""
        if not self._agreed and self._clock.monotonic() >= self._sure_at:
            self._agreed = shown == self._look
            self._look = shown

    def _read_cluster(self) -> None:
        self.cluster = self._advisor.cluster()
        self._cluster_at = self._clock.monotonic()

    def _renew(self) -> None:
        sent = self._clock.monotonic()
        if self._lease_ends - sent > RENEW_BELOW or sent < self._ask_again:
            return
        answer = self._ask()
        if answer is None:
            self._lease_ends = 0.0
            self._ask_again = sent + ASK_AGAIN_AFTER
            return
        self._ask_again = 0.0
        if abs(answer.now - self._clock.now()) > BEYOND_BELIEF:
            self._lease_ends = 0.0
            raise Unreachable(f"its clock is more than {BEYOND_BELIEF.days} day off from this machine's")
        self._said = (answer.now, self._clock.monotonic())
        if not next_lease(self.fence, answer.fence):
            self._sure_at, self._agreed, self._look = sent + LEASE_SECONDS, False, None
        self._voice.once("lease", f"we have the lease (fence {answer.fence})")
        self._lease_ends = sent + answer.seconds
        self.fence = self._asking = answer.fence

    def _ask(self) -> LeaseAnswer | None:
        """The lease, or `None` when somebody else has it. An old fencing number is given up for a new one."""
        while True:
            try:
                return self._advisor.take_lease(self._holder, self._asking)
            except Rejected as error:
                if error.status != CONFLICT:
                    raise
                if not self._asking:
                    self._voice.once("lease", f"the lease is not ours: {error.message}")
                    return None
                self._asking = 0

    def _lost(self, error: AdvisorError) -> None:
        self._voice.once("advisor", f"the Advisor cannot be used: {error}")
        self.gone = True
        self.advice = ()
