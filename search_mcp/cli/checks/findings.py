"""The results of `check`: one finding per server, and all of them as an examination.

Decides which states and reasons are reported, and the JSON form. Knows nothing about how servers are started.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from search_mcp.backends.pin_records import Open
from search_mcp.catalog.profiles import Profile
from search_mcp.cli.checks import differences
from search_mcp.cli.checks.fitness import Remark
from search_mcp.cli.counting import counted
from search_mcp.cli.problem import FINE, WRONG
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Status
from search_mcp.model.standing import Standing, standing_of
from search_mcp.times import iso

_JSON_KEYS = {
    Kind.TOOLS: "tools",
    Kind.PROMPTS: "prompts",
    Kind.RESOURCES: "resources",
    Kind.TEMPLATES: "resourceTemplates",
    Kind.SKILLS: "skills",
}


def duration(seconds: float | None) -> str:
    """Write seconds with one decimal; nothing for None."""
    return f"{seconds:.1f} s" if seconds is not None else ""


@dataclass(frozen=True)
class Finding:
    """The findings about one server."""

    config: ServerConfig
    status: Status
    counts: Mapping[Kind, int]
    problems: tuple[str, ...]
    remedy: str | None
    is_fine: bool
    slow_seconds: float | None = None
    """Duration of the start, if it was slow."""
    changes: tuple[str, ...] = ()
    """Definitions that differ from the accepted ones, in sentences."""
    differences: tuple[Open, ...] = ()
    """The same in detail, with definitions that only other clients were given, and with those that are gone."""
    admissible: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    """Tools and prompts that are counted as soon as they are accepted."""

    @property
    def name(self) -> str:
        return self.status.server

    @property
    def milliseconds(self) -> int | None:
        seconds = self.status.start_seconds
        return round(seconds * 1000) if seconds is not None else None

    @property
    def standing(self) -> Standing:
        return standing_of(self.status)

    def without(self, accepted: Sequence[Open]) -> "Finding":
        """Return the finding after some differences were accepted."""
        left = tuple(each for each in self.differences if each not in accepted)
        missing = sum(each.now is not None for each in left)
        reminder = f"{counted(missing, 'difference')} not accepted; `{self.config.check()}` shows them"
        counts = {kind: count + self._admitted(kind, accepted) for kind, count in self.counts.items()}
        return replace(self, differences=left, changes=(reminder,) if missing else (), counts=counts)

    def _admitted(self, kind: Kind, accepted: Sequence[Open]) -> int:
        names = {each.name for each in accepted if each.section == kind.value and not each.is_of_another_client}
        return len(self.admissible.get(kind, frozenset()) & names)

    def as_json(self) -> dict[str, Any]:
        capabilities = self.status.capabilities
        return {
            "name": self.name,
            "state": self.status.state,
            "since": iso(self.status.since),
            "reason": self.status.reason,
            "remedy": self.remedy or self.status.remedy or None,
            "era": capabilities.era.value if capabilities is not None else None,
            "revision": capabilities.revision if capabilities is not None else None,
            "openMilliseconds": self.milliseconds,
            **({"sharing": self.status.sharing} if self.status.sharing is not None else {}),
            **{_JSON_KEYS[kind]: count for kind, count in self.counts.items()},
            "problems": (
                *([_slow(self.slow_seconds)] if self.slow_seconds is not None else []),
                *self.problems,
                *self.changes,
            ),
            **({"changes": [differences.as_json(each) for each in self.differences]} if self.differences else {}),
        }


def _slow(seconds: float) -> str:
    return f"slow to start ({duration(seconds)}): the first call waits for the start"


@dataclass(frozen=True)
class Examination:
    """The findings about all servers, and remarks about the list that a client gets."""

    findings: Sequence[Finding]
    client: Profile
    remarks: Sequence[Remark]
    notes: Sequence[str] = ()
    """Lines that report no fault."""
    long_results: Sequence[Remark] = ()
    """Remarks on results that clients did not take whole."""

    @property
    def exit_code(self) -> int:
        is_fine = all(finding.is_fine for finding in self.findings) and not any(each.is_fatal for each in self.remarks)
        return FINE if is_fine else WRONG

    def without(self, accepted: Mapping[str, Sequence[Open]]) -> "Examination":
        """Return the examination after differences of some servers were accepted."""
        findings = [each.without(accepted[each.name]) if each.name in accepted else each for each in self.findings]
        return replace(self, findings=findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.exit_code == FINE,
            "servers": [finding.as_json() for finding in self.findings],
            "client": {"name": self.client.name, "problems": [remark.text for remark in self.remarks]},
            "notes": self.notes,
            **({"longResults": [remark.text for remark in self.long_results]} if self.long_results else {}),
        }
