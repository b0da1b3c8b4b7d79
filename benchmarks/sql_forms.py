"""What the DuckDB side is asked: each workload's rules as SQL, a recursive CTE where one can say them, else rounds.

Input relations have columns a, b; so have all relations that rounds compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Query:
    """A relation that one query gives, without duplicates."""

    relation: str
    sql: str


@dataclass(frozen=True, slots=True)
class Step:
    """One delta version of a rule: adds to `head` what follows from the delta of `reads`.

    The query may read `<relation>_delta`, `<relation>_old` (all but the delta) and `<relation>` (both).
    """

    head: str
    reads: str
    sql: str


@dataclass(frozen=True, slots=True)
class Rounds:
    """Relations computed together by semi-naive rounds: `starts` fill them, `steps` run as long as one gives rows."""

    starts: tuple[Query, ...]
    steps: tuple[Step, ...]


Form: TypeAlias = tuple[Query | Rounds, ...]


TRANSITIVE_CLOSURE: Form = (
    Query(
        "path",
        """
        WITH RECURSIVE path(a, b) AS (
            SELECT a, b FROM edge
            UNION
            SELECT path.a, edge.b FROM path JOIN edge ON path.b = edge.a
        ) FROM path
        """,
    ),
)

TRANSITIVE_CLOSURE_BY_ITSELF: Form = (
    Rounds(
        starts=(Query("path", "SELECT a, b FROM edge"),),
        steps=(
            Step("path", "path", "SELECT l.a, r.b FROM path_delta l JOIN path r ON l.b = r.a"),
            Step("path", "path", "SELECT l.a, r.b FROM path_old l JOIN path_delta r ON l.b = r.a"),
        ),
    ),
)

SAME_GENERATION: Form = (
    Query(
        "sg",
        """
        WITH RECURSIVE sg(a, b) AS (
            SELECT x.b, y.b FROM edge x JOIN edge y ON x.a = y.a WHERE x.b <> y.b
            UNION
            SELECT x.b, y.b FROM sg JOIN edge x ON sg.a = x.a JOIN edge y ON sg.b = y.a
        ) FROM sg
        """,
    ),
)

CONNECTED: Form = (
    Rounds(
        starts=(Query("r", "SELECT a, b FROM edge"),),
        steps=(
            Step("r", "r", "SELECT b, a FROM r_delta"),
            Step("r", "r", "SELECT x.a, y.b FROM r_delta x JOIN r y ON x.b = y.a"),
            Step("r", "r", "SELECT x.a, y.b FROM r_old x JOIN r_delta y ON x.b = y.a"),
        ),
    ),
)

REACH: Form = (
    Query(
        "reach",
        """
        WITH RECURSIVE reach(a) AS (
            SELECT a FROM source
            UNION
            SELECT edge.b FROM reach JOIN edge ON reach.a = edge.a
        ) FROM reach
        """,
    ),
)

CAN_USE: Form = (
    Query(
        "canuse",
        """
        SELECT DISTINCT near.a, request.b
        FROM near JOIN "use" u ON near.a = u.a AND near.b = u.b JOIN request ON near.b = request.a
        """,
    ),
)

ANDERSEN: Form = (
    Rounds(
        starts=(Query("pts", "SELECT a, b FROM addressOf"),),
        steps=(
            Step("pts", "pts", "SELECT s.a, d.b FROM assign s JOIN pts_delta d ON s.b = d.a"),
            Step("pts", "pts", 'SELECT l.a, p.b FROM "load" l JOIN pts_delta d ON l.b = d.a JOIN pts p ON d.b = p.a'),
            Step(
                "pts", "pts", 'SELECT l.a, d.b FROM "load" l JOIN pts_old p ON l.b = p.a JOIN pts_delta d ON p.b = d.a'
            ),
            Step("pts", "pts", "SELECT d.b, p.b FROM store s JOIN pts_delta d ON s.a = d.a JOIN pts p ON s.b = p.a"),
            Step(
                "pts", "pts", "SELECT p.b, d.b FROM store s JOIN pts_old p ON s.a = p.a JOIN pts_delta d ON s.b = d.a"
            ),
        ),
    ),
)

# The rule with three atoms removes duplicates after its first join, which took a tenth less time than the plain join.
CSPA: Form = (
    Rounds(
        starts=(
            Query(
                "vflow", "SELECT a, b FROM assign UNION ALL SELECT a, a FROM assign UNION ALL SELECT b, b FROM assign"
            ),
            Query("malias", "SELECT a, a FROM assign UNION ALL SELECT b, b FROM assign"),
            Query("valias", "SELECT a, b FROM assign LIMIT 0"),
        ),
        steps=(
            Step("vflow", "malias", "SELECT s.a, m.b FROM assign s JOIN malias_delta m ON s.b = m.a"),
            Step("vflow", "vflow", "SELECT x.a, y.b FROM vflow_delta x JOIN vflow y ON x.b = y.a"),
            Step("vflow", "vflow", "SELECT x.a, y.b FROM vflow_old x JOIN vflow_delta y ON x.b = y.a"),
            Step(
                "malias",
                "valias",
                """
                SELECT x.b, y.b
                FROM dereference x JOIN valias_delta v ON x.a = v.a JOIN dereference y ON v.b = y.a
                """,
            ),
            Step("valias", "vflow", "SELECT x.b, y.b FROM vflow_delta x JOIN vflow y ON x.a = y.a"),
            Step("valias", "vflow", "SELECT x.b, y.b FROM vflow_old x JOIN vflow_delta y ON x.a = y.a"),
            Step(
                "valias",
                "vflow",
                """
                SELECT x.a, y.b
                FROM (SELECT DISTINCT x.b AS a, m.b FROM vflow_delta x JOIN malias m ON x.a = m.a) x
                JOIN vflow y ON x.b = y.a
                """,
            ),
            Step(
                "valias",
                "malias",
                """
                SELECT x.a, y.b
                FROM (SELECT DISTINCT x.b AS a, m.b FROM vflow_old x JOIN malias_delta m ON x.a = m.a) x
                JOIN vflow y ON x.b = y.a
                """,
            ),
            Step(
                "valias",
                "vflow",
                """
                SELECT x.b, y.b
                FROM vflow_old x
                JOIN (SELECT DISTINCT m.a, y.b FROM malias_old m JOIN vflow_delta y ON m.b = y.a) y ON x.a = y.a
                """,
            ),
        ),
    ),
)

LUBM: Form = (
    Query("professor", "FROM fullProf UNION FROM assocProf UNION FROM assistProf"),
    Query("faculty", "FROM professor"),
    Query("student", "FROM gradStudent UNION FROM undergrad"),
    Query("person", "FROM student UNION FROM faculty"),
    Rounds(
        starts=(Query("subOrg", "SELECT a, b FROM subOrganizationOf"),),
        steps=(
            Step("subOrg", "subOrg", "SELECT x.a, y.b FROM subOrg_delta x JOIN subOrg y ON x.b = y.a"),
            Step("subOrg", "subOrg", "SELECT x.a, y.b FROM subOrg_old x JOIN subOrg_delta y ON x.b = y.a"),
        ),
    ),
    Query("worksFor2", "FROM worksFor UNION FROM headOf"),
    Query(
        "member",
        """
        WITH RECURSIVE member(a, b) AS (
            (FROM memberOf UNION FROM worksFor2)
            UNION
            SELECT member.a, subOrg.b FROM member JOIN subOrg ON member.b = subOrg.a
        ) FROM member
        """,
    ),
    Query("alumnus", "SELECT b AS a, a AS b FROM degreeFrom"),
    Query(
        "qtwo",
        """
        SELECT DISTINCT g.a, s.b
        FROM gradStudent g JOIN memberOf m ON g.a = m.a JOIN subOrg s ON m.b = s.a
        JOIN degreeFrom d ON g.a = d.a AND s.b = d.b
        """,
    ),
    Query(
        "qnine",
        """
        SELECT s.a, f.a AS b, t.b AS c
        FROM student s JOIN advisor v ON s.a = v.a JOIN faculty f ON v.b = f.a JOIN teacherOf t ON f.a = t.a
        JOIN takesCourse c ON s.a = c.a AND t.b = c.b
        """,
    ),
)
