; Findings about whole Rust test files and their helpers.

((call_expression function: (_) @callee) @RED304
  (#match? @callee "(^|::)(process::(exit|abort)|_exit)$")
  (#set! message "`{callee}` ends the whole run"))
((call_expression function: (_) @callee) @RED107
  (#match? @callee "(^|::)(panic::(set_hook|take_hook)|set_hook|take_hook)$")
  (#set! message "`{callee}` interferes with the test results"))
((call_expression function: (_) @callee) @RED505
  (#match? @callee "(^|::)(thread_rng|rng|random|from_entropy|from_os_rng|fastrand::\\w+)$")
  (#set! message "depends on `{callee}`"))
((call_expression function: (_) @callee arguments: (_) @given) @RED413
  (#match? @callee "(^|::)(fs::(write|rename|copy)|File::create)$")
  (#match? @given "(?i)golden|snapshot|testdata|fixtures")
  (#set! message "writes the expected file that it compares with"))
