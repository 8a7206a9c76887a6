"""A read model of the branches' state in database tables, for the dashboard and the API.

The branches are authoritative; the tables can be dropped and rebuilt at any time. May import `prd2pr.views`,
`prd2pr.reports` and the server's database and event log.
"""
