"""What of the suite cannot pass through search-mcp, and why: its contract is to be one server in front of several."""

LEGACY, MODERN = "2025-11-25", "2026-07-28"

EXCEPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    # why: {test: revisions}
    "each hop has ids and progress tokens of its own, and the test takes those of the server for the client's": {
        "test_cancellation_stops_in_flight_handler": (LEGACY,),
        "test_progress_token_visible_to_handler": (LEGACY,),
        "test_session_serves_requests_after_cancellation": (LEGACY,),
        "test_the_subscription_id_is_the_listen_request_id_the_server_saw": (MODERN,),
    },
    "progress on what is not in flight, or not any more, concerns nobody": {
        "test_client_progress_notification_reaches_server_handler": (LEGACY,),
        "test_progress_sent_after_the_response_is_not_delivered_to_the_callback": (LEGACY,),
    },
    "a list is one page: every server's cursors are followed, and none are given": {
        "test_next_cursor_round_trips_through_the_client": (LEGACY, MODERN),
        "test_paginating_until_next_cursor_is_absent_yields_every_page": (LEGACY, MODERN),
        "test_prompts_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_resource_templates_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_resources_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_the_client_follows_opaque_cursors_through_pages_of_varying_sizes": (LEGACY, MODERN),
    },
    "a server's list is read when it starts and when it says that it changed, not whenever a client lists": {
        "test_adding_and_removing_tools_does_not_notify_connected_clients": (LEGACY, MODERN),
        "test_every_request_on_a_modern_session_carries_the_three_key_meta_envelope": (MODERN,),
    },
    "a client is told of a list that looks different now; the test's server says so of one that is as it was": {
        "test_listen_surfaces_the_ack_and_iterates_typed_events": (MODERN,),
        "test_prompt_list_changed_notification": (LEGACY,),
        "test_resource_list_changed_notification": (LEGACY,),
        "test_tool_list_changed_notification": (LEGACY,),
    },
    "a client's subscription is to all servers, and does not end with what one of them does to its own": {
        "test_a_graceful_server_close_ends_iteration_after_buffered_events": (MODERN,),
        "test_a_stream_dropped_after_the_ack_raises_subscription_lost": (MODERN,),
        "test_concurrent_listen_streams_each_receive_their_own_ack": (MODERN,),
    },
    "`initialize` is answered before a server that was never seen is up, and so with every capability it may have": {
        "test_complete_without_handler_is_method_not_found": (LEGACY,),
        "test_completion_capability_is_advertised_only_when_a_handler_is_registered": (LEGACY,),
        "test_context_logging_helpers_send_log_notifications": (LEGACY,),
        "test_initialize_capabilities_reflect_registered_handlers": (LEGACY,),
        "test_initialize_minimal_server_advertises_no_capabilities": (LEGACY,),
    },
    "instructions are search-mcp's own, with a line of the server's": {
        "test_initialize_returns_instructions": (LEGACY,),
    },
    "what a client did not declare is refused here and with -32601, as the specification has it for roots": {
        "test_create_message_without_callback_is_error": (LEGACY,),
        "test_elicit_form_without_callback_is_error": (LEGACY,),
        "test_list_roots_without_callback_is_error": (LEGACY,),
    },
    "what no server declares is refused here, in other words": {
        "test_set_logging_level_is_rejected_and_messages_are_never_filtered": (LEGACY,),
        "test_subscribe_resource_delivers_uri_to_handler": (LEGACY,),
        "test_subscribe_without_a_subscribe_handler_is_method_not_found": (LEGACY,),
        "test_unsubscribe_resource_delivers_uri_to_handler": (LEGACY,),
    },
    "a name that no server lists is answered here, with suggestions": {
        "test_call_tool_unknown_name_returns_error_result": (LEGACY, MODERN),
        "test_get_unknown_prompt_is_error": (LEGACY,),
    },
    "the asking server's name stands in front of a question": {
        "test_a_tool_handler_chains_form_elicitations_feeding_each_answer_forward": (LEGACY,),
        "test_context_elicit_returns_typed_result": (LEGACY,),
        "test_decorated_tool_raising_url_elicitation_required_surfaces_as_error_32042": (LEGACY,),
        "test_elicit_form_accepted_content_returns_to_handler": (LEGACY,),
        "test_elicit_url_delivers_url_and_returns_accept_without_content": (LEGACY,),
        "test_url_elicitation_required_error_carries_pending_elicitations": (LEGACY,),
    },
    "a sampling's includeContext becomes none: to the client, the asking server is all servers here": {
        "test_create_message_params_reach_callback": (LEGACY,),
    },
    "the end of an elicitation is told only of one that the server began": {
        "test_elicitation_complete_for_an_unknown_id_is_received_without_error": (LEGACY,),
    },
    'the test\'s server breaks a rule that holds for us: "MUST NOT emit these codes: -32002"': {
        "test_read_resource_unknown_uri_is_protocol_error": (MODERN,),
    },
    "names consist of A-Za-z0-9_.- only, which is all that clients take": {
        "test_registering_a_tool_with_a_spec_invalid_name_warns_but_does_not_reject": (LEGACY, MODERN),
    },
}

EXPECTED = {
    f"{test} [{revision}]" for tests in EXCEPTIONS.values() for test, which in tests.items() for revision in which
}
