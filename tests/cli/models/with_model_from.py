"""The command with another known model: `python with_model_from.py ADDRESS FOLDER [WORD ...]`.

The model is the one in the folder, and its files are fetched from the address.
"""

import sys
from pathlib import Path

from search_mcp.cli import main
from search_mcp.semantic import known_models, models
from search_mcp.semantic.known_models import KnownModel, RemoteFile
from search_mcp.wire.structs import replace

ADDRESS, FOLDER, *WORDS = sys.argv[1:]
MODEL = models.read(Path(FOLDER))
FILES = [
    RemoteFile(each.name, each.path, (Path(FOLDER) / each.name).stat().st_size, MODEL.digests[each.name])
    for each in known_models.MINILM.files
]
known_models.MINILM = KnownModel(
    replace(MODEL, licence="Apache-2.0", source=ADDRESS), ADDRESS, "English", (FILES[0], FILES[1])
)
sys.exit(main(WORDS))
