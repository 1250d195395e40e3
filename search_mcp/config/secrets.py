"""Secrets: which texts of a configuration are secret, and the spellings they may have in messages and logs.

Values of `env` and `headers` are secret unless they are known to be something else; values in arguments and URLs are
secret if their names are those of secrets, and parts of an address's path if they are random. Pure. Every start uses
this module, so patterns are compiled on first use.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from search_mcp.logs import LONGEST_TEXT

_WORDS = ("key", "token", "secret", "pass", "pwd", "auth", "credential")
NAME = rf"(?:{'|'.join(_WORDS)}|(?<![^\W_])pat(?![^\W_]))"
"""Words in the name of a secret, as a pattern that ignores case; a `pat` is a personal access token."""
SCHEME = r"(?:(?:Bearer|Basic|Token)\s+)"
"""The scheme before the credentials in a header, as a pattern that ignores case."""
PLACEHOLDER = r"""\$?\$\{[^{}"]*\}|\{(?:env|file):[^{}"]*\}"""
"""A placeholder of search-mcp or another client, which contains no value, as a pattern."""

SECRET_PARAMETER = rf"[?&](?=[^=&]*{NAME})[^=&]*+="
"""The beginning of a parameter of a URL up to its value, which is a secret, as a pattern that ignores case."""
OTHER_PARAMETER = r"[?&][^=&]*+"
"""The same for every other parameter. As an alternative, it keeps a search from reading a name again at each `?`."""

_USER_IN_URL = r"://([^/@\s]+)@"
_KEY_IN_URL = rf"(?i){SECRET_PARAMETER}([^&#\s]+)|{OTHER_PARAMETER}"
_CREDENTIALS = rf"(?i){SCHEME}(\S+)\s*"

_TOKEN = r"(?a)[\w.~+/=:@-]+"
"""A value that cannot be code: no space, no quote, no shell operator, and no `%`, which quotes in Ruby."""
_URL = r"""(?i)(?:[\w-]+=)?[a-z][a-z0-9+.-]*://(?:[^\s'"`\\;|$()<>]|\$\{[\w:.-]+\})+"""
"""A URL, possibly behind an option or a name, and possibly with placeholders."""
_USER = r"^([^/]*://)[\w.~+=:%-]{4,}(?=@)"
_HEADER = rf"(?ai)^([\w-]+:\s*{SCHEME}?)[\w.~+/=:@-]{{4,}}$"
_LAST_PART = (
    r"(?:key|token|secret|password|passwd|passphrase|(?<![^\W_])(?:pass|pwd|pat|auth|credentials?))$"  # of a name
)
_DECISIVE = (
    r"(?is)ENV|(?:BASH|LD|DYLD|GIT|NPM_CONFIG)_.*|(?:PYTHON|PERL5|RUBY).*"
    r"|.*(?:_PROXY|REGISTRY.*|INDEX.*|PATH|OPTIONS|OPTS|SHELL|ASKPASS|COMMAND)"
)
"""Variables that change the meaning of a command: the program that is found, code it loads, download sources."""
_RANDOM = r"(?a)(?!-)(?=.*\d)(?=.*[A-Za-z])[\w.~+=-]{16,}"
"""A part of an address's path that is secret."""
_WORD_OR_SPACE = r"""(?s)'[^']*'|"[^"]*"|[^\s'"]+|\s+|."""
"""A word of a command on one line, one in quotes, or what is between them."""
_WORD_OR_PEM = r"(?a)[\w.~+=@-]+|\s*-----BEGIN [A-Z ]+-----[\w+/=\s:,.-]*-----END [A-Z ]+-----\s*"
"""A value that does not help a person to judge a command: it can be neither code nor a path nor an address."""

_NAMED = {"env", "envs", "environment", "headers", "http_headers"}
"""Keys of objects whose values are secret, except settings: variables and headers."""
_ADDRESSES = {"url", "serverUrl", "httpUrl", "uri"}
_OF_ENVIRONMENT = {"-e", "--env"}
_OF_HEADER = {"-H", "--header"}

SHORTEST = 4
"""Fewest characters of a secret. Redacting shorter values (a port, "yes") would garble every message."""

_SHORTEST_LINE = 16
"""Fewest characters of a line of a longer secret, such as a PEM key, which a log may show line by line."""

_SETTINGS = frozenset(
    (
        *("true", "false", "none", "null", "auto", "default", "enabled", "disabled", "stdio", "utf-8", "utf8"),
        *("error", "warn", "warning", "info", "debug", "trace", "verbose", "quiet", "silent"),
        *("production", "development", "test", "staging", "local", "localhost"),
    )
)
"""Values of settings that are never secret."""

_PLACES = frozenset(
    (
        *("PATH", "HOME", "PWD", "SHELL", "TERM", "TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR"),
        *("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "NODE_PATH", "JAVA_HOME"),
        *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT"),
        *("TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC"),
        "LC_TIME",
    )
)
"""Variables with folders, programs or a locale; `PWD` is the working folder, not a password."""


def is_secret(variable: str, value: str) -> bool:
    """Return whether the value of a variable is secret: all but settings and places, unless its name says so."""
    if variable.upper() in _PLACES or not _can_be_secret(value):
        return False
    return _is_called_secret(variable) or value.lower() not in _SETTINGS


def find_secrets(value: object, *, called: str = "") -> Iterator[str]:
    """Yield the secrets in a value of any client's configuration: whole values, and their secret parts."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _NAMED and isinstance(inner, Mapping):
                for name, each in inner.items():
                    yield from _in_variable(str(name), each)
            elif key in _ADDRESSES and isinstance(inner, str):
                yield from (*_parts(inner), *_in_path(inner))
            else:
                yield from find_secrets(inner, called=str(key))
    elif isinstance(value, list | tuple):
        option = ""
        for inner in value:
            if isinstance(inner, str) and inner.startswith("-"):
                option, separator, given = inner.partition("=")
                yield from _in_argument(option, given)
                option = "" if separator else option
            elif isinstance(inner, str):
                yield from _in_argument(option, inner)
                option = ""
            else:
                yield from find_secrets(inner)
    elif isinstance(value, str):
        yield from _in_secret(value) if _is_called_secret(called) else _parts(value)


def spellings(secrets: Iterable[str]) -> frozenset[str]:
    """Return all spellings of secrets that may be shown: line by line, in a URL, escaped as in JSON and Python."""
    plain = {*secrets}
    plain |= {line for value in plain for line in value.splitlines() if len(line) >= _SHORTEST_LINE}
    # JSON may be nested in a message, which is JSON itself.
    escaped = {each for value in plain for once in _in_json(value) for each in (once, *_in_json(once))}
    shown = {each for value in plain for each in (*_in_python(value), *_in_python(value.encode(errors="replace")))}
    # `os.environ` has surrogates for bytes that are not UTF-8; other programs replace them.
    replaced = {re.sub(r"[\ud800-\udfff]", "\ufffd", value) for value in plain}
    return frozenset(plain | escaped | shown | replaced | {_in_url(value) for value in plain})


class Redactor:
    """Replaces secrets in texts by `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first, so that no part of one is left where another begins it.
        self._longest_first = sorted(filter(None, secrets), key=lambda secret: (-len(secret), secret))

    def __call__(self, text: str) -> str:
        for secret in self._longest_first:
            text = text.replace(secret, "***")
        return text

    def shortened(self, text: str) -> str:
        """Replace the secrets in a server's text, and leave out the middle of a long one: its end may be the cause."""
        if len(text) <= LONGEST_TEXT:
            return self(text)
        half, longest = LONGEST_TEXT // 2 - 1, len(next(iter(self._longest_first), ""))
        head, tail = self(text[: half + longest]), self(text[-half - longest :])
        # A secret may be cut at the inner ends, where it would not be recognised.
        return f"{head[: max(0, len(head) - longest)][:half]}…{tail[longest:][-half:]}"


def _can_be_secret(value: object) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST and not re.fullmatch(PLACEHOLDER, value)


def _is_called_secret(name: str) -> bool:
    folded = name.lower()
    return any(map(folded.__contains__, _WORDS)) or "pat" in folded.replace("_", "-").split("-")


# For a person who decides whether a program may run, so a file must not be able to hide parts of its command.


def shown_arguments(args: Iterable[str]) -> Iterator[str]:
    """Replace the secrets in the arguments of a command by `***`: tokens in places for secrets only."""
    option = ""
    for word in args:
        name, sign, value = word.partition("=")
        if not word.startswith("-"):
            yield _shown_argument(option, word)
            option = ""
        else:
            yield f"{name}={_shown_argument(name, value)}" if sign else word
            option = "" if sign else word


def shown_text(command: str) -> str:
    """Replace the secrets in a command on one line by `***`, also in words with quotes around them."""
    parts = re.findall(_WORD_OR_SPACE, command)
    words = [part for part in parts if not part.isspace()]
    shown = shown_arguments(word.strip("'\"") for word in words)
    replaced = (word.replace(word.strip("'\""), each) for word, each in zip(words, shown, strict=True))
    return "".join(part if part.isspace() else next(replaced) for part in parts)


def shown_words(entry: Mapping[str, object]) -> list[str]:
    """Return the command and the arguments of an entry, with `***` for the secrets in the arguments.

    A command may contain its arguments, by mistake.
    """
    args = entry.get("args") or ()
    words = map(str, args if isinstance(args, list | tuple) else [args])
    command = str(entry.get("command") or "")
    (program,) = re.findall(r"^\S*", command)
    return [program + shown_text(command.removeprefix(program)), *shown_arguments(words)]


def shown_variable(name: str, value: str) -> str | None:
    """Return the value of a variable with `***` for the secrets of its URLs; `None` if only its name may be shown."""
    decides = name.upper() in _PLACES or re.fullmatch(_DECISIVE, name)
    if decides and not (_ends_like_secret(name) and _is_token(value)):
        return _shown_urls(value)
    if _is_called_secret(name) or (is_secret(name, value) and re.fullmatch(_WORD_OR_PEM, value)):
        return None
    return _shown_urls(value)


def shown_url(text: str) -> str:
    """Replace the user, the password and the keys of a URL by `***`; other texts are unchanged."""
    if "://" not in text or not re.fullmatch(_URL, text):
        return text
    first, *rest = re.split("([?&#])", text)
    shown = [re.sub(_USER, r"\1***", first, count=1)]
    for part in rest:
        name, sign, value = part.partition("=")
        shown.append(f"{name}=***" if sign and _is_called_secret(name) and _is_token(value) else part)
    return "".join(shown)


def _shown_urls(text: str) -> str:
    return re.sub(r"[^\s,|]+", lambda found: shown_url(found[0]), text)


def _shown_argument(option: str, text: str) -> str:
    """Replace the secret in a word of a command line by `***`, going by the option before it."""
    name, sign, value = text.partition("=")
    if option in _OF_HEADER:
        return re.sub(_HEADER, r"\1***", text)
    if sign and name.isidentifier():
        is_hidden = shown_variable(name, value) is None if option in _OF_ENVIRONMENT else _is_hidden(name, value)
        return f"{name}=***" if is_hidden and _is_token(value) else f"{name}={shown_url(value)}"
    if option.startswith("--") and _ends_like_secret(option) and _is_token(text) and "://" not in text:
        return "***"
    return shown_url(text)


def _is_hidden(name: str, value: str) -> bool:
    return _is_called_secret(name) and shown_variable(name, value) is None


def _ends_like_secret(name: str) -> bool:
    """Return whether the last part of a name is that of a secret; not `--bypass`, `--askpass`, `--always-auth`."""
    return name.lower() != "--always-auth" and re.search(_LAST_PART, name.lower()) is not None


def _is_token(value: str) -> bool:
    return _can_be_secret(value) and re.fullmatch(_TOKEN, value) is not None


def _in_variable(name: str, value: object) -> Iterator[str]:
    if isinstance(value, str) and is_secret(name, value):
        yield from _in_secret(value)


def _in_argument(option: str, text: str) -> Iterator[str]:
    """Yield the secrets in a word of a command line, going by the option before it."""
    name, _, value = text.partition("=")
    if option in _OF_HEADER:
        yield from _in_secret(text.partition(":")[2].strip())
    elif option in _OF_ENVIRONMENT:
        yield from _in_variable(name, value)
    elif _is_called_secret(option):
        yield from _in_secret(text)
    elif name.isidentifier() and _is_called_secret(name):
        yield from _in_secret(value)
    else:
        yield from _parts(text)


def _in_secret(value: object) -> Iterator[str]:
    if isinstance(value, str) and _can_be_secret(value):
        yield value
        yield from _parts(value)


def _parts(text: str) -> Iterator[str]:
    """Yield the secret parts of a text: the user, password and keys of a URL, the credentials of a header."""
    parts = []
    if "@" in text or "=" in text:
        for user in re.findall(_USER_IN_URL, text):
            parts += [user, user.partition(":")[2]]
        parts += re.findall(_KEY_IN_URL, text)
    if " " in text and (header := re.fullmatch(_CREDENTIALS, text)):
        parts.append(header[1])
    yield from filter(_can_be_secret, parts)


def _in_path(url: str) -> Iterator[str]:
    """Yield the random parts of an address's path: some services put the key of the user there."""
    path = url.partition("://")[2].partition("?")[0].split("/")[1:]
    yield from (part for part in path if re.fullmatch(_RANDOM, part))


def _in_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        written = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield written
        yield written.replace("/", "\\/")  # as PHP has it


def _in_python(value: str | bytes) -> Iterator[str]:
    """Yield a value as `repr` writes it, in either kind of quotes."""
    both = value + "'\"" if isinstance(value, str) else value + b"'\""  # then those around it are single ones
    start = 1 if isinstance(value, str) else 2
    yield repr(value)[start:-1]
    yield repr(both)[start:-4]


def _in_url(value: str) -> str:
    if value.isalnum() and value.isascii():
        return value
    from urllib.parse import quote

    return quote(value, safe="", errors="replace")
