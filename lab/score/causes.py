"""Why is each known miss missed? One sentence for each case; written by hand, after somebody looked.

A case without a miss on any kept card may not stand here: a test says so.
"""

NOT_YET = "not yet looked into."

NO_HOST = "the text names no host, so no node can be left out; it is restarted without blame."
CONFIRMED = (
    "an error of the program or its data is restarted once to confirm it (confirmation_restarts), and stopped when "
    "it comes again; a text has no second attempt."
)
VICTIM = (
    "every line of the text is known as a victim's message and as no cause: communication broke, and nobody says "
    "why."
)
ONE_VOTE = (
    "one reporter names the host and nothing confirms it: it stays a suspect, below the 0.80 to leave it out."
)
SLOW = "the line shows slow steps in a format that no detector of slow steps reads."
EARLIER = "an earlier line of the same failure is quoted first."

CAUSES: dict[str, str] = {
    # the simulated cluster
    "black-hole": "a first death says nothing of its node; the rule needs two deaths on it within two minutes of "
    "their starts, and leaves the node out at the second.",
    "file-missing": "a file that is missing is read as data that may come back: restarted once, and stopped when "
    "it fails again.",
    "gpu-memory-held-by-another": "PyTorch's text does not tell whether the process that it numbers is the rank "
    "itself, seen from within a container: it counts as the program's own lack of memory.",
    "quota-used-up": "a used-up quota counts as the file system's, though only the user can make room.",
    "slow-file-server": "slow steps are judged by their rhythm alone: the kernel's lines on the file server beside "
    "them are not laid to their account.",
    "two-gpus-at-once": "both nodes are named, and a cap lets one node of so small a partition be left out.",
    "bad-node-job-after-job": "the node is left out after its second death; the third restart of the partition "
    "within ten minutes asks a person (storm_restarts), whatever the cause.",
    # the fleet
    "fleet.gpu": "a person had drained the node by then: the scheduler keeps jobs off it, so nothing is left out.",
    "fleet.gpu_memory": "a job of the same name, user and folder happened to be submitted after it failed: that is "
    "taken for a repetition by somebody else, and a person is asked.",
    # real text
    "real-001 dataloader_bus_error_shm": EARLIER,
    "real-002 gpu_ecc_uncorrectable": NO_HOST,
    "real-003 gpu_bad_oom_at_init": "a GPU without memory from its start reads as the program's own lack of it.",
    "real-024 xid13_out_of_range_address": CONFIRMED,
    "real-026 ib_completion_error": "each line is a victim's: the layer is told, and no host to leave out.",
    "real-027 nvlink_uncorrectable": "the name of the worker stands in a format that the locator does not know.",
    "real-029 segv_in_ucx_handler": "a segmentation fault counts as the framework's; only the stack names more.",
    "real-031 container_start_failed_image": "a container's hook that fails may be the node's fault: restarted.",
    "real-033 cuda_oom": CONFIRMED,
    "real-037 host_oom_cgroup": "srun's line that names the host is stronger, and is quoted first.",
    "real-109 user_cancel": "a cancelled job is never restarted, and a job that has ended need not be stopped.",
    "real-111 eval_value_error": CONFIRMED,
    "real-116 rendezvous_bad_master_addr": "an address that does not resolve is read as a crash; that it is tried "
    "for ever is not seen. As an error of the program it is restarted once to confirm it.",
    "real-307 xid79_off_bus": NO_HOST,
    "real-311 segv_all_ranks": "a segmentation fault counts as the framework's, whatever process it ends.",
    "real-313 nccl_watchdog_timeout": "of several lines of one watchdog another one is quoted first.",
    "real-315 checkpoint_enospc": EARLIER,
    "real-323 cuda_illegal_memory_access": CONFIRMED,
    "real-327 rendezvous_connection_failed": VICTIM,
    # modelled text
    "mod-001 xid94_contained_ecc": NO_HOST,
    "mod-005 nvlink_xid74": NO_HOST,
    "mod-007 nvswitch_sxid": NO_HOST,
    "mod-009 ib_retry_exceeded_midrun": ONE_VOTE,
    "mod-011 ib_link_down": "a port that went down stays a candidate: it may come up again; and " + EARLIER,
    "mod-013 roce_gid_misconfig": "a failure of every host from the start on is not told from a broken link.",
    "mod-015 efa_completion_error": ONE_VOTE,
    "mod-017 tcpstore_peer_lost": VICTIM,
    "mod-021 nccl_heartbeat_timeout": "the line on a stuck driver call is taken for the cause of the heartbeat's.",
    "mod-022 gloo_connect_failed": "a wrong interface is not told from a peer that is slow to come up: restarted.",
    "mod-023 nccl_shm_exhausted": EARLIER,
    "mod-032 nfs_server_hang": "a file server that does not answer is told as a crash, though nothing has ended.",
    "mod-036 slurm_launch_failed": "the line that names the node is stronger, and is quoted first.",
    "mod-038 driver_mismatch": "error 803 inside a warning is not read; the error that follows on that node is.",
    "mod-045 loss_nan_stop": CONFIRMED,
    "mod-049 slow_gpu_straggler": "a throttled GPU is an early warning, for which nothing is restarted; slow "
    "steps are not read from this format.",
    "mod-051 data_straggler": SLOW,
    "mod-053 network_straggler": SLOW,
    "mod-055 host_memory_mce": "the text names no host to leave out; a note of logged events only confirms.",
    "mod-059 checkpoint_corrupt": "a broken checkpoint is restarted: the program may take the one before it.",
}
