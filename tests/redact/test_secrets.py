import threading

from asyncstate.redact.redactor import MASK
from asyncstate.redact.secrets import Secrets


def test_the_snapshot_is_compiled_once_for_a_set():
    secrets = Secrets(["hunter2"])
    first = secrets.redactor
    secrets |= {"hunter2"}
    assert secrets.redactor is first
    secrets |= {"correct horse", ""}
    assert secrets.redactor is not first
    assert secrets.redactor.text("hunter2, correct horse") == f"{MASK}, {MASK}"
    assert secrets == {"hunter2", "correct horse", ""}


def test_bytes_and_numbers_are_secrets_too():
    secrets = Secrets()
    secrets.add(b"hunter2")  # type: ignore[arg-type]
    secrets.add(123456)  # type: ignore[arg-type]
    assert secrets == {"hunter2", "123456"}
    assert secrets.redactor.value(["hunter2", 123456]) == [MASK, MASK]


def test_a_secret_can_be_taken_back():
    secrets = Secrets(["hunter2", "correct horse"])
    assert secrets.redactor.text("hunter2") == MASK
    secrets.discard("hunter2")
    assert secrets.redactor.text("hunter2 correct horse") == f"hunter2 {MASK}"


def test_threads_may_add_while_others_read():
    secrets = Secrets()
    start = threading.Barrier(5)
    wrong: list[str] = []

    def add(thread):
        start.wait()
        for number in range(200):
            secret = f"secret {thread} {number}"
            secrets.add(secret)
            if secrets.redactor.text(f"<{secret}>") != f"<{MASK}>":
                wrong.append(secret)

    def read():
        start.wait()
        while len(secrets) < 800:
            list(secrets)
            secrets.redactor.text("a text to look through")

    threads = [*(threading.Thread(target=add, args=(number,)) for number in range(4)), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, len(secrets)) == ([], 800)
