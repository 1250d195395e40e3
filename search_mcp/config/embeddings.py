"""The address that makes vectors of texts: from `settings.search.semantic` to an `EmbeddingsAddress`, and its faults.

Pure. Only configurations with such an address need this module, so it is imported when there is one.
"""

from collections.abc import Iterator
from pathlib import PurePath

from search_mcp.config import addresses
from search_mcp.config.placeholders import Complaint, Expansion, Places, Values, may_have_sources
from search_mcp.config.schema import Embeddings, EmbeddingsAddress, Entry, Unfilled
from search_mcp.config.secrets import find_secrets, spellings


def resolve(
    written: Embeddings, places: Places, values: Values | None = None
) -> tuple[EmbeddingsAddress, list[Complaint]]:
    """Fill in placeholders; also return the faults for which the address is not used.

    `values` are those of its sources of secrets; without them, the sources stay placeholders.
    """
    expansion = Expansion(places, values)
    url = expansion.expand(written.url, "url").strip()
    key = expansion.expand(written.api_key, "apiKey").strip()
    ca_file = expansion.expand(written.ca_file, "caFile")
    is_filled = values is not None or not expansion.sources
    complaints = [*expansion.complaints, *_complaints(url, written.model, key, is_filled=is_filled)]
    found = find_secrets({"url": url, "apiKey": key})
    unfilled = None
    if not is_filled:
        unfilled = Unfilled(sources=tuple(expansion.sources), places=places, entry=Entry())
        found = (each for each in found if not may_have_sources(each))
    return EmbeddingsAddress(
        url=url,
        model=written.model,
        api_key=key,
        ca_file=str(PurePath(places.config_dir) / ca_file) if ca_file else "",
        public_url=addresses.public(written.url if expansion.sources else url),
        problem=next((f"{problem}; {remedy}" for _, problem, remedy in complaints), None),
        secrets=spellings((*expansion.secrets, *found)),
        unfilled=unfilled,
        written=written,
    ), complaints


def filled(address: EmbeddingsAddress, values: Values) -> EmbeddingsAddress:
    """Fill in the values of the sources of secrets; `problem` is set if one cannot be used in its place."""
    assert address.unfilled is not None
    found, _ = resolve(address.written, address.unfilled.places, values)
    return found


def remarks(address: EmbeddingsAddress) -> Iterator[Complaint]:
    """Yield remarks on an address that do not prevent its use."""
    if address.problem is None and addresses.is_unencrypted(address.url):
        problem = "the texts of your tools and all queries are sent unencrypted to an http address"
        yield ("url",), problem, "use https if the service has it"


def _complaints(url: str, model: str, key: str, *, is_filled: bool) -> Iterator[Complaint]:
    if (is_filled or not may_have_sources(url)) and not addresses.is_address(url):
        yield ("url",), 'the url in "semantic" is not an http or https address', 'write "http://localhost:11434/v1"'
    elif (key or addresses.public(url) != url) and addresses.is_unencrypted(url):
        # As for the endpoints of logins, which "MUST be served over HTTPS" except on this computer.
        yield (
            ("url",),
            'the key in "semantic" would be sent unencrypted to an http address',
            "use its https address, or remove the key",
        )
    if not model.strip():
        yield (
            ("model",),
            '"semantic" names no model',
            'write the name that the service uses, such as "nomic-embed-text"',
        )
    if (is_filled or not may_have_sources(key)) and not addresses.is_header_value(key):
        yield ("apiKey",), 'the key in "semantic" has a character that headers cannot have', "write ASCII on one line"
