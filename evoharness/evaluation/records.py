"""The folder of an evaluation: a manifest, one record a task, and what is made of them.

DIR/run.json        what was evaluated; another evaluation is refused in the same folder
DIR/records/*.json  one finished episode each, written atomically
DIR/summary.json    figures over all records
DIR/traces.jsonl    the episodes as ATIF, one a line, in task order
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from evoharness.core.measures import EpisodeMeasures
from evoharness.files import write_atomically

FORMAT = 1


class Manifest(BaseModel):
    """What is evaluated, and with what; all of it decides the results except `versions`."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    adapter: str
    adapter_settings: dict[str, Any] = {}
    split: str
    tasks: int
    tasks_digest: str
    policy: dict[str, Any]
    """The policy's name and the settings that it was made with."""
    config: dict[str, Any]
    seed: int
    experience: dict[str, Any]
    """The bank's size and digest at the start, and how it learned; `{}` without one."""
    versions: dict[str, str]


class Record(BaseModel):
    """One finished episode."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    task: str
    type: str
    measures: EpisodeMeasures
    detail: str
    """What broke, for episodes that ended with an error."""
    trace: dict[str, Any]


class EvaluationFolder:
    """An evaluation's folder, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records = path / "records"
        self._lock = FileLock(path / ".lock", timeout=0)

    def open(self, manifest: Manifest) -> None:
        """Take the folder for this evaluation, new or begun before.

        Raises:
            ValueError: it holds another evaluation, or something else; says what differs.
            OSError: it cannot be written, or another process is at work in it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"--out {self.path} is a file; name a folder")
        known = self.path / "run.json"
        if self.path.exists() and not known.exists() and any(self.path.glob("[!.]*")):
            raise ValueError(
                f"--out {self.path} holds files that are no evaluation's; name a new folder"
            )
        self._records.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise OSError(f"another evaluation is writing to {self.path}") from None
        if not known.exists():
            write_atomically(known, manifest.model_dump_json(indent=2) + "\n")
            return
        try:
            before = Manifest.model_validate_json(known.read_text())
        except ValidationError as error:
            self.release()
            raise ValueError(
                f"{known} is not a manifest of this version: {_first_problem(error)}; "
                "choose another --out"
            ) from error
        differences = _differences(before, manifest)
        if differences:
            self.release()
            raise ValueError(
                f"{self.path} holds an evaluation with other settings "
                f"({'; '.join(differences)}); choose another --out or delete it"
            )

    def manifest(self) -> Manifest | None:
        """Return the manifest that is there, if one can be read."""
        try:
            return Manifest.model_validate_json((self.path / "run.json").read_text())
        except (OSError, ValidationError):
            return None

    def release(self) -> None:
        """Let other processes have the folder."""
        self._lock.release()

    def write(self, record: Record) -> None:
        """Write one record; a reader sees all of it or nothing."""
        write_atomically(self._path_of(record.task), record.model_dump_json() + "\n")

    def read(self, task: str) -> Record | None:
        """Return a task's record, or None when it has none that is whole."""
        path = self._path_of(task)
        try:
            record = Record.model_validate_json(path.read_text())
        except (FileNotFoundError, ValidationError):
            return None
        return record if record.task == task else None

    def forget(self, task: str) -> None:
        """Remove a task's record, so that it is played again."""
        self._path_of(task).unlink(missing_ok=True)

    def write_products(self, tasks: Sequence[str], summary: dict[str, Any]) -> None:
        """Write `traces.jsonl` and `summary.json`."""
        with_newlines = (
            json.dumps(record.trace, ensure_ascii=False) + "\n"
            for record in (self.read(task) for task in tasks)
            if record is not None
        )
        write_atomically(self.path / "traces.jsonl", with_newlines)
        write_atomically(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    def _path_of(self, task: str) -> Path:
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", task)[-80:]
        return self._records / f"{readable}-{_digest(task)[:12]}.json"


def load_records(path: Path) -> tuple[Manifest, dict[str, Record]]:
    """Read an evaluation's folder.

    Returns:
        The manifest, and the records by task id.

    Raises:
        ValueError: it is no evaluation's folder; says what is missing.
    """
    try:
        manifest = Manifest.model_validate_json((path / "run.json").read_text())
    except FileNotFoundError:
        raise ValueError(
            f"{path} holds no evaluation (no run.json); make one with `evoharness eval … "
            f"--out {path}`"
        ) from None
    except (ValidationError, OSError) as error:
        raise ValueError(f"{path / 'run.json'} cannot be read: {error}") from error
    return manifest, {record.task: record for record in _whole_records(path / "records")}


def digest_of(tasks: Iterable[str]) -> str:
    """Return a digest of task ids in their order."""
    return _digest("\n".join(tasks))


def _whole_records(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            yield Record.model_validate_json(path.read_text())
        except ValidationError:
            continue


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _differences(before: Manifest, now: Manifest) -> list[str]:
    old, new = _flat(before), _flat(now)
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [f"{key}: {old.get(key)!r} there, {new.get(key)!r} now" for key in keys]


def _flat(manifest: Manifest) -> dict[str, Any]:
    """Return what must agree, as `section.key`; of the versions only our own has to."""
    flat: dict[str, Any] = {"versions.evoharness": manifest.versions.get("evoharness")}
    for name, value in manifest.model_dump(exclude={"versions"}).items():
        section = cast(dict[str, Any], value) if isinstance(value, dict) else {"": value}
        flat.update({f"{name}.{key}".rstrip("."): item for key, item in section.items()})
    return flat


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
