"""Which names of clusters that were removed are not for everybody?"""

from django.db import models

from workloads.validators import group_names


class RemovedCluster(models.Model):
    """A cluster that was for some groups alone and was removed: what its trail says stays theirs."""

    name = models.CharField(max_length=64, unique=True)
    seen_by = models.JSONField(validators=[group_names])

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


def name_mistakes(name: str, is_new: bool) -> dict[str, str]:
    """What is wrong with the name of a cluster: the trail of one that was removed would become its own."""
    if is_new and RemovedCluster.objects.filter(name=name).exists():
        return {
            "name": "A cluster of this name was removed and was for some groups alone; take another name, or open "
            f"its trail to everybody first: manage.py seen_by {name} --everybody."
        }
    return {}
