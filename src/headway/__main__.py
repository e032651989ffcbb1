"""The `headway` command, which says what to install where its libraries are missing."""

from __future__ import annotations

import sys

_NEEDED = {"optuna", "rich", "typer", "sqlalchemy"}


def main() -> None:
    """Run the command line."""
    try:
        from headway.cli import app

        app()
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _NEEDED:
            raise
        sys.stderr.write(
            f"headway: the command line needs {missing}, which is not installed. "
            f'Install it: pip install "headway[cli]"\n'
        )
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
