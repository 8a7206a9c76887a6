"""`prd2pr schema`: print the JSON Schema of `.prd2pr.yml`."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.config_schema import build_json_schema


def main(options: argparse.Namespace) -> int:  # noqa: ARG001 - all verbs share a signature
    sys.stdout.write(json.dumps(build_json_schema(), indent=2) + "\n")
    return 0
