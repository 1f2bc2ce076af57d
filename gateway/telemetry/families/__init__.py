"""Every metric of a gateway, declared: what it is called, what it means, and which values its labels have."""

from gateway.telemetry.families.family import Chapter, Family, Label
from gateway.telemetry.families.load import ADAPTIVE, DISCOVERY, ENGINE_LOAD, LOAD, SHARING
from gateway.telemetry.families.process import PROCESS
from gateway.telemetry.families.requests import ENDED, FAILURES, STREAMS

CHAPTERS = (LOAD, SHARING, ENGINE_LOAD, ENDED, STREAMS, ADAPTIVE, FAILURES, DISCOVERY, PROCESS)
FAMILIES = {family.name: family for chapter in CHAPTERS for family in chapter.families}

__all__ = ["CHAPTERS", "FAMILIES", "Chapter", "Family", "Label"]
