"""The benchmark on real code: honest cycles that are carved out of pinned packages and judged by both gates."""
