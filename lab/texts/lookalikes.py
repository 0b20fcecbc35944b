"""Which lines sound like a failure and are none?

The classes are those of attribution.md 5 (B01 to B67), the words are our own: no line is an example of
the catalogue.
A healthy job prints them and trains on; `B40 B42 B56 B63` stand in the log of a job that its user has cancelled.
"""

from collections.abc import Callable
from string import Template

from lab.dialects.dialect import clock
from lab.texts.struck import Spoken, Struck, Text

BETWEEN_SECONDS = 0.1  # from one line to the next

Said = tuple[tuple[str, str], ...]
"""Pairs of a look-alike's number and its line; `$host $rank $gpu $process $bus $clock $job $peer` are filled in."""

START: Said = (
    ("B02", "  rerun_mode_on_nan ............................... validate_results"),
    ("B03", "  distributed_timeout_seconds_after_init .......... 1200"),
    ("B04", "  exit_on_missing_checkpoint ...................... False"),
    ("B05", "error_on_timeout: false"),
    (
        "B12",
        "$host:$process:$process [$gpu] NCCL INFO NCCL_NET_FORCE_FLUSH error code ignored, plugin v9 not found",
    ),
    (
        "B13",
        "$host:$process:$process [$gpu] NCCL INFO socketPollConnect: Connection refused by $peer<44127>, try 3/34",
    ),
    (
        "B14",
        "$host:$process:$process [$gpu] NCCL INFO ibv_modify_qp failed with error Connection timed out, try 2/34",
    ),
    (
        "B17",
        "[W$clock socket.cpp:752] [c10d] The client socket has failed to connect to [$host]:29411 "
        "(errno: 111 - Connection refused). Try again",
    ),
    (
        "B18",
        "[I$clock socket.cpp:624] [c10d - trace] The server socket on $host:29411 is not yet listening "
        "(errno: 111 - Connection refused), will retry.",
    ),
    ("B19", "[W$clock socket.cpp:464] [c10d] The hostname of the client socket cannot be retrieved. err=-2"),
    (
        "B20",
        "[rank$rank]:[W$clock ProcessGroupNCCL.cpp:5023] Guessing device ID based on global rank. "
        "This can cause a hang if rank to GPU mapping is heterogeneous.",
    ),
    ("B22", "W$clock $process run.py:793] Setting OMP_NUM_THREADS environment variable for each process to be 1"),
    ("B31", "Removing unfinished dist checkpoint: /ckpt/job$job/step=700-unfinished"),
    (
        "B33",
        "/opt/train/loop.py:88: UserWarning: lr_scheduler.step() before optimizer.step() is an error in most cases",
    ),
    ("B34", "/opt/train/names.py:17: RuntimeWarning: invalid value encountered in divide"),
    (
        "B35",
        "Some weights of MistralForCausalLM were not initialized from the model checkpoint at /models/base because "
        "the shapes did not match",
    ),
    ("B38", "Read https://example.org/guide/troubleshooting-cuda-error.html if training fails to start."),
    (
        "B47",
        "$host:$process:$process [$gpu] NCCL WARN NET/Plugin: dlerror=libnccl-tuner.so: cannot open shared object",
    ),
    ("B48", 'HTTP Request: GET https://example.org/api/models/base/tree/main "HTTP/1.1 404 Not Found"'),
    ("B53", "  self.loss = CrossEntropyLoss(ignore_index=-100)  # nan if every label is ignored: error upstream"),
    ("B54", "> init_process_group backend nccl, timeout=datetime.timedelta(seconds=900), abort on timeout"),
    ("B55", "[agent $process] Rendezvous'ing worker group after failure count 0"),
    ("B59", "[agent $process] heartbeat sent to the rendezvous backend, dead after timeout of 45 s"),
    ("B61", "$host: mlx5_core 0000:9a:00.1: Port module event: module 1, Cable unplugged"),
    (
        "B66",
        "ImportError: cannot import name 'rms_norm' from 'apex' (not fatal): falling back to the PyTorch kernel",
    ),
)
NETWORK: Said = (
    (
        "B15",
        "$host:$process:$process [$gpu] NCCL WARN NET/IB : mlx5_1:1 "
        "Got non-fatal async event: GID table change(18)",
    ),
    ("B16", "$host:$process:$process [$gpu] NCCL WARN NET/IB : mlx5_6:1 Got async event : SM change"),
    (
        "B44",
        "$host: nvidia-nvswitch1: SXid (PCI:0000:87:00.0): 22013, Non-fatal, Link 17 Minion Link DLREQ interrupt",
    ),
    ("B67", "$host: nvidia-nvswitch1: SXid (PCI:0000:87:00.0): 22013, Data {0x000c0044, 0x00000000, 0x00000001}"),
    (
        "B43",
        "$host: mlx5_core 0000:1a:00.0: mlx5_cmd_out_err:816:(pid $process): ACCESS_REG(0x805) op_mod(0x0) failed, "
        "status bad parameter(0x3), syndrome (0x1b6c7e), err(-22)",
    ),
    (
        "B49",
        "$host:$process:$process [$gpu] NCCL WARN [Proxy Service $rank] "
        "Failed to execute operation Close from rank 5",
    ),
    ("B25", "srun: launch/slurm: Waiting for nodes to boot (delay looping 450 times @ 0.1 secs x index)"),
    ("B23", "slurmstepd: error: mpi/pmix_v5: pmixp_coll_ring_log: $host [0]: pmixp_coll_ring.c:771: seq mismatch"),
    (
        "B29",
        "E external/xla/rendezvous.cc:38] This thread waits for `reduce scatter of rank $rank` since 20 s: "
        "may be stuck",
    ),
    (
        "B30",
        "E external/xla/rendezvous.cc:46] thread is unstuck, go on. A shorter wait than the timeout was too long.",
    ),
)
HARDWARE: Said = (
    (
        "B41",
        "$host: NVRM: Xid (PCI:$bus): 92, pid='<unknown>', name=<unknown>, High single-bit ECC error rate detected",
    ),
    (
        "B45",
        "$host: pcieport 0000:17:01.0: AER: Corrected error message received from 0000:18:00.0, "
        "type=Data Link Layer, error status 0x00000040 (Bad TLP)",
    ),
    (
        "B45",
        "$host: EDAC skx MC3: 1 CE memory read error on CPU_SrcID#1_MC#1: Correctable, page 0x3f81a2 offset 0x640",
    ),
    (
        "B62",
        "$host: nv-fabricmanager: [ERROR] detected NVSwitch non-fatal error 14017 on fid 0 on NVSwitch pci bus id "
        "00000000:88:00.0 physical id 1 port 24",
    ),
    (
        "B64",
        "$host: oom_reaper: reaped process 2214 (node_exporter), now anon-rss:0kB, file-rss:4kB, shmem-rss:0kB",
    ),
    ("B24", "slurmstepd: error: StepId=$job.0 hit memory limit at least once during execution."),
    ("B51", "gpu-metrics: cannot read the retired pages of GPU $gpu: NVMLError_NotSupported (error 3)"),
    (
        "B65",
        "[resilience] fault injection is compiled in; no fault is due: kernel panic, GPU loss and SIGKILL are off",
    ),
)
NUMBERS: Said = (
    (
        "B01",
        " evaluation of iteration 40 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 | no error |",
    ),
    ("B10", "[deepspeed] OVERFLOW! Rank $rank Skipping step. Attempted loss scale: 4194304, reducing to 2097152"),
    ("B10", "[deepspeed] OVERFLOW! Rank $rank Skipping step. Attempted loss scale: 2097152, reducing to 1048576"),
    ("B11", "WARN: rank $rank grad_norm is not finite: inf, the update of this step is left out"),
    ("B36", "batch 40 validation: val_loss=2.31 exception_rate=0.02 timeout_rate=0.01 fatal_rate=0.00"),
    ("B57", "Epoch 2:   4%|4         | 40/1000 [03:20<1:20:00,  5.00s/it, v_num=3, train_loss=nan]"),
    ("B58", "moe/experts dead for 100 steps: 0, experts inactive: 2, router error: 0.004, crash_prob: 0"),
    ("B53", "torch.nan_to_num(logits, nan=0.0, posinf=6e4)  # nan loss, inf loss: never again"),
)
STORAGE: Said = (
    ("B28", "OSError: [Errno 16] Device or resource busy: '.nfs0000002c0' in /tmp/pymp-x81_u2 (cleaned up later)"),
    ("B32", "11/29/2026 08:12:44 [WARNING|DP=1|PP=0|TP=0|$host]: Saving checkpoint at /ckpt/job$job/350"),
    ("B39", "Retrying write of shard 3 after 'Input/output error' (attempt 2 of 6): [Errno 5]"),
    ("B39", "Retry of shard 3 succeeded after TimeoutError and 'Stale file handle'"),
    ("B50", "wandb: ERROR Network error (ConnectionError), entering retry loop: Connection reset by peer"),
    ("B50", "wandb: WARNING Run history is full: No space left on device /home/trainer/.cache (telemetry only)"),
)
ADVICE: Said = (
    ("B06", "CUDA kernel errors might be asynchronously reported, says the manual; this is text of the help page."),
    ("B07", "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions in debug builds (see --help)."),
    ("B08", "help: watchdog: This is most likely caused by incorrect usages of collectives, if it ever happens."),
    ("B09", "help: Stack trace of the failed collective: is printed with TORCH_NCCL_TRACE_BUFFER_SIZE=2000."),
    (
        "B52",
        "frame #7: c10d::ProcessGroupNCCL::abortComms(std::optional<std::string> const&) + 0x11c "
        "(0x7fd1 in libtorch)",
    ),
    ("B52", "[$process] signal test: *** End of error message ***"),
    (
        "B06",
        "help: For debugging consider passing CUDA_LAUNCH_BLOCKING=1: a CUDA error: then shows its true place.",
    ),
)
SAMPLES: Said = (
    ("B37", "Sample 14 of rank $rank: RuntimeError: CUDA error: device-side assert triggered > what does it mean?"),
    ("B37", "Answer: NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus. So the host must be drained."),
    ("B37", "Question: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. Why?"),
    (
        "B37",
        "Completion: Segmentation fault (core dumped): srun: error: $host: task $rank: Exited with exit code 139",
    ),
    (
        "B37",
        "[rollout-3] Response: Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=8, OpType=ALLREDUCE) ran for 600 s: why?",
    ),
)
ENDING: Said = (
    ("B46", "EarlyStopping: no better val_loss in 5 evaluations, best was 2.004; failure to improve ends the run"),
    (
        "B21",
        "[rank$rank]:[W$clock ProcessGroupNCCL.cpp:1496] Warning: "
        "destroy_process_group() was not called before program exit",
    ),
    ("B26", "Exception ignored in: <function Pool.__del__ at 0x7f33c0a1>"),
    (
        "B27",
        "resource_tracker.py:301: UserWarning: resource_tracker: There appear to be "
        "12 leaked shared_memory objects",
    ),
    ("B28", "FileNotFoundError: [Errno 2] No such file or directory: '/dev/shm/psm_8a1f_$rank'"),
    ("B49", "$host:$process:$process [$gpu] NCCL WARN Accept failed : Invalid argument"),
    ("B55", "[agent $process] Stopping worker group: nothing left to do"),
    ("B60", "[agent $process] local workers: Exited with exit code 0"),
)
CANCELLED: Said = (
    ("B56", "train: Killed by user $process on purpose"),
    ("B40", "Received SIGTERM, the current step will be the last one"),
    ("B63", "W$clock $process api.py:1021] Closing process $process via signal SIGTERM"),
    ("B42", "$host: NVRM: Xid (PCI:$bus): 45, pid=$process, name=python3, Ch 0000000c"),
)
GROUPS: dict[str, Said] = {
    "alike_start": START,
    "alike_network": NETWORK,
    "alike_hardware": HARDWARE,
    "alike_numbers": NUMBERS,
    "alike_storage": STORAGE,
    "alike_advice": ADVICE,
    "alike_samples": SAMPLES,
    "alike_ending": ENDING,
    "alike_cancelled": CANCELLED,
}


def filled(line: str, struck: Struck) -> str:
    """The line as the struck rank prints it."""
    return Template(line).substitute(
        host=struck.host,
        rank=struck.rank,
        gpu=struck.gpu,
        process=struck.process,
        bus=struck.bus_of(),
        clock=clock(struck.at)[5:].replace("-", ""),
        job=struck.job,
        peer=struck.address(struck.nodes[-1]),
    )


def _text(said: Said) -> Callable[[Struck], tuple[Spoken, ...]]:
    def text(struck: Struck) -> tuple[Spoken, ...]:
        return tuple(Spoken(place * BETWEEN_SECONDS, filled(line, struck)) for place, (_, line) in enumerate(said))

    return text


TEXTS: dict[str, Text] = {name: _text(said) for name, said in GROUPS.items()}
