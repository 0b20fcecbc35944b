"""How is the stand-in for a training job submitted to a real Slurm?"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lab.parts.ports import free_port
from lab.parts.running import PYTHON, ROOT
from lab.slurm.cluster import SlurmCluster

OPT_IN = {"nvidia-recovery": {"environment": "test", "mode": "action"}, "APS": {"auto_resume_mode": "requeue"}}


def submit_training(slurm: SlurmCluster, faults: Sequence[Mapping[str, Any]], **options: Any) -> int:
    """Submit the stand-in for a training job to a real Slurm, on three nodes; the job's number."""
    name = options.get("name", "train")
    folder = slurm.layout.jobs / f"checkpoints-{os.urandom(4).hex()}"
    command = [PYTHON, "-m", "lab.trainer", "--folder", str(folder), "--port", str(free_port())]
    command += ["--steps", str(options.get("steps", 40)), "--step-seconds", str(options.get("step_seconds", 0.3))]
    command += ["--checkpoint-every", "5", "--faults", f"'{json.dumps(list(faults))}'"]
    script = f"#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec srun --kill-on-bad-exit=1 {' '.join(command)}\n"
    words = ["-N3", "--ntasks-per-node=1", f"-J{name}", f"--comment={json.dumps(options.get('opt_in', OPT_IN))}"]
    return slurm.submit(script, *words, "-o%x_%j.log", *options.get("sbatch", ()))
