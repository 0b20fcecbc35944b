"""Which languages can the pages speak? English, and each whose translation lies compiled in `locale/`."""

from pathlib import Path

from django.conf.locale import LANG_INFO


def languages(folder: Path) -> list[tuple[str, str]]:
    """Codes as in addresses and headers (`pt-br`) with their names in their own words; English first.

    `folder` holds `<locale>/LC_MESSAGES/django.mo` as `manage.py compilemessages` writes them; one that does not
    exist holds nothing.
    """
    compiled = sorted(folder.glob("*/LC_MESSAGES/django.mo"))
    codes = [file.parts[-3].replace("_", "-").lower() for file in compiled]
    names = {code: LANG_INFO.get(code, {}).get("name_local", code) for code in codes}
    return [("en", "English"), *((code, name) for code, name in names.items() if code != "en")]
