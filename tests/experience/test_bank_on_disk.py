"""The Experience bank in a folder: who may open it, and what is there again."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import chromadb
import pytest
from chromadb.api.client import Client
from chromadb.config import Settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding

from evoharness.experience import (
    Entry,
    ExperienceBank,
    LangChainEmbedding,
    WordLlamaEmbedding,
)
from evoharness.experience.bank import collection_name

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)  # surrogates too
HEAT = Entry("skill", "Heat the mug in the microwave before you place it.", "heat")
KETTLE = Entry("hint", "A kettle is on a stove burner or a countertop.")
TAP = Entry("mistake", "The sink was empty: open the tap before cleaning.", "clean")


class TestOnDisk:
    def test_what_was_written_is_there_again(self, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "bank"
        with ExperienceBank.open(folder, "kitchen") as bank:
            bank.add([HEAT, KETTLE])
            note = bank.note("the tap leaks", source="run#1")
            before = bank.recall("kettle", task_type="heat")
        with ExperienceBank.open(str(folder), "kitchen") as bank:
            assert bank.recall("kettle", task_type="heat") == before
            assert bank.entries("pending") == [note]

    def test_domains_in_one_folder_are_apart(self, tmp_path: Path) -> None:
        with ExperienceBank.open(tmp_path, "kitchen") as bank:
            bank.add([KETTLE])
        with ExperienceBank.open(tmp_path, "office") as bank:
            assert bank.count() == 0

    def test_another_embedding_is_refused_by_name_and_frees_the_folder(
        self, tmp_path: Path
    ) -> None:
        with ExperienceBank.open(tmp_path, "kitchen") as bank:
            bank.add([KETTLE])
        other = LangChainEmbedding(DeterministicFakeEmbedding(size=8), "fake-8")
        with pytest.raises(
            ValueError,
            match=r"wordllama-l2-supercat-256 \(256 dimensions\).*fake-8 \(8 dimensions\): open it",
        ):
            ExperienceBank.open(tmp_path, "kitchen", other)
        with ExperienceBank.open(tmp_path, "kitchen", WordLlamaEmbedding()) as bank:
            assert bank.count() == 1

    def test_a_langchain_embedding_serves_a_bank(self, tmp_path: Path) -> None:
        embedding = LangChainEmbedding(DeterministicFakeEmbedding(size=8), "fake-8")
        with ExperienceBank.open(tmp_path, "kitchen", embedding) as bank:
            bank.add([KETTLE])
            assert bank.recall(KETTLE.text)[0].score == pytest.approx(1.0, abs=1e-5)

    def test_a_folder_has_one_bank_open_at_a_time(self, tmp_path: Path) -> None:
        with (
            ExperienceBank.open(tmp_path, "kitchen"),
            pytest.raises(RuntimeError, match=r"already open.*close it there first"),
        ):
            ExperienceBank.open(tmp_path / ".." / tmp_path.name, "office")
        ExperienceBank.open(tmp_path, "office").close()

    def test_a_bank_closed_by_another_thread_frees_the_folder(self, tmp_path: Path) -> None:
        bank = ExperienceBank.open(tmp_path, "kitchen")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(bank.close).result()
        ExperienceBank.open(tmp_path, "kitchen").close()

    def test_a_file_is_no_bank(self, tmp_path: Path) -> None:
        path = tmp_path / "bank.json"
        path.touch()
        with pytest.raises(NotADirectoryError, match=r"bank\.json is a file"):
            ExperienceBank.open(path, "kitchen")

    def test_a_broken_folder_is_named_and_freed(self, tmp_path: Path) -> None:
        (tmp_path / "chroma.sqlite3").write_text("not a database")
        for _ in range(2):
            with pytest.raises(OSError, match="cannot be opened"):
                ExperienceBank.open(tmp_path, "kitchen")

    def test_another_process_is_refused_until_the_owner_dies(self, tmp_path: Path) -> None:
        """The owner is killed without a chance to clean up; what it wrote is there."""
        code = (
            "import sys\n"
            "from evoharness.experience import ExperienceBank\n"
            "bank = ExperienceBank.open(sys.argv[1], 'kitchen')\n"
            "bank.note('the tap leaks', source='run#1')\n"
            "print('open', flush=True)\n"
            "sys.stdin.read()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline().strip() == b"open"
            with pytest.raises(RuntimeError, match="already open, here or in another process"):
                ExperienceBank.open(tmp_path, "kitchen")
            owner.kill()
        with ExperienceBank.open(tmp_path, "kitchen") as bank:
            assert [entry.text for entry in bank.entries()] == ["the tap leaks"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12: fork
    def test_a_forked_worker_is_refused(self, tmp_path: Path) -> None:
        with ExperienceBank.open(tmp_path, "kitchen") as bank:
            child = os.fork()
            if child == 0:
                try:
                    bank.close()  # not the child's to close
                    bank.count()
                except RuntimeError as error:
                    os._exit(42 if "worker process cannot use it" in str(error) else 1)
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
            assert bank.count() == 0

    def test_an_ordinary_chroma_client_can_read_it(self, tmp_path: Path) -> None:
        with ExperienceBank.open(tmp_path, "kitchen") as bank:
            bank.add([KETTLE])
        own = Settings(anonymized_telemetry=False)
        with cast(Client, chromadb.PersistentClient(tmp_path, own)) as client:
            collection = client.get_collection(collection_name("kitchen"), embedding_function=None)
            assert collection.get()["documents"] == [KETTLE.text]
