"""``handraise doctor`` on a good set-up: every line is ok, and nothing is disturbed."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from handraise_testing.database import lay_down

from bot.doctor.findings import Severity
from core.store.inspection import inspect
from tests.bot.doctor.test_doctor_faults import PLANTED
from tests.bot.doctor.ward import ward

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "doctor.md"


async def test_on_a_good_set_up_every_line_is_ok_and_explained(tmp_path: Path, database_url: str) -> None:
    async with ward(tmp_path, database_url) as good:
        found = await good.examine()
    odd = [one.line for one in found if one.level is not Severity.OK]
    assert odd == [] or (len(odd) == 1 and "pg_trgm" in odd[0]), "not every PostgreSQL has it"
    subjects = [one.subject for one in found]
    assert len(subjects) == len(set(subjects))
    explained = set(re.findall(r"^\| `([a-z_.]+)` \|", PAGE.read_text(), re.MULTILINE))
    assert {*subjects, *(one.subject for one in PLANTED.values())} - explained == set()


async def test_a_provider_that_publishes_what_a_sign_in_needs_is_good(tmp_path: Path, sqlite_url: str) -> None:
    async with ward(tmp_path, sqlite_url) as good:
        client = {"client_id": "1.2", "client_secret": "s", "team_id": "T0SANDBOX", "issuer": good.world.slack.url}
        found = {one.subject: one for one in await good.examine(signin={"slack": client})}
    assert found["signin.slack"].level is Severity.OK
    assert found["signin.slack"].found.endswith("/signin/slack/callback")


async def test_an_older_schema_on_postgresql_waits_for_handraise_migrate(tmp_path: Path, postgres_url: str) -> None:
    async with ward(tmp_path, postgres_url) as good:
        engine = sa.create_engine(postgres_url)
        with engine.begin() as conn:
            conn.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
        engine.dispose()
        found = {one.subject: one for one in await good.examine()}
    assert found["database.schema"].level is Severity.FAULT
    assert found["database.schema"].mend == "Run `handraise migrate`."


def test_a_database_that_nobody_uses_is_read_without_a_trace(tmp_path: Path) -> None:
    """A log that was made by whoever runs doctor, maybe root, would be nothing that the service can write."""
    file = tmp_path / "handraise.db"
    lay_down(f"sqlite:///{file}")
    before = file.read_bytes()
    found = inspect(f"sqlite:///{file}", 5, lambda: None)  # type: ignore[arg-type,return-value]
    assert found is not None
    assert found.is_current
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == before
