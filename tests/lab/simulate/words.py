"""Which words does Slurm 22.05.8 use? Compared with the simulated cluster and with a real one.

Commands and answers speak of jobs by role: `{running}`, `{failed}` (exit code 3), `{held}` (requeue-held),
`{fixed}` (runs, and may not be requeued) and `{cancelled}`.
"""

ROLES = ("running", "failed", "held", "fixed", "cancelled")
SUSPEND = "slurm_suspend error: {}\n"
INVALID, FINISHED = "Invalid job id specified", "Job has already finished"
PENDING, DISABLED = "Job is pending execution", "Requested operation is presently disabled"
STARTED = "Job is no longer pending execution"
UNSUPPORTED = "Update of this parameter is not supported: {}\nRequest aborted\n"
STATES = (
    "Request aborted\nValid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN\n"
    "Not all states are valid given a node's prior state\n"
)
NO_ENTITY = (
    "No valid entity in update command\n"
    'Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"\n'
)
REASON = "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"
TRY = 'Try "{} --help" for more information\n'
REFUSALS = {
    "scontrol requeue 99999": f"{INVALID} for job 99999\n",
    "scontrol requeue Incomplete 99999": f"{INVALID} for job 99999\n",
    "scontrol requeuehold abc": f"{INVALID} for job abc\n",
    "scontrol requeue Foo 99": f"{INVALID} for job Foo\n{INVALID} for job 99\n",
    "scontrol requeue {held}": f"{PENDING} for job {{held}}\n",
    "scontrol requeuehold {held}": f"{PENDING} for job {{held}}\n",
    "scontrol requeue {fixed}": f"{DISABLED} for job {{fixed}}\n",
    "scontrol requeuehold Incomplete {fixed}": f"{DISABLED} for job {{fixed}}\n",
    "scontrol requeue {held},99999": f"{PENDING} for job {{held}}\n{INVALID} for job 99999\n",
    "scontrol hold 99999": f"{INVALID} for job 99999\n" + SUSPEND.format(INVALID),
    "scontrol hold {failed}": f"{FINISHED} for job {{failed}}\n" + SUSPEND.format(FINISHED),
    "scontrol release {failed}": f"{FINISHED} for job {{failed}}\n" + SUSPEND.format(FINISHED),
    "scontrol release 99999": f"{INVALID} for job 99999\n" + SUSPEND.format(INVALID),
    "scontrol update JobId=99999 Comment=x": f"{INVALID} for job 99999\n",
    "scontrol update JobId={failed} Comment=x": f"{FINISHED} for job {{failed}}\n",
    "scontrol update JobId={failed} AdminComment=x": f"{FINISHED} for job {{failed}}\n",
    "scontrol update JobId={cancelled} ExcNodeList=n01": f"{FINISHED} for job {{cancelled}}\n",
    "scontrol update JobId={running} ExcNodeList=n01": f"{STARTED} for job {{running}}\n",
    "scontrol update JobId={running} StartTime=now+2": f"{STARTED} for job {{running}}\n",
    "scontrol update JobId={held} ExcNodeList=n01,n99": "Invalid node name specified for job {held}\n",
    "scontrol update JobId={held} ExcNodeList=n[01": "Invalid node name specified for job {held}\n",
    "scontrol update JobId={held} Priority=5": "Job is in held state, pending scheduler release for job {held}\n",
    f"scontrol update JobId={{running}} Comment={'x' * 1025}": (
        "Pathname of a file, directory or other parameter too long for job {running}\n"
    ),
    "scontrol update JobId={held} StartTime=bogus": (
        "Invalid time specification (pos=0): bogus\nNo changes specified\n"
    ),
    "scontrol update JobId={running} Bogus=1": UNSUPPORTED.format("Bogus=1"),
    "scontrol update JobId={running} Extra=1": UNSUPPORTED.format("Extra=1"),
    "scontrol update JobId={running} AdminComment": "Invalid input: AdminComment\nRequest aborted\n",
    "scontrol update JobId={running} ExcNodeList+=n02": (
        "scontrol: error: Option ExcNodeList+=n02 does not accept [+|-]= syntax\n"
    ),
    "scontrol update Foo=1": NO_ENTITY,
    "scontrol update": "too few arguments for update keyword\n",
    "scontrol requeue": "too few arguments for keyword:requeue\n",
    "scontrol bogus": "invalid keyword: bogus\n",
    "scontrol show bogus": "invalid entity:bogus for keyword:show \n",
    "scontrol show job 99999": "slurm_load_jobs error: Invalid job id specified\n",
    "scontrol show job abc": "scontrol_print_job error: Invalid job id specified\n",
    "scontrol update NodeName=n01 State=DRAIN": REASON,
    "scontrol update NodeName=n01 State=DOWN": REASON,
    "scontrol update NodeName=n99 State=DRAIN Reason=x": "slurm_update error: Invalid node name specified\n",
    "scontrol update NodeName=n01 State=RESUME": "slurm_update error: Invalid node state specified\n",
    "scontrol update NodeName=n01 State=BOGUS Reason=x": f"Invalid input: State=BOGUS\n{STATES}",
    "scontrol update NodeName=n01 Bogus=1": UNSUPPORTED.format("Bogus=1"),
    "squeue -h -j 99999": "slurm_load_jobs error: Invalid job id specified\n",
    "squeue -h -j abc": "squeue: error: Invalid job id: abc\n",
    "squeue --bogus": "squeue: unrecognized option '--bogus'\n" + TRY.format("squeue"),
    "squeue -z": "squeue: invalid option -- 'z'\n" + TRY.format("squeue"),
    "sinfo --bogus": "sinfo: unrecognized option '--bogus'\n" + TRY.format("sinfo"),
    "sdiag --bogus": "sdiag: unrecognized option '--bogus'\n" + TRY.format("sdiag"),
    "scontrol --bogus": "scontrol: unrecognized option '--bogus'\n" + TRY.format("scontrol"),
    "scancel --bogus": "scancel: unrecognized option '--bogus'\n" + TRY.format("scancel"),
    "sacct --bogus": "sacct: unrecognized option '--bogus'\n",
    "sacct -o Restarts": 'sacct: error: Invalid field requested: "Restarts"\n',
    "scancel": "scancel: error: No job identification provided\n",
    "scancel abc": "scancel: error: Invalid job id abc\n",
    "scancel {running} abc": "scancel: error: Invalid job id abc\n",
}


SILENT = (
    "scancel 99999",
    "scancel {failed}",
    "scontrol requeue Incomplete {failed}",
    "scontrol requeuehold Incomplete {held}",
    "scontrol requeuehold Incomplete {cancelled}",
    "scontrol release {running}",
    "squeue -h -j 88888,99999",
    "squeue -h -u nobody -t all",
    "squeue -h -p nowhere -t all",
    "sacct -n -X -j 99999",
)
DOWN = "Unable to contact slurm controller (connect failure)"
UNEXPECTED = "Unexpected message received"
UNANSWERED = {
    "squeue -h": (1, f"slurm_load_jobs error: {DOWN}\n"),
    "scontrol show job {running}": (1, f"slurm_load_jobs error: {DOWN}\n"),
    "scontrol -o show nodes": (1, f"slurm_load_node error: {DOWN}\n"),
    "scontrol show config": (1, f"slurm_load_ctl_conf error: {DOWN}\n"),
    "scontrol requeuehold Incomplete {running},77": (
        1,
        f"{UNEXPECTED} for job {{running}}\n{UNEXPECTED} for job 77\n",
    ),
    "scontrol update JobId={running} Comment=x": (1, f"{UNEXPECTED} for job {{running}}\n"),
    "scontrol hold {running}": (1, f"{UNEXPECTED} for job {{running}}\nslurm_suspend error: {UNEXPECTED}\n"),
    "scontrol release {running}": (1, f"{UNEXPECTED} for job {{running}}\nslurm_suspend error: {UNEXPECTED}\n"),
    "scontrol update NodeName=n01 State=RESUME": (1, f"slurm_update error: {DOWN}\n"),
    "scancel {running}": (8, f"scancel: error: Kill job error on job id {{running}}: {DOWN}\n"),
    "sinfo -h": (1, f"slurm_load_partitions: {DOWN}\n"),
    "sdiag": (255, f"slurm_get_statistics: {DOWN}\n"),
}


def told(text: str, numbers: dict[str, int]) -> str:
    """`text` with the numbers of this cluster's jobs for their roles."""
    for role, number in numbers.items():
        text = text.replace(f"{{{role}}}", str(number))
    return text
