"""Check the rules of a contract as tests, one for each."""

import pytest

from lookalike.checks.contract import NotApplicable, check_rule


def each(contract):
    """Mark a test that takes ``rule``: it runs once for each rule of a contract."""
    return pytest.mark.parametrize("rule", contract.rules())


def passes(rule, contract, *given):
    """Check a rule; skip where it does not apply."""
    try:
        check_rule(lambda: contract(*given), rule)
    except NotApplicable as reason:
        pytest.skip(str(reason))
