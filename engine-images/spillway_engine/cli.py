"""The command line: `spillway-engine ...` in the image, `spillway engine ...` beside the gateway."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from spillway_engine import launch as launching
from spillway_engine.commandline import Parser, until_unread
from spillway_engine.hardware import Architecture
from spillway_engine.node import NodeError
from spillway_engine.overrides import Overrides, parse_flag, parse_variable
from spillway_engine.profile import PROFILES, ProfileError, Scalar, load_profile, profile_names
from spillway_engine.render import render
from spillway_engine.rules import examine
from spillway_engine.surface import PINNED, VERSIONS, SurfaceError

_BAD_USAGE = 2


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns its exit status: 2 for a bad profile, option or value, 3 for a launch that is refused."""
    return until_unread(lambda: _run_command(argv))


def _run_command(argv: list[str] | None) -> int:
    parser = Parser(prog="spillway-engine", description="Launches engines from profiles.")
    add_arguments(parser)
    args = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the commands to `parser`; each sets `run`."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    names = commands.add_parser("profiles", help="list the profiles")
    _add_profiles(names)
    names.set_defaults(run=_guarded(_profiles))

    show = commands.add_parser("render", help="print the command line of a profile")
    _add_launch(show)
    show.add_argument("--hardware", type=Architecture, choices=list(Architecture), help="default: the profile's first")
    show.add_argument("--json", action="store_true", help="as an object with command and env")
    show.set_defaults(run=_guarded(_render))

    look = commands.add_parser("check", help="say what is wrong with a profile on this node")
    _add_launch(look)
    _add_allowed(look)
    look.set_defaults(run=_guarded(_check))

    start = commands.add_parser("run", help="check the node, then become the engine")
    _add_launch(start)
    _add_allowed(start)
    start.set_defaults(run=_guarded(_run))

    probe = commands.add_parser("probe", help="exit with 0 if the engine here is ready; costs no token")
    _add_port(probe)
    probe.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="default: %(default)s")
    probe.set_defaults(run=_probe)

    stop = commands.add_parser("pre-stop", help="wait until gateways send this engine nothing new")
    _add_port(stop)
    stop.add_argument(
        "--least", type=float, default=15.0, metavar="SECONDS", help="wait so long anyway (default: %(default)s)"
    )
    stop.add_argument(
        "--quiet", type=float, default=5.0, metavar="SECONDS", help="without a request (default: %(default)s)"
    )
    stop.add_argument("--most", type=float, default=60.0, metavar="SECONDS", help="then give up (default: %(default)s)")
    stop.set_defaults(run=_pre_stop)

    compare = commands.add_parser("verify", help="compare the greedy answers of two engines, and their speed")
    from spillway_engine import verify

    verify.add_arguments(compare)
    compare.set_defaults(run=verify.run)


def _add_profiles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profiles", type=Path, default=PROFILES, metavar="DIR", help="folder of profiles of your own")


def _add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=30000, help="the engine's (default: %(default)s)")


def _add_allowed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="go ahead in spite of a finding; may be repeated"
    )


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PROFILE", help="MODEL/NAME, such as kimi-k2.5/eagle3-tree")
    _add_profiles(parser)
    parser.add_argument(
        "--sglang",
        choices=VERSIONS,
        default=os.environ.get("SPILLWAY_ENGINE_SGLANG", PINNED),
        help="default: %(default)s",
    )
    parser.add_argument("--model-path", metavar="DIR", help="in place of the profile's")
    parser.add_argument("--draft-model-path", metavar="DIR", help="in place of the profile's; ignored by a baseline")
    parser.add_argument("--served-model-name", metavar="NAME", help="what clients ask for")
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--port", type=int, help="port to listen on")
    parser.add_argument("--gpus", type=int, help="tensor parallelism")
    parser.add_argument("--max-running-requests", type=int, metavar="N", help="requests at once")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of SGLang's; may be repeated"
    )
    parser.add_argument(
        "--set-speculative",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the same, ignored by a baseline; may be repeated",
    )
    parser.add_argument("--unset", action="append", default=[], metavar="NAME", help="take a flag of the profile out")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="may be repeated")


def _guarded(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        try:
            return command(args)
        except (ProfileError, SurfaceError) as error:
            print(error, file=sys.stderr)
            return _BAD_USAGE
        except NodeError as error:
            print(f"refuse: node: {error}", file=sys.stderr)
            return launching.REFUSED

    return run


def _overrides(args: argparse.Namespace) -> Overrides:
    speculates = load_profile(args.profile, args.profiles).speculation is not None
    flags: dict[str, Scalar | None] = dict.fromkeys(args.unset)
    flags |= dict(map(parse_flag, args.set))
    if speculates:
        flags |= dict(map(parse_flag, args.set_speculative))
    return Overrides(
        model_path=args.model_path,
        draft_model_path=args.draft_model_path if speculates else None,
        served_model_name=args.served_model_name,
        host=args.host,
        port=args.port,
        gpus=args.gpus,
        max_running_requests=args.max_running_requests,
        flags=flags,
        env=dict(map(parse_variable, args.env)),
    )


def _profiles(args: argparse.Namespace) -> int:
    print("\n".join(profile_names(args.profiles)))
    return 0


def _render(args: argparse.Namespace) -> int:
    profile = load_profile(args.profile, args.profiles)
    launch = render(profile, version=args.sglang, architecture=args.hardware, overrides=_overrides(args))
    launching.tell(examine(launch, None), sys.stderr)
    print(json.dumps({"command": launch.command, "env": launch.env}) if args.json else launch.text())
    return 0


def _check(args: argparse.Namespace) -> int:
    profile = load_profile(args.profile, args.profiles)
    launch, findings = launching.check(profile, args.sglang, _overrides(args), args.allow)
    good = launching.tell(findings, sys.stdout)
    print(f"{launch.profile.name} on {launch.architecture}: {'can be started' if good else 'is refused'}")
    return 0 if good else launching.REFUSED


def _run(args: argparse.Namespace) -> int:
    profile = load_profile(args.profile, args.profiles)
    launch, findings = launching.check(profile, args.sglang, _overrides(args), args.allow)
    if launching.tell(findings, sys.stderr):
        launching.become(launch, os.environ)
    return launching.REFUSED


def _probe(args: argparse.Namespace) -> int:
    from spillway_engine.probe import unready

    reason = unready(f"http://localhost:{args.port}", args.timeout)
    if reason is not None:
        print(f"spillway engine probe: {reason}", file=sys.stderr)
    return 0 if reason is None else 1


def _pre_stop(args: argparse.Namespace) -> int:
    from spillway_engine.prestop import wait_until_quiet

    waited = wait_until_quiet(f"http://localhost:{args.port}", least=args.least, quiet=args.quiet, most=args.most)
    print(f"stopping after {waited:.0f} s")
    return 0
