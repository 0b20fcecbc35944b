"""How does text from outside get into a column without breaking the statement that stores it?"""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str, limit: int) -> str:
    """`text` without NUL bytes and lone surrogates, cut to `limit` characters; empty stays empty.

    Databases refuse NUL bytes, drivers refuse surrogates: one hostile job name would otherwise make a
    cluster invisible.
    """
    cut = text[:limit]
    if cut.isascii() and "\0" not in cut:
        return cut
    return "".join(REPLACEMENT if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in cut)
