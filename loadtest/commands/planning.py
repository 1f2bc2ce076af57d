"""The plan that a command line asks for."""

import argparse
from collections.abc import Sequence

from loadtest.commands.sweeping import with_neighbourhood
from loadtest.prompts import parse_mix
from loadtest.sweep import Arm, Plan, Status, default_arms, parse_arm, parse_levels


def load_plan(args: argparse.Namespace, arms: Sequence[Arm], levels: Sequence[int]) -> Plan:
    """By the options of any closed loop, over these arms and levels. Raises BadPlanError or BadMixError."""
    return Plan(
        arms=arms,
        levels=levels,
        repeats=args.repeats,
        requests=args.requests,
        per_client=args.per_client,
        max_tokens=args.max_tokens,
        warmup=args.warmup,
        warm_levels=not args.no_level_warmup,
        mix=parse_mix(args.mix),
        unique=not args.same_prompts,
        seed=args.seed,
        settle=args.settle,
        body=args.body,
    )


def sweep_plan(args: argparse.Namespace, status: Status | None) -> Plan:
    """By the options of a sweep. Raises BadPlanError, BadArmError, BadMixError or SweepError."""
    levels = parse_levels(args.levels)
    return load_plan(
        args,
        tuple(parse_arm(text) for text in args.arm) or default_arms(),
        with_neighbourhood(levels, status) if args.threshold_levels else levels,
    )
