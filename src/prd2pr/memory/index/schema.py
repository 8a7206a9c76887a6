"""The tables of the index. Each row contains the path and blob of the file from which it was made.

Timestamps are seconds since 1970, and lists are JSON. Increase INDEX_VERSION when a reader produces different rows for
the same file; an index with another version is deleted and rebuilt.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

INDEX_VERSION = 1
DIMENSIONS = 384

COMMON = "id TEXT NOT NULL, prd TEXT NOT NULL, story TEXT NOT NULL"

TABLES = MappingProxyType(
    {
        # memory records
        "failures": f"{COMMON}, feature TEXT, approach TEXT, why_failed TEXT, lesson TEXT, phase TEXT, codes TEXT,"
        " logged_at INTEGER",
        "estimates": f"{COMMON}, feature TEXT, estimated_sessions INTEGER, actual_sessions INTEGER,"
        " estimated_minutes REAL, actual_minutes REAL, complexity_score REAL, files_created INTEGER,"
        " files_modified INTEGER, tokens INTEGER, usd REAL, notes TEXT, completed_at INTEGER",
        "retrospectives": f"{COMMON}, feature TEXT, surprises TEXT, would_change TEXT, new_patterns TEXT,"
        " variance REAL, spike_accuracy REAL, logged_at INTEGER",
        "spikes": f"{COMMON}, feature TEXT, question TEXT, approach TEXT, result TEXT, viable INTEGER, lessons TEXT,"
        " time_spent REAL, branch TEXT, logged_at INTEGER",
        "docs_cache": f"{COMMON}, library TEXT, version TEXT, content TEXT, source_url TEXT, fetched_at INTEGER,"
        " expires_at INTEGER",
        "complexity_snapshots": f"{COMMON}, file_path TEXT, lines INTEGER, functions INTEGER, dependencies INTEGER,"
        " complexity_score REAL, snapshot_at INTEGER",
        "decisions": f"{COMMON}, title TEXT, text TEXT, why TEXT, decided_at INTEGER",
        "patterns": f"{COMMON}, name TEXT, description TEXT, example TEXT, found_at INTEGER",
        "pattern_usage": f"{COMMON}, pattern_id TEXT, pipeline_id TEXT, file_path TEXT, compliance_score REAL,"
        " used_at INTEGER",
        # planned and completed work
        "prds": "prd TEXT, title TEXT, file TEXT, requirements INTEGER",
        "statuses": "prd TEXT, state TEXT, blocked_reason TEXT, moved_at INTEGER",
        "stories": "prd TEXT, story TEXT, position INTEGER, title TEXT, kind TEXT, status TEXT, complexity INTEGER,"
        " estimate_minutes REAL, requirements TEXT, planned_steps INTEGER",
        "additions": "prd TEXT, story TEXT, command TEXT, added_by TEXT, added_at INTEGER",
        "cycles": "prd TEXT, story TEXT, state TEXT, refused INTEGER, blocked TEXT, tests INTEGER",
        "steps": "prd TEXT, story TEXT, n INTEGER, phase TEXT, attempts INTEGER, seconds REAL, tokens INTEGER,"
        " usd REAL, note TEXT, works INTEGER, done_at INTEGER",
        "sessions": "id TEXT, prd TEXT, model TEXT, steps TEXT, outcome TEXT, calls INTEGER, tokens INTEGER, usd REAL,"
        " started_at INTEGER, ended_at INTEGER",
        "log_lines": "run TEXT, line INTEGER, subject TEXT, agent_name TEXT, phase TEXT, action TEXT,"
        " input_summary TEXT, output_summary TEXT, duration_ms INTEGER, success INTEGER, error_message TEXT,"
        " timestamp INTEGER",
        # code
        "files": "mode TEXT, kind TEXT, language TEXT, module TEXT, lines INTEGER, functions INTEGER,"
        " complexity INTEGER",
        "symbols": "name TEXT, kind TEXT, line INTEGER, end_line INTEGER, signature TEXT",
        "dependencies": "line INTEGER, module TEXT, name TEXT",
        "test_index": "test TEXT, line INTEGER, covers TEXT",
        # derived data
        "embeddings": "model TEXT, vector BLOB",
        "problems": "code TEXT, what TEXT",
    }
)

# Columns with full-text search.
TEXTS = MappingProxyType(
    {
        "failures": ("feature", "approach", "why_failed", "lesson"),
        "decisions": ("title", "text", "why"),
        "patterns": ("name", "description", "example"),
    }
)

EmbeddedTable = Literal["failures", "decisions", "files"]
# Path, blob and the text whose meaning is searched, by table.
EMBEDDED_TEXTS: Mapping[EmbeddedTable, str] = MappingProxyType(
    {
        # Only feature and approach, because a new task is worded similarly.
        "failures": "SELECT path, blob, feature || '. ' || approach FROM failures ORDER BY path",
        "decisions": "SELECT path, blob, title || '. ' || text FROM decisions ORDER BY path",
        "files": "SELECT f.path, f.blob, f.path || ': ' || group_concat(s.name, ', ') FROM files f"
        " JOIN symbols s ON s.path = f.path WHERE f.kind = 'source' GROUP BY f.path, f.blob ORDER BY f.path"
        " LIMIT 300",  # each takes a tenth of a second once
    }
)

INDEXES = (
    "CREATE INDEX estimates_by_time ON estimates(completed_at)",
    "CREATE INDEX steps_by_story ON steps(prd, story)",
    "CREATE INDEX stories_by_prd ON stories(prd)",
    "CREATE INDEX additions_by_story ON additions(prd, story)",
    "CREATE INDEX sessions_by_id ON sessions(id)",
    "CREATE INDEX sessions_by_prd ON sessions(prd)",
    "CREATE INDEX usage_by_pattern ON pattern_usage(pattern_id)",
    "CREATE INDEX files_by_module ON files(module)",
)

VIEWS = MappingProxyType(
    {
        # One pipeline per PRD. Work that people added after the plan counts as done, but not as planned.
        "pipeline_states": """
SELECT made.*, json_object(
         'completed_steps', json(completed), 'stories_done', done,
         'decomposition', json_object('total_steps', planned_steps, 'stories', stories),
         'added_stories', json(added_stories)) AS state_json
  FROM (
    SELECT p.prd AS id, p.title AS feature_request, coalesce(s.state, 'IDLE') AS status, p.file AS project_path,
      (SELECT count(*) FROM stories t WHERE t.prd = p.prd) AS stories,
      (SELECT count(*) FROM stories t WHERE t.prd = p.prd AND t.status = 'done') AS done,
      (SELECT coalesce(sum(t.planned_steps), 0) FROM stories t WHERE t.prd = p.prd
        AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.prd = t.prd AND a.story = t.story)) AS planned_steps,
      (SELECT count(*) FROM steps x WHERE x.prd = p.prd AND x.works) AS actual_steps,
      (SELECT json_group_array(told) FROM (SELECT x.story || '/' || x.n || ' ' || x.phase AS told FROM steps x
        WHERE x.prd = p.prd AND x.works ORDER BY x.done_at, x.story, x.n)) AS completed,
      (SELECT json_group_array(story) FROM (SELECT DISTINCT a.story FROM additions a
        WHERE a.prd = p.prd ORDER BY a.story)) AS added_stories,
      (SELECT min(started_at) FROM sessions r WHERE r.prd = p.prd) AS created_at,
      (SELECT max(at) FROM (SELECT max(done_at) AS at FROM steps x WHERE x.prd = p.prd
        UNION ALL SELECT max(ended_at) FROM sessions r WHERE r.prd = p.prd UNION ALL SELECT s.moved_at)) AS updated_at
    FROM prds p LEFT JOIN statuses s ON s.prd = p.prd) made""",
        "agent_logs": """
SELECT l.run || '/' || l.line AS id, (SELECT s.prd FROM sessions s WHERE s.id = l.run) AS pipeline_id, l.subject,
       l.agent_name, l.phase, l.action, l.input_summary, l.output_summary, l.duration_ms, l.success, l.error_message,
       l.timestamp
  FROM log_lines l""",
        # Imports that refer to a file of the repository itself.
        "file_dependencies": """
SELECT DISTINCT d.path, f.path AS depends_on FROM dependencies d
  JOIN files f ON f.module IN (d.module, d.module || '.' || d.name) AND f.module != '' AND f.path != d.path""",
    }
)


def list_schema_statements() -> list[str]:
    found = ["CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"]
    for name, columns in TABLES.items():
        found += [
            f"CREATE TABLE {name} (row INTEGER PRIMARY KEY, path TEXT NOT NULL, blob TEXT NOT NULL, {columns})",
            f"CREATE INDEX {name}_by_path ON {name}(path)",
        ]
    for name, texts in TEXTS.items():
        found += list_search_statements(name, texts)
    return [*found, *INDEXES, *(f"CREATE VIEW {name} AS {text}" for name, text in VIEWS.items())]


def list_table_columns(table: str) -> list[str]:
    return ["path", "blob", *(column.split()[0] for column in TABLES[table].split(", "))]


def list_search_statements(table: str, columns: tuple[str, ...]) -> list[str]:
    """Return the statements that create a table's full-text tables, which triggers keep up to date."""
    listed = ", ".join(columns)
    old, new = (", ".join(f"{side}.{name}" for name in columns) for side in ("old", "new"))
    text = f"{table}_text"
    options = f"content='{table}', content_rowid='row', tokenize='unicode61 remove_diacritics 2', prefix='3 4 5'"
    insert = f"INSERT INTO {text}(rowid, {listed}) VALUES (new.row, {new})"  # noqa: S608 - constant names
    delete = f"INSERT INTO {text}({text}, rowid, {listed}) VALUES ('delete', old.row, {old})"  # noqa: S608
    return [
        f"CREATE VIRTUAL TABLE {text} USING fts5({listed}, {options})",
        f"CREATE VIRTUAL TABLE {table}_words USING fts5vocab('{text}', 'row')",
        f"CREATE TRIGGER {table}_put AFTER INSERT ON {table} BEGIN {insert}; END",
        f"CREATE TRIGGER {table}_taken AFTER DELETE ON {table} BEGIN {delete}; END",
    ]


def compute_schema_fingerprint() -> int:
    """Return a number for SQLite's `user_version` that changes with the schema and the readers."""
    return zlib.crc32("\n".join([str(INDEX_VERSION), *list_schema_statements()]).encode()) & 0x7FFFFFFF
