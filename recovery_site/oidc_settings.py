"""Which settings let people sign in through an OpenID provider, and when are they half a configuration? Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from console.provider.client_secret import SecretNotUsable, client_secret
from recovery_site.exposure import is_own
from recovery_site.setting import BadSetting, Setting, address, one_of, text, whole

ROLES = ("viewer", "operator", "admin")
GROUPS_OF_ROLES = ("Operators", "Administrators")
LONGEST_GROUP = 150  # characters of the name of a group of the site
ADDRESSES = tuple(f"REKINDLE_OIDC_{name}_URL" for name in ("AUTHORIZE", "TOKEN", "USERINFO", "JWKS"))


def _place(raw: str) -> str:
    """An address without what would be cut off or sent along unseen."""
    if not raw:
        return raw
    address("https", "http")(raw)
    try:
        parts = urlsplit(raw)
        usable = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or any(char.isspace() for char in raw):
        raise BadSetting("must be an address with a host, without user, query or fragment")
    return raw


def _roles(raw: str) -> dict[str, str]:
    """`GROUP=ROLE; GROUP=ROLE`: what stands before the last `=` is the group, so names of directories fit."""
    found: dict[str, str] = {}
    for part in (one.strip() for one in raw.split(";") if one.strip()):
        group, _, role = (piece.strip() for piece in part.rpartition("="))
        if not group or role not in ROLES:
            raise BadSetting(f"must be GROUP=ROLE with semicolons between; roles are {', '.join(ROLES)}")
        if group in found:
            raise BadSetting("names a group twice")
        found[group] = role
    return found


def _site_groups(raw: str) -> dict[str, frozenset[str]]:
    """`GROUP=SITE GROUP; …`: a group of either side may stand in several pairs."""
    found: dict[str, frozenset[str]] = {}
    for part in (one.strip() for one in raw.split(";") if one.strip()):
        group, _, ours = (piece.strip() for piece in part.rpartition("="))
        if not group or not ours or len(ours) > LONGEST_GROUP or not part.isprintable():
            raise BadSetting("must be GROUP=SITE GROUP with semicolons between")
        if ours in GROUPS_OF_ROLES:
            raise BadSetting(f"must not name {' or '.join(GROUPS_OF_ROLES)}, which follow REKINDLE_OIDC_GROUPS")
        if ours in found.get(group, ()):
            raise BadSetting("names a pair twice")
        found[group] = found.get(group, frozenset()) | {ours}
    return found


def _claim(raw: str) -> str:
    if not raw.strip():
        raise BadSetting("must be the name of a claim")
    return raw


OIDC_SETTINGS = (
    Setting(
        "REKINDLE_OIDC_ISSUER",
        "",
        "OpenID provider through which people sign in, as it names itself, e.g. https://login.example.org. "
        "Empty: user names and passwords alone.",
        _place,
    ),
    Setting("REKINDLE_OIDC_NAME", "single sign-on", "What the sign-in page calls the provider.", text),
    Setting("REKINDLE_OIDC_CLIENT_ID", "", "The name under which the provider knows the site.", text),
    Setting(
        "REKINDLE_OIDC_CLIENT_SECRET_FILE",
        "",
        "File with the client secret, readable by the site's user alone. It is read at each sign-in.",
        text,
    ),
    Setting(
        "REKINDLE_OIDC_AUTHORIZE_URL",
        "",
        "Where people are sent. This and the three below: all, or none: then the provider's own document says.",
        _place,
    ),
    Setting("REKINDLE_OIDC_TOKEN_URL", "", "Where a code is changed into a token.", _place),
    Setting(
        "REKINDLE_OIDC_USERINFO_URL", "", "Where the groups are asked for that the token does not hold.", _place
    ),
    Setting("REKINDLE_OIDC_JWKS_URL", "", "Where the provider's public keys are.", _place),
    Setting(
        "REKINDLE_OIDC_SCOPES", "openid profile", "What is asked for, with spaces between; openid among it.", text
    ),
    Setting(
        "REKINDLE_OIDC_ALGORITHM",
        "RS256",
        "How the provider signs. Another signature is refused.",
        one_of("RS256", "ES256"),
    ),
    Setting("REKINDLE_OIDC_GROUPS_CLAIM", "groups", "The claim that holds a person's groups.", _claim),
    Setting(
        "REKINDLE_OIDC_GROUPS",
        "",
        "What groups may do: GROUP=ROLE with semicolons between; roles are viewer, operator and admin, the highest "
        "holds. Who is in none of them is not let in.",
        _roles,
    ),
    Setting(
        "REKINDLE_OIDC_SESSION_HOURS",
        "12",
        "Hours until somebody who came through the provider signs in again; rights are looked at each time.",
        whole(1, 336),
    ),
    Setting(
        "REKINDLE_OIDC_SITE_GROUPS",
        "",
        "Which groups of the site members of the provider's groups are in, besides their role: GROUP=SITE GROUP "
        "with semicolons between. At each sign-in they are put into these and taken out of the others named here; "
        "a group that is not there is left out, and one that is not named is never touched.",
        _site_groups,
    ),
)


Values = Mapping[str, Any]


@dataclass(frozen=True)
class Half:
    """One thing that keeps the sign-in through a provider from working: its number, when, and what to do."""

    number: int
    when: Callable[[Values], object]  # what is wrong, or nothing
    sentence: str
    hint: str


def _without_issuer(values: Values) -> object:
    asked = ("CLIENT_ID", "CLIENT_SECRET_FILE", "GROUPS", "SITE_GROUPS")
    return [name for name in (*(f"REKINDLE_OIDC_{one}" for one in asked), *ADDRESSES) if values[name]]


def _unusable_secret(values: Values) -> object:
    path = values["REKINDLE_OIDC_CLIENT_SECRET_FILE"]
    try:
        return path and not client_secret(Path(path))
    except SecretNotUsable as error:
        return [str(error)]


def _readable_by_others(values: Values) -> object:
    places = ((name, urlsplit(values[name])) for name in ("REKINDLE_OIDC_ISSUER", *ADDRESSES))
    return [name for name, at in places if at.scheme == "http" and not is_own(at.hostname or "")]


def _some_addresses(values: Values) -> object:
    missing = [name for name in ADDRESSES if not values[name]]
    return missing if len(missing) < len(ADDRESSES) else []


ROWS = (
    Half(
        202,
        lambda values: not values["REKINDLE_OIDC_CLIENT_ID"],
        "REKINDLE_OIDC_ISSUER is set without REKINDLE_OIDC_CLIENT_ID: the provider would not know who asks.",
        "Register the site with the provider, and name it.",
    ),
    Half(
        203,
        lambda values: not values["REKINDLE_OIDC_CLIENT_SECRET_FILE"],
        "REKINDLE_OIDC_ISSUER is set without REKINDLE_OIDC_CLIENT_SECRET_FILE.",
        "Write the client's secret into a file of the site's user with mode 600, and name the file.",
    ),
    Half(
        204,
        _unusable_secret,
        "The file of REKINDLE_OIDC_CLIENT_SECRET_FILE cannot be used: {found}.",
        "Write the client's secret into a file of the site's user with mode 600.",
    ),
    Half(
        205,
        lambda values: not values["REKINDLE_OIDC_GROUPS"],
        "REKINDLE_OIDC_ISSUER is set without REKINDLE_OIDC_GROUPS: nobody could come in.",
        "Say what groups may do, e.g. hpc-ops=operator; hpc-admins=admin; hpc-staff=viewer.",
    ),
    Half(
        206,
        _readable_by_others,
        "Codes, secrets and tokens would travel in plain HTTP to another machine ({found}).",
        "Use the provider's https address.",
    ),
    Half(
        207,
        _some_addresses,
        "Of the provider's addresses some are set and some are not ({found}).",
        "Set all four, or none: then the provider's discovery document says where they are.",
    ),
    Half(
        208,
        lambda values: "openid" not in values["REKINDLE_OIDC_SCOPES"].split(),
        "REKINDLE_OIDC_SCOPES lacks openid: the provider would give no token that says who somebody is.",
        "Add openid.",
    ),
)
ALONE = Half(
    201,
    _without_issuer,
    "REKINDLE_OIDC_ISSUER is missing, though others of its settings are there ({found}): nobody could sign in so.",
    "Name the provider, or leave the others out.",
)


def halves(values: Values) -> Iterator[tuple[Half, str]]:
    """Every row that holds for the settings, with its sentence. Nothing where no provider is meant at all."""
    for row in ROWS if values["REKINDLE_OIDC_ISSUER"] else (ALONE,):
        found = row.when(values)
        if found:
            yield row, row.sentence.format(found=", ".join(found) if isinstance(found, list) else "")
