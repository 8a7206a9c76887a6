; Findings about whole Go test files and their helpers.
; Names: `rand` has the calls that draw random numbers, `subject` the tested code, `bound` what the file declares itself.

((comment) @RED208
  (#child-of? @RED208 "source_file") (#match? @RED208 "^//\\s*(go:build|\\+build)\\b")
  (#set! message "is excluded by `{RED208:.60}`"))
((function_declaration name: (_) @name) @RED107
  (#eq? @name "TestMain") (#not-runs-all? @RED107)
  (#set! message "`TestMain` sets the exit status itself: end with `os.Exit(m.Run())`"))
((call_expression function: (_) @callee) @RED304
  (#any-of? @callee "syscall.Exit" "syscall.Kill" "log.Fatal" "log.Fatalf" "log.Fatalln")
  (#set! message "`{callee}` ends the whole run"))
((call_expression function: (_) @callee) @RED304
  (#eq? @callee "os.Exit") (#not-in-test-main? @callee)
  (#set! message "`{callee}` ends the whole run"))
((call_expression function: (_) @callee) @RED107
  (#any-of? @callee "testing.Main" "testing.MainStart" "testing.Init")
  (#set! message "`{callee}` interferes with the test results"))
((call_expression function: (_) @callee arguments: (_) @given) @RED107
  (#any-of? @callee "flag.Set" "flag.Lookup" "flag.Parse") (#tokens? @given "^\\( (\\)|\" test\\.)")
  (#set! message "`{callee}` interferes with the test results"))
((call_expression function: (selector_expression operand: (_) @package field: (_) @name) @callee) @RED505
  (#in? @package "rand") (#not-match? @name "^(New|NewSource|NewPCG|Seed)$")
  (#set! message "depends on `{callee}`"))
((call_expression function: (_) @callee arguments: (argument_list (_) @path)) @RED413
  (#any-of? @callee "os.WriteFile" "ioutil.WriteFile" "os.Create" "os.Rename")
  (#first? @path) (#match? @path "(?i)testdata|golden|snapshot")
  (#set! message "writes the expected file that it compares with"))
((assignment_statement left: (expression_list (identifier) @name) right: (expression_list (func_literal))) @RED405
  (#in? @name "subject") (#not-in? @name "bound")
  (#set! message "replaces `{name}` of the tested code"))
((import_spec path: (_) @path) @RED107
  (#match? @path "^.(unsafe|C).$")
  (#set! message "a test that imports `unsafe` or `C` can interfere with the run"))
