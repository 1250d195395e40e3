"""Encryption of stored logins for the user's account, where the system has it: DPAPI on Windows.

Elsewhere the permissions of the file and its folder protect it.
"""

import sys

if sys.platform == "win32":
    import pywintypes
    import win32crypt

    def sealed(data: bytes) -> bytes:
        """Encrypt data so that only this user can read it."""
        return bytes(win32crypt.CryptProtectData(data, None, None, None, None, 0))

    def opened(data: bytes) -> bytes:
        """Decrypt what `sealed` returned.

        Raises:
            ValueError: it was not encrypted by this user on this computer.
        """
        try:
            return bytes(win32crypt.CryptUnprotectData(data, None, None, None, 0)[1])
        except pywintypes.error as exc:
            raise ValueError(str(exc)) from exc

else:

    def sealed(data: bytes) -> bytes:
        """Return data as it is."""
        return data

    def opened(data: bytes) -> bytes:
        """Return data as it is."""
        return data
