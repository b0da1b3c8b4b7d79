"""Sample data for entity resolution: records of people in three systems, the same every time.

python examples/entity_resolution/generate.py FOLDER
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

RECORDS = 50_000
ARRIVING = 120
WRONG = 8
COLUMNS = ("id", "name", "born", "email", "phone")
SYSTEMS = ("crm", "shop", "web")

Record = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    born: str
    emails: tuple[str, ...]
    phones: tuple[str, ...]


def main(folder: Path) -> None:
    write_records(folder / "data" / "records.csv", first_records())


def first_records() -> list[Record]:
    """What the systems know on the first day."""
    return _known()[1]


def arriving_records() -> list[Record]:
    """What arrives next: more about people already known."""
    random = Random(2)
    people, _ = _known()
    return [_record(random, random.choice(people), f"web-{RECORDS + number}") for number in range(ARRIVING)]


def wrong_records() -> list[Record]:
    """Records of a faulty import, each with the e-mail address of one person and the telephone number of another."""
    random = Random(3)
    _, records = _known()
    emails = random.sample([email for _, _, _, email, _ in records if email], WRONG)
    phones = random.sample([phone for _, _, _, _, phone in records if phone], WRONG)
    return [
        (f"xls-{at:05}", "", "", email, phone) for at, (email, phone) in enumerate(zip(emails, phones, strict=True))
    ]


def write_records(file: Path, records: Iterable[Record]) -> None:
    """Writes a CSV file that appears whole."""
    _write(file, COLUMNS, records)


def write_changes(file: Path, operation: str, records: Iterable[Record]) -> None:
    """Writes a file of changes; a column `op` says what to do with each record."""
    _write(file, ("op", *COLUMNS), ((operation, *record) for record in records))


def _known() -> tuple[list[Person], list[Record]]:
    random = Random(1)
    people: list[Person] = []
    records: list[Record] = []
    while len(records) < RECORDS:
        person = _person(random, len(people))
        people.append(person)
        for _ in range(random.choice((1, 1, 2, 2, 3, 3, 4, 5))):
            records.append(_record(random, person, f"{random.choice(SYSTEMS)}-{len(records):05}"))
    return people, records[:RECORDS]


def _person(random: Random, number: int) -> Person:
    given, family = _word(random, 2).capitalize(), _word(random, 3).capitalize()
    born = f"{random.randrange(1940, 2007)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"
    emails = (f"{given}.{family}{number}@example.org".lower(), f"{family}{number}@example.com".lower())
    phones = (f"555-{number:06}", f"556-{number:06}")
    return Person(f"{given} {family}", born, emails, phones)


def _record(random: Random, person: Person, id: str) -> Record:
    """A record of a person, with what the one who wrote it happened to know."""
    name = person.name if random.random() < 0.8 else person.name.replace("a", "e", 1)
    born = person.born if random.random() < 0.7 else ""
    email = random.choice(person.emails) if random.random() < 0.6 else ""
    phone = random.choice(person.phones) if random.random() < 0.5 else ""
    return (id, name, born, email, phone)


def _word(random: Random, syllables: int) -> str:
    return "".join(random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(syllables))


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}")
    with hidden.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([header, *rows])
    hidden.rename(file)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
