"""
Steps of a build: shown in one line each, logged in full, and done again only when needed.

Written with the standard library alone, because it runs before anything is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import hashlib
from pathlib import Path
import subprocess
import time

TAIL_LINES = 25


class StepError(Exception):
    """A step could not be done; the text is the sentence to show."""


class Log:
    """
    Runs commands, showing one line a step on the terminal and keeping their output in a file.

    :param path: the file, begun anew; its folder is made if need be
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open('w', encoding='utf-8', errors='replace')

    def close(self) -> None:
        """End the log."""
        self._file.close()

    def say(self, text: str) -> None:
        """Show a line and keep it in the log."""
        print(text, flush=True)
        self._note(text)

    def step(self, title: str) -> _Step:
        """Announce a step; the returned context shows how long its body took."""
        return _Step(self, title)

    def run(self, command: Sequence[str | Path], env: Mapping[str, str]) -> None:
        """
        Run a command with its output in the log.

        :raises StepError: when it fails, with the end of its output
        """
        words = [str(word) for word in command]
        self._note('$ ' + ' '.join(words))
        begin = self.path.stat().st_size
        code = subprocess.run(
            words, env=dict(env), stdin=subprocess.DEVNULL, stdout=self._file,
            stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip
        if code != 0:
            raise StepError(failure(self.path, words[0], code, begin))

    @contextmanager
    def meanwhile(
        self, title: str, command: Sequence[object], env: Mapping[str, str]
    ) -> Iterator[None]:
        """
        Run a command beside the body of a ``with`` statement, and end it where that fails.

        :raises StepError: when it fails, with the end of its output, which has a file of its own
        """
        self.say(f'  {title}, meanwhile:')
        start, path = time.monotonic(), self.path.with_name('meanwhile.txt')
        words = [str(word) for word in command]
        self._note('$ ' + ' '.join(words) + f' > {path}')
        with path.open('w', encoding='utf-8') as output, subprocess.Popen(
            words, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:  # fmt: skip
            try:
                yield
            except BaseException:
                process.kill()
                raise
            code = process.wait()
        if code != 0:
            raise StepError(failure(path, words[0], code))
        self.say(f'  {title} ... {time.monotonic() - start:.0f} s')

    def _note(self, text: str) -> None:
        self._file.write(text + '\n')
        self._file.flush()


def failure(path: Path, program: str, code: int, begin: int = 0) -> str:
    """
    Return a sentence about a failed command, after the end of what it wrote.

    :param path: the file that it wrote to
    :param begin: where in the file that begins
    """
    output = path.read_bytes()[begin:].decode('utf-8', 'replace')
    tail = '\n'.join('  | ' + line for line in output.splitlines()[-TAIL_LINES:])
    return f'{tail}\n{Path(program).name} ended with code {code}; all output: {path}'


class _Step:
    """Shows ``title ... 12 s`` around the body of a ``with`` statement."""

    def __init__(self, log: Log, title: str) -> None:
        self._log = log
        self._title = title

    def __enter__(self) -> None:
        print(f'  {self._title} ...', end='', flush=True)
        self._log._note(f'--- {self._title}')
        self._start = time.monotonic()

    def __exit__(self, kind: type | None, error: object, trace: object) -> None:
        seconds = time.monotonic() - self._start
        outcome = '' if kind is None else ' (not finished)'
        print(f' {seconds:.0f} s{outcome}', flush=True)
        self._log._note(f'--- {seconds:.1f} s{outcome}')


class Stamps:
    """
    Remembers which inputs a finished step had, so that it runs again only when they change.

    A step that was interrupted leaves no stamp, whatever it left behind.

    :param folder: where the stamps are kept; it goes away together with what they vouch for
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, step: str, key: str) -> bool:
        """Whether the step was finished with these inputs."""
        return self.read(step) == key

    def exist(self) -> bool:
        """Whether any step was ever noted here."""
        return self._folder.is_dir()

    def read(self, step: str) -> str | None:
        """Text that was kept for a step; None where there is none."""
        try:
            return (self._folder / step).read_text(encoding='utf-8')
        except FileNotFoundError:
            return None

    def write(self, step: str, key: str) -> None:
        """Note that the step is finished."""
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f'{step}.partial'
        partial.write_text(key, encoding='utf-8')
        partial.replace(self._folder / step)

    def forget(self, step: str) -> None:
        """Note that the step is about to be done again."""
        (self._folder / step).unlink(missing_ok=True)


def digest(*parts: str | Path) -> str:
    """
    Hash of texts and of what files hold.

    :param parts: a text counts as it is, a path with its name and its content; a folder counts
        with all files below it
    """
    total = hashlib.sha256()
    for part in parts:
        files = [part] if isinstance(part, str) else _files(part)
        for item in files:
            content = item.encode() if isinstance(item, str) else item.read_bytes()
            label = '' if isinstance(item, str) else item.name
            total.update(f'{label}:{len(content)}:'.encode())
            total.update(content)
    return total.hexdigest()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(item for item in path.rglob('*') if item.is_file())
