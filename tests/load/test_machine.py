"""Admission under any interleaving."""

from hypothesis import settings

from tests.load.machine import Admission

TestAdmission = Admission.TestCase
TestAdmission.settings = settings(max_examples=250, stateful_step_count=40)
