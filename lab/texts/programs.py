"""What do programs say when their own code, their input or their settings are wrong?"""

from lab.texts.struck import Spoken, Struck, Text, say

Frames = tuple[tuple[str, int, str, str], ...]  # file, line, function, the line of code
MAIN = ("/opt/train/pretrain.py", 214, "<module>", "main(arguments)")
STEP = ("/opt/train/loop.py", 96, "step", "loss = self.model(tokens, labels)")
START = ("/opt/train/pretrain.py", 18, "<module>", "from train.model import Model")


def traceback(rank: int, frames: Frames, error: str) -> tuple[str, ...]:
    """A traceback of Python with the prefix that torch gives to the lines of a rank."""
    lines = ["Traceback (most recent call last):"]
    for file, number, function, code in frames:
        lines += [f'  File "{file}", line {number}, in {function}', f"    {code}"]
    return tuple(f"[rank{rank}]: {line}" for line in (*lines, *error.split("\n")))


def everywhere(struck: Struck, frames: Frames, error: str) -> tuple[Spoken, ...]:
    """Every rank ends with the same traceback within some seconds."""
    return tuple(line for rank in range(struck.ranks) for line in say(0.02 * rank, *traceback(rank, frames, error)))


def alone(struck: Struck, frames: Frames, error: str, after: float = 0.0) -> tuple[Spoken, ...]:
    """The struck rank ends with a traceback."""
    return say(after, *traceback(struck.rank, frames, error))


def exception(struck: Struck) -> tuple[Spoken, ...]:
    """An ordinary mistake of the program that shows on one rank after many steps."""
    router = ("/opt/train/router.py", 203, "dispatch", "expert = self.table[token_class]")
    return alone(struck, (MAIN, STEP, router), "KeyError: 131072")


def exception_everywhere(struck: Struck) -> tuple[Spoken, ...]:
    """A mistake of the program that shows at once on every rank."""
    build = ("/opt/train/model.py", 77, "build", "self.norm = config.norm_class(config.hidden)")
    return everywhere(struck, (MAIN, build), "AttributeError: 'ModelConfig' object has no attribute 'norm_class'")


def import_error(struck: Struck) -> tuple[Spoken, ...]:
    """A package is missing on one host: its ranks cannot start."""
    ranks = range(struck.first_rank(struck.host), struck.first_rank(struck.host) + struck.gpus)
    lines: list[Spoken] = []
    for place, rank in enumerate(ranks):
        lines += say(0.1 * place, *traceback(rank, (START,), "ModuleNotFoundError: No module named 'grouped_gemm'"))
    return tuple(lines)


def import_error_everywhere(struck: Struck) -> tuple[Spoken, ...]:
    """A package is missing in the image that all hosts use."""
    error = "ImportError: cannot import name 'rotary' from 'train.layers' (/opt/train/layers/__init__.py)"
    return everywhere(struck, (START,), error)


def bad_argument(struck: Struck) -> tuple[Spoken, ...]:
    """An option that the program does not know."""
    lines: list[Spoken] = []
    for rank in range(struck.ranks):
        lines += say(
            0.03 * rank,
            f"{rank}: usage: pretrain.py [-h] --config CONFIG [--steps STEPS] [--seed SEED]",
            f"{rank}: pretrain.py: error: unrecognized arguments: --micro-batchsize 4",
        )
    return tuple(lines)


def bad_settings(struck: Struck) -> tuple[Spoken, ...]:
    """A value in the file of settings that the program refuses."""
    check = ("/opt/train/settings.py", 40, "load", "return Settings.model_validate(told)")
    error = (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\n"
        "parallel.tensor\n  Input should be less than or equal to 8 [type=less_than_equal, input_value=16]"
    )
    return everywhere(struck, (MAIN, check), error)


def shape_mismatch(struck: Struck) -> tuple[Spoken, ...]:
    """Two parts of the model do not fit."""
    layer = ("/opt/train/attention.py", 118, "forward", "scores = torch.matmul(query, key)")
    return everywhere(
        struck,
        (MAIN, STEP, layer),
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x1280 and 1536x5120)",
    )


def checkpoint_mismatch(struck: Struck) -> tuple[Spoken, ...]:
    """The checkpoint belongs to another model."""
    load = ("/opt/train/storage.py", 91, "load", "model.load_state_dict(state)")
    error = (
        "RuntimeError: Error(s) in loading state_dict for DecoderModel:\n"
        "\tsize mismatch for layers.0.mlp.up.weight: copying a param with shape torch.Size([14336, 4096]) from "
        "checkpoint, the shape in current model is torch.Size([11008, 4096])."
    )
    return everywhere(struck, (MAIN, load), error)


def checkpoint_corrupt(struck: Struck) -> tuple[Spoken, ...]:
    """A file of the newest checkpoint was cut off while it was written."""
    load = ("/opt/train/storage.py", 88, "load", "state = torch.load(path, mmap=True)")
    error = (
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory "
        "(/scratch/train/ckpt/step_00000040/shard_00002.pt)"
    )
    return alone(struck, (MAIN, load), error)


def cuda_memory_at_start(struck: Struck) -> tuple[Spoken, ...]:
    """The model is too big for the GPUs: every rank runs out of memory before the first step."""
    build = ("/opt/train/optimizer.py", 61, "build", "state = torch.zeros_like(parameter)")
    error = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.81 GiB. GPU {gpu} has a total capacity of "
        "79.33 GiB of which 2.06 GiB is free. Of the allocated memory 75.90 GiB is allocated by PyTorch."
    )
    lines: list[Spoken] = []
    for rank in range(struck.ranks):
        own = error.format(gpu=struck.gpu_of(rank))
        lines += say(0.02 * rank, *traceback(rank, (MAIN, build), own))
    return tuple(lines)


def cuda_memory_later(struck: Struck) -> tuple[Spoken, ...]:
    """One long sample is too much for one rank."""
    error = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU {struck.gpu} has a total "
        "capacity of 79.33 GiB of which 1.44 GiB is free. Of the allocated memory 71.02 GiB is allocated by "
        "PyTorch, and 4.21 GiB is reserved by PyTorch but unallocated."
    )
    return alone(struck, (MAIN, STEP), error)


def cuda_memory_foreign(struck: Struck) -> tuple[Spoken, ...]:
    """Another process, left over on the host, holds most of the GPU's memory."""
    error = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {struck.gpu} has a total "
        "capacity of 79.33 GiB of which 310.00 MiB is free. "
        f"Process {struck.process + 4011} has 61.70 GiB memory in use."
    )
    return alone(struck, (MAIN, STEP), error)


def broken_sample(struck: Struck) -> tuple[Spoken, ...]:
    """One sample cannot be decoded."""
    read = ("/opt/train/reader.py", 52, "__getitem__", 'return raw.decode("utf-8")')
    worker = f"Caught UnicodeDecodeError in DataLoader worker process {struck.gpu % 4}.\nOriginal "
    inner = (
        "Traceback (most recent call last):\n"
        '  File "/opt/train/reader.py", line 52, in __getitem__\n    return raw.decode("utf-8")\n'
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xb1 in position 8812: invalid start byte"
    )
    return alone(struck, (MAIN, read), f"UnicodeDecodeError: {worker}{inner}")


def file_missing(struck: Struck) -> tuple[Spoken, ...]:
    """A file of the tokenizer is not where the settings say."""
    read = ("/opt/train/tokens.py", 29, "load", "return Tokenizer(open(path))")
    error = "FileNotFoundError: [Errno 2] No such file or directory: '/models/tokens/merges-v3.txt'"
    return everywhere(struck, (MAIN, read), error)


def refused(struck: Struck) -> tuple[Spoken, ...]:
    """The store of models wants somebody else."""
    ask = ("/opt/train/tokens.py", 25, "fetch", "path = download(name, token=token)")
    error = (
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6a1f)\n"
        "Cannot access gated repo for url /models/base-70b/resolve/main/tokenizer.json."
    )
    return everywhere(struck, (MAIN, ask), error)


def port_in_use(struck: Struck) -> tuple[Spoken, ...]:
    """A process that was left over still listens where the ranks want to meet."""
    meet = ("/opt/train/pretrain.py", 55, "main", 'torch.distributed.init_process_group("nccl")')
    error = (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: 29713, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    )
    return alone(struck, (MAIN, meet), error)


def shared_memory(struck: Struck) -> tuple[Spoken, ...]:
    """The shared memory of a host is full: a worker of the data loader dies of a bus error."""
    fetch = ("/opt/train/loop.py", 84, "batches", "yield from self.loader")
    error = (
        f"RuntimeError: DataLoader worker (pid {struck.process + 12}) is killed by signal: Bus error. "
        "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory "
        "limit."
    )
    return (
        *say(
            0,
            f"{struck.rank}: ERROR: Unexpected bus error encountered in worker. This might be caused by "
            "insufficient shared memory (shm).",
        ),
        *alone(struck, (MAIN, fetch), error, 0.2),
    )


def nan_checked(struck: Struck) -> tuple[Spoken, ...]:
    """Megatron's own check finds a gradient that is no number, on one rank."""
    check = (
        "/opt/megatron/core/rerun_state_machine.py",
        531,
        "validate_result",
        "raise RuntimeError(full_message)",
    )
    error = (
        f"RuntimeError: Rank {struck.rank}, node {struck.host}, device {struck.gpu}, iteration 42: Unexpected "
        "result nan (message='found NaN in local grad norm for bucket #1 in backward pass before data-parallel "
        "communication collective')"
    )
    return alone(struck, (MAIN, check), error)


TEXTS: dict[str, Text] = {
    "exception": exception,
    "exception_everywhere": exception_everywhere,
    "import_error": import_error,
    "import_error_everywhere": import_error_everywhere,
    "bad_argument": bad_argument,
    "bad_settings": bad_settings,
    "shape_mismatch": shape_mismatch,
    "checkpoint_mismatch": checkpoint_mismatch,
    "checkpoint_corrupt": checkpoint_corrupt,
    "cuda_memory_at_start": cuda_memory_at_start,
    "cuda_memory_later": cuda_memory_later,
    "cuda_memory_foreign": cuda_memory_foreign,
    "data_error": broken_sample,
    "file_missing": file_missing,
    "refused": refused,
    "port_in_use": port_in_use,
    "shared_memory": shared_memory,
    "nan_checked": nan_checked,
}
