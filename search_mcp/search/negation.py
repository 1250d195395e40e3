"""Negated words in a query: "don't delete the notes, list them" must not find the tool that deletes.

Finds the usual forms of a prohibition in nine languages, by their words and endings, and leaves out the negated word.
Some participles, as in "never opened", are taken for verbs, too. Knows nothing of tools.
"""

import re

# A participle before a noun, as in "nicht gelesene Mails", describes a thing and should stay. After "no" comes a
# Spanish verb with its object, or an alternative follows ("no pie chart, a bar chart"); "no internet connection" stays.
_NEGATED = re.compile(
    r"""\b(?:do\ not|don['’]?t|never)\s+\w+ | \bwithout\s+\w+ing\b | (?:^|[,.;])\s*não\s+\w+
    | (?:^|[,.;])\s*no\s+\w+(?=\s+(?:el|la|los|las|una?|nada|ning\w+)\b|[^,.;]{0,30}[,;]\s?\w)
    | \bnicht\s+\w+en(?=\s*(?:$|[,.;!]|und\b|sondern\b)) | \bohne\s+(?:\w+\s+)?zu\s+\w+
    | \bn(?:e\s+|['’])\w+\s+(?:pas|rien)\b | \bне\s+\w+(?:ь|й|те|и)\b
    | [\u30a1-\u30fa\u30fc\u4e00-\u9fff]{1,8}(?:し?ないで|せずに?)
    | (?:不要|请勿|(?<![\u4e00-\u9fff])别)[\u4e00-\u9fff]{2}
    | \w{1,8}지\s*(?:말고|마(?:세요|라)?\b)""",
    re.IGNORECASE | re.VERBOSE,
)


def without_negated(text: str) -> str:
    """Return a text without its negated words; the whole text if nothing else is in it."""
    rest = _NEGATED.sub(" ", text)
    return rest if any(map(str.isalnum, rest)) else text
