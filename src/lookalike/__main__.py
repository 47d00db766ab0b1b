"""Run the command line: ``python -m lookalike``."""

from lookalike.service.command_line import main

if __name__ == "__main__":
    main()
