"""The tools of search-mcp itself: their definitions, arguments and answers, and the search behind `search_tools`."""
