"""The `headway` command, which says what to install where its libraries are missing."""

from __future__ import annotations

import sys

_NEEDED = {"optuna", "rich", "typer", "sqlalchemy"}


def main() -> None:
    """Run the command line."""
    try:
        from headway.cli import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.stderr.write(
            f"headway: the command line needs {error.name}, which is not installed. "
            f'Install it: pip install "headway[cli]"\n'
        )
        raise SystemExit(2) from None
    app()


if __name__ == "__main__":
    main()
