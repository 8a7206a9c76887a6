"""One module per verb of the command line: read the options, call the workflow, print the result.

`cli.table` names each handler as `module:function`; modules are imported only when their verb is called.
"""
