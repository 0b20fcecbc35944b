"""What is to be known before anything acts on a job by itself?"""

from console.asking import Asked
from console.contexts import Context
from console.five_facts import answers_on


def job_questions(asked: Asked) -> Context:
    """Five questions about the newest attempt that was judged, with their answers."""
    attempt, answers = answers_on(asked.the_job, asked.the_cluster)
    return {"attempt": attempt, "answers": answers, "mode": asked.the_cluster.mode}
