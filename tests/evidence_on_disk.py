"""Evidence files in a checkout, for tests that forge them consistently."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from prd2pr.domain.evidence import Proof
from prd2pr.state.codec import decompress
from prd2pr.state.evidence_files import EvidenceFiles


def read_evidence(path: Path) -> dict[str, Any]:
    """The evidence whose summary is at this path, or which is stored there as a whole."""
    data = path.with_name(f"{path.name}.gz")
    return json.loads(decompress(data.read_bytes(), str(path)) if data.exists() else path.read_text())


def write_evidence(path: Path, proof: dict[str, Any]) -> dict[str, str]:
    """Write the evidence with its summary; return the fields of the step's record that refer to it."""
    files = EvidenceFiles.of(Proof.model_validate_json(json.dumps(proof)))
    path.parent.mkdir(parents=True, exist_ok=True)
    if files.gated:
        path.write_bytes(files.summary)
        path.with_name(f"{path.name}.gz").write_bytes(files.stored)
    else:
        path.write_bytes(files.stored)
    blob = hashlib.sha1(b"blob %d\0" % len(files.stored) + files.stored).hexdigest()
    return {"evidence": files.digest, "evidence_blob": blob}
