"""`token`: the tokens of clients that reach `search-mcp serve --http`, and the secrets of each.

Decides which names and options they may have, and how they are shown. A token is shown once, when it is made, and a
secret never.
"""

import re
import shutil
import time
from typing import Annotated

import typer

from search_mcp.cli.files.stored_secrets import asked
from search_mcp.cli.groups import command_group
from search_mcp.cli.help_text import Command
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, Problem, did_you_mean
from search_mcp.config import subset
from search_mcp.config.sources import USER_SECRET
from search_mcp.files import write_whole
from search_mcp.folders import logins_folder, secrets_folder, tokens_folder
from search_mcp.fronts.http.access import SUBJECT_PREFIX, Token
from search_mcp.fronts.http.token_store import NAME, TokenStore
from search_mcp.model.similar import nearest
from search_mcp.model.standing import ago
from search_mcp.times import iso

app = command_group("Create, list and remove the tokens and secrets of clients over HTTP.")

_UNITS = {"h": 3600, "d": 86_400}
_HEADINGS = ("Name", "Servers", "Shown as", "Secrets", "Expires", "Last used")
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token: small letters, digits and dashes.")]


@app.command(cls=Command, epilog="search-mcp token add anna\nsearch-mcp token add ci --servers 'tag:ci' --read-only")
@takes("client", "servers", "debug")
def add(
    options: Options,
    name: _Name,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only tools that their servers declare read-only.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="Lifetime, such as 90d or 12h; unlimited by default."),
    ] = None,
) -> int:
    """Create a token and show it once; it replaces one of the same name, but keeps its secrets and logins."""
    if not NAME.fullmatch(name) or name.startswith(SUBJECT_PREFIX):  # those are of an authorization server
        raise Misuse(f"{name!r} is no name for a token", "use small letters, digits and dashes, such as anna-laptop")
    if options.servers is not None:
        subset.parse(options.servers)
    ends = None if expires is None else time.time() + _seconds(expires)
    token = Token(name, "", options.servers, options.client, read_only, ends)
    store = TokenStore(tokens_folder())
    try:
        text = store.add(token)
    except OSError as exc:
        raise Problem(f"the token cannot be stored in {store.folder} ({exc.strerror})") from exc
    options.screen.text(text)
    options.screen.note("It is shown only now. A client sends it as the header `Authorization: Bearer TOKEN`.")
    return FINE


@app.command("list", cls=Command, epilog="search-mcp token list --json")
@takes("as_json", "debug")
def list_(options: Options) -> int:
    """List the tokens and their last use."""
    store = TokenStore(tokens_folder())
    found = [(each, store.last_use(each.name)) for each in store.all()]
    if options.as_json:
        options.screen.json({"tokens": [_as_json(*each) for each in found]})
    elif not found:
        options.screen.text("There are no tokens. `search-mcp token add NAME` makes one.")
    else:
        options.screen.table(_HEADINGS, [_row(*each) for each in found])
    return FINE


@app.command(cls=Command, epilog="search-mcp token remove anna")
@takes("debug")
def remove(options: Options, name: _Name) -> int:
    """Remove a token with its logins and secrets, and end its sessions at once."""
    store = TokenStore(tokens_folder())
    if not store.remove(name):
        raise _unknown(store, name)
    for folder in (logins_folder(name), secrets_folder(name)):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass
        except OSError as exc:
            remedy = "delete this folder yourself"
            raise Problem(f"the token is removed, but {folder} cannot be deleted ({exc.strerror})", remedy) from exc
    options.screen.text(f"Removed the token {name}.")
    return FINE


@app.command(cls=Command, epilog="search-mcp token secret anna GITHUB_TOKEN")
@takes("debug")
def secret(
    options: Options,
    name: _Name,
    key: Annotated[str, typer.Argument(metavar="SECRET", help="Capital letters, digits and _.")],
    remove: Annotated[bool, typer.Option("--remove", help="Delete the secret.")] = False,
) -> int:
    """Store a secret of a token, which entries use as `${user:SECRET}`; you type it, or give it on stdin."""
    store = TokenStore(tokens_folder())
    if store.find(name) is None:
        raise _unknown(store, name)
    if not re.fullmatch(USER_SECRET, key):
        raise Misuse(f"{key!r} is no name for a secret", "use capital letters, digits and _, such as GITHUB_TOKEN")
    path = secrets_folder(name) / key
    if remove:
        try:
            path.unlink()
        except FileNotFoundError:
            raise Misuse(f"{name} has no secret {key}") from None
        options.screen.text(f"Deleted the secret {key} of {name}; servers that run have it until their next start.")
        return FINE
    (value,) = asked([key], options.screen, f"in {path.parent}")
    try:
        write_whole(path, value.encode(errors="surrogateescape"))
    except OSError as exc:
        raise Problem(f"the secret cannot be stored in {path.parent} ({exc.strerror})") from exc
    options.screen.text(f"Stored {key} for {name}; servers have it from their next start on.")
    return FINE


def _unknown(store: TokenStore, name: str) -> Misuse:
    known = [each.name for each in store.all()]
    otherwise = f"the tokens are {', '.join(known)}" if known else "there are none"
    return Misuse(f"there is no token {name!r}", did_you_mean(nearest(name, known), otherwise))


def _secrets(name: str) -> list[str]:
    """Return the names of the secrets of a token's user."""
    return sorted(path.name for path in secrets_folder(name).glob("[A-Z]*"))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"([0-9]{1,5})([hd])", text)
    if match is None or not int(match[1]):
        raise Misuse(f"{text!r} is no time such as 90d or 12h")
    return int(match[1]) * _UNITS[match[2]]


def _row(token: Token, used: float | None) -> tuple[str, ...]:
    servers = (token.servers or "all") + (", read-only" if token.read_only else "")
    ends = "" if token.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(token.expires))
    expired = "" if token.is_valid(time.time()) else " (expired)"
    return (
        token.name if token.subject is None else f"{token.name} ({token.subject})",
        servers,
        token.profile or "",
        ", ".join(_secrets(token.name)),
        ends + expired,
        "never" if used is None else ago(time.time() - used),
    )


def _as_json(token: Token, used: float | None) -> dict[str, object]:
    return {
        "name": token.name,
        "subject": token.subject,
        "servers": token.servers,
        "client": token.profile,
        "readOnly": token.read_only,
        "created": iso(token.created or None),
        "expires": iso(token.expires),
        "lastUsed": iso(used),
        "secrets": _secrets(token.name),
    }
