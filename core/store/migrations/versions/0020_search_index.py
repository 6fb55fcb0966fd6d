"""Tables of the search index. Only adds. The index of what is there is made afterwards, while the service runs."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "search_entries",
        sa.Column("number", number, primary_key=True, autoincrement=False),
        sa.Column("suspension_id", sa.Text(), nullable=False, unique=True),
    )
    op.create_table(
        "search_segments",
        sa.Column("segment", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("removals", sa.Integer(), nullable=False),
        sa.Column("cleaned", sa.Integer(), nullable=False),
    )
    op.create_table(
        "search_terms",
        sa.Column("segment", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("term", sa.Text(collation=collation), primary_key=True),
        sa.Column("questions", sa.LargeBinary(), nullable=False),
        sqlite_with_rowid=False,
    )
