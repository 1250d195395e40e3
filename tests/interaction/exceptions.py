"""Tests of the suite that fail with search-mcp, each with the sentence of its contract that is the reason.

In a shared engine, a legacy client's server is opened in the modern era if it speaks that. The servers of the suite
speak both, with handlers that were written for one of them, so more legacy tests fail: those of `WRITTEN_FOR_LEGACY`.
"""

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

WRITTEN_FOR_LEGACY: dict[str, tuple[str, ...]] = {
    # what such a server cannot do in the modern era: tests
    # After the first failure, it is opened in the client's era: `conversations/test_pool.py`.
    "it sends no request to the client": (
        "test_a_tool_rejected_with_url_elicitation_required_succeeds_on_retry_after_completion",
        "test_abandoned_server_request_cancels_the_client_callback",
        "test_accepted_elicitation_content_that_violates_the_schema_reaches_the_handler_unchanged",
        "test_array_content_result_for_a_tool_free_request_surfaces_as_a_validation_error",
        "test_create_message_callback_error",
        "test_create_message_request_with_audio_content_reaches_callback",
        "test_create_message_request_with_image_content_reaches_callback",
        "test_create_message_result_with_audio_content_returns_to_handler",
        "test_create_message_result_with_image_content_returns_to_handler",
        "test_create_message_round_trip",
        "test_create_message_with_list_valued_message_content_reaches_callback",
        "test_elicit_form_cancel_returns_no_content",
        "test_elicit_form_decline_returns_no_content",
        "test_elicit_form_schema_with_every_primitive_and_enum_type_reaches_the_callback_as_sent",
        "test_elicit_form_with_a_nested_schema_is_forwarded_unchanged",
        "test_elicit_url_cancel_returns_no_content",
        "test_elicit_url_decline_returns_no_content",
        "test_elicitation_complete_notification_carries_the_elicited_id_back_to_the_client",
        "test_list_roots_callback_error_surfaces_to_the_handler",
        "test_list_roots_empty",
        "test_list_roots_round_trip",
        "test_server_ping_returns_empty_result",
    ),
    # A client that lists again gets the change: lists of this era say how long they are fresh.
    "it announces changes only on a stream that asked for them, for which these handlers do nothing": (
        "test_prompt_list_changed_notification",
        "test_resource_list_changed_notification",
        "test_resource_updated_notification_reaches_client",
        "test_tool_list_changed_notification",
    ),
    "it asks for the roots when it needs them, and is not told that they changed": (
        "test_roots_list_changed_reaches_server_handler",
    ),
    "the SDK does not tell a client of this era what a handler raised": (
        "test_call_tool_uncaught_exception_becomes_error_response",
        "test_get_prompt_with_a_missing_required_argument_is_an_error",
        "test_get_prompt_with_a_wrong_type_argument_is_rejected_before_the_function_runs",
    ),
    "every request carries version and capabilities": ("test_request_meta_reaches_handler",),
}

EXPECTED_IF_SHARED = EXPECTED | {f"{test} [{LEGACY}]" for tests in WRITTEN_FOR_LEGACY.values() for test in tests}
