"""How does a command reach a simulated cluster? It is passed over the socket of DIR and the answer is printed.

Run as `python -I -S client.py DIR COMMAND ARGUMENT…`, a process for each command: only modules that cost nothing
to import. Also what each command says when nobody answers, read off a real Slurm 22.05.8.
"""

import _socket
import posix
import sys

SECONDS = 20.0  # a hung controller makes squeue wait this long before it says so
LONGEST_REQUEST = 1 << 20  # bytes
DOWN = "Unable to contact slurm controller (connect failure)"
HUNG = "Socket timed out on send/recv operation"
UNEXPECTED = "Unexpected message received"  # said whether or not it was done: it proves nothing (slurm.md 0.4)
STARS = "*" * 41
HOST = "localhost"
QUESTIONS = {
    "node": "slurm_load_node error",
    "nodes": "slurm_load_node error",
    "config": "slurm_load_ctl_conf error",
    "partition": "slurm_load_partitions error",
    "partitions": "slurm_load_partitions error",
}


def unreachable(argv: list[str], why: str = DOWN) -> tuple[int, str, str]:
    """Return code, stdout and stderr of a command whose controller does not answer."""
    command, words = argv[0], [word for word in argv[1:] if not word.startswith("-")]
    if command == "scontrol":
        return _scontrol(words, why)
    if command == "scancel":
        text = "".join(f"scancel: error: Kill job error on job id {word}: {why}\n" for word in words)
        return 8, "", text
    if command == "sdiag":
        return 255, "", f"slurm_get_statistics: {why}\n"
    if command == "sinfo":
        return 1, "", f"slurm_load_partitions: {why}\n"
    if command == "sacct":
        return 1, "", "sacct: error: Problem talking to the database: Connection refused\n"
    return 1, "", f"slurm_load_jobs error: {why}\n"


def _scontrol(words: list[str], why: str) -> tuple[int, str, str]:
    verb = words[0].lower() if words else ""
    if verb == "ping":
        text = f"{STARS}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{STARS}\n"
        return 1, f"Slurmctld(primary) at {HOST} is DOWN\n{text}", ""
    if verb == "show":
        entity = words[1].lower() if len(words) > 1 else ""
        return 1, "", f"{QUESTIONS.get(entity, 'slurm_load_jobs error')}: {why}\n"
    targets = words[1:]
    if verb == "update":
        targets = [word.partition("=")[2] for word in words[1:] if word.lower().startswith(("jobid=", "job="))]
        if not targets:
            return 1, "", f"slurm_update error: {why}\n"
    more = f"slurm_suspend error: {UNEXPECTED}\n" if verb in ("hold", "uhold", "release") else ""
    numbers = [word for target in targets for word in target.split(",") if word.isdigit()]
    return 1, "", "".join(f"{UNEXPECTED} for job {number}\n{more}" for number in numbers)


def ask(folder: str, argv: list[str], time_format: str = "", seconds: float = SECONDS) -> tuple[int, bytes, bytes]:
    """Return code, stdout and stderr that the cluster in `folder` gives; raises OSError when it does not.

    The socket is spoken to by its short name: a path of a Unix socket holds 107 bytes.
    """
    request = "\0".join([time_format, *argv]).encode("utf-8", "surrogateescape")
    try:
        before = posix.getcwd()
    except OSError:
        before = "/"  # it was deleted under us
    posix.chdir(folder)
    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        line.settimeout(seconds)
        line.connect("socket")
    finally:
        posix.chdir(before)
    line.sendall(b"%d\n%s" % (len(request), request))
    answer = bytearray()
    while chunk := line.recv(1 << 16):
        answer += chunk
    line.close()
    head, _, body = bytes(answer).partition(b"\n")
    try:
        code, out, err = (int(word) for word in head.split())
    except ValueError:
        raise OSError("no answer") from None
    if len(body) != out + err:
        raise OSError("the answer breaks off")
    return code, body[:out], body[out:]


def main(folder: str, argv: list[str]) -> int:
    """Ask and print; the return code."""
    time_format = posix.environ.get(b"SLURM_TIME_FORMAT", b"").decode("utf-8", "surrogateescape")
    try:
        code, out, err = ask(folder, argv, time_format)
    except OSError as error:
        hung = isinstance(error, TimeoutError)
        code, text, wrong = unreachable(argv, HUNG if hung else DOWN)
        out, err = text.encode(), wrong.encode("utf-8", "surrogateescape")
    try:
        sys.stderr.buffer.write(err)
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
    except OSError:
        return 1  # nobody reads
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
