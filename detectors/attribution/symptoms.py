"""How does a finding of the detectors become a symptom that the search for a cause looks at?"""

from detectors.attribution.facts import QUOTE_LIMIT, Quote, Symptom
from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Evidence, Finding
from detectors.catalogue.role import Role

EVIDENCE_KEPT = 8
SENTENCE_LIMIT = 1000  # characters


def symptom_of(finding: Finding, known: Catalogue, *, refuted: bool) -> Symptom:
    """The symptom by the catalogue that it was found with; `refuted`: later lines showed that it moved again."""
    return Symptom(
        key=finding.key,
        kind=finding.kind,
        signature=finding.signature,
        layer=finding.layer,
        role=finding.role,
        sentence=finding.sentence[:SENTENCE_LIMIT],
        happened_at=finding.happened_at,
        action=known.signature(finding.signature).action if known.knows(finding.signature) else "",
        basis=finding.basis,
        fingerprint=finding.fingerprint,
        step=finding.step,
        nodes=tuple(finding.nodes),
        ranks=tuple(finding.ranks),
        evidence=tuple(_quote(line) for line in finding.evidence[:EVIDENCE_KEPT]),
        confidence=finding.confidence,
        count=finding.count,
        refuted=refuted,
    )


def is_cause(kind: AnomalyKind, role: Role, basis: str) -> bool:
    """Whether an anomaly read from a line may be the first cause of an end."""
    fatal = kind in (AnomalyKind.CRASH, AnomalyKind.HANG, AnomalyKind.NAN)
    return fatal and role in (Role.ROOT, Role.CANDIDATE) and basis != "state"


def is_victims(kind: AnomalyKind, role: Role, layer: Layer) -> bool:
    """Whether an anomaly is the message of a process that others took down: it has ended, and was no cause."""
    return kind is AnomalyKind.CRASH and role is Role.SECONDARY and layer in (Layer.FRAMEWORK, Layer.FRAMEWORK_COMM)


def _quote(line: Evidence) -> Quote:
    return Quote(line.stream, line.offset, line.line[:QUOTE_LIMIT], line.at, line.host, line.rank)
