"""Which ports and cards of the training network break?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import STRIKE, fault, job, names, simulated, text, told_by_others

_fault = partial(fault, "network")
RESTART, EXCLUDE = (Did.RESTART,), (Did.RESTART_EXCLUDE,)
LAYERS = ("hardware.network",)

NETWORK: tuple[Case, ...] = (
    _fault(
        "completion-errors-of-one-peer",
        "six hosts report status 12 to one peer, which says nothing itself",
        Truth("crash", LAYERS, True, EXCLUDE, "whom several hosts name, and who names nobody, is the culprit"),
        simulated(
            job(
                *told_by_others("completion_errors", STRIKE, node=19, gpu=2, exit_code=1),
                nodes=32,
                step_seconds=6.0,
            ),
            seconds=320,
            node_names=names("ib", 36),
        ),
        short=("simulated",),
    ),
    _fault(
        "port-down",
        "the port of one host goes down and stays down: it reports six peers",
        Truth("crash", LAYERS, True, EXCLUDE, "one host names many peers, and its own port was lost before"),
        simulated(job(text("port_down", node=3, gpu=5), nodes=8, dialect="megatron"), node_names=names("ib", 12)),
    ),
    _fault(
        "port-flap",
        "the port of one host goes down for eight seconds and comes back, too late for the job",
        Truth("crash", LAYERS, True, RESTART, "the port is active again: once more, and excluded only on repeat"),
        simulated(job(text("port_flap_late", node=2, gpu=1), nodes=4), node_names=names("ib", 8)),
    ),
    _fault(
        "network-card-broken",
        "the network card of one host fails, in NCCL's words and in the kernel's",
        Truth("crash", LAYERS, True, EXCLUDE, "the kernel and NCCL name the same card"),
        simulated(job(text("card_broken", node=1, gpu=7), nodes=6), node_names=names("ib", 10)),
    ),
)
