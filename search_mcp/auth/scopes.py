"""The scopes that a login asks for. Pure.

Source: basic/authorization of 2026-07-28, Scope Selection Strategy and Step-Up Authorization Flow.
"""

from collections.abc import Iterable, Sequence

OFFLINE = "offline_access"
MOST_CHARACTERS = 4000
"""Most characters of scopes that are asked for or kept: they come from servers, and go into a URL, of which many web
servers take 8 KB."""


def chosen(
    challenged: Sequence[str],
    configured: Sequence[str] | None,
    resource: Sequence[str] | None,
    server: Sequence[str] | None,
    before: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the scopes to ask for, in order, the newest if there are many; without any, `scope` is left out.

    Args:
        challenged: scopes of the challenge in the response to a request
        configured: scopes in the server's entry
        resource: `scopes_supported` of the protected resource metadata
        server: `scopes_supported` of the authorization server metadata
        before: scopes that the replaced login asked for
    """
    # "1. Use `scope` parameter from the initial `WWW-Authenticate` header in the 401 response, if provided
    #  2. If `scope` is not available, use all scopes defined in `scopes_supported` from the Protected Resource
    #  Metadata document, omitting the `scope` parameter if `scopes_supported` is undefined."
    first = configured if configured is not None else challenged or resource or ()
    # "computing the union of the client's previously requested scope set and the scopes from the current challenge"
    wanted = union(before, first, challenged)
    # "MAY add `offline_access` to the `scope` parameter [...] when the Authorization Server metadata contains it in
    # `scopes_supported`". Alone it would replace the server's default scopes.
    if wanted and configured is None and OFFLINE in (server or ()):
        wanted = union(wanted, (OFFLINE,))
    return newest(wanted)


def union(*sets: Iterable[str]) -> tuple[str, ...]:
    """Join sets of scopes, each scope once, in order."""
    return tuple(dict.fromkeys(scope for each in sets for scope in each))


def newest(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return as many of the last scopes as are kept."""
    kept, left = 0, MOST_CHARACTERS + 1
    for scope in reversed(scopes):
        left -= len(scope) + 1
        if left < 0:
            break
        kept += 1
    return tuple(scopes[len(scopes) - kept :])
