"""Tests of the suite that fail with search-mcp, each with the sentence of its contract that is the reason."""

LEGACY, MODERN = "2025-11-25", "2026-07-28"

EXCEPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    # sentence: {test: revisions}
    "each hop mints its own request ids and progress tokens and maps them back": {
        "test_cancellation_stops_in_flight_handler": (LEGACY,),
        "test_progress_token_visible_to_handler": (LEGACY,),
        "test_session_serves_requests_after_cancellation": (LEGACY,),
        "test_the_subscription_id_is_the_listen_request_id_the_server_saw": (MODERN,),
    },
    "Progress travels to the one client request it concerns and stops when that ends": {
        "test_client_progress_notification_reaches_server_handler": (LEGACY,),
        "test_progress_sent_after_the_response_is_not_delivered_to_the_callback": (LEGACY,),
    },
    "one page, deterministic order; follows every backend's cursors; a cursor we never gave is -32602": {
        "test_next_cursor_round_trips_through_the_client": (LEGACY, MODERN),
        "test_paginating_until_next_cursor_is_absent_yields_every_page": (LEGACY, MODERN),
        "test_prompts_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_resource_templates_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_resources_list_supports_cursor_pagination": (LEGACY, MODERN),
        "test_the_client_follows_opaque_cursors_through_pages_of_varying_sizes": (LEGACY, MODERN),
    },
    # Lists are read when a server starts and when it announces a change.
    "Answers `initialize` and `tools/list` at once": {
        "test_adding_and_removing_tools_does_not_notify_connected_clients": (LEGACY, MODERN),
        "test_every_request_on_a_modern_session_carries_the_three_key_meta_envelope": (MODERN,),
    },
    # A client's subscription is to all servers.
    "one dead, slow, flooding or hostile backend costs nobody else anything": {
        "test_a_graceful_server_close_ends_iteration_after_buffered_events": (MODERN,),
        "test_a_stream_dropped_after_the_ack_raises_subscription_lost": (MODERN,),
        "test_concurrent_listen_streams_each_receive_their_own_ack": (MODERN,),
    },
    "before anything is known (first start, no cache) all kinds, since an empty list harms nobody": {
        "test_complete_without_handler_is_method_not_found": (LEGACY,),
        "test_completion_capability_is_advertised_only_when_a_handler_is_registered": (LEGACY,),
        "test_context_logging_helpers_send_log_notifications": (LEGACY,),
        "test_initialize_capabilities_reflect_registered_handlers": (LEGACY,),
        "test_initialize_minimal_server_advertises_no_capabilities": (LEGACY,),
    },
    "`instructions`: ours, short: what the names mean, how to search, one line a server": {
        "test_initialize_returns_instructions": (LEGACY,),
    },
    "a client that did not declare the capability: refuse the request at once with a clear error": {
        "test_create_message_without_callback_is_error": (LEGACY,),
        "test_elicit_form_without_callback_is_error": (LEGACY,),
        "test_list_roots_without_callback_is_error": (LEGACY,),
    },
    "Capabilities we offer are those the catalogue can honour: other requests are refused here": {
        "test_set_logging_level_is_rejected_and_messages_are_never_filtered": (LEGACY,),
        "test_subscribe_resource_delivers_uri_to_handler": (LEGACY,),
        "test_subscribe_without_a_subscribe_handler_is_method_not_found": (LEGACY,),
        "test_unsubscribe_resource_delivers_uri_to_handler": (LEGACY,),
    },
    "no such tool: -32602 with the nearest callable names in the message; no such prompt: -32602, with suggestions": {
        "test_call_tool_unknown_name_returns_error_result": (LEGACY, MODERN),
        "test_get_unknown_prompt_is_error": (LEGACY,),
    },
    "an elicitation's message begins with the server's name": {
        "test_a_tool_handler_chains_form_elicitations_feeding_each_answer_forward": (LEGACY,),
        "test_context_elicit_returns_typed_result": (LEGACY,),
        "test_decorated_tool_raising_url_elicitation_required_surfaces_as_error_32042": (LEGACY,),
        "test_elicit_form_accepted_content_returns_to_handler": (LEGACY,),
        "test_elicit_url_delivers_url_and_returns_accept_without_content": (LEGACY,),
        "test_url_elicitation_required_error_carries_pending_elicitations": (LEGACY,),
    },
    "sampling's `includeContext` becomes `none`": {
        "test_create_message_params_reach_callback": (LEGACY,),
    },
    "News about a URI or a URL elicitation are relayed only from their owner": {
        "test_elicitation_complete_for_an_unknown_id_is_received_without_error": (LEGACY,),
    },
    "no such resource: -32002 to a legacy client, -32602 to a modern one": {
        "test_read_resource_unknown_uri_is_protocol_error": (MODERN,),
    },
    "Characters outside A-Za-z0-9_.- in either part become _": {
        "test_registering_a_tool_with_a_spec_invalid_name_warns_but_does_not_reject": (LEGACY, MODERN),
    },
}

EXPECTED = {
    f"{test} [{revision}]" for tests in EXCEPTIONS.values() for test, which in tests.items() for revision in which
}
