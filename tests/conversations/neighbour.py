"""A busy client beside the client of a conversation: on the same pool, and at the same servers where these are shared.

It opens right after the client, and does something with each message of the conversation: it calls, cancels, lists,
searches, subscribes. A call of it is in progress whenever the client or a server says something. Its messages are kept
from the conversation, and it must hear nothing of the conversation.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from conversations.back import Back, FakeChannel
from conversations.transcript import Said, encode
from conversations.words import CAPABILITIES, CLIENT_INFO, MODERN, VERSION, Json, text
from search_mcp.backends.process.launching import Command

if TYPE_CHECKING:
    from conversations.pair import Pair

INFO: Json = {"name": "a busy client", "version": "2"}
MARK = "busy"
"""The argument of its calls, with their number."""


class Neighbour:
    """The busy client."""

    def __init__(self, pair: "Pair") -> None:
        self._pair = pair
        self.is_open = False
        self.answered = 0
        """Calls that were answered by their own words."""
        self._ids = 0
        self._calls: dict[int, str] = {}  # in progress at search-mcp: the answer that each may get, by id
        self._requests: set[int] = set()  # other requests
        self._served: list[tuple[Back, FakeChannel, Said]] = []  # in progress at the servers
        self._own: dict[str, Back] = {}  # servers that it does not share
        self._feed: Callable[[bytes], None] = lambda _data: None

    # As a client

    def opens(self, feed: Callable[[bytes], None]) -> None:
        """Open like the client of the conversation, whose servers it shares if that is possible."""
        self.is_open, self._feed = True, feed
        front = self._pair.front
        if not front.is_modern:
            params = {"protocolVersion": front.revision, "capabilities": front.capabilities, "clientInfo": INFO}
            self._asks("initialize", params)
            self._says(method="notifications/initialized")
            self._asks("logging/setLevel", {"level": "debug"})
        else:
            self._asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        self._asks("tools/list", {})

    def acts(self) -> None:
        """Do something."""
        self._calls_a_server()
        match self._ids % 5:
            case 0:
                self._asks("tools/list", {})
            case 1:
                self._asks("tools/call", {"name": "search_tools", "arguments": {"query": "echo"}})
            case 2 if self._calls:
                cancelled = next(iter(self._calls))
                del self._calls[cancelled]
                self._says(method="notifications/cancelled", params={"requestId": cancelled})
            case 3:
                self._asks("resources/list", {})
            case _:
                pass
        while len(self._served) > 1:
            self._answer()

    def waits(self) -> None:
        """Have all calls answered."""
        while self._served:
            self._answer()

    def _calls_a_server(self) -> None:
        number = self._ids = self._ids + 1
        backs = [back for back in self._pair.backs.values() if back.is_running]
        if not backs:  # a server that does not run is started by the conversation
            return
        back = backs[number % len(backs)]
        tool = next((each["name"] for each in back.tools if isinstance(each, dict) and "name" in each), None)
        if not isinstance(tool, str):
            return
        self._calls[number] = f"{MARK} {number}"
        arguments = {"name": f"{back.name}.{tool}", "arguments": {MARK: number}}
        self._says_request(number, "tools/call", arguments, {"progressToken": number})

    def _asks(self, method: str, params: Json) -> None:
        self._ids += 1
        self._requests.add(self._ids)
        self._says_request(self._ids, method, params, {})

    def _says_request(self, number: int, method: str, params: Json, meta: Json) -> None:
        if self._pair.front.is_modern:
            stamp = {VERSION: MODERN, CLIENT_INFO: INFO, CAPABILITIES: self._pair.front.capabilities}
            meta = {**stamp, **meta}
        self._says(id=number, method=method, params={**params, **({"_meta": meta} if meta else {})})

    def _says(self, **message: object) -> None:
        self._feed(encode({"jsonrpc": "2.0", **message}) + b"\n")

    def hear(self, line: bytes) -> None:
        """Check that a message is the client's own."""
        said = Said(line)
        if said.method is None:
            is_own = self._is_answered(said)
        elif said.method == "notifications/progress":
            is_own = said.params.get("message") == f"{MARK} {said.params['progressToken']}"
        else:
            is_own = "id" not in said.body and (
                said.method.endswith("/list_changed") or said.method == "notifications/subscriptions/acknowledged"
            )
        if not is_own:
            self._pair.transcript.faults.append(f"the busy client hears {said!r}")

    def _is_answered(self, said: Said) -> bool:
        """Return whether a response answers a request of this client; an error may answer any."""
        number = said.id
        if number in self._requests:
            self._requests.discard(number)
            return True
        words = self._calls.pop(number, None) if isinstance(number, int) else None
        if words is None or said.result is None:
            return words is not None
        is_own = said.body["result"]["content"][:1] == text(words)["content"]  # before a note about its arguments
        self.answered += is_own
        return is_own or bool(said.body["result"].get("isError"))

    # At the servers

    async def spawn(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> FakeChannel:
        """Start a process that the conversation has no part in."""
        return await self.own_server(command.args[0]).spawn(on_stdout, on_end)

    def own_server(self, name: str) -> Back:
        """Return the server that this client does not share, which declares the same as that of the conversation."""
        back = self._own.get(name)
        if back is None:
            back = self._own[name] = Back(self._pair, f"{name} of the neighbour", self._pair.backs[name].revision)
        back.declares_like(self._pair.backs[name])
        return back

    def serves(self, back: Back, channel: FakeChannel, said: Said) -> bool:
        """Take a message of this client to a server; return false for others."""
        if said.method == "notifications/cancelled":
            cancelled = [each for each in self._served if each[1] is channel and each[2].id == said.params["requestId"]]
            for each in cancelled:
                self._served.remove(each)
            return bool(cancelled)
        if said.method != "tools/call" or MARK not in said.params.get("arguments", {}):
            return False
        self._served.append((back, channel, said))
        return True

    def _answer(self) -> None:
        back, channel, said = self._served.pop(0)
        if channel.has_ended():
            return
        words = f"{MARK} {said.params['arguments'][MARK]}"
        progress = {"progressToken": said.meta["progressToken"], "progress": 1, "message": words}
        result = text(words, **({"resultType": "complete"} if back.is_modern else {}))
        for message in ({"method": "notifications/progress", "params": progress}, {"id": said.id, "result": result}):
            line = encode({"jsonrpc": "2.0", **message}) + b"\n"
            self._pair.loop.call_soon(channel.on_stdout, line)
        self._pair.settle()


_LINES = "it counts the log lines of one client"
_CLIENTS = "it counts the clients of a server"
_MEMORY = "it counts the calls in memory"
_CALLS = "no client may call a server meanwhile"
_TERMINATED = "its calls end, too"
_LOG_LEVELS = "a message that may be about a call of either client reaches none: test_isolation"
_QUESTION = "a legacy server does not say in which call it asks, and the busy client's is in progress, too"
_UNREAD = "a server is read as long as one of its clients reads"
_OPENING = "a server that may be shared is opened for any client, the modern era first: test_pool"
_REMEMBERED = "the process of the busy client answers, and is remembered"

ALONE = {
    # at every server
    "test_a_backend_cannot_report_on_anothers_call": "a server answers an id that it guesses: one of the busy client",
    "test_a_backend_is_opened_in_the_clients_era_where_it_can_be": _OPENING,
    "test_a_call_that_is_over_is_gone": _MEMORY,
    "test_a_call_that_was_recorded_is_gone": _MEMORY,
    "test_a_client_that_is_the_first_of_its_server_finds_tasks_of_another_day": _CLIENTS,
    "test_a_client_that_does_not_read_delays_no_other": _UNREAD,
    "test_a_client_that_leaves_while_it_does_not_read_lets_the_server_be_read": _UNREAD,
    "test_a_damaged_record_withholds_all_of_a_pinned_server_and_nothing_of_another": _LINES,
    "test_a_failed_source_is_named_and_tried_again": "it counts how often a secret is read",
    "test_a_log_message_after_the_answer_reaches_no_other_client": _CLIENTS,
    "test_a_modern_backend_that_exits_on_initialize_is_started_again_with_a_probe": _OPENING,
    "test_a_modern_server_that_answers_initialize_is_asked_again_in_its_own_words": _OPENING,
    "test_a_new_tool_is_told_of_and_withheld_if_it_is_pinned": _LINES,
    "test_a_question_of_a_shared_server_outside_of_any_call_is_refused": _QUESTION,
    "test_a_question_of_a_shared_server_is_refused_as_its_own_client_would": _QUESTION,
    "test_a_result_belongs_to_the_client_that_got_it one aggregator": "its clients are on no pool",
    "test_a_search_for_a_skill_that_is_over_is_gone": _MEMORY,
    "test_a_server_of_both_eras_is_opened_once_in_the_clients": _OPENING,
    "test_a_server_of_an_unknown_revision_is_refused_and_not_started_again": "a client that joins has it tried again",
    "test_a_server_that_nobody_calls_is_started_by_its_first_call": _CALLS,
    "test_a_skill_that_two_servers_list_is_that_of_the_first_and_the_user_is_told": _LINES,
    "test_a_terminated_server_is_not_started_again": _TERMINATED,
    "test_a_tool_that_changed_is_told_of_and_stays": _LINES,
    "test_an_entry_that_clients_would_refuse_is_left_out_alone_with_a_remark": _LINES,
    "test_clients_do_not_share_a_server_that_is_started_differently folder": "its entry says that it is shared",
    "test_each_gets_the_log_messages_that_it_wants": "it counts requests for a log level",
    "test_every_legacy_revision_is_answered_and_passed_on": _OPENING,
    "test_every_call_is_answered_once": "it counts the servers that are left at the end",
    "test_files_that_change_all_the_time_restart_it_seldom_and_are_named": _LINES,
    "test_initialize_is_answered_before_any_backend_is": _OPENING,
    "test_list_servers_says_who_shares_a_server_and_why": _CLIENTS,
    "test_log_messages_before_any_call_reach_all_clients_and_again_after_a_restart": _CLIENTS,
    "test_new_roots_reach_a_legacy_backend_that_was_starting": _OPENING,
    "test_patterns_that_match_nothing_are_reported": _LINES,
    "test_the_clients_capabilities_and_name_are_mirrored": _OPENING,
    "test_the_version_of_the_design_notes_is_echoed_and_served_as_the_newest_legacy_one": _OPENING,
    "test_two_clients_of_one_process_are_distinguished": "each gateway writes its records at a time of its own",
    "test_two_processes_that_wait_for_a_client_say_that_they_are_two": _CLIENTS,
    "test_very_many_problems_of_one_server_are_counted": _LINES,
    "test_what_is_too_long_is_left_out_alone_and_reported": _LINES,
    "test_who_says_much_and_answers_nothing_rests_while_others_are_called": _CALLS,
    # at a modern server, which is shared
    "test_what_another_client_has_learnt_is_corrected +2026-07-28": _OPENING,
    "test_it_is_offered_while_a_server_is_remembered_from_another_kind_of_client +2026-07-28": _OPENING,
    "test_a_bug_in_a_list_that_was_waited_for_is_an_internal_error +2026-07-28": "the busy client meets the bug, too",
    "test_a_call_that_waited_over_an_edit_is_refused_once_another_takes_its_server_away +2026-07-28": (
        "a server that others use and that an edit starts alike goes on"
    ),
    "test_a_legacy_client_gets_log_messages_as_they_are 2025-11-25+2026-07-28": _LOG_LEVELS,
    "test_a_legacy_client_that_set_no_level_hears_what_the_server_decides 2025-11-25+2026-07-28": _LOG_LEVELS,
    "test_a_server_that_an_edit_adds_is_not_read_either_while_the_client_does_not_read +2026-07-28": _UNREAD,
    "test_it_ends_during_a_restart +2026-07-28": _TERMINATED,
    "test_log_messages_pass_as_they_are_whatever_logger_they_name 2025-11-25+2026-07-28": _LOG_LEVELS,
    "test_of_a_large_log_message_the_members_that_the_protocol_knows_pass 2025-11-25+2026-07-28": _LOG_LEVELS,
    # at a legacy server
    "test_a_backend_that_ends_between_calls_is_started_again_in_its_era +2025-11-25": _OPENING,
    "test_a_client_that_leaves_answers_the_question_it_was_asked +legacy": _QUESTION,
    "test_a_question_reaches_the_client_whose_call_it_belongs_to +legacy": _QUESTION,
    "test_a_server_that_dies_before_it_has_listed_all_is_not_remembered +2025-11-25": _REMEMBERED,
    "test_a_silent_server_that_answered_meanwhile_is_waited_for +2025-11-25": _REMEMBERED,
    "test_a_server_that_exited_is_not_waited_for_either +2025-11-25": _REMEMBERED,
    "test_a_silent_server_is_waited_for_again_after_ten_minutes +2025-11-25": _REMEMBERED,
    "test_a_silent_server_is_waited_for_once_its_entry_was_edited +2025-11-25": _REMEMBERED,
    # a remote one is shared once it is known to have no session, and was opened for its own client before
    "test_an_extension_whose_methods_cannot_be_routed_is_not_offered +2025-11-25": _OPENING,
    "test_an_extension_whose_settings_are_no_object_is_not_offered +2025-11-25": _OPENING,
    "test_of_two_servers_the_first_in_the_configuration_decides_the_settings +2025-11-25": _OPENING,
    "test_an_answer_says_why_a_start_failed_in_an_earlier_process_while_the_server_starts +2025-11-25": _REMEMBERED,
    "test_nobody_waits_twice_for_a_server_that_did_not_answer_at_all +2025-11-25": _REMEMBERED,
    "test_what_any_client_has_learnt_is_in_the_first_list_of_every_other +2025-11-25": _REMEMBERED,
    "test_the_end_of_an_elicitation_reaches_the_client_that_was_asked +legacy": _QUESTION,
}
"""Tests of conversations that are not played beside a busy client, each with the reason.

After the name: words that only those parameters of the test have that are meant, in any order, because the order of
parameters depends on how the tests are started.
"""


def is_played_alone(test: str) -> bool:
    """Return whether a test, named with its parameters, is in `ALONE`."""
    name, _, parameters = test.partition("[")
    entries = (each.split() for each in ALONE)
    return any(alone == name and all(word in parameters for word in words) for alone, *words in entries)
