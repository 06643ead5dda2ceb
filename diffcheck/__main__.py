"""`python -m diffcheck`: the command line of the interpreter that runs it, whatever is on the path."""

from diffcheck.cli import main

if __name__ == "__main__":
    main()
