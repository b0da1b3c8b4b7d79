"""Takes production rules, returns which of their joins are worth retaining: RETE, TREAT, A-TREAT and COSMA."""

from tidelog.plan.retention.annotate import Annotation, annotate
from tidelog.plan.retention.influence import Influence, influence_graph, relevant

__all__ = ["Annotation", "Influence", "annotate", "influence_graph", "relevant"]
