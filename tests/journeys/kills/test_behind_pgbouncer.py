"""Two processes behind a real pgbouncer in transaction mode are one service, and a start that would be wrong is none.

Source: docs/decisions/0084-databases-behind-a-pooler.md.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from tests import preloaded
from tests.journeys.kills.replicas import PATIENCE, Replicas, replicas_on
from tests.pgbouncer import PgBouncer, pgbouncer
from tests.postgres import binaries
from tests.process import service_process
from tests.world import config

pytestmark = pytest.mark.pooler

CLIENTS, CYCLES = 6, 500


@pytest.fixture
def bouncer(postgres_url: str) -> Iterator[PgBouncer]:
    """Fewer server processes than the two services would have connections: they share every one."""
    with pgbouncer(postgres_url, default_pool_size="8") as bouncer:
        yield bouncer


@pytest.fixture
async def replicas(tmp_path: Path, bouncer: PgBouncer, postgres_url: str) -> AsyncIterator[Replicas]:
    async with replicas_on(tmp_path, bouncer.url(postgres_url), postgres_url) as replicas:
        yield replicas


async def test_of_500_questions_each_is_asked_answered_and_told_with_its_own_words(replicas: Replicas) -> None:
    one, two = await asyncio.gather(replicas.start(), replicas.start())
    numbers = iter(range(CYCLES))
    told = dict[str, str]()

    async def client() -> None:
        for number in numbers:
            at, elsewhere = (one, two) if number % 2 else (two, one)
            asked = await replicas.ask(at, f"Number {number}?", response_type="text")
            waiting = asyncio.create_task(replicas.wait(at, asked))
            answered = await replicas.answer(elsewhere, asked, f"answer {number}")
            assert answered.status_code == 200, answered.text
            ended = (await waiting).json()
            assert (ended["resolution"], ended["response"]) == ("responded", f"answer {number}")
            told[asked["suspension_id"]] = f"answer {number}"

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    await replicas.agent.expect(CYCLES, within=PATIENCE)
    assert len(told) == CYCLES
    assert {one.suspension_id: one.value for one in replicas.agent.resumed} == told
    assert Counter(replicas.agent.ids).most_common(1)[0][1] == 1
    for process in replicas.started:
        assert (await replicas.http.get(f"{process.url}/readyz")).status_code == 200
        assert await process.terminate() == 0
        assert "Traceback" not in process.written


@pytest.mark.parametrize("direct", [False, True])
async def test_a_start_without_sessions_is_refused_in_one_sentence_that_names_the_setting(
    tmp_path: Path, bouncer: PgBouncer, postgres_url: str, direct: bool
) -> None:
    settings = config(bouncer.url(postgres_url), {}) | {"suspension": {}}
    if direct:
        settings["database"] = {"direct_url": f"{bouncer.url(postgres_url)}?application_name=direct"}
    async with service_process(tmp_path / "refused", settings) as process:
        with pytest.raises(AssertionError) as refused:
            await process.start()
    [line] = [line for line in str(refused.value).splitlines() if not line.startswith("handraise: warning: ")]
    setting = "database.direct_url" if direct else "database_url"
    assert line.startswith(f"handraise: {setting} leads through a pooler")
    assert "HANDRAISE_DATABASE__DIRECT_URL" in line


async def test_the_commands_work_beside_a_pooler_and_doctor_says_how_it_is_passed(
    tmp_path: Path, postgres_admin: sa.Connection, postgres_url: str
) -> None:
    """From an empty database on; the programs of PostgreSQL are those of the tests' server."""
    direct = sa.make_url(postgres_url).set(database=f"empty_{sa.make_url(postgres_url).database}")
    postgres_admin.exec_driver_sql(f"CREATE DATABASE {direct.database} TEMPLATE template0")
    direct_url = direct.render_as_string(hide_password=False)
    environ = {**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}"}
    with pgbouncer(direct_url) as bouncer:
        settings = config(bouncer.url(direct_url), {}) | {"suspension": {}, "database": {"direct_url": direct_url}}
        (tmp_path / "handraise.yaml").write_text(yaml.safe_dump(settings))

        async def handraise(*arguments: str) -> tuple[int, str]:
            where = [*arguments, "--config", str(tmp_path / "handraise.yaml")]
            status, out, err = await preloaded.run(where, environ)
            return status, (out + err).decode()

        assert (await handraise("migrate"))[0] == 0
        assert (await handraise("keys", "create", "another-agent", "--role", "agent"))[0] == 0
        assert (await handraise("backup", str(tmp_path / "backup")))[0] == 0
        _, said = await handraise("doctor", "--json")
        settings["database"] = {}
        (tmp_path / "handraise.yaml").write_text(yaml.safe_dump(settings))
        _, lacking = await handraise("doctor", "--json")
    postgres_admin.exec_driver_sql(f"DROP DATABASE {direct.database} WITH (FORCE)")
    found, faulty = (
        {one["subject"]: one for one in json.loads(printed)["findings"]}["database.pooler"]
        for printed in (said, lacking)
    )
    assert found["level"] == "ok"
    assert "database.direct_url" in found["found"]
    assert faulty["level"] == "fault"
    assert faulty["mend"].startswith("Set database.direct_url (HANDRAISE_DATABASE__DIRECT_URL)")
