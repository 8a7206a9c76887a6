#!/usr/bin/env bash
# Creates or updates the one comment of `prd2pr check`. A read-only token, as in pull requests from forks, is no error.
set -uo pipefail
api="repos/$REPOSITORY/issues"
mark='<!-- prd2pr check -->'
found="$(gh api --paginate "$api/$PULL/comments" \
  --jq ".[] | select(.body | startswith(\"$mark\")) | .id" 2> /dev/null | head -n 1)"
if [[ -n "$found" ]]; then
  gh api --silent -X PATCH "$api/comments/$found" -F "body=@$COMMENT" && exit 0
else
  gh api --silent -X POST "$api/$PULL/comments" -F "body=@$COMMENT" && exit 0
fi
echo "::notice title=prd2pr::no comment: the token cannot write comments; the summary of this job has the verdict"
