"""`python -m toolhelp`."""

from .cli import main

if __name__ == "__main__":
    main()
