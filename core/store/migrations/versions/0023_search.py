"""Search by the database's own index of trigrams, in place of the three tables that 0020 made.

On SQLite the index is made here, in some 10 seconds for 100,000 questions, and triggers keep it, whoever writes. On
PostgreSQL it needs an extension: ``core.database.text_index`` makes it after the migrations, while others write.

On PostgreSQL the three tables stay, without a row, since older processes write into them. A later migration drops them.
"""

from alembic import op

revision = "0023"
down_revision = "0022"

_SQLITE = (
    "CREATE TABLE question_search_numbers (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
    # Without the texts, and without the places of trigrams in them: a list reads and compares what is found.
    "CREATE VIRTUAL TABLE question_search"
    " USING fts5(question, content='', columnsize=0, detail=none, tokenize='trigram')",
    "INSERT INTO question_search_numbers (id) SELECT id FROM suspensions ORDER BY suspended_at",
    "INSERT INTO question_search (rowid, question)"
    " SELECT number, question FROM question_search_numbers JOIN suspensions USING (id) ORDER BY number",
    "CREATE TRIGGER question_search_insert AFTER INSERT ON suspensions BEGIN"
    " INSERT INTO question_search_numbers (id) VALUES (new.id);"
    " INSERT INTO question_search (rowid, question)"
    " SELECT number, new.question FROM question_search_numbers WHERE id = new.id;"
    " END",
    # A question's text never changes, so there is none for updates.
    "CREATE TRIGGER question_search_delete AFTER DELETE ON suspensions BEGIN"
    " INSERT INTO question_search (question_search, rowid, question)"
    " SELECT 'delete', number, old.question FROM question_search_numbers WHERE id = old.id;"
    " DELETE FROM question_search_numbers WHERE id = old.id;"
    " END",
)


_BEFORE = ("search_terms", "search_segments", "search_entries")


def upgrade() -> None:
    conn = op.get_bind()
    if conn.dialect.name == "postgresql":
        op.execute(f"TRUNCATE {', '.join(_BEFORE)}")
        return
    for table in _BEFORE:
        op.drop_table(table)
    op.execute("DELETE FROM log_followers WHERE name = 'search'")
    for statement in _SQLITE:
        conn.exec_driver_sql(statement)
