"""What a question asks for without saying so: data, and nothing else.

Who asks "what time is it" wants to get the current time, not to convert one; but without its filler words all that is
left is "time". General English. "How do I", "can you" and the like begin requests and say nothing more.
"""

QUESTIONS = {
    "what": "get show list current",
    "which": "get show list",
    "who": "get user person author",
    "where": "get location",
    "when": "get date time",
    "how many": "get list count number",
    "how much": "get price cost amount",
    "how long": "get duration",
    "how big": "get size",
    "how far": "get distance",
    "how old": "get age",
    "how often": "get frequency",
    "is": "check status",
    "are": "check status",
    "was": "check status",
    "were": "check status",
    "does": "check status",
    "did": "check status",
    "has": "check status",
}
